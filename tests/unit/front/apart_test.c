/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A front and a node in two processes, which share a ring, its records and one
 * region of memory, and have them at different addresses. The node's process has no
 * memory at the front's addresses, so a pointer that crossed would be of no use.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/base/panics.h"

#include "front/front_internal.h"
#include "os/pass.h"

enum {
	PORTAL = 9,
	REGION = 1,
	REGION_BYTES = 1 << 20,
	/** Memory of the ring, and of each kind of records. */
	RING_BYTES = 1 << 20,
	RECORDS_BYTES = 1 << 20,
	REGION_AT = RING_BYTES + M0_RING_TABLES_NR * RECORDS_BYTES,
	SHARED_BYTES = REGION_AT + REGION_BYTES
};

static struct m0_lnet    *lnet;
static struct m0_lnet_eq  eq;
static char              *shared;
static char              *region;
static pid_t              child;
static struct m0_lnet_cfg cfg;

/* ------------------------------------------------------------ the node -- */

static bool no_growth(void *host)
{
	(void)host;
	return false;
}

static void no_call(void *host)
{
	(void)host;
	abort();
}

static const struct m0_node_host node_host = {
	.nho_grow = no_growth,
	.nho_call = no_call,
};

static void records_add(struct m0_node *node, char *at)
{
	unsigned i;

	for (i = 0; i < M0_RING_TABLES_NR; ++i) {
		void *things = m0_node_chunk((enum m0_ring_table)i);

		M0_ASSERT(things != NULL);
		m0_node_chunk_add(node, (enum m0_ring_table)i, 0,
				  at + RING_BYTES + i * RECORDS_BYTES, things);
	}
}

static void node_step(struct m0_node *node)
{
	struct m0_ring *ring = node->nod_ring;
	m0_time_t       now = m0_time_now();
	m0_time_t       next = M0_TIME_NEVER;

	m0_time_pass_begin(now);
	m0_node_time(node, now);
	__atomic_store_n(&ring->rng_down.rqu_bell, 0, __ATOMIC_SEQ_CST);
	m0_node_take(node);
	(void)m0_reactor_pass(node->nod_reactor, now);
	(void)m0_node_turns(node, now);
	m0_reactor_flush(node->nod_reactor);
	m0_node_flush(node);
	(void)m0_ring_refill(&node->nod_up);
	if (node->nod_state != M0_NODE_OPEN)
		(void)m0_node_close_step(node, now, true, &next);
	m0_time_pass_end();
}

static void node_run(char *at)
{
	static struct m0_strand strand;
	struct m0_ring         *ring = (struct m0_ring *)(void *)at;
	struct m0_node_mem      mem = { .nmm_mem = { .lme_region = REGION,
						     .lme_addr = at + REGION_AT,
						     .lme_bytes = REGION_BYTES } };
	struct m0_node         *node;
	char                    why[M0_LNET_WHY_BYTES] = "";

	m0_list_link_init(&mem.nmm_link);
	M0_ASSERT(m0_node_create(&node, &cfg, ring, &node_host, NULL) == 0);
	records_add(node, at);
	m0_node_mem_add(node, &mem);
	M0_ASSERT(m0_node_start(node, &strand, m0_host_ops_get(), why) == 0);
	while (node->nod_state != M0_NODE_CLOSED) {
		node_step(node);
		(void)sched_yield();
	}
	m0_node_stop(node);
	m0_node_destroy(node);
}

/* Bars the addresses at which the front has the memory, and has it elsewhere. */
static void child_run(int fd)
{
	char *at;

	M0_ASSERT(mmap(shared, SHARED_BYTES, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		       0) == shared);
	at = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  0);
	M0_ASSERT(at != MAP_FAILED && at != shared);
	node_run(at);
	_exit(0);
}

/* ----------------------------------------------------------- the front -- */

