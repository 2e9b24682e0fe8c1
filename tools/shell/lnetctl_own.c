/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <argp.h>
#include <stdio.h>
#include <unistd.h>

#include "lnetctl.h"
#include "m0/mem.h"

#include "../node/ctl_args.h"
#include "../node/ctl_out.h"
#include "../node/lnet_opts.h"

/* --------------------------------------------------------- lnet configure */

static error_t lnet_option(int key, char *arg, struct argp_state *state)
{
	struct ctl_args *args = state->input;

	if (key == ARGP_KEY_ARG) {
		tool_fail_set(&args->ctg_fail, TOOL_USAGE,
			      "'%s': no operand is accepted", arg);
		return 0;
	}
	return ctl_args_option(args, key, arg) ? 0 : ARGP_ERR_UNKNOWN;
}

/* Is a node running? @param ret_where  path of its control socket. */
static bool node_runs(struct ctl_args *args, char ret_where[CTL_WHERE_BYTES])
{
	int fd;

	if (args->ctg_ctl != NULL) {
		snprintf(ret_where, CTL_WHERE_BYTES, "%s", args->ctg_ctl);
		fd = ctl_connect(args->ctg_ctl);
	} else {
		fd = ctl_connect_default(ret_where, &args->ctg_fail);
	}
	if (fd < 0)
		return false;
	(void)close(fd);
	return true;
}

static int lnet_main(int argc, char **argv, const char *doc, bool up)
{
	static const struct argp_option options[] = { CTL_OPTIONS_END };
	const struct argp               argp = {
			      options, lnet_option, NULL, doc, NULL, NULL, NULL,
	};
	struct ctl_args args = { .ctg_ctl = NULL };
	char            where[CTL_WHERE_BYTES] = "";
	bool            runs;

	if (tool_parse(&argp, argc, argv, 0, &args) != 0)
		return TOOL_USAGE;
	if (args.ctg_fail.tf_exit == TOOL_OK) {
		runs = node_runs(&args, where);
		if (up && !runs)
			tool_fail_set(&args.ctg_fail, TOOL_FAILED,
				      "no node answers at %s, and a node is a "
				      "process: start `colibri node'",
				      where);
		if (!up && runs)
			tool_fail_set(
				&args.ctg_fail, TOOL_FAILED,
				"a node runs (%s), and a node is a process: "
				"end that process",
				where);
	}
	return tool_fail_print(&args.ctg_fail, argv[0]);
}

int lnetctl_configure(int argc, char **argv)
{
	return lnet_main(
		argc, argv,
		"Succeed if a Colibri node runs. Start one by `colibri "
		"node'.",
		true);
}

int lnetctl_unconfigure(int argc, char **argv)
{
	return lnet_main(argc, argv,
			 "Succeed if no Colibri node runs. To end a node, end "
			 "its process.",
			 false);
}

/* ------------------------------------------------------------ lists of NIDs */

struct nids_args {
	struct ctl_request nia_req;
	struct tool_fail   nia_fail;
	struct json_t     *nia_list;
	/** Also print the partition of each NID. */
	bool nia_cpt;
};

static void nids_add(struct nids_args *args, char *words)
{
	struct m0_lnet_nid nid;
	struct json_t     *item;
	char               text[M0_LNET_NIDSTR_SIZE];
	char              *word;

	while ((word = strsep(&words, ",")) != NULL) {
		if (m0_lnet_nid_parse(&nid, word) != 0) {
			tool_fail_set(&args->nia_fail, TOOL_USAGE,
				      "'%s' is not accepted; accepted: a NID "
				      "as 10.0.0.1@tcp or 2001:db8::1@tcp1",
				      word);
			return;
		}
		item = jout_append(args->nia_list);
		jout_str(item, "nid",
			 m0_lnet_nid_print(&nid, text, sizeof text));
		/* A node has one partition. */
		if (args->nia_cpt)
			jout_num(item, "cpt", 0);
	}
}

static error_t nids_option(int key, char *arg, struct argp_state *state)
{
	struct nids_args *args = state->input;

	switch (key) {
	case 'j':
		args->nia_req.cq_json = true;
		break;
	case ARGP_KEY_ARG:
		nids_add(args, arg);
		break;
	case ARGP_KEY_NO_ARGS:
		tool_fail_set(&args->nia_fail, TOOL_USAGE,
			      "a NID is missing, as 10.0.0.1@tcp");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int nids_main(int argc, char **argv, const char *doc, const char *key,
		     bool cpt)
{
	static const struct argp_option options[] = { CTL_OPTION_JSON, { 0 } };
	const struct argp               argp = {
			      options, nids_option, "NID...", doc, NULL, NULL, NULL,
	};
	struct nids_args args = { .nia_cpt = cpt };
	struct json_t   *tree = jout_alloc();

	args.nia_list = jout_array(tree, key);
	if (tool_parse(&argp, argc, argv, 0, &args) != 0) {
		jout_free(tree);
		return TOOL_USAGE;
	}
	if (args.nia_fail.tf_exit == TOOL_OK)
		ctl_tree_print(&args.nia_req, tree, CTL_LIST_INDENT, stdout);
	jout_free(tree);
	return tool_finish_output(argv[0],
				  tool_fail_print(&args.nia_fail, argv[0]));
}

int lnetctl_nidlist(int argc, char **argv)
{
	return nids_main(argc, argv, "Print the NIDs of a list.", "nidlist",
			 false);
}

int lnetctl_cpt(int argc, char **argv)
{
	return nids_main(argc, argv,
			 "Print the partition of processors of NIDs: a node "
			 "has one.",
			 "cpt-of-nid", true);
}
