/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The hostile other side of a shared area. The input is a program: the other side
 * writes anywhere, at any time; between its writes this side, a server or a client,
 * takes what is there. Nothing may be read or written outside of the area, no assertion
 * may fail, all that is accepted lies within the bounds of the configuration, and
 * our encoder makes the same bytes of it.
 */
#include "lib/fuzz.h"
#include "ring/shared_entry.h"

enum {
	STEPS_MAX = 200,
	TAKES_MAX = 8
};

/** Actions of the other side, and of this one. */
enum action {
	/** A number goes to an offset. */
	ACT_WRITE,
	/** Entries go where this side expects the next ones, and are put. */
	ACT_PUT,
	/** An index or a sleep word gets a number. */
	ACT_WORD,
	ACT_TAKE,
	ACT_INCOMING,
	ACT_SLEEP,
	ACT_CONTROL,
	ACT_JOIN,
	ACTIONS_NR
};

struct story {
	struct m0_shared_side    sto_side;
	struct m0_shared_side    sto_encoder;
	struct m0_shared_request sto_req;
	struct m0_shared_report  sto_rep;
	struct m0_ring_seg       sto_segs[M0_LNET_MD_SEGS_MAX];
	struct m0_ring_control   sto_control;
	char                    *sto_area;
	uint64_t                 sto_bytes;
	bool                     sto_is_over;
};

static const struct m0_shared_cfg cfg = {
	.shc_down_nr = 128,
	.shc_up_nr = 128,
	.shc_reserved_nr = 64,
	.shc_incoming_nr = 64,
	.shc_portals_nr = 64,
	.shc_mes_max = 8,
	.shc_mds_max = 8,
	.shc_ops_max = 8,
	.shc_eqs_max = 2,
	.shc_regions_max = 4,
	.shc_controls_nr = 2,
	.shc_control_bytes = sizeof(struct m0_ring_control),
};

static void no_wake(void *arg)
{
	(void)arg;
}

static int no_wait(void *arg, m0_time_t deadline)
{
	(void)arg;
	(void)deadline;
	return -ETIMEDOUT;
}

static bool is_alive(void *arg)
{
	(void)arg;
	return false;
}

static const struct m0_shared_host host = {
	.shh_wake = no_wake,
	.shh_wait = no_wait,
	.shh_is_dead = is_alive,
};

static char *area_new(uint64_t bytes)
{
	char *area = aligned_alloc(64, bytes);

	M0_ASSERT(area != NULL);
	memset(area, 0, bytes);
	return area;
}

/* ---------------------------------------------------------- the other side -- */

static void act_write(struct story *sto, struct fuzz_in *in)
{
	uint64_t at = fuzz_number(in, 3) % (sto->sto_bytes - 8);
	uint64_t number = fuzz_number(in, 8);

	memcpy(sto->sto_area + at, &number, 1 + at % 8);
}

static void act_put(struct story *sto, struct fuzz_in *in)
{
	const struct m0_shared_in *queue = &sto->sto_side.shs_in;
	uint32_t                   nr = fuzz_byte(in) % queue->shi_nr;
	uint32_t                   i;

	for (i = 0; i < nr && in->fi_left > 0; ++i) {
		uint32_t at = (queue->shi_taken_nr + i) & (queue->shi_nr - 1);
		size_t   bytes = (size_t)min64u(in->fi_left, queue->shi_bytes);

		memcpy((char *)(uintptr_t)queue->shi_entries +
			       (size_t)at * queue->shi_bytes,
		       in->fi_at, bytes);
		in->fi_at += bytes;
		in->fi_left -= bytes;
	}
	*queue->shi_put = queue->shi_taken_nr + nr;
}

static void act_word(struct story *sto, struct fuzz_in *in)
{
	struct m0_shared_side *side = &sto->sto_side;
	uint32_t *words[] = { side->shs_in.shi_put, side->shs_out.sot_taken,
			      side->shs_other_sleeps, side->shs_sleeps,
			      &side->shs_words->shw_up_taken.shl_incoming };
	uint32_t *word = words[fuzz_byte(in) % ARRAY_SIZE(words)];

	/* Most numbers are near to what they were. */
	*word += fuzz_byte(in) - 128U;
}

/* --------------------------------------------------------------- this side -- */

