/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lctl.h"
#include "m0/base.h"

#include "../base/jout.h"
#include "../base/text.h"
#include "../node/ctl.h"

enum {
	ASK_TIMEOUT_MS = 30000,
	/** Seconds that `lctl ping` accepts. */
	PING_MAX_S = 3600,
	/** Process of LNet in the kernel, as lctl prints it before a NID. */
	KERNEL_PID = 12345
};

/** A call of lctl. */
struct lctl {
	/** Path of the control socket; NULL: the default. */
	const char      *lct_ctl;
	struct tool_fail lct_fail;
};

struct lctl_command {
	const char *lcm_name;
	const char *lcm_operands;
	const char *lcm_doc;
	/** argv[0] is the command. */
	int (*lcm_run)(struct lctl *lctl, int argc, char **argv);
};

/** A command of lctl that is not here, and what is there in its place. */
struct lctl_other {
	const char *lot_name;
	const char *lot_instead;
};

static int usage(struct lctl *lctl, const char *name, const char *what)
{
	return tool_fail_set(&lctl->lct_fail, TOOL_USAGE, "%s: %s", name, what);
}

/* ------------------------------------------------------------------ answers */

/* Asks the node; the caller frees the tree. NULL: lct_fail says why. */
static struct json_t *node_ask(struct lctl *lctl, struct ctl_request *req)
{
	struct json_t *tree = NULL;
	char          *text;
	char          *err;
	char           why[JOUT_WHY_BYTES];
	int            code;

	req->cq_json = true;
	code = ctl_ask_text(lctl->lct_ctl, req, ASK_TIMEOUT_MS, -1, &text, &err,
			    &lctl->lct_fail);
	/* A ping that failed is in the tree, too. */
	if (lctl->lct_fail.tf_exit == TOOL_OK && text != NULL &&
	    text[0] != '\0') {
		tree = jout_read_text(text, why);
		if (tree == NULL)
			tool_fail_set(&lctl->lct_fail, TOOL_FAILED,
				      "the node's answer: %s", why);
	} else if (lctl->lct_fail.tf_exit == TOOL_OK) {
		tool_fail_set(&lctl->lct_fail,
			      code == TOOL_OK ? TOOL_FAILED
					      : (enum tool_exit)code,
			      "%s", ctl_why(err));
	}
	free(text);
	free(err);
	return tree;
}

static struct json_t *node_show(struct lctl *lctl, enum ctl_verb verb)
{
	struct ctl_request req;

	ctl_request_init(&req, verb);
	req.cq_verbose = CTL_VERBOSE_MAX;
	return node_ask(lctl, &req);
}

static int64_t number(const struct json_t *object, const char *key)
{
	return (int64_t)jout_get_number(object, key);
}

static const char *string(const struct json_t *object, const char *key)
{
	return jout_get_str(object, key) ?: "";
}

static bool is_lo(const struct json_t *net)
{
	return strcmp(string(net, "net type"), "lo") == 0;
}

/* Calls `each` for the elements of `inner` in each element of `outer`. */
static void pairs_walk(const struct json_t *tree, const char *outer,
		       const char *inner,
		       void (*each)(const struct json_t *of,
				    const struct json_t *item, void *arg),
		       void *arg)
{
	const struct json_t *of;
	const struct json_t *item;
	size_t               i;
	size_t               j;

	for (i = 0; (of = jout_at(jout_get(tree, outer), i)) != NULL; ++i) {
		for (j = 0; (item = jout_at(jout_get(of, inner), j)) != NULL;
		     ++j)
			each(of, item, arg);
	}
}

#define NETS_WALK(tree, each, arg) \
	pairs_walk(tree, "net", "local NI(s)", each, arg)

/* ---------------------------------------------------------------- list_nids */

static void nid_print(const struct json_t *net, const struct json_t *ni,
		      void *arg)
{
	const bool *is_all = arg;

	if (*is_all || !is_lo(net))
		printf("%s\n", string(ni, "nid"));
}

static int nids_list(struct lctl *lctl, int argc, char **argv)
{
	bool           is_all = argc == 2 && strcmp(argv[1], "all") == 0;
	struct json_t *tree;

	if (argc > 1 && !is_all)
		return usage(lctl, argv[0], "accepted: all, or nothing");
	tree = node_show(lctl, CTL_NET_SHOW);
	NETS_WALK(tree, nid_print, &is_all);
	jout_free(tree);
	return lctl->lct_fail.tf_exit;
}

