/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The passive side of bulk, fed with events of its MD as a network and a peer
 * may make them: doubled, out of order, of two transfers, lying. The MD, the
 * entry and the kit are stubs that count.
 */
#include "xprt/lnet/xlnet_internal.h"
#include "base/rand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum {
	PIECE = XLNET_PIECE,
	/** Three pieces, the last a short one. */
	TOTAL = 2 * PIECE + 100
};

static struct m0_net_buffer   nb;
static struct m0_net_kit_buf  kb;
static struct xlnet_buf       xb;
static struct xlnet_machine   machine;
static struct m0_lnet_md_attr attached;
static struct m0_lnet_me_attr attached_me;
/** The address that every initiator's bytes stand for. */
static struct xlnet_addr initiator;
static bool              has_rails;
static unsigned          attached_nr;
static unsigned          asked_to_end_nr;
static unsigned          ended_nr;
static int32_t           ended_status;
static m0_bcount_t       ended_bytes;

void *m0_net_kit_buf_pvt(struct m0_net_kit_buf *buf)
{
	assert_ptr_equal(buf, &kb);
	return &xb;
}

void *m0_net_kit_machine_pvt(struct m0_net_kit_machine *unused)
{
	(void)unused;
	return &machine;
}

void m0_net_kit_done(struct m0_net_kit_buf *buf, int32_t status,
		     m0_bcount_t bytes)
{
	(void)buf;
	++ended_nr;
	ended_status = status;
	ended_bytes = bytes;
}

void m0_net_kit_succeeded(struct m0_net_kit_buf *buf, m0_bcount_t bytes)
{
	m0_net_kit_done(buf, 0, bytes);
}

int m0_xlnet__addr_unpack(const struct m0_net_kit_addr *addr,
			  struct xlnet_addr            *ret)
{
	(void)addr;
	*ret = initiator;
	return 0;
}

int m0_xlnet__attach(struct xlnet_machine *xm, const struct m0_lnet_me_attr *me,
		     struct m0_lnet_md_attr *attr, struct xlnet_md *xd)
{
	(void)xm;
	(void)xd;
	attached = *attr;
	attached_me = *me;
	++attached_nr;
	return 0;
}

bool m0_xlnet__has_rails(const struct xlnet_machine *unused)
{
	(void)unused;
	return has_rails;
}

void m0_xlnet__end(struct xlnet_buf *buf, int32_t status)
{
	if (!buf->xb_ends)
		buf->xb_status = status;
	buf->xb_ends = true;
	++asked_to_end_nr;
}

/* -- what comes ------------------------------------------------------------ */

static void wait_for(enum m0_net_queue_type qtype, m0_bcount_t size)
{
	struct m0_net_kit_desc desc = {
		.nks_qtype = qtype,
		.nks_id = 7 | (has_rails ? XLNET_HAS_RAILS : 0),
		.nks_size = size
	};

	M0_SET0(&kb);
	M0_SET0(&xb);
	kb.nkb_buffer = &nb;
	kb.nkb_size = size;
	kb.nkb_send_nr = size;
	attached_nr = 0;
	asked_to_end_nr = 0;
	ended_nr = 0;
	assert_int_equal(m0_xlnet__passive(&kb, &desc), 0);
}

static void put(uint32_t transfer, uint32_t total, uint32_t offset,
		uint32_t bytes)
{
	struct m0_lnet_event ev = { .ev_type = M0_LNET_EV_PUT,
				    .ev_hdr_data = (uint64_t)transfer << 32 |
						   total,
				    .ev_offset = offset,
				    .ev_rlength = bytes,
				    .ev_mlength = bytes };

	m0_xlnet__passive_event(&xb, &ev);
}

static void get(uint32_t offset, uint32_t bytes, int status)
{
	struct m0_lnet_event ev = { .ev_type = M0_LNET_EV_GET,
				    .ev_offset = offset,
				    .ev_rlength = bytes,
				    .ev_mlength = bytes,
				    .ev_status = status };

	m0_xlnet__passive_event(&xb, &ev);
}

static void unlinked(void)
{
	struct m0_lnet_event ev = { .ev_type = M0_LNET_EV_UNLINK,
				    .ev_unlinked = true };

	m0_xlnet__passive_event(&xb, &ev);
}

static void assert_all_of(m0_bcount_t bytes)
{
	assert_int_equal(asked_to_end_nr, 1);
	assert_int_equal(ended_nr, 0);
	unlinked();
	assert_int_equal(ended_nr, 1);
	assert_int_equal(ended_status, 0);
	assert_int_equal(ended_bytes, bytes);
}

/* -- stories --------------------------------------------------------------- */

