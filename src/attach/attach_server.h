/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The server half: a daemon listens for processes that attach to its node, and has a server
 * (serve/serve.h) for each. One thread accepts, hands over memory and descriptors, polls
 * bells and detects the end of processes; the node's thread does the rest.
 *
 * The server sends a reason to a process that breaks the rules, and disconnects it; other
 * processes are not affected.
 */
#ifndef M0_SRC_ATTACH_SERVER_H
#define M0_SRC_ATTACH_SERVER_H

#include "attach/proto.h"
#include "loop/loop.h"
#include "m0/sync.h"
#include "serve/serve.h"

enum {
	/** Users and groups that a policy can name, and its rules. */
	M0_ATTACH_IDS_MAX = 16,
	M0_ATTACH_RULES_MAX = 16,
	M0_ATTACH_PATH_BYTES = 108
};

enum m0_attach_who {
	M0_ATTACH_ANYBODY,
	M0_ATTACH_USER,
	M0_ATTACH_GROUP
};

/** Portals and numbers of transfer machines that some processes may use. */
struct m0_attach_rule {
	enum m0_attach_who     aru_who;
	uint32_t               aru_id;
	struct m0_serve_ranges aru_portals;
	struct m0_serve_ranges aru_tmids;
	/** Such processes do not copy for the daemon, nor do others copy from them. */
	bool aru_no_copies;
};

/** Users that may attach, and the most that a process may have. */
struct m0_attach_policy {
	/** Most of each size, of bytes, and the right of each process. */
	struct m0_serve_cfg apo_serve;
	/** Most processes, and most of a user. */
	unsigned apo_procs_max;
	unsigned apo_procs_of_uid_max;
	/** Most bytes of regions of all processes. */
	uint64_t apo_bytes_total;
	/** Users that may attach, and groups whose members may. */
	unsigned apo_uids_nr;
	uint32_t apo_uids[M0_ATTACH_IDS_MAX];
	unsigned apo_gids_nr;
	uint32_t apo_gids[M0_ATTACH_IDS_MAX];
	/** The first rule that is about a process applies to it. If there are rules, but none
	 * of them is about a process, it may use nothing. */
	unsigned              apo_rules_nr;
	struct m0_attach_rule apo_rules[M0_ATTACH_RULES_MAX];
	/** Mode of the socket, and its group; (uint32_t)-1: the daemon's. */
	uint32_t apo_mode;
	uint32_t apo_group;
	/** Numbers that stand for each user and each group without a number in the daemon's
	 * user namespace: the policy does not admit them. (uint32_t)-1: all have one. */
	uint32_t apo_unmapped_uid;
	uint32_t apo_unmapped_gid;
	/** A socket that listens already, which is duplicated; -1: none. */
	int apo_listen_fd;
};

/** The daemon's own user and root may attach; mode 0600. */
void m0_attach_policy_default(struct m0_attach_policy *policy);
/** May a process with these credentials, and further groups, attach? */
bool m0_attach_policy_allows(const struct m0_attach_policy *policy,
			     const struct m0_shared_creds  *creds,
			     const uint32_t *groups, unsigned groups_nr);

/**
 * Fills in svg_portals, svg_tmids and svg_no_copies: what a process with these credentials, and further
 * groups, may use.
 */
void m0_attach_policy_rights(const struct m0_attach_policy *policy,
			     const struct m0_shared_creds  *creds,
			     const uint32_t *groups, unsigned groups_nr,
			     struct m0_serve_cfg *ret);

