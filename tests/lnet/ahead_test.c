/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages that are read before the node has attached the entry they are for,
 * though that was asked for before they came. */
#include "lib/io_hook.h"
#include "lnet/speech.h"

enum {
	WHO = PLACE_WHO_MIN,
	MD_BYTES = 64,
	SAID_BYTES = 16,
	FLOOD_NR = 2000,
	SOON_MS = 1000
};

/* Call made while the node is about to read a message. */
enum wish {
	WISH_NOTHING,
	WISH_PUT_ENTRY,
	WISH_GET_ENTRY,
	WISH_LAZY
};

static struct place      place;
static struct io_hook    hook;
static struct m0_lnet_eq eq;
static enum wish         wish;
static char              memory[MD_BYTES];
static char             *memory_at = memory;
static m0_bcount_t       memory_nr = MD_BYTES;
static struct m0_bufvec  vec = { { 1, &memory_nr }, (void **)&memory_at };
/* Atomic. */
static unsigned puts_nr;
static unsigned lasts_nr;
static unsigned gets_nr;
static unsigned wishes_nr;

static void count(unsigned *nr)
{
	__atomic_add_fetch(nr, 1, __ATOMIC_RELEASE);
}

static unsigned counted(const unsigned *nr)
{
	return __atomic_load_n(nr, __ATOMIC_ACQUIRE);
}

static void event_come(struct m0_lnet_eq *at, const struct m0_lnet_event *ev)
{
	(void)at;
	if (ev->ev_type == M0_LNET_EV_PUT && ev->ev_status == 0)
		count(ev->ev_md_user);
	if (ev->ev_type == M0_LNET_EV_GET)
		count(&gets_nr);
}

/* An entry that ends with its first message. On any thread. */
static void entry_attach(unsigned options, unsigned flags)
{
	struct m0_lnet_me_attr me = { .mea_portal = SPEECH_PORTAL,
				      .mea_id = { m0_lnet_nid_any,
						  M0_LNET_PID_ANY },
				      .mea_match_bits = SPEECH_BITS,
				      .mea_flags = M0_LNET_ME_UNLINK | flags };
	struct m0_lnet_md_attr md = { .mda_vec = &vec,
				      .mda_length = MD_BYTES,
				      .mda_threshold = 1,
				      .mda_options = options,
				      .mda_auto_unlink = true,
				      .mda_eq = &eq,
				      .mda_user = flags == 0 ? &puts_nr
							     : &lasts_nr };
	struct m0_lnet_handle  handle;
	struct m0_lnet_handle  mdh;

	M0_ASSERT(m0_lnet_me_attach(place.pl_node, &me, &handle) == 0);
	M0_ASSERT(m0_lnet_md_attach(place.pl_node, handle, &md, &mdh) == 0);
}

static void lazy_set(uint32_t portal, bool lazy)
{
	M0_ASSERT(m0_lnet_lazy_set(place.pl_node, portal, lazy) == 0);
}

static void moment(struct io_hook *at, bool ready)
{
	if (!ready)
		return;
	count(&wishes_nr);
	/* The others are asked for once. */
	if (wish != WISH_NOTHING)
		io_hook_arm(at, false);
	if (wish == WISH_PUT_ENTRY)
		entry_attach(M0_LNET_MD_OP_PUT, 0);
	else if (wish == WISH_GET_ENTRY)
		entry_attach(M0_LNET_MD_OP_GET, 0);
	else if (wish == WISH_LAZY)
		lazy_set(SPEECH_PORTAL, true);
	else
		/* This call has nothing to do with messages. */
		lazy_set(SPEECH_PORTAL + 1, false);
}

static void tune(struct m0_lnet_cfg *cfg)
{
	(void)cfg;
	hook = (struct io_hook){ .ih_call = moment };
	io_hook_next(&hook);
}

static struct place_end *up(void **state)
{
	puts_nr = lasts_nr = gets_nr = wishes_nr = 0;
	place_up(&place, *(enum place_kind *)*state, tune);
	m0_lnet_eq_init(&eq, place.pl_node, event_come, 0);
	return speech_join(&place, WHO, 3, M0_SOCK_CONTROL, 100);
}

static void down(void)
{
	io_hook_arm(&hook, false);
	place_ping(&place);
	m0_lnet_eq_fini(&eq);
	place_down(&place);
}

static void at_the_moment(enum wish what)
{
	/* Wait until all else that was on its way has arrived. */
	place_run(&place, 50);
	wish = what;
	io_hook_arm(&hook, true);
}

