/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "rpc/core/sstream.h"

#include <errno.h>

#define WORD_(x) #x
/* clang-format off */
#define RULE_(action, next) { M0_RPC_SA_##action, M0_RPC_SS_##next }

/* Action and next state for each state of a number and each input. */
const struct m0_rpc_srule m0_rpc_srules[M0_RPC_SS_NR][M0_RPC_SI_NR] = {
	[M0_RPC_SS_BEYOND] = {
		[M0_RPC_SI_REQUEST] = RULE_(REFUSE, BEYOND),
		[M0_RPC_SI_SKIP]    = RULE_(REFUSE, BEYOND),
		[M0_RPC_SI_TURN]    = RULE_(NONE, BEYOND),
		[M0_RPC_SI_DONE]    = RULE_(NEVER, BEYOND),
		[M0_RPC_SI_ACK]     = RULE_(NONE, GONE),
	},
	[M0_RPC_SS_AHEAD] = {
		[M0_RPC_SI_REQUEST] = RULE_(HOLD, HELD),
		[M0_RPC_SI_SKIP]    = RULE_(HOLD, HELD_SKIP),
		[M0_RPC_SI_TURN]    = RULE_(NONE, TURN),
		[M0_RPC_SI_DONE]    = RULE_(NEVER, AHEAD),
		[M0_RPC_SI_ACK]     = RULE_(NONE, GONE),
	},
	[M0_RPC_SS_TURN] = {
		[M0_RPC_SI_REQUEST] = RULE_(EXECUTE, RUNNING),
		[M0_RPC_SI_SKIP]    = RULE_(SKIPPED, KEPT),
		[M0_RPC_SI_TURN]    = RULE_(NONE, TURN),
		[M0_RPC_SI_DONE]    = RULE_(NEVER, TURN),
		[M0_RPC_SI_ACK]     = RULE_(NONE, GONE),
	},
	[M0_RPC_SS_HELD] = {
		[M0_RPC_SI_REQUEST] = RULE_(IGNORE, HELD),
		[M0_RPC_SI_SKIP]    = RULE_(DROP, HELD_SKIP),
		[M0_RPC_SI_TURN]    = RULE_(EXECUTE, RUNNING),
		[M0_RPC_SI_DONE]    = RULE_(NEVER, HELD),
		[M0_RPC_SI_ACK]     = RULE_(DROP, GONE),
	},
	[M0_RPC_SS_HELD_SKIP] = {
		[M0_RPC_SI_REQUEST] = RULE_(IGNORE, HELD_SKIP),
		[M0_RPC_SI_SKIP]    = RULE_(IGNORE, HELD_SKIP),
		[M0_RPC_SI_TURN]    = RULE_(SKIPPED, KEPT),
		[M0_RPC_SI_DONE]    = RULE_(NEVER, HELD_SKIP),
		[M0_RPC_SI_ACK]     = RULE_(NONE, GONE),
	},
	[M0_RPC_SS_RUNNING] = {
		[M0_RPC_SI_REQUEST] = RULE_(IGNORE, RUNNING),
		[M0_RPC_SI_SKIP]    = RULE_(IGNORE, RUNNING),
		[M0_RPC_SI_TURN]    = RULE_(NONE, RUNNING),
		[M0_RPC_SI_DONE]    = RULE_(KEEP, KEPT),
		[M0_RPC_SI_ACK]     = RULE_(NONE, RUNNING_ACKED),
	},
	[M0_RPC_SS_RUNNING_ACKED] = {
		[M0_RPC_SI_REQUEST] = RULE_(IGNORE, RUNNING_ACKED),
		[M0_RPC_SI_SKIP]    = RULE_(IGNORE, RUNNING_ACKED),
		[M0_RPC_SI_TURN]    = RULE_(NONE, RUNNING_ACKED),
		[M0_RPC_SI_DONE]    = RULE_(DROP, GONE),
		[M0_RPC_SI_ACK]     = RULE_(NONE, RUNNING_ACKED),
	},
	[M0_RPC_SS_KEPT] = {
		[M0_RPC_SI_REQUEST] = RULE_(REPLAY, KEPT),
		[M0_RPC_SI_SKIP]    = RULE_(REPLAY, KEPT),
		[M0_RPC_SI_TURN]    = RULE_(NEVER, KEPT),
		[M0_RPC_SI_DONE]    = RULE_(NEVER, KEPT),
		[M0_RPC_SI_ACK]     = RULE_(DROP, GONE),
	},
	[M0_RPC_SS_GONE] = {
		[M0_RPC_SI_REQUEST] = RULE_(IGNORE, GONE),
		[M0_RPC_SI_SKIP]    = RULE_(IGNORE, GONE),
		[M0_RPC_SI_TURN]    = RULE_(NEVER, GONE),
		[M0_RPC_SI_DONE]    = RULE_(NEVER, GONE),
		[M0_RPC_SI_ACK]     = RULE_(NONE, GONE),
	},
};