/** A process that is attached. */
struct m0_attach_info {
	struct m0_shared_creds ain_creds;
	/** m0_time_now() when it attached. */
	m0_time_t ain_since;
	/** MDs that have not ended; bytes and number of its regions; operations that were
	 * taken from it, and events that it was given. */
	uint32_t ain_mds_nr;
	uint32_t ain_regions_nr;
	uint64_t ain_bytes;
	uint32_t ain_ops_nr;
	uint32_t ain_events_nr;
	/** Operations that it was kept from, by the policy or the owner of a number. */
	uint64_t ain_denied_nr;
	/** Bytes that came to it from processes of the node: copied by it, and by the daemon;
	 * copies that it was asked for in vain; bytes to and from shadows, by its own word. */
	uint64_t ain_copied_bytes;
	uint64_t ain_daemon_bytes;
	uint64_t ain_fell_back_nr;
	uint64_t ain_shadow_bytes;
	/** Messages that it has sent to, and taken from other processes without the daemon,
	 * as it says. */
	uint64_t ain_direct_sent_nr;
	uint64_t ain_direct_taken_nr;
	bool     ain_is_ending;
};

struct m0_attach__proc;

struct m0_attach_server {
	struct m0_lnet         *asv_lnet;
	struct m0_attach_policy asv_policy;
	/** Transfer machines of all processes. The node's thread. */
	struct m0_serve_tms asv_tms;
	/** Copies between them. The node's thread. */
	struct m0_serve_copies asv_copies;
	char                   asv_path[M0_ATTACH_PATH_BYTES];
	/** The socket at the path is this server's while it has these numbers. */
	uint64_t asv_dev;
	uint64_t asv_ino;
	/** The listening socket is apo_listen_fd: its file stays. */
	bool asv_is_given;
	int  asv_lock_fd;
	/** The listening socket; -1: it stops. */
	struct m0_loop_fd asv_listen;
	struct m0_loop    asv_loop;
	struct m0_thread  asv_thread;
	/** Guards what follows, and the counts of processes. */
	struct m0_mutex          asv_lock;
	struct m0_cond           asv_cond;
	struct m0_attach__proc **asv_procs;
	unsigned                 asv_procs_nr;
	/** The thread is to end, once there is no process. */
	bool asv_stops;
	/** Atomic: no further process may attach. */
	bool asv_drains;
	bool asv_has_ended;
	/** How often the thread has gone through its loop. */
	uint64_t asv_passes_nr;
	/** No descriptor was left to accept: when to try again; M0_TIME_NEVER. */
	m0_time_t asv_accept_at;
	/** A process has sent more than was read in its turn. */
	bool asv_again;
	/** Bytes of regions of all processes. Atomic. */
	uint64_t asv_bytes;
	/** Since the start: attached, and refused. */
	uint64_t asv_attached_nr;
	uint64_t asv_refused_nr;
};

/**
 * Listens at a path, in place of a socket that nobody listens at, and starts the thread.
 * @param lnet  a node with a thread.
 * @param why   a reason, with a remedy, after an error.
 * @retval -EADDRINUSE  another daemon listens there.
 * @retval -EEXIST      something is there that is no socket.
 */
int m0_attach_server_start(struct m0_attach_server       *server,
			   struct m0_lnet                *lnet,
			   const struct m0_attach_policy *policy,
			   const char *path, char why[M0_ATTACH_WHY_BYTES]);
/**
 * Accepts nobody any more, ends all attachments, removes the socket, and waits until
 * everything is released. Before the node is closed.
 * @retval -ETIMEDOUT  not all MDs have ended: it goes on; call again.
 */
int m0_attach_server_stop(struct m0_attach_server *server, m0_time_t deadline);
/** Refuses further processes. Any thread. */
void m0_attach_server_drain(struct m0_attach_server *server);
/** Waits until the thread has gone through its loop. @retval -ETIMEDOUT */
int m0_attach_server_check(struct m0_attach_server *server, m0_time_t deadline);
/** Pre: m0_attach_server_stop() has returned 0. */
void m0_attach_server_fini(struct m0_attach_server *server);

/** Processes that are attached, at most `max`. Any thread. @return how many */
unsigned m0_attach_server_info(struct m0_attach_server *server,
			       struct m0_attach_info *ret, unsigned max);

#endif /* M0_SRC_ATTACH_SERVER_H */
