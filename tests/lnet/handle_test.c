/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Handles outlive what they name: none of them may reach what came after. */
#include "lnet/speech.h"

enum {
	WHO = PLACE_WHO_MIN,
	BYTES = 1 << 16
};

static struct place      place;
static struct m0_lnet_eq eq;
static unsigned          ended_nr;
static char              memory[BYTES];

static void told(struct m0_lnet_eq *queue, const struct m0_lnet_event *ev)
{
	(void)queue;
	__atomic_fetch_add(&ended_nr, ev->ev_unlinked, __ATOMIC_RELAXED);
}

static bool has_ended(void *arg)
{
	return __atomic_load_n(&ended_nr, __ATOMIC_RELAXED) == *(unsigned *)arg;
}

static struct m0_lnet_handle entry(void)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = SPEECH_PORTAL,
		.mea_id = { .lp_nid = m0_lnet_nid_any,
			    .lp_pid = M0_LNET_PID_ANY },
		.mea_match_bits = SPEECH_BITS,
		.mea_flags = M0_LNET_ME_UNLINK,
	};
	struct m0_lnet_handle handle;

	assert_int_equal(m0_lnet_me_attach(place.pl_node, &me, &handle), 0);
	return handle;
}

/* Half of a message to the entry. */
static void half_say(void)
{
	struct m0_lnet_hdr hdr = speech_hdr(&place, WHO, M0_LNET_PUT);
	struct speech      speech = {};
	struct place_end  *end;

	end = speech_join(&place, WHO, 3, M0_SOCK_CONTROL, 100);
	hdr.lhd_payload_bytes = BYTES;
	speech_msg(&speech, false, 0, &hdr);
	speech.sp_nr += 1000;
	speech_say(end, &speech);
}

/* An MD that is used up, but still being filled, is unlinked when its entry has
 * ended and another one is in the place of that: the other one stays. */
static void md_unlinked_late_leaves_next_entry_alone(void **state)
{
	void                  *segs[] = { memory };
	m0_bcount_t            counts[] = { BYTES };
	struct m0_bufvec       vec = M0_BUFVEC_INIT_BUF(segs, counts);
	struct m0_lnet_md_attr attr = { .mda_vec = &vec,
					.mda_length = BYTES,
					.mda_threshold = 1,
					.mda_options = M0_LNET_MD_OP_PUT,
					.mda_auto_unlink = true,
					.mda_eq = &eq };
	struct m0_lnet_handle  me[2];
	struct m0_lnet_handle  md[2];
	unsigned               nr;

	place_up(&place, *(enum place_kind *)*state, NULL);
	ended_nr = 0;
	m0_lnet_eq_init(&eq, place.pl_node, told, 0);
	me[0] = entry();
	assert_int_equal(m0_lnet_md_attach(place.pl_node, me[0], &attr, &md[0]),
			 0);
	half_say();
	do {
		place_run(&place, 1);
		me[1] = entry();
	} while (me[1].lh_slot != me[0].lh_slot);
	assert_int_equal(m0_lnet_md_unlink(place.pl_node, md[0]), 0);
	assert_int_equal(m0_lnet_md_attach(place.pl_node, me[1], &attr, &md[1]),
			 0);
	assert_int_equal(m0_lnet_md_unlink(place.pl_node, md[0]), -ENOENT);
	assert_int_equal(m0_lnet_md_unlink(place.pl_node, md[1]), 0);
	nr = 2;
	assert_true(place_wait(&place, has_ended, &nr, 1000));
	m0_lnet_eq_fini(&eq);
	place_down(&place);
}

int main(void)
{
	static enum place_kind  sim = PLACE_SIM;
	static enum place_kind  sockets = PLACE_SOCKETS;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(
			md_unlinked_late_leaves_next_entry_alone, &sim),
		cmocka_unit_test_prestate(
			md_unlinked_late_leaves_next_entry_alone, &sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