/* ------------------------------------------------------------------ network */

/* The device is there as long as the module is loaded, and a node may be behind it. */
static int network_device(struct lctl *lctl, bool is_up)
{
	struct json_t *tree;

	if (!is_up)
		return tool_fail_set(&lctl->lct_fail, TOOL_FAILED,
				     "LNET busy: the module colibri is loaded "
				     "(%s): `rmmod colibri' unloads it",
				     lctl->lct_ctl);
	tree = node_show(lctl, CTL_NET_SHOW);
	if (tree != NULL)
		printf("LNET configured\n");
	jout_free(tree);
	return lctl->lct_fail.tf_exit;
}

static int network(struct lctl *lctl, int argc, char **argv)
{
	const char *word = argc == 2 ? argv[1] : "";
	bool is_up = M0_IN(0, (strcmp(word, "up"), strcmp(word, "configure")));
	bool is_down =
		M0_IN(0, (strcmp(word, "down"), strcmp(word, "unconfigure")));
	char where[CTL_WHERE_BYTES] = "";
	int  fd;

	if (!is_up && !is_down)
		return usage(lctl, argv[0],
			     "accepted: up, configure, down, unconfigure");
	if (lctl->lct_ctl != NULL && ctl_is_device(lctl->lct_ctl))
		return network_device(lctl, is_up);
	if (lctl->lct_ctl != NULL) {
		snprintf(where, sizeof where, "%s", lctl->lct_ctl);
		fd = ctl_connect(where);
	} else {
		fd = ctl_connect_default(where, &lctl->lct_fail);
	}
	if (lctl->lct_fail.tf_exit != TOOL_OK)
		return lctl->lct_fail.tf_exit;
	if (fd < 0 && (is_up || !M0_IN(fd, (-ENOENT, -ECONNREFUSED))))
		ctl_nobody(where, fd, &lctl->lct_fail);
	else if (is_up)
		printf("LNET configured\n");
	else if (fd >= 0)
		tool_fail_set(&lctl->lct_fail, TOOL_FAILED,
			      "LNET busy: a node runs (%s), and a node is a "
			      "process: end that process",
			      where);
	else
		printf("LNET ready to unload\n");
	if (fd >= 0)
		(void)close(fd);
	return lctl->lct_fail.tf_exit;
}

/* --------------------------------------------------------------------- ping */

/* Reads a NID that may have the process before it, 12345-10.0.0.1@tcp. */
static int nid_read(struct lctl *lctl, const char *name, const char *word,
		    struct m0_lnet_nid *ret)
{
	static const char pid[] = "12345-";
	const char       *nid = word;

	M0_BASSERT(KERNEL_PID == 12345);
	if (strncmp(nid, pid, sizeof pid - 1) == 0)
		nid += sizeof pid - 1;
	if (m0_lnet_nid_parse(ret, nid) == 0)
		return 0;
	return tool_fail_set(&lctl->lct_fail, TOOL_USAGE,
			     "%s: '%.200s' is not accepted; accepted: a NID as "
			     "10.0.0.1@tcp",
			     name, word);
}

static void id_print(const struct json_t *peer, const struct json_t *ni,
		     void *arg)
{
	(void)peer;
	(void)arg;
	printf("%d-%s\n", KERNEL_PID, string(ni, "nid"));
}

static int ping(struct lctl *lctl, int argc, char **argv)
{
	const struct json_t *bad;
	struct ctl_request   req;
	struct json_t       *tree;
	uint64_t             seconds = 0;

	ctl_request_init(&req, CTL_PING);
	if (argc < 2 || argc > 3)
		return usage(lctl, argv[0],
			     "accepted: a NID, and seconds that it may take");
	if (argc == 3 && (text_number_parse(argv[2], &seconds) != 0 ||
			  seconds < 1 || seconds > PING_MAX_S))
		return usage(lctl, argv[0],
			     "accepted as time: 1 to 3600 seconds");
	if (nid_read(lctl, argv[0], argv[1], &req.cq_nids[0]) != 0)
		return lctl->lct_fail.tf_exit;
	req.cq_nids_nr = 1;
	req.cq_timeout_ms = seconds * 1000;
	tree = node_ask(lctl, &req);
	if (tree == NULL)
		return lctl->lct_fail.tf_exit;
	bad = jout_at(jout_get(tree, "manage"), 0);
	if (bad != NULL) {
		tool_fail_set(&lctl->lct_fail, TOOL_FAILED, "%s",
			      string(bad, "descr"));
	} else {
		printf("%d-0@lo\n", KERNEL_PID);
		pairs_walk(tree, "ping", "peer_ni", id_print, NULL);
	}
	jout_free(tree);
	return lctl->lct_fail.tf_exit;
}

