/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Matching: which MD takes a message, how much of it, and which messages wait. */
#include "unit/lnet/story.h"

#include "sim/sched/heap.h"

/** An MD for PUTs on `me` that takes `threshold` messages, told by its handle. */
static struct m0_lnet_handle on(struct m0_lnet_me *me, int32_t threshold)
{
	return pair_md_attach(one, me, bytes_in, 4096, threshold,
			      M0_LNET_MD_OP_PUT, false)
		->md_handle;
}

static void md_end(struct m0_lnet_me *me)
{
	m0_lnet_engine_md_unlink(one->pno_engine,
				 container_of(m0_list_first(&me->me_mds),
					      struct m0_lnet_md, md_on_me));
}

static void assert_taken_by(struct m0_lnet_handle handle)
{
	const struct m0_lnet_event *ev = last_event(one);

	assert_int_equal(ev->ev_type, M0_LNET_EV_PUT);
	assert_int_equal(ev->ev_md.lh_gen, handle.lh_gen);
}

static struct m0_lnet_me *me_from(const char *nid, uint32_t pid)
{
	struct m0_lnet_me *me;

	me = m0_alloc(sizeof *me);
	me->me_attr.mea_portal = PORTAL;
	me->me_attr.mea_id.lp_nid = pair_nid(nid);
	me->me_attr.mea_id.lp_pid = pid;
	me->me_attr.mea_match_bits = BITS;
	++one->pno_mes_nr;
	m0_lnet_engine_me_attach(one->pno_engine, me);
	return me;
}

/* T15: entries with ignore bits come first, whenever they were put there. */
static void entry_with_ignore_bits_goes_before_exact(void **state)
{
	struct m0_lnet_handle exact;
	struct m0_lnet_handle wild;

	(void)state;
	exact = on(pair_me(one, PORTAL, BITS, 0, 0), -1);
	wild = on(pair_me(one, PORTAL, 0, 0xff, 0), -1);
	stranger_put(0x7f, 8, 0);
	assert_taken_by(wild);
	stranger_put(BITS, 8, 0);
	assert_taken_by(exact);
	wild = on(pair_me(one, PORTAL, BITS, 1, 0), -1);
	stranger_put(BITS, 8, 0);
	assert_taken_by(wild);
}

/* In both classes: in the order of attaching, those put before first. */
static void entries_of_a_class_are_in_order(void **state)
{
	struct m0_lnet_handle first;
	struct m0_lnet_handle second;
	struct m0_lnet_handle front;
	uint64_t              ignore;
	uint64_t              bits;

	(void)state;
	for (ignore = 0; ignore < 2; ++ignore) {
		bits = BITS + 16 * ignore;
		first = on(pair_me(one, PORTAL, bits, ignore, 0), 1);
		second = on(pair_me(one, PORTAL, bits, ignore, 0), -1);
		front = on(pair_me(one, PORTAL, bits, ignore,
				   M0_LNET_ME_BEFORE),
			   1);
		stranger_put(bits, 1, 0);
		assert_taken_by(front);
		stranger_put(bits, 1, 0);
		assert_taken_by(first);
		stranger_put(bits, 1, 0);
		assert_taken_by(second);
	}
}

/* Entries put last stay behind all others, in the order of attaching. */
static void entries_put_last_are_in_order(void **state)
{
	struct m0_lnet_handle last[3];
	struct m0_lnet_handle plain;
	uint64_t              ignore;
	uint64_t              bits;
	unsigned              i;

	(void)state;
	for (ignore = 0; ignore < 2; ++ignore) {
		bits = BITS + 16 * ignore;
		for (i = 0; i < 3; ++i)
			last[i] = on(pair_me(one, PORTAL, bits, ignore,
					     M0_LNET_ME_LAST),
				     1);
		plain = on(pair_me(one, PORTAL, bits, ignore, 0), 1);
		stranger_put(bits, 1, 0);
		assert_taken_by(plain);
		for (i = 0; i < 3; ++i) {
			stranger_put(bits, 1, 0);
			assert_taken_by(last[i]);
		}
	}
}

