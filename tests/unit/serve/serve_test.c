/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The server of an attached process: this thread is the process, which writes the shared
 * area by hand, and the node's thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "serve/serve.h"
#include "sim/sched/heap.h"

enum {
	PORTAL = 20,
	REGION_BYTES = 1 << 20,
	AREA_BYTES = 1 << 20,
	INCOMING_MAX = 8,
	REPORTS_MAX = 64,
	LOOKS_NR = 200000
};

static struct m0_serve_tms       tms;
static const struct m0_serve_cfg serve_cfg = {
	.svg_shared = { .shc_down_nr = 128,
			.shc_up_nr = 256,
			.shc_reserved_nr = 200,
			.shc_incoming_nr = INCOMING_MAX,
			.shc_portals_nr = 64,
			.shc_mes_max = 100,
			.shc_mds_max = 100,
			.shc_ops_max = 100,
			.shc_eqs_max = 4,
			.shc_regions_max = 2,
			.shc_controls_nr = 2,
			.shc_control_bytes = 8192 },
	.svg_bytes_max = REGION_BYTES,
	.svg_right = M0_SHARED_RIGHT_PROBE,
	.svg_portals = { { { 0, 63 } }, 1 },
	.svg_tmids = { { { 0, 4095 } }, 1 },
	.svg_tms = &tms,
};

static struct m0_lnet *lnet;
static char            area[AREA_BYTES] __attribute__((__aligned__(64)));
static char            region[REGION_BYTES] __attribute__((__aligned__(64)));
static struct m0_serve srv;
static struct m0_shared_side client;
static unsigned              client_wakes_nr;
static unsigned              ended_nr;
static uint32_t              gen;

static void client_wake(void *arg)
{
	(void)arg;
	++client_wakes_nr;
}

static int host_wait(void *arg, m0_time_t deadline)
{
	(void)arg;
	(void)deadline;
	return -ETIMEDOUT;
}

static int host_map(void *arg, uint32_t nr, uint64_t bytes, void **ret)
{
	(void)arg;
	if (nr != 1 || bytes > sizeof region)
		return -EINVAL;
	*ret = region;
	return 0;
}

static bool host_is_dead(void *arg)
{
	(void)arg;
	return false;
}

static int host_creds(void *arg, struct m0_shared_creds *ret)
{
	(void)arg;
	*ret = (struct m0_shared_creds){ 1, 2, 3 };
	return 0;
}

static const struct m0_shared_host server_host = {
	.shh_wake = client_wake,
	.shh_wait = host_wait,
	.shh_map = host_map,
	.shh_is_dead = host_is_dead,
	.shh_creds = host_creds,
};

static void server_wake(void *arg)
{
	(void)arg;
	m0_serve_wake(&srv);
}

static const struct m0_shared_host client_host = {
	.shh_wake = server_wake,
	.shh_wait = host_wait,
	.shh_map = host_map,
	.shh_is_dead = host_is_dead,
	.shh_creds = host_creds,
};

static void ended(struct m0_serve *s)
{
	assert_ptr_equal(s, &srv);
	++ended_nr;
}

static const struct m0_serve_ops serve_ops = { .svo_ended = ended };

/* -- the process ----------------------------------------------------------- */

static void put(struct m0_shared_request *req)
{
	uint32_t nr = m0_shared_request_entries(req);

	assert_true(m0_shared_claim(&client, m0_shared_events_nr(req)));
	while (m0_shared_reserve(&client, nr, NULL) == -EAGAIN)
		(void)m0_lnet_progress(lnet);
	m0_shared_commit(&client, m0_shared_request_put(&client, req));
	m0_shared_bell(&client);
}

static bool get(struct m0_shared_report *rep)
{
	int rc = m0_shared_report_get(&client, rep, NULL);

	assert_true(rc >= 0);
	if (rc > 0)
		m0_shared_release(&client, 1,
				  rep->shp_kind == M0_SHARED_EV_INCOMING);
	return rc > 0;
}

static void progress(unsigned nr)
{
	while (nr-- > 0)
		(void)m0_lnet_progress(lnet);
}

