/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Packets that find no receive buffer: a server with two of them, whose handler
 * does not come back for a while, and a client with a packet for each of its
 * notes. A note is sent once: what does not leave again in its packet is lost.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/sunrpc.h"
#include "rpc/rpc_internal.h"

enum {
	NOTE = 100,
	NOTES_NR = 12,
	BUFS_NR = 2,
	MSG_BYTES = 4096,
	/** Two do not fit into one receive buffer. */
	BODY_BYTES = 3000
};

static struct m0_net_domain  dom[2];
static struct m0_rpc_machine server;
static struct m0_rpc_machine client;
static struct m0_rpc_conn    conn;
static struct m0_rpc_raw     notes[NOTES_NR];
static uint8_t               body[BODY_BYTES];
static int                   came_nr;
static bool                  gate_is_open;

static void note_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	(void)machine;
	(void)item;
	while (!__atomic_load_n(&gate_is_open, __ATOMIC_ACQUIRE))
		(void)sched_yield();
	(void)__atomic_add_fetch(&came_nr, 1, __ATOMIC_ACQ_REL);
}

static struct m0_rpc_item_type_ops ops;
static struct m0_rpc_item_type     type = { .rit_opcode = NOTE,
					    .rit_ops = &ops,
					    .rit_name = "note",
					    .rit_flags = M0_RPC_ITEM_TYPE_ONEWAY };

static void machine_up(struct m0_rpc_machine *machine, int i, const char *addr)
{
	struct m0_rpc_cfg cfg;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_inline = machine == &client;
	cfg.rc_formation_off = true;
	assert_int_equal(m0_net_domain_init(&dom[i], &m0_net_bulk_sunrpc_xprt),
			 0);
	assert_int_equal(m0_rpc_machine_init(machine, &dom[i], &cfg, addr, NULL,
					     M0_BUFFER_ANY_COLOUR, MSG_BYTES,
					     BUFS_NR),
			 0);
}

static int came(void)
{
	return __atomic_load_n(&came_nr, __ATOMIC_ACQUIRE);
}

static void gate_set(bool open)
{
	__atomic_store_n(&gate_is_open, open, __ATOMIC_RELEASE);
}

static int up(void **state)
{
	(void)state;
	came_nr = 0;
	gate_set(false);
	ops = m0_rpc_raw_ops;
	ops.rito_deliver = note_deliver;
	assert_int_equal(m0_rpc_item_type_register(&type), 0);
	machine_up(&server, 0, "127.0.0.1:0:1");
	machine_up(&client, 1, "127.0.0.1:0:2");
	assert_int_equal(m0_rpc_conn_init(&conn, M0_UINT128(0, 0),
					  m0_rpc_machine_addr(&server), &client,
					  NOTES_NR),
			 0);
	assert_int_equal(m0_rpc_conn_establish(&conn, M0_TIME_NEVER), 0);
	assert_int_equal(m0_rpc_conn_timedwait(&conn, 1 << M0_RPC_CONN_ACTIVE,
					       M0_TIME_NEVER),
			 0);
	return 0;
}

static int down(void **state)
{
	(void)state;
	gate_set(true);
	(void)m0_rpc_conn_destroy(&conn, M0_TIME_NEVER);
	m0_rpc_machine_fini(&client);
	m0_rpc_machine_fini(&server);
	(void)m0_net_domain_fini(&dom[1]);
	(void)m0_net_domain_fini(&dom[0]);
	m0_rpc_item_type_deregister(&type);
	return 0;
}

static void notes_post(void)
{
	int i;

	for (i = 0; i < NOTES_NR; ++i) {
		m0_rpc_raw_init(&notes[i], &type, body, sizeof body, NULL);
		assert_int_equal(
			m0_rpc_oneway_item_post(&conn, &notes[i].rr_item), 0);
	}
}

/* How many have ended so; each was told once or has not ended. */
static int notes_nr(enum m0_rpc_item_state state)
{
	int nr = 0;
	int i;

	for (i = 0; i < NOTES_NR; ++i)
		nr += m0_rpc_item_timedwait(&notes[i].rr_item, 1U << state,
					    M0_TIME_IMMEDIATELY) == 0;
	return nr;
}

static void notes_put(void)
{
	int i;

	for (i = 0; i < NOTES_NR; ++i)
		m0_rpc_item_put(&notes[i].rr_item);
}

/* Packets that are to leave again. */
static int refused_nr(void)
{
	const struct m0_rpc__packet *p;
	int                          nr = 0;

	m0_list_for_each_entry(&client.rm_lib->rml_sender.rsn_packets_busy, p,
			       struct m0_rpc__packet, rpk_link)
		nr += m0_timer_is_armed(&p->rpk_pause.rpa_timer);
	return nr;
}

static struct m0_rpc__packet *refused_first(void)
{
	struct m0_rpc__packet *p;

