/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef M0_SRC_ATTACH_SERVER_INTERNAL_H
#define M0_SRC_ATTACH_SERVER_INTERNAL_H

#include "attach/attach_server.h"
#include "serve/serve_maps.h"

enum m0_attach__state {
	/** Its HELLO is awaited. */
	M0_ATTACH_GREETING,
	M0_ATTACH_OPEN,
	/** The node's thread releases all that it held. */
	M0_ATTACH_ENDING,
	/** To be freed. */
	M0_ATTACH_GONE
};

/** A process. Belongs to the server's thread, except the fields marked otherwise. */
struct m0_attach__proc {
	struct m0_attach_server *apr_server;
	/** Written with asv_lock held. */
	enum m0_attach__state  apr_state;
	struct m0_shared_creds apr_creds;
	/** Portals and numbers of transfer machines that the policy admits. */
	struct m0_serve_ranges apr_portals;
	struct m0_serve_ranges apr_tmids;
	bool                   apr_no_copies;
	m0_time_t              apr_since;
	/** Its HELLO comes until then. */
	m0_time_t         apr_deadline;
	struct m0_loop_fd apr_sock;
	struct m0_loop_fd apr_bell;
	struct m0_loop_fd apr_pid;
	/** To wake the process; also of the node's thread. */
	int apr_client_bell;
	/** More may be there to be read. */
	bool apr_again;
	/** Atomic: svo_ended was called. */
	bool            apr_ended;
	void           *apr_area;
	uint64_t        apr_area_bytes;
	struct m0_serve apr_serve;
	/** Why this half has ended it. */
	int  apr_rc;
	char apr_why[M0_ATTACH_WHY_BYTES];
	/** Its memory; also of the node's thread. */
	struct m0_serve_maps apr_maps;
};

/* -- proc.c ---------------------------------------------------------------- */

/** A process has connected. Takes over the socket. */
void m0_attach__proc_begin(struct m0_attach_server *server, int sock);
/** Does all that is due of a process. @return when something is due again */
m0_time_t m0_attach__proc_step(struct m0_attach__proc *proc, m0_time_t now);
/** Ends an attachment. */
void m0_attach__proc_end(struct m0_attach__proc *proc, int rc, const char *fmt,
			 ...) M0_PRINTF(3, 4);
/** Gives up all but its memory. Pre: M0_ATTACH_GONE. */
void m0_attach__proc_fini(struct m0_attach__proc *proc);

/* -- grant.c --------------------------------------------------------------- */

/** Credentials of the process that has connected. @return how many further groups */
unsigned m0_attach__creds(int sock, struct m0_shared_creds *ret,
			  uint32_t *groups, unsigned groups_max);

/* -- regions.c ------------------------------------------------------------- */

/** A REGION. @return 0 or a negative errno with a reason */
int m0_attach__region_take(struct m0_attach__proc        *proc,
			   const struct m0_attach_region *region, int fd,
			   char why[M0_ATTACH_WHY_BYTES]);
/** shh_map. */
int m0_attach__region_map(void *host, uint32_t nr, uint64_t bytes, void **ret);
/** svo_home. */
bool m0_attach__region_home(struct m0_serve *srv, uint32_t nr,
			    struct m0_serve_home *ret);
/** Unmaps memory that was dropped. */
void m0_attach__regions_sweep(struct m0_attach__proc *proc);
/** Unmaps all. */
void m0_attach__regions_fini(struct m0_attach__proc *proc);

/* -- listen.c -------------------------------------------------------------- */

/** Makes the listening socket. */
int m0_attach__listen(struct m0_attach_server *server,
		      char                     why[M0_ATTACH_WHY_BYTES]);
/** Closes it, and removes it from the file system. */
void m0_attach__listen_end(struct m0_attach_server *server);

#endif /* M0_SRC_ATTACH_SERVER_INTERNAL_H */
