/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Tests that this node runs as a client: streams of pings or bulk. */
#include <string.h>

#include "selftest/st_internal.h"

/* -- making ---------------------------------------------------------------- */

static uint8_t *memory_get(struct st_test *test, struct m0_st *st)
{
	uint8_t *buf;

	if (st->slf_tests_bytes + test->stk_what.tsr_bytes >
	    st->slf_cfg.scf_memory_max)
		return NULL;
	buf = m0_alloc_aligned(test->stk_what.tsr_bytes, ST_PAGE_SHIFT);
	if (buf == NULL)
		return NULL;
	st->slf_tests_bytes += test->stk_what.tsr_bytes;
	test->stk_memory += test->stk_what.tsr_bytes;
	return buf;
}

static uint32_t units_make(struct st_test *test, const struct m0_st_msg *msg,
			   const uint8_t *dests)
{
	const struct m0_st_test  *what = &test->stk_what;
	struct m0_lnet_process_id dest;
	struct st_unit           *unit;
	uint32_t                  i;
	uint32_t                  j;

	for (i = 0; i < what->tsr_dests_nr; ++i) {
		if (m0_st_dest_decode(&dest, dests, i, msg->smg_feats,
				      msg->smg_swapped) != 0)
			return EINVAL;
		for (j = 0; j < what->tsr_concurrency; ++j) {
			unit = &test->stk_units[test->stk_units_nr++];
			unit->sun_test = test;
			unit->sun_dest = dest;
			m0_list_link_init(&unit->sun_link);
			if (what->tsr_service != M0_ST_SRV_BRW ||
			    what->tsr_rw != M0_ST_READ)
				continue;
			unit->sun_buf = memory_get(
				test, test->stk_batch->sbh_session->sse_st);
			if (unit->sun_buf == NULL)
				return ENOMEM;
		}
	}
	return 0;
}

static uint32_t client_make(struct st_test *test, const struct m0_st_msg *msg,
			    const uint8_t *dests)
{
	const struct m0_st_test *what = &test->stk_what;
	struct m0_st            *st = test->stk_batch->sbh_session->sse_st;
	uint64_t nr = (uint64_t)what->tsr_dests_nr * what->tsr_concurrency;

	if (nr == 0 || dests == NULL)
		return EINVAL;
	if (nr > ST_UNITS_MAX - st->slf_units_nr ||
	    M0_ALLOC_ARR(test->stk_units, nr) == NULL)
		return ENOMEM;
	test->stk_units_room = (uint32_t)nr;
	st->slf_units_nr += test->stk_units_room;
	if (what->tsr_service == M0_ST_SRV_BRW && what->tsr_rw == M0_ST_WRITE) {
		test->stk_source = memory_get(test, st);
		if (test->stk_source == NULL)
			return ENOMEM;
		m0_st_pattern_fill(test->stk_source, what->tsr_bytes, 0,
				   what->tsr_check, M0_ST_PATTERN);
	}
	return units_make(test, msg, dests);
}

void m0_st__test_free(struct st_test *test)
{
	struct m0_st *st = test->stk_batch->sbh_session->sse_st;
	size_t        bytes = test->stk_what.tsr_bytes;
	uint32_t      i;

	M0_PRE(test->stk_active_nr == 0);
	for (i = 0; i < test->stk_units_nr; ++i)
		m0_free_aligned(test->stk_units[i].sun_buf, bytes,
				ST_PAGE_SHIFT);
	m0_free_aligned(test->stk_source, bytes, ST_PAGE_SHIFT);
	M0_ASSERT(st->slf_tests_bytes >= test->stk_memory);
	st->slf_tests_bytes -= test->stk_memory;
	M0_ASSERT(st->slf_units_nr >= test->stk_units_room);
	st->slf_units_nr -= test->stk_units_room;
	m0_free(test->stk_units);
	m0_free(test);
}

uint32_t m0_st__test_add(struct st_session      *session,
			 const struct m0_st_msg *msg, const uint8_t *dests)
{
	struct st_test *test;
	uint32_t        status = 0;

	if (M0_ALLOC_PTR(test) == NULL)
		return ENOMEM;
	test->stk_what = msg->smg_test;
	test->stk_batch = m0_st__batch_find(session, msg->smg_test.tsr_batch);
	m0_list_link_init(&test->stk_link);
	if (test->stk_what.tsr_is_client != 0)
		status = client_make(test, msg, dests);
	if (status != 0) {
		m0_st__test_free(test);
		return status;
	}
	test->stk_nr = ++test->stk_batch->sbh_tests_nr;
	m0_list_add_tail(&test->stk_batch->sbh_tests, &test->stk_link);
	++session->sse_tests_nr;
	return 0;
}

/* -- running --------------------------------------------------------------- */

static void unit_next(struct st_unit *unit);

static void unit_end(struct st_unit *unit)
{
	struct st_test *test = unit->sun_test;

	M0_PRE(test->stk_active_nr > 0);
	if (--test->stk_active_nr > 0)
		return;
	--test->stk_batch->sbh_active_nr;
	m0_st__wake(test->stk_batch->sbh_session->sse_st, M0_TIME_IMMEDIATELY);
}

static void unit_pause(struct st_unit *unit)
{
	struct m0_st *st = unit->sun_test->stk_batch->sbh_session->sse_st;

	unit->sun_resume = m0_time_add(m0_time_cached(), ST_PAUSE);
	m0_list_add_tail(&st->slf_paused, &unit->sun_link);
	m0_st__wake(st, unit->sun_resume);
}

