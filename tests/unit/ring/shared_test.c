/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The queues of a shared area: order, room, wrap, sleep, reserved events, lies.
 * [r.M0.net.xprt.lnet.efficient-user-to-kernel-comm] */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/ring/shared_rig.h"

enum {
	THREAD_NR = 100000,
	COUNTED_NR = 16,
	/** Instructions that an entry may cost, both sides together. */
	INSTRUCTIONS_MAX = 650
};

static struct rig rig;

static int setup(void **state)
{
	(void)state;
	rig_init(&rig);
	return 0;
}

/* ----------------------------------------------------------------- queues -- */

static void put(struct m0_shared_side *side, uint32_t nr)
{
	struct m0_shared_tag *tag;

	assert_int_equal(m0_shared_reserve(side, 1, NULL), 0);
	tag = m0_shared_slot(side, 0);
	tag->stg_nr = nr;
	m0_shared_commit(side, 1);
}

static void take(struct m0_shared_side *side, uint32_t nr)
{
	struct m0_shared_up entry;

	assert_true(m0_shared_ready(side, NULL) > 0);
	m0_shared_peek(side, 0, &entry);
	assert_int_equal(entry.sup_tag.stg_nr, nr);
	m0_shared_release(side, 1, 0);
}

static void entries_keep_their_order(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 3 * 128; ++i) {
		assert_int_equal(m0_shared_ready(&rig.rig_server, NULL), 0);
		put(&rig.rig_client, i);
		put(&rig.rig_server, i + 7);
		take(&rig.rig_server, i);
		take(&rig.rig_client, i + 7);
	}
}

static void fill(struct m0_shared_side *side)
{
	uint32_t i;

	for (i = 0; i < 128; ++i)
		put(side, i);
	assert_int_equal(m0_shared_reserve(side, 1, NULL), -EAGAIN);
}

static void full_queue_takes_no_entry(void **state)
{
	uint32_t i;

	(void)state;
	fill(&rig.rig_client);
	assert_int_equal(m0_shared_ready(&rig.rig_server, NULL), 128);
	take(&rig.rig_server, 0);
	assert_int_equal(m0_shared_reserve(&rig.rig_client, 2, NULL), -EAGAIN);
	put(&rig.rig_client, 128);
	for (i = 1; i <= 128; ++i)
		take(&rig.rig_server, i);
	assert_int_equal(m0_shared_ready(&rig.rig_server, NULL), 0);
}

