/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnetctl.h"

#define COMMAND(verb, word)                           \
	{                                             \
		verb, word, verb " " word, NULL, NULL \
	}
#define OPERANDS(verb)                       \
	{                                    \
		verb, NULL, verb, NULL, NULL \
	}
#define NOT_HERE(verb, why)                 \
	{                                   \
		verb, NULL, NULL, NULL, why \
	}

const struct lnetctl_verb lnetctl_verbs[] = {
	{ "lnet", "configure", NULL, lnetctl_configure, NULL },
	{ "lnet", "unconfigure", NULL, lnetctl_unconfigure, NULL },
	COMMAND("route", "add"),
	COMMAND("route", "del"),
	COMMAND("route", "show"),
	COMMAND("net", "add"),
	COMMAND("net", "del"),
	COMMAND("net", "show"),
	COMMAND("net", "set"),
	COMMAND("routing", "show"),
	OPERANDS("set"),
	{ "import", NULL, "config import", NULL, NULL },
	{ "export", NULL, "config export", NULL, NULL },
	COMMAND("stats", "show"),
	COMMAND("stats", "reset"),
	COMMAND("debug", "recovery"),
	{ "debug", "peer", "peer show --verbose=4", NULL, NULL },
	{ "debug", "nidlist", NULL, lnetctl_nidlist, NULL },
	COMMAND("global", "show"),
	COMMAND("peer", "add"),
	COMMAND("peer", "del"),
	COMMAND("peer", "show"),
	COMMAND("peer", "list"),
	COMMAND("peer", "set"),
	OPERANDS("ping"),
	OPERANDS("discover"),
	NOT_HERE("service-id",
		 "the verb names services of InfiniBand in the kernel"),
	COMMAND("udsp", "add"),
	COMMAND("udsp", "del"),
	COMMAND("udsp", "show"),
	COMMAND("fault", "drop"),
	COMMAND("fault", "delay"),
	NOT_HERE("setup-mrrouting",
		 "the verb changes routing tables of the kernel, and a node "
		 "binds each connection to its address instead"),
	NOT_HERE("setup-sysctl",
		 "the verb changes the kernel; `colibri node' names the "
		 "sysctl that it needs"),
	{ "cpt-of-nid", NULL, NULL, lnetctl_cpt, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

#define IP2NETS                                                              \
	"name networks by --net and --if, or by ip2nets in a file that you " \
	"give to `lnetctl import'"
#define KFI "only networks of kfilnd have it, and a node has none"

const struct lnetctl_option lnetctl_options[] = {
	{ "lnet", "configure", "all", false, NULL },
	{ "lnet", "configure", "large", false, NULL },
	{ "import", NULL, "exec", false,
	  "`lnetctl ping' and `lnetctl discover' do what it is for" },
	{ "net", "add", "ip2net", true, IP2NETS },
	{ "net", "add", "cpt", true, NULL },
	{ "net", "add", "skip-mr-route-setup", false, NULL },
	{ "net", "add", "auth-key", true, KFI },
	{ "net", "add", "traffic-class", true, KFI },
	{ "net", "set", "lnd-timeout", true,
	  "a network keeps the time-out that it was added with" },
	{ "net", "set", "conns-per-peer", true,
	  "a network keeps the number of connections that it was added with" },
	{ "peer", "add", "ip2nets", true, "name NIDs by --prim_nid and --nid" },
	{ "peer", "add", "lock_prim", false,
	  "discovery may find another primary NID of a peer" },
	{ "peer", "del", "ip2nets", true, "name NIDs by --prim_nid and --nid" },
	{ "peer", "del", "force", false, NULL },
	{ "peer", "set", "state", true,
	  "a node derives the state of a peer; --health changes the health" },
	{ "route", "add", "health_sensitivity", true,
	  "a gateway is up or down as a whole" },
	{ NULL, NULL, NULL, false, NULL },
};
