/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "attach_direct.h"

struct end one;
struct end two;
struct end three;

/* In a callback, which nothing may leave by a jump. */
#define CHECK(cond)                                                    \
	do {                                                           \
		if (!(cond)) {                                         \
			print_error("line %d: " #cond "\n", __LINE__); \
			abort();                                       \
		}                                                      \
	} while (0)

/* ------------------------------------------------------------------- ends -- */

static void put_check(struct end *end, struct slot *slot,
		      const struct m0_lnet_event *ev)
{
	const char *bytes = (const char *)slot->sl_buf + ev->ev_offset;
	struct msg  msg;
	m0_bcount_t i;

	CHECK(ev->ev_status == 0);
	CHECK(ev->ev_mlength >= sizeof msg);
	memcpy(&msg, bytes, sizeof msg);
	CHECK(msg.ms_sender < SENDERS_MAX);
	if (end->en_has_gaps)
		CHECK(msg.ms_seq >= end->en_seqs[msg.ms_sender]);
	else
		CHECK(msg.ms_seq == end->en_seqs[msg.ms_sender]);
	__atomic_store_n(&end->en_seqs[msg.ms_sender], msg.ms_seq + 1,
			 __ATOMIC_RELEASE);
	CHECK(ev->ev_hdr_data == msg.ms_sender);
	CHECK(ev->ev_match_bits == (uint64_t)end->en_tmid << TMID_SHIFT);
	CHECK(ev->ev_source.lp_pid == M0_LNET_PID_LUSTRE);
	for (i = sizeof msg; i < ev->ev_mlength; i += 61)
		CHECK(bytes[i] == (char)msg.ms_seq);
}

static void event(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct end  *end = container_of(eq, struct end, en_eq);
	struct slot *slot = ev->ev_md_user;

	switch (ev->ev_type) {
	case M0_LNET_EV_PUT:
		put_check(end, slot, ev);
		break;
	case M0_LNET_EV_SEND:
		__atomic_add_fetch(&end->en_sent_nr, 1, __ATOMIC_RELEASE);
		end->en_failed_nr += ev->ev_status != 0;
		CHECK(ev->ev_unlinked);
		break;
	case M0_LNET_EV_UNLINK:
		++end->en_unlinked_nr;
		break;
	default:
		CHECK(false);
	}
	if (ev->ev_unlinked) {
		CHECK(slot->sl_is_used);
		__atomic_store_n(&slot->sl_is_used, false, __ATOMIC_RELEASE);
	}
}

static void slot_init(struct end *end, struct slot *slot, unsigned nr)
{
	slot->sl_end = end;
	slot->sl_buf = end->en_mem + (size_t)nr * SLOT_BYTES;
	slot->sl_bytes = SLOT_BYTES;
	slot->sl_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&slot->sl_buf,
							    &slot->sl_bytes);
	slot->sl_is_used = false;
}

void end_open_as(struct end *end, bool is_direct, bool is_inline)
{
	static struct m0_lnet_cfg cfg;
	const size_t bytes = (size_t)(RECVS_NR + SENDS_NR) * SLOT_BYTES;
	char         why[M0_LNET_WHY_BYTES];
	unsigned     i;

	memset(end, 0, sizeof *end);
	m0_lnet_cfg_default(&cfg);
	(void)snprintf(cfg.lc_attach, sizeof cfg.lc_attach, "%s", fix.fx_path);
	cfg.lc_same_host = is_direct;
	cfg.lc_inline = is_inline;
	if (m0_lnet_open(&end->en_lnet, &cfg, why) != 0)
		fail_msg("%s", why);
	end->en_mem = m0_alloc_aligned(bytes, 12);
	assert_non_null(end->en_mem);
	assert_int_equal(m0_lnet_mem_register(end->en_lnet, end->en_mem, bytes),
			 0);
	/* On a busy machine a neighbour would be sent to the daemon by chance. */
	if (is_direct)
		end->en_lnet->fro_pump->pmp_direct->pdr_patience =
			PATIENCE_S * M0_TIME_ONE_SECOND;
	m0_lnet_eq_init(&end->en_eq, end->en_lnet, event, 0);
	for (i = 0; i < RECVS_NR; ++i)
		slot_init(end, &end->en_recvs[i], i);
	for (i = 0; i < SENDS_NR; ++i)
		slot_init(end, &end->en_sends[i], RECVS_NR + i);
}

void end_open(struct end *end, bool is_direct)
{
	end_open_as(end, is_direct, true);
}

void end_close(struct end *end)
{
	const size_t bytes = (size_t)(RECVS_NR + SENDS_NR) * SLOT_BYTES;

	m0_lnet_mem_deregister(end->en_lnet, end->en_mem, bytes);
	m0_lnet_eq_fini(&end->en_eq);
	m0_lnet_close(end->en_lnet);
	m0_free_aligned(end->en_mem, bytes, 12);
}

void queue_begin_as(struct end *end, bool is_lazy)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = FIX_PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_flags = M0_LNET_ME_QUEUE,
	};

	assert_int_equal(m0_lnet_tm_claim(end->en_lnet, FIX_PORTAL, 4096,
					  &end->en_tmid),
			 0);
	me.mea_match_bits = (uint64_t)end->en_tmid << TMID_SHIFT;
	assert_int_equal(m0_lnet_me_attach(end->en_lnet, &me, &end->en_me), 0);
	/* A message that finds no buffer at the daemon waits. */
	if (is_lazy)
		assert_int_equal(
			m0_lnet_lazy_set(end->en_lnet, FIX_PORTAL, true), 0);
}

