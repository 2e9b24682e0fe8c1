/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copies from one process to another. The node has matched a message, and asks for a copy of
 * its payload: the process that owns the target makes it, if both ends lie in regions whose
 * homes the daemon knows. The daemon sends COPY to that process, which answers by COPY_DONE.
 * All of this file runs on the node's thread.
 */
#include "serve/serve_internal.h"

enum {
	/** Shorter payloads are copied sooner than somebody is woken. */
	COPY_BYTES_MIN = 64 << 10
};

/* ----------------------------------------------------------------- index -- */

/* The first region that lies behind the address. */
static uint32_t index_behind(const struct m0_serve_copies *all, uintptr_t addr)
{
	uint32_t from = 0;
	uint32_t end = all->vcs_nr;

	while (from < end) {
		uint32_t mid = from + (end - from) / 2;

		if (all->vcs_spans[mid].vsp_addr <= addr)
			from = mid + 1;
		else
			end = mid;
	}
	return from;
}

static bool index_grow(struct m0_serve_copies *all)
{
	uint32_t              max = all->vcs_max == 0 ? 16 : 2 * all->vcs_max;
	struct m0_serve_span *spans;

	if (all->vcs_nr < all->vcs_max)
		return true;
	M0_ALLOC_ARR(spans, max);
	if (spans == NULL)
		return false;
	if (all->vcs_nr > 0)
		memcpy(spans, all->vcs_spans, all->vcs_nr * sizeof spans[0]);
	m0_free(all->vcs_spans);
	all->vcs_spans = spans;
	all->vcs_max = max;
	return true;
}

static void index_del(struct m0_serve_copies *all, uint32_t i)
{
	M0_PRE(i < all->vcs_nr);
	memmove(&all->vcs_spans[i], &all->vcs_spans[i + 1],
		(all->vcs_nr - i - 1) * sizeof all->vcs_spans[0]);
	--all->vcs_nr;
}

void m0_serve__copy_region_add(struct m0_serve *srv, uint32_t nr)
{
	struct m0_serve_copies        *all = srv->srv_cfg.svg_copies;
	const struct m0_shared_region *region =
		&srv->srv_regions.srs_regions[nr - 1];
	struct m0_serve_span span = { .vsp_addr = (uintptr_t)region->srg_addr,
				      .vsp_bytes = region->srg_bytes,
				      .vsp_serve = srv,
				      .vsp_nr = nr };
	uint32_t             at;

	if (all == NULL || srv->srv_ops->svo_home == NULL ||
	    !srv->srv_ops->svo_home(srv, nr, &span.vsp_home))
		return;
	/* Without memory the daemon copies. */
	if (!index_grow(all))
		return;
	at = index_behind(all, span.vsp_addr);
	memmove(&all->vcs_spans[at + 1], &all->vcs_spans[at],
		(all->vcs_nr - at) * sizeof span);
	all->vcs_spans[at] = span;
	++all->vcs_nr;
}

void m0_serve__copy_region_del(struct m0_serve *srv, const void *addr)
{
	struct m0_serve_copies *all = srv->srv_cfg.svg_copies;
	uint32_t                at;

	if (all == NULL)
		return;
	/* The index has no region of a process that did not give its home. */
	at = index_behind(all, (uintptr_t)addr);
	if (at > 0 && all->vcs_spans[at - 1].vsp_addr == (uintptr_t)addr)
		index_del(all, at - 1);
}

/* The region that has the address; NULL: none of any process. @param ret_bytes  from there on. */
static const struct m0_serve_span *span_at(const struct m0_serve_copies *all,
					   const void                   *at,
					   m0_bcount_t *ret_bytes)
{
	uintptr_t                   addr = (uintptr_t)at;
	uint32_t                    i = index_behind(all, addr);
	const struct m0_serve_span *span;

	if (i == 0)
		return NULL;
	span = &all->vcs_spans[i - 1];
	if (addr - span->vsp_addr >= span->vsp_bytes)
		return NULL;
	*ret_bytes = span->vsp_bytes - (addr - span->vsp_addr);
	return span;
}

/* ---------------------------------------------------------------- pieces -- */

/* A place in a vector. */
struct at {
	const struct m0_bufvec *at_vec;
	uint32_t                at_seg;
	m0_bcount_t             at_offset;
};