static struct m0_shared_report report(enum m0_shared_kind kind)
{
	struct m0_shared_report rep;
	unsigned                i;

	for (i = 0; i < LOOKS_NR; ++i) {
		if (get(&rep)) {
			assert_int_equal(rep.shp_kind, kind);
			return rep;
		}
		progress(1);
	}
	fail_msg("no report of kind %d", kind);
	return rep;
}

static void no_report(void)
{
	struct m0_shared_report rep;

	progress(100);
	assert_false(get(&rep));
}

static void result(int rc)
{
	assert_int_equal(report(M0_SHARED_RESULT).shp_result.srt_status, rc);
}

static void eq_add(uint32_t nr, uint32_t max)
{
	struct m0_shared_request req = {
		.srq_opcode = M0_SHARED_EQ_ADD,
		.srq_nr = nr,
		.srq_eq_add = { .sqa_max = max, .sqa_is_polled = max > 0 },
	};

	put(&req);
}

static void region_do(enum m0_shared_opcode opcode)
{
	struct m0_shared_request req = { .srq_opcode = opcode,
					 .srq_nr = 1,
					 .srq_gen = 1,
					 .srq_number = REGION_BYTES };

	put(&req);
}

static void me_fill(struct m0_ring_me *me, uint64_t bits, uint32_t flags)
{
	*me = (struct m0_ring_me){
		.rme_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.rme_portal = PORTAL,
		.rme_match_bits = bits,
		.rme_flags = flags,
	};
}

/* The last number of segments. */
static struct m0_ring_seg segs[M0_LNET_MD_SEGS_MAX];

static void md_fill(struct m0_shared_request *req, uint64_t at, uint64_t bytes,
		    uint32_t segs_nr, unsigned options, int32_t threshold)
{
	uint32_t i;

	for (i = 0; i < segs_nr; ++i)
		segs[i] = (struct m0_ring_seg){
			.rsg_region = 1,
			.rsg_offset = at + i * bytes,
			.rsg_bytes = bytes,
		};
	req->srq_segs = segs;
	req->srq_md = (struct m0_ring_md){
		.rmd_length = bytes * segs_nr,
		.rmd_threshold = threshold,
		.rmd_options = options,
		.rmd_eq = 1,
		.rmd_me = M0_RING_NR_NONE,
		.rmd_auto_unlink = 1,
		.rmd_segs_nr = segs_nr,
	};
}

static void entry_attach(uint32_t nr, uint64_t at, uint64_t bytes,
			 uint32_t segs_nr, unsigned options, int32_t threshold)
{
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_ENTRY_ATTACH,
					 .srq_nr = nr,
					 .srq_gen = gen + 1,
					 .srq_md_nr = nr,
					 .srq_md_gen = gen + 1 };

	++gen;
	me_fill(&req.srq_me, nr, M0_LNET_ME_UNLINK);
	md_fill(&req, at, bytes, segs_nr, options, threshold);
	req.srq_md.rmd_me = nr;
	req.srq_md.rmd_me_gen = gen;
	put(&req);
}

/* Number 50 and more: of an MD of its own. */
static void move(enum m0_shared_opcode opcode, uint32_t nr, uint64_t bits,
		 uint64_t at, uint64_t bytes, uint32_t segs_nr)
{
	struct m0_shared_request req = { .srq_opcode = opcode,
					 .srq_nr = nr,
					 .srq_gen = gen + 1,
					 .srq_md_nr = nr,
					 .srq_md_gen = gen + 1 };

	++gen;
	md_fill(&req, at, bytes, segs_nr, 0,
		opcode == M0_SHARED_BIND_GET ? 2 : 1);
	req.srq_op = (struct m0_ring_op){
		.rop_self = m0_lnet_nid_any,
		.rop_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		.rop_portal = PORTAL,
		.rop_match_bits = bits,
		.rop_hdr_data = 77,
		.rop_md = nr,
		.rop_md_gen = gen,
	};
	put(&req);
}