#define NAME_S_(word) [M0_RPC_SS_##word] = WORD_(word)
const char *const m0_rpc_sstate_names[M0_RPC_SS_NR] = {
	NAME_S_(BEYOND), NAME_S_(AHEAD), NAME_S_(TURN), NAME_S_(HELD),
	NAME_S_(HELD_SKIP), NAME_S_(RUNNING), NAME_S_(RUNNING_ACKED),
	NAME_S_(KEPT), NAME_S_(GONE),
};

#define NAME_I_(word) [M0_RPC_SI_##word] = WORD_(word)
const char *const m0_rpc_sinput_names[M0_RPC_SI_NR] = {
	NAME_I_(REQUEST), NAME_I_(SKIP), NAME_I_(TURN), NAME_I_(DONE),
	NAME_I_(ACK),
};

#define NAME_A_(word) [M0_RPC_SA_##word] = WORD_(word)
const char *const m0_rpc_saction_names[M0_RPC_SA_NR] = {
	NAME_A_(NONE), NAME_A_(EXECUTE), NAME_A_(HOLD), NAME_A_(SKIPPED),
	NAME_A_(REPLAY), NAME_A_(IGNORE), NAME_A_(BUSY), NAME_A_(REFUSE),
	NAME_A_(DROP), NAME_A_(KEEP), NAME_A_(NEVER),
};
/* clang-format on */

/* ---------------------------------------------------------- budgets -- */

static bool budget_has_bytes(const struct m0_rpc_sbudget *budget)
{
	for (; budget != NULL; budget = budget->rsb_parent) {
		if (budget->rsb_bytes >= budget->rsb_bytes_max)
			return false;
		if (budget->rsb_bytes < budget->rsb_bytes_min)
			return true;
	}
	return true;
}

static bool budget_has_held(const struct m0_rpc_sbudget *budget)
{
	for (; budget != NULL; budget = budget->rsb_parent)
		if (budget->rsb_held >= budget->rsb_held_max)
			return false;
	return true;
}

static void budget_bytes_add(struct m0_rpc_sbudget *budget, m0_bcount_t bytes)
{
	for (; budget != NULL; budget = budget->rsb_parent)
		budget->rsb_bytes += bytes;
}

static void budget_bytes_sub(struct m0_rpc_sbudget *budget, m0_bcount_t bytes)
{
	for (; budget != NULL; budget = budget->rsb_parent)
		budget->rsb_bytes -= bytes;
}

static void budget_held_add(struct m0_rpc_sbudget *budget)
{
	for (; budget != NULL; budget = budget->rsb_parent)
		budget->rsb_held++;
}

static void budget_held_sub(struct m0_rpc_sbudget *budget)
{
	for (; budget != NULL; budget = budget->rsb_parent)
		budget->rsb_held--;
}

/* ------------------------------------------------------------ slots -- */

static struct m0_rpc_sslot *slot_of(const struct m0_rpc_sstream *stream,
				    uint64_t                     xid)
{
	return &stream->rss_slot[xid % stream->rss_window];
}

enum m0_rpc_sstate m0_rpc_sstream_state(const struct m0_rpc_sstream *stream,
					uint64_t                     xid)
{
	uint32_t state;

	if (xid == stream->rss_running)
		return xid < stream->rss_ack ? M0_RPC_SS_RUNNING_ACKED
					     : M0_RPC_SS_RUNNING;
	if (xid < stream->rss_ack)
		return M0_RPC_SS_GONE;
	if (xid - stream->rss_ack >= stream->rss_window)
		return M0_RPC_SS_BEYOND;
	state = slot_of(stream, xid)->rsl_state;
	if (state != M0_RPC_SS_BEYOND)
		return (enum m0_rpc_sstate)state;
	return xid == stream->rss_last + 1 ? M0_RPC_SS_TURN : M0_RPC_SS_AHEAD;
}

static const struct m0_rpc_srule *rule_of(const struct m0_rpc_sstream *stream,
					  uint64_t                     xid,
					  enum m0_rpc_sinput           input)
{
	return &m0_rpc_srules[m0_rpc_sstream_state(stream, xid)][input];
}