	m0_list_for_each_entry(&client.rm_lib->rml_sender.rsn_packets_busy, p,
			       struct m0_rpc__packet, rpk_link)
		if (m0_timer_is_armed(&p->rpk_pause.rpa_timer))
			return p;
	return NULL;
}

/* However slow this is, none has waited long enough to be given up. */
static void progress_patiently(void)
{
	struct m0_rpc__packet *p;

	m0_list_for_each_entry(&client.rm_lib->rml_sender.rsn_packets_busy, p,
			       struct m0_rpc__packet, rpk_link)
		p->rpk_pause.rpa_ns = M0_TIME_ONE_MSEC;
	m0_rpc_machine_progress(&client);
}

/* Posted, and each has left or was refused. */
static void notes_stand(void)
{
	notes_post();
	while (notes_nr(M0_RPC_ITEM_SENT) + notes_nr(M0_RPC_ITEM_FAILED) +
		       refused_nr() <
	       NOTES_NR)
		progress_patiently();
	assert_true(refused_nr() > 0);
	assert_int_equal(notes_nr(M0_RPC_ITEM_FAILED), 0);
}

static void notes_end(void)
{
	while (notes_nr(M0_RPC_ITEM_SENT) + notes_nr(M0_RPC_ITEM_FAILED) <
	       NOTES_NR)
		m0_rpc_machine_progress(&client);
}

static void all_leave_when_there_is_room(void **state)
{
	(void)state;
	notes_stand();
	gate_set(true);
	while (notes_nr(M0_RPC_ITEM_SENT) < NOTES_NR) {
		assert_int_equal(notes_nr(M0_RPC_ITEM_FAILED), 0);
		progress_patiently();
	}
	while (came() < NOTES_NR)
		(void)sched_yield();
	notes_put();
}

static void a_server_that_stays_away_ends_them(void **state)
{
	int sent;
	int i;

	(void)state;
	notes_stand();
	sent = notes_nr(M0_RPC_ITEM_SENT);
	notes_end();
	assert_int_equal(notes_nr(M0_RPC_ITEM_SENT), sent);
	for (i = 0; i < NOTES_NR; ++i)
		if (notes[i].rr_item.ri_error != 0)
			assert_int_equal(notes[i].rr_item.ri_error, -ENOBUFS);
	notes_put();
}

static uint64_t leave_nr(void)
{
	struct m0_net_qstats qs;

	(void)m0_net_tm_stats_get(&client.rm_tm, M0_NET_QT_MSG_SEND, &qs,
				  false);
	return qs.nqs_num_adds;
}

static struct m0_net_buffer_event kept;

static void keep(const struct m0_net_buffer_event *ev)
{
	kept = *ev;
}

static const struct m0_net_buffer_callbacks keep_callbacks = {
	.nbc_cb[M0_NET_QT_MSG_SEND] = keep
};

/* As of a link that is dead, when the machine has yet to be told that one of its
 * packets was refused. */
static void what_was_cancelled_does_not_leave_again(void **state)
{
	const struct m0_net_buffer_callbacks *callbacks;
	struct m0_rpc__packet                *p;
	uint64_t                              leave;
	int                                   sent;

	(void)state;
	M0_SET0(&kept);
	notes_stand();
	sent = notes_nr(M0_RPC_ITEM_SENT);
	/* The one that was refused may leave again just now. */
	while ((p = refused_first()) == NULL)
		progress_patiently();
	callbacks = p->rpk_nb.nb_callbacks;
	p->rpk_nb.nb_callbacks = &keep_callbacks;
	while (kept.nbe_buffer == NULL)
		progress_patiently();
	assert_int_equal(kept.nbe_status, -ENOBUFS);
	m0_rpc__packets_cancel(p->rpk_target);
	leave = leave_nr();
	p->rpk_nb.nb_callbacks = callbacks;
	callbacks->nbc_cb[M0_NET_QT_MSG_SEND](&kept);
	notes_end();
	assert_int_equal(leave_nr(), leave);
	assert_int_equal(notes_nr(M0_RPC_ITEM_FAILED), NOTES_NR - sent);
	notes_put();
}

static void a_stop_ends_them(void **state)
{
	int sent;

	(void)state;
	notes_stand();
	sent = notes_nr(M0_RPC_ITEM_SENT);
	m0_rpc_machine_stop(&client, true);
	assert_int_equal(notes_nr(M0_RPC_ITEM_FAILED), NOTES_NR - sent);
	notes_put();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_leave_when_there_is_room,
						up, down),
		cmocka_unit_test_setup_teardown(
			a_server_that_stays_away_ends_them, up, down),
		cmocka_unit_test_setup_teardown(
			what_was_cancelled_does_not_leave_again, up, down),
		cmocka_unit_test_setup_teardown(a_stop_ends_them, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