static int setup(void **state)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];

	(void)state;
	m0_lnet_cfg_default(&cfg);
	cfg.lc_inline = true;
	cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, "tcp(127.0.0.1)", why), 0);
	assert_int_equal(m0_lnet_open(&lnet, &cfg, why), 0);
	memset(area, 0, sizeof area);
	memset(region, 0, sizeof region);
	ended_nr = 0;
	assert_int_equal(m0_serve_init(&srv, lnet, &serve_cfg, area,
				       sizeof area, &server_host, NULL,
				       &serve_ops, NULL),
			 0);
	assert_int_equal(m0_shared_join(&client, area, sizeof area,
					&client_host, NULL, NULL),
			 0);
	eq_add(0, 0);
	result(0);
	region_do(M0_SHARED_REGION_ADD);
	result(0);
	return 0;
}

static int teardown(void **state)
{
	unsigned i;

	(void)state;
	m0_serve_end(&srv);
	for (i = 0; i < LOOKS_NR && ended_nr == 0; ++i)
		progress(1);
	assert_int_equal(ended_nr, 1);
	m0_serve_fini(&srv);
	m0_serve_tms_fini(&tms);
	m0_lnet_close(lnet);
	return 0;
}

/* The next `nr` reports, one of each kind, in whatever order. */
static void reports(struct m0_shared_report *ret, unsigned nr)
{
	struct m0_shared_report rep;
	unsigned                i;

	memset(ret, 0, M0_SHARED_KINDS_NR * sizeof *ret);
	while (nr-- > 0) {
		for (i = 0; i < LOOKS_NR && !get(&rep); ++i)
			progress(1);
		assert_true(i < LOOKS_NR);
		assert_int_equal(ret[rep.shp_kind].shp_kind, 0);
		ret[rep.shp_kind] = rep;
	}
}

/* A PUT and a GET of `segs_nr` segments, from the first half of the region to the
 * second, and back. */
static void moves(uint32_t segs_nr)
{
	struct m0_shared_report     reps[M0_SHARED_KINDS_NR];
	const struct m0_ring_event *ev;
	uint64_t                    half = REGION_BYTES / 2;
	size_t                      bytes = (size_t)segs_nr * 64;

	memset(region, 'a', bytes);
	entry_attach(3, half, 64, segs_nr, M0_LNET_MD_OP_PUT, 1);
	move(M0_SHARED_BIND_PUT, 50, 3, 0, 64, segs_nr);
	reports(reps, 3);
	assert_int_equal(reps[M0_SHARED_EV_SEND].shp_nr, 50);
	assert_true(reps[M0_SHARED_EV_SEND].shp_is_last);
	assert_true(reps[M0_SHARED_EV_SEND].shp_event.rev_unlinked);
	ev = &reps[M0_SHARED_EV_INCOMING].shp_event;
	assert_int_equal(ev->rev_type, M0_LNET_EV_PUT);
	assert_int_equal(ev->rev_md_nr, 3);
	assert_int_equal(ev->rev_hdr_data, 77);
	assert_int_equal(ev->rev_mlength, bytes);
	assert_true(ev->rev_unlinked);
	assert_int_equal(reps[M0_SHARED_ME_GONE].shp_nr, 3);
	assert_memory_equal(region, region + half, bytes);
	memset(region + half, 'b', bytes);
	entry_attach(3, half, 64, segs_nr, M0_LNET_MD_OP_GET, 1);
	move(M0_SHARED_BIND_GET, 50, 3, 0, 64, segs_nr);
	reports(reps, 4);
	assert_int_equal(reps[M0_SHARED_EV_RESPONSE].shp_event.rev_mlength,
			 bytes);
	assert_true(reps[M0_SHARED_EV_SEND].shp_is_last !=
		    reps[M0_SHARED_EV_RESPONSE].shp_is_last);
	assert_int_equal(reps[M0_SHARED_ME_GONE].shp_nr, 3);
	assert_memory_equal(region, region + half, bytes);
	assert_int_equal(srv.srv_mds_nr, 0);
	/* Nothing stays reserved. */
	assert_int_equal(srv.srv_side.shs_reserved_nr, 0);
}

