/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** A session with an object service, of `put`, `get`, `ls`, `stat` and `rm`. */
#ifndef M0_TOOLS_OBJ_CLIENT_H
#define M0_TOOLS_OBJ_CLIENT_H

#include <argp.h>

#include "m0/rpc_bulk.h"

#include "../node/lnet_opts.h"
#include "../net/node.h"
#include "obj_types.h"
#include "../net/place.h"

struct json_t;

enum {
	OBJ_EPS_MAX = 8,
	OBJ_INFLIGHT_DEF = 64,
	OBJ_INFLIGHT_MAX = 256,
	/** Blocks of memory that data waits in. */
	OBJ_BLOCKS_DEF = 8,
	OBJ_STREAMS_MAX = 256
};

/** Options that these commands share: an argp child. */
struct obj_args {
	const char *oa_program;
	const char *oa_transport;
	/** Our own address; NULL: any. */
	const char *oa_ep;
	/** Requests, blocks and update streams. */
	uint64_t          oa_inflight;
	uint64_t          oa_blocks;
	uint64_t          oa_streams;
	uint64_t          oa_timeout_ms;
	bool              oa_no_batch;
	bool              oa_json;
	bool              oa_quiet;
	struct lnet_opts  oa_opts;
	struct tool_fail *oa_fail;
};

extern const struct argp obj_args_argp;
void obj_args_init(struct obj_args *args, const char *program,
		   struct tool_fail *fail);

/** EP[,EP...]:NAME taken apart. */
struct obj_target {
	char        ot_text[1024];
	const char *ot_eps[OBJ_EPS_MAX];
	unsigned    ot_eps_nr;
	const char *ot_name;
};

/** @return 0, or an exit code, with `fail` set. */
int obj_target_parse(struct obj_target *target, const char *text,
		     struct tool_fail *fail);
/** Is it one, by its looks? */
bool obj_target_is(const char *text);
/** Do both name the same service? */
bool obj_target_same(const struct obj_target *a, const struct obj_target *b);

struct obj_client {
	const struct obj_args   *oc_args;
	const struct obj_target *oc_target;
	struct tool_fail        *oc_fail;
	struct tool_place        oc_place;
	struct m0_net_domain     oc_dom;
	struct m0_rpc_machine    oc_machine;
	struct m0_rpc_conn       oc_conn;
	struct m0_rpc_session    oc_session;
	/** How far it has come: what is to be undone. */
	unsigned  oc_stage;
	m0_time_t oc_timeout_ns;
	m0_time_t oc_start;
};

/** Opens a node, connects. @return 0, or an exit code, with `fail` set. */
int  obj_client_open(struct obj_client *client, const struct obj_args *args,
		     const struct obj_target *target, struct tool_fail *fail);
void obj_client_close(struct obj_client *client);

/**
 * Asks and waits; `ret` points into *ret_reply, which the caller puts.
 * @return 0, or the error of the service or of the way there; -EINTR: a signal
 *         came (after stop_init()).
 */
int obj_call(struct obj_client *client, enum obj_op op,
	     const struct obj_req *req, struct obj_rep *ret,
	     struct m0_rpc_item **ret_reply);
/** Takes a reply apart. @retval -EPROTO, or what the service says. */
int obj_reply_of(struct m0_rpc_item *item, struct obj_rep *ret);

/** Notes why something of the service failed, in words with what to do. */
int obj_fail(struct obj_client *client, const char *what, const char *name,
	     int rc);
/** Notes the failure for one name of several. */
int obj_fail_note(struct tool_fail *fail, const char *what, const char *name,
		  int rc);
/** Text of an error of the service. */
const char *obj_errtext(int rc);

/** Notes that a signal came. */
int obj_interrupted(struct tool_fail *fail);

/** Calls `each` for every entry of a list, in order, until it returns not 0. */
struct obj_entry {
	const char *oe_name;
	uint32_t    oe_name_nr;
	uint32_t    oe_mode;
	uint64_t    oe_size;
	uint64_t    oe_mtime_ns;
};
int obj_list(struct obj_client *client, const char *prefix,
	     int (*each)(void *arg, const struct obj_entry *entry), void *arg);

/** Statistics of sent requests, for the result. */
void obj_stats_json(struct obj_client *client, struct json_t *tree);
void obj_stats_print(struct obj_client *client);

#endif /* M0_TOOLS_OBJ_CLIENT_H */
