/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The configuration file of a running node: --config, SIGHUP, `colibri config`. */
#ifndef M0_TOOLS_CONF_SERVE_H
#define M0_TOOLS_CONF_SERVE_H

#include "../conf/conf_diff.h"
#include "ctl.h"

struct lnet_node;

struct node_conf {
	/** Path of --config; NULL: not given. */
	const char *nco_path;
	/** Contents of the file when it was last read. */
	struct conf_model nco_last;
	/** Changes that are undone at a time, unless they are confirmed before. */
	struct conf_plan nco_undo;
	bool             nco_is_pending;
	m0_time_t        nco_undo_at;
};

/** Reads the file of --config before the node is opened. @return the exit code. */
int node_conf_read(struct lnet_node *node);
/** Makes the node what the file says. @return the exit code. */
int  node_conf_start(struct lnet_node *node);
void node_conf_fini(struct lnet_node *node);
/** When node_conf_step() has something to do. */
m0_time_t node_conf_deadline(const struct lnet_node *node);
/** Reads the file again after SIGHUP, and undoes what nobody has confirmed. */
void node_conf_step(struct lnet_node *node, m0_time_t now);
/** Serves a request of `colibri config`. @return the exit code. */
int node_conf_serve(struct lnet_node *node, const struct ctl_request *req,
		    FILE *out, FILE *err);

#endif /* M0_TOOLS_CONF_SERVE_H */