static void messages_move(void **state)
{
	(void)state;
	moves(1);
	moves(4);
}

static void long_lists_move(void **state)
{
	(void)state;
	moves(M0_LNET_MD_SEGS_MAX);
}

/* An idle MD that is unlinked ends, and its ME with it. */
static void md_is_unlinked(void **state)
{
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_MD_UNLINK,
					 .srq_nr = 3 };

	(void)state;
	entry_attach(3, 0, 64, 1, M0_LNET_MD_OP_PUT, 1);
	req.srq_gen = gen;
	put(&req);
	assert_int_equal(report(M0_SHARED_EV_UNLINK).shp_event.rev_status, 0);
	assert_int_equal(report(M0_SHARED_ME_GONE).shp_nr, 3);
	/* Too late: it names nothing. */
	put(&req);
	no_report();
	assert_int_equal(srv.srv_side.shs_reserved_nr, 0);
}

/* An MD or operation that cannot begin ends, with the reason; the process can use its
 * number again. */
static void failures_are_events(void **state)
{
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_PUT,
					 .srq_nr = 9,
					 .srq_gen = 1 };
	struct m0_shared_report  rep;
	unsigned                 i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		/* Bytes beyond the region. */
		entry_attach(3, REGION_BYTES - 32, 64, 1, M0_LNET_MD_OP_PUT, 1);
		rep = report(M0_SHARED_EV_UNLINK);
		assert_int_equal(rep.shp_event.rev_status, -EFAULT);
		assert_true(rep.shp_event.rev_unlinked);
		assert_int_equal(report(M0_SHARED_ME_GONE).shp_nr, 3);
		move(M0_SHARED_BIND_PUT, 50, 3, REGION_BYTES, 64, 1);
		rep = report(M0_SHARED_EV_UNLINK);
		assert_int_equal(rep.shp_event.rev_status, -EFAULT);
		assert_int_equal(report(M0_SHARED_DONE).shp_nr, 50);
	}
	/* An MD that is not there. */
	req.srq_op = (struct m0_ring_op){
		.rop_self = m0_lnet_nid_any,
		.rop_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		.rop_portal = PORTAL,
		.rop_md = 7,
		.rop_md_gen = 1,
	};
	put(&req);
	rep = report(M0_SHARED_EV_SEND);
	assert_int_equal(rep.shp_event.rev_status, -ENOENT);
	assert_true(rep.shp_is_last);
	eq_add(0, 0);
	result(-EEXIST);
	assert_int_equal(srv.srv_side.shs_reserved_nr, 0);
}

static void me_attach(uint32_t nr)
{
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_ME_ATTACH,
					 .srq_nr = nr,
					 .srq_gen = 1 };

	me_fill(&req.srq_me, nr, 0);
	put(&req);
}

/* An MD for an ME, which ends at once. */
static void md_fails(uint32_t me, int status)
{
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_MD_ATTACH,
					 .srq_nr = 9,
					 .srq_gen = ++gen };

	md_fill(&req, 0, 64, 1, M0_LNET_MD_OP_PUT, 1);
	req.srq_md.rmd_me = me;
	req.srq_md.rmd_me_gen = 1;
	put(&req);
	assert_int_equal(report(M0_SHARED_EV_UNLINK).shp_event.rev_status,
			 status);
}

/* MDs for an ME that there was no memory for say so, also when there is memory again. */
static void me_without_memory_is_remembered(void **state)
{
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_ME_UNLINK,
					 .srq_nr = 4,
					 .srq_gen = 1 };
	struct m0_heap           heap;

	(void)state;
	progress(100);
	m0_heap_init(&heap);
	m0_heap_fail_at(&heap, 1);
	me_attach(3);
	assert_int_equal(report(M0_SHARED_ME_GONE).shp_nr, 3);
	assert_int_equal(m0_heap_failed_nr(&heap), 1);
	m0_heap_fini(&heap);
	md_fails(3, -ENOMEM);
	me_attach(4);
	progress(100);
	md_fails(3, -ENOMEM);
	put(&req);
	assert_int_equal(report(M0_SHARED_ME_GONE).shp_nr, 4);
	md_fails(4, -ENOENT);
	assert_int_equal(srv.srv_side.shs_reserved_nr, 0);
}

