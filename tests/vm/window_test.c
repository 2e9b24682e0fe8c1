/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory windows of type 2, which the driver of net o2ib does not use: the program shows by
 * verbs alone, between two QPs of one device (here soft-RoCE), what they promise, and prints
 * what they and registrations cost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "vm/ibv.h"

enum {
	PORT = 1,
	BULK_BYTES = 1 << 20,
	SMALL_BYTES = 4096,
	QUEUE = 64,
	ROUNDS = 100,
	DELAY_US = 100,
	LIMIT_S = 60,
	PSN = 100,
	BOTH = 2
};

/* The source of writes, and the sink, which binds windows. */
static struct ibv_context *context;
static struct ibv_pd      *pd;
static struct ibv_cq      *cqs[BOTH];
static struct ibv_qp      *qps[BOTH];
static struct ibv_mr      *mrs[BOTH];
static uint8_t            *bytes[BOTH];
static uint8_t            *seen;
static union ibv_gid       gid;
static uint8_t             gid_index;
static enum ibv_mtu        mtu;

static double now_us(void)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

/* The GID of the address in VERBS_SERVER. */
static void gid_find(void)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct in_addr       addr;
	const char          *text = getenv("VERBS_SERVER");

	assert_non_null(text);
	assert_int_equal(inet_pton(AF_INET, text, &addr), 1);
	for (gid_index = 0;; ++gid_index) {
		assert_int_equal(ibv_query_gid(context, PORT, gid_index, &gid),
				 0);
		if (memcmp(gid.raw, mapped, sizeof mapped) == 0 &&
		    memcmp(gid.raw + sizeof mapped, &addr, sizeof addr) == 0)
			return;
	}
}

static int device_open(void **state)
{
	struct ibv_device  **list = ibv_get_device_list(NULL);
	struct ibv_port_attr port;
	unsigned             i;

	(void)state;
	assert_true(list != NULL && list[0] != NULL);
	context = ibv_open_device(list[0]);
	assert_non_null(context);
	ibv_free_device_list(list);
	assert_int_equal(ibv_query_port(context, PORT, &port), 0);
	mtu = port.active_mtu;
	gid_find();
	pd = ibv_alloc_pd(context);
	assert_non_null(pd);
	seen = malloc(BULK_BYTES);
	for (i = 0; i < BOTH; ++i) {
		bytes[i] = aligned_alloc(SMALL_BYTES, BULK_BYTES);
		assert_non_null(bytes[i]);
		memset(bytes[i], 0, BULK_BYTES);
		mrs[i] = ibv_reg_mr(pd, bytes[i], BULK_BYTES,
				    IBV_ACCESS_LOCAL_WRITE |
					    IBV_ACCESS_REMOTE_WRITE |
					    IBV_ACCESS_MW_BIND);
		assert_non_null(mrs[i]);
	}
	return 0;
}

static int device_close(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < BOTH; ++i) {
		(void)ibv_dereg_mr(mrs[i]);
		free(bytes[i]);
	}
	free(seen);
	(void)ibv_dealloc_pd(pd);
	(void)ibv_close_device(context);
	return 0;
}

static void connect_to(struct ibv_qp *qp, uint32_t other)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = PORT,
				    .qp_access_flags =
					    IBV_ACCESS_REMOTE_WRITE };

	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					       IBV_QP_PORT |
					       IBV_QP_ACCESS_FLAGS),
			 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = mtu,
				     .dest_qp_num = other,
				     .rq_psn = PSN,
				     .min_rnr_timer = 12,
				     .ah_attr = {
					     .is_global = 1,
					     .port_num = PORT,
					     .grh = { .dgid = gid,
						      .sgid_index = gid_index,
						      .hop_limit = 64 } } };
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV |
					       IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC |
					       IBV_QP_MIN_RNR_TIMER),
			 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = PSN,
				     .timeout = 18,
				     .retry_cnt = 5,
				     .rnr_retry = 5 };
	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				      IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_MAX_QP_RD_ATOMIC),
		0);
}

static int both_up(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < BOTH; ++i) {
		struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
						 .cap = { .max_send_wr = QUEUE,
							  .max_recv_wr = 1,
							  .max_send_sge = 1,
							  .max_recv_sge = 1 } };

		cqs[i] = ibv_create_cq(context, 2 * QUEUE, NULL, NULL, 0);
		assert_non_null(cqs[i]);
		init.send_cq = init.recv_cq = cqs[i];
		qps[i] = ibv_create_qp(pd, &init);
		assert_non_null(qps[i]);
	}
	for (i = 0; i < BOTH; ++i)
		connect_to(qps[i], qps[!i]->qp_num);
	return 0;
}

static int both_down(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < BOTH; ++i) {
		(void)ibv_destroy_qp(qps[i]);
		(void)ibv_destroy_cq(cqs[i]);
	}
	return 0;
}

/* Status of the next completion. */
static enum ibv_wc_status wait_for(unsigned side)
{
	double        end = now_us() + LIMIT_S * 1e6;
	struct ibv_wc wc;

	while (ibv_poll_cq(cqs[side], 1, &wc) == 0)
		assert_true(now_us() < end);
	return wc.status;
}

static void post(unsigned side, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags |= IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(qps[side], wr, &bad), 0);
}

static void bind_post(struct ibv_mw *mw)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = mw,
			     .rkey = ibv_inc_rkey(mw->rkey),
			     .bind_info = { .mr = mrs[1],
					    .addr = (uintptr_t)bytes[1],
					    .length = BULK_BYTES,
					    .mw_access_flags =
						    IBV_ACCESS_REMOTE_WRITE } }
	};

	post(1, &wr);
	mw->rkey = wr.bind_mw.rkey;
}