/* ---------------------------------------------------------------- which_nid */

/** How near a NID is; less is nearer. */
enum near {
	NEAR_OWN,
	NEAR_NET,
	NEAR_ROUTE,
	NEAR_NOT
};

struct which {
	const char *whi_nid;
	/** Its network, a part of whi_nid. */
	const char *whi_net;
	enum near   whi_near;
};

static void ni_compare(const struct json_t *net, const struct json_t *ni,
		       void *arg)
{
	struct which *which = arg;

	if (strcmp(string(ni, "nid"), which->whi_nid) == 0)
		which->whi_near = NEAR_OWN;
	else if (strcmp(string(net, "net type"), which->whi_net) == 0 &&
		 which->whi_near > NEAR_NET)
		which->whi_near = NEAR_NET;
}

static void routes_compare(const struct json_t *routes, struct which *which)
{
	const struct json_t *route;
	size_t               i;

	for (i = 0; (route = jout_at(jout_get(routes, "route"), i)) != NULL;
	     ++i) {
		if (strcmp(string(route, "net"), which->whi_net) == 0 &&
		    which->whi_near > NEAR_ROUTE)
			which->whi_near = NEAR_ROUTE;
	}
}

static void which_find(const struct json_t *nets, const struct json_t *routes,
		       struct which *which)
{
	which->whi_net = strrchr(which->whi_nid, '@') + 1;
	which->whi_near = NEAR_NOT;
	NETS_WALK(nets, ni_compare, which);
	routes_compare(routes, which);
}

/* Prints the nearest of the NIDs, the first of those that are equally near. */
static int nid_which(struct lctl *lctl, int argc, char **argv)
{
	struct json_t     *nets;
	struct json_t     *routes = NULL;
	struct m0_lnet_nid nid;
	struct which       which;
	enum near          best_near = NEAR_NOT;
	char               best[M0_LNET_NIDSTR_SIZE] = "";
	char               text[M0_LNET_NIDSTR_SIZE];
	int                i;

	if (argc < 2)
		return usage(lctl, argv[0], "a NID is missing");
	nets = node_show(lctl, CTL_NET_SHOW);
	if (nets != NULL)
		routes = node_show(lctl, CTL_ROUTE_SHOW);
	for (i = 1; i < argc && routes != NULL; ++i) {
		if (nid_read(lctl, argv[0], argv[i], &nid) != 0)
			break;
		which.whi_nid = m0_lnet_nid_print(&nid, text, sizeof text);
		which_find(nets, routes, &which);
		if (which.whi_near < best_near) {
			best_near = which.whi_near;
			snprintf(best, sizeof best, "%s", which.whi_nid);
		}
	}
	jout_free(routes);
	jout_free(nets);
	if (lctl->lct_fail.tf_exit == TOOL_OK && best_near == NEAR_NOT)
		tool_fail_set(&lctl->lct_fail, TOOL_FAILED,
			      "%s: the node has no path to any of them",
			      argv[0]);
	else if (lctl->lct_fail.tf_exit == TOOL_OK)
		printf("%s\n", best);
	return lctl->lct_fail.tf_exit;
}

/* ---------------------------------------------------------------- get_param */

