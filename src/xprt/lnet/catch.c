/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Messages that find no receive buffer. Behind the entries of all buffers is one that
 * matches every message and takes no bytes, so that the TM gets an event for each.
 *
 * A machine with a pool has, before that one, two stages: memory in which short
 * messages lie until the pool has given a buffer for them. A burst may be faster
 * than events, by which buffers are replaced.
 */
#include "xprt/lnet/xlnet_internal.h"

enum {
	STAGE_BYTES = 64 << 10,
	/** Whole pages. */
	STAGE_SHIFT = 12,
	/** Longest message that is staged. */
	STAGE_MSG_MAX = 4 << 10
};

struct xlnet_stage {
	struct xlnet_md  xs_md;
	struct m0_bufvec xs_vec;
	m0_bcount_t      xs_count;
	void            *xs_buf;
	bool             xs_is_registered;
};

/* An entry for messages from anybody. */
static int any_attach(struct xlnet_machine *xm, unsigned flags,
		      struct m0_lnet_md_attr *attr, struct xlnet_md *xd)
{
	struct m0_lnet_me_attr me;

	M0_PRE_EX(xlnet_is_locked(xm->xm_machine));
	m0_xlnet__me_any(xm, &me);
	me.mea_flags |= flags;
	return m0_xlnet__attach(xm, &me, attr, xd);
}

static int catch_attach(struct xlnet_machine *xm)
{
	struct m0_lnet_md_attr attr = {
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_TRUNCATE |
			       M0_LNET_MD_ACK_DISABLE,
	};

	xm->xm_catch.xd_kind = XLNET_CATCH;
	xm->xm_catch.xd_machine = xm->xm_machine;
	return any_attach(xm, M0_LNET_ME_LAST, &attr, &xm->xm_catch);
}

static int stage_attach(struct xlnet_machine *xm, struct xlnet_stage *xs)
{
	struct m0_lnet_md_attr attr = {
		.mda_vec = &xs->xs_vec,
		.mda_length = STAGE_BYTES,
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
		.mda_max_size = STAGE_MSG_MAX,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_IF_FITS |
			       M0_LNET_MD_MAX_SIZE,
		.mda_auto_unlink = true,
	};

	M0_PRE_EX(xlnet_is_locked(xm->xm_machine));
	M0_PRE_EX(xs->xs_md.xd_kind == XLNET_STAGE);
	return any_attach(xm, M0_LNET_ME_LAST | M0_LNET_ME_BEFORE, &attr,
			  &xs->xs_md);
}

static void stage_free(struct xlnet_machine *xm, struct xlnet_stage *xs)
{
	if (xs != NULL && xs->xs_is_registered)
		m0_lnet_mem_deregister(m0_xlnet__machine_lnet(xm), xs->xs_buf,
				       STAGE_BYTES);
	if (xs != NULL)
		m0_free_aligned(xs->xs_buf, STAGE_BYTES, STAGE_SHIFT);
	m0_free(xs);
}

/* The function waits for a node that is in another process: no lock is held. */
static struct xlnet_stage *stage_make(struct xlnet_machine *xm)
{
	struct xlnet_stage *xs;

	M0_ALLOC_PTR(xs);
	if (xs == NULL)
		return NULL;
	xs->xs_buf = m0_alloc_aligned(STAGE_BYTES, STAGE_SHIFT);
	xs->xs_is_registered = xs->xs_buf != NULL &&
			       m0_lnet_mem_register(m0_xlnet__machine_lnet(xm),
						    xs->xs_buf,
						    STAGE_BYTES) == 0;
	if (!xs->xs_is_registered) {
		stage_free(xm, xs);
		return NULL;
	}
	xs->xs_md.xd_kind = XLNET_STAGE;
	xs->xs_md.xd_machine = xm->xm_machine;
	xs->xs_count = STAGE_BYTES;
	xs->xs_vec.ov_vec.v_nr = 1;
	xs->xs_vec.ov_vec.v_count = &xs->xs_count;
	xs->xs_vec.ov_buf = &xs->xs_buf;
	return xs;
}

void m0_xlnet__catch_free(struct xlnet_machine *xm)
{
	unsigned i;

	for (i = 0; i < XLNET_STAGES_NR; ++i) {
		stage_free(xm, xm->xm_stages[i]);
		xm->xm_stages[i] = NULL;
	}
}

