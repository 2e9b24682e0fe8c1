/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * `colibri lst`: the console of LNet's selftest. A session is in a process of its
 * own in the background (lst_serve.c), which has a node; each command of the user
 * is sent there, and what it prints comes back. A plan (lst_plan.c) has a session
 * in its own process.
 */
#ifndef M0_TOOLS_LST_H
#define M0_TOOLS_LST_H

#include <stdio.h>

#include "m0/lnet.h"
#include "m0/sync.h"

#include "../base/cmd.h"
#include "../node/lnet_opts.h"
#include "selftest/selftest.h"

enum {
	LST_NAME_BYTES = M0_ST_NAME_BYTES,
	LST_NODES_MAX = 4096,
	LST_GROUPS_MAX = 64,
	LST_BATCHES_MAX = 64,
	LST_TESTS_MAX = 256,
	LST_WORDS_MAX = 64,
	LST_KEY_BYTES = 33
};

/* -- lst_args.c: the command line ------------------------------------------ */

struct lst_args {
	const char *lsa_verb;
	const char *lsa_words[LST_WORDS_MAX];
	unsigned    lsa_words_nr;
	bool        lsa_json;
	bool        lsa_force;
	bool        lsa_all;
	/** Bits of enum lst_state that are to be listed; 0: a summary. */
	unsigned lsa_states;
	/** Seconds; 0: not given. */
	uint32_t    lsa_timeout;
	bool        lsa_has_timeout;
	const char *lsa_group;
	const char *lsa_batch;
	const char *lsa_from;
	const char *lsa_to;
	const char *lsa_remove;
	bool        lsa_clean;
	bool        lsa_refresh;
	uint32_t    lsa_test;
	uint32_t    lsa_loop;
	uint32_t    lsa_concurrency;
	uint32_t    lsa_clients;
	uint32_t    lsa_servers;
	/* stat. */
	bool     lsa_bw;
	bool     lsa_rate;
	bool     lsa_read;
	bool     lsa_write;
	bool     lsa_avg;
	bool     lsa_min;
	bool     lsa_max;
	bool     lsa_mbs;
	uint32_t lsa_delay;
	/** UINT32_MAX: without end. */
	uint32_t    lsa_count;
	const char *lsa_report;
	/** Files of a baseline to compare with, and to write. */
	const char *lsa_baseline;
	const char *lsa_save_baseline;
	/** Per cent. */
	uint32_t         lsa_tolerance;
	struct lnet_opts lsa_opts;
	struct tool_fail lsa_fail;
};

/** @return 0, or the exit code. */
int lst_args_parse(struct lst_args *args, int argc, char **argv);
/** Seconds without a command after which a session ends. */
uint32_t lst_idle_timeout(const struct lst_args *args);

/* -- the session ----------------------------------------------------------- */

enum lst_state {
	LST_ACTIVE = 1,
	LST_BUSY = 2,
	LST_DOWN = 4,
	LST_UNKNOWN = 8
};

/** A test node. */
struct lst_node {
	struct m0_lnet_process_id lcn_id;
	enum lst_state            lcn_state;
	/** Session that a busy node has. */
	char     lcn_other[LST_NAME_BYTES];
	uint32_t lcn_timeout;
	/** When it answered last. */
	m0_time_t          lcn_heard;
	struct m0_st_stats lcn_stats;
	m0_time_t          lcn_stats_at;
	/** Groups that it is in. */
	unsigned lcn_groups_nr;
};

struct lst_group {
	char     lgp_name[LST_NAME_BYTES];
	unsigned lgp_nodes[LST_NODES_MAX];
	unsigned lgp_nodes_nr;
	/** Tests that use it. */
	unsigned lgp_tests_nr;
};

struct lst_test {
	struct m0_st_test ltt_what;
	unsigned          ltt_batch;
	unsigned          ltt_from;
	unsigned          ltt_to;
	uint32_t          ltt_clients;
	uint32_t          ltt_servers;
};

struct lst_batch {
	char     lbt_name[LST_NAME_BYTES];
	uint32_t lbt_tests_nr;
	bool     lbt_runs;
};

struct lst_session {
	struct m0_lnet  *lsn_lnet;
	struct m0_st    *lsn_st;
	char             lsn_name[LST_NAME_BYTES];
	char             lsn_key[LST_KEY_BYTES];
	struct m0_st_sid lsn_sid;
	/** First NID of the node of this process. */
	struct m0_lnet_nid lsn_nid;
	uint32_t           lsn_feats;
	uint32_t           lsn_timeout;
	bool               lsn_force;
	/** Peers may see us under another name: ports above 1023. */
	bool              lsn_any_port;
	bool              lsn_ended;
	struct lst_node  *lsn_nodes;
	unsigned          lsn_nodes_nr;
	struct lst_group *lsn_groups[LST_GROUPS_MAX];
	unsigned          lsn_groups_nr;
	struct lst_batch  lsn_batches[LST_BATCHES_MAX];
	unsigned          lsn_batches_nr;
	struct lst_test   lsn_tests[LST_TESTS_MAX];
	unsigned          lsn_tests_nr;
	/** A verb that waits releases it meanwhile. */
	struct m0_mutex lsn_lock;
};

