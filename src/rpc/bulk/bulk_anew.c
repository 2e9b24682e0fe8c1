/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Bulk that is begun anew. A request of a stream is executed once, so its bulk
 * must not end because a connection has: a buffer that fails is moved again, from
 * its first byte, over the ways that there are, until the request's deadline. The
 * other side keeps its offer until the request has ended (bulk.c).
 *
 * Between two attempts the buffer is in no queue. A timer of the machine begins
 * it; so the thread that gives it up sets a flag, and it ends when the timer fires.
 *
 * The pause between two attempts doubles. Its second half is random: requests
 * whose bulk failed at one time, with one connection, would otherwise use one
 * connection at one time again, and the next failure would end all of them again.
 * The pause falls back to the shortest when a buffer of the list was moved.
 */
#include "rpc/bulk/bulk.h"
#include "base/rand.h"

#define PAUSE_MIN_NS M0_TIME_ONE_MSEC
#define PAUSE_MAX_NS (256 * M0_TIME_ONE_MSEC)

/** How long attempts may find no offer: it may be on its way back to its queue, or
 * withdrawn. */
#define NOENT_NS M0_TIME_ONE_SECOND

struct m0_rpc__bulk_again {
	struct m0_rpc__pause bag_pause;
	struct m0_rpc_bulk  *bag_rb;
	/** Time of the first of the latest attempts that found no offer; 0: none. */
	m0_time_t      bag_noent_at;
	struct m0_rand bag_rand;
};

void m0_rpc__bulk_anew_allow(struct m0_rpc_bulk *rb)
{
	M0_PRE(rb->rb_item != NULL);
	M0_PRE(!(rb->rb_flags & M0_RPC__BULK_ANEW));
	m0_rpc_item_get((struct m0_rpc_item *)(uintptr_t)rb->rb_item);
	rb->rb_flags |= M0_RPC__BULK_ANEW;
}

bool m0_rpc__bulk_rc_passes(int rc)
{
	return !M0_IN(rc, (-EINVAL, -EPERM, -EPROTO, -EMSGSIZE, -ENOMEM));
}

/* Does the request still wait for it? The machine's thread. */
static bool is_wanted(const struct m0_rpc_bulk *rb, m0_time_t now)
{
	const struct m0_rpc_item     *item = rb->rb_item;
	const struct m0_rpc__machine *m = rb->rb_machine->rm_lib;
	const struct m0_rpc__item    *il;

	/* Without the first flag there may be no request. */
	if ((rb->rb_flags & (M0_RPC__BULK_ANEW | M0_RPC__BULK_STOPS)) !=
	    M0_RPC__BULK_ANEW)
		return false;
	il = m0_rpc__il(item);
	return !m->rml_aborts && now < rb->rb_expires &&
	       now < item->ri_remote_expires &&
	       !(__atomic_load_n(&il->ril_flags, __ATOMIC_RELAXED) &
		 (M0_RPC__IF_ANSWERED | M0_RPC__IF_UNWANTED)) &&
	       /* The session exists until the answer has been taken. */
	       !il->ril_sstream->rsq_session->rsw_gone;
}

/* Its turn has come; rb_mutex is held. @return 0, or why it ends. */
static int begin(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf)
{
	int rc = -ECANCELED;

	M0_PRE(rbuf->bb_rbulk == rb);
	if (is_wanted(rb, m0_time_now()))
		rc = m0_rpc__bulk_again(rb, rbuf,
					m0_rpc__request_tm(rb->rb_item));
	if (rc == 0)
		M0_RPC__COUNT(rb->rb_machine->rm_lib, rs_nr_restarted_bulk, 1);
	else if (m0_rpc__bulk_anew(rb, rbuf, rc))
		rc = 0;
	return rc;
}