static void at_move(struct at *at, m0_bcount_t nr)
{
	const struct m0_bufvec *vec = at->at_vec;

	at->at_offset += nr;
	while (at->at_seg < vec->ov_vec.v_nr &&
	       at->at_offset >= vec->ov_vec.v_count[at->at_seg])
		at->at_offset -= vec->ov_vec.v_count[at->at_seg++];
}

static char *at_addr(const struct at *at, m0_bcount_t *ret_bytes)
{
	const struct m0_bufvec *vec = at->at_vec;

	if (at->at_seg >= vec->ov_vec.v_nr)
		return NULL;
	*ret_bytes = vec->ov_vec.v_count[at->at_seg] - at->at_offset;
	return (char *)vec->ov_buf[at->at_seg] + at->at_offset;
}

/* The pieces of a copy, and the processes at its ends. */
struct plan {
	struct m0_shared_copy pln_copy;
	struct m0_serve      *pln_to;
	struct m0_serve      *pln_from;
};

/* Does the piece go on where the last one ends? */
static bool piece_joins(const struct m0_shared_copy  *copy,
			const struct m0_shared_piece *piece)
{
	const struct m0_shared_piece *last;

	if (copy->scp_pieces_nr == 0)
		return false;
	last = &copy->scp_pieces[copy->scp_pieces_nr - 1];
	return last->spe_region == piece->spe_region &&
	       last->spe_offset + last->spe_bytes == piece->spe_offset &&
	       last->spe_from + last->spe_bytes == piece->spe_from;
}

static bool plan_add(struct plan *plan, const struct m0_serve_span *to,
		     const struct m0_serve_span   *from,
		     const struct m0_shared_piece *piece)
{
	struct m0_shared_copy *copy = &plan->pln_copy;

	if (copy->scp_pieces_nr == 0) {
		plan->pln_to = to->vsp_serve;
		plan->pln_from = from->vsp_serve;
		copy->scp_pid = from->vsp_home.vhm_pid;
		copy->scp_cookie_at = from->vsp_home.vhm_cookie_at;
		memcpy(copy->scp_cookie, from->vsp_home.vhm_cookie,
		       sizeof copy->scp_cookie);
	}
	if (plan->pln_to != to->vsp_serve || plan->pln_from != from->vsp_serve)
		return false;
	if (piece_joins(copy, piece)) {
		copy->scp_pieces[copy->scp_pieces_nr - 1].spe_bytes +=
			piece->spe_bytes;
		return true;
	}
	if (copy->scp_pieces_nr == M0_SHARED_PIECES_MAX)
		return false;
	copy->scp_pieces[copy->scp_pieces_nr++] = *piece;
	return true;
}

/* @return false: the daemon is to copy. */
static bool plan_make(const struct m0_serve_copies *all,
		      const struct m0_copier_job *job, struct plan *plan)
{
	struct at   to = { .at_vec = job->cjo_to };
	struct at   from = { .at_vec = job->cjo_from };
	m0_bcount_t left = job->cjo_bytes;

	M0_SET0(plan);
	at_move(&to, job->cjo_to_at);
	at_move(&from, job->cjo_from_at);
	while (left > 0) {
		m0_bcount_t bytes[4] = { 0 };
		const char *to_addr = at_addr(&to, &bytes[0]);
		const char *from_addr = at_addr(&from, &bytes[1]);
		const struct m0_serve_span *to_span;
		const struct m0_serve_span *from_span;
		struct m0_shared_piece      piece;
		m0_bcount_t                 nr;

		if (to_addr == NULL || from_addr == NULL)
			return false;
		to_span = span_at(all, to_addr, &bytes[2]);
		from_span = span_at(all, from_addr, &bytes[3]);
		if (to_span == NULL || from_span == NULL)
			return false;
		nr = min64u(left, min64u(min64u(bytes[0], bytes[1]),
					 min64u(bytes[2], bytes[3])));
		piece = (struct m0_shared_piece){
			.spe_from =
				from_span->vsp_home.vhm_addr +
				((uintptr_t)from_addr - from_span->vsp_addr),
			.spe_offset = (uintptr_t)to_addr - to_span->vsp_addr,
			.spe_region = to_span->vsp_nr,
			.spe_bytes = (uint32_t)nr,
		};
		if (!plan_add(plan, to_span, from_span, &piece))
			return false;
		at_move(&to, nr);
		at_move(&from, nr);
		left -= nr;
	}
	return plan->pln_copy.scp_pieces_nr > 0;
}

