/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Instructions that net o2ib takes for a message that arrives, for counters: the driver
 * between a fake provider and a fake engine, and what verbs adds, over a device that is a
 * table of fakes. 64 messages of 64 B at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/o2ib_rig.h"
#include "lnd/verbs/verbs_internal.h"

static const char usage[] =
	"o2ib_count driver|verbs NR: callgrind --toggle-collect=one_round\n";

enum {
	DEPTH = 64,
	BYTES = 64
};
#define US         (UINT64_C(0x000500000a000001))
#define PEER       (UINT64_C(0x000500000a000002))
#define US_STAMP   UINT64_C(0x1111)
#define PEER_STAMP UINT64_C(0x2222)

static unsigned long rounds_nr;

/* -- the driver -------------------------------------------------------------------- */

static struct rig     rig;
static struct rig_qp *qp;

static struct m0_o2ib_hdr hdr(uint8_t type)
{
	return (struct m0_o2ib_hdr){ .ibh_type = type,
				     .ibh_src_nid4 = PEER,
				     .ibh_src_stamp = PEER_STAMP,
				     .ibh_dst_nid4 = US,
				     .ibh_dst_stamp = type == M0_O2IB_CONNREQ
							      ? 0
							      : US_STAMP };
}

static void driver_begin(void)
{
	struct m0_o2ib_hdr h = hdr(M0_O2IB_CONNREQ);
	uint8_t            buf[M0_O2IB_CONN_BYTES];

	rig_init_deep(&rig, US, US_STAMP, DEPTH);
	rig.rg_wanted = BYTES;
	qp = rig_request(&rig, buf,
			 m0_o2ib__conn_encode(
				 &h,
				 &(struct m0_o2ib_params){ DEPTH, 256, 4096 },
				 buf, sizeof buf));
	M0_ASSERT(qp != NULL);
	rig_up(&rig, qp, NULL, 0);
}

/** The messages that come, in buffers of their own. */
static void driver_fill(void)
{
	struct m0_o2ib_hdr       h = hdr(M0_O2IB_IMMEDIATE);
	uint8_t                  lnet[M0_O2IB_LNET_HDR_BYTES] = {};
	uint8_t                  payload[BYTES] = {};
	uint64_t                 dest = US;
	struct m0_o2ib_immediate imm = { lnet, payload, BYTES };
	unsigned                 i;

	memcpy(lnet, &dest, sizeof dest);
	lnet[24] = M0_O2IB_LNET_PUT;
	for (i = 0; i < DEPTH; ++i) {
		struct rig_rbuf *rbuf = &qp->rgq_rbufs[i];

		M0_ASSERT(!rbuf->rgb_is_lent);
		rbuf->rgb_is_lent = true;
		rbuf->rgb_rbuf.orb_nr = (uint32_t)m0_o2ib__immediate_encode(
			&h, &imm, rbuf->rgb_bytes, sizeof rbuf->rgb_bytes);
	}
	rig.rg_rxs_nr = 0;
	qp->rgq_posts_nr = 0;
	qp->rgq_seen = 0;
}

static void driver_round(void)
{
	unsigned i;

	for (i = 0; i < DEPTH; ++i)
		rig.rg_dev.odv_up->odu_received(qp->rgq_qp.oqp_user,
						&qp->rgq_rbufs[i].rgb_rbuf);
	rig_step(&rig);
}

/* -- verbs ------------------------------------------------------------------------- */

static struct m0_loop_reactor reactor;
static struct m0_verbs_dev    dev;
static struct m0_verbs_hca    hca;
static struct m0_verbs_qp     vqp;
static struct m0_verbs_rbuf   rbufs[DEPTH];
static struct ibv_context     context;
static struct ibv_cq          cq;
static struct ibv_qp          ibv;
static struct rdma_cm_id      id;
static unsigned               come_nr;

static int fake_poll(struct ibv_cq *of, int nr, struct ibv_wc *wcs)
{
	int i;

	(void)of;
	for (i = 0; i < nr && come_nr > 0; ++i) {
		--come_nr;
		wcs[i].wr_id = (uintptr_t)&rbufs[come_nr];
		wcs[i].status = IBV_WC_SUCCESS;
		wcs[i].byte_len = BYTES;
	}
	return i;
}

static int fake_recv(struct ibv_qp *of, struct ibv_recv_wr *wrs,
		     struct ibv_recv_wr **bad)
{
	(void)of;
	(void)wrs;
	(void)bad;
	return 0;
}

static void taken(void *user, struct m0_o2ib_rbuf *rbuf)
{
	m0_verbs__repost(user, rbuf);
}

static const struct m0_o2ib_dev_up up = { .odu_received = taken };

static void verbs_begin(void)
{
	unsigned i;

	context.ops.poll_cq = fake_poll;
	context.ops.post_recv = fake_recv;
	cq.context = &context;
	ibv.context = &context;
	id.qp = &ibv;
	dev.vdv_dev.odv_up = &up;
	dev.vdv_reactor = &reactor;
	m0_list_init(&dev.vdv_reposts);
	hca.vhc_dev = &dev;
	hca.vhc_cq = &cq;
	hca.vhc_qps_nr = 1;
	vqp.vqp_dev = &dev;
	vqp.vqp_hca = &hca;
	vqp.vqp_id = &id;
	vqp.vqp_state = M0_VERBS_UP;
	vqp.vqp_qp.oqp_user = &vqp.vqp_qp;
	vqp.vqp_last = &vqp.vqp_first;
	m0_list_link_init(&vqp.vqp_repost);
	for (i = 0; i < DEPTH; ++i)
		rbufs[i].vrb_qp = &vqp;
}

static void verbs_round(void)
{
	int rc;

	m0_verbs__hca_turn(&hca);
	rc = m0_verbs__reposts_flush(&vqp);
	M0_ASSERT(rc == 0 && come_nr == 0);
}

/* -- both -------------------------------------------------------------------------- */

static __attribute__((__noinline__)) void one_round(bool is_verbs)
{
	++rounds_nr;
	if (is_verbs)
		verbs_round();
	else
		driver_round();
}

int main(int argc, char **argv)
{
	bool          is_verbs = argc == 3 && strcmp(argv[1], "verbs") == 0;
	unsigned long nr = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (nr == 0 || (!is_verbs && strcmp(argv[1], "driver") != 0)) {
		fputs(usage, stderr);
		return EXIT_FAILURE;
	}
	if (is_verbs)
		verbs_begin();
	else
		driver_begin();
	while (rounds_nr * DEPTH < nr) {
		come_nr = DEPTH;
		if (!is_verbs)
			driver_fill();
		one_round(is_verbs);
		if (!is_verbs)
			rig_complete(&rig, qp);
	}
	return EXIT_SUCCESS;
}