/* An entry whose MD was used up keeps its place for the next one. */
static void entry_keeps_its_place_between_mds(void **state)
{
	uint64_t              ignore;
	struct m0_lnet_me    *me[3];
	struct m0_lnet_md    *md;
	struct m0_lnet_handle h[3];
	unsigned              i;
	unsigned              k;

	(void)state;
	for (ignore = 0; ignore < 4; ignore += 3) {
		for (i = 0; i < 3; ++i) {
			me[i] = pair_me(one, PORTAL, BITS + 16 * ignore, ignore,
					0);
			h[i] = on(me[i], -1);
		}
		for (k = 0; k < 3; ++k) {
			md_end(me[k]);
			md = pair_md_attach(one, me[k], bytes_in, 64, 1,
					    M0_LNET_MD_OP_PUT, false);
			h[k] = md->md_handle;
			stranger_put(BITS + 16 * ignore, 1, 0);
			/* Used up at once, and found again. */
			assert_taken_by(h[k]);
			if (k > 0)
				continue;
			stranger_put(BITS + 16 * ignore, 1, 0);
			assert_taken_by(h[1]);
		}
	}
}

/* Also in the middle of its like, where all are of one use. */
static void entry_in_the_middle_keeps_its_place(void **state)
{
	struct m0_lnet_me    *me[4];
	struct m0_lnet_handle h[4];
	uint64_t              ignore;
	uint64_t              bits;
	unsigned              i;

	(void)state;
	for (ignore = 0; ignore < 2; ++ignore) {
		bits = BITS + 16 * ignore;
		for (i = 0; i < 4; ++i) {
			me[i] = pair_me(one, PORTAL, bits, ignore, 0);
			h[i] = on(me[i], 1);
		}
		md_end(me[1]);
		h[1] = on(me[1], 1);
		for (i = 0; i < 4; ++i) {
			stranger_put(bits, 1, 0);
			assert_taken_by(h[i]);
		}
	}
}

/* Each of three attributes alone makes a portal one of wildcards. */
static void portal_kind_is_by_its_first_entry(void **state)
{
	struct m0_lnet_me *me[4];
	unsigned           i;

	(void)state;
	for (i = 0; i < 4; ++i) {
		me[i] = m0_alloc(sizeof *me[i]);
		me[i]->me_attr.mea_portal = PORTAL + i;
		me[i]->me_attr.mea_id.lp_nid =
			pair_nid(i == 1 ? "<?>" : STRANGER);
		me[i]->me_attr.mea_id.lp_pid = i == 2 ? M0_LNET_PID_ANY
						      : M0_LNET_PID_LUSTRE;
		me[i]->me_attr.mea_ignore_bits = i == 3 ? 1 : 0;
		++one->pno_mes_nr;
		m0_lnet_engine_me_attach(one->pno_engine, me[i]);
		assert_int_equal(
			one->pno_engine->le_portals[PORTAL + i].lpt_kind,
			i == 0 ? M0_LNET_PORTAL_UNIQUE
			       : M0_LNET_PORTAL_WILDCARD);
	}
}

/* The first entry decides: no wildcards on a unique portal. */
static void portal_unique_bars_wildcards(void **state)
{
	struct m0_lnet_me *me;

	(void)state;
	me = me_from(STRANGER, M0_LNET_PID_LUSTRE);
	(void)on(me, -1);
	me = pair_me(one, PORTAL, BITS, 0, 0);
	assert_int_equal(me->me_state, M0_LNET_ME_BARRED);
	(void)on(me, -1);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_UNLINK);
	assert_int_equal(last_event(one)->ev_status, -EPERM);
	assert_true(last_event(one)->ev_unlinked);
	/* One that was to end with its MD does. */
	assert_int_equal(one->pno_mes_nr, 2);
	me = pair_me(one, PORTAL, BITS, 3, M0_LNET_ME_UNLINK);
	(void)on(me, -1);
	pair_settle(pair);
	assert_int_equal(one->pno_mes_nr, 2);
	assert_int_equal(events_nr(one, M0_LNET_EV_UNLINK), 2);
	/* The unique one still matches. */
	stranger_put(BITS, 1, 0);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_PUT);
}