/** Where a verb prints. */
struct lst_out {
	FILE *lso_out;
	FILE *lso_err;
	/** True once nobody reads any more. */
	bool (*lso_stopped)(const struct lst_out *out);
	int lso_fd;
};

/* -- lst_session.c --------------------------------------------------------- */

/** Opens node and selftest. @return 0, or the exit code, with lsa_fail set. */
int  lst_session_open(struct lst_session *session, struct lst_args *args,
		      const char *key);
void lst_session_close(struct lst_session *session);
/** Open a session with a node of the caller, which stays open. */
int  lst_session_start(struct lst_session *session, struct m0_lnet *lnet,
		       struct lst_args *args, const char *key);
void lst_session_stop(struct lst_session *session);
/**
 * Makes the calls of `nr` nodes and notes which have answered. `msgs` has a request
 * for each; `*calls` gets the calls with their replies, which the caller frees.
 * @return -ENOMEM, or the number of nodes that have not answered with status 0.
 */
int lst_calls(struct lst_session *session, const unsigned *nodes, unsigned nr,
	      const struct m0_st_msg *msgs, uint32_t timeout,
	      struct m0_st_call **calls);
/** A request with the session's identity. */
struct m0_st_msg lst_msg(const struct lst_session *session, uint32_t type);
/** Prints why a call has failed. */
void lst_call_say(const struct lst_session *session,
		  const struct m0_st_call *call, const char *what, FILE *err);
/** Asks nodes that have been silent, so that their sessions go on. */
void lst_keepalive(struct lst_session *session);
/** NULL: there is none of that name. */
struct lst_group *lst_group_find(struct lst_session *session, const char *name);
struct lst_batch *lst_batch_find(struct lst_session *session, const char *name);
const char       *lst_state_name(enum lst_state state);
/** Counts nodes by state: active, busy, down, unknown, all. */
void lst_count(const struct lst_session *session, const unsigned *nodes,
	       unsigned nr, unsigned ret[5]);

/* -- verbs: each returns the exit code ------------------------------------- */

int lst_show_session(struct lst_session *s, struct lst_args *a,
		     struct lst_out *o);
int lst_end_session(struct lst_session *s, struct lst_args *a,
		    struct lst_out *o);
int lst_add_group(struct lst_session *s, struct lst_args *a, struct lst_out *o);
int lst_del_group(struct lst_session *s, struct lst_args *a, struct lst_out *o);
int lst_update_group(struct lst_session *s, struct lst_args *a,
		     struct lst_out *o);
int lst_list_group(struct lst_session *s, struct lst_args *a,
		   struct lst_out *o);
int lst_ping(struct lst_session *s, struct lst_args *a, struct lst_out *o);
int lst_add_batch(struct lst_session *s, struct lst_args *a, struct lst_out *o);
int lst_add_test(struct lst_session *s, struct lst_args *a, struct lst_out *o);
int lst_run(struct lst_session *s, struct lst_args *a, struct lst_out *o);
int lst_stop(struct lst_session *s, struct lst_args *a, struct lst_out *o);
int lst_query(struct lst_session *s, struct lst_args *a, struct lst_out *o);
int lst_list_batch(struct lst_session *s, struct lst_args *a,
		   struct lst_out *o);
int lst_stat(struct lst_session *s, struct lst_args *a, struct lst_out *o);
int lst_show_error(struct lst_session *s, struct lst_args *a,
		   struct lst_out *o);

/* -- lst_verb.c ------------------------------------------------------------ */

/** Runs a verb of a session, under the lock. */
int  lst_verb_run(struct lst_session *session, struct lst_args *args,
		  struct lst_out *out);
bool lst_verb_is_known(const char *verb);
/** Prints that new_session has begun a session. */
void lst_new_session_say(const struct lst_args *args, FILE *file);

/* -- lst_json.c: parts of JSON that verbs share ---------------------------- */

struct json_t;
void lst_json_node(struct json_t *item, const struct lst_node *node);
/** Member `nodes`: a list. */
void lst_json_nodes(struct json_t *tree, const struct lst_session *session,
		    const unsigned *nodes, unsigned nr);
void lst_json_group(struct json_t *tree, const struct lst_session *session,
		    const struct lst_group *group);
/** Member `name`: numbers of nodes by state. */
void lst_json_counts(struct json_t *tree, const char *name,
		     const struct lst_session *session, const unsigned *nodes,
		     unsigned nr);

/** Runs the plan of a file. @return the exit code. */
int lst_plan_run(struct lst_args *args, const char *path);

/** Reads the counters of nodes, now. */
int lst_stats_take(struct lst_session *session, const unsigned *nodes,
		   unsigned nr, uint32_t timeout);

#endif /* M0_TOOLS_LST_H */
