/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl.h"
#include "lnet_opts.h"
#include "../base/stop.h"
#include "../base/text.h"
#include "m0/lnet_route.h"
#include "m0/lnet_run.h"

enum {
	KEY_NET = 0x1000,
	KEY_PORT,
	KEY_ACCEPT,
	KEY_SOURCE_PORTS,
	KEY_PEERS_COLIBRI,
	KEY_NO_DISCOVERY,
	KEY_PEER_CREDITS,
	KEY_CREDITS,
	KEY_CONNS_PER_PEER,
	KEY_TRANSACTION_TIMEOUT,
	KEY_LND_TIMEOUT,
	KEY_KEEPALIVE,
	KEY_SAME_HOST,
	KEY_LANES,
	KEY_ROUTES,
	KEY_WAIT,
	KEY_CTL,
	/** Between two looks for a device. */
	WAIT_TICK_MS = 300,
	/** Between two looks at the gateways that are checked. */
	ROUTERS_TICK_MS = 5,
	CREDITS_MAX = UINT16_MAX,
	CONNS_MAX = 127,
	LANES_MAX = 64,
	DAY_MS = 86400000
};

static const struct argp_option lnet_options[] = {
	{ NULL, 0, NULL, 0, "The node:", 1 },
	{ "net", KEY_NET, "TEXT", 0,
	  "Networks of the node, as tcp, tcp(eth0), tcp1(10.0.0.1,10.0.0.2), "
	  "each with tunables of its own, as 'tcp1(eth1) peer_credits=16 "
	  "timeout=30'; may be repeated; default tcp, on the first device that "
	  "is up",
	  0 },
	{ "port", KEY_PORT, "N", 0,
	  "TCP port of this node and of its peers; default 988", 0 },
	{ "accept", KEY_ACCEPT, "WHOM", 0,
	  "Peers that may connect: secure (from ports up to 1023), all, or "
	  "none (do not listen)",
	  0 },
	{ "source-ports", KEY_SOURCE_PORTS, "LO-HI", 0,
	  "Source ports of connections, or any; default 512-1023", 0 },
	{ "peers-colibri", KEY_PEERS_COLIBRI, NULL, 0,
	  "All peers are Colibri nodes: connect from any port over IPv6, too",
	  0 },
	{ "no-discovery", KEY_NO_DISCOVERY, NULL, 0,
	  "Neither offer nor perform discovery", 0 },
	{ "peer-credits", KEY_PEER_CREDITS, "N", 0,
	  "Number of messages in flight per peer; default 8", 0 },
	{ "credits", KEY_CREDITS, "N", 0,
	  "Number of messages in flight per interface; default 256", 0 },
	{ "conns-per-peer", KEY_CONNS_PER_PEER, "N", 0,
	  "Number of connections of each bulk type per peer; default 1", 0 },
	{ "transaction-timeout", KEY_TRANSACTION_TIMEOUT, "TIME", 0,
	  "Fail a request without an answer after this long; default 150", 0 },
	{ "lnd-timeout", KEY_LND_TIMEOUT, "TIME", 0,
	  "Close a connection that makes no progress for this long; default 50",
	  0 },
	{ "keepalive", KEY_KEEPALIVE, "TIME", 0,
	  "Send a keepalive to an idle peer this often; default 30; 0: never",
	  0 },
	{ "same-host", KEY_SAME_HOST, "on|off|DIR", 0,
	  "Connect to nodes of this host and user through shared memory instead "
	  "of TCP, if they do, too, and are in the same network namespace or have "
	  "the same directory; default off",
	  0 },
	{ "lanes", KEY_LANES, "N[:CPUS]", 0,
	  "Move large payloads over TCP by N threads, on these processors, as "
	  "4:8-11; default 0: the node's thread moves all bytes",
	  0 },
	{ "routes", KEY_ROUTES, "TEXT", 0,
	  "Routes to other networks, 'NET [HOPS] GATEWAY[:PRIORITY]; ...', as "
	  "'tcp1 10.0.0.1@tcp'; may be repeated",
	  0 },
	{ "wait", KEY_WAIT, "TIME", OPTION_ARG_OPTIONAL,
	  "Wait for a device or an address that is missing, at most TIME; "
	  "default: without limit",
	  0 },
	{ 0 },
};