/* Nor unique ones on a wildcard portal; also when it has become empty. */
static void portal_wildcard_bars_unique(void **state)
{
	struct m0_lnet_me *me;

	(void)state;
	me = pair_me(one, PORTAL, BITS, 0, 0);
	m0_lnet_engine_me_unlink(one->pno_engine, me);
	me = me_from(STRANGER, M0_LNET_PID_LUSTRE);
	assert_int_equal(me->me_state, M0_LNET_ME_BARRED);
	(void)on(me, -1);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_status, -EPERM);
	stranger_put(BITS, 1, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
}

/* The sender counts: the pid of the header, and the primary NID of the peer. */
static void sender_other_does_not_match(void **state)
{
	struct m0_lnet_handle his;
	struct m0_lnet_hdr    hdr = hdr_of(M0_LNET_PUT, 4);

	(void)state;
	(void)on(me_from("10.0.0.8@tcp", M0_LNET_PID_LUSTRE), -1);
	(void)on(me_from(STRANGER, 77), -1);
	his = on(me_from(STRANGER, M0_LNET_PID_LUSTRE), -1);
	stranger_put(BITS, 4, 0);
	assert_taken_by(his);
	hdr.lhd_src_pid = 78;
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	hdr.lhd_src_pid = M0_LNET_PID_LUSTRE;
	hdr.lhd_src_nid = pair_nid("10.0.0.7@tcp");
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	pair_settle(pair);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 2);
	assert_int_equal(events_nr(one, M0_LNET_EV_PUT), 1);
}

/* T14: a peer is known by its primary NID, and accepted by any other that is
 * known to be its own. */
static void sender_matches_by_any_nid_of_its_peer(void **state)
{
	struct m0_lnet_ping_ni nis[] = {
		{ pair_nid(STRANGER), true },
		{ pair_nid("10.0.0.8@tcp"), true },
	};
	struct m0_lnet_ping_info info = { .lpi_features = 0x1e,
					  .lpi_pid = M0_LNET_PID_LUSTRE,
					  .lpi_seq = 1,
					  .lpi_nis = nis,
					  .lpi_nis_max = 2,
					  .lpi_nis_nr = 2 };
	struct m0_lnet_hdr       hdr = hdr_of(M0_LNET_PUT, 4);
	struct m0_lnet_engine   *eng = one->pno_engine;
	struct m0_lnet_handle    other;
	struct m0_lnet_handle    primary;

	(void)state;
	other = on(me_from("10.0.0.8@tcp", M0_LNET_PID_LUSTRE), 1);
	primary = on(me_from(STRANGER, M0_LNET_PID_LUSTRE), 2);
	stranger_put(BITS, 4, 0);
	assert_taken_by(primary);
	eng->le_cfg.lec_discovery = true;
	assert_int_equal(m0_lnet__peer_learn(
				 eng, m0_lnet__lpni_find(eng, &nis[0].lpg_nid),
				 &info),
			 0);
	stranger_put(BITS, 4, 0);
	assert_taken_by(other);
	hdr.lhd_src_nid = nis[1].lpg_nid;
	pair_inject(one, 1, "10.0.0.8@tcp", &hdr, bytes_out);
	pair_settle(pair);
	assert_taken_by(primary);
	assert_true(m0_lnet_nid_eq(&last_event(one)->ev_initiator.lp_nid,
				   &nis[0].lpg_nid));
	assert_true(m0_lnet_nid_eq(&last_event(one)->ev_source.lp_nid,
				   &nis[1].lpg_nid));
}