static void say(struct place_end *end, uint32_t type)
{
	struct m0_lnet_hdr hdr = speech_hdr(&place, WHO, type);
	struct speech      speech = {};

	if (type == M0_LNET_PUT) {
		hdr.lhd_payload_bytes = SAID_BYTES;
		hdr.lhd_length = 0;
	}
	speech_msg(&speech, end->pe_version == M0_SOCK_V4, 0, &hdr);
	speech.sp_nr += hdr.lhd_payload_bytes;
	speech_say(end, &speech);
}

static bool is_answered(struct place_end *end, uint32_t type)
{
	struct heard heard;

	while (speech_hear(end, &heard, SOON_MS))
		if (heard.hd_frame.sfr_type == M0_SOCK_FRAME_LNET &&
		    heard.hd_hdr.lhd_type == type)
			return true;
	return false;
}

static bool is_come(void *arg)
{
	return counted(arg) > 0;
}

/* A PUT goes where it shall, and is acknowledged. */
static void put_finds_its_entry(void **state)
{
	struct place_end *end = up(state);

	at_the_moment(WISH_PUT_ENTRY);
	say(end, M0_LNET_PUT);
	assert_true(is_answered(end, M0_LNET_ACK));
	/* The answer may be here before the thread of the node tells the event. */
	assert_true(place_wait(&place, is_come, &puts_nr, SOON_MS));
	assert_int_equal(counted(&puts_nr), 1);
	assert_int_equal(place_stats(&place).ls_drop_count, 0);
	/* The node reads on behind the message. */
	assert_true(speech_ping(end));
	down();
}

/* A GET is answered. */
static void get_finds_its_entry(void **state)
{
	struct place_end *end = up(state);

	at_the_moment(WISH_GET_ENTRY);
	say(end, M0_LNET_GET);
	assert_true(is_answered(end, M0_LNET_REPLY));
	/* The answer may be here before the thread of the node tells the event. */
	assert_true(place_wait(&place, is_come, &gets_nr, SOON_MS));
	assert_int_equal(counted(&gets_nr), 1);
	assert_int_equal(place_stats(&place).ls_drop_count, 0);
	down();
}

/* The entry for what no other takes leaves it to the new one. */
static void last_entry_is_not_taken(void **state)
{
	struct place_end *end = up(state);

	entry_attach(M0_LNET_MD_OP_PUT, M0_LNET_ME_LAST);
	at_the_moment(WISH_PUT_ENTRY);
	say(end, M0_LNET_PUT);
	assert_true(place_wait(&place, is_come, &puts_nr, SOON_MS));
	assert_int_equal(counted(&lasts_nr), 0);
	say(end, M0_LNET_PUT);
	assert_true(place_wait(&place, is_come, &lasts_nr, SOON_MS));
	assert_int_equal(counted(&puts_nr), 1);
	down();
}

/* A portal that was made lazy keeps it. */
static void lazy_portal_keeps_it(void **state)
{
	struct place_end *end = up(state);

	at_the_moment(WISH_LAZY);
	say(end, M0_LNET_PUT);
	place_run(&place, 100);
	assert_int_equal(place_stats(&place).ls_drop_count, 0);
	entry_attach(M0_LNET_MD_OP_PUT, 0);
	assert_true(place_wait(&place, is_come, &puts_nr, SOON_MS));
	down();
}

static bool are_dropped(void *arg)
{
	return place_stats(&place).ls_drop_no_match == *(uint64_t *)arg;
}

/* Many messages for nobody, while in each pass something is asked for: each is
 * counted once, none costs more than a pass, and the good peer is answered. */
static void flood_is_dropped(void **state)
{
	struct place_end *end = up(state);
	uint64_t          all = FLOOD_NR;
	unsigned          i;

	at_the_moment(WISH_NOTHING);
	for (i = 0; i < FLOOD_NR; ++i)
		say(end, i % 2 == 0 ? M0_LNET_PUT : M0_LNET_GET);
	assert_true(place_wait(&place, are_dropped, &all, 10 * SOON_MS));
	assert_true(counted(&wishes_nr) > 0);
	place_ping(&place);
	assert_int_equal(place_stats(&place).ls_drop_count, FLOOD_NR);
	assert_true(speech_ping(end));
	down();
}

int main(void)
{
	static enum place_kind sim = PLACE_SIM;
	static enum place_kind sockets = PLACE_SOCKETS;
	static enum place_kind sim6 = PLACE_SIM6;
#define BOTH(name)                             \
	cmocka_unit_test_prestate(name, &sim), \
		cmocka_unit_test_prestate(name, &sockets)
	const struct CMUnitTest tests[] = {
		BOTH(put_finds_its_entry),
		BOTH(get_finds_its_entry),
		BOTH(last_entry_is_not_taken),
		BOTH(lazy_portal_keeps_it),
		BOTH(flood_is_dropped),
		cmocka_unit_test_prestate(put_finds_its_entry, &sim6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