static const struct argp_option ctl_options[] = {
	{ "ctl", KEY_CTL, "PATH", 0, "Control socket of the running node", 2 },
	{ 0 },
};

void tool_bad_value(struct tool_fail *fail, const char *option,
		    const char *value, const char *accepted)
{
	tool_fail_set(fail, TOOL_USAGE, "%s '%s' is not accepted; accepted: %s",
		      option, value, accepted);
}

mode_t tool_mode_option(struct tool_fail *fail, const char *option,
			const char *text)
{
	char         *end;
	unsigned long mode = strtoul(text, &end, 8);

	if (text[0] >= '0' && text[0] <= '7' && *end == '\0' &&
	    (mode & 0600) == 0600 && mode <= 0666 && (mode & 0111) == 0)
		return (mode_t)mode;
	tool_bad_value(fail, option, text, "600 to 666, octal, as 660");
	return 0600;
}

bool tool_group_parse(const char *text, uint32_t *ret)
{
	const struct group *group = getgrnam(text);
	uint64_t            nr = 0;

	/* The last number stands for "none" in the system. */
	if (group == NULL &&
	    (text_number_parse(text, &nr) != 0 || nr >= UINT32_MAX))
		return false;
	*ret = group != NULL ? group->gr_gid : (uint32_t)nr;
	return true;
}

uint64_t tool_number_option(struct tool_fail *fail, const char *option,
			    const char *text, uint64_t min, uint64_t max)
{
	char     accepted[2 * TEXT_MAX];
	uint64_t value;

	if (text_number_parse(text, &value) == 0 && value >= min &&
	    value <= max)
		return value;
	snprintf(accepted, sizeof accepted, "%" PRIu64 " to %" PRIu64, min,
		 max);
	tool_bad_value(fail, option, text, accepted);
	return min;
}

uint64_t tool_ms_option(struct tool_fail *fail, const char *option,
			const char *text, uint64_t min_ms)
{
	uint64_t ns;
	uint64_t ms;

	if (text_duration_parse(text, &ns) == 0) {
		ms = ns / M0_TIME_ONE_MSEC + (ns % M0_TIME_ONE_MSEC != 0);
		if (ms >= min_ms && ms <= DAY_MS)
			return ms;
	}
	tool_bad_value(fail, option, text,
		       min_ms == 0 ? TEXT_DURATION_FORMS ", or 0; at most a day"
				   : TEXT_DURATION_FORMS
			       "; above 0, at most a day");
	return min_ms;
}

static void net_option(struct lnet_opts *opts, const char *text)
{
	char why[M0_LNET_WHY_BYTES] = "";

	if (m0_lnet_cfg_networks(&opts->nop_cfg, text, why) != 0)
		tool_fail_set(
			opts->nop_fail, TOOL_USAGE,
			"--net '%.100s' is not accepted: %.400s; accepted "
			"are networks as tcp, tcp(eth0), "
			"tcp1(10.0.0.1,10.0.0.2), tcp1 peer_credits=16",
			text, why);
}

static void routes_option(struct lnet_opts *opts, const char *text)
{
	char why[M0_LNET_WHY_BYTES] = "";

	if (m0_lnet_cfg_routes(&opts->nop_cfg, text, why) != 0)
		tool_fail_set(opts->nop_fail, TOOL_USAGE,
			      "--routes '%.100s' is not accepted: %.400s; "
			      "accepted: NET [HOPS] GATEWAY[:PRIORITY], as "
			      "tcp1 10.0.0.1@tcp, separated by ;",
			      text, why);
}