static void req_check(const struct story *sto)
{
	const struct m0_shared_request *req = &sto->sto_req;
	uint8_t                         body = m0_shared__row_of(req)->shr_body;
	uint64_t                        sum = 0;
	uint32_t                        i;

	if (!m0_shared__has_md(body))
		return;
	M0_ASSERT(req->srq_md_nr < cfg.shc_mds_max);
	M0_ASSERT(req->srq_md.rmd_eq <= cfg.shc_eqs_max);
	M0_ASSERT(req->srq_md.rmd_me == M0_RING_NR_NONE ||
		  req->srq_md.rmd_me < cfg.shc_mes_max);
	M0_ASSERT(req->srq_md.rmd_segs_nr <= M0_LNET_MD_SEGS_MAX);
	for (i = 0; i < req->srq_md.rmd_segs_nr; ++i) {
		M0_ASSERT(req->srq_segs[i].rsg_region >= 1 &&
			  req->srq_segs[i].rsg_region <= cfg.shc_regions_max);
		sum += req->srq_segs[i].rsg_bytes;
	}
	M0_ASSERT(req->srq_md.rmd_length <= sum);
}

/* The encoder makes the entries that were accepted. */
static void req_encode(struct story *sto, const struct m0_shared_down *entries,
		       uint32_t nr)
{
	struct m0_shared_side *side = &sto->sto_encoder;
	uint32_t               i;

	M0_ASSERT(m0_shared_request_entries(&sto->sto_req) == nr);
	M0_ASSERT(m0_shared_request_put(side, &sto->sto_req) == nr);
	for (i = 0; i < nr; ++i)
		M0_ASSERT(memcmp(m0_shared_slot(side, i), &entries[i],
				 sizeof entries[i]) == 0);
}

static void server_answer(struct story *sto)
{
	struct m0_shared_side *side = &sto->sto_side;
	uint32_t               nr = m0_shared_events_nr(&sto->sto_req);
	int                    rc = m0_shared_owe(side, nr, NULL);

	M0_ASSERT(rc == 0 || rc == -EPROTO);
	if (rc == 0 && nr > 0) {
		rc = m0_shared_owed(side, NULL);
		M0_ASSERT(rc == 0 || rc == -EPROTO);
	}
	if (rc == 0 && nr > 0) {
		sto->sto_rep.shp_kind = M0_SHARED_DONE;
		m0_shared_report_put(side, &sto->sto_rep);
		m0_shared_commit(side, 1);
		m0_shared_forgive(side, nr - 1);
	}
	sto->sto_is_over = rc != 0;
}

static void server_take(struct story *sto)
{
	static struct m0_shared_down entries[M0_SHARED_GROUP_MAX];
	struct m0_shared_side       *side = &sto->sto_side;
	struct m0_shared_why         why = { 0 };
	char                         text[256];
	int                          ready_nr = m0_shared_ready(side, NULL);
	int                          rc;
	int                          i;

	for (i = 0; i < ready_nr && i < M0_SHARED_GROUP_MAX; ++i)
		m0_shared_peek(side, (uint32_t)i, &entries[i]);
	rc = m0_shared_request_get(side, &sto->sto_req, &why);
	M0_ASSERT(rc >= 0 || rc == -EPROTO);
	if (rc < 0) {
		M0_ASSERT(why.shy_field != NULL);
		(void)m0_shared_why_print(&why, text, sizeof text);
		sto->sto_is_over = true;
	}
	if (rc <= 0)
		return;
	M0_ASSERT(rc <= ready_nr);
	req_check(sto);
	req_encode(sto, entries, (uint32_t)rc);
	m0_shared_release(side, (uint32_t)rc, 0);
	server_answer(sto);
}

static void client_take(struct story *sto)
{
	struct m0_shared_side *side = &sto->sto_side;
	struct m0_shared_up    entry;
	struct m0_shared_why   why = { 0 };
	int                    rc;

	if (m0_shared_ready(side, NULL) > 0)
		m0_shared_peek(side, 0, &entry);
	rc = m0_shared_report_get(side, &sto->sto_rep, &why);
	M0_ASSERT(rc == 0 || rc == 1 || rc == -EPROTO);
	sto->sto_is_over = rc < 0;
	M0_ASSERT((rc < 0) == (why.shy_field != NULL));
	if (rc <= 0)
		return;
	m0_shared_report_put(&sto->sto_encoder, &sto->sto_rep);
	M0_ASSERT(memcmp(m0_shared_slot(&sto->sto_encoder, 0), &entry,
			 sizeof entry) == 0);
	m0_shared_release(side, 1,
			  sto->sto_rep.shp_kind == M0_SHARED_EV_INCOMING);
}