/* A process that takes no events gets no more messages than there is room for; those
 * that follow are dropped, and when it takes events it gets messages again. */
static void process_that_does_not_take_gets_no_more(void **state)
{
	struct m0_shared_report reps[M0_SHARED_KINDS_NR];
	struct m0_shared_report rep;
	unsigned                sent = 0;
	unsigned                got = 0;
	unsigned                i;

	(void)state;
	entry_attach(3, 0, 64, 1, M0_LNET_MD_OP_PUT | M0_LNET_MD_MANAGE_REMOTE,
		     M0_LNET_MD_THRESHOLD_INF);
	for (i = 0; i < 2 * INCOMING_MAX; ++i)
		move(M0_SHARED_BIND_PUT, 50 + i, 3, 0, 64, 1);
	progress(1000);
	while (get(&rep)) {
		sent += rep.shp_kind == M0_SHARED_EV_SEND;
		got += rep.shp_kind == M0_SHARED_EV_INCOMING;
	}
	assert_int_equal(sent, 2 * INCOMING_MAX);
	assert_int_equal(got, INCOMING_MAX);
	/* The queue's own count: the application has not taken them yet. */
	__atomic_store_n(&client.shs_eqs[0].seq_taken_nr, got,
			 __ATOMIC_RELAXED);
	move(M0_SHARED_BIND_PUT, 50, 3, 0, 64, 1);
	reports(reps, 2);
	assert_int_equal(client.shs_eqs[0].seq_dropped_nr, INCOMING_MAX);
}

/* A queue that takes less than the process may have. */
static void queue_is_bounded(void **state)
{
	struct m0_shared_report  rep;
	unsigned                 got = 0;
	unsigned                 i;
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_ENTRY_ATTACH,
					 .srq_nr = 4,
					 .srq_gen = 1,
					 .srq_md_nr = 4,
					 .srq_md_gen = 1 };

	(void)state;
	eq_add(2, 3);
	result(0);
	me_fill(&req.srq_me, 4, M0_LNET_ME_UNLINK);
	md_fill(&req, 0, 64, 1, M0_LNET_MD_OP_PUT | M0_LNET_MD_MANAGE_REMOTE,
		M0_LNET_MD_THRESHOLD_INF);
	req.srq_md.rmd_eq = 3;
	req.srq_md.rmd_me = 4;
	req.srq_md.rmd_me_gen = 1;
	put(&req);
	for (i = 0; i < 6; ++i)
		move(M0_SHARED_BIND_PUT, 50 + i, 4, 0, 64, 1);
	progress(1000);
	while (get(&rep))
		got += rep.shp_kind == M0_SHARED_EV_INCOMING;
	assert_int_equal(got, 3);
}

/* A process that ends, or dies, leaves nothing. */
static void end_leaves_nothing(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 20; ++i)
		entry_attach(i, 0, 64, 1, M0_LNET_MD_OP_PUT, 1);
	progress(100);
	assert_int_equal(srv.srv_mds_nr, 20);
	region_do(M0_SHARED_REGION_DEL);
	result(-EBUSY);
	m0_serve_end(&srv);
	for (i = 0; i < LOOKS_NR && ended_nr == 0; ++i)
		progress(1);
	assert_int_equal(srv.srv_mds_nr, 0);
	assert_int_equal(client.shs_words->shw_state.shl_word,
			 M0_SHARED_CLOSED);
}

/* A process asks for its end. */
static void close_ends(void **state)
{
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_CLOSE };
	unsigned                 i;

	(void)state;
	entry_attach(3, 0, 64, 1, M0_LNET_MD_OP_PUT, 1);
	put(&req);
	for (i = 0; i < LOOKS_NR && ended_nr == 0; ++i)
		progress(1);
	assert_int_equal(ended_nr, 1);
	assert_null(srv.srv_why.shy_field);
}

