/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A message waits in lob_fresh; the engine is asked for its place; its payload
 * is copied, in as many steps as it takes, one message at a time. One that the
 * engine cannot place now waits in lob_stalled and is asked about again in each
 * step, so that the messages behind it (answers among them) pass it.
 *
 * A payload that the node's copier takes waits in lob_away, and others pass it. It is in
 * lob_copied when the copier has ended, until the next step. If the copier has failed, the message waits in lob_back for its turn to be copied here.
 */
#include "lnd/lo/lo.h"

enum {
	/** Limits of one step. */
	STEP_MSGS_MAX = 64,
	STEP_STALLED_MAX = 256,
	STEP_BYTES_MAX = 1 << 20,
	/** Time for which a copy that is not wanted any more is waited for, since it may be
	 * under way. */
	LEAVE_NS = 450 * 1000 * 1000,
	/** Messages that the copier has, of which a step looks at these and no more. The
	 * receiver does not say that it wants one no more, so all are looked at after a while. */
	STEP_AWAY_MAX = 16,
	LOOK_NS = 50 * 1000 * 1000
};

/** Flags in ltx_word[0]. */
enum lo_tx_flags {
	TX_CANCELLED = 1,
	/** The copier has ended, and its status is in ltx_word[1]. */
	TX_COPIED = 2,
	/** The outcome of the copy is not wanted. */
	TX_CUT = 4
};

struct lo {
	struct m0_lnd  lob_lnd;
	struct m0_list lob_fresh;
	struct m0_list lob_stalled;
	/** The message being copied; NULL: none. */
	struct m0_lnd_tx *lob_tx;
	m0_bcount_t       lob_done_bytes;
	/** NULL: there is none; else the place of the one that there is at the time. */
	struct m0_copier *const *lob_copier;
	/** Begun messages that the copier has, and those that are to be copied here. */
	struct m0_list lob_away;
	struct m0_list lob_copied;
	struct m0_list lob_back;
	unsigned       lob_away_nr;
	/** A message, or an interface, was cut since all of lob_away was looked at. */
	bool lob_cut;
	/** When to look at all of it, at the latest. */
	m0_time_t lob_away_at;
	/** Messages that have not ended. */
	unsigned       lob_txs_nr;
	struct m0_list lob_nis;
	/** Number of NIs that are stopping. */
	unsigned lob_stopping_nr;
};

struct lo_ni {
	struct m0_lnd_ni     *loi_ni;
	struct m0_list_link   loi_link;
	struct m0_lnd_ni_info loi_info;
	unsigned              loi_txs_nr;
	bool                  loi_stopping;
};

static bool lo_invariant(const struct lo *lo)
{
	/* The current message has not ended, and no more than all of it is
	 * copied. */
	return lo->lob_tx == NULL ||
	       (lo->lob_txs_nr > 0 &&
		lo->lob_done_bytes <= lo->lob_tx->ltx_payload.lpy_bytes);
}

static struct lo *lo_of(struct m0_lnd *lnd)
{
	return container_of(lnd, struct lo, lob_lnd);
}

static struct lo_ni *lo_ni_of(const struct m0_lnd_ni *ni)
{
	return ni->ldn_priv;
}

static struct m0_lnd_tx *tx_of(struct m0_list_link *link)
{
	return container_of(link, struct m0_lnd_tx, ltx_link);
}

static struct m0_lnd_ni *ni_of(const struct m0_lnd_tx *tx)
{
	return tx->ltx_priv[0];
}

/* ------------------------------------------------------------ interfaces -- */

static int lo_ni_start(struct m0_lnd *lnd, struct m0_lnd_ni *ni, char *why)
{
	struct lo    *lo = lo_of(lnd);
	struct lo_ni *li;

	M0_ALLOC_PTR(li);
	if (li == NULL) {
		strcpy(why, "no memory for the loopback interface");
		return -ENOMEM;
	}
	li->loi_ni = ni;
	m0_list_link_init(&li->loi_link);
	m0_list_add_tail(&lo->lob_nis, &li->loi_link);
	ni->ldn_priv = li;
	ni->ldn_up = true;
	return 0;
}