static void accept_option(struct lnet_opts *opts, const char *text)
{
	static const char *const names[] = {
		[M0_LNET_ACCEPT_SECURE] = "secure",
		[M0_LNET_ACCEPT_ALL] = "all",
		[M0_LNET_ACCEPT_NONE] = "none",
	};
	size_t i;

	opts->nop_accept_given = true;
	for (i = 0; i < ARRAY_SIZE(names); ++i) {
		if (strcmp(names[i], text) == 0) {
			opts->nop_cfg.lc_accept = (enum m0_lnet_accept)i;
			return;
		}
	}
	tool_bad_value(opts->nop_fail, "--accept", text, "secure, all, none");
}

static void same_host_option(struct lnet_opts *opts, const char *text)
{
	struct m0_lnet_cfg *cfg = &opts->nop_cfg;
	size_t              nr = text[0] == '/' ? strlen(text) : 0;

	cfg->lc_same_host = nr > 0 || strcmp(text, "on") == 0;
	if (nr >= sizeof cfg->lc_same_host_dir ||
	    (!cfg->lc_same_host && strcmp(text, "off") != 0))
		tool_bad_value(
			opts->nop_fail, "--same-host", text,
			"on, off, absolute path of at most 43 characters");
	M0_SET0(&cfg->lc_same_host_dir);
	memcpy(cfg->lc_same_host_dir, text, nr);
}

/* lnet_opts_check() reads the processors. */
static void lanes_option(struct lnet_opts *opts, const char *text)
{
	struct m0_lnet_cfg *cfg = &opts->nop_cfg;
	const char         *colon = strchr(text, ':');
	size_t   len = colon == NULL ? strlen(text) : (size_t)(colon - text);
	uint64_t nr;
	char     number[TEXT_MAX];

	snprintf(number, sizeof number, "%.*s", (int)min64u(len, sizeof number),
		 text);
	if (len >= sizeof number || text_number_parse(number, &nr) != 0 ||
	    nr > LANES_MAX || (colon != NULL && colon[1] == '\0') ||
	    (colon != NULL && strlen(colon + 1) >= sizeof cfg->lc_lane_cpus)) {
		tool_bad_value(opts->nop_fail, "--lanes", text,
			       "0 to 64, and processors, as 4 or 4:8-11");
		return;
	}
	cfg->lc_lanes = (unsigned)nr;
	snprintf(cfg->lc_lane_cpus, sizeof cfg->lc_lane_cpus, "%s",
		 colon == NULL ? "" : colon + 1);
}

static void source_ports_option(struct lnet_opts *opts, const char *text)
{
	struct m0_lnet_cfg *cfg = &opts->nop_cfg;
	const char         *dash = strchr(text, '-');
	char                low[TEXT_MAX];
	uint64_t            min = 0;
	uint64_t            max = 0;

	if (strcmp(text, "any") != 0) {
		if (dash == NULL || (size_t)(dash - text) >= sizeof low)
			goto bad;
		snprintf(low, sizeof low, "%.*s", (int)(dash - text), text);
		if (text_number_parse(low, &min) != 0 ||
		    text_number_parse(dash + 1, &max) != 0 || min < 1 ||
		    min > max || max > UINT16_MAX)
			goto bad;
	}
	cfg->lc_src_port_min = (uint16_t)min;
	cfg->lc_src_port_max = (uint16_t)max;
	return;
bad:
	tool_bad_value(opts->nop_fail, "--source-ports", text,
		       "a range as 512-1023, within 1 to 65535, or any");
}

static unsigned count_option(struct lnet_opts *opts, const char *option,
			     const char *text, unsigned max)
{
	return (unsigned)tool_number_option(opts->nop_fail, option, text, 1,
					    max);
}

