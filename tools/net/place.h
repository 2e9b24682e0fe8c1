/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Where machines of a transport are: `lnet` needs a node, which is opened by
 * the options of the command; `mem` and `sunrpc` need nothing.
 */
#ifndef M0_TOOLS_PLACE_H
#define M0_TOOLS_PLACE_H

#include "../node/lnet_opts.h"
#include "xprts.h"

struct tool_place {
	const struct tool_xprt *tpl_xprt;
	/** NULL: none is needed. */
	struct m0_lnet    *tpl_lnet;
	struct m0_lnet_cfg tpl_cfg;
};

/**
 * Opens what machines of a transport need; after m0_net_init().
 * @param accept  may others connect? Not needed to be answered.
 * @param polled  machines will be inline.
 * @return 0, or an exit code, with opts->nop_fail set.
 */
int  tool_place_open(struct tool_place *place, const struct tool_xprt *xprt,
		     const struct lnet_opts *opts, bool accept, bool polled);
void tool_place_close(struct tool_place *place);
/**
 * Waits until an attached node whose daemon has ended is attached again.
 * @return false  it is not to be, or not in time, or a signal has come.
 */
bool tool_place_again(const struct tool_place *place);

/**
 * Options for another process, so that it can speak to a machine here: "--net
 * ... --port ... ", each followed by a space.
 */
const char *tool_place_words(const struct tool_place *place, const char *addr,
			     char *ret, size_t size);
/** Is it an address of a node of this process? */
bool tool_place_has(const struct tool_place *place, const char *addr);

/** So, and of no other process: the node is not one that processes share. */
bool tool_place_is_alone(const struct tool_place *place, const char *addr);

/** Is it on a network of this process? Of sunrpc all are. */
bool tool_place_meets(const struct tool_place *place, const char *addr);
/** Must be, and is named `what`. @return 0, or an exit code. */
int tool_place_peer_check(const struct tool_place *place, const char *addr,
			  const char *what, struct tool_fail *fail);
/** The address of --ep, NULL: none, must be one of a node of this process. */
int tool_place_own_check(const struct tool_place *place, const char *addr,
			 struct tool_fail *fail);

/** Where a machine shall start: "NID:12345:40:*" of a node; any of sunrpc. */
const char *tool_place_any(const struct tool_place *place, char *ret,
			   size_t size);

/**
 * Where the EP of lnet or sunrpc that `text` begins with ends, at ':' or ',';
 * NULL: it begins with none.
 */
const char *tool_place_ep_end(const char *text);
/** The transport that has such addresses. */
const char *tool_place_xprt(const char *addr);
/**
 * Splits EP:PATH. @return where PATH begins, NULL: it is no such thing.
 */
const char *tool_place_split(const char *text);

/**
 * Is `addr`, `nr` bytes, an end point of the transport (NULL: of any)? Else says
 * what `what` must be.
 * @param own  its machine may be `*`. @return 0, or an exit code.
 */
int tool_place_check(const struct tool_xprt *xprt, const char *addr, size_t nr,
		     bool own, const char *what, struct tool_fail *fail);

#endif /* M0_TOOLS_PLACE_H */
