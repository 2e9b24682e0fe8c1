/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A daemon and its processes, for tests: a node with a thread, a server at a path, and
 * what a process does by hand.
 */
#ifndef M0_TESTS_ATTACH_FIX_H
#define M0_TESTS_ATTACH_FIX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "m0/log.h"
#include "attach/attach.h"
#include "attach/attach_server.h"
#include "ring/shared_entry.h"

enum {
	FIX_PORTAL = 20,
	FIX_REGION_BYTES = 1 << 20
};

struct fix {
	struct m0_lnet         *fx_lnet;
	struct m0_attach_policy fx_policy;
	struct m0_attach_server fx_server;
	char                    fx_dir[64];
	char                    fx_path[M0_ATTACH_PATH_BYTES];
	char                    fx_why[M0_ATTACH_WHY_BYTES];
	/** Descriptors of this process when nobody is attached. */
	unsigned fx_fds_nr;
	/** Processes copy from each other. */
	bool fx_copies;
	/** Bytes of a message; 0: 64. */
	uint32_t fx_bytes;
};

extern struct fix fix;

/** A process. */
struct fix_proc {
	struct m0_attach fp_att;
	char            *fp_region;
	int              fp_region_fd;
	uint32_t         fp_gen;
	char             fp_why[M0_ATTACH_WHY_BYTES];
};

int fix_setup(void **state);
int fix_teardown(void **state);
/** Starts the server again, with fx_policy as it is. */
void fix_restart(void);

m0_time_t fix_soon(void);
unsigned  fix_fds(void);
/** Processes that the server knows. */
unsigned fix_procs(void);
/** Counts lines of the log with that text, from warnings on; prints fatal ones. */
void     fix_lines_count(const char *text);
unsigned fix_lines_nr(void);
/** Nobody is attached any more, within a second, and nothing is left of them. */
void fix_all_gone(void);

/** Attaches, with an event queue and a region. @return 0 or a negative errno */
int  fix_attach(struct fix_proc *proc);
void fix_detach(struct fix_proc *proc);
/** @return false: the server is dead, or a second has passed. */
bool fix_put(struct fix_proc *proc, const struct m0_shared_request *req);
bool fix_get(struct fix_proc *proc, struct m0_shared_report *rep);
/** An entry for PUTs of fx_bytes into the region at `at`; a PUT of them. */
bool fix_entry(struct fix_proc *proc, uint32_t nr, uint64_t bits, uint64_t at);
bool fix_move(struct fix_proc *proc, uint32_t nr, uint64_t bits, uint64_t at);
/** The cases of attach_hostile.c. */
int fix_hostile(void);
/** The cases of attach_rights.c. */
int fix_rights(void);
/** The cases of attach_admin.c. */
int fix_admin(void);

#endif /* M0_TESTS_ATTACH_FIX_H */