/* The attachment ends, with a reason. */
static void is_broken(const char *field)
{
	unsigned i;

	for (i = 0; i < LOOKS_NR && ended_nr == 0; ++i)
		progress(1);
	assert_int_equal(ended_nr, 1);
	assert_non_null(srv.srv_why.shy_field);
	assert_string_equal(srv.srv_why.shy_field, field);
}

static void number_in_use_breaks_the_rules(void **state)
{
	(void)state;
	entry_attach(3, 0, 64, 1, M0_LNET_MD_OP_PUT, 1);
	entry_attach(3, 0, 64, 1, M0_LNET_MD_OP_PUT, 1);
	is_broken("me");
}

static void garbage_breaks_the_rules(void **state)
{
	(void)state;
	assert_int_equal(m0_shared_reserve(&client, 1, NULL), 0);
	memset(m0_shared_slot(&client, 0), 0xee, M0_SHARED_DOWN_BYTES);
	m0_shared_commit(&client, 1);
	m0_shared_bell(&client);
	is_broken("opcode");
}

static void false_count_breaks_the_rules(void **state)
{
	(void)state;
	__atomic_store_n(&client.shs_eqs[0].seq_taken_nr, 5, __ATOMIC_RELAXED);
	m0_serve_wake(&srv);
	is_broken("eq_taken");
}

/* The answer of a request is in its record; what the process may not do is refused. */
static void requests_are_answered(void **state)
{
	struct m0_ring_control  *control = m0_shared_control(&client, 1);
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_CONTROL,
					 .srq_nr = 1,
					 .srq_gen = 1,
					 .srq_number = M0_RING_NIDS_GET };

	(void)state;
	control->rqc_verb = M0_RING_NIDS_GET;
	put(&req);
	assert_int_equal(report(M0_SHARED_ANSWER).shp_nr, 1);
	assert_true(control->rqc_rc >= 0);
	assert_int_equal(control->rqc_block_bytes,
			 2 * sizeof(struct m0_lnet_nid));
	assert_memory_equal(control->rqc_piece, &m0_lnet_nid_lo,
			    sizeof m0_lnet_nid_lo);
	M0_SET0(control);
	req.srq_number = control->rqc_verb = M0_RING_FAULT_RESET;
	put(&req);
	(void)report(M0_SHARED_ANSWER);
	assert_int_equal(control->rqc_rc, -EPERM);
}

/* Asks for a ping by record 1. */
static struct m0_ring_control *probe_put(const char *nid, uint64_t timeout_ms)
{
	struct m0_ring_control  *control = m0_shared_control(&client, 1);
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_CONTROL,
					 .srq_nr = 1,
					 .srq_gen = ++gen,
					 .srq_number = M0_RING_PROBE };

	M0_SET0(control);
	control->rqc_verb = M0_RING_PROBE;
	control->rqc_probe.rpb_kind = M0_LNET_PING;
	control->rqc_probe.rpb_self = m0_lnet_nid_any;
	control->rqc_probe.rpb_timeout_ms = timeout_ms;
	assert_int_equal(m0_lnet_nid_parse(&control->rqc_probe.rpb_nid, nid),
			 0);
	put(&req);
	return control;
}

static void probes_are_answered(void **state)
{
	const struct m0_ring_control *control;

	(void)state;
	control = probe_put("127.0.0.1@tcp", 5000);
	assert_int_equal(report(M0_SHARED_ANSWER).shp_gen, gen);
	assert_int_equal(control->rqc_rc, 0);
	assert_int_equal(control->rqc_probe.rpb_nids_nr, 1);
	/* The record may be used again, also for a probe that the node refuses. */
	control = probe_put("127.0.0.1@tcp", 5000);
	(void)report(M0_SHARED_ANSWER);
	assert_int_equal(control->rqc_rc, 0);
	srv.srv_cfg.svg_portals.vrs_nr = 0;
	control = probe_put("127.0.0.1@tcp", 5000);
	(void)report(M0_SHARED_ANSWER);
	assert_int_equal(control->rqc_rc, -EACCES);
	srv.srv_cfg.svg_right = M0_SHARED_RIGHT_QUERY;
	control = probe_put("127.0.0.1@tcp", 5000);
	(void)report(M0_SHARED_ANSWER);
	assert_int_equal(control->rqc_rc, -EPERM);
	assert_int_equal(srv.srv_slow_nr, 0);
	assert_int_equal(srv.srv_side.shs_reserved_nr, 0);
}

