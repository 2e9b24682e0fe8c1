/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Processes that are attached to daemons, and crash, and daemons that crash, at random
 * moments. Two hosts with a daemon each, and up to three processes on each, put and get
 * between all of them. The first process of a daemon also has a transfer machine.
 *
 * The test requires in each run: each MD ends once, and each operation has SEND once and an
 * answer at most once; a process that lives gets the ends of its operations within a bound;
 * the data that arrived is the data that was sent; a daemon holds nothing for processes that
 * are gone, and others may claim their numbers; a process that attaches again has its memory
 * and its number; payloads are copied by processes, too, as they are without crashes; a machine
 * whose daemon crashes FAILED, once,
 * after its buffer has ended once.
 */
#include "attached.h"

struct m0_sim     *sim;
struct sums        sums;
static struct host hosts[HOSTS_NR];
static bool        pumps;
/** Until then a PUT may be that of a process which has scribbled over its header data. */
static m0_time_t lies_until;

static unsigned draw(unsigned bound)
{
	return (unsigned)m0_sim_rand(sim, bound);
}

/* ------------------------------------------------------------------- waits -- */

static void pump(void)
{
	unsigned i;

	pumps = true;
	for (i = 0; i < HOSTS_NR * PROCS_NR; ++i) {
		struct proc *p = &hosts[i / PROCS_NR].h_proc[i % PROCS_NR];

		if (p->p_is_up && m0_lnet_is_inline(p->p_lnet))
			(void)m0_lnet_progress(p->p_lnet);
	}
	pumps = false;
}

bool wait_ms(bool (*cond)(void *arg), void *arg, unsigned ms)
{
	m0_time_t until = m0_sim_now(sim) + ms * M0_TIME_ONE_MSEC;

	for (;;) {
		pump();
		if (cond(arg))
			return true;
		if (m0_sim_now(sim) >= until)
			return false;
		(void)m0_sim_run_until(sim, cond, arg, 200 * M0_TIME_ONE_USEC);
	}
}

/* ------------------------------------------------------------------ events -- */

static char byte_of(uint64_t bits, m0_bcount_t i)
{
	return (char)(bits * 31 + (bits >> 8) + i * 7);
}

static void data_check(const struct md *md, const struct m0_lnet_event *ev,
		       uint64_t bits)
{
	const char *at = md->m_buf;
	m0_bcount_t i;

	for (i = 0; i < ev->ev_mlength; ++i)
		MUST(at[ev->ev_offset + i] == byte_of(bits, i),
		     "byte %lu of what came to %lx is wrong", (unsigned long)i,
		     (unsigned long)md->m_bits);
}

static void event(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct md   *md = ev->ev_md_user;
	struct proc *p = eq->eq_user;

	MUST(md->m_proc == p && md->m_kind != FREE && md->m_ended_nr == 0,
	     "an event of an MD that has ended");
	md->m_send_nr += ev->ev_type == M0_LNET_EV_SEND;
	md->m_answer_nr += ev->ev_type == M0_LNET_EV_ACK ||
			   ev->ev_type == M0_LNET_EV_REPLY;
	md->m_ended_nr += ev->ev_unlinked;
	MUST(!md->m_has_failed || ev->ev_type == M0_LNET_EV_UNLINK,
	     "an event after an operation that has failed");
	md->m_has_failed = ev->ev_status != 0 && M0_IN(md->m_kind, (PUT, GET));
	MUST(md->m_send_nr <= 1 && md->m_answer_nr <= 1, "%u SENDs, %u answers",
	     md->m_send_nr, md->m_answer_nr);
	sums.s_shut_nr += ev->ev_status == -ESHUTDOWN;
	if (m0_sim_process_is_dead(p->p_lnet) || p->p_scribbled)
		return;
	if (ev->ev_status == 0 && ev->ev_type == M0_LNET_EV_PUT &&
	    m0_sim_now(sim) >= lies_until)
		data_check(md, ev, ev->ev_hdr_data);
	if (ev->ev_status == 0 && ev->ev_type == M0_LNET_EV_REPLY)
		data_check(md, ev, md->m_bits);
	sums.s_good_nr += ev->ev_status == 0;
	if (!p->p_dies_in_callback)
		return;
	++sums.s_amid_nr;
	m0_sim_process_crash(p->p_lnet);
}