void queue_begin(struct end *end)
{
	queue_begin_as(end, true);
}

void recv_add(struct end *end, struct slot *slot, int32_t threshold)
{
	struct m0_lnet_md_attr md = {
		.mda_vec = &slot->sl_vec,
		.mda_length = SLOT_BYTES,
		.mda_threshold = threshold,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_IF_FITS,
		.mda_auto_unlink = true,
		.mda_eq = &end->en_eq,
		.mda_user = slot,
	};

	if (threshold > 1) {
		md.mda_options |= M0_LNET_MD_MIN_ROOM;
		md.mda_max_size = SMALL_BYTES;
	}
	slot->sl_is_used = true;
	assert_int_equal(m0_lnet_md_attach(end->en_lnet, end->en_me, &md,
					   &slot->sl_md),
			 0);
}

void recvs_fill(struct end *end)
{
	unsigned i;

	for (i = 0; i < RECVS_NR; ++i)
		if (!end->en_recvs[i].sl_is_used)
			recv_add(end, &end->en_recvs[i], 1);
}

/* @return false: all buffers are in use. */
bool msg_send(struct end *from, const struct end *to, uint32_t sender,
	      m0_bcount_t bytes)
{
	struct m0_lnet_op op = {
		.lo_self = from->en_is_any ? m0_lnet_nid_any : m0_lnet_nid_lo,
		.lo_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		.lo_portal = FIX_PORTAL,
		.lo_match_bits = (uint64_t)to->en_tmid << TMID_SHIFT,
		.lo_hdr_data = sender,
	};
	struct m0_lnet_md_attr md = { .mda_length = bytes,
				      .mda_threshold = 1,
				      .mda_auto_unlink = true,
				      .mda_eq = &from->en_eq };
	struct msg             msg = { sender, from->en_seq };
	struct slot           *slot = NULL;
	unsigned               i;

	for (i = 0; i < SENDS_NR && slot == NULL; ++i)
		if (!__atomic_load_n(&from->en_sends[i].sl_is_used,
				     __ATOMIC_ACQUIRE))
			slot = &from->en_sends[i];
	if (slot == NULL)
		return false;
	memset(slot->sl_buf, (char)msg.ms_seq, bytes);
	memcpy(slot->sl_buf, &msg, sizeof msg);
	slot->sl_is_used = true;
	slot->sl_seq = msg.ms_seq;
	md.mda_vec = &slot->sl_vec;
	md.mda_user = slot;
	if (m0_lnet_bind_put(from->en_lnet, &md, &op, &slot->sl_md) != 0) {
		slot->sl_is_used = false;
		return false;
	}
	++from->en_seq;
	return true;
}

void turn(struct end *a, struct end *b)
{
	(void)m0_lnet_progress(a->en_lnet);
	if (b != NULL)
		(void)m0_lnet_progress(b->en_lnet);
}

const struct m0_pump_direct *direct_of(const struct end *end)
{
	return end->en_lnet->fro_pump->pmp_direct;
}

/* Messages go by a pipe from now on. */
void way_open(struct end *from, struct end *to, uint32_t sender)
{
	uint64_t  sent_nr = direct_of(from)->pdr_sent_nr;
	m0_time_t until = m0_time_from_now(PATIENCE_S, 0);

	while (direct_of(from)->pdr_sent_nr == sent_nr) {
		(void)msg_send(from, to, sender, SMALL_BYTES);
		turn(from, to);
		recvs_fill(to);
		if (m0_time_now() > until)
			fail_msg("no pipe: state %u, held %u",
				 (unsigned)direct_of(from)
					 ->pdr_outs[0]
					 .pou_state,
				 direct_of(to)->pdr_held_nr);
	}
}

/* All that was sent has arrived. */
void all_come(struct end *from, struct end *to, uint32_t sender)
{
	m0_time_t until = m0_time_from_now(PATIENCE_S, 0);

	while (to->en_seqs[sender] != from->en_seq ||
	       from->en_sent_nr != from->en_seq) {
		turn(from, to);
		recvs_fill(to);
		if (m0_time_now() > until)
			fail_msg("sent %u, done %u, come %u", from->en_seq,
				 from->en_sent_nr, to->en_seqs[sender]);
	}
	assert_int_equal(from->en_failed_nr, 0);
}

void queue_end(struct end *end)
{
	m0_time_t until = m0_time_from_now(PATIENCE_S, 0);
	unsigned  i;
	bool      any = true;

	(void)m0_lnet_me_unlink(end->en_lnet, end->en_me);
	(void)m0_lnet_lazy_set(end->en_lnet, FIX_PORTAL, false);
	while (any) {
		(void)m0_lnet_progress(end->en_lnet);
		any = false;
		for (i = 0; i < RECVS_NR; ++i)
			any |= end->en_recvs[i].sl_is_used;
		assert_true(m0_time_now() < until);
	}
	m0_lnet_tm_release(end->en_lnet, FIX_PORTAL, end->en_tmid);
}

void two_open(void)
{
	end_open(&one, true);
	end_open(&two, true);
	queue_begin(&two);
	recvs_fill(&two);
}

void two_close(void)
{
	queue_end(&two);
	end_close(&one);
	end_close(&two);
	fix_all_gone();
}