/* ------------------------------------------------------------------ copy -- */

static bool is_open(const struct m0_serve *srv)
{
	return srv->srv_state == M0_SERVE_OPEN &&
	       srv->srv_why.shy_field == NULL;
}

/*
 * May the owner of the target know where the other process has its bytes, and read them? A
 * process of root may not read from one of another user: that one may have become a program
 * with more rights by exec, and only root could read it then.
 */
static bool may_read(const struct m0_serve *to, const struct m0_serve *from)
{
	const struct m0_shared_host *host = to->srv_side.shs_host;
	struct m0_shared_creds       reader;
	struct m0_shared_creds       owner;

	return host->shh_creds(to->srv_side.shs_host_arg, &reader) == 0 &&
	       host->shh_creds(from->srv_side.shs_host_arg, &owner) == 0 &&
	       reader.scr_uid == owner.scr_uid;
}

/* One bit stands for several processes: a copy that would succeed may not be asked for. */
static uint64_t unreadable_bit(const struct m0_serve *from)
{
	return UINT64_C(1) << (from->srv_serial % 64);
}

static struct m0_serve_copy *copy_free(struct m0_serve *srv)
{
	unsigned i = 0;

	while (i < ARRAY_SIZE(srv->srv_copies) &&
	       srv->srv_copies[i].vcy_state != M0_SERVE_COPY_FREE)
		++i;
	return i == ARRAY_SIZE(srv->srv_copies) ? NULL : &srv->srv_copies[i];
}

/* Room for an entry, which takes the place of an incoming message. */
static bool room_take(struct m0_serve *srv)
{
	int rc = m0_serve__eqs_taken(srv);

	if (rc == 0)
		rc = m0_shared_incoming(&srv->srv_side, &srv->srv_why);
	/* The runner ends the attachment of one that breaks the rules. */
	if (rc == -EPROTO)
		m0_lnet_runner_wake(srv->srv_lnet, &srv->srv_runner);
	return rc == 0 && m0_front_eq_accept(&srv->srv_all);
}

static uint64_t copy_begin(struct m0_copier           *copier,
			   const struct m0_copier_job *job)
{
	const struct m0_serve_copies *all =
		container_of(copier, struct m0_serve_copies, vcs_copier);
	struct m0_shared_report rep = { .shp_kind = M0_SHARED_COPY };
	struct m0_serve_copy   *copy;
	struct m0_serve        *srv;
	struct plan             plan;

	if (!plan_make(all, job, &plan))
		return 0;
	srv = plan.pln_to;
	if (!is_open(srv) || !is_open(plan.pln_from) ||
	    (srv->srv_unreadable & unreadable_bit(plan.pln_from)) != 0 ||
	    !may_read(srv, plan.pln_from))
		return 0;
	copy = copy_free(srv);
	if (copy == NULL || !room_take(srv))
		return 0;
	copy->vcy_state = M0_SERVE_COPY_AWAY;
	if (++copy->vcy_gen == 0)
		++copy->vcy_gen;
	copy->vcy_from_bit = unreadable_bit(plan.pln_from);
	copy->vcy_job = *job;
	rep.shp_nr = (uint32_t)(copy - srv->srv_copies);
	rep.shp_gen = copy->vcy_gen;
	rep.shp_copy = plan.pln_copy;
	m0_shared_report_put(&srv->srv_side, &rep);
	m0_shared_incoming_commit(&srv->srv_side);
	m0_shared_bell(&srv->srv_side);
	return (uint64_t)(uintptr_t)copy;
}

static void copy_cancel(struct m0_copier *copier, uint64_t nr)
{
	struct m0_serve_copy *copy = (struct m0_serve_copy *)(uintptr_t)nr;

	(void)copier;
	M0_PRE(copy->vcy_state == M0_SERVE_COPY_AWAY);
	copy->vcy_state = M0_SERVE_COPY_CANCELLED;
}

/* Only this thread writes the counter. */
static void count(uint64_t *counter, uint64_t nr)
{
	__atomic_store_n(counter, *counter + nr, __ATOMIC_RELAXED);
}