static void lo_ni_stop(struct m0_lnd_ni *ni)
{
	struct lo    *lo = lo_of(ni->ldn_lnd);
	struct lo_ni *li = lo_ni_of(ni);

	M0_PRE(!li->loi_stopping);
	ni->ldn_up = false;
	li->loi_stopping = true;
	lo->lob_cut = true;
	++lo->lob_stopping_nr;
}

static void lo_peer_drop(struct m0_lnd_ni *ni, const struct m0_lnet_nid *nid)
{
	/* There is no connection that could be lost. */
	(void)ni;
	(void)nid;
}

static void lo_ni_info(const struct m0_lnd_ni *ni, struct m0_lnd_ni_info *info)
{
	*info = lo_ni_of(ni)->loi_info;
}

/* -------------------------------------------------------------- messages -- */

static void lo_xmit(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx)
{
	struct lo *lo = lo_of(ni->ldn_lnd);

	tx->ltx_priv[0] = ni;
	tx->ltx_word[0] = 0;
	M0_SET0(&tx->ltx_rx);
	tx->ltx_rx.lr_nid = ni->ldn_nid;
	tx->ltx_rx.lr_pid = tx->ltx_pid;
	m0_list_link_init(&tx->ltx_link);
	m0_list_add_tail(&lo->lob_fresh, &tx->ltx_link);
	++lo_ni_of(ni)->loi_txs_nr;
	++lo->lob_txs_nr;
}

static void lo_tx_cancel(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx)
{
	lo_of(ni->ldn_lnd)->lob_cut = true;
	tx->ltx_word[0] |= TX_CANCELLED;
}

static void tx_end(struct m0_lnd_tx *tx, int status, enum m0_lnd_health health)
{
	--lo_ni_of(ni_of(tx))->loi_txs_nr;
	--lo_of(ni_of(tx)->ldn_lnd)->lob_txs_nr;
	ni_of(tx)->ldn_ops->lu_tx_done(tx, status, health);
}

/* Why a message that has not begun to leave shall not; 0: it may. */
static int tx_refusal(const struct m0_lnd_tx *tx, m0_time_t now,
		      enum m0_lnd_health *health)
{
	if (lo_ni_of(ni_of(tx))->loi_stopping) {
		*health = M0_LND_LOCAL_ABORTED;
		return -ENETDOWN;
	}
	if (tx->ltx_word[0] & TX_CANCELLED) {
		*health = M0_LND_LOCAL_ABORTED;
		return -ECANCELED;
	}
	if (tx->ltx_deadline <= now) {
		*health = M0_LND_LOCAL_TIMEOUT;
		return -ETIMEDOUT;
	}
	return 0;
}

enum lo_begun {
	/** The message is the current one. */
	BEGUN,
	/** The message waits in lob_stalled. */
	STALLED,
	/** The engine has it back. */
	ENDED
};

/* Asks the engine where the message goes. */
static enum lo_begun tx_begin(struct lo *lo, struct m0_lnd_tx *tx)
{
	const struct m0_lnd_up_ops *up = ni_of(tx)->ldn_ops;
	struct m0_lnd_rx           *rx = &tx->ltx_rx;
	uint8_t                     hdr[M0_LND_HDR_BYTES_MAX];
	int                         rc;

	M0_PRE_EX(lo_invariant(lo));
	if (up->lu_tx_header(tx, true, hdr) == 0) {
		tx_end(tx, -EAFNOSUPPORT, M0_LND_LOCAL_ERROR);
		return ENDED;
	}
	rc = up->lu_rx_begin(ni_of(tx), rx, hdr, true);
	if (rc == 0) {
		lo->lob_tx = tx;
		lo->lob_done_bytes = 0;
		return BEGUN;
	}
	if (rc == -EAGAIN) {
		m0_list_add_tail(&lo->lob_stalled, &tx->ltx_link);
		return STALLED;
	}
	tx_end(tx, rc, M0_LND_LOCAL_ERROR);
	return ENDED;
}