static bool value_option(int key, char *arg, struct lnet_opts *opts)
{
	struct m0_lnet_cfg *cfg = &opts->nop_cfg;

	switch (key) {
	case KEY_PORT:
		cfg->lc_port =
			(uint16_t)count_option(opts, "--port", arg, UINT16_MAX);
		return true;
	case KEY_PEER_CREDITS:
		cfg->lc_peer_credits =
			count_option(opts, "--peer-credits", arg, CREDITS_MAX);
		return true;
	case KEY_CREDITS:
		cfg->lc_credits =
			count_option(opts, "--credits", arg, CREDITS_MAX);
		return true;
	case KEY_CONNS_PER_PEER:
		cfg->lc_conns_per_peer =
			count_option(opts, "--conns-per-peer", arg, CONNS_MAX);
		return true;
	case KEY_TRANSACTION_TIMEOUT:
		cfg->lc_transaction_timeout_ms = tool_ms_option(
			opts->nop_fail, "--transaction-timeout", arg, 1);
		return true;
	case KEY_LND_TIMEOUT:
		cfg->lc_timeout_ms =
			tool_ms_option(opts->nop_fail, "--lnd-timeout", arg, 1);
		return true;
	case KEY_KEEPALIVE:
		cfg->lc_keepalive_ms =
			tool_ms_option(opts->nop_fail, "--keepalive", arg, 0);
		return true;
	default:
		return false;
	}
}

/* Returns the bit of the value that the option sets. */
static uint32_t start_of(int key)
{
	switch (key) {
	case KEY_ACCEPT:
		return 1U << CONF_START_ACCEPT;
	case KEY_PORT:
		return 1U << CONF_START_PORT;
	case KEY_SOURCE_PORTS:
		return 1U << CONF_START_SOURCE_PORTS;
	case KEY_PEERS_COLIBRI:
		return 1U << CONF_START_PEERS_COLIBRI;
	case KEY_PEER_CREDITS:
		return 1U << CONF_START_PEER_CREDITS;
	case KEY_CREDITS:
		return 1U << CONF_START_CREDITS;
	case KEY_CONNS_PER_PEER:
		return 1U << CONF_START_CONNS_PER_PEER;
	case KEY_LND_TIMEOUT:
		return 1U << CONF_START_LND_TIMEOUT;
	case KEY_KEEPALIVE:
		return 1U << CONF_START_KEEPALIVE;
	case KEY_LANES:
		return 1U << CONF_START_LANES;
	default:
		return 0;
	}
}

static error_t lnet_option(int key, char *arg, struct argp_state *state)
{
	struct lnet_opts *opts = state->input;

	switch (key) {
	case KEY_NET:
		net_option(opts, arg);
		break;
	case KEY_ROUTES:
		routes_option(opts, arg);
		break;
	case KEY_ACCEPT:
		accept_option(opts, arg);
		break;
	case KEY_SOURCE_PORTS:
		source_ports_option(opts, arg);
		break;
	case KEY_SAME_HOST:
		same_host_option(opts, arg);
		break;
	case KEY_LANES:
		lanes_option(opts, arg);
		break;
	case KEY_PEERS_COLIBRI:
		opts->nop_cfg.lc_peers_colibri = true;
		break;
	case KEY_WAIT:
		opts->nop_wait_ms = arg == NULL
					    ? UINT64_MAX
					    : tool_ms_option(opts->nop_fail,
							     "--wait", arg, 1);
		break;
	case KEY_NO_DISCOVERY:
		opts->nop_cfg.lc_discovery = false;
		break;
	default:
		if (!value_option(key, arg, opts))
			return ARGP_ERR_UNKNOWN;
	}
	opts->nop_given = true;
	opts->nop_starts |= start_of(key);
	return 0;
}

const struct argp lnet_opts_own_argp = {
	lnet_options, lnet_option, NULL, NULL, NULL, NULL, NULL,
};