/** Return a held request or kept reply to the owner. */
static void slot_drop(struct m0_rpc_sstream *stream, struct m0_rpc_sslot *slot)
{
	if (slot->rsl_state == M0_RPC_SS_HELD) {
		budget_held_sub(stream->rss_budget);
		stream->rss_ops->sso_body_drop(stream, slot->rsl_handle);
	} else if (slot->rsl_state == M0_RPC_SS_KEPT) {
		budget_bytes_sub(stream->rss_budget, slot->rsl_bytes);
		if (slot->rsl_handle != NULL)
			stream->rss_ops->sso_reply_drop(stream,
							slot->rsl_handle);
	}
	M0_SET0(slot);
}

static void slot_keep(struct m0_rpc_sstream *stream, uint64_t xid, void *reply,
		      m0_bcount_t bytes, int rc)
{
	struct m0_rpc_sslot *slot = slot_of(stream, xid);

	slot->rsl_state = M0_RPC_SS_KEPT;
	slot->rsl_handle = reply;
	slot->rsl_bytes = bytes;
	slot->rsl_rc = rc;
	budget_bytes_add(stream->rss_budget, bytes);
}

/** All up to `xid` are finished, and what is acknowledged is. */
static void finished(struct m0_rpc_sstream *stream, uint64_t xid)
{
	stream->rss_last = max64u(xid, stream->rss_ack - 1);
}

/* ----------------------------------------------------------- stream -- */

int m0_rpc_sstream_init(struct m0_rpc_sstream           *stream,
			const struct m0_rpc_sstream_ops *ops, uint32_t window,
			struct m0_rpc_sbudget *budget)
{
	M0_PRE(window > 0);
	M0_SET0(stream);
	stream->rss_slot = m0_alloc_arr(window, sizeof *stream->rss_slot);
	if (stream->rss_slot == NULL)
		return -ENOMEM;
	stream->rss_ops = ops;
	stream->rss_budget = budget;
	stream->rss_window = window;
	stream->rss_ack = 1;
	return 0;
}

void m0_rpc_sstream_fini(struct m0_rpc_sstream *stream)
{
	uint32_t i;

	M0_PRE(stream->rss_running == 0);
	for (i = 0; i < stream->rss_window; ++i)
		slot_drop(stream, &stream->rss_slot[i]);
	m0_free(stream->rss_slot);
}

void m0_rpc_sstream_ack(struct m0_rpc_sstream *stream, uint64_t ack)
{
	uint64_t nr;

	if (ack <= stream->rss_ack)
		return;
	nr = min64u(ack - stream->rss_ack, stream->rss_window);
	for (; nr > 0; --nr)
		slot_drop(stream, slot_of(stream, stream->rss_ack + nr - 1));
	stream->rss_ack = ack;
	/* Only the running request is waited for. */
	if (stream->rss_running == 0)
		finished(stream, stream->rss_last);
}

/** The turn of `xid` has come and it is to be filled. */
static enum m0_rpc_saction skipped(struct m0_rpc_sstream *stream, uint64_t xid,
				   struct m0_rpc_sanswer *ret)
{
	ret->rsa_rc = -ECANCELED;
	slot_keep(stream, xid, NULL, 0, ret->rsa_rc);
	finished(stream, xid);
	return M0_RPC_SA_SKIPPED;
}

static enum m0_rpc_saction hold(struct m0_rpc_sstream *stream, uint64_t xid,
				void *body, uint8_t state)
{
	struct m0_rpc_sslot *slot = slot_of(stream, xid);

	if (state == M0_RPC_SS_HELD_SKIP) {
		slot->rsl_state = state;
		return M0_RPC_SA_IGNORE;
	}
	if (!budget_has_held(stream->rss_budget))
		return M0_RPC_SA_BUSY;
	budget_held_add(stream->rss_budget);
	slot->rsl_state = state;
	slot->rsl_handle = body;
	return M0_RPC_SA_HOLD;
}

static enum m0_rpc_saction replay(const struct m0_rpc_sslot *slot,
				  struct m0_rpc_sanswer     *ret)
{
	ret->rsa_reply = slot->rsl_handle;
	ret->rsa_rc = slot->rsl_rc;
	return M0_RPC_SA_REPLAY;
}

/** Takes the action of the table. */
static enum m0_rpc_saction apply(struct m0_rpc_sstream     *stream,
				 const struct m0_rpc_srule *rule, uint64_t xid,
				 void *body, struct m0_rpc_sanswer *ret)
{
	struct m0_rpc_sslot *slot = slot_of(stream, xid);

	switch (rule->rsu_action) {
	case M0_RPC_SA_EXECUTE:
		if (!budget_has_bytes(stream->rss_budget))
			return M0_RPC_SA_BUSY;
		stream->rss_running = xid;
		ret->rsa_body = body;
		return M0_RPC_SA_EXECUTE;
	case M0_RPC_SA_HOLD:
		return hold(stream, xid, body, rule->rsu_next);
	case M0_RPC_SA_SKIPPED:
		return skipped(stream, xid, ret);
	case M0_RPC_SA_DROP:
		slot_drop(stream, slot);
		slot->rsl_state = rule->rsu_next;
		return M0_RPC_SA_IGNORE;
	case M0_RPC_SA_REPLAY:
		return replay(slot, ret);
	default:
		return (enum m0_rpc_saction)rule->rsu_action;
	}
}