/* Copies up to `max` bytes of the current message. @return bytes gone by. */
static m0_bcount_t tx_copy(struct lo *lo, m0_bcount_t max)
{
	const struct m0_lnd_payload *src = &lo->lob_tx->ltx_payload;
	const struct m0_lnd_payload *dst = &lo->lob_tx->ltx_rx.lr_payload;
	m0_bcount_t                  done = lo->lob_done_bytes;
	m0_bcount_t                  nr;

	M0_PRE_EX(lo_invariant(lo));
	/* Discarded bytes cost nothing. */
	if (lo->lob_tx->ltx_rx.lr_cancelled || done >= dst->lpy_bytes) {
		lo->lob_done_bytes = src->lpy_bytes;
		return 0;
	}
	nr = min64u(min64u(src->lpy_bytes, dst->lpy_bytes) - done, max);
	(void)m0_bufvec_copy_at(dst->lpy_vec, dst->lpy_offset + done,
				src->lpy_vec, src->lpy_offset + done, nr);
	lo_ni_of(ni_of(lo->lob_tx))->loi_info.ldi_copied_bytes += nr;
	lo->lob_done_bytes += nr;
	/* The rest is for nobody. */
	if (lo->lob_done_bytes == dst->lpy_bytes)
		lo->lob_done_bytes = src->lpy_bytes;
	return nr;
}

/* Ends a message that has begun. */
static void tx_finish(struct m0_lnd_tx *tx, int status,
		      enum m0_lnd_health health)
{
	ni_of(tx)->ldn_ops->lu_rx_done(&tx->ltx_rx, status, health);
	tx_end(tx, status, health);
}

/* ---------------------------------------------------------------- copier -- */

static void tx_copied(void *user, int status)
{
	struct m0_lnd_tx *tx = user;
	struct lo        *lo = lo_of(ni_of(tx)->ldn_lnd);

	M0_PRE(status <= 0 && (tx->ltx_word[0] & TX_COPIED) == 0);
	tx->ltx_word[0] |= TX_COPIED;
	tx->ltx_word[1] = (uint64_t)-status;
	--lo->lob_away_nr;
	m0_list_move_tail(&lo->lob_copied, &tx->ltx_link);
}

/* All of lob_away is looked at by then, and before the receiver of one waits for too long. */
static void away_until(struct lo *lo, m0_time_t now, m0_time_t deadline)
{
	lo->lob_away_at = min64u(lo->lob_away_at, deadline);
	if (lo->lob_away_nr > STEP_AWAY_MAX)
		lo->lob_away_at =
			min64u(lo->lob_away_at, m0_time_add(now, LOOK_NS));
}

/* Gives the payload of the current message to the copier. @return false: it does not take it. */
static bool tx_away(struct lo *lo, m0_time_t now)
{
	struct m0_lnd_tx    *tx = lo->lob_tx;
	struct m0_lnd_rx    *rx = &tx->ltx_rx;
	struct m0_copier    *copier;
	struct m0_copier_job job;
	uint64_t             copy;

	M0_PRE_EX(lo_invariant(lo));
	copier = lo->lob_copier == NULL ? NULL : *lo->lob_copier;
	job.cjo_bytes =
		min64u(tx->ltx_payload.lpy_bytes, rx->lr_payload.lpy_bytes);
	if (M0_LIKELY(copier == NULL || job.cjo_bytes < copier->cpr_bytes_min ||
		      rx->lr_cancelled))
		return false;
	job.cjo_to = rx->lr_payload.lpy_vec;
	job.cjo_to_at = rx->lr_payload.lpy_offset;
	job.cjo_from = tx->ltx_payload.lpy_vec;
	job.cjo_from_at = tx->ltx_payload.lpy_offset;
	job.cjo_done = tx_copied;
	job.cjo_user = tx;
	copy = copier->cpr_begin(copier, &job);
	if (copy == 0)
		return false;
	tx->ltx_word[1] = copy;
	tx->ltx_priv[1] = copier;
	/* The engine keeps the memory until the copy has ended. */
	rx->lr_offered = true;
	m0_list_add_tail(&lo->lob_away, &tx->ltx_link);
	++lo->lob_away_nr;
	away_until(lo, now, tx->ltx_deadline);
	lo->lob_tx = NULL;
	return true;
}

