/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Taps show messages to those who record them. They hang on the branch of fault rules, so
 * that a node without either tests one pointer for each message.
 */
#ifndef M0_SRC_LNET_TAP_H
#define M0_SRC_LNET_TAP_H

#include "lnet/fault/fault.h"
#include "lnet/lnet_internal.h"
#include "m0/lnet_tap.h"

enum {
	/** In msg_faults, where JUDGED says nothing: the arrival of the message is to be
	 * shown when it ends. */
	M0_LNET__TAP_COMES = M0_LNET__FAULT_JUDGED,
	/** Word of m0_lnd_rx that has the header meanwhile. */
	M0_LNET__RX_TAP = M0_LNET__RX_HELD
};

/** A message that arrives, while the engine decides what becomes of it. */
struct m0_lnet__tap_coming {
	const struct m0_lnet_ni  *tpx_ni;
	struct m0_lnd_rx         *tpx_rx;
	const struct m0_lnet_hdr *tpx_hdr;
	bool                      tpx_shown;
};

/** Shows a message that is about to leave, or is dropped instead: after the request that
 * it answers. */
void m0_lnet__tap_out(const struct m0_lnet_msg *msg, const char *why)
	__attribute__((__cold__, __noinline__));
/** Begins the arrival of a message. Pre: le_faults. */
void m0_lnet__tap_begin(struct m0_lnet_engine      *eng,
			struct m0_lnet__tap_coming *coming);
/** The message is dropped: shows it with the reason. */
void m0_lnet__tap_drop(struct m0_lnet_engine *eng, const char *why)
	__attribute__((__cold__, __noinline__));
/**
 * The engine has decided: 0, the message is shown, now or when its payload is here; else
 * it is not.
 */
void m0_lnet__tap_end(struct m0_lnet_engine *eng, int rc)
	__attribute__((__cold__, __noinline__));
/** The arrival has ended of a message that may have msg_faults, and `rx` still has its
 * payload: does what rules and taps want of it. */
void m0_lnet__tap_come(struct m0_lnet_msg *msg, struct m0_lnd_rx *rx,
		       int status) __attribute__((__cold__, __noinline__));
/** The memory of the payload is the engine's no more. */
void m0_lnet__tap_cancel(struct m0_lnet_msg *msg, struct m0_lnd_rx *rx)
	__attribute__((__cold__, __noinline__));

#endif /* M0_SRC_LNET_TAP_H */
