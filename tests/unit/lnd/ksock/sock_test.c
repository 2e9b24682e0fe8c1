/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The instance: interfaces, listeners, steps, no memory. */
#include <stdio.h>
#include <stdlib.h>

#include "lnd/ksock/sock_internal.h"

#include "rig.h"

static struct rig    rig;
static struct rig_tx txs[4];

static int setup(void **state)
{
	(void)state;
	rig_init(&rig);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_fini(&rig);
	return 0;
}

static void send_one(unsigned i)
{
	rig_tx_init(&txs[i], NULL, 0, (uint8_t)(i + 1));
	rig_xmit(&rig, &txs[i]);
}

/* -- interfaces ------------------------------------------------------------ */

static unsigned stopped_nr;
/** Last byte of the next interface's address, if not A's. */
static uint8_t other_addr;

static void stopped(struct m0_lnd_ni *ni)
{
	(void)ni;
	++stopped_nr;
}

static int ni_start(struct m0_lnd_ni *ni, uint16_t num,
		    struct m0_lnd_up_ops *ops)
{
	static char why[M0_LND_WHY_BYTES];

	*ops = *rig.rg_ni.ldn_ops;
	ops->lu_ni_stopped = stopped;
	memset(ni, 0, sizeof *ni);
	ni->ldn_nid = rig_a;
	ni->ldn_nid.ln_num = num;
	if (other_addr != 0)
		ni->ldn_nid.ln_addr[3] = other_addr;
	ni->ldn_ops = ops;
	return rig.rg_lnd->ld_ops->ldo_ni_start(rig.rg_lnd, ni, why);
}

/* Two networks on one address share its listener, and each gets who asks for
 * it. */
static void listener_is_shared_by_address(void **state)
{
	struct m0_lnd_up_ops ops;
	struct m0_lnd_ni     second;
	struct rig_stream   *his;
	struct m0_lnet_nid   nid = rig_b;
	struct m0_sock_hello hello;
	uint8_t              buf[128];
	size_t               nr;

	(void)state;
	assert_int_equal(ni_start(&second, 1, &ops), 0);
	assert_int_equal(rig.rg_listeners_nr, 1);
	nid.ln_num = 1;
	nr = rig_put_request(buf, &second.ldn_nid);
	nr += rig_put_hello(buf + nr, M0_SOCK_V3, &nid, 1, M0_SOCK_CONTROL);
	his = rig_connect(&rig, "10.0.0.2", 1000);
	assert_int_equal(rig_feed(&rig, his, buf, nr), nr);
	hello = rig_see_hello(&rig, his);
	assert_true(m0_lnet_nid_eq(&hello.sh_src_nid, &second.ldn_nid));
	rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	/* One goes, the listener and the other's connections stay. */
	stopped_nr = 0;
	rig.rg_lnd->ld_ops->ldo_ni_stop(&second);
	rig_run(&rig);
	assert_int_equal(stopped_nr, 1);
	assert_true(his->rs_hung);
	assert_int_equal(rig.rg_listeners_nr, 1);
	assert_int_equal(rig.rg_downs_nr, 0);
	send_one(0);
	rig_run(&rig);
	assert_int_equal(txs[0].rt_status, 0);
}

/* Other addresses have listeners of their own. */
static void listener_of_other_address_is_another(void **state)
{
	struct m0_lnd_up_ops ops;
	struct m0_lnd_ni     second;

	(void)state;
	other_addr = 3;
	assert_int_equal(ni_start(&second, 0, &ops), 0);
	other_addr = 0;
	assert_int_equal(rig.rg_listeners_nr, 2);
	rig.rg_lnd->ld_ops->ldo_ni_stop(&second);
	rig_run(&rig);
	assert_int_equal(rig.rg_listeners_nr, 1);
}

/* No listener, no interface. */
static void listener_failing_fails_start(void **state)
{
	struct m0_lnd_up_ops ops;
	struct m0_lnd_ni     second;

	(void)state;
	rig.rg_listen_rc = -EACCES;
	rig_fini(&rig);
	rig_cfg(&rig);
	rig_start(&rig, &rig_a6);
	rig.rg_listen_rc = -EACCES;
	assert_int_equal(ni_start(&second, 0, &ops), -EACCES);
	assert_false(second.ldn_up);
	rig.rg_listen_rc = 0;
}

static char said[M0_LND_WHY_BYTES];

static void line_keep(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	if (level == M0_LOG_WARN)
		(void)snprintf(said, sizeof said, "%s", text);
}

static void ni_stop(struct m0_lnd_ni *ni)
{
	rig.rg_lnd->ld_ops->ldo_ni_stop(ni);
	rig_run(&rig);
}