/* Does anybody not want the message any more? */
static bool away_is_cut(const struct m0_lnd_tx *tx)
{
	return (tx->ltx_word[0] & TX_CANCELLED) != 0 ||
	       tx->ltx_rx.lr_cancelled || lo_ni_of(ni_of(tx))->loi_stopping;
}

/* The copier has copied, or has failed. */
static void away_end(struct lo *lo, struct m0_lnd_tx *tx)
{
	struct m0_lnd_ni_info *info = &lo_ni_of(ni_of(tx))->loi_info;

	M0_PRE((tx->ltx_word[0] & TX_COPIED) != 0);
	m0_list_del(&tx->ltx_link);
	tx->ltx_rx.lr_offered = false;
	if (tx->ltx_word[1] != 0) {
		++info->ldi_fell_back_nr;
		m0_list_add_tail(&lo->lob_back, &tx->ltx_link);
		return;
	}
	info->ldi_offer_bytes += min64u(tx->ltx_payload.lpy_bytes,
					tx->ltx_rx.lr_payload.lpy_bytes);
	tx_finish(tx, 0, M0_LND_OK);
}

/* The time of the copy is over. */
static void away_abandon(struct lo *lo, struct m0_lnd_tx *tx)
{
	bool              cut = (tx->ltx_word[0] & TX_CUT) != 0;
	struct m0_copier *copier = tx->ltx_priv[1];

	M0_PRE((tx->ltx_word[0] & TX_COPIED) == 0);
	copier->cpr_cancel(copier, tx->ltx_word[1]);
	--lo->lob_away_nr;
	m0_list_del(&tx->ltx_link);
	tx->ltx_rx.lr_offered = false;
	tx_finish(tx, cut ? -ECANCELED : -ETIMEDOUT,
		  cut ? M0_LND_LOCAL_ABORTED : M0_LND_LOCAL_TIMEOUT);
}

/* ------------------------------------------------------------------ step -- */

/* The rest of a step's limits, and whether it has called up. */
struct lo_step {
	m0_time_t   los_now;
	m0_time_t   los_next;
	m0_bcount_t los_bytes;
	bool        los_called;
};

/* Goes on with the current message. @return false: it needs another step. */
static bool current_step(struct lo *lo, struct lo_step *step)
{
	struct m0_lnd_tx *tx = lo->lob_tx;

	M0_PRE_EX(lo_invariant(lo));
	if (lo_ni_of(ni_of(tx))->loi_stopping) {
		step->los_called = true;
		lo->lob_tx = NULL;
		tx_finish(tx, -ECANCELED, M0_LND_LOCAL_ABORTED);
		return true;
	}
	step->los_bytes -= tx_copy(lo, step->los_bytes);
	if (lo->lob_done_bytes < tx->ltx_payload.lpy_bytes)
		return false;
	step->los_called = true;
	lo->lob_tx = NULL;
	tx_finish(tx, 0, M0_LND_OK);
	return true;
}

/* Looks after the first so many of the messages that the copier has. */
static void away_look(struct lo *lo, unsigned max, struct lo_step *step)
{
	struct m0_lnd_tx *tx;
	struct m0_lnd_tx *next;
	unsigned          nr = 0;

	m0_list_for_each_entry_safe(&lo->lob_away, tx, next, struct m0_lnd_tx,
				    ltx_link) {
		if (nr++ == max)
			break;
		if (away_is_cut(tx) && (tx->ltx_word[0] & TX_CUT) == 0) {
			tx->ltx_word[0] |= TX_CUT;
			tx->ltx_deadline =
				min64u(tx->ltx_deadline,
				       m0_time_add(step->los_now, LEAVE_NS));
		}
		if (tx->ltx_deadline <= step->los_now) {
			away_abandon(lo, tx);
			step->los_called = true;
		} else {
			away_until(lo, step->los_now, tx->ltx_deadline);
		}
	}
}

