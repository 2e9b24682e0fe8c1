/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

const struct tool_cmd tool_cmds[] = {
	{ "copy", "copy a file from one machine to another, verified",
	  copy_main },
	{ "serve", "keep objects below a directory for clients", serve_main },
	{ "put", "put files into an object service, verified", put_main },
	{ "get", "get objects from an object service, verified", get_main },
	{ "ls", "list the objects of an object service", ls_main },
	{ "stat", "show what an object service keeps", stat_main },
	{ "rm", "remove objects from an object service", rm_main },
	{ "perf", "measure latency, message rate and bulk transfer",
	  perf_main },
	{ "node", "be an LNet node, in the foreground", node_main },
	{ "ping", "ask LNet nodes for their NIDs", ping_main },
	{ "discover", "find out what LNet nodes are, and remember it",
	  discover_main },
	{ "net", "show the networks of the running node", net_main },
	{ "peer", "show the peers of the running node", peer_main },
	{ "stats", "show or reset the counters of the running node",
	  stats_main },
	{ "global", "show the parameters of the running node", global_main },
	{ "fault", "add, show or remove fault rules of the running node",
	  fault_main },
	{ "version", "print the version", version_main },
	{ "help", "explain a command", help_main },
	{ NULL, NULL, NULL },
};
