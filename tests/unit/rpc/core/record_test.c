/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Records that the server keeps in the store, and finds again. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "rpc/core/record.h"

static const struct m0_uint128 uuid = { .u_hi = 1, .u_lo = 2 };
/** Their keys stand right beside. */
static const struct m0_uint128 before = { .u_hi = 1, .u_lo = 1 };
static const struct m0_uint128 behind = { .u_hi = 1, .u_lo = 3 };

struct story {
	struct m0_rpc_store st_store;
	struct m0_rpc_tx    st_tx;
};

static void begin(struct story *st)
{
	assert_int_equal(m0_rpc_store_volatile_init(&st->st_store, 1 << 16), 0);
	assert_int_equal(
		st->st_store.rst_ops->rso_begin(&st->st_store, &st->st_tx), 0);
}

static void end(struct story *st)
{
	st->st_store.rst_ops->rso_abort(&st->st_tx);
	m0_rpc_store_volatile_fini(&st->st_store);
}

/** Puts a reply whose body is the number's lowest byte, `nr` times. */
static void reply_put(struct story *st, struct m0_uint128 whose,
		      uint64_t session, uint32_t stream, uint64_t xid,
		      m0_bcount_t nr)
{
	const struct m0_rpc_record_reply rec = { .rrr_session = session,
						 .rrr_stream = stream,
						 .rrr_window = 4,
						 .rrr_xid = xid,
						 .rrr_ack = xid - 1,
						 .rrr_rc = -(int)xid };
	uint8_t                          value[M0_RPC_RECORD_HEAD + 16];

	memset(value, (int)xid, sizeof value);
	assert_int_equal(m0_rpc_record_reply_put(&st->st_tx, whose, &rec, value,
						 M0_RPC_RECORD_HEAD + nr),
			 0);
}

struct seen {
	unsigned se_nr;
	uint64_t se_xids;
	uint64_t se_streams;
};

static int client_get(struct m0_rpc_tx *tx, struct m0_uint128 whose,
		      uint64_t *ret)
{
	struct m0_rpc_record_client rec;
	int rc = m0_rpc_record_client_get(tx, whose, &rec);

	if (rc == 0)
		*ret = rec.rrc_incarnation;
	return rc;
}

static int client_put(struct m0_rpc_tx *tx, struct m0_uint128 whose,
		      uint64_t incarnation, bool fences)
{
	const struct m0_rpc_record_client rec = {
		.rrc_uuid = whose,
		.rrc_incarnation = incarnation,
		.rrc_fences = fences,
		.rrc_lived_ns = 5,
	};

	return m0_rpc_record_client_put(tx, &rec);
}

static int found(const struct m0_rpc_record_reply *rec, void *arg)
{
	struct seen   *seen = arg;
	const uint8_t *body = rec->rrr_reply.sl_data;

	assert_int_equal(rec->rrr_ack, rec->rrr_xid - 1);
	assert_int_equal(rec->rrr_rc, -(int)rec->rrr_xid);
	if (rec->rrr_reply.sl_nr > 0)
		assert_int_equal(body[rec->rrr_reply.sl_nr - 1],
				 (uint8_t)rec->rrr_xid);
	seen->se_nr++;
	seen->se_xids += rec->rrr_xid;
	seen->se_streams += rec->rrr_stream;
	return 0;
}

static struct seen replies(struct story *st, struct m0_uint128 whose,
			   uint64_t session)
{
	struct seen seen = { 0, 0, 0 };

	assert_int_equal(m0_rpc_record_replies(&st->st_tx, whose, session,
					       found, &seen),
			 0);
	return seen;
}

/* A record of each kind is read as it was written, and is not there for
 * others. */
static void records_put_are_got(void **state)
{
	const struct m0_rpc_record_session put = { .rrs_session = 5,
						   .rrs_incarnation = ~0ULL,
						   .rrs_streams = 3,
						   .rrs_window = 4 };
	struct m0_rpc_record_session       got;
	uint64_t                           incarnation;
	struct story                       st;

	(void)state;
	begin(&st);
	assert_int_equal(client_put(&st.st_tx, uuid, 1ULL << 40, false), 0);
	assert_int_equal(client_get(&st.st_tx, uuid, &incarnation), 0);
	assert_int_equal(incarnation, 1ULL << 40);
	assert_int_equal(client_get(&st.st_tx, behind, &incarnation), -ENOENT);
	assert_int_equal(m0_rpc_record_session_put(&st.st_tx, uuid, &put), 0);
	assert_int_equal(m0_rpc_record_session_get(&st.st_tx, uuid, 5, &got),
			 0);
	assert_int_equal(got.rrs_session, 5);
	assert_int_equal(got.rrs_incarnation, ~0ULL);
	assert_int_equal(got.rrs_streams, 3);
	assert_int_equal(got.rrs_window, 4);
	assert_int_equal(m0_rpc_record_session_get(&st.st_tx, uuid, 4, &got),
			 -ENOENT);
	end(&st);
}