/* Ends what the copier has ended, and looks after what it has. */
static void away_step(struct lo *lo, struct lo_step *step)
{
	struct m0_list_link *link;
	unsigned             max = STEP_AWAY_MAX;

	while ((link = m0_list_first(&lo->lob_copied)) != NULL) {
		away_end(lo, tx_of(link));
		step->los_called = true;
	}
	if (lo->lob_cut || lo->lob_away_at <= step->los_now) {
		lo->lob_cut = false;
		lo->lob_away_at = M0_TIME_NEVER;
		max = lo->lob_away_nr;
	}
	away_look(lo, max, step);
	if (lo->lob_away_nr == 0)
		lo->lob_away_at = M0_TIME_NEVER;
}

/* Copies what the copier has failed to copy. @return false: another step is needed. */
static bool back_step(struct lo *lo, struct lo_step *step)
{
	struct m0_list_link *link;

	M0_PRE(lo->lob_tx == NULL);
	while ((link = m0_list_first(&lo->lob_back)) != NULL) {
		m0_list_del(link);
		lo->lob_tx = tx_of(link);
		lo->lob_done_bytes = 0;
		if (!current_step(lo, step))
			return false;
	}
	return true;
}

/*
 * Begins the message, or ends it for a reason of its own, and copies it as far
 * as the step allows. @return false: no other may begin.
 */
static bool tx_step(struct lo *lo, struct m0_lnd_tx *tx, struct lo_step *step)
{
	enum m0_lnd_health health = M0_LND_OK;
	int                rc = tx_refusal(tx, step->los_now, &health);

	M0_PRE_EX(lo_invariant(lo));
	if (rc != 0) {
		step->los_called = true;
		tx_end(tx, rc, health);
		return true;
	}
	switch (tx_begin(lo, tx)) {
	case BEGUN:
		return tx_away(lo, step->los_now) || current_step(lo, step);
	case STALLED:
		step->los_next = min64u(step->los_next, tx->ltx_deadline);
		return true;
	default:
		step->los_called = true;
		return true;
	}
}

/*
 * Takes up to `max` messages off a queue, one after the other. A call up may
 * add to it, and end what is in it by no other way than lo_tx_cancel.
 */
static bool queue_step(struct lo *lo, struct m0_list *queue, unsigned max,
		       struct lo_step *step)
{
	struct m0_list_link *link;
	unsigned             i;

	M0_PRE_EX(lo_invariant(lo));
	for (i = 0; i < max; ++i) {
		link = m0_list_first(queue);
		if (link == NULL)
			break;
		m0_list_del(link);
		if (!tx_step(lo, tx_of(link), step))
			return false;
	}
	return true;
}

/* In order, those behind too many others not at all. */
static bool stalled_step(struct lo *lo, struct lo_step *step)
{
	struct m0_list asked;
	struct m0_list later;
	unsigned       i;
	bool           go_on;

	M0_PRE_EX(lo_invariant(lo));
	if (m0_list_is_empty(&lo->lob_stalled))
		return true;
	m0_list_init(&asked);
	m0_list_init(&later);
	for (i = 0; i < STEP_STALLED_MAX && !m0_list_is_empty(&lo->lob_stalled);
	     ++i)
		m0_list_move_tail(&asked, m0_list_first(&lo->lob_stalled));
	m0_list_splice_tail(&later, &lo->lob_stalled);
	go_on = queue_step(lo, &asked, STEP_STALLED_MAX, step);
	/* Messages that were not offered keep their places. */
	m0_list_splice_tail(&lo->lob_stalled, &asked);
	m0_list_splice_tail(&lo->lob_stalled, &later);
	return go_on;
}