static void ni_line(const struct json_t *net, const struct json_t *ni,
		    void *arg)
{
	const struct json_t *tunables = jout_get(ni, "tunables");
	const struct json_t *ours = jout_get(ni, "colibri");

	(void)arg;
	/* The node notes no time of life, and counts connections. */
	printf("%-24s %6s %5d %4" PRId64 " %4" PRId64 " %4" PRId64 " %5" PRId64
	       " %5" PRId64 " %5" PRId64 "\n",
	       string(ni, "nid"), string(ni, "status"), is_lo(net) ? 0 : -1,
	       number(ours, "connections"), number(tunables, "peer_credits"),
	       number(tunables, "peer_buffer_credits"),
	       number(tunables, "credits"), number(ours, "credits_free"),
	       number(ours, "credits_low"));
}

static void nis_print(const struct json_t *tree)
{
	printf("%-24s %6s %5s %4s %4s %4s %5s %5s %5s\n", "nid", "status",
	       "alive", "refs", "peer", "rtr", "max", "tx", "min");
	NETS_WALK(tree, ni_line, NULL);
}

static void peer_line(const struct json_t *peer, const struct json_t *ni,
		      void *arg)
{
	(void)peer;
	(void)arg;
	printf("%-24s %4" PRId64 " %5s %5d %5" PRId64 " %5" PRId64 " %5" PRId64
	       " %5" PRId64 " %5" PRId64 " %" PRId64 "\n",
	       string(ni, "nid"), number(ni, "refcount"), string(ni, "state"),
	       -1, number(ni, "max_ni_tx_credits"),
	       number(ni, "available_rtr_credits"),
	       number(ni, "min_rtr_credits"),
	       number(ni, "available_tx_credits"), number(ni, "min_tx_credits"),
	       number(ni, "tx_q_num_of_buf"));
}

static void peers_print(const struct json_t *tree)
{
	printf("%-24s %4s %5s %5s %5s %5s %5s %5s %5s %s\n", "nid", "refs",
	       "state", "last", "max", "rtr", "min", "tx", "min", "queue");
	pairs_walk(tree, "peer", "peer ni", peer_line, NULL);
}

static void stats_print(const struct json_t *tree)
{
	static const char *const keys[] = {
		"msgs_alloc",  "msgs_max",     "errors",      "send_count",
		"recv_count",  "route_count",  "drop_count",  "send_length",
		"recv_length", "route_length", "drop_length",
	};
	const struct json_t *stats = jout_get(tree, "statistics");
	size_t               i;

	for (i = 0; i < ARRAY_SIZE(keys); ++i)
		printf("%s%" PRId64, i == 0 ? "" : " ", number(stats, keys[i]));
	printf("\n");
}

/** A parameter; lines stand below its name, a number behind it. */
struct lctl_param {
	const char   *lpm_name;
	enum ctl_verb lpm_verb;
	bool          lpm_has_lines;
	void (*lpm_print)(const struct json_t *tree);
};

static const struct lctl_param params[] = {
	{ "nis", CTL_NET_SHOW, true, nis_print },
	{ "peers", CTL_PEER_SHOW, true, peers_print },
	{ "stats", CTL_STATS_SHOW, false, stats_print },
};

static int param_print(struct lctl *lctl, const char *name, bool is_named)
{
	struct json_t *tree;
	size_t         i = 0;

	while (i < ARRAY_SIZE(params) && strcmp(params[i].lpm_name, name) != 0)
		++i;
	if (i == ARRAY_SIZE(params))
		return tool_fail_set(&lctl->lct_fail, TOOL_USAGE,
				     "get_param: '%.200s' is no parameter of a "
				     "node; there is: nis, peers, stats",
				     name);
	tree = node_show(lctl, params[i].lpm_verb);
	if (tree == NULL)
		return lctl->lct_fail.tf_exit;
	if (is_named)
		printf("%s=%s", name, params[i].lpm_has_lines ? "\n" : "");
	params[i].lpm_print(tree);
	jout_free(tree);
	return TOOL_OK;
}

static int param_get(struct lctl *lctl, int argc, char **argv)
{
	bool is_named = true;
	int  code = TOOL_OK;
	int  i = 1;

	if (argc > 1 && strcmp(argv[1], "-n") == 0) {
		is_named = false;
		++i;
	}
	if (i == argc)
		return usage(lctl, argv[0],
			     "a name is missing: nis, peers, stats");
	for (; i < argc && code == TOOL_OK; ++i)
		code = param_print(lctl, argv[i], is_named);
	return code;
}

/* -------------------------------------------------------------------- words */

