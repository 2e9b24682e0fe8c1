/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Declarations that the files of `colibri node` share. */
#ifndef M0_TOOLS_LNET_NODE_H
#define M0_TOOLS_LNET_NODE_H

#include "attach_opts.h"
#include "capture_serve.h"
#include "conf_serve.h"
#include "ctl_server.h"
#include "lnet_opts.h"
#include "../base/log_pipe.h"
#include "metrics.h"
#include "notify.h"
#include "probe_set.h"
#include "process_serve.h"
#include "selftest_opts.h"
#include "why.h"

/** A peer as it was when somebody last looked. */
struct seen_peer {
	struct m0_lnet_nid snp_nid;
	bool               snp_up;
	bool               snp_down;
	/** How often it was lost. */
	uint64_t snp_lost_nr;
};

struct lnet_node {
	struct lnet_opts     lno_opts;
	struct notify        lno_notify;
	struct attach_opts   lno_attach;
	struct selftest_opts lno_selftest;
	/** NULL: the node is no test node. */
	struct m0_st *lno_st;
	bool          lno_json;
	/** Tell of peers, for which the node is looked at once a second. */
	bool lno_verbose;
	/** 0: not given. */
	mode_t lno_ctl_mode;
	/** (gid_t)-1: not given. */
	gid_t            lno_ctl_group;
	char             lno_path[CTL_PATH_BYTES];
	struct tool_fail lno_fail;
	struct m0_lnet  *lno_lnet;
	/** NULL: nobody may attach. */
	struct m0_lnet_daemon *lno_daemon;
	struct ctl_server      lno_server;
	int                    lno_stop_fd;
	int                    lno_log_fd;
	/** Readable: jobs have ended. */
	int              lno_wake_fd;
	struct m0_mutex  lno_lock;
	struct node_job *lno_done;
	m0_time_t        lno_look_at;
	m0_time_t        lno_since;
	struct node_whys lno_whys;
	/** Why the NID of the answer that is being printed has no route. */
	char              lno_route_why[512];
	struct node_conf  lno_conf;
	struct node_drain lno_drain;
	struct metrics    lno_metrics;
	struct captures   lno_captures;
	/** NULL: nobody asked for HTTP. */
	struct metrics_http *lno_http;
	/** Sorted by NID. */
	struct seen_peer *lno_seen;
	size_t            lno_seen_nr;
	/** Refused connections of all interfaces, at the last look. */
	uint64_t lno_refused_nr;
};

/* -- lnet_node_say.c: what it prints --------------------------------------- */

/** Prints version and process, NIDs and ports, and the control socket. */
void node_say_start(struct lnet_node *node);
/** One of the library's lines. */
void node_say_log(struct lnet_node *node, enum m0_log_level level,
		  const char *text);
/** Prints changes of peers since the last look. */
void node_say_peers(struct lnet_node *node, const struct m0_lnet_info *info);
/** No further process may attach; so many are left. */
void node_say_drain(struct lnet_node *node, unsigned nr);
/** A signal has come; 0: no process is left. */
void node_say_stopping(struct lnet_node *node, int number);
/** The node is a router, and stops being one first. */
void node_say_draining(struct lnet_node *node);
/** Prints an event of the configuration, and the change or the reason. */
void node_say_config(struct lnet_node *node, const char *what,
		     const char *text);
/** The last words. @param info  of just before it was closed; or NULL. */
void node_say_end(struct lnet_node *node, const struct m0_lnet_info *info);

/* -- lnet_node_serve.c: requests ------------------------------------------- */

/** Serves a request of the control socket. */
void node_serve(struct ctl_server *server, struct ctl_client *client,
		const struct ctl_request *req);
/** Remembers a line of the library that says why a peer was not reached. */
void node_why_note(struct lnet_node *node, const char *text);
/** Answers those whose pings and discoveries have ended. */
void node_jobs_finish(struct lnet_node *node);

#endif /* M0_TOOLS_LNET_NODE_H */