static int setup(void **state)
{
	struct m0_front_share share = { .fsh_nids = &m0_lnet_nid_lo,
					.fsh_nids_nr = 1 };
	char                  why[M0_LNET_WHY_BYTES];
	unsigned              i;
	int                   fd = memfd_create("ring", 0);

	(void)state;
	m0_lnet_cfg_default(&cfg);
	cfg.lc_inline = true;
	cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, "tcp(127.0.0.1)", why), 0);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SHARED_BYTES), 0);
	shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		child_run(fd);
	assert_int_equal(close(fd), 0);
	region = shared + REGION_AT;
	share.fsh_ring = (struct m0_ring *)(void *)shared;
	for (i = 0; i < M0_RING_TABLES_NR; ++i) {
		assert_true(m0_ring_record_bytes[i] * M0_RING_CHUNK_NR <=
			    RECORDS_BYTES);
		share.fsh_records[i] = shared + RING_BYTES + i * RECORDS_BYTES;
	}
	assert_int_equal(m0_front_attach(&lnet, &cfg, &share), 0);
	assert_int_equal(m0_lnet_mem_register(lnet, region, REGION_BYTES), 0);
	m0_lnet_eq_init(&eq, lnet, NULL, 0);
	return 0;
}

static int teardown(void **state)
{
	int status;

	(void)state;
	m0_lnet_eq_fini(&eq);
	m0_front_leave(lnet);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	m0_front_detach(lnet);
	assert_int_equal(munmap(shared, SHARED_BYTES), 0);
	return 0;
}

static struct m0_lnet_event event(void)
{
	struct m0_lnet_event ev;

	assert_int_equal(m0_lnet_eq_wait(&eq, &ev, m0_time_from_now(20, 0)), 0);
	return ev;
}

static struct m0_lnet_handle attach(struct m0_bufvec *vec, unsigned options,
				    int32_t threshold)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_match_bits = 5,
		.mea_flags = M0_LNET_ME_UNLINK,
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = vec,
		.mda_length = m0_vec_count(&vec->ov_vec),
		.mda_threshold = threshold,
		.mda_options = options | M0_LNET_MD_MANAGE_REMOTE,
		.mda_auto_unlink = true,
		.mda_eq = &eq,
		.mda_user = vec,
	};
	struct m0_lnet_handle handle;

	assert_int_equal(m0_lnet_me_attach(lnet, &me, &handle), 0);
	assert_int_equal(m0_lnet_md_attach(lnet, handle, &md, &handle), 0);
	return handle;
}

static struct m0_lnet_op op_of(void)
{
	return (struct m0_lnet_op){
		.lo_self = m0_lnet_nid_any,
		.lo_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		.lo_portal = PORTAL,
		.lo_match_bits = 5,
		.lo_user = &eq,
	};
}

static int put(struct m0_bufvec *vec, bool get)
{
	struct m0_lnet_op      op = op_of();
	struct m0_lnet_md_attr md = {
		.mda_vec = vec,
		.mda_length = m0_vec_count(&vec->ov_vec),
		.mda_threshold = get ? 2 : 1,
		.mda_auto_unlink = true,
		.mda_eq = &eq,
	};
	struct m0_lnet_handle handle;

	return get ? m0_lnet_bind_get(lnet, &md, &op, &handle)
		   : m0_lnet_bind_put(lnet, &md, &op, &handle);
}

static void vec_of(struct m0_bufvec *vec, void **buf, m0_bcount_t *count,
		   unsigned nr, char *at, m0_bcount_t bytes, m0_bcount_t step)
{
	unsigned i;

	for (i = 0; i < nr; ++i) {
		buf[i] = at + i * step;
		count[i] = bytes;
	}
	vec->ov_buf = buf;
	vec->ov_vec.v_count = count;
	vec->ov_vec.v_nr = nr;
}

