/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The option --selftest of `colibri node`, as an argp child. */
#ifndef M0_TOOLS_SELFTEST_OPTS_H
#define M0_TOOLS_SELFTEST_OPTS_H

#include <argp.h>

#include "m0/lnet_udsp.h"

#include "../base/cmd.h"

struct m0_st;

enum {
	SELFTEST_RANGES_MAX = 16
};

/** The child's input. */
struct selftest_opts {
	bool slo_given;
	/** Nodes that may use it; none: all. */
	struct m0_lnet_nid_range slo_ranges[SELFTEST_RANGES_MAX];
	unsigned                 slo_ranges_nr;
	struct tool_fail        *slo_fail;
};

extern const struct argp selftest_opts_argp;

/** Starts the selftest at a node, if it was asked for. @return the exit code. */
int selftest_opts_start(struct selftest_opts *opts, struct m0_lnet *lnet,
			struct m0_st **ret);

#endif /* M0_TOOLS_SELFTEST_OPTS_H */