int m0_xlnet__catch_make(struct xlnet_machine *xm)
{
	const struct m0_net_transfer_mc *tm =
		m0_net_kit_machine_tm(xm->xm_machine);
	unsigned i;

	M0_PRE(xm->xm_stages[0] == NULL);
	if (tm->ntm_recv_pool == NULL)
		return 0;
	for (i = 0; i < XLNET_STAGES_NR; ++i) {
		xm->xm_stages[i] = stage_make(xm);
		if (xm->xm_stages[i] == NULL) {
			m0_xlnet__catch_free(xm);
			return -ENOMEM;
		}
	}
	return 0;
}

int m0_xlnet__catch_begin(struct xlnet_machine *xm)
{
	unsigned i;
	int      rc;

	M0_PRE_EX(xlnet_is_locked(xm->xm_machine));
	M0_PRE(!xm->xm_stopping);
	rc = catch_attach(xm);
	if (rc != 0)
		return rc;
	m0_net_kit_pin(xm->xm_machine);
	/* Without one of these it is as without a pool. */
	for (i = 0; i < XLNET_STAGES_NR && xm->xm_stages[i] != NULL; ++i) {
		if (stage_attach(xm, xm->xm_stages[i]) == 0)
			m0_net_kit_pin(xm->xm_machine);
		else
			xm->xm_stages[i]->xs_md.xd_kind = XLNET_NONE;
	}
	return 0;
}

static void catch_unlink(struct xlnet_machine *xm, const struct xlnet_md *xd)
{
	M0_PRE_EX(xlnet_is_locked(xm->xm_machine));
	if (xd->xd_kind != XLNET_NONE)
		(void)m0_lnet_md_unlink(m0_xlnet__machine_lnet(xm), xd->xd_md);
}

void m0_xlnet__catch_end(struct xlnet_machine *xm)
{
	unsigned i;

	M0_PRE_EX(xlnet_is_locked(xm->xm_machine));
	xm->xm_stopping = true;
	catch_unlink(xm, &xm->xm_catch);
	for (i = 0; i < XLNET_STAGES_NR; ++i) {
		if (xm->xm_stages[i] != NULL)
			catch_unlink(xm, &xm->xm_stages[i]->xs_md);
	}
}

/* Returns true if the event is of a message that is to be reported. A TM reports
 * none before STARTED. */
static bool is_message(const struct xlnet_machine *xm,
		       const struct m0_lnet_event *ev)
{
	M0_PRE_EX(xlnet_is_locked(xm->xm_machine));
	/* Ours are of a byte at least. */
	return ev->ev_type == M0_LNET_EV_PUT && ev->ev_status == 0 &&
	       ev->ev_rlength > 0 &&
	       m0_net_kit_machine_tm(xm->xm_machine)->ntm_state ==
		       M0_NET_TM_STARTED;
}

void m0_xlnet__catch_event(struct xlnet_machine       *xm,
			   const struct m0_lnet_event *ev)
{
	M0_PRE_EX(xlnet_is_locked(xm->xm_machine));
	M0_PRE_EX(xm->xm_catch.xd_kind == XLNET_CATCH);
	if (is_message(xm, ev))
		(void)m0_net_kit_msg_refused(xm->xm_machine, ev->ev_rlength);
	if (ev->ev_unlinked) {
		xm->xm_catch.xd_kind = XLNET_NONE;
		m0_net_kit_unpin(xm->xm_machine);
	}
}

void m0_xlnet__stage_event(struct xlnet_machine *xm, struct xlnet_md *xd,
			   const struct m0_lnet_event *ev)
{
	struct xlnet_stage    *xs = container_of(xd, struct xlnet_stage, xs_md);
	struct m0_net_kit_addr from;

	M0_PRE_EX(xlnet_is_locked(xm->xm_machine));
	M0_PRE_EX(xd->xd_kind == XLNET_STAGE);
	if (is_message(xm, ev) && m0_xlnet__sender(ev, &from) == 0)
		(void)m0_net_kit_msg_staged(xm->xm_machine, &from, &xs->xs_vec,
					    ev->ev_offset, ev->ev_mlength);
	if (!ev->ev_unlinked || (!xm->xm_stopping && stage_attach(xm, xs) == 0))
		return;
	xd->xd_kind = XLNET_NONE;
	m0_net_kit_unpin(xm->xm_machine);
}