/* Interfaces that stop and have no message left. */
static void nis_finish(struct lo *lo, struct lo_step *step)
{
	struct lo_ni *li;
	struct lo_ni *next;

	M0_PRE_EX(lo_invariant(lo));
	if (lo->lob_stopping_nr == 0)
		return;
	m0_list_for_each_entry_safe(&lo->lob_nis, li, next, struct lo_ni,
				    loi_link) {
		struct m0_lnd_ni *ni = li->loi_ni;

		if (!li->loi_stopping || li->loi_txs_nr > 0)
			continue;
		--lo->lob_stopping_nr;
		m0_list_del(&li->loi_link);
		m0_free(li);
		ni->ldn_priv = NULL;
		ni->ldn_up = false;
		step->los_called = true;
		ni->ldn_ops->lu_ni_stopped(ni);
	}
}

static m0_time_t lo_step(struct m0_lnd *lnd, m0_time_t now)
{
	struct lo     *lo = lo_of(lnd);
	struct lo_step step = { .los_now = now,
				.los_next = M0_TIME_NEVER,
				.los_bytes = STEP_BYTES_MAX };
	bool           go_on = true;

	if (M0_LIKELY(lo->lob_txs_nr == 0 && lo->lob_stopping_nr == 0))
		return M0_TIME_NEVER;
	if (!m0_list_is_empty(&lo->lob_away) ||
	    !m0_list_is_empty(&lo->lob_copied))
		away_step(lo, &step);
	if (lo->lob_tx != NULL)
		go_on = current_step(lo, &step);
	go_on = go_on && back_step(lo, &step) && stalled_step(lo, &step);
	if (go_on)
		(void)queue_step(lo, &lo->lob_fresh, STEP_MSGS_MAX, &step);
	nis_finish(lo, &step);
	if (step.los_called || lo->lob_tx != NULL ||
	    !m0_list_is_empty(&lo->lob_back) ||
	    !m0_list_is_empty(&lo->lob_fresh))
		return M0_TIME_IMMEDIATELY;
	return min64u(step.los_next, lo->lob_away_at);
}

static void lo_fini(struct m0_lnd *lnd)
{
	struct lo *lo = lo_of(lnd);

	M0_PRE(lo->lob_tx == NULL);
	m0_list_fini(&lo->lob_away);
	m0_list_fini(&lo->lob_copied);
	m0_list_fini(&lo->lob_back);
	m0_list_fini(&lo->lob_fresh);
	m0_list_fini(&lo->lob_stalled);
	m0_list_fini(&lo->lob_nis);
	m0_free(lo);
}

static const struct m0_lnd_ops lo_ops = { .ldo_name = "lo",
					  .ldo_type = M0_LNET_TYPE_LO,
					  .ldo_ni_start = lo_ni_start,
					  .ldo_ni_stop = lo_ni_stop,
					  .ldo_xmit = lo_xmit,
					  .ldo_tx_cancel = lo_tx_cancel,
					  .ldo_step = lo_step,
					  .ldo_peer_drop = lo_peer_drop,
					  .ldo_ni_info = lo_ni_info,
					  .ldo_fini = lo_fini };

int m0_lo_create(struct m0_lnd **ret, struct m0_copier *const *copier)
{
	struct lo *lo;

	M0_ALLOC_PTR(lo);
	if (lo == NULL)
		return -ENOMEM;
	lo->lob_lnd.ld_ops = &lo_ops;
	lo->lob_copier = copier;
	lo->lob_away_at = M0_TIME_NEVER;
	m0_list_init(&lo->lob_away);
	m0_list_init(&lo->lob_copied);
	m0_list_init(&lo->lob_back);
	m0_list_init(&lo->lob_fresh);
	m0_list_init(&lo->lob_stalled);
	m0_list_init(&lo->lob_nis);
	*ret = &lo->lob_lnd;
	return 0;
}

static int lo_row_create(struct m0_lnd **ret, const struct m0_lnd_env *env,
			 char *why)
{
	(void)why;
	return m0_lo_create(ret, env->lev_copier);
}

const struct m0_lnd_row m0_lo_row = { .lrw_name = "lo",
				      .lrw_types = { M0_LNET_TYPE_LO },
				      .lrw_create = lo_row_create };