/* An MD for GETs takes no PUT: the next one does. */
static void operation_not_enabled_is_passed_over(void **state)
{
	struct m0_lnet_handle right;

	(void)state;
	(void)pair_md_attach(one, pair_me(one, PORTAL, BITS, 0, 0), bytes_in,
			     64, -1, M0_LNET_MD_OP_GET, false);
	right = on(pair_me(one, PORTAL, BITS, 0, 0), -1);
	stranger_put(BITS, 4, 0);
	assert_taken_by(right);
}

/* An entry without an MD is not there. */
static void entry_without_md_matches_nothing(void **state)
{
	struct m0_lnet_handle right;

	(void)state;
	(void)pair_me(one, PORTAL, BITS, 0, 0);
	(void)pair_me(one, PORTAL, BITS, 7, 0);
	/* Nor one whose MD is used up from the start. */
	(void)on(pair_me(one, PORTAL, BITS, 0, 0), 0);
	right = on(pair_me(one, PORTAL, BITS, 0, 0), -1);
	stranger_put(BITS, 4, 0);
	assert_taken_by(right);
}

/* Two messages, then the next MD's turn, then nobody's. */
static void threshold_counts_messages(void **state)
{
	struct m0_lnet_handle two_of_it;
	struct m0_lnet_handle next;

	(void)state;
	two_of_it = on(pair_me(one, PORTAL, BITS, 0, 0), 2);
	next = on(pair_me(one, PORTAL, BITS, 0, 0), 1);
	stranger_put(BITS, 4, 0);
	assert_taken_by(two_of_it);
	stranger_put(BITS, 4, 0);
	assert_taken_by(two_of_it);
	stranger_put(BITS, 4, 0);
	assert_taken_by(next);
	stranger_put(BITS, 4, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
	assert_int_equal(stats_of(one)->ls_drop_length, 4);
	/* Not asked to end by themselves, they have not. */
	assert_int_equal(one->pno_mds_nr, 2);
}

/* Used up and auto-unlink: off at once, told by its last message's event. */
static void md_used_up_ends_with_its_message(void **state)
{
	(void)state;
	(void)pair_md_attach(one,
			     pair_me(one, PORTAL, BITS, 0, M0_LNET_ME_UNLINK),
			     bytes_in, 64, 2, M0_LNET_MD_OP_PUT, true);
	stranger_put(BITS, 4, 0);
	assert_false(last_event(one)->ev_unlinked);
	one->pno_rx_hold = true;
	stranger_put(BITS, 4, 0);
	assert_int_equal(one->pno_mes_nr, 0);
	assert_int_equal(one->pno_events_nr, 1);
	one->pno_rx_hold = false;
	pair_settle(pair);
	assert_true(last_event(one)->ev_unlinked);
	assert_int_equal(last_event(one)->ev_status, 0);
	assert_int_equal(one->pno_mds_nr, 0);
}

/* Not asked to end with it, the entry is there for another MD, also while the
 * old one is still being filled. */
static void entry_outlives_its_md(void **state)
{
	struct m0_lnet_me    *me = pair_me(one, PORTAL, BITS, 0, 0);
	struct m0_lnet_handle next;

	(void)state;
	(void)pair_md_attach(one, me, bytes_in, 64, 1, M0_LNET_MD_OP_PUT, true);
	one->pno_rx_hold = true;
	stranger_put(BITS, 4, 0);
	assert_true(m0_list_is_empty(&me->me_mds));
	next = on(me, -1);
	one->pno_rx_hold = false;
	pair_settle(pair);
	assert_true(last_event(one)->ev_unlinked);
	stranger_put(BITS, 4, 0);
	assert_taken_by(next);
}

/* MAX_SIZE: messages lie one behind the other until less than the maximum is
 * left; one above the maximum is too big even where there would be room. */
static void max_size_fills_md_from_its_start(void **state)
{
	struct m0_lnet_me *me = pair_me(one, PORTAL, BITS, 0, 0);
	struct m0_lnet_md *md;
	unsigned           i;

	(void)state;
	md = pair_md_attach(one, me, bytes_in, 256, -1,
			    M0_LNET_MD_OP_PUT | M0_LNET_MD_MAX_SIZE, true);
	md->md_attr.mda_max_size = 100;
	stranger_put(BITS, 101, 0);
	assert_int_equal(stats_of(one)->ls_drop_too_big, 1);
	for (i = 0; i < 2; ++i) {
		stranger_put(BITS, 80, 999);
		assert_int_equal(last_event(one)->ev_offset, 80 * i);
		assert_int_equal(last_event(one)->ev_mlength, 80);
		assert_memory_equal(bytes_in + 80 * i, bytes_out, 80);
		/* 256 - 160 is less than 100. */
		assert_int_equal(last_event(one)->ev_unlinked, i == 1);
	}
	stranger_put(BITS, 80, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
}

/* Exactly the maximum left is enough. */
static void max_size_takes_the_last_room(void **state)
{
	struct m0_lnet_md *md;

	(void)state;
	md = sink(one, BITS, -1, M0_LNET_MD_MAX_SIZE);
	md->md_attr.mda_length = 200;
	md->md_attr.mda_max_size = 100;
	stranger_put(BITS, 100, 0);
	stranger_put(BITS, 100, 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_PUT), 2);
	assert_int_equal(last_event(one)->ev_offset, 100);
	stranger_put(BITS, 0, 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_PUT), 2);
}