static void set(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* Starts the queue downwards shortly before its numbers wrap. */
static void near_wrap(void)
{
	uint32_t start = UINT32_MAX - 5;

	rig.rig_client.shs_out.sot_put_nr = start;
	rig.rig_client.shs_out.sot_taken_nr = start;
	rig.rig_server.shs_in.shi_put_nr = start;
	rig.rig_server.shs_in.shi_taken_nr = start;
	set(rig.rig_client.shs_out.sot_put, start);
	set(rig.rig_client.shs_out.sot_taken, start);
}

static void numbers_wrap(void **state)
{
	uint32_t i;

	(void)state;
	near_wrap();
	fill(&rig.rig_client);
	for (i = 0; i < 128; ++i)
		take(&rig.rig_server, i);
	for (i = 0; i < 1000; ++i) {
		put(&rig.rig_client, i);
		take(&rig.rig_server, i);
	}
}

/* A group is seen whole or not at all, also across the end of the queue. */
static void group_is_committed_at_once(void **state)
{
	struct m0_shared_up entry;
	uint32_t            i;

	(void)state;
	for (i = 0; i < 126; ++i) {
		put(&rig.rig_client, i);
		take(&rig.rig_server, i);
	}
	assert_int_equal(m0_shared_reserve(&rig.rig_client, 5, NULL), 0);
	for (i = 0; i < 5; ++i)
		((struct m0_shared_tag *)m0_shared_slot(&rig.rig_client, i))
			->stg_nr = 100 + i;
	assert_int_equal(m0_shared_ready(&rig.rig_server, NULL), 0);
	m0_shared_commit(&rig.rig_client, 5);
	assert_int_equal(m0_shared_ready(&rig.rig_server, NULL), 5);
	for (i = 0; i < 5; ++i) {
		m0_shared_peek(&rig.rig_server, i, &entry);
		assert_int_equal(entry.sup_tag.stg_nr, 100 + i);
	}
	m0_shared_release(&rig.rig_server, 5, 0);
}

/* ------------------------------------------------------------------- lies -- */

static void assert_why(const struct m0_shared_why *why, const char *text)
{
	char buf[256];

	assert_string_equal(m0_shared_why_print(why, buf, sizeof buf), text);
}

/* Each index of the other side is checked, also where it wraps. */
static void index_out_of_range_is_an_error(void **state)
{
	struct m0_shared_why why = { 0 };

	(void)state;
	set(rig.rig_server.shs_in.shi_put, 129);
	assert_int_equal(m0_shared_ready(&rig.rig_server, &why), -EPROTO);
	assert_why(&why, "put 129: 0 to 128 is accepted");
	assert_true(m0_shared_sleep_begin(&rig.rig_server, M0_SHARED_ENTRIES) ==
		    false);
	rig_init(&rig);
	near_wrap();
	set(rig.rig_server.shs_in.shi_put, UINT32_MAX - 6);
	assert_int_equal(m0_shared_ready(&rig.rig_server, NULL), -EPROTO);
	set(rig.rig_server.shs_in.shi_put, 123);
	assert_int_equal(m0_shared_ready(&rig.rig_server, NULL), -EPROTO);
	set(rig.rig_server.shs_in.shi_put, 122);
	assert_int_equal(m0_shared_ready(&rig.rig_server, NULL), 128);
}

static void taken_index_moves_towards_what_was_put(void **state)
{
	struct m0_shared_why why = { 0 };

	(void)state;
	fill(&rig.rig_client);
	/* Beyond what was put. */
	set(rig.rig_client.shs_out.sot_taken, 129);
	assert_int_equal(m0_shared_reserve(&rig.rig_client, 1, &why), -EPROTO);
	assert_why(&why, "taken 129: 0 to 128 is accepted");
	set(rig.rig_client.shs_out.sot_taken, 100);
	assert_int_equal(m0_shared_reserve(&rig.rig_client, 100, &why), 0);
	/* Backwards. */
	set(rig.rig_client.shs_out.sot_taken, 99);
	assert_int_equal(m0_shared_reserve(&rig.rig_client, 101, &why),
			 -EPROTO);
}

/* Later writes of the other side do not change the copy. */
static void entry_is_copied_once(void **state)
{
	struct m0_shared_up   entry;
	struct m0_shared_tag *tag;

	(void)state;
	assert_int_equal(m0_shared_reserve(&rig.rig_client, 1, NULL), 0);
	tag = m0_shared_slot(&rig.rig_client, 0);
	tag->stg_nr = 1;
	m0_shared_commit(&rig.rig_client, 1);
	assert_int_equal(m0_shared_ready(&rig.rig_server, NULL), 1);
	m0_shared_peek(&rig.rig_server, 0, &entry);
	tag->stg_nr = 2;
	assert_int_equal(entry.sup_tag.stg_nr, 1);
}

/* ------------------------------------------------------------------- area -- */

static int join(struct m0_shared_why *why)
{
	return m0_shared_join(&rig.rig_client, rig.rig_area, AREA_BYTES,
			      &rig_host_ops, NULL, why);
}

static void area_is_checked(void **state)
{
	struct m0_shared_head *head = (struct m0_shared_head *)rig.rig_area;
	struct m0_shared_why   why;
	uint32_t              *words = (uint32_t *)rig.rig_area;
	uint64_t               bytes = head->shd_bytes;
	size_t                 i;

	(void)state;
	assert_int_equal(join(&why), 0);
	/* Any change of any number is noticed, but for the bounds of objects that
	 * lie outside of the area. */
	for (i = 0; i < sizeof *head / sizeof *words; ++i) {
		const uint32_t *word = &words[i];

		if ((const char *)word >=
			    (const char *)&head->shd_cfg.shc_reserved_nr &&
		    (const char *)word <=
			    (const char *)&head->shd_cfg.shc_regions_max)
			continue;
		words[i] ^= 1U << 6;
		assert_int_equal(join(&why), -EPROTO);
		assert_non_null(why.shy_field);
		words[i] ^= 1U << 6;
	}
	assert_int_equal(m0_shared_join(&rig.rig_client, rig.rig_area,
					bytes - 1, &rig_host_ops, NULL, &why),
			 -EPROTO);
	assert_int_equal(m0_shared_join(&rig.rig_client, rig.rig_area, 100,
					&rig_host_ops, NULL, &why),
			 -EPROTO);
	head->shd_version = 9;
	assert_int_equal(join(&why), -EPROTO);
	assert_why(&why, "version 9: 3 to 3 is accepted");
}

static void configuration_is_checked(void **state)
{
	struct m0_shared_cfg cfg = rig_cfg();
	struct m0_shared_why why;

	(void)state;
	cfg.shc_down_nr = 100;
	assert_int_equal(m0_shared_cfg_check(&cfg, &why), -EINVAL);
	assert_why(&why, "down_nr 100: 128 to 65536 is accepted");
	cfg.shc_down_nr = 129;
	assert_int_equal(m0_shared_cfg_check(&cfg, &why), -EINVAL);
	assert_why(&why, "down_nr 129: a power of two is accepted");
	cfg = rig_cfg();
	cfg.shc_incoming_nr = 33;
	assert_int_equal(m0_shared_cfg_check(&cfg, &why), -EINVAL);
	assert_why(&why,
		   "reserved_nr 96: with incoming_nr it is at most up_nr");
	cfg = rig_cfg();
	assert_int_equal(m0_shared_make(&rig.rig_server, rig.rig_area,
					m0_shared_bytes(&cfg) - 1, &cfg,
					&rig_host_ops, NULL, &why),
			 -EINVAL);
}

/* ------------------------------------------------------------------ sleep -- */

/* No call is made while the other side is awake. */
static void awake_side_is_not_woken(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000; ++i) {
		put(&rig.rig_client, i);
		m0_shared_bell(&rig.rig_client);
		take(&rig.rig_server, i);
		m0_shared_bell(&rig.rig_server);
	}
	assert_int_equal(rig.rig_client_host.rgh_wakes_nr, 0);
	assert_int_equal(rig.rig_server_host.rgh_wakes_nr, 0);
}