/* A NID that the kernel's LNet has as well is told of, and used. */
static void nid_of_the_kernel_is_told_of(void **state)
{
	struct m0_lnd_up_ops ops;
	struct m0_lnd_ni     second;

	(void)state;
	m0_log_set(line_keep, NULL);
	said[0] = 0;
	assert_int_equal(ni_start(&second, 1, &ops), 0);
	assert_string_equal(said, "");
	ni_stop(&second);
	rig_kernel_has_nid = true;
	assert_int_equal(ni_start(&second, 1, &ops), 0);
	rig_kernel_has_nid = false;
	m0_log_set(NULL, NULL);
	assert_non_null(strstr(said, "the kernel has 10."));
	assert_true(second.ldn_up);
	ni_stop(&second);
}

static void stop_it(struct rig *unused, struct rig_tx *tx)
{
	(void)unused;
	if (tx == &txs[0])
		rig.rg_lnd->ld_ops->ldo_ni_stop(&rig.rg_ni);
}

/* Stopped while a step tells of a message's end. */
static void ni_stop_within_step(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	his->rs_room = 0;
	send_one(0);
	send_one(1);
	rig.rg_on_tx_done = stop_it;
	rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni, &txs[0].rt_tx);
	rig_run(&rig);
	assert_int_equal(rig.rg_stopped_nr, 1);
	assert_int_equal(txs[1].rt_done, 1);
	assert_true(his->rs_hung);
	rig.rg_stopped_nr = 0;
	rig.rg_on_tx_done = NULL;
	assert_int_equal(
		rig.rg_lnd->ld_ops->ldo_ni_start(rig.rg_lnd, &rig.rg_ni,
						 (char[M0_LND_WHY_BYTES]){ 0 }),
		0);
}

/* On IPv6 a HELLO of V3 cannot be answered: it has no room for our NID. */
static void hello_that_cannot_be_answered_closes(void **state)
{
	struct rig_stream *his;
	uint8_t            buf[128];
	size_t             nr;

	(void)state;
	rig_fini(&rig);
	rig_cfg(&rig);
	rig_start(&rig, &rig_a6);
	nr = rig_put_request(buf, &rig_a6);
	nr += rig_put_hello(buf + nr, M0_SOCK_V3, &rig_b, 1, M0_SOCK_CONTROL);
	his = rig_connect(&rig, "2001:db8::2", 1000);
	assert_true(rig_feed(&rig, his, buf, nr) < 0);
	assert_true(his->rs_hung);
	/* A peer who asks, and wants V3 next time: there is no such way. */
	rig_tx_init(&txs[0], NULL, 0, 1);
	txs[0].rt_tx.ltx_nid = rig_b6;
	rig_xmit(&rig, &txs[0]);
	his = rig_dial(&rig);
	(void)rig_dialled(&rig, his);
	nr = rig_put_hello(buf, M0_SOCK_V4, &rig_b6, 1, M0_SOCK_NONE);
	buf[4] = M0_SOCK_V4;
	assert_true(rig_feed(&rig, his, buf, nr) < 0);
	rig_pass(&rig, RIG_SECONDS(2));
	assert_non_null(rig_dial(&rig));
}

/* A refused peer that goes by itself. */
static void refused_peer_may_go(void **state)
{
	struct rig_stream   *his = rig_connect(&rig, "10.0.0.2", 1000);
	static const uint8_t head[8] = { 0x00, 0x71, 0xce, 0xac, 9 };

	(void)state;
	assert_int_equal(rig_feed(&rig, his, head, 8), 8);
	his->rs_hung = true;
	rig.rg_io.sts_up->stu_broken(his->rs_conn, 0);
	rig_pass(&rig, RIG_SECONDS(10));
}

static void calls_count(struct rig_stream *stream, unsigned reads,
			unsigned writes)
{
	stream->rs_stream.stm_counts->stc_reads_nr += reads;
	stream->rs_stream.stm_counts->stc_writes_nr += writes;
}

/* Calls of the provider of streams are counted for the interface. */
static void calls_are_counted(void **state)
{
	struct m0_lnd_ni_info info;
	struct rig_stream    *his = rig_connect(&rig, "10.0.0.2", 1000);

	(void)state;
	calls_count(his, 1, 0);
	his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	calls_count(his, 3, 4);
	rig.rg_lnd->ld_ops->ldo_ni_info(&rig.rg_ni, &info);
	assert_int_equal(info.ldi_read_calls_nr, 3);
	assert_int_equal(info.ldi_write_calls_nr, 4);
	assert_int_equal(info.ldi_accepted_nr, 1);
}

/* Messages of a peer that is dropped from above. */
static void dropped_messages_are_aborted(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	his->rs_room = 0;
	send_one(0);
	rig.rg_lnd->ld_ops->ldo_peer_drop(&rig.rg_ni, &rig_b);
	rig_run(&rig);
	assert_int_equal(txs[0].rt_status, -ECONNABORTED);
	assert_int_equal(txs[0].rt_health, M0_LND_LOCAL_ABORTED);
}

/* A call from above does not call up on its stack; it rouses the reactor, whose
 * next step does. */
