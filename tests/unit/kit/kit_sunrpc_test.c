/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An active operation over ONC RPC that is cancelled at a moment of the test's
 * choosing: its server is silent, and memory is asked for in between.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit_rig.h"
#include "m0/sunrpc.h"

static int server;
/* Atomic: memory is asked for by other threads, too. */
static bool dels;

/* No lock is held where a call is made. */
static bool del(void)
{
	if (m0_mutex_held_nr() == 0 &&
	    __atomic_exchange_n(&dels, false, __ATOMIC_RELAXED)) {
		assert_true(m0_net_buffer_del(&rig.r_buf, &rig.r_tm));
	}
	return true;
}

/* --------------------------------------------------------------- a machine -- */

/* Takes connections in, and says nothing. */
static void server_open(struct sockaddr_in *ret)
{
	socklen_t nr = sizeof *ret;

	*ret = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	server = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(server >= 0);
	assert_int_equal(bind(server, (struct sockaddr *)ret, nr), 0);
	assert_int_equal(listen(server, 8), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)ret, &nr), 0);
}

static int up(void **state)
{
	(void)state;
	rig_up(&m0_net_bulk_sunrpc_xprt, "127.0.0.1:0:1");
	return 0;
}

static int down(void **state)
{
	rig_down(state);
	(void)close(server);
	return 0;
}

/* An active receive from there. */
static void begin(const struct sockaddr_in *to)
{
	struct m0_net_kit_desc desc = { .nks_qtype =
						M0_NET_QT_PASSIVE_BULK_SEND,
					.nks_id = 1,
					.nks_size = RIG_BYTES };

	/* Host, port and id, the most significant byte first. */
	desc.nks_passive.nka_len = 12;
	memcpy(desc.nks_passive.nka_bytes, &to->sin_addr, 4);
	memcpy(desc.nks_passive.nka_bytes + 6, &to->sin_port, 2);
	desc.nks_passive.nka_bytes[11] = 1;
	assert_int_equal(m0_net_kit_desc_encode(&desc, &rig.r_buf.nb_desc), 0);
	rig_add(M0_NET_QT_ACTIVE_BULK_RECV);
}

static void events_wait(unsigned nr)
{
	m0_time_t end = m0_time_from_now(30, 0);

	while (rig.r_events_nr < nr && m0_time_now() < end)
		rig_deliver();
	assert_int_equal(rig.r_events_nr, nr);
	assert_int_equal(rig.r_last_status, -ECANCELED);
	assert_false(m0_net_buffer_event_pending(&rig.r_tm));
	m0_net_desc_free(&rig.r_buf.nb_desc);
}

/* ------------------------------------------------------------------- cases -- */

/*
 * A call that ended while a thread had it claimed does not count as waiting for
 * an answer when the buffer is used again.
 */
static void cancelled_at_each_begin_ends_once(void **state)
{
	struct m0_net_kit_buf *kb = m0_net_kit_buf_of(&rig.r_buf);
	struct sockaddr_in     to;
	m0_time_t              end = m0_time_from_now(30, 0);

	(void)state;
	server_open(&to);
	begin(&to);
	rig_deliver();
	/* As the transport's thread does while bytes come, and now it may just do so. */
	while (!m0_net_kit_claim(kb))
		assert_true(m0_time_now() < end);
	assert_true(m0_net_buffer_del(&rig.r_buf, &rig.r_tm));
	m0_net_kit_unclaim(kb);
	events_wait(1);

	begin(&to);
	__atomic_store_n(&dels, true, __ATOMIC_RELAXED);
	rig_deliver();
	assert_false(__atomic_load_n(&dels, __ATOMIC_RELAXED));
	events_wait(2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			cancelled_at_each_begin_ends_once, up, down),
	};

	rig_memory_hook(del);
	return cmocka_run_group_tests_name("net/kit_sunrpc", tests, NULL, NULL);
}