/* Replies of a session are found, its alone, whatever stands beside; one takes
 * the place of the one a window before. */
static void replies_of_session_are_found(void **state)
{
	struct seen  seen;
	struct story st;

	(void)state;
	begin(&st);
	assert_int_equal(replies(&st, uuid, 5).se_nr, 0);
	reply_put(&st, uuid, 5, 1, 7, 0);
	reply_put(&st, uuid, 5, 1, 8, 16);
	reply_put(&st, uuid, 5, 1, 11, 3);
	reply_put(&st, uuid, 5, 0x01020304, 9, 1);
	reply_put(&st, uuid, 4, 1, 9, 1);
	reply_put(&st, uuid, 6, 1, 9, 1);
	reply_put(&st, before, 5, 1, 9, 1);
	reply_put(&st, behind, 5, 1, 9, 1);
	seen = replies(&st, uuid, 5);
	assert_int_equal(seen.se_nr, 3);
	assert_int_equal(seen.se_xids, 8 + 11 + 9);
	assert_int_equal(seen.se_streams, 1 + 1 + 0x01020304);
	end(&st);
}

/* A session goes with its replies, a client with all it has; neighbours and
 * the keys of handlers stay. */
static void delete_takes_all_and_no_more(void **state)
{
	const struct m0_rpc_record_session rec = { .rrs_window = 4 };
	const struct m0_rpc_record_session second = { .rrs_session = 1,
						      .rrs_window = 4 };
	struct m0_rpc_record_session       got;
	struct m0_rpc_slice                theirs = { "theirs", 6 };
	struct m0_rpc_slice                value;
	uint64_t                           incarnation;
	struct story                       st;
	unsigned                           i;
	const struct m0_uint128            all[] = { before, uuid, behind };

	(void)state;
	begin(&st);
	assert_int_equal(m0_rpc_tx_put(&st.st_tx, theirs, theirs), 0);
	for (i = 0; i < 3; ++i) {
		assert_int_equal(client_put(&st.st_tx, all[i], 1, false), 0);
		assert_int_equal(
			m0_rpc_record_session_put(&st.st_tx, all[i], &rec), 0);
		assert_int_equal(m0_rpc_record_session_put(&st.st_tx, all[i],
							   &second),
				 0);
		reply_put(&st, all[i], 0, 1, 2, 1);
		reply_put(&st, all[i], 0, 2, 3, 1);
		reply_put(&st, all[i], 1, 2, 3, 1);
	}
	assert_int_equal(m0_rpc_record_session_del(&st.st_tx, uuid, 0), 0);
	assert_int_equal(m0_rpc_record_session_del(&st.st_tx, uuid, 0), 0);
	assert_int_equal(m0_rpc_record_session_get(&st.st_tx, uuid, 0, &got),
			 -ENOENT);
	assert_int_equal(replies(&st, uuid, 0).se_nr, 0);
	assert_int_equal(replies(&st, uuid, 1).se_nr, 1);
	assert_int_equal(m0_rpc_record_client_del(&st.st_tx, uuid), 0);
	assert_int_equal(client_get(&st.st_tx, uuid, &incarnation), -ENOENT);
	assert_int_equal(replies(&st, uuid, 1).se_nr, 0);
	assert_int_equal(m0_rpc_record_session_get(&st.st_tx, uuid, 1, &got),
			 -ENOENT);
	for (i = 0; i < 3; i += 2) {
		assert_int_equal(client_get(&st.st_tx, all[i], &incarnation),
				 0);
		assert_int_equal(replies(&st, all[i], 0).se_nr, 2);
		assert_int_equal(replies(&st, all[i], 1).se_nr, 1);
	}
	assert_int_equal(m0_rpc_tx_get(&st.st_tx, theirs, &value), 0);
	end(&st);
}

/* The record of a client that leaves is deleted, unless it is needed: by a
 * younger incarnation, by its sessions, or against an older one. */