/* Pieces may overtake each other: the buffer ends with the last of them. */
static void put_pieces_in_any_order_end_it(void **state)
{
	(void)state;
	wait_for(M0_NET_QT_PASSIVE_BULK_RECV, 4 * PIECE);
	put(1, TOTAL, 2 * PIECE, 100);
	put(1, TOTAL, 0, PIECE);
	assert_int_equal(asked_to_end_nr, 0);
	put(1, TOTAL, PIECE, PIECE);
	assert_all_of(TOTAL);
}

/* A network that doubles a message must not make it count for another. */
static void put_piece_doubled_counts_once(void **state)
{
	(void)state;
	wait_for(M0_NET_QT_PASSIVE_BULK_RECV, 4 * PIECE);
	put(1, 2 * PIECE, 0, PIECE);
	put(1, 2 * PIECE, 0, PIECE);
	assert_int_equal(asked_to_end_nr, 0);
	put(1, 2 * PIECE, PIECE, PIECE);
	assert_all_of(2 * PIECE);
}

/* Bytes of an abandoned transfer do not count for the next one. */
static void put_transfer_anew_forgets_the_old(void **state)
{
	(void)state;
	wait_for(M0_NET_QT_PASSIVE_BULK_RECV, 4 * PIECE);
	put(1, 2 * PIECE, 0, PIECE);
	put(2, 2 * PIECE, PIECE, PIECE);
	assert_int_equal(asked_to_end_nr, 0);
	put(2, 2 * PIECE, 0, PIECE);
	assert_all_of(2 * PIECE);
}

/* Offsets and lengths that no initiator of ours makes are not counted. */
static void put_piece_of_odd_shape_counts_nothing(void **state)
{
	(void)state;
	wait_for(M0_NET_QT_PASSIVE_BULK_RECV, 4 * PIECE);
	put(1, TOTAL, 0, PIECE - 1);
	put(1, TOTAL, 1, PIECE);
	put(1, TOTAL, PIECE, 100);
	put(1, TOTAL, 2 * PIECE, PIECE);
	put(1, TOTAL, 3 * PIECE, PIECE);
	put(1, 0, 0, 0);
	put(1, TOTAL, 0, 0);
	assert_int_equal(asked_to_end_nr, 0);
	assert_int_equal(xb.xb_pieces, 0);
	put(1, TOTAL, 0, PIECE);
	put(1, TOTAL, PIECE, PIECE);
	put(1, TOTAL, 2 * PIECE, 100);
	assert_all_of(TOTAL);
}

/* A PUT that announces more than there is room for is nothing. */
static void put_announcing_too_much_is_nothing(void **state)
{
	(void)state;
	wait_for(M0_NET_QT_PASSIVE_BULK_RECV, 4 * PIECE);
	put(1, 4 * PIECE + 1, 0, 0);
	assert_int_equal(asked_to_end_nr, 0);
	put(2, TOTAL, 0, PIECE);
	put(2, TOTAL, PIECE, PIECE);
	put(2, TOTAL, 2 * PIECE, 100);
	assert_all_of(TOTAL);
}

/* A piece fetched twice begins a new transfer: all are wanted again. */
static void get_piece_twice_begins_anew(void **state)
{
	(void)state;
	wait_for(M0_NET_QT_PASSIVE_BULK_SEND, TOTAL);
	get(0, PIECE, 0);
	get(PIECE, PIECE, 0);
	get(0, PIECE, 0);
	get(2 * PIECE, 100, 0);
	assert_int_equal(asked_to_end_nr, 0);
	get(PIECE, PIECE, 0);
	assert_all_of(TOTAL);
}

/* After a lost piece only a transfer from its beginning counts. */
static void get_piece_lost_waits_for_the_first(void **state)
{
	(void)state;
	wait_for(M0_NET_QT_PASSIVE_BULK_SEND, TOTAL);
	get(0, PIECE, 0);
	get(PIECE, PIECE, -EIO);
	get(2 * PIECE, 100, 0);
	get(PIECE, PIECE, 0);
	assert_int_equal(asked_to_end_nr, 0);
	get(0, PIECE, 0);
	get(PIECE, PIECE, 0);
	get(2 * PIECE, 100, 0);
	assert_all_of(TOTAL);
}