static bool is_server(const struct story *sto)
{
	return sto->sto_side.shs_role == M0_SHARED_SERVER;
}

static void act_take(struct story *sto)
{
	unsigned i;

	for (i = 0; i < TAKES_MAX && !sto->sto_is_over; ++i)
		if (is_server(sto))
			server_take(sto);
		else
			client_take(sto);
	m0_shared_bell(&sto->sto_side);
}

/* An event of an incoming message; an operation of a client. */
static void act_own(struct story *sto)
{
	struct m0_shared_side *side = &sto->sto_side;
	int                    rc;

	rc = is_server(sto) ? m0_shared_incoming(side, NULL)
			    : m0_shared_reserve(side, 1, NULL);
	M0_ASSERT(rc == 0 || rc == -EAGAIN || rc == -EPROTO);
	if (rc == 0) {
		memset(m0_shared_slot(side, 0), 0, side->shs_out.sot_bytes);
		if (is_server(sto))
			m0_shared_incoming_commit(side);
		else
			m0_shared_commit(side, 1);
	}
	sto->sto_is_over = rc == -EPROTO;
}

static void act_control(struct story *sto, struct fuzz_in *in)
{
	uint32_t nr = fuzz_byte(in) % cfg.shc_controls_nr;
	uint32_t verb = fuzz_byte(in);
	int      rc;

	if (!is_server(sto))
		return;
	rc = m0_shared_control_get(&sto->sto_side, nr, verb, &sto->sto_control,
				   NULL);
	M0_ASSERT(rc == 0 || rc == -EPROTO);
	if (rc == 0)
		M0_ASSERT(sto->sto_control.rqc_verb == verb);
}

static void act_join(struct story *sto)
{
	struct m0_shared_side side;
	int                   rc;

	rc = m0_shared_join(&side, sto->sto_area, sto->sto_bytes, &host, NULL,
			    NULL);
	M0_ASSERT(rc == 0 || rc == -EPROTO);
	if (rc == 0 && m0_shared_bytes(&side.shs_cfg) > sto->sto_bytes)
		abort();
}

static void act(struct story *sto, struct fuzz_in *in)
{
	switch ((enum action)(fuzz_byte(in) % ACTIONS_NR)) {
	case ACT_WRITE:
		act_write(sto, in);
		break;
	case ACT_PUT:
		act_put(sto, in);
		break;
	case ACT_WORD:
		act_word(sto, in);
		break;
	case ACT_TAKE:
		act_take(sto);
		break;
	case ACT_INCOMING:
		act_own(sto);
		break;
	case ACT_SLEEP:
		(void)m0_shared_sleep(&sto->sto_side,
				      M0_SHARED_ENTRIES | M0_SHARED_ROOM, 0);
		break;
	case ACT_CONTROL:
		act_control(sto, in);
		break;
	case ACT_JOIN:
	default:
		act_join(sto);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct story   sto;
	struct m0_shared_side other;
	struct fuzz_in        in = { data, size };
	char                 *scratch;
	unsigned              i;
	bool                  server = fuzz_byte(&in) % 2 == 0;

	M0_SET0(&sto);
	sto.sto_bytes = m0_shared_bytes(&cfg);
	sto.sto_area = area_new(sto.sto_bytes);
	scratch = area_new(sto.sto_bytes);
	sto.sto_req.srq_segs = sto.sto_segs;
	M0_ASSERT(m0_shared_make(server ? &sto.sto_side : &other, sto.sto_area,
				 sto.sto_bytes, &cfg, &host, NULL, NULL) == 0);
	M0_ASSERT(m0_shared_make(server ? &other : &sto.sto_encoder, scratch,
				 sto.sto_bytes, &cfg, &host, NULL, NULL) == 0);
	M0_ASSERT(m0_shared_join(server ? &sto.sto_encoder : &sto.sto_side,
				 server ? scratch : sto.sto_area, sto.sto_bytes,
				 &host, NULL, NULL) == 0);
	for (i = 0; i < STEPS_MAX && in.fi_left > 0 && !sto.sto_is_over; ++i)
		act(&sto, &in);
	free(scratch);
	free(sto.sto_area);
	return 0;
}