/** 0, or what is wrong with a reply. */
static int unit_verify(const struct st_unit *unit, const struct st_rpc *rpc)
{
	const struct m0_st_test *what = &unit->sun_test->stk_what;
	const struct m0_st_msg  *rep = &rpc->sqr_rep;

	if (rpc->sqr_rc != 0)
		return rpc->sqr_rc;
	if (rep->smg_status != 0)
		return -(int)rep->smg_status;
	if (what->tsr_service == M0_ST_SRV_PING)
		return rep->smg_ping_magic == M0_ST_PING_MAGIC &&
				       rep->smg_seq == unit->sun_seq
			       ? 0
			       : -EBADMSG;
	return unit->sun_buf == NULL ||
			       m0_st_pattern_is(unit->sun_buf, what->tsr_bytes,
						0, what->tsr_check,
						rep->smg_swapped)
		       ? 0
		       : -EBADMSG;
}

static void unit_failed(struct st_unit *unit, struct st_session *session)
{
	const struct m0_st_test *what = &unit->sun_test->stk_what;

	if (what->tsr_service == M0_ST_SRV_PING)
		++session->sse_ping_errors;
	else
		++session->sse_brw_errors;
	if (what->tsr_stop_on_error != 0)
		unit->sun_test->stk_stops = true;
}

static void unit_done(struct st_rpc *rpc)
{
	struct st_unit    *unit = rpc->sqr_owner;
	struct st_test    *test = unit->sun_test;
	struct st_session *session = test->stk_batch->sbh_session;
	int                rc = unit_verify(unit, rpc);

	unit->sun_rpc = NULL;
	m0_st__rpc_free(rpc);
	if (rc != 0 && !test->stk_stops)
		unit_failed(unit, session);
	++unit->sun_seq;
	if (unit->sun_left != M0_ST_LOOP_INF)
		--unit->sun_left;
	if (test->stk_stops || unit->sun_left == 0)
		unit_end(unit);
	else if (rc != 0)
		unit_pause(unit);
	else
		unit_next(unit);
}

static void unit_ping(struct st_unit *unit, struct st_rpc *rpc)
{
	struct m0_st_msg *msg = &rpc->sqr_msg;

	msg->smg_type = M0_ST_PING;
	msg->smg_ping_magic = M0_ST_PING_MAGIC;
	msg->smg_seq = unit->sun_seq;
	msg->smg_sec = m0_time_seconds(rpc->sqr_begin);
	msg->smg_nsec = m0_time_nanoseconds(rpc->sqr_begin);
	m0_st__rpc_call(rpc, NULL, 0, false);
}

static void unit_brw(struct st_unit *unit, struct st_rpc *rpc)
{
	const struct m0_st_test *what = &unit->sun_test->stk_what;
	struct m0_st_msg        *msg = &rpc->sqr_msg;
	uint8_t *data = unit->sun_buf ?: unit->sun_test->stk_source;

	msg->smg_type = M0_ST_BRW;
	msg->smg_rw = what->tsr_rw;
	msg->smg_bytes = what->tsr_bytes;
	msg->smg_check = what->tsr_check;
	if (unit->sun_buf != NULL)
		m0_st_pattern_fill(data, what->tsr_bytes, 0, what->tsr_check,
				   M0_ST_POISON);
	m0_st__rpc_call(rpc, data, what->tsr_bytes,
			what->tsr_rw == M0_ST_WRITE);
}

static void unit_next(struct st_unit *unit)
{
	struct st_session *session = unit->sun_test->stk_batch->sbh_session;
	struct m0_st      *st = session->sse_st;
	struct st_rpc     *rpc;

	rpc = m0_st__rpc_alloc(st, true, st->slf_cfg.scf_rpc_timeout_ms);
	if (rpc == NULL) {
		unit_pause(unit);
		return;
	}
	unit->sun_rpc = rpc;
	rpc->sqr_peer = unit->sun_dest;
	rpc->sqr_done = unit_done;
	rpc->sqr_owner = unit;
	rpc->sqr_msg.smg_feats = session->sse_feats;
	if (unit->sun_test->stk_what.tsr_service == M0_ST_SRV_PING)
		unit_ping(unit, rpc);
	else
		unit_brw(unit, rpc);
}

void m0_st__test_run(struct st_test *test)
{
	uint32_t i;

	if (test->stk_units_nr == 0)
		return;
	test->stk_stops = false;
	test->stk_active_nr = test->stk_units_nr;
	++test->stk_batch->sbh_active_nr;
	for (i = 0; i < test->stk_units_nr; ++i) {
		test->stk_units[i].sun_left = test->stk_what.tsr_loop;
		test->stk_units[i].sun_seq = 0;
		unit_next(&test->stk_units[i]);
	}
}

void m0_st__test_stop(struct st_test *test, bool force)
{
	struct st_unit *unit;

	if (test->stk_active_nr == 0)
		return;
	test->stk_stops = true;
	for (unit = test->stk_units;
	     unit < test->stk_units + test->stk_units_nr; ++unit) {
		if (m0_list_link_is_in(&unit->sun_link)) {
			m0_list_del(&unit->sun_link);
			unit_end(unit);
		} else if (force && unit->sun_rpc != NULL) {
			m0_st__rpc_end(unit->sun_rpc, -ECANCELED);
		}
	}
}

m0_time_t m0_st__tests_resume(struct m0_st *st, m0_time_t now)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&st->slf_paused)) != NULL) {
		struct st_unit *unit =
			container_of(link, struct st_unit, sun_link);

		if (unit->sun_resume > now)
			return unit->sun_resume;
		m0_list_del(link);
		/* A test that stops has no paused units, but one that fails. */
		if (unit->sun_test->stk_stops)
			unit_end(unit);
		else
			unit_next(unit);
	}
	return M0_TIME_NEVER;
}