/* T17: the local offset moves for remotely managed MDs too, so that they can
 * be used up; and back again, if the sender goes back. */
static void max_size_remote_md_is_used_up(void **state)
{
	struct m0_lnet_md *md;

	(void)state;
	md = sink(one, BITS, -1,
		  M0_LNET_MD_MAX_SIZE | M0_LNET_MD_MANAGE_REMOTE);
	md->md_attr.mda_length = 300;
	md->md_attr.mda_max_size = 100;
	stranger_put(BITS, 50, 150);
	assert_int_equal(last_event(one)->ev_offset, 150);
	stranger_put(BITS, 50, 10);
	assert_int_equal(last_event(one)->ev_offset, 10);
	stranger_put(BITS, 50, 151);
	assert_int_equal(events_nr(one, M0_LNET_EV_PUT), 3);
	stranger_put(BITS, 1, 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_PUT), 3);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
}

/* A sender's offset and a maximum may not add up to a place beyond the MD. */
static void max_size_remote_stays_within_md(void **state)
{
	struct m0_lnet_md *md;

	(void)state;
	md = sink(one, BITS, -1,
		  M0_LNET_MD_MAX_SIZE | M0_LNET_MD_MANAGE_REMOTE |
			  M0_LNET_MD_TRUNCATE);
	md->md_attr.mda_length = 128;
	md->md_attr.mda_max_size = 100;
	stranger_put(BITS, 90, 100);
	assert_int_equal(last_event(one)->ev_mlength, 28);
	assert_int_equal(bytes_in[127], bytes_out[27]);
	assert_int_equal(bytes_in[128], 0);
}

/* Without MANAGE_REMOTE the sender's offset says nothing, with it all. */
static void offset_of_sender_counts_if_managed(void **state)
{
	(void)state;
	(void)sink(one, BITS, -1, 0);
	(void)sink(one, BITS + 1, -1, M0_LNET_MD_MANAGE_REMOTE);
	stranger_put(BITS, 10, 100);
	stranger_put(BITS, 10, 100);
	assert_int_equal(last_event(one)->ev_offset, 10);
	stranger_put(BITS + 1, 10, 100);
	assert_int_equal(last_event(one)->ev_offset, 100);
	stranger_put(BITS + 1, 10, 90);
	assert_int_equal(last_event(one)->ev_offset, 90);
	assert_memory_equal(bytes_in + 90, bytes_out, 10);
}