/* A record belongs to the server until its probe has ended. */
static void record_of_a_probe_breaks_the_rules(void **state)
{
	(void)state;
	(void)probe_put("127.0.0.7@tcp", 3600000);
	(void)probe_put("127.0.0.7@tcp", 3600000);
	is_broken("control");
	assert_int_equal(srv.srv_slow_nr, 0);
}

/* A process that ends does not wait for its probe, also if the node has yet to begin it. */
static void end_cancels_a_probe(void **state)
{
	m0_time_t began = m0_time_now();

	(void)state;
	(void)probe_put("127.0.0.7@tcp", 3600000);
	if (gen % 2 == 0)
		progress(100);
	m0_serve_end(&srv);
	while (ended_nr == 0 && m0_time_now() < began + M0_TIME_ONE_SECOND)
		progress(1);
	assert_int_equal(ended_nr, 1);
	assert_int_equal(srv.srv_slow_nr, 0);
}

static void end_cancels_a_probe_that_waits(void **state)
{
	++gen;
	end_cancels_a_probe(state);
}

static unsigned held_wait(uint64_t bits, bool answers)
{
	struct m0_shared_words *words = client.shs_words;
	uint32_t                recalls_nr = words->shw_state.shl_held;
	m0_time_t               end = m0_time_from_now(20, 0);

	while (srv.srv_runner.ru_is_held(&srv.srv_runner, PORTAL, bits)) {
		assert_true(m0_time_now() < end);
		if (answers)
			words->shw_client_holds.shl_incoming =
				words->shw_state.shl_held;
	}
	return words->shw_state.shl_held - recalls_nr;
}

/* A message waits a bounded time for MDs of a process that puts entries, or owes an answer. */
static void wait_for_held_mds_is_bounded(void **state)
{
	const uint64_t           bits = 5ULL << M0_SHARED_TMID_SHIFT;
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_TM_CLAIM,
					 .srq_tm = { PORTAL, 5 } };

	(void)state;
	put(&req);
	result(0);
	req = (struct m0_shared_request){ .srq_opcode = M0_SHARED_ME_ATTACH,
					  .srq_gen = 1 };
	me_fill(&req.srq_me, bits, M0_LNET_ME_QUEUE);
	put(&req);
	req.srq_opcode = M0_SHARED_QUEUE_NAME;
	req.srq_number = 77;
	put(&req);
	progress(10);
	client.shs_words->shw_client_holds.shl_held = 1;
	me_attach(7);
	assert_in_range(held_wait(bits, true), 1, 3);
	progress(10);
	assert_int_equal(held_wait(bits, false), 1);
	assert_int_equal(held_wait(bits, false), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest cases[] = {
		CASE(messages_move),
		CASE(wait_for_held_mds_is_bounded),
		CASE(long_lists_move),
		CASE(md_is_unlinked),
		CASE(failures_are_events),
		CASE(me_without_memory_is_remembered),
		CASE(process_that_does_not_take_gets_no_more),
		CASE(queue_is_bounded),
		CASE(end_leaves_nothing),
		CASE(close_ends),
		CASE(number_in_use_breaks_the_rules),
		CASE(garbage_breaks_the_rules),
		CASE(false_count_breaks_the_rules),
		CASE(requests_are_answered),
		CASE(probes_are_answered),
		CASE(record_of_a_probe_breaks_the_rules),
		CASE(end_cancels_a_probe),
		CASE(end_cancels_a_probe_that_waits),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
