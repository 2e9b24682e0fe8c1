/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * How a command speaks to a running node, by its control socket: a Unix stream
 * socket. One request, a line of words:
 *
 *	VERB [key=value ...] [NID ...]
 *
 * with VERB one of ping, discover, net.show, peer.show, peer.list, stats.show,
 * stats.reset, global.show, process.show, process.drain, metrics.show, explain, capture, config.export, config.import,
 * config.confirm, config.undo, net.add, net.del, route.add, route.del, route.show, routing.show,
 * udsp.add, udsp.del, udsp.show, udsp.add_dry, udsp.del_dry, set,
 * net.set, peer.add, peer.del, peer.set, debug.recovery, fault.add, fault.del, fault.show, fault.reset; then the answer, a line
 *
 *	status CODE OUT ERR
 *
 * and OUT bytes for standard output and ERR bytes for standard error. CODE is
 * the exit code of the command. After the line of config.import, which has body=N,
 * come N bytes: the name of a file, a newline, and the file.
 *
 * A capture that begins is answered by the line "stream" and a pcapng file, which ends when
 * the client closes its half of the connection.
 */
#ifndef M0_TOOLS_CTL_H
#define M0_TOOLS_CTL_H

#include "m0/lnet.h"
#include "m0/lnet_fault.h"
#include "m0/lnet_route.h"
#include "m0/lnet_udsp.h"

#include "../base/cmd.h"

enum ctl_verb {
	CTL_PING,
	CTL_DISCOVER,
	CTL_NET_SHOW,
	CTL_PEER_SHOW,
	CTL_PEER_LIST,
	CTL_STATS_SHOW,
	CTL_STATS_RESET,
	CTL_GLOBAL_SHOW,
	CTL_PROCESS_SHOW,
	CTL_PROCESS_DRAIN,
	CTL_METRICS_SHOW,
	CTL_EXPLAIN,
	CTL_CAPTURE,
	CTL_CONFIG_EXPORT,
	CTL_CONFIG_IMPORT,
	CTL_CONFIG_CONFIRM,
	CTL_CONFIG_UNDO,
	CTL_ROUTE_ADD,
	CTL_ROUTE_DEL,
	CTL_ROUTE_SHOW,
	CTL_ROUTING_SHOW,
	CTL_UDSP_ADD,
	CTL_UDSP_DEL,
	CTL_UDSP_SHOW,
	CTL_UDSP_ADD_DRY,
	CTL_UDSP_DEL_DRY,
	CTL_SET,
	CTL_NET_SET,
	CTL_NET_ADD,
	CTL_NET_DEL,
	CTL_PEER_ADD,
	CTL_PEER_DEL,
	CTL_PEER_SET,
	CTL_DEBUG_RECOVERY,
	CTL_FAULT_ADD,
	CTL_FAULT_DEL,
	CTL_FAULT_SHOW,
	CTL_FAULT_RESET,
	CTL_VERBS_NR
};

/** How a node refuses a request, and one for which the client has not the right. */
#define CTL_REFUSES        "the node refuses the request: "
#define CTL_REFUSES_CHANGE " changes the node, which only its user"

/** Rights of clients of the control socket. */
enum ctl_right {
	/** A verb that the table does not give a right: nobody may use it. */
	CTL_RIGHT_NONE,
	CTL_RIGHT_LOOK,
	CTL_RIGHT_CHANGE
};

enum {
	CTL_NIDS_MAX = 64,
	/** A request, with its newline and a NUL. */
	CTL_LINE_BYTES = 8192,
	CTL_PATH_BYTES = 108,
	CTL_NAME_BYTES = 32,
	/** Interfaces, and options of a network, as text. */
	CTL_TEXT_BYTES = 1024,
	/** Two paths, and a word. */
	CTL_WHERE_BYTES = 2 * CTL_PATH_BYTES + 8,
	CTL_VERBOSE_MAX = 4,
	/** A file of the greatest length, and its name. */
	CTL_BODY_MAX = (8 << 20) + 8192
};

struct ctl_request {
	enum ctl_verb cq_verb;
	bool          cq_json;
	/** 0 to CTL_VERBOSE_MAX: how much is shown. */
	unsigned cq_verbose;
	/** discover: also a peer that is up to date. */
	bool cq_force;
	/** ping, discover: 0 is the node's own. process.drain: after this time those that
	 * are left are detached; 0: never. */
	uint64_t cq_timeout_ms;
	/**
	 * Network namespace of a client that did not name the node: ctl_netns();
	 * the node says so if its own is another. 0: it does not matter.
	 */
	uint64_t cq_netns;
	/** net.show: of this one; M0_LNET_NET_ANY: all. net.add, net.del: this
	 * one. */
	uint32_t cq_net;
	/** net.add: its interfaces, net.del: those to be removed, separated by
	 * commas; empty: the first one, all. */
	char cq_ifaces[CTL_TEXT_BYTES];
	/** net.add: pairs "name=value", separated by commas. */
	char cq_options[CTL_TEXT_BYTES];
	/** ping, discover, explain: from; ANY: chosen. */
	struct m0_lnet_nid cq_source;
	/** ping, discover: of whom; explain: to whom; peer.show: at most one, none is all;
	 * peer.set, net.set: of which, none is all; peer.add, peer.del: the
	 * primary NID and further ones; capture: messages from, to or by one of them. */
	struct m0_lnet_nid cq_nids[CTL_NIDS_MAX];
	unsigned           cq_nids_nr;
	/** set: name of what is set; debug.recovery: "local" or "peer"; config.import:
	 * "add", "del" or "replace"; capture: "in", "out" or "both". */
	char cq_name[CTL_NAME_BYTES];
	/** set: the value; net.set, peer.set: the health; explain: bytes; config.import: seconds in
	 * which the change is to be confirmed, 0: it need not be; capture: bytes of the payload. */
	uint64_t cq_value;
	/** peer.add: the peer is not Multi-Rail. */
	bool cq_non_mr;
	/** route.add: the route; route.del, route.show: ANY for all. */
	struct m0_lnet_route_attr cq_route;
	/** route.show: only routes of these hops, or of this priority. */
	bool cq_by_hops;
	bool cq_by_priority;
	/** udsp.add, udsp.add_dry: the rule; udsp.del, udsp.del_dry, udsp.show:
	 * lud_idx, or all. */
	struct m0_lnet_udsp cq_udsp;
	/** fault.add: the rule; others: kind, ANY for all, and del: NIDs; capture: the
	 * messages that a rule would match. */
	struct m0_lnet_fault_attr cq_fault;
	/** config.import: what follows the line. The request does not own it. */
	const char *cq_body;
	size_t      cq_body_nr;
};