/* An offset beyond the end is too big; cut to nothing if it may be cut. */
static void offset_beyond_md_takes_nothing(void **state)
{
	(void)state;
	(void)sink(one, BITS, -1, M0_LNET_MD_MANAGE_REMOTE);
	(void)sink(one, BITS + 1, -1,
		   M0_LNET_MD_MANAGE_REMOTE | M0_LNET_MD_TRUNCATE);
	stranger_put(BITS, 10, 4090);
	stranger_put(BITS, 10, 0xffffffff);
	assert_int_equal(stats_of(one)->ls_drop_too_big, 2);
	stranger_put(BITS + 1, 10, 4090);
	assert_int_equal(last_event(one)->ev_mlength, 6);
	stranger_put(BITS + 1, 10, 0xffffffff);
	assert_int_equal(last_event(one)->ev_mlength, 0);
	assert_int_equal(last_event(one)->ev_rlength, 10);
}

/* T16: what is too big for the first that matches is dropped, even if another
 * one had room. */
static void too_big_ends_the_search(void **state)
{
	struct m0_lnet_md *small;

	(void)state;
	small = sink(one, BITS, -1, 0);
	small->md_attr.mda_length = 10;
	(void)sink(one, BITS, -1, 0);
	stranger_put(BITS, 11, 0);
	assert_int_equal(one->pno_events_nr, 0);
	assert_int_equal(stats_of(one)->ls_drop_too_big, 1);
	assert_int_equal(stats_of(one)->ls_drop_count, 1);
	assert_int_equal(stats_of(one)->ls_drop_length, 11);
	/* Neither offset nor threshold has moved. */
	stranger_put(BITS, 10, 0);
	assert_int_equal(last_event(one)->ev_offset, 0);
}

/* TRUNCATE takes what fits and says both lengths. */
static void truncate_cuts_what_is_too_big(void **state)
{
	struct m0_lnet_md *md = sink(one, BITS, -1, M0_LNET_MD_TRUNCATE);

	(void)state;
	md->md_attr.mda_length = 10;
	stranger_put(BITS, 11, 0);
	assert_int_equal(last_event(one)->ev_rlength, 11);
	assert_int_equal(last_event(one)->ev_mlength, 10);
	assert_memory_equal(bytes_in, bytes_out, 10);
	assert_int_equal(bytes_in[10], 0);
}

/* A portal that does not exist, and one that nobody uses. */
static void portal_unknown_drops(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 16);

	(void)state;
	hdr.lhd_portal = 64;
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	hdr.lhd_portal = 0xffffffff;
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	hdr.lhd_portal = 63;
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	pair_settle(pair);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 3);
	assert_int_equal(one->pno_proto_errors_nr, 0);
}

/* A lazy portal keeps a PUT, and what its sender says after it, until there is
 * an MD. */
static void lazy_portal_keeps_put_until_attach(void **state)
{
	struct m0_lnet_handle late;

	(void)state;
	m0_lnet_engine_lazy_set(one->pno_engine, PORTAL, true);
	(void)sink(one, BITS + 1, -1, 0);
	stranger_put(BITS, 4, 0);
	stranger_put(BITS + 1, 4, 0);
	assert_int_equal(one->pno_events_nr, 0);
	assert_true(one->pno_again_nr > 0);
	assert_int_equal(stats_of(one)->ls_drop_count, 0);
	assert_int_equal(stats_of(one)->ls_recv_count, 0);
	late = on(pair_me(one, PORTAL, BITS, 0, 0), 1);
	pair_settle(pair);
	assert_int_equal(one->pno_events[0].ev_md.lh_gen, late.lh_gen);
	assert_int_equal(events_nr(one, M0_LNET_EV_PUT), 2);
	assert_int_equal(stats_of(one)->ls_recv_count, 2);
}