static const struct lctl_command commands[] = {
	{ "list_nids", "[all]", "Print the NIDs of the node", nids_list },
	{ "network", "up|down", "Succeed if a node runs, or if none does",
	  network },
	{ "net", "up|down", "As network", network },
	{ "ping", "NID [SECONDS]", "Print the NIDs of a node that answers",
	  ping },
	{ "which_nid", "NID...", "Print the nearest of some NIDs", nid_which },
	{ "get_param", "[-n] nis|peers|stats...",
	  "Print interfaces, peers or counters", param_get },
};

static const struct lctl_other others[] = {
	{ "route_list", "`colibri route show' prints the routes" },
	{ "show_route", "`colibri route show' prints the routes" },
	{ "add_route", "`colibri route add' adds a route" },
	{ "del_route", "`colibri route del' deletes a route" },
	{ "peer_list", "`colibri peer show' prints the peers" },
	{ "conn_list", "`colibri net show -v4' counts the connections" },
	{ "interface_list", "`colibri net show' prints the interfaces" },
	{ "set_param", "`colibri set' changes the tunables of a node" },
	{ "list_param", "the parameters are: nis, peers, stats" },
	{ "dk", "a node logs to standard error" },
	{ "debug_kernel", "a node logs to standard error" },
	{ "dl", "a node of LNet has no devices of Lustre" },
	{ "device_list", "a node of LNet has no devices of Lustre" },
};

static int help_print(void)
{
	size_t i;

	printf("Usage: lctl [--ctl PATH] COMMAND [OPERAND...]\n"
	       "The commands of lctl for LNet, for the running Colibri node.\n"
	       "\n");
	for (i = 0; i < ARRAY_SIZE(commands); ++i)
		printf("  lctl %-9s %-24s %s\n", commands[i].lcm_name,
		       commands[i].lcm_operands, commands[i].lcm_doc);
	printf("\n"
	       "colibri-lctl(1) says what differs.\n");
	return TOOL_OK;
}

static int refuse(struct lctl *lctl, const char *name)
{
	char   text[256];
	size_t nr = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); ++i) {
		if (strcmp(others[i].lot_name, name) == 0)
			return tool_fail_set(&lctl->lct_fail, TOOL_USAGE,
					     "'%s' is not here: %s", name,
					     others[i].lot_instead);
	}
	for (i = 0; i < ARRAY_SIZE(commands); ++i)
		nr += (size_t)snprintf(text + nr, sizeof text - nr, "%s%s",
				       i == 0 ? "" : ", ",
				       commands[i].lcm_name);
	return tool_fail_set(&lctl->lct_fail, TOOL_USAGE,
			     "'%.200s' is not here; there is: %s", name, text);
}

static int command_run(struct lctl *lctl, int argc, char **argv)
{
	const char *name = argv[0];
	size_t      i;

	if (M0_IN(0, (strcmp(name, "help"), strcmp(name, "--help"),
		      strcmp(name, "-h"))))
		return help_print();
	if (M0_IN(0, (strcmp(name, "version"), strcmp(name, "--version")))) {
		printf("lctl %s (colibri)\n", M0_VERSION_STR);
		return TOOL_OK;
	}
	for (i = 0; i < ARRAY_SIZE(commands); ++i) {
		if (strcmp(commands[i].lcm_name, name) == 0)
			return commands[i].lcm_run(lctl, argc, argv);
	}
	return refuse(lctl, name);
}

int lctl_main(int argc, char **argv)
{
	struct lctl lctl = { .lct_ctl = NULL };
	int         first = 1;
	int         code;

	if (argc > 2 && strcmp(argv[1], "--ctl") == 0) {
		lctl.lct_ctl = ctl_path_option(&lctl.lct_fail, argv[2]);
		first = 3;
	}
	if (lctl.lct_fail.tf_exit == TOOL_OK && first >= argc)
		usage(&lctl, "a command is missing", "try `lctl help'");
	code = lctl.lct_fail.tf_exit;
	if (code == TOOL_OK)
		code = command_run(&lctl, argc - first, argv + first);
	if (tool_fail_print(&lctl.lct_fail, "lctl") != TOOL_OK)
		code = lctl.lct_fail.tf_exit;
	return tool_finish_output("lctl", code);
}