/* A side that sleeps is woken once, however many entries come. */
static void sleeper_is_woken_once(void **state)
{
	uint32_t i;

	(void)state;
	assert_true(m0_shared_sleep_begin(&rig.rig_server, M0_SHARED_ENTRIES));
	for (i = 0; i < 100; ++i) {
		put(&rig.rig_client, i);
		m0_shared_bell(&rig.rig_client);
	}
	assert_int_equal(rig.rig_client_host.rgh_wakes_nr, 1);
	m0_shared_sleep_end(&rig.rig_server);
	put(&rig.rig_client, i);
	m0_shared_bell(&rig.rig_client);
	assert_int_equal(rig.rig_client_host.rgh_wakes_nr, 1);
	assert_false(m0_shared_sleep_begin(&rig.rig_server, M0_SHARED_ENTRIES));
	assert_int_equal(rig.rig_client.shs_wakes_nr, 1);
}

static void sleeper_for_room_is_woken_by_room(void **state)
{
	(void)state;
	fill(&rig.rig_client);
	assert_true(m0_shared_sleep_begin(&rig.rig_client, M0_SHARED_ROOM));
	/* An entry for it is not what it waits for. */
	put(&rig.rig_server, 1);
	m0_shared_bell(&rig.rig_server);
	assert_int_equal(rig.rig_server_host.rgh_wakes_nr, 0);
	take(&rig.rig_server, 0);
	m0_shared_bell(&rig.rig_server);
	assert_int_equal(rig.rig_server_host.rgh_wakes_nr, 1);
	assert_false(m0_shared_sleep_begin(&rig.rig_client, M0_SHARED_ROOM));
	/* There is room for 1 entry, and the client waits for 2. */
	assert_int_equal(m0_shared_reserve(&rig.rig_client, 2, NULL), -EAGAIN);
	assert_true(m0_shared_sleep_begin(&rig.rig_client, M0_SHARED_ROOM));
	m0_shared_sleep_end(&rig.rig_client);
}

/* A side rings the bell for its commits before it sleeps. */
static void bell_rings_before_sleep(void **state)
{
	(void)state;
	assert_true(m0_shared_sleep_begin(&rig.rig_server, M0_SHARED_ENTRIES));
	put(&rig.rig_client, 1);
	assert_int_equal(rig.rig_client_host.rgh_wakes_nr, 0);
	assert_true(m0_shared_sleep_begin(&rig.rig_client, M0_SHARED_ENTRIES));
	assert_int_equal(rig.rig_client_host.rgh_wakes_nr, 1);
}

static void put_late(void)
{
	put(&rig.rig_server, 4);
}