/* -- ctl_fault.c: fault rules in a request --------------------------------- */

/** Reads a value of a key without its "fault.". @return what is wrong; NULL. */
const char *ctl_fault_parse(struct m0_lnet_fault_attr *attr, const char *key,
			    const char *value);
enum {
	/** Room for what ctl_fault_print() puts, with a NUL. */
	CTL_FAULT_BYTES = 768
};
/** As words with a blank before each. */
void ctl_fault_print(const struct m0_lnet_fault_attr *attr,
		     char                             ret[CTL_FAULT_BYTES]);

void ctl_request_init(struct ctl_request *req, enum ctl_verb verb);
/** The verb as a request has it, "net.show". */
const char *ctl_verb_name(enum ctl_verb verb);
/**
 * Returns the right that the verb needs. Only the node's user and root may change
 * the node; others whom the control socket lets in may look. A ping counts as
 * looking: it tells the caller what the pinged node tells everybody.
 */
enum ctl_right ctl_verb_right(enum ctl_verb verb);
/**
 * Reads a line without its newline. It is cut up.
 * @retval -EINVAL  and `*ret_why` is what is wrong.
 */
int ctl_request_parse(struct ctl_request *req, char *line,
		      const char **ret_why);
/** As a line with its newline. @return its length. */
size_t ctl_request_print(const struct ctl_request *req,
			 char                      buf[CTL_LINE_BYTES]);

/**
 * The default path of a node: in the first directory of $RUNTIME_DIRECTORY; of
 * root, /run/colibri/node.sock; else in $XDG_RUNTIME_DIR, or in a directory of
 * this user's in /tmp.
 * @param make  make the directory if there is none.
 * @return the exit code: the directory is not to be trusted or made.
 */
int ctl_path(char ret[CTL_PATH_BYTES], bool make, struct tool_fail *fail);
/** Takes the value of --ctl. @return it, or NULL: `fail` says what is accepted. */
const char *ctl_path_option(struct tool_fail *fail, const char *path);
/**
 * Connects to the node at the default path, or else to that of the system, at
 * /run/colibri/node.sock.
 * @param ret_where  the path, or both, for messages.
 * @return as ctl_connect(); -EPERM: `fail` says why the path is not trusted.
 */
int ctl_connect_default(char              ret_where[CTL_WHERE_BYTES],
			struct tool_fail *fail);
/** Identifies the network namespace of this process; 0: not known. */
uint64_t ctl_netns(void);
/**
 * Connects to a node. Waits for a second if too many clients wait already.
 * @return a descriptor, or -EAGAIN, -ENOENT, -ECONNREFUSED (nobody is there), -EACCES,
 *         -ENAMETOOLONG and others.
 */
int ctl_connect(const char *path);
/**
 * Asks, and prints the answer. Closes `fd`.
 * @param timeout_ms  for all of it.
 * @param stop_fd  readable: give up ("interrupted"); < 0: none.
 * @return the exit code.
 */
int ctl_ask(int fd, const struct ctl_request *req, uint64_t timeout_ms,
	    int stop_fd, struct tool_fail *fail);
/** Asks the node at `path`; NULL: the default. */
int ctl_ask_at(const char *path, const struct ctl_request *req,
	       uint64_t timeout_ms, struct tool_fail *fail);
/** As ctl_ask_at(); what is for standard output goes to `out`, and what is for standard
 * error to `errors`. @param stop_fd  as that of ctl_ask(). */
int ctl_ask_at_to(const char *path, const struct ctl_request *req,
		  uint64_t timeout_ms, int stop_fd, FILE *out, FILE *errors,
		  struct tool_fail *fail);
/**
 * As ctl_ask_at_to(), into texts that the caller frees, also if it fails.
 * @param ret_err  NULL: standard error is part of `ret_out`.
 */
int ctl_ask_text(const char *path, const struct ctl_request *req,
		 uint64_t timeout_ms, int stop_fd, char **ret_out,
		 char **ret_err, struct tool_fail *fail);
/**
 * The reason in the node's standard error: the first line, without "colibri: ".
 * @param err  is changed. NULL: the reason is "".
 */
const char *ctl_why(char *err);
/** Is the path that of a device of the kernel module? */
bool ctl_is_device(const char *path);
/** Asks the node of the kernel module, by its device. As ctl_ask_at_to(). */
int ctl_ask_device(const char *path, const struct ctl_request *req, FILE *out,
		   FILE *errors, struct tool_fail *fail);
/** Notes that nobody answers at `path`, and what to do. */
void ctl_nobody(const char *path, int rc, struct tool_fail *fail);

#endif /* M0_TOOLS_CTL_H */
