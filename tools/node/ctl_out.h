/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Answers of the node: a tree, or a failure in lnetctl's form. */
#ifndef M0_TOOLS_CTL_OUT_H
#define M0_TOOLS_CTL_OUT_H

#include "ctl.h"
#include "../base/jout.h"

enum {
	/** Columns of lnetctl's lists, and of its numbers of the node. */
	CTL_LIST_INDENT = 6,
	CTL_NUMBERS_INDENT = 4
};

/** Prints the tree in the form that the request asks for. */
void ctl_tree_print(const struct ctl_request *req, const struct json_t *tree,
		    unsigned indent, FILE *out);
/**
 * Prints a failure as lnetctl does: under the key of the action, with the key of
 * what it was about, errno and a description.
 * @return TOOL_FAILED.
 */
int ctl_failed(const char *action, const char *of, int rc, const char *text,
	       FILE *err);

#endif /* M0_TOOLS_CTL_OUT_H */