/* --------------------------------------------------------------- operations -- */

static struct md *md_new(struct proc *p, enum kind kind)
{
	struct md *md = &p->p_md[draw(MDS_NR)];

	if (md->m_kind != FREE && md->m_ended_nr == 0)
		return NULL;
	*md = (struct md){ .m_proc = p, .m_kind = kind };
	md->m_buf = p->p_mem + (size_t)(md - p->p_md) * MD_BYTES;
	md->m_bytes = 1 + draw(MD_BYTES);
	md->m_vec.ov_buf = &md->m_buf;
	md->m_vec.ov_vec.v_count = &md->m_bytes;
	md->m_vec.ov_vec.v_nr = 1;
	return md;
}

static void fill(struct md *md, uint64_t bits)
{
	m0_bcount_t i;

	for (i = 0; i < md->m_bytes; ++i)
		((char *)md->m_buf)[i] = byte_of(bits, i);
}

static struct m0_lnet_md_attr attr_of(struct proc *p, struct md *md)
{
	return (struct m0_lnet_md_attr){
		.mda_vec = &md->m_vec,
		.mda_length = md->m_bytes,
		.mda_auto_unlink = true,
		.mda_eq = &p->p_eq,
		.mda_user = md,
	};
}

/* Offers memory to others: bits say whose it is, and which kind. */
static void entry(struct proc *p)
{
	struct md             *md = md_new(p, ENTRY);
	bool                   gets = draw(2) == 0;
	struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_flags = M0_LNET_ME_UNLINK,
	};
	struct m0_lnet_md_attr attr;
	int                    rc;

	if (md == NULL)
		return;
	md->m_bits = p->p_nr * 2 + gets;
	me.mea_match_bits = md->m_bits;
	fill(md, md->m_bits);
	attr = attr_of(p, md);
	attr.mda_threshold = 1 + (int)draw(3);
	attr.mda_options = M0_LNET_MD_MANAGE_REMOTE | M0_LNET_MD_TRUNCATE |
			   (gets ? M0_LNET_MD_OP_GET : M0_LNET_MD_OP_PUT);
	rc = m0_lnet_entry_attach(p->p_lnet, &me, &attr, &md->m_handle);
	if (rc != 0)
		md->m_kind = FREE;
	MUST(M0_IN(rc, (0, -ESHUTDOWN, -ENOSPC)), "entry: %d", rc);
}

static void move(struct proc *p, struct proc *to, bool gets)
{
	struct md             *md = md_new(p, gets ? GET : PUT);
	struct m0_lnet_op      op = { .lo_self = m0_lnet_nid_any,
				      .lo_portal = PORTAL };
	struct m0_lnet_md_attr attr;
	char                   nid[32];
	int                    rc;

	if (md == NULL)
		return;
	md->m_bits = to->p_nr * 2 + gets;
	md->m_acks = gets || draw(2) == 0;
	if (!gets)
		fill(md, md->m_bits + 1000);
	(void)snprintf(nid, sizeof nid, "%s@tcp", to->p_host->h_addr);
	MUST(m0_lnet_nid_parse(&op.lo_target.lp_nid, nid) == 0, "NID");
	op.lo_target.lp_pid = M0_LNET_PID_LUSTRE;
	op.lo_match_bits = md->m_bits;
	op.lo_hdr_data = md->m_bits + 1000;
	op.lo_ack = !gets && md->m_acks;
	attr = attr_of(p, md);
	attr.mda_threshold = md->m_acks ? 2 : 1;
	rc = gets ? m0_lnet_bind_get(p->p_lnet, &attr, &op, &md->m_handle)
		  : m0_lnet_bind_put(p->p_lnet, &attr, &op, &md->m_handle);
	if (rc != 0)
		md->m_kind = FREE;
	MUST(M0_IN(rc, (0, -ESHUTDOWN, -ENOBUFS, -ENOSPC)), "move: %d", rc);
}

static void unlink_all(struct proc *p)
{
	unsigned i;

	for (i = 0; i < MDS_NR; ++i)
		if (p->p_md[i].m_kind != FREE && p->p_md[i].m_ended_nr == 0)
			(void)m0_lnet_md_unlink(p->p_lnet, p->p_md[i].m_handle);
}