/* A PUT and a GET of so many segments, through a node that shares the region. */
static void move(unsigned segs_nr)
{
	void                *from_buf[M0_LNET_MD_SEGS_MAX];
	void                *to_buf[M0_LNET_MD_SEGS_MAX];
	m0_bcount_t          from_count[M0_LNET_MD_SEGS_MAX];
	m0_bcount_t          to_count[M0_LNET_MD_SEGS_MAX];
	struct m0_bufvec     from;
	struct m0_bufvec     to;
	struct m0_lnet_event ev;
	unsigned             i;
	bool                 get;
	char                *there = region + REGION_BYTES / 2;

	vec_of(&from, from_buf, from_count, segs_nr, region, 64, 100);
	vec_of(&to, to_buf, to_count, segs_nr, there, 64, 200);
	for (get = false;; get = true) {
		memset(region, 0, REGION_BYTES);
		for (i = 0; i < segs_nr; ++i)
			memset(get ? to_buf[i] : from_buf[i], 'a' + (int)i % 26,
			       64);
		(void)attach(&to, get ? M0_LNET_MD_OP_GET : M0_LNET_MD_OP_PUT,
			     1);
		assert_int_equal(put(&from, get), 0);
		for (i = 0; i < (get ? 3U : 2U); ++i) {
			ev = event();
			assert_int_equal(ev.ev_status, 0);
			if (ev.ev_type == M0_LNET_EV_PUT ||
			    ev.ev_type == M0_LNET_EV_GET)
				assert_ptr_equal(ev.ev_md_user, &to);
			else
				assert_ptr_equal(ev.ev_op_user, &eq);
		}
		for (i = 0; i < segs_nr; ++i)
			assert_memory_equal(to_buf[i], from_buf[i], 64);
		if (get)
			return;
	}
}

static void messages_move(void **state)
{
	(void)state;
	move(1);
	move(M0_RING_SEGS_NR);
}

/* A list that is longer than a record has room for. */
static void long_lists_move(void **state)
{
	(void)state;
	move(M0_RING_SEGS_NR + 1);
	move(M0_LNET_MD_SEGS_MAX);
}

/* Records, numbers and entries are used again and again. */
static void many_messages_move(void **state)
{
	enum {
		ROUNDS = 300,
		DEEP = 20
	};
	void            *buf;
	m0_bcount_t      count;
	struct m0_bufvec vec;
	unsigned         round;
	unsigned         i;
	unsigned         got = 0;

	(void)state;
	vec_of(&vec, &buf, &count, 1, region, 64, 0);
	for (round = 0; round < ROUNDS; ++round) {
		(void)attach(&vec, M0_LNET_MD_OP_PUT, DEEP);
		for (i = 0; i < DEEP; ++i)
			assert_int_equal(put(&vec, false), 0);
		for (i = 0; i < 2 * DEEP; ++i)
			got += event().ev_type == M0_LNET_EV_PUT;
	}
	assert_int_equal(got, ROUNDS * DEEP);
}

/* Memory that the two do not share is refused, and leaves nothing behind. */
static void memory_must_be_registered(void **state)
{
	static char      mine[64];
	void            *buf;
	m0_bcount_t      count;
	struct m0_bufvec vec;
	unsigned         i;

	(void)state;
	vec_of(&vec, &buf, &count, 1, mine, 64, 0);
	for (i = 0; i < 2 * M0_RING_CHUNK_NR; ++i)
		assert_int_equal(put(&vec, false), -EFAULT);
	vec_of(&vec, &buf, &count, 1, region + REGION_BYTES - 63, 64, 0);
	assert_int_equal(put(&vec, false), -EFAULT);
	move(1);
}

/* Stops the node; returns when it does nothing any more. */
static void node_hold(void)
{
	int status;

	assert_int_equal(kill(child, SIGSTOP), 0);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
}

static void node_go_on(void)
{
	assert_int_equal(kill(child, SIGCONT), 0);
}

/* Moves the memory of an MD, which the node has not seen, out of the region. */
static void record_falsify(struct m0_lnet_handle md)
{
	m0_front__md_record(lnet, md.lh_slot)->rmd_segs[0].rsg_offset =
		REGION_BYTES;
}

static void refusal_expect(void)
{
	struct m0_lnet_event ev = event();

	assert_int_equal(ev.ev_type, M0_LNET_EV_UNLINK);
	assert_int_equal(ev.ev_status, -EFAULT);
	assert_true(ev.ev_unlinked);
}

/* The node refuses an MD of which a segment is of no region, and an operation on it
 * ends with it, also while the node waits for a message. */