static error_t ctl_option(int key, char *arg, struct argp_state *state)
{
	struct lnet_opts *opts = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = opts;
		return 0;
	case KEY_CTL:
		opts->nop_ctl = ctl_path_option(opts->nop_fail, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child own_child[] = {
	{ &lnet_opts_own_argp, 0, NULL, 0 },
	{ 0 },
};

const struct argp lnet_opts_argp = {
	ctl_options, ctl_option, NULL, NULL, own_child, NULL, NULL,
};

/* Too long, it has no end, which lnet_opts_check() finds. */
static void cpus_of_env(struct m0_lnet_cfg *cfg)
{
	const char *cpus = getenv("M0_LNET_CPUS");

	if (cpus != NULL)
		memcpy(cfg->lc_cpus, cpus,
		       min64u(strlen(cpus) + 1, sizeof cfg->lc_cpus));
}

void lnet_opts_init(struct lnet_opts *opts, struct tool_fail *fail)
{
	M0_SET0(opts);
	m0_lnet_cfg_default(&opts->nop_cfg);
	cpus_of_env(&opts->nop_cfg);
	opts->nop_fail = fail;
}

char *lnet_opts_words(char *ret, size_t size, const char *why)
{
	/* The longer first. */
	static const char *const words[][2] = {
		{ "lc_src_port_min and _max 0", "--source-ports any" },
		{ "lc_src_port_min", "--source-ports" },
		{ "lc_routing.lgc_bytes", "--router-memory" },
		{ "lc_accept", "--accept" },
		{ "lc_cpus", "$M0_LNET_CPUS" },
		{ "lc_lane_cpus", "--lanes" },
		{ "lc_lanes", "--lanes" },
		{ "lc_port", "--port" },
		{ "lc_transaction_timeout_ms", "--transaction-timeout" },
		{ "lc_timeout_ms", "--lnd-timeout" },
		{ "lc_peers_colibri", "--peers-colibri" },
		{ "lc_same_host_dir", "--same-host" },
		{ "lc_same_host", "--same-host" },
		{ "declare that all peers are Colibri nodes",
		  "declare that all peers are Colibri nodes "
		  "(--peers-colibri)" },
	};
	size_t used = 0;
	size_t i;

	M0_PRE(size > 0);
	ret[0] = '\0';
	while (*why != '\0' && used + 1 < size) {
		for (i = 0; i < ARRAY_SIZE(words); ++i) {
			if (strncmp(why, words[i][0], strlen(words[i][0])) == 0)
				break;
		}
		if (i < ARRAY_SIZE(words)) {
			used += (size_t)snprintf(ret + used, size - used, "%s",
						 words[i][1]);
			why += strlen(words[i][0]);
		} else {
			ret[used++] = *why++;
			ret[used] = '\0';
		}
	}
	return ret;
}

static bool is_absent(int rc)
{
	return M0_IN(rc, (-ENODEV, -EADDRNOTAVAIL, -ENETDOWN));
}

int lnet_opts_open_fail(const struct lnet_opts *opts, int rc, const char *why)
{
	bool        net = is_absent(rc) && opts->nop_cfg.lc_nets_nr > 0;
	const char *option = opts->nop_net_option ?: "--net";
	char        text[M0_LNET_WHY_BYTES];

	lnet_opts_words(text, sizeof text,
			why[0] != '\0' ? why : tool_errtext(rc));
	return tool_fail_set(opts->nop_fail,
			     rc == -EINVAL ? TOOL_USAGE : TOOL_FAILED,
			     "%s%s%s%s", net ? option : "", net ? ": " : "",
			     text,
			     is_absent(rc) && opts->nop_wait_ms == 0
				     ? "; to wait for it: --wait"
				     : "");
}

/* Some commands have them blocked until they look. */
static bool is_interrupted(void)
{
	sigset_t set;

	return stop_signal() != 0 ||
	       (sigpending(&set) == 0 && (sigismember(&set, SIGINT) == 1 ||
					  sigismember(&set, SIGTERM) == 1));
}

static void waiting_say(const struct lnet_opts *opts, const char *why)
{
	char text[M0_LNET_WHY_BYTES];

	if (!stop_lets_say(stderr))
		return;
	lnet_opts_words(text, sizeof text, why);
	/* The rest of it is what there is. */
	fprintf(stderr, "colibri: %s: %.*s; waiting for it\n",
		opts->nop_net_option ?: "--net", (int)strcspn(text, "\n"),
		text);
}

/* As m0_lnet_open() does, but a signal ends it. */
static int routers_await(const struct lnet_opts *opts, struct m0_lnet *lnet)
{
	uint64_t  ms = opts->nop_cfg.lc_routing.lgc_ping_ms;
	m0_time_t until = m0_time_add(m0_time_now(), ms * M0_TIME_ONE_MSEC);

	while (m0_lnet_routes_unchecked(lnet) > 0 && m0_time_now() < until) {
		if (is_interrupted())
			return tool_fail_set(opts->nop_fail, TOOL_FAILED,
					     "interrupted while gateways were "
					     "checked");
		(void)poll(NULL, 0, ROUTERS_TICK_MS);
	}
	return 0;
}

/* Opens a node with a thread, without the wait of m0_lnet_open(). */
static int open_checked(const struct m0_lnet_cfg *cfg, struct m0_lnet **ret,
			char *why)
{
	struct m0_lnet_cfg as_inline = *cfg;
	int                rc;

	as_inline.lc_inline = true;
	rc = m0_lnet_open(ret, &as_inline, why);
	if (rc != 0)
		return rc;
	rc = m0_lnet_thread_start(*ret);
	if (rc == 0)
		return 0;
	m0_lnet_close(*ret);
	*ret = NULL;
	return rc;
}

int lnet_opts_open(const struct lnet_opts *opts, const struct m0_lnet_cfg *cfg,
		   struct m0_lnet **ret)
{
	m0_time_t begin = m0_time_now();
	char      why[M0_LNET_WHY_BYTES] = "";
	bool      awaits = cfg->lc_routing.lgc_check_first && !cfg->lc_inline;
	bool      said = false;
	int       rc;

	while ((rc = awaits ? open_checked(cfg, ret, why)
			    : m0_lnet_open(ret, cfg, why)) != 0) {
		if (!is_absent(rc) ||
		    (m0_time_now() - begin) / M0_TIME_ONE_MSEC >=
			    opts->nop_wait_ms)
			return lnet_opts_open_fail(opts, rc, why);
		if (!said)
			waiting_say(opts, why);
		said = true;
		(void)poll(NULL, 0, WAIT_TICK_MS);
		if (is_interrupted())
			return tool_fail_set(opts->nop_fail, TOOL_FAILED,
					     "interrupted while a device was "
					     "waited for");
	}
	if (awaits && (rc = routers_await(opts, *ret)) != 0) {
		m0_lnet_close(*ret);
		*ret = NULL;
	}
	return rc;
}

void lnet_opts_attach(struct lnet_opts *opts, const char *path)
{
	struct m0_lnet_cfg *cfg = &opts->nop_cfg;

	if (path == NULL)
		path = "default";
	else if (path[0] != '/' || strlen(path) >= sizeof cfg->lc_attach)
		tool_bad_value(opts->nop_fail, "--attach", path,
			       "an absolute path of a socket");
	(void)snprintf(cfg->lc_attach, sizeof cfg->lc_attach, "%s", path);
}

void lnet_opts_timeout(struct lnet_opts *opts, uint64_t ms)
{
	struct m0_lnet_cfg *cfg = &opts->nop_cfg;
	struct m0_lnet_cfg  def;

	m0_lnet_cfg_default(&def);
	if (cfg->lc_transaction_timeout_ms == def.lc_transaction_timeout_ms)
		cfg->lc_transaction_timeout_ms = ms;
	if (cfg->lc_timeout_ms == def.lc_timeout_ms)
		cfg->lc_timeout_ms = ms;
}

int lnet_opts_check(struct lnet_opts *opts)
{
	char why[M0_LNET_WHY_BYTES] = "";
	char text[M0_LNET_WHY_BYTES];

	if (opts->nop_fail->tf_exit == TOOL_OK &&
	    m0_lnet_cfg_check(&opts->nop_cfg, why) != 0)
		tool_fail_set(opts->nop_fail, TOOL_USAGE, "%s",
			      lnet_opts_words(text, sizeof text, why));
	return opts->nop_fail->tf_exit;
}