static bool all_ended(void *arg)
{
	const struct proc *p = arg;
	unsigned           i;

	for (i = 0; i < MDS_NR; ++i)
		if (p->p_md[i].m_kind != FREE && p->p_md[i].m_ended_nr != 1)
			return false;
	return true;
}

static bool ops_ended(void *arg)
{
	const struct proc *p = arg;
	unsigned           i;

	for (i = 0; i < MDS_NR; ++i)
		if (M0_IN(p->p_md[i].m_kind, (PUT, GET)) &&
		    p->p_md[i].m_ended_nr != 1 && !p->p_md[i].m_has_failed)
			return false;
	return true;
}

/* Fails, and says what has not ended. */
static void left_print(const struct proc *p)
{
	unsigned i;

	for (i = 0; i < MDS_NR; ++i) {
		const struct md *md = &p->p_md[i];

		if (md->m_kind != FREE && md->m_ended_nr != 1 &&
		    !md->m_has_failed)
			m0_sim_fail(sim,
				    "process %u: MD %u of kind %u for %lx%s: "
				    "%u SENDs, %u answers, %u ends",
				    p->p_nr, i, md->m_kind,
				    (unsigned long)md->m_bits,
				    md->m_acks ? ", acknowledged" : "",
				    md->m_send_nr, md->m_answer_nr,
				    md->m_ended_nr);
	}
}

/* -------------------------------------------------------------------- lives -- */

static void cfg_fill(struct m0_lnet_cfg *cfg, const struct host *h)
{
	char text[64];
	char why[M0_LNET_WHY_BYTES];

	m0_lnet_cfg_default(cfg);
	(void)snprintf(text, sizeof text, "tcp(%s)", h->h_addr);
	MUST(m0_lnet_cfg_networks(cfg, text, why) == 0, "%s", why);
	cfg->lc_transaction_timeout_ms = TIMEOUT_MS;
	cfg->lc_timeout_ms = TIMEOUT_MS;
	cfg->lc_reconnect_min_ms = 10;
	cfg->lc_reconnect_max_ms = 50;
}

static void daemon_begin(struct host *h)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];

	m0_sim_host_use(h->h_host);
	cfg_fill(&cfg, h);
	MUST(m0_lnet_open(&h->h_lnet, &cfg, why) == 0, "%s", why);
	MUST(m0_sim_daemon_start(&h->h_daemon, h->h_lnet, h->h_addr) == 0,
	     "a daemon at the path of one that is gone");
	m0_sim_host_use(NULL);
	h->h_broken_nr = 0;
}

struct claim {
	struct proc *c_proc;
	int          c_rc;
};

/* The daemon has to notice that the process is dead which had the number. */
static bool is_claimed(void *arg)
{
	struct claim *c = arg;
	uint32_t      nr;

	c->c_rc = m0_lnet_tm_claim(c->c_proc->p_lnet, PORTAL, c->c_proc->p_nr,
				   &nr);
	return c->c_rc != -EADDRINUSE;
}

static void claim(struct proc *p)
{
	struct claim c = { .c_proc = p };
	unsigned     i;

	for (i = 0; i < BOUND_MS && !is_claimed(&c); ++i) {
		pump();
		m0_sim_run_ms(sim, 1);
	}
	MUST(c.c_rc == 0, "claim: %d", c.c_rc);
}

static void proc_begin(struct proc *p)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];

	cfg_fill(&cfg, p->p_host);
	(void)snprintf(cfg.lc_attach, sizeof cfg.lc_attach, "%s",
		       p->p_host->h_addr);
	cfg.lc_inline = draw(3) == 0;
	cfg.lc_same_host = draw(8) > 0;
	p->p_reattaches = draw(2) == 0;
	cfg.lc_reattach_ns = p->p_reattaches ? BOUND_MS * M0_TIME_ONE_MSEC : 0;
	MUST(m0_lnet_open(&p->p_lnet, &cfg, why) == 0, "%s", why);
	m0_lnet_eq_init(&p->p_eq, p->p_lnet, event, 0);
	p->p_eq.eq_user = p;
	memset(p->p_md, 0, sizeof p->p_md);
	p->p_dies_in_callback = false;
	p->p_scribbled = false;
	p->p_mem = m0_alloc_aligned(MDS_NR * MD_BYTES, 12);
	MUST(p->p_mem != NULL, "memory");
	MUST(m0_lnet_mem_register(p->p_lnet, p->p_mem, MDS_NR * MD_BYTES) == 0,
	     "register");
	p->p_is_up = true;
	claim(p);
	if (p->p_nr % PROCS_NR == 0)
		tm_begin(p);
}