static void false_records_end(void **state)
{
	struct m0_lnet_handle  md;
	void                  *buf;
	m0_bcount_t            count;
	struct m0_bufvec       vec;
	struct m0_lnet_op      op = op_of();
	struct m0_lnet_md_attr attr = { .mda_vec = &vec,
					.mda_length = 64,
					.mda_threshold = 1,
					.mda_eq = &eq };
	uint32_t               used_nr = lnet->fro_ops.fss_used_nr;

	(void)state;
	vec_of(&vec, &buf, &count, 1, region, 64, 0);
	node_hold();
	assert_int_equal(m0_lnet_md_bind(lnet, &attr, &md), 0);
	record_falsify(md);
	node_go_on();
	refusal_expect();
	node_hold();
	assert_int_equal(m0_lnet_bind_put(lnet, &attr, &op, &md), 0);
	record_falsify(md);
	lnet->fro_ring->rng_starved = 1;
	node_go_on();
	refusal_expect();
	move(1);
	assert_int_equal(lnet->fro_ops.fss_used_nr, used_nr);
}

/* An MD has ended and the front uses its number again, when the node comes to an
 * entry that unlinks the earlier MD. */
static void late_unlinks_name_nothing(void **state)
{
	static struct m0_ring_place place;
	struct m0_lnet_handle       md;
	struct m0_lnet_handle       next;
	void                       *buf;
	m0_bcount_t                 count;
	struct m0_bufvec            vec;
	struct m0_lnet_md_attr      attr = { .mda_vec = &vec,
					     .mda_length = 64,
					     .mda_threshold = 1,
					     .mda_eq = &eq };
	struct m0_ring_entry        late = { .rqe_opcode = M0_RING_MD_UNLINK };

	(void)state;
	vec_of(&vec, &buf, &count, 1, region, 64, 0);
	node_hold();
	assert_int_equal(m0_lnet_md_bind(lnet, &attr, &md), 0);
	record_falsify(md);
	node_go_on();
	refusal_expect();
	node_hold();
	late.rqe_nr = md.lh_slot;
	late.rqe_gen = md.lh_gen;
	m0_ring_post(&lnet->fro_down, &late, &place);
	assert_int_equal(m0_lnet_md_bind(lnet, &attr, &next), 0);
	assert_int_equal(next.lh_slot, md.lh_slot);
	node_go_on();
	assert_int_equal(m0_lnet_md_unlink(lnet, next), 0);
	assert_int_equal(event().ev_md.lh_gen, next.lh_gen);
	move(1);
}

/* Only the node's process can push. */
static void push_does_nothing(void **state)
{
	void            *buf;
	m0_bcount_t      count;
	struct m0_bufvec vec;

	(void)state;
	vec_of(&vec, &buf, &count, 1, region, 64, 0);
	node_hold();
	assert_int_equal(put(&vec, false), 0);
	m0_lnet_push(lnet);
	node_go_on();
	assert_int_equal(event().ev_type, M0_LNET_EV_SEND);
}

/* The pointers of what crosses are of this process. */
static void information_crosses(void **state)
{
	struct m0_lnet_info *info;

	(void)state;
	move(1);
	assert_int_equal(m0_lnet_info_get(lnet, &info), 0);
	assert_int_equal(info->li_pid, M0_LNET_PID_LUSTRE);
	assert_int_equal(info->li_port, cfg.lc_port);
	assert_int_equal(info->li_nis_nr, 2);
	assert_true(m0_lnet_nid_is_lo(&info->li_nis[0].nii_nid));
	assert_int_equal(info->li_nis[1].nii_credits, cfg.lc_credits);
	m0_lnet_info_free(info);
}

static void count_probe(struct m0_lnet_probe *probe)
{
	++*(unsigned *)probe->pr_user;
}

