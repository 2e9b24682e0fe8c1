/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "ctl_out.h"

void ctl_tree_print(const struct ctl_request *req, const struct json_t *tree,
		    unsigned indent, FILE *out)
{
	if (req->cq_json)
		(void)jout_print(tree, out);
	else
		(void)jout_print_yaml(tree, indent, out);
}

int ctl_failed(const char *action, const char *of, int rc, const char *text,
	       FILE *err)
{
	struct json_t *tree = jout_alloc();
	struct json_t *item = jout_append(jout_array(tree, action));

	jout_null(item, of);
	jout_int(item, "errno", rc);
	jout_str(item, "descr", text);
	(void)jout_print_yaml(tree, CTL_LIST_INDENT, err);
	jout_free(tree);
	return TOOL_FAILED;
}