static void calls_from_above_rouse(void **state)
{
	unsigned before = rig.rg_rouses_nr;

	(void)state;
	send_one(0);
	assert_true(rig.rg_rouses_nr > before);
	assert_int_equal(rig.rg_streams_nr, 0);
	assert_non_null(rig_dial(&rig));
	before = rig.rg_rouses_nr;
	rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni, &txs[0].rt_tx);
	assert_int_equal(rig.rg_rouses_nr, before + 1);
}

/* A step that has called up wants another, for what the engine then did. */
static void step_that_called_up_wants_another(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	uint8_t            buf[RIG_HEAD_V3];

	(void)state;
	rig_run(&rig);
	/* A message put off is taken. */
	(void)rig_put_message(buf, false, 0, 0);
	rig.rg_begin_rc = -EAGAIN;
	assert_int_equal(rig_feed(&rig, his, buf, sizeof buf), sizeof buf);
	assert_true(rig_step(&rig) > 0);
	rig.rg_begin_rc = 0;
	assert_int_equal(rig_step(&rig), 0);
	assert_int_equal(rig.rg_msgs_nr, 1);
	assert_true(rig_step(&rig) > 0);
	/* A peer is lost. */
	his->rs_hung = true;
	rig.rg_io.sts_up->stu_broken(his->rs_conn, 0);
	assert_int_equal(rig_step(&rig), 0);
	assert_int_equal(rig.rg_downs_nr, 1);
	assert_true(rig_step(&rig) > 0);
}

/* An idle driver wants no steps. */
static void idle_driver_sleeps(void **state)
{
	(void)state;
	rig_run(&rig);
	assert_true(rig_step(&rig) == M0_TIME_NEVER);
	rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	rig_pass(&rig, RIG_SECONDS(6));
	assert_true(rig_step(&rig) == M0_TIME_NEVER);
	rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	rig_pass(&rig, RIG_SECONDS(6));
	assert_true(rig_step(&rig) > rig.rg_now + RIG_SECONDS(20));
}

/* Structures of a peer with three connections stay small. */
static void idle_peer_is_small(void **state)
{
	(void)state;
	assert_true(sizeof(struct m0_sock__peer) +
			    3 * sizeof(struct m0_sock_conn) <
		    3072);
	assert_true(M0_SOCK__STAGE_BYTES <= 160);
}

/* -- no memory ------------------------------------------------------------- */

static unsigned allocs_left;

static void *alloc_some(size_t size, unsigned shift)
{
	if (allocs_left == 0)
		return NULL;
	--allocs_left;
	(void)shift;
	return calloc(1, size);
}

static void free_all(void *data, size_t size, unsigned shift)
{
	(void)size;
	(void)shift;
	free(data);
}

static const struct m0_alloc_ops scarce = { .ao_alloc = alloc_some,
					    .ao_free = free_all };

static void play(void)
{
	struct rig_stream *his = rig_connect(&rig, "10.0.0.2", 1000);
	uint8_t            buf[256];
	size_t             nr = rig_put_request(buf, &rig_a);
	uint64_t           cookie;

	nr += rig_put_hello(buf + nr, M0_SOCK_V3, &rig_b, 1, M0_SOCK_CONTROL);
	if (his != NULL && rig_feed(&rig, his, buf, nr) > 0) {
		for (cookie = 2; cookie < 40 && !his->rs_hung; cookie += 3) {
			nr = rig_put_message(buf, false, cookie, 0);
			if (rig_feed(&rig, his, buf, nr) < 0)
				break;
		}
	}
	rig_tx_init(&txs[0], NULL, 0, 1);
	txs[0].rt_tx.ltx_nid = rig_low;
	rig_xmit(&rig, &txs[0]);
	rig_run(&rig);
	if (txs[0].rt_done == 0)
		rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni, &txs[0].rt_tx);
	rig_run(&rig);
	assert_int_equal(txs[0].rt_done, 1);
}

/* However early memory ends, what was begun ends, and nothing is lost. */
static void memory_running_out_is_survived(void **state)
{
	const struct m0_alloc_ops *before;
	unsigned                   nr;

	(void)state;
	for (nr = 0; nr < 12; ++nr) {
		rig_fini(&rig);
		rig_cfg(&rig);
		rig_start(&rig, &rig_a);
		allocs_left = nr;
		before = m0_alloc_hook_set(&scarce);
		play();
		m0_alloc_hook_set(before);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest cases[] = {
		CASE(listener_is_shared_by_address),
		CASE(listener_of_other_address_is_another),
		CASE(listener_failing_fails_start),
		CASE(nid_of_the_kernel_is_told_of),
		CASE(ni_stop_within_step),
		CASE(hello_that_cannot_be_answered_closes),
		CASE(refused_peer_may_go),
		CASE(calls_are_counted),
		CASE(dropped_messages_are_aborted),
		CASE(calls_from_above_rouse),
		CASE(step_that_called_up_wants_another),
		CASE(idle_driver_sleeps),
		CASE(idle_peer_is_small),
		CASE(memory_running_out_is_survived),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