/* Not lazy any more: what waits is dropped. */
static void lazy_portal_cleared_drops(void **state)
{
	(void)state;
	m0_lnet_engine_lazy_set(one->pno_engine, PORTAL, true);
	stranger_put(BITS, 4, 0);
	assert_int_equal(stats_of(one)->ls_drop_count, 0);
	m0_lnet_engine_lazy_set(one->pno_engine, PORTAL, false);
	pair_settle(pair);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
}

/* Lazy again before it was asked about: what waited is dropped, what comes now
 * waits. */
static void lazy_portal_cleared_and_set_drops(void **state)
{
	(void)state;
	m0_lnet_engine_lazy_set(one->pno_engine, PORTAL, true);
	stranger_put(BITS, 4, 0);
	m0_lnet_engine_lazy_set(one->pno_engine, PORTAL, true);
	pair_settle(pair);
	assert_int_equal(stats_of(one)->ls_drop_count, 0);
	m0_lnet_engine_lazy_set(one->pno_engine, PORTAL, false);
	m0_lnet_engine_lazy_set(one->pno_engine, PORTAL, true);
	stranger_put(BITS, 4, 0);
	pair_settle(pair);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
	(void)on(pair_me(one, PORTAL, BITS, 0, 0), 1);
	pair_settle(pair);
	assert_int_equal(events_nr(one, M0_LNET_EV_PUT), 1);
}

/* GETs, and PUTs that are too big, do not wait. */
static void lazy_portal_drops_what_is_no_put(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_GET, 0);
	struct m0_lnet_md *md = sink(one, BITS + 1, -1, 0);

	(void)state;
	md->md_attr.mda_length = 3;
	m0_lnet_engine_lazy_set(one->pno_engine, PORTAL, true);
	pair_inject(one, 1, STRANGER, &hdr, NULL);
	stranger_put(BITS + 1, 4, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
	assert_int_equal(stats_of(one)->ls_drop_too_big, 1);
	assert_int_equal(one->pno_again_nr, 0);
}

/* A closing node keeps nothing. */
static void lazy_portal_of_closing_node_drops(void **state)
{
	(void)state;
	m0_lnet_engine_lazy_set(one->pno_engine, PORTAL, true);
	stranger_put(BITS, 4, 0);
	m0_lnet_engine_shutdown(one->pno_engine, pair->pai_now);
	pair_settle(pair);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
}

/* An ME taken off takes its MD with it. */
static void entry_unlinked_ends_its_md(void **state)
{
	struct m0_lnet_me *me = pair_me(one, PORTAL, BITS, 0, 0);

	(void)state;
	(void)on(me, -1);
	m0_lnet_engine_me_unlink(one->pno_engine, me);
	pair_settle(pair);
	assert_int_equal(one->pno_mes_nr, 0);
	assert_int_equal(one->pno_mds_nr, 0);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_UNLINK);
	assert_int_equal(last_event(one)->ev_status, 0);
	stranger_put(BITS, 4, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
}

/* The one that took the last message, which is asked first, is not found after
 * its end. */
static void entry_found_last_is_forgotten(void **state)
{
	struct m0_lnet_me    *me = pair_me(one, PORTAL, BITS, 0, 0);
	struct m0_lnet_handle next = on(me, -1);

	(void)state;
	stranger_put(BITS, 4, 0);
	assert_taken_by(next);
	m0_lnet_engine_me_unlink(one->pno_engine, me);
	pair_settle(pair);
	stranger_put(BITS, 4, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
	next = on(pair_me(one, PORTAL, BITS, 0, 0), -1);
	stranger_put(BITS, 4, 0);
	assert_taken_by(next);
}

/* An entry has one MD; another, or one for an entry that has ended, ends. */
static void attach_in_vain_ends_md(void **state)
{
	struct m0_lnet_me *me = pair_me(one, PORTAL, BITS, 0, 0);

	(void)state;
	(void)on(me, -1);
	(void)on(me, -1);
	(void)on(NULL, -1);
	pair_settle(pair);
	assert_int_equal(pair_event(one, M0_LNET_EV_UNLINK, 0)->ev_status,
			 -EBUSY);
	assert_int_equal(pair_event(one, M0_LNET_EV_UNLINK, 1)->ev_status,
			 -ENOENT);
	stranger_put(BITS, 4, 0);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_PUT);
}