static void invalidate_post(const struct ibv_mw *mw)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV,
				  .invalidate_rkey = mw->rkey };

	post(1, &wr);
}

static void write_post(uint32_t rkey, uint32_t nr)
{
	struct ibv_sge     sge = { .addr = (uintptr_t)bytes[0],
				   .length = nr,
				   .lkey = mrs[0]->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)bytes[1], .rkey = rkey }
	};

	post(0, &wr);
}

static struct ibv_mw *window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);

	assert_non_null(mw);
	return mw;
}

/* A window lets writes in; when it is invalid, a write is refused, and its connection ends. */
static void a_window_that_is_invalid_refuses(void **state)
{
	struct ibv_mw *mw = window();

	(void)state;
	memset(bytes[0], 1, BULK_BYTES);
	memset(bytes[1], 0, BULK_BYTES);
	bind_post(mw);
	assert_int_equal(wait_for(1), IBV_WC_SUCCESS);
	write_post(mw->rkey, SMALL_BYTES);
	assert_int_equal(wait_for(0), IBV_WC_SUCCESS);
	assert_memory_equal(bytes[1], bytes[0], SMALL_BYTES);
	invalidate_post(mw);
	assert_int_equal(wait_for(1), IBV_WC_SUCCESS);
	memset(bytes[0], 2, BULK_BYTES);
	write_post(mw->rkey, SMALL_BYTES);
	assert_int_equal(wait_for(0), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(bytes[1][0], 1);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

struct invalidation {
	struct ibv_mw *inv_mw;
	double         inv_at;
	bool           inv_is_done;
};

/* Another thread: soft-RoCE works for a good part within the call that posts. */
static void *invalidate(void *arg)
{
	struct invalidation *inv = arg;

	while (now_us() < inv->inv_at)
		;
	invalidate_post(inv->inv_mw);
	inv->inv_is_done = wait_for(1) == IBV_WC_SUCCESS;
	memcpy(seen, bytes[1], BULK_BYTES);
	return NULL;
}

/* Whether an invalidation that is complete is the end of a write that is under way. That is
 * printed: the driver does not depend on it. */
static void an_invalidation_meets_a_write(void **state)
{
	unsigned done = 0;
	unsigned refused = 0;
	unsigned late = 0;
	unsigned i;

	(void)state;
	for (i = 0; i < ROUNDS; ++i) {
		struct invalidation inv;
		pthread_t           thread;

		assert_int_equal(both_up(NULL), 0);
		inv = (struct invalidation){ .inv_mw = window() };
		memset(bytes[0], (int)i + 1, BULK_BYTES);
		memset(bytes[1], 0, BULK_BYTES);
		bind_post(inv.inv_mw);
		assert_int_equal(wait_for(1), IBV_WC_SUCCESS);
		inv.inv_at = now_us() + DELAY_US * i;
		assert_int_equal(
			pthread_create(&thread, NULL, invalidate, &inv), 0);
		write_post(inv.inv_mw->rkey, BULK_BYTES);
		refused += wait_for(0) == IBV_WC_REM_ACCESS_ERR;
		assert_int_equal(pthread_join(thread, NULL), 0);
		done += inv.inv_is_done;
		late += inv.inv_is_done &&
			memcmp(seen, bytes[1], BULK_BYTES) != 0;
		assert_int_equal(both_down(NULL), 0);
		assert_int_equal(ibv_dealloc_mw(inv.inv_mw), 0);
	}
	printf("row: %d windows invalidated under writes of 1 MiB: %u complete, %u writes refused, "
	       "%u went on after that\n",
	       ROUNDS, done, refused, late);
}

/* Prints what each takes, beside the write of 1 MiB. */
static void costs_are_printed(void **state)
{
	static const size_t sizes[] = { SMALL_BYTES, 65536, BULK_BYTES };
	struct ibv_mw      *mw = window();
	double              begin;
	unsigned            i;
	unsigned            nr;

	(void)state;
	begin = now_us();
	for (nr = 0; nr < ROUNDS; ++nr) {
		bind_post(mw);
		assert_int_equal(wait_for(1), IBV_WC_SUCCESS);
		invalidate_post(mw);
		assert_int_equal(wait_for(1), IBV_WC_SUCCESS);
	}
	printf("row: a window bound and invalidated: %.0f us\n",
	       (now_us() - begin) / ROUNDS);
	begin = now_us();
	write_post(mrs[1]->rkey, BULK_BYTES);
	assert_int_equal(wait_for(0), IBV_WC_SUCCESS);
	printf("row: 1 MiB written: %.0f us\n", now_us() - begin);
	for (i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
		double reg;

		begin = now_us();
		for (nr = 0; nr < ROUNDS; ++nr) {
			struct ibv_mr *mr =
				ibv_reg_mr(pd, seen, sizes[i],
					   IBV_ACCESS_LOCAL_WRITE |
						   IBV_ACCESS_REMOTE_WRITE);

			assert_non_null(mr);
			assert_int_equal(ibv_dereg_mr(mr), 0);
		}
		reg = (now_us() - begin) / ROUNDS;
		begin = now_us();
		for (nr = 0; nr < ROUNDS; ++nr) {
			memcpy(seen, bytes[nr % BOTH], sizes[i]);
			__asm__ volatile("" ::"r"(seen) : "memory");
		}
		printf("row: %zu bytes registered and deregistered: %.0f us; copied: %.0f us\n",
		       sizes[i], reg, (now_us() - begin) / ROUNDS);
	}
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_window_that_is_invalid_refuses, both_up, both_down),
		cmocka_unit_test(an_invalidation_meets_a_write),
		cmocka_unit_test_setup_teardown(costs_are_printed, both_up,
						both_down),
	};

	return cmocka_run_group_tests(tests, device_open, device_close);
}