/* Dead or alive. Dead: nobody but the test hears of it. */
static void proc_end(struct proc *p)
{
	unsigned i;

	tm_end(p);
	m0_lnet_close(p->p_lnet);
	p->p_is_up = false;
	m0_lnet_eq_fini(&p->p_eq);
	for (i = 0; i < MDS_NR; ++i) {
		if (p->p_md[i].m_kind == FREE)
			continue;
		++sums.s_mds_nr;
		MUST(p->p_md[i].m_ended_nr == 1, "MD %u has ended %u times", i,
		     p->p_md[i].m_ended_nr);
		p->p_md[i].m_kind = FREE;
	}
	m0_free_aligned(p->p_mem, MDS_NR * MD_BYTES, 12);
}

static unsigned up_nr(const struct host *h)
{
	unsigned nr = 0;
	unsigned i;

	for (i = 0; i < PROCS_NR; ++i)
		nr += h->h_proc[i].p_is_up;
	return nr;
}

static bool holds_nothing(void *arg)
{
	struct host              *h = arg;
	struct m0_sim_daemon_info info;

	m0_sim_daemon_info_get(h->h_daemon, &info);
	return info.sdi_procs_nr == up_nr(h) &&
	       (up_nr(h) > 0 ||
		(info.sdi_mds_nr == 0 && info.sdi_regions_nr == 0 &&
		 info.sdi_bytes == 0 && info.sdi_numbers_nr == 0));
}

/* A daemon holds nothing for who is gone, and only liars break rules. */
static void host_check(struct host *h)
{
	struct m0_sim_daemon_info info;
	unsigned                  i;

	for (i = 0; i < BOUND_MS && !holds_nothing(h); ++i) {
		pump();
		m0_sim_run_ms(sim, 1);
	}
	m0_sim_daemon_info_get(h->h_daemon, &info);
	MUST(holds_nothing(h),
	     "%u processes, the daemon has %u, %u MDs, %u regions, %lu bytes, "
	     "%u numbers",
	     up_nr(h), info.sdi_procs_nr, info.sdi_mds_nr, info.sdi_regions_nr,
	     (unsigned long)info.sdi_bytes, info.sdi_numbers_nr);
	MUST(info.sdi_broken_nr <= h->h_broken_nr,
	     "%lu processes are said to have broken the rules, %u have",
	     (unsigned long)info.sdi_broken_nr, h->h_broken_nr);
	sums.s_broken_nr += info.sdi_broken_nr;
}

/* ------------------------------------------------------------------- faults -- */

static bool is_dead(void *arg)
{
	return m0_sim_process_is_dead(((struct proc *)arg)->p_lnet);
}

/* A neighbour puts to the process and gets from it, so that either copies. */
static void crash_amid_copies(struct proc *p)
{
	struct proc *q = &p->p_host->h_proc[draw(PROCS_NR)];
	unsigned     i;

	for (i = 0; i < 6; ++i)
		entry(p);
	(void)wait_ms(is_dead, p, 2);
	if (!q->p_is_up || q == p || m0_sim_process_is_dead(p->p_lnet))
		return;
	m0_sim_process_crash_in(p->p_lnet, 1 + draw(6));
	for (i = 0; i < 6; ++i)
		move(q, p, draw(2) == 0);
	(void)wait_ms(is_dead, p, 2);
}

static void proc_crash(struct proc *p)
{
	++sums.s_crashes_nr;
	switch (draw(4)) {
	case 0:
		p->p_dies_in_callback = true;
		break;
	case 1:
		m0_sim_process_crash_in(p->p_lnet, 1 + draw(10));
		break;
	case 2:
		crash_amid_copies(p);
		break;
	default:
		break;
	}
	if (draw(2) == 0) {
		entry(p);
		move(p, &hosts[draw(HOSTS_NR)].h_proc[0], draw(2) == 0);
	}
	if (p->p_dies_in_callback || draw(2) == 0)
		(void)wait_ms(is_dead, p, draw(3));
	m0_sim_process_crash(p->p_lnet);
	/* The world goes on, for a while or until all is released. */
	if (draw(2) == 0)
		m0_sim_run_ms(sim, draw(30));
	proc_end(p);
}