/* An entry that comes with the time-out is reported, not the time-out. */
static void entry_beats_the_time_out(void **state)
{
	(void)state;
	rig.rig_client_host.rgh_in_wait = put_late;
	assert_int_equal(m0_shared_sleep(&rig.rig_client, M0_SHARED_ENTRIES, 0),
			 0);
	take(&rig.rig_client, 4);
}

static void put_and_die(void)
{
	put(&rig.rig_server, 5);
	rig.rig_client_host.rgh_is_dead = true;
}

/* The last entries of a dead side are taken before its death is reported. */
static void last_entries_of_the_dead_are_taken(void **state)
{
	(void)state;
	assert_int_equal(m0_shared_sleep(&rig.rig_client, M0_SHARED_ENTRIES, 0),
			 -ETIMEDOUT);
	rig.rig_client_host.rgh_in_wait = put_and_die;
	assert_int_equal(m0_shared_sleep(&rig.rig_client, M0_SHARED_ENTRIES, 0),
			 0);
	take(&rig.rig_client, 5);
	assert_int_equal(m0_shared_sleep(&rig.rig_client, M0_SHARED_ENTRIES, 0),
			 -EPIPE);
	/* The client does not wait for a side that is known to be dead. */
	assert_int_equal(rig.rig_client_host.rgh_waits_nr, 2);
}

/* -------------------------------------------------------- reserved events -- */

static void owed(void)
{
	assert_int_equal(m0_shared_owed(&rig.rig_server, NULL), 0);
	m0_shared_commit(&rig.rig_server, 1);
}

/* Events of operations have room, however many messages come in. */
static void reserved_events_have_room(void **state)
{
	uint32_t i;

	(void)state;
	assert_true(m0_shared_claim(&rig.rig_client, 96));
	assert_false(m0_shared_claim(&rig.rig_client, 1));
	assert_int_equal(m0_shared_owe(&rig.rig_server, 96, NULL), 0);
	for (i = 0; m0_shared_incoming(&rig.rig_server, NULL) == 0; ++i)
		m0_shared_incoming_commit(&rig.rig_server);
	assert_int_equal(i, 32);
	assert_int_equal(m0_shared_incoming(&rig.rig_server, NULL), -EAGAIN);
	for (i = 0; i < 96; ++i)
		owed();
	assert_int_equal(m0_shared_ready(&rig.rig_client, NULL), 128);
	m0_shared_release(&rig.rig_client, 32, 32);
	assert_int_equal(m0_shared_incoming(&rig.rig_server, NULL), 0);
	/* The client has not had the events of its operations yet. */
	assert_int_equal(m0_shared_owe(&rig.rig_server, 1, NULL), -EPROTO);
	m0_shared_release(&rig.rig_client, 96, 0);
	m0_shared_unclaim(&rig.rig_client, 96);
	assert_true(m0_shared_claim(&rig.rig_client, 96));
	assert_int_equal(m0_shared_owe(&rig.rig_server, 96, NULL), 0);
	m0_shared_forgive(&rig.rig_server, 96);
	assert_int_equal(rig.rig_server.shs_reserved_nr, 0);
}

/* A client that claims more than it may is found out, and harms itself alone. */
static void lies_about_events_are_found(void **state)
{
	struct m0_shared_why why = { 0 };
	uint32_t             i;

	(void)state;
	assert_int_equal(m0_shared_owe(&rig.rig_server, 97, &why), -EPROTO);
	assert_why(&why, "reserved 97: 0 to 96 is accepted");
	assert_int_equal(m0_shared_owe(&rig.rig_server, UINT32_MAX, &why),
			 -EPROTO);
	assert_int_equal(m0_shared_owe(&rig.rig_server, 96, &why), 0);
	/* The client says that it took more messages than there were. */
	set(&rig.rig_server.shs_words->shw_up_taken.shl_incoming, 1);
	assert_int_equal(m0_shared_incoming(&rig.rig_server, &why), -EPROTO);
	set(&rig.rig_server.shs_words->shw_up_taken.shl_incoming, 0);
	/* The client says that it took them, and leaves them in the queue. */
	for (i = 0; i < 128; ++i) {
		assert_int_equal(m0_shared_incoming(&rig.rig_server, &why), 0);
		m0_shared_incoming_commit(&rig.rig_server);
		set(&rig.rig_server.shs_words->shw_up_taken.shl_incoming,
		    i + 1);
	}
	assert_int_equal(m0_shared_incoming(&rig.rig_server, &why), -EAGAIN);
	assert_int_equal(m0_shared_owed(&rig.rig_server, &why), -EPROTO);
}