static void client_that_leaves_goes(void **state)
{
	const struct m0_rpc_record_session rec = { .rrs_window = 4 };
	uint64_t                           known;
	struct story                       st;

	(void)state;
	begin(&st);
	assert_int_equal(m0_rpc_record_client_leave(&st.st_tx, uuid, 7), 0);
	(void)client_put(&st.st_tx, uuid, 7, false);
	(void)m0_rpc_record_session_put(&st.st_tx, behind, &rec);
	(void)m0_rpc_record_session_put(&st.st_tx, uuid, &rec);
	assert_int_equal(m0_rpc_record_client_leave(&st.st_tx, uuid, 7), 0);
	assert_int_equal(client_get(&st.st_tx, uuid, &known), 0);
	(void)m0_rpc_record_session_del(&st.st_tx, uuid, 0);
	assert_int_equal(m0_rpc_record_client_leave(&st.st_tx, uuid, 6), 0);
	assert_int_equal(client_get(&st.st_tx, uuid, &known), 0);
	reply_put(&st, uuid, 0, 1, 2, 1);
	assert_int_equal(m0_rpc_record_client_leave(&st.st_tx, uuid, 7), 0);
	assert_int_equal(client_get(&st.st_tx, uuid, &known), -ENOENT);
	assert_int_equal(replies(&st, uuid, 0).se_nr, 0);
	(void)client_put(&st.st_tx, uuid, 8, true);
	assert_int_equal(m0_rpc_record_client_leave(&st.st_tx, uuid, 8), 0);
	assert_int_equal(client_get(&st.st_tx, uuid, &known), 0);
	assert_int_equal(known, 8);
	end(&st);
}

/* Values that this library has not written are told, not believed: all of
 * them cut off, or of a later version. */
static void records_damaged_are_refused(void **state)
{
	struct m0_rpc_slice                key = { NULL, 0 };
	struct m0_rpc_slice                value;
	const struct m0_rpc_record_session rec = { .rrs_window = 4 };
	struct m0_rpc_record_session       got;
	struct seen                        seen;
	uint64_t                           incarnation;
	struct story                       st;
	uint8_t                            copy[M0_RPC_STORE_KEY_MAX];
	uint8_t                            junk[64];
	m0_bcount_t                        nr;
	unsigned                           i;

	(void)state;
	begin(&st);
	(void)client_put(&st.st_tx, uuid, 1, false);
	(void)m0_rpc_record_session_put(&st.st_tx, uuid, &rec);
	reply_put(&st, uuid, 0, 1, 2, 1);
	memset(junk, 9, sizeof junk);
	while (st.st_store.rst_ops->rso_next(&st.st_tx, key, &key, &value) ==
	       0) {
		nr = key.sl_nr;
		memcpy(copy, key.sl_data, nr);
		key = (struct m0_rpc_slice){ copy, nr };
		i = copy[1] == 'r' ? 1 : sizeof junk;
		(void)st.st_store.rst_ops->rso_put(
			&st.st_tx, key, (struct m0_rpc_slice){ junk, i });
	}
	assert_int_equal(client_get(&st.st_tx, uuid, &incarnation), -EPROTO);
	assert_int_equal(m0_rpc_record_session_get(&st.st_tx, uuid, 0, &got),
			 -EPROTO);
	assert_int_equal(m0_rpc_record_replies(&st.st_tx, uuid, 0, found,
					       &seen),
			 -EPROTO);
	assert_int_equal(m0_rpc_record_client_del(&st.st_tx, uuid), 0);
	end(&st);
}

/* So are those of this version whose end is missing. */
static void records_cut_off_are_refused(void **state)
{
	static const uint8_t               head[16] = { 1 };
	struct m0_rpc_slice                key = { NULL, 0 };
	struct m0_rpc_slice                value;
	const struct m0_rpc_record_session rec = { .rrs_window = 4 };
	struct m0_rpc_record_session       got;
	uint64_t                           incarnation;
	struct story                       st;
	uint8_t                            copy[M0_RPC_STORE_KEY_MAX];

	(void)state;
	begin(&st);
	(void)client_put(&st.st_tx, uuid, 1, false);
	(void)m0_rpc_record_session_put(&st.st_tx, uuid, &rec);
	while (st.st_store.rst_ops->rso_next(&st.st_tx, key, &key, &value) ==
	       0) {
		memcpy(copy, key.sl_data, key.sl_nr);
		key.sl_data = copy;
		assert_true(value.sl_nr >= sizeof head);
		(void)st.st_store.rst_ops->rso_put(
			&st.st_tx, key,
			(struct m0_rpc_slice){ head, sizeof head - 1 });
	}
	assert_int_equal(client_get(&st.st_tx, uuid, &incarnation), -EPROTO);
	assert_int_equal(m0_rpc_record_session_get(&st.st_tx, uuid, 0, &got),
			 -EPROTO);
	end(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_put_are_got),
		cmocka_unit_test(replies_of_session_are_found),
		cmocka_unit_test(delete_takes_all_and_no_more),
		cmocka_unit_test(client_that_leaves_goes),
		cmocka_unit_test(records_damaged_are_refused),
		cmocka_unit_test(records_cut_off_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