/* The only piece was lost with its MD: another MD waits. */
static void single_piece_lost_is_attached_again(void **state)
{
	struct m0_lnet_event ev = { .ev_type = M0_LNET_EV_PUT,
				    .ev_hdr_data = UINT64_C(1) << 32 | 100,
				    .ev_status = -EIO,
				    .ev_unlinked = true };

	(void)state;
	wait_for(M0_NET_QT_PASSIVE_BULK_RECV, PIECE);
	assert_true(attached.mda_auto_unlink);
	m0_xlnet__passive_event(&xb, &ev);
	assert_int_equal(attached_nr, 2);
	assert_int_equal(ended_nr, 0);
	ev.ev_status = 0;
	ev.ev_rlength = 100;
	ev.ev_mlength = 100;
	m0_xlnet__passive_event(&xb, &ev);
	assert_int_equal(ended_nr, 1);
	assert_int_equal(ended_status, 0);
	assert_int_equal(ended_bytes, 100);
}

/* -- confirmations --------------------------------------------------------- */

/* All pieces are there, but the initiator may not know. */
static void put_transfer_that_will_be_confirmed_waits(void **state)
{
	const uint32_t word = TOTAL | XLNET_WILL_CONFIRM;

	(void)state;
	wait_for(M0_NET_QT_PASSIVE_BULK_RECV, 4 * PIECE);
	put(1, word, 0, PIECE);
	/* Too early: it counts for nothing. */
	put(1, word, TOTAL, 0);
	put(1, word, PIECE, PIECE);
	put(1, word, 2 * PIECE, 100);
	/* A piece whose ACK was lost comes again. */
	put(1, word, 2 * PIECE, 100);
	assert_int_equal(asked_to_end_nr, 0);
	/* One of another transfer, and none at all. */
	put(1, word, TOTAL - 1, 0);
	put(1, TOTAL, TOTAL, 0);
	assert_int_equal(asked_to_end_nr, 0);
	put(1, word, TOTAL, 0);
	assert_all_of(TOTAL);
}

/* A confirmation begins no transfer. */
static void put_confirmation_of_another_transfer_is_nothing(void **state)
{
	const uint32_t word = PIECE | XLNET_WILL_CONFIRM;

	(void)state;
	wait_for(M0_NET_QT_PASSIVE_BULK_RECV, 4 * PIECE);
	put(1, word, 0, PIECE);
	put(2, word, PIECE, 0);
	assert_int_equal(asked_to_end_nr, 0);
}

/* GETs at other offsets do not count, so that none that is repeated begins a new
 * transfer; the confirmation ends the buffer. */
static void get_confirmation_ends_it(void **state)
{
	(void)state;
	wait_for(M0_NET_QT_PASSIVE_BULK_SEND, TOTAL);
	get(PIECE / 2, PIECE, 0);
	get(0, PIECE / 2, 0);
	get(PIECE / 2, PIECE, 0);
	get(PIECE / 2 + PIECE, PIECE / 2 + 100, -EIO);
	get(PIECE / 2 + PIECE, PIECE / 2 + 100, 0);
	assert_int_equal(xb.xb_pieces, 0);
	assert_int_equal(asked_to_end_nr, 0);
	/* The confirmation was lost on the way. */
	get(TOTAL, 0, -EIO);
	assert_int_equal(asked_to_end_nr, 0);
	get(TOTAL, 0, 0);
	assert_all_of(TOTAL);
}

/* With several NIs one piece does not end the MD, unless it is short. */
static void single_piece_of_a_node_with_rails_is_confirmed(void **state)
{
	(void)state;
	has_rails = true;
	wait_for(M0_NET_QT_PASSIVE_BULK_SEND, PIECE);
	assert_false(attached.mda_auto_unlink);
	get(0, PIECE / 2, 0);
	get(PIECE / 2, PIECE / 2, 0);
	assert_int_equal(asked_to_end_nr, 0);
	get(PIECE, 0, 0);
	assert_all_of(PIECE);
	wait_for(M0_NET_QT_PASSIVE_BULK_RECV, XLNET_CONFIRM_MIN - 1);
	assert_true(attached.mda_auto_unlink);
	wait_for(M0_NET_QT_PASSIVE_BULK_RECV, XLNET_CONFIRM_MIN);
	assert_false(attached.mda_auto_unlink);
	has_rails = false;
}

/* The identity of a buffer says whether its node has several NIs. */
static void identity_tells_of_rails(void **state)
{
	uint64_t id;

	(void)state;
	M0_SET0(&kb);
	machine.xm_addr.xa_tmid = 5;
	id = m0_xlnet__passive_id(&kb);
	assert_int_equal(id & XLNET_HAS_RAILS, 0);
	has_rails = true;
	id = m0_xlnet__passive_id(&kb);
	assert_int_not_equal(id & XLNET_HAS_RAILS, 0);
	assert_int_equal(id >> XLNET_TMID_SHIFT, 5);
	has_rails = false;
}