/* ---------------------------------------------------------------- regions -- */

static void regions_are_bounded(void **state)
{
	struct m0_shared_regions regions;

	(void)state;
	assert_int_equal(m0_shared_regions_init(&regions, 8, 100), 0);
	assert_int_equal(m0_shared_region_add(&regions, &rig.rig_server, 0, 1,
					      10),
			 -EINVAL);
	assert_int_equal(m0_shared_region_add(&regions, &rig.rig_server, 9, 1,
					      10),
			 -EINVAL);
	assert_int_equal(
		m0_shared_region_add(&regions, &rig.rig_server, 8, 1, 64), 0);
	assert_int_equal(m0_shared_region_add(&regions, &rig.rig_server, 8, 2,
					      10),
			 -EEXIST);
	assert_int_equal(m0_shared_region_add(&regions, &rig.rig_server, 1, 1,
					      37),
			 -EDQUOT);
	assert_non_null(m0_shared_region_at(&regions, 8, 0, 64));
	assert_non_null(m0_shared_region_at(&regions, 8, 64, 0));
	assert_null(m0_shared_region_at(&regions, 8, 1, 64));
	assert_null(m0_shared_region_at(&regions, 8, 65, 0));
	assert_null(m0_shared_region_at(&regions, 8, 32, UINT64_MAX - 16));
	assert_null(m0_shared_region_at(&regions, 7, 0, 1));
	assert_null(m0_shared_region_at(&regions, 0, 0, 1));
	assert_int_equal(m0_shared_region_del(&regions, &rig.rig_server, 8, 2),
			 -ENOENT);
	assert_int_equal(m0_shared_region_del(&regions, &rig.rig_server, 8, 1),
			 0);
	assert_null(m0_shared_region_at(&regions, 8, 0, 1));
	assert_int_equal(
		m0_shared_region_add(&regions, &rig.rig_server, 3, 1, 64), 0);
	m0_shared_regions_fini(&regions, &rig.rig_server);
	assert_int_equal(regions.srs_bytes, 0);
}

/* ---------------------------------------------------------------- threads -- */

static sem_t client_sem;
static sem_t server_sem;

/* Each host wakes the other side's semaphore, and waits at its own. */
static void sem_wake(void *arg)
{
	M0_ASSERT(sem_post(arg == &client_sem ? &server_sem : &client_sem) ==
		  0);
}

static int sem_wait_for(void *arg, m0_time_t deadline)
{
	(void)deadline;
	while (sem_wait(arg) != 0)
		;
	return 0;
}

static bool sem_is_dead(void *arg)
{
	(void)arg;
	return false;
}

static const struct m0_shared_host sem_host = {
	.shh_wake = sem_wake,
	.shh_wait = sem_wait_for,
	.shh_is_dead = sem_is_dead,
};

/* Answers each entry with one of the same number. */
static void *serve(void *arg)
{
	struct m0_shared_side *side = &rig.rig_server;
	struct m0_shared_down  entry;
	struct m0_shared_tag  *tag;
	uint32_t               next = 0;

	(void)arg;
	while (next < THREAD_NR) {
		if (m0_shared_ready(side, NULL) == 0) {
			M0_ASSERT(m0_shared_sleep(side, M0_SHARED_ENTRIES,
						  M0_TIME_NEVER) == 0);
			continue;
		}
		if (m0_shared_reserve(side, 1, NULL) != 0) {
			M0_ASSERT(m0_shared_sleep(side, M0_SHARED_ROOM,
						  M0_TIME_NEVER) == 0);
			continue;
		}
		m0_shared_peek(side, 0, &entry);
		M0_ASSERT(entry.sdn_tag.stg_nr == next++);
		tag = m0_shared_slot(side, 0);
		tag->stg_nr = entry.sdn_tag.stg_nr;
		m0_shared_commit(side, 1);
		m0_shared_release(side, 1, 0);
		m0_shared_bell(side);
	}
	return NULL;
}

/* Two threads, each of which sleeps whenever it has nothing to do: all entries
 * arrive, so no wake-up is lost, and there are few. */