void m0_serve__near_count(struct m0_serve *srv, const struct m0_lnet_event *ev)
{
	uint64_t copied;

	if (!M0_IN(ev->ev_type, (M0_LNET_EV_PUT, M0_LNET_EV_REPLY)) ||
	    !m0_lnet_nid_is_lo(&ev->ev_sender))
		return;
	copied = min64u(ev->ev_mlength, srv->srv_due_bytes);
	srv->srv_due_bytes -= copied;
	/* A message that was aborted may have been copied before: it is due no more. */
	if (ev->ev_status == 0)
		count(&srv->srv_daemon_bytes, ev->ev_mlength - copied);
}

/* Counts the answer to a copy that was asked for. */
static void outcome_count(struct m0_serve            *srv,
			  const struct m0_serve_copy *copy, uint64_t error)
{
	if (error != 0) {
		count(&srv->srv_fell_back_nr, 1);
	} else if (copy->vcy_state == M0_SERVE_COPY_AWAY) {
		count(&srv->srv_copied_bytes, copy->vcy_job.cjo_bytes);
		srv->srv_due_bytes += copy->vcy_job.cjo_bytes;
	}
	if (M0_IN(error, (EPERM, ENOSYS)))
		srv->srv_unreadable |= copy->vcy_from_bit;
}

int m0_serve__copy_done(struct m0_serve *srv)
{
	const struct m0_shared_request *req = &srv->srv_req;
	enum m0_serve_copy_state        state;
	struct m0_serve_copy           *copy;

	M0_PRE(req->srq_nr < M0_SHARED_COPIES_MAX);
	copy = &srv->srv_copies[req->srq_nr];
	state = copy->vcy_state;
	if (state == M0_SERVE_COPY_FREE || copy->vcy_gen != req->srq_gen)
		return m0_serve__broken(srv, "copy", req->srq_nr,
					"a copy that has no answer");
	outcome_count(srv, copy, req->srq_number);
	copy->vcy_state = M0_SERVE_COPY_FREE;
	if (state == M0_SERVE_COPY_AWAY) {
		copy->vcy_job.cjo_done(copy->vcy_job.cjo_user,
				       -(int)req->srq_number);
		m0_front_copied(srv->srv_lnet);
	}
	return 0;
}

void m0_serve__copies_begin(struct m0_serve *srv)
{
	struct m0_serve_copies *all = srv->srv_cfg.svg_copies;

	if (all == NULL || srv->srv_serial != 0)
		return;
	srv->srv_serial = ++all->vcs_serial;
	if (all->vcs_users_nr++ == 0)
		all->vcs_copier = (struct m0_copier){
			.cpr_bytes_min = all->vcs_bytes_min == 0
						 ? COPY_BYTES_MIN
						 : all->vcs_bytes_min,
			.cpr_begin = copy_begin,
			.cpr_cancel = copy_cancel,
		};
	/* Another daemon on the same node may have ended. */
	m0_front_copier_set(srv->srv_lnet, &all->vcs_copier);
}

void m0_serve__copies_cut(struct m0_serve *srv)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(srv->srv_copies); ++i) {
		struct m0_serve_copy *copy = &srv->srv_copies[i];

		if (copy->vcy_state == M0_SERVE_COPY_AWAY) {
			copy->vcy_job.cjo_done(copy->vcy_job.cjo_user,
					       -ESHUTDOWN);
			m0_front_copied(srv->srv_lnet);
		}
		copy->vcy_state = M0_SERVE_COPY_FREE;
	}
}

void m0_serve__copies_end(struct m0_serve *srv)
{
	struct m0_serve_copies *all = srv->srv_cfg.svg_copies;
	uint32_t                left_nr = 0;
	uint32_t                i;

	if (all == NULL || srv->srv_serial == 0)
		return;
	for (i = 0; i < all->vcs_nr; ++i) {
		if (all->vcs_spans[i].vsp_serve != srv)
			all->vcs_spans[left_nr++] = all->vcs_spans[i];
	}
	all->vcs_nr = left_nr;
	M0_PRE(all->vcs_users_nr > 0);
	if (--all->vcs_users_nr == 0)
		m0_front_copier_clear(srv->srv_lnet, &all->vcs_copier);
}

void m0_serve_copies_fini(struct m0_serve_copies *all)
{
	M0_PRE(all->vcs_users_nr == 0 && all->vcs_nr == 0);
	m0_free0(&all->vcs_spans);
}