/* No memory for the table: UNLINK says so, the entry lives on. */
static void attach_without_memory_ends_md(void **state)
{
	struct m0_lnet_me *me = pair_me(one, PORTAL, BITS, 0, 0);
	struct m0_heap     heap;

	(void)state;
	/* The first allocation is the MD's own. */
	m0_heap_init(&heap);
	m0_heap_fail_at(&heap, 2);
	(void)on(me, -1);
	assert_int_equal(m0_heap_failed_nr(&heap), 1);
	m0_heap_fini(&heap);
	pair_settle(pair);
	assert_int_equal(pair_event(one, M0_LNET_EV_UNLINK, 0)->ev_status,
			 -ENOMEM);
	(void)on(me, -1);
	stranger_put(BITS, 4, 0);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_PUT);
}

/* Many of the same bits and many of others, in and out in disorder. */
static void entries_many_come_and_go(void **state)
{
	enum {
		NR = 3000
	};
	static struct m0_lnet_me *me[NR];
	uint64_t                  seed = 1;
	unsigned                  i;
	unsigned                  k;

	(void)state;
	for (i = 0; i < NR; ++i) {
		me[i] = pair_me(one, PORTAL, i % 1000, 0,
				i % 3 == 0 ? M0_LNET_ME_BEFORE : 0);
		(void)on(me[i], -1);
	}
	for (k = 0; k < NR - 500; ++k) {
		do
			i = (unsigned)m0_rnd(NR, &seed);
		while (me[i] == NULL);
		m0_lnet_engine_me_unlink(one->pno_engine, me[i]);
		me[i] = NULL;
	}
	pair_settle(pair);
	one->pno_events_nr = 0;
	for (i = 0; i < 1000; ++i) {
		one->pno_events_nr = 0;
		stranger_put(i, 1, 0);
		assert_int_equal(one->pno_events_nr,
				 me[i] != NULL || me[i + 1000] != NULL ||
					 me[i + 2000] != NULL);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		STORY(entry_with_ignore_bits_goes_before_exact),
		STORY(entries_of_a_class_are_in_order),
		STORY(entries_put_last_are_in_order),
		STORY(entry_keeps_its_place_between_mds),
		STORY(entry_in_the_middle_keeps_its_place),
		STORY(portal_kind_is_by_its_first_entry),
		STORY(portal_unique_bars_wildcards),
		STORY(portal_wildcard_bars_unique),
		STORY(sender_other_does_not_match),
		STORY(sender_matches_by_any_nid_of_its_peer),
		STORY(operation_not_enabled_is_passed_over),
		STORY(entry_without_md_matches_nothing),
		STORY(threshold_counts_messages),
		STORY(md_used_up_ends_with_its_message),
		STORY(entry_outlives_its_md),
		STORY(max_size_fills_md_from_its_start),
		STORY(max_size_takes_the_last_room),
		STORY(max_size_remote_md_is_used_up),
		STORY(max_size_remote_stays_within_md),
		STORY(offset_of_sender_counts_if_managed),
		STORY(offset_beyond_md_takes_nothing),
		STORY(too_big_ends_the_search),
		STORY(truncate_cuts_what_is_too_big),
		STORY(portal_unknown_drops),
		STORY(lazy_portal_keeps_put_until_attach),
		STORY(lazy_portal_cleared_drops),
		STORY(lazy_portal_cleared_and_set_drops),
		STORY(lazy_portal_drops_what_is_no_put),
		STORY(lazy_portal_of_closing_node_drops),
		STORY(entry_unlinked_ends_its_md),
		STORY(entry_found_last_is_forgotten),
		STORY(attach_in_vain_ends_md),
		STORY(attach_without_memory_ends_md),
		STORY(entries_many_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