static void scribble(struct proc *p)
{
	++p->p_host->h_broken_nr;
	p->p_scribbled = true;
	m0_sim_process_scribble(p->p_lnet, 1 + draw(2000));
	lies_until = m0_sim_now(sim) + BOUND_MS * M0_TIME_ONE_MSEC;
	m0_sim_run_ms(sim, draw(5));
	/* The process may have lost a wake-up of its own. */
	m0_sim_process_crash(p->p_lnet);
	proc_end(p);
}

static bool is_attached(void *arg)
{
	return !m0_lnet_is_ended(((struct proc *)arg)->p_lnet);
}

static bool is_ended(void *arg)
{
	return m0_lnet_is_ended(((struct proc *)arg)->p_lnet);
}

/* The memory and the number of a process are those that it had. */
static void again_check(struct proc *p)
{
	uint32_t nr;

	MUST(wait_ms(is_attached, p, BOUND_MS), "process %u attaches again",
	     p->p_nr);
	++sums.s_again_nr;
	entry(p);
	move(p, p, draw(2) == 0);
	MUST(m0_lnet_tm_claim(p->p_lnet, PORTAL, p->p_nr, &nr) != 0,
	     "the number of process %u is free", p->p_nr);
	if (p->p_nr % PROCS_NR == 0)
		tm_begin(p);
}

/* Takes other memory, whether there is a daemon or not. */
static void memory_change(struct proc *p)
{
	void *mem = m0_alloc_aligned(MDS_NR * MD_BYTES, 12);

	MUST(mem != NULL, "memory");
	MUST(m0_lnet_mem_register(p->p_lnet, mem, MDS_NR * MD_BYTES) == 0,
	     "register while there is no daemon");
	m0_lnet_mem_deregister(p->p_lnet, p->p_mem, MDS_NR * MD_BYTES);
	m0_free_aligned(p->p_mem, MDS_NR * MD_BYTES, 12);
	p->p_mem = mem;
}

static void copies_count(const struct host *h)
{
	struct m0_sim_daemon_info info;

	m0_sim_daemon_info_get(h->h_daemon, &info);
	sums.s_copies_nr += info.sdi_copies_nr;
	sums.s_copies_cut_nr += info.sdi_copies_cut_nr;
}

/* Each MD ends once, and each buffer. Processes that attach again live on. */
static void daemon_crash(struct host *h)
{
	unsigned i;

	++sums.s_daemons_nr;
	m0_sim_daemon_crash(h->h_daemon);
	m0_sim_host_kill(h->h_host);
	for (i = 0; i < PROCS_NR; ++i) {
		struct proc *p = &h->h_proc[i];

		if (!p->p_is_up)
			continue;
		MUST(wait_ms(all_ended, p, BOUND_MS),
		     "operations end with the daemon");
		if (p->p_has_tm)
			tm_fails(p);
		entry(p);
		if (!p->p_reattaches) {
			proc_end(p);
			continue;
		}
		tm_end(p);
		MUST(wait_ms(is_ended, p, BOUND_MS), "the end is noticed");
		if (draw(2) == 0)
			memory_change(p);
	}
	copies_count(h);
	m0_sim_daemon_stop(h->h_daemon);
	m0_lnet_close(h->h_lnet);
	m0_sim_host_restart(h->h_host);
	m0_sim_run_ms(sim, draw(30));
	daemon_begin(h);
	/* The next one may crash before they have given it everything. */
	if (draw(3) == 0) {
		m0_sim_run_ms(sim, draw(20));
		pump();
		daemon_crash(h);
		return;
	}
	for (i = 0; i < PROCS_NR; ++i)
		if (h->h_proc[i].p_is_up)
			again_check(&h->h_proc[i]);
}

/* ---------------------------------------------------------------------- run -- */