static void no_wake_up_is_lost(void **state)
{
	struct m0_shared_side *side = &rig.rig_client;
	struct m0_shared_up    entry;
	pthread_t              thread;
	uint32_t               put_nr = 0;
	uint32_t               taken_nr = 0;
	uint32_t               bits;

	(void)state;
	assert_int_equal(sem_init(&client_sem, 0, 0), 0);
	assert_int_equal(sem_init(&server_sem, 0, 0), 0);
	side->shs_host = &sem_host;
	side->shs_host_arg = &client_sem;
	rig.rig_server.shs_host = &sem_host;
	rig.rig_server.shs_host_arg = &server_sem;
	assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
	while (taken_nr < THREAD_NR) {
		while (m0_shared_ready(side, NULL) > 0) {
			m0_shared_peek(side, 0, &entry);
			assert_int_equal(entry.sup_tag.stg_nr, taken_nr);
			++taken_nr;
			m0_shared_release(side, 1, 0);
		}
		while (put_nr < THREAD_NR &&
		       m0_shared_reserve(side, 1, NULL) == 0)
			put(side, put_nr++);
		bits = M0_SHARED_ENTRIES |
		       (put_nr < THREAD_NR ? M0_SHARED_ROOM : 0);
		if (taken_nr < THREAD_NR)
			assert_int_equal(
				m0_shared_sleep(side, bits, M0_TIME_NEVER), 0);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	print_message("%u entries each way: %u and %u wake-ups\n", THREAD_NR,
		      (unsigned)side->shs_wakes_nr,
		      (unsigned)rig.rig_server.shs_wakes_nr);
}

/* ------------------------------------------------------------------- cost -- */

/* Puts and takes operations that are small and one by one, both sides in turn. */
static void count_work(void)
{
	static struct m0_ring_seg       segs[M0_LNET_MD_SEGS_MAX];
	static struct m0_shared_request req = { .srq_opcode =
							M0_SHARED_MD_UNLINK,
						.srq_nr = 3,
						.srq_gen = 1,
						.srq_segs = segs };
	unsigned                        i;

	for (i = 0; i < COUNTED_NR; ++i) {
		if (m0_shared_reserve(&rig.rig_client, 1, NULL) != 0)
			_exit(1);
		m0_shared_commit(&rig.rig_client,
				 m0_shared_request_put(&rig.rig_client, &req));
		m0_shared_bell(&rig.rig_client);
		if (m0_shared_request_get(&rig.rig_server, &req, NULL) != 1)
			_exit(1);
		m0_shared_release(&rig.rig_server, 1, 0);
		m0_shared_bell(&rig.rig_server);
	}
}

static long steps_until_stop(pid_t pid)
{
	long nr = 0;
	int  status;

	for (;;) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0 ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) != SIGTRAP)
			return nr;
		++nr;
	}
}

/* A process that runs step by step counts its instructions. */
static void entry_takes_few_instructions(void **state)
{
	long  nr = -1;
	int   status;
	pid_t pid;

	(void)state;
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || \
	defined(__SANITIZE_THREAD__) || defined(M0_DEBUG_CHECKS)
	skip();
#endif
	pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(2);
		count_work();
		(void)raise(SIGSTOP);
		count_work();
		(void)raise(SIGSTOP);
		_exit(0);
	}
	assert_true(pid > 0);
	if (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		nr = steps_until_stop(pid);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	if (nr < 0) {
		print_message("no ptrace here\n");
		skip();
	}
	print_message("%ld instructions for an entry, both sides\n",
		      nr / COUNTED_NR);
	assert_true(nr / COUNTED_NR <= INSTRUCTIONS_MAX);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		CASE(entries_keep_their_order),
		CASE(full_queue_takes_no_entry),
		CASE(numbers_wrap),
		CASE(group_is_committed_at_once),
		CASE(index_out_of_range_is_an_error),
		CASE(taken_index_moves_towards_what_was_put),
		CASE(entry_is_copied_once),
		CASE(area_is_checked),
		CASE(configuration_is_checked),
		CASE(awake_side_is_not_woken),
		CASE(sleeper_is_woken_once),
		CASE(sleeper_for_room_is_woken_by_room),
		CASE(bell_rings_before_sleep),
		CASE(entry_beats_the_time_out),
		CASE(last_entries_of_the_dead_are_taken),
		CASE(reserved_events_have_room),
		CASE(lies_about_events_are_found),
		CASE(regions_are_bounded),
		CASE(no_wake_up_is_lost),
		CASE(entry_takes_few_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