static void pause_over(struct m0_rpc__pause *pause)
{
	struct m0_rpc__bulk_again *again =
		container_of(pause, struct m0_rpc__bulk_again, bag_pause);
	struct m0_rpc_bulk     *rb = again->bag_rb;
	struct m0_rpc_bulk_buf *rbuf;
	int                     rc;

	M0_PRE(again->bag_rb->rb_again == again);
	m0_mutex_lock(&rb->rb_mutex);
	--rb->rb_machine->rm_lib->rml_bulks.bks_paused_nr;
	m0_rpc__bulk_paused_due(rb);
	while ((rbuf = m0_rpc__bulk_due(rb)) != NULL) {
		rc = begin(rb, rbuf);
		/* The last one takes the lock and the list along. */
		if (rc != 0 && m0_rpc__bulk_over(rb, rbuf, rc))
			return;
	}
	m0_mutex_unlock(&rb->rb_mutex);
}

static struct m0_rpc__bulk_again *again_get(struct m0_rpc_bulk *rb)
{
	struct m0_rpc__bulk_again *again = rb->rb_again;
	uint64_t                   seed;

	if (again != NULL)
		return again;
	M0_ALLOC_PTR(again);
	if (again == NULL)
		return NULL;
	m0_rpc__pause_init(&again->bag_pause, pause_over);
	again->bag_rb = rb;
	m0_os_random(&seed, sizeof seed);
	m0_rand_init(&again->bag_rand, seed);
	rb->rb_again = again;
	return again;
}

/* Has no attempt found an offer for too long? */
static bool is_withdrawn(struct m0_rpc__bulk_again *again, int rc,
			 m0_time_t now)
{
	if (rc != -ENOENT)
		again->bag_noent_at = 0;
	else if (again->bag_noent_at == 0)
		again->bag_noent_at = now;
	return rc == -ENOENT &&
	       now > m0_time_add(again->bag_noent_at, NOENT_NS);
}

static void pause_begin(struct m0_rpc__machine    *m,
			struct m0_rpc__bulk_again *again, m0_time_t now)
{
	struct m0_rpc__pause *pause = &again->bag_pause;

	pause->rpa_ns = pause->rpa_ns == 0
				? PAUSE_MIN_NS
				: min64u(2 * pause->rpa_ns, PAUSE_MAX_NS);
	++m->rml_bulks.bks_paused_nr;
	m0_timerq_arm(&m->rml_timers.rtm_pauses, &pause->rpa_timer,
		      m0_time_add(now, m0_rand_in(&again->bag_rand,
						  pause->rpa_ns / 2,
						  pause->rpa_ns)));
}

bool m0_rpc__bulk_anew(struct m0_rpc_bulk *rb, struct m0_rpc_bulk_buf *rbuf,
		       int rc)
{
	m0_time_t                  now = m0_time_now();
	struct m0_rpc__bulk_again *again;

	if (!is_wanted(rb, now) || !m0_rpc__bulk_rc_passes(rc))
		return false;
	again = again_get(rb);
	if (again == NULL || is_withdrawn(again, rc, now))
		return false;
	rbuf->bb_flags |= M0_RPC__BULK_BUF_PAUSED;
	if (!m0_timer_is_armed(&again->bag_pause.rpa_timer))
		pause_begin(rb->rb_machine->rm_lib, again, now);
	return true;
}

void m0_rpc__bulk_anew_moved(struct m0_rpc_bulk *rb)
{
	rb->rb_again->bag_pause.rpa_ns = 0;
	rb->rb_again->bag_noent_at = 0;
}

const struct m0_rpc_item *m0_rpc__bulk_anew_end(struct m0_rpc_bulk *rb)
{
	struct m0_rpc__bulk_again *again = rb->rb_again;

	M0_PRE(again == NULL || again->bag_rb == rb);
	rb->rb_again = NULL;
	if (again != NULL) {
		M0_ASSERT(!m0_timer_is_armed(&again->bag_pause.rpa_timer));
		m0_timer_fini(&again->bag_pause.rpa_timer);
		m0_free(again);
	}
	return rb->rb_flags & M0_RPC__BULK_ANEW ? rb->rb_item : NULL;
}