static void step(void)
{
	struct host *h = &hosts[draw(HOSTS_NR)];
	struct proc *p = &h->h_proc[draw(PROCS_NR)];
	unsigned     what = draw(100);

	if (!p->p_is_up) {
		proc_begin(p);
		return;
	}
	if (what < 35)
		entry(p);
	else if (what < 85)
		move(p, &hosts[draw(HOSTS_NR)].h_proc[draw(PROCS_NR)],
		     draw(2) == 0);
	else if (what < 89)
		proc_crash(p);
	else if (what == 90)
		daemon_crash(h);
	else if (what == 91)
		scribble(p);
	else if (what == 92)
		proc_end(p);
	else if (what == 93)
		m0_sim_run_ms(sim, draw(20));
	else
		m0_sim_yield(sim, 20);
	pump();
}

static void host_end(struct host *h)
{
	struct m0_lnet_info *info;
	unsigned             i;

	for (i = 0; i < PROCS_NR; ++i) {
		struct proc *p = &h->h_proc[i];

		if (!p->p_is_up)
			continue;
		if (!wait_ms(ops_ended, p, BOUND_MS))
			left_print(p);
		unlink_all(p);
		MUST(wait_ms(all_ended, p, BOUND_MS), "MDs end");
		proc_end(p);
	}
	host_check(h);
	m0_sim_run_ms(sim, 5 * TIMEOUT_MS);
	MUST(m0_lnet_info_get(h->h_lnet, &info) == 0, "info");
	MUST(info->li_stats.ls_msgs_alloc == 0 &&
		     info->li_stats.ls_rst_alloc == 0,
	     "%lu messages and %lu transactions are left",
	     (unsigned long)info->li_stats.ls_msgs_alloc,
	     (unsigned long)info->li_stats.ls_rst_alloc);
	m0_lnet_info_free(info);
}

static void run(struct m0_sim *s, void *arg)
{
	static const struct m0_sim_stream_cfg cfg = {
		.ssc_latency_ns = 20 * 1000,
		.ssc_jitter_ns = 20 * 1000,
	};
	static const char *const addrs[HOSTS_NR] = { "10.0.0.1", "10.0.0.2" };
	unsigned                 nr;
	unsigned                 i;

	(void)arg;
	sim = s;
	lies_until = 0;
	MUST(m0_net_init() == 0, "net");
	m0_sim_net_init(sim, &cfg);
	memset(hosts, 0, sizeof hosts);
	for (i = 0; i < HOSTS_NR * PROCS_NR; ++i) {
		struct proc *p = &hosts[i / PROCS_NR].h_proc[i % PROCS_NR];

		p->p_host = &hosts[i / PROCS_NR];
		p->p_nr = i;
	}
	for (i = 0; i < HOSTS_NR; ++i) {
		hosts[i].h_addr = addrs[i];
		hosts[i].h_host = m0_sim_host_add(addrs[i], addrs[i]);
		daemon_begin(&hosts[i]);
	}
	for (nr = 20 + draw(STEPS_MAX); nr > 0; --nr)
		step();
	for (i = 0; i < HOSTS_NR; ++i)
		host_end(&hosts[i]);
	sums.s_cut_nr += m0_sim_process_cut_nr();
	for (i = 0; i < HOSTS_NR; ++i) {
		copies_count(&hosts[i]);
		m0_sim_daemon_stop(hosts[i].h_daemon);
		m0_lnet_close(hosts[i].h_lnet);
	}
	m0_sim_net_fini();
	MUST(m0_net_fini() == 0, "net fini");
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	unsigned nr = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : SEEDS_NR;

	m0_log_level_set(M0_LOG_FATAL); /* of daemons and processes that lie */
	m0_sim_for_each_seed(first, nr, run, NULL);
	printf("%lu MDs, %lu good events, %lu of a shutdown; %lu crashes of "
	       "processes, %lu in a callback, %lu entries cut; %lu of daemons, "
	       "%lu machines FAILED, %lu attached again; %lu found lying; "
	       "%lu copies by processes, a crash amid %lu\n",
	       sums.s_mds_nr, sums.s_good_nr, sums.s_shut_nr, sums.s_crashes_nr,
	       sums.s_amid_nr, sums.s_cut_nr, sums.s_daemons_nr,
	       sums.s_buffers_nr, sums.s_again_nr, sums.s_broken_nr,
	       sums.s_copies_nr, sums.s_copies_cut_nr);
	return 0;
}