/* A probe says what the node has learnt, and many of them are on their way at once. */
static void probes_end(void **state)
{
	static struct m0_lnet_probe probes[24];
	unsigned                    done_nr = 0;
	unsigned                    i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(probes); ++i) {
		probes[i] = (struct m0_lnet_probe){
			.pr_kind = i % 2 == 0 ? M0_LNET_PING : M0_LNET_DISCOVER,
			.pr_nid = m0_lnet_nid_lo,
			.pr_self = m0_lnet_nid_any,
			.pr_done = count_probe,
			.pr_user = &done_nr,
			.pr_status = 1,
		};
		assert_int_equal(m0_lnet_probe(lnet, &probes[i]), 0);
	}
	while (done_nr < ARRAY_SIZE(probes))
		(void)m0_lnet_progress(lnet);
	for (i = 0; i < ARRAY_SIZE(probes); ++i) {
		assert_int_equal(probes[i].pr_status, 0);
		assert_int_equal(probes[i].pr_pid, M0_LNET_PID_LUSTRE);
		assert_int_equal(probes[i].pr_nids_nr, 1);
		assert_int_equal(m0_lnet_nid_net(&probes[i].pr_nids[0]),
				 m0_lnet_net(M0_LNET_TYPE_TCP, 0));
		assert_true(probes[i].pr_nids_up[0]);
	}
	assert_int_equal(m0_lnet_probe_sync(lnet, &probes[0]), 0);
	assert_int_equal(done_nr, ARRAY_SIZE(probes));
}

/* All rules of a node are of one moment, though they cross in many pieces. */
static void fault_rules_cross(void **state)
{
	static struct m0_lnet_fault rules[M0_LNET_FAULTS_MAX];
	struct m0_lnet_fault_attr   attr;
	char                        why[M0_LNET_WHY_BYTES];
	unsigned                    i;

	(void)state;
	m0_lnet_fault_attr_init(&attr, M0_LNET_FAULT_DELAY);
	attr.lfa_rate = UINT32_MAX;
	for (i = 0; i < ARRAY_SIZE(rules); ++i) {
		attr.lfa_latency_ms = i + 1;
		assert_int_equal(m0_lnet_fault_add(lnet, &attr, why), 0);
	}
	assert_int_equal(m0_lnet_fault_add(lnet, &attr, why), -ENOSPC);
	assert_non_null(strstr(why, "256"));
	move(1);
	assert_int_equal(m0_lnet_fault_get(lnet, M0_LNET_FAULT_ANY, rules,
					   ARRAY_SIZE(rules)),
			 ARRAY_SIZE(rules));
	for (i = 0; i < ARRAY_SIZE(rules); ++i) {
		assert_int_equal(rules[i].lft_attr.lfa_latency_ms,
				 ARRAY_SIZE(rules) - i);
		assert_int_not_equal(rules[i].lft_seen_nr, 0);
	}
	assert_int_equal(m0_lnet_fault_get(lnet, M0_LNET_FAULT_DROP, NULL, 0),
			 0);
	assert_int_equal(m0_lnet_fault_reset(lnet, M0_LNET_FAULT_DELAY),
			 ARRAY_SIZE(rules));
	assert_int_equal(m0_lnet_fault_get(lnet, M0_LNET_FAULT_ANY, rules, 1),
			 ARRAY_SIZE(rules));
	assert_int_equal(rules[0].lft_seen_nr, 0);
	assert_int_equal(m0_lnet_fault_del(lnet, M0_LNET_FAULT_ANY,
					   &m0_lnet_nid_lo, NULL),
			 0);
	assert_int_equal(m0_lnet_fault_del(lnet, M0_LNET_FAULT_ANY, NULL, NULL),
			 ARRAY_SIZE(rules));
}

/* An unlink of what waits, and of what has ended. */
static void unlinks_end(void **state)
{
	void                 *buf;
	m0_bcount_t           count;
	struct m0_bufvec      vec;
	struct m0_lnet_handle md;
	struct m0_lnet_event  ev;

	(void)state;
	vec_of(&vec, &buf, &count, 1, region, 64, 0);
	md = attach(&vec, M0_LNET_MD_OP_PUT, 1);
	assert_int_equal(m0_lnet_md_unlink(lnet, md), 0);
	ev = event();
	assert_int_equal(ev.ev_type, M0_LNET_EV_UNLINK);
	assert_int_equal(m0_lnet_md_unlink(lnet, md), -ENOENT);
	assert_int_equal(put(&vec, false), 0);
	assert_int_equal(event().ev_type, M0_LNET_EV_SEND);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(messages_move),       CASE(long_lists_move),
		CASE(many_messages_move),  CASE(memory_must_be_registered),
		CASE(push_does_nothing),   CASE(late_unlinks_name_nothing),
		CASE(false_records_end),   CASE(unlinks_end),
		CASE(information_crosses), CASE(probes_end),
		CASE(fault_rules_cross),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