/** State of an item when all below `known` are acknowledged. */
static int numbers_check(uint64_t known, uint32_t window, uint64_t xid,
			 uint64_t ack)
{
	if (xid == 0 || ack == 0 || ack > xid)
		return -EPROTO;
	return xid >= known && xid - max64u(ack, known) >= window ? -EOVERFLOW
								  : 0;
}

int m0_rpc_sstream_first(uint32_t window, uint64_t xid, uint64_t ack)
{
	return numbers_check(1, window, xid, ack);
}

enum m0_rpc_saction m0_rpc_sstream_accept(struct m0_rpc_sstream *stream,
					  uint64_t xid, uint64_t ack, bool skip,
					  void                  *body,
					  struct m0_rpc_sanswer *ret)
{
	const struct m0_rpc_srule *rule;

	M0_SET0(ret);
	ret->rsa_xid = xid;
	ret->rsa_rc =
		numbers_check(stream->rss_ack, stream->rss_window, xid, ack);
	if (ret->rsa_rc != 0)
		return M0_RPC_SA_REFUSE;
	m0_rpc_sstream_ack(stream, ack);
	rule = rule_of(stream, xid, skip ? M0_RPC_SI_SKIP : M0_RPC_SI_REQUEST);
	return apply(stream, rule, xid, body, ret);
}

void m0_rpc_sstream_executed(struct m0_rpc_sstream *stream, uint64_t xid,
			     void *reply, m0_bcount_t bytes, int rc)
{
	const struct m0_rpc_srule *rule;

	M0_PRE(xid != 0 && xid == stream->rss_running);
	rule = rule_of(stream, xid, M0_RPC_SI_DONE);
	stream->rss_running = 0;
	if (rule->rsu_action == M0_RPC_SA_KEEP)
		slot_keep(stream, xid, reply, bytes, rc);
	else if (reply != NULL)
		stream->rss_ops->sso_reply_drop(stream, reply);
	finished(stream, xid);
}

enum m0_rpc_saction m0_rpc_sstream_next(struct m0_rpc_sstream *stream,
					struct m0_rpc_sanswer *ret)
{
	const uint64_t             xid = stream->rss_last + 1;
	struct m0_rpc_sslot       *slot = slot_of(stream, xid);
	const struct m0_rpc_srule *rule = rule_of(stream, xid, M0_RPC_SI_TURN);
	enum m0_rpc_saction        action;
	void                      *body = slot->rsl_handle;

	M0_SET0(ret);
	ret->rsa_xid = xid;
	if (rule->rsu_action != M0_RPC_SA_EXECUTE &&
	    rule->rsu_action != M0_RPC_SA_SKIPPED)
		return M0_RPC_SA_NONE;
	action = apply(stream, rule, xid, body, ret);
	if (action == M0_RPC_SA_BUSY)
		return M0_RPC_SA_NONE;
	if (action == M0_RPC_SA_EXECUTE) {
		budget_held_sub(stream->rss_budget);
		M0_SET0(slot);
	}
	return action;
}

/* ---------------------------------------------------------- restart -- */

int m0_rpc_sstream_restore(struct m0_rpc_sstream *stream, uint64_t xid,
			   uint64_t ack, void *reply, m0_bcount_t bytes, int rc)
{
	if (xid == 0 || ack == 0 || ack > xid ||
	    xid - ack >= stream->rss_window)
		return -EPROTO;
	if (m0_rpc_sstream_state(stream, xid) == M0_RPC_SS_KEPT)
		return -EPROTO;
	m0_rpc_sstream_ack(stream, ack);
	if (xid >= stream->rss_ack)
		slot_keep(stream, xid, reply, bytes, rc);
	else if (reply != NULL)
		stream->rss_ops->sso_reply_drop(stream, reply);
	finished(stream, max64u(stream->rss_last, xid));
	return 0;
}

void m0_rpc_sstream_restored(struct m0_rpc_sstream *stream)
{
	uint64_t xid;

	/* Downwards: the last may be the largest of all numbers. */
	for (xid = stream->rss_last; xid >= stream->rss_ack; --xid)
		if (slot_of(stream, xid)->rsl_state == M0_RPC_SS_BEYOND)
			slot_keep(stream, xid, NULL, 0, -ECANCELED);
}
