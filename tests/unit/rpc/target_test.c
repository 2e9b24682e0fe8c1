/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Destinations of a machine and the library's own items to them: one for each
 * place and policy, as long as somebody holds it; so many notices and no more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/mem.h"
#include "rpc/rpc_internal.h"

static struct m0_net_domain     dom;
static struct m0_rpc_machine    machine;
static struct m0_rpc__machine  *m;
static struct m0_rpc__machine  *before;
static struct m0_net_end_point *ep[2];

static int up(void **state)
{
	struct m0_rpc_cfg cfg;

	(void)state;
	m0_rpc_cfg_init(&cfg);
	cfg.rc_inline = true;
	assert_int_equal(m0_net_domain_init(&dom, &m0_net_bulk_mem_xprt), 0);
	assert_int_equal(m0_rpc_machine_init(&machine, &dom, &cfg,
					     "127.0.0.1:7100", NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	m = machine.rm_lib;
	assert_int_equal(m0_net_end_point_create(&ep[0], &machine.rm_tm,
						 "127.0.0.1:7101"),
			 0);
	assert_int_equal(m0_net_end_point_create(&ep[1], &machine.rm_tm,
						 "127.0.0.1:7102"),
			 0);
	before = m0_rpc__enter(m);
	return 0;
}

static int down(void **state)
{
	(void)state;
	m0_rpc__leave(before);
	(void)m0_net_end_point_put(ep[0]);
	(void)m0_net_end_point_put(ep[1]);
	m0_rpc_machine_fini(&machine);
	(void)m0_net_domain_fini(&dom);
	return 0;
}

/* One end point and policy have one target, also when another was asked for in
 * between; each other pair has another target. */
static void target_is_one_for_place_and_policy(void **state)
{
	struct m0_rpc__target *t[4];
	unsigned               i;

	(void)state;
	t[0] = m0_rpc__target_get(m, ep[0], &m0_rpc_frm_fifo);
	t[1] = m0_rpc__target_get(m, ep[0], &m0_rpc_frm_data);
	t[2] = m0_rpc__target_get(m, ep[1], &m0_rpc_frm_fifo);
	t[3] = m0_rpc__target_get(m, ep[0], &m0_rpc_frm_fifo);
	assert_ptr_equal(t[0], t[3]);
	assert_ptr_not_equal(t[0], t[1]);
	assert_ptr_not_equal(t[0], t[2]);
	assert_ptr_not_equal(t[1], t[2]);
	assert_int_equal(t[0]->trg_refs, 2);
	assert_ptr_equal(t[2]->trg_key.trk_ep, ep[1]);
	for (i = 0; i < ARRAY_SIZE(t); ++i)
		m0_rpc__target_put(t[i]);
	assert_null(m0_hash_first(&m->rml_sender.rsn_targets));
}

/* A kept reply waits, and the peer says that it takes less: it is not sent, and
 * is its stream's as before, which ends it once. */
static void target_shrinks_below_kept_reply(void **state)
{
	static const uint8_t                 bytes[4000];
	static const struct m0_rpc_item_type type = {
		.rit_opcode = 100,
		.rit_ops = &m0_rpc_raw_ops,
		.rit_name = "reply",
		.rit_flags = M0_RPC_ITEM_TYPE_REPLY,
	};
	struct m0_rpc__target *t =
		m0_rpc__target_get(m, ep[0], &m0_rpc_frm_fifo);
	struct m0_rpc_item  *reply;
	struct m0_rpc__item *il;

	(void)state;
	reply = &m0_rpc_raw_new(&type, bytes, sizeof bytes)->rr_item;
	il = m0_rpc__il(reply);
	il->ril_payload = sizeof bytes;
	m0_rpc__item_prepare(m, reply);
	il->ril_flags = M0_RPC__IF_KEPT;
	il->ril_target = t;
	m0_rpc__item_form(m, reply);
	assert_true(m0_rpc__frm_item_is_cached(&il->ril_frm));
	t->trg_packet_max = 1024;
	m0_rpc__target_limits(t);
	assert_false(m0_rpc__frm_item_is_cached(&il->ril_frm));
	m0_rpc__item_form(m, reply);
	assert_false(il->ril_flags & M0_RPC__IF_ENDED);
	m0_rpc__item_end(reply, 0, NULL);
	assert_int_equal(m0_rpc__ended_run(m, 9), 1);
	m0_rpc__target_put(t);
	assert_null(m0_hash_first(&m->rml_sender.rsn_targets));
}

/* The last one lets go of it, and it is not found by its shadow. */
static void target_put_last_is_forgotten(void **state)
{
	struct m0_rpc__target *t;

	(void)state;
	t = m0_rpc__target_get(m, ep[0], &m0_rpc_frm_fifo);
	m0_rpc__target_ref(t);
	m0_rpc__target_put(t);
	assert_non_null(m0_hash_first(&m->rml_sender.rsn_targets));
	m0_rpc__target_put(t);
	assert_null(m0_hash_first(&m->rml_sender.rsn_targets));
	assert_null(m->rml_sender.rsn_target_last);
	t = m0_rpc__target_get(m, ep[0], &m0_rpc_frm_fifo);
	assert_int_equal(t->trg_refs, 1);
	m0_rpc__target_put(t);
}

/* By text: the same as by its end point; what is no address leaves nothing. */
static void target_is_found_by_address(void **state)
{
	struct m0_rpc__target *t = NULL;
	struct m0_rpc__target *other;

	(void)state;
	assert_true(m0_rpc__target_find(m, &machine.rm_tm, "nowhere",
					&m0_rpc_frm_fifo, &t) < 0);
	assert_null(m0_hash_first(&m->rml_sender.rsn_targets));
	assert_int_equal(m0_rpc__target_find(m, &machine.rm_tm,
					     "127.0.0.1:7101", &m0_rpc_frm_fifo,
					     &t),
			 0);
	other = m0_rpc__target_get(m, ep[0], &m0_rpc_frm_fifo);
	assert_ptr_equal(t, other);
	assert_true(m0_rpc__targets_are_idle(m));
	m0_rpc__target_put(t);
	m0_rpc__target_put(other);
}

/* A packet that ended for a reason of its own says nothing of its link; one that
 * the network lost does, unless the connection has no other. */
static void link_is_blamed_for_the_network_alone(void **state)
{
	static const int       own[] = { 0,        -ECANCELED, -ENOBUFS,
					 -ENODATA, -EMSGSIZE,  -ENOMEM };
	struct m0_rpc__target *t =
		m0_rpc__target_get(m, ep[0], &m0_rpc_frm_fifo);
	struct m0_rpc__conn conn = { .rcx_machine = m, .rcx_links_nr = 2 };
	struct m0_rpc__link link = { .lnk_conn = &conn };
	unsigned            i;

	(void)state;
	m0_timer_init(&conn.rcx_tick.rpa_timer);
	m0_list_link_init(&link.lnk_target_link);
	m0_list_add_tail(&t->trg_links, &link.lnk_target_link);
	for (i = 0; i < ARRAY_SIZE(own); ++i) {
		m0_rpc__links_failed(t, own[i]);
		assert_false(link.lnk_failed);
		assert_false(m0_timer_is_armed(&conn.rcx_tick.rpa_timer));
	}
	conn.rcx_links_nr = 1;
	m0_rpc__links_failed(t, -ECONNRESET);
	assert_false(link.lnk_failed);
	conn.rcx_links_nr = 2;
	m0_rpc__links_failed(t, -ECONNRESET);
	assert_true(link.lnk_failed);
	assert_true(m0_timer_is_armed(&conn.rcx_tick.rpa_timer));
	m0_timerq_cancel(&m->rml_timers.rtm_pauses, &conn.rcx_tick.rpa_timer);
	m0_list_del(&link.lnk_target_link);
	m0_list_link_fini(&link.lnk_target_link);
	m0_rpc__target_put(t);
}

/* ----------------------------------------------------------------- notes -- */

static void note_is_of(enum m0_rpc_wire_op op, uint64_t flags)
{
	struct m0_rpc__note *note = m0_rpc__note_new(m, op, 0);

	assert_int_equal(note->rno_item.ri_type->rit_opcode, op);
	assert_int_equal(note->rno_item.ri_type->rit_flags, flags);
	m0_rpc_item_put(&note->rno_item);
}

/* Opcodes below 64 are the library's, each of a kind, none to be sent again
 * outside its protocol. */
static void note_types_are_of_their_opcode(void **state)
{
	static const enum m0_rpc_wire_op replies[] = {
		M0_RPC_OP_CONN_ESTABLISH_REPLY,
		M0_RPC_OP_SESSION_TERMINATE_REPLY, M0_RPC_OP_STATUS,
		M0_RPC_OP_REFUSED
	};
	unsigned i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(replies); ++i)
		note_is_of(replies[i], M0_RPC_ITEM_TYPE_REPLY);
	note_is_of(M0_RPC_OP_CONN_ESTABLISH, M0_RPC_ITEM_TYPE_REQUEST);
	note_is_of(M0_RPC_OP_SKIP, M0_RPC_ITEM_TYPE_ONEWAY);
}

/* A note's body is what was written, and it goes with its last reference. */
static void note_encodes_its_body(void **state)
{
	struct m0_rpc__note *note =
		m0_rpc__note_new(m, M0_RPC_OP_CONN_ESTABLISH, 16);
	char bytes[8] = { 0 };

	(void)state;
	assert_true(m0_rpc__is_note(&note->rno_item));
	memcpy(note->rno_body, "handshak", 8);
	note->rno_nr = 8;
	assert_int_equal(m0_rpc__note_ops.rito_payload_size(&note->rno_item),
			 8);
	assert_int_equal(m0_rpc__note_ops.rito_encode(&note->rno_item, bytes,
						      sizeof bytes),
			 0);
	assert_memory_equal(bytes, "handshak", 8);
	m0_rpc_item_get(&note->rno_item);
	m0_rpc_item_put(&note->rno_item);
	m0_rpc_item_put(&note->rno_item);
}

/* To one place so many, whatever it asks; they are counted off as they go. */
static void notices_to_a_place_are_bounded(void **state)
{
	struct m0_rpc__note   *note[M0_RPC__NOTICES_EACH_MAX];
	struct m0_rpc__target *t =
		m0_rpc__target_get(m, ep[0], &m0_rpc_frm_fifo);
	struct m0_rpc__target *other =
		m0_rpc__target_get(m, ep[1], &m0_rpc_frm_fifo);
	struct m0_rpc__note *more;
	unsigned             i;

	(void)state;
	assert_null(m0_rpc__notice_new(NULL, M0_RPC_OP_REFUSED, 0));
	for (i = 0; i < ARRAY_SIZE(note); ++i) {
		note[i] = m0_rpc__notice_new(t, M0_RPC_OP_REFUSED, 0);
		assert_non_null(note[i]);
	}
	assert_null(m0_rpc__notice_new(t, M0_RPC_OP_REFUSED, 0));
	assert_int_equal(t->trg_refs, 1 + ARRAY_SIZE(note));
	/* Another place has its own. */
	more = m0_rpc__notice_new(other, M0_RPC_OP_REFUSED, 0);
	assert_non_null(more);
	m0_rpc_item_put(&more->rno_item);
	m0_rpc_item_put(&note[0]->rno_item);
	note[0] = m0_rpc__notice_new(t, M0_RPC_OP_REFUSED, 0);
	assert_non_null(note[0]);
	for (i = 0; i < ARRAY_SIZE(note); ++i)
		m0_rpc_item_put(&note[i]->rno_item);
	assert_int_equal(m->rml_sender.rsn_notices_nr, 0);
	assert_int_equal(t->trg_notices_nr, 0);
	m0_rpc__target_put(other);
	m0_rpc__target_put(t);
}

/* A machine has so many notices, to however many destinations. */
static void notices_of_a_machine_are_bounded(void **state)
{
	struct m0_rpc__target *t =
		m0_rpc__target_get(m, ep[0], &m0_rpc_frm_fifo);

	(void)state;
	m->rml_sender.rsn_notices_nr = M0_RPC__NOTICES_MAX;
	assert_null(m0_rpc__notice_new(t, M0_RPC_OP_REFUSED, 0));
	assert_int_equal(t->trg_refs, 1);
	m->rml_sender.rsn_notices_nr = 0;
	m0_rpc__target_put(t);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
	const struct CMUnitTest cases[] = {
		CASE(target_is_one_for_place_and_policy),
		CASE(target_shrinks_below_kept_reply),
		CASE(target_put_last_is_forgotten),
		CASE(target_is_found_by_address),
		CASE(link_is_blamed_for_the_network_alone),
		CASE(note_types_are_of_their_opcode),
		CASE(note_encodes_its_body),
		CASE(notices_to_a_place_are_bounded),
		CASE(notices_of_a_machine_are_bounded),
	};
	int rc;

	if (m0_net_init() != 0)
		return 1;
	rc = cmocka_run_group_tests_name("target", cases, NULL, NULL);
	m0_net_fini();
	return rc;
}