/* -- liars ----------------------------------------------------------------- */

/* A random event of a peer that lies. */
static struct m0_lnet_event some_event(struct m0_rand *rand)
{
	static const uint32_t lengths[] = { 0, 1, 100, PIECE - 1, PIECE };
	struct m0_lnet_event  ev = {
		 .ev_type = m0_rand_below(rand, 2) == 0 ? M0_LNET_EV_PUT
							: M0_LNET_EV_GET,
		 .ev_hdr_data =
			 m0_rand_below(rand, 3) << 32 |
			 m0_rand_below(rand, 5 * PIECE) |
			 (m0_rand_below(rand, 2) == 0 ? XLNET_WILL_CONFIRM : 0),
		 .ev_offset = (uint32_t)m0_rand_below(rand, 6) * PIECE,
		 .ev_mlength = lengths[m0_rand_below(rand, 5)],
		 .ev_status = m0_rand_below(rand, 9) == 0 ? -EIO : 0,
	};

	if (m0_rand_below(rand, 4) == 0)
		ev.ev_offset = (uint32_t)m0_rand_below(rand, UINT32_MAX);
	ev.ev_rlength = ev.ev_mlength;
	return ev;
}

/*
 * A descriptor made for one initiator admits that NID alone: another node that
 * sends the right match bits does not match. Without an initiator any may.
 */
static void entry_admits_its_initiator_alone(void **state)
{
	struct m0_net_kit_desc desc = {
		.nks_qtype = M0_NET_QT_PASSIVE_BULK_RECV,
		.nks_id = 7,
		.nks_active = { .nka_len = 1 },
	};

	(void)state;
	machine.xm_addr.xa_portal = 40;
	wait_for(M0_NET_QT_PASSIVE_BULK_RECV, PIECE);
	assert_true(m0_lnet_nid_is_any(&attached_me.mea_id.lp_nid));
	assert_int_equal(m0_lnet_nid_parse(&initiator.xa_nid, "10.0.0.7@tcp"),
			 0);
	assert_int_equal(m0_xlnet__passive(&kb, &desc), 0);
	assert_true(
		m0_lnet_nid_eq(&attached_me.mea_id.lp_nid, &initiator.xa_nid));
	assert_int_equal(attached_me.mea_id.lp_pid, M0_LNET_PID_ANY);
	assert_int_equal(attached_me.mea_portal, 40);
	assert_int_equal(attached_me.mea_match_bits, m0_xlnet__bits(&desc));
	assert_int_equal(attached_me.mea_ignore_bits, 0);
}

/* Under random events the buffer completes exactly once, and not before its
 * MD. */
static void random_events_end_it_once(void **state)
{
	struct m0_rand       rand;
	struct m0_lnet_event ev;
	unsigned             i, j;

	(void)state;
	m0_rand_init(&rand, 1);
	for (i = 0; i < 20000; ++i) {
		wait_for(i % 2 == 0 ? M0_NET_QT_PASSIVE_BULK_RECV
				    : M0_NET_QT_PASSIVE_BULK_SEND,
			 1 + m0_rand_below(&rand, 4 * PIECE));
		for (j = 0; j < 30; ++j) {
			ev = some_event(&rand);
			m0_xlnet__passive_event(&xb, &ev);
			assert_int_equal(ended_nr, 0);
		}
		m0_xlnet__end(&xb, -ECANCELED);
		unlinked();
		assert_int_equal(ended_nr, 1);
		assert_true(ended_bytes <= kb.nkb_size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_pieces_in_any_order_end_it),
		cmocka_unit_test(put_piece_doubled_counts_once),
		cmocka_unit_test(put_transfer_anew_forgets_the_old),
		cmocka_unit_test(put_piece_of_odd_shape_counts_nothing),
		cmocka_unit_test(put_announcing_too_much_is_nothing),
		cmocka_unit_test(get_piece_twice_begins_anew),
		cmocka_unit_test(get_piece_lost_waits_for_the_first),
		cmocka_unit_test(single_piece_lost_is_attached_again),
		cmocka_unit_test(put_transfer_that_will_be_confirmed_waits),
		cmocka_unit_test(
			put_confirmation_of_another_transfer_is_nothing),
		cmocka_unit_test(get_confirmation_ends_it),
		cmocka_unit_test(
			single_piece_of_a_node_with_rails_is_confirmed),
		cmocka_unit_test(identity_tells_of_rails),
		cmocka_unit_test(entry_admits_its_initiator_alone),
		cmocka_unit_test(random_events_end_it_once),
	};

	return cmocka_run_group_tests_name("xprt-lnet-passive", tests, NULL,
					   NULL);
}
