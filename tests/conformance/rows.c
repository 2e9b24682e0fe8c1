/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The rows: a transport joins the suite by one of these. */
#include "m0/sunrpc.h"

#include "cf.h"
#include "lnet_rows.h"
#include "row_parts.h"
#include "sunrpc_rows.h"
#include "toy.h"

static void toy_addr(char *ret, unsigned nr)
{
	snprintf(ret, CF_ADDR_MAX, "toy:%u", nr);
}

static void toy_spelling(char *ret, unsigned nr)
{
	snprintf(ret, CF_ADDR_MAX, "toy:%06u", nr);
}

/* Faults are off; a busy machine's copy of 16 MiB may take its time. */
static void toy_begin(void)
{
	static const struct toy_faults none;

	toy_faults_set(&none);
	toy_timeout_set((cf.c_sim ? 200 : 1500) * M0_TIME_ONE_MSEC);
}

static const char *const toy_bad[] = {
	"", "toy", "toy:", "toy:x", "toy:0", "toy:1 ", "127.0.0.1:7000", NULL
};

const struct cf_row cf_rows[] = {
	{
		.r_name = "mem",
		CF_MEM_ROW,
	},
	{
		.r_name = "toy",
		.r_xprt = &toy_xprt,
		.r_addr = toy_addr,
		.r_spelling = toy_spelling,
		.r_bad = toy_bad,
		.r_dynamic = true,
		.r_workers_set = m0_net_kit_machine_workers_set,
		.r_begin = toy_begin,
		.r_nobody = 0,
		.r_nobuf = CF_RECEIVER,
		.r_toobig = CF_RECEIVER,
		.r_desc_at_add = false,
		.r_stale = -ETIMEDOUT,
		.r_cancel_ns = CF_CANCEL_NS,
		.r_seg_max = 1 << 20,
		.r_segs_max = 16,
		.r_buf_max = 16 << 20,
		.r_msg_max = 16 << 20,
	},
	{
		.r_name = "lnet-lo",
		.r_addr = lnet_lo_addr,
		.r_spelling = lnet_lo_spelling,
		.r_begin = lnet_lo_begin,
		.r_end = lnet_end,
		CF_LNET_ROW,
	},
	{
		.r_name = "lnet-tcp4",
		.r_addr = lnet_tcp4_addr,
		.r_spelling = lnet_tcp4_spelling,
		.r_begin = lnet_tcp4_begin,
		.r_end = lnet_end,
		.r_turn = lnet_turn,
		CF_LNET_ROW,
	},
	{
		.r_name = "lnet-o2ib",
		.r_addr = lnet_o2ib_addr,
		.r_spelling = lnet_o2ib_spelling,
		.r_begin = lnet_o2ib_begin,
		.r_end = lnet_o2ib_end,
		.r_turn = lnet_turn,
		/* cancel_grace_ms, and the flush of the device. */
		CF_LNET_ROW_OF(1500 * M0_TIME_ONE_MSEC),
	},
	{
		.r_name = "lnet-host",
		.r_addr = lnet_tcp4_addr,
		.r_spelling = lnet_tcp4_spelling,
		.r_begin = lnet_host_begin,
		.r_end = lnet_host_end,
		.r_turn = lnet_turn,
		CF_LNET_ROW,
	},
	{
		.r_name = "lnet-lanes",
		.r_addr = lnet_tcp4_addr,
		.r_spelling = lnet_tcp4_spelling,
		.r_begin = lnet_lanes_begin,
		.r_end = lnet_lanes_end,
		.r_turn = lnet_turn,
		CF_LNET_ROW,
	},
	{
		.r_name = "lnet-attach",
		.r_addr = lnet_tcp4_addr,
		.r_spelling = lnet_tcp4_spelling,
		.r_begin = lnet_attach_begin,
		.r_end = lnet_end,
		.r_turn = lnet_turn,
		CF_LNET_ROW,
	},
	{
		.r_name = "lnet-direct",
		.r_addr = lnet_lo_addr,
		.r_spelling = lnet_lo_spelling,
		.r_begin = lnet_direct_begin,
		.r_end = lnet_direct_end,
		.r_turn = lnet_turn,
		CF_LNET_ROW,
	},
	{
		.r_name = "lnet-device",
		.r_addr = lnet_tcp4_addr,
		.r_spelling = lnet_tcp4_spelling,
		.r_begin = lnet_device_begin,
		.r_end = lnet_device_end,
		.r_turn = lnet_turn,
		CF_LNET_ROW,
	},
	{
		.r_name = "lnet-tcp6",
		.r_addr = lnet_tcp6_addr,
		.r_spelling = lnet_tcp6_spelling,
		.r_begin = lnet_tcp6_begin,
		.r_end = lnet_end,
		.r_turn = lnet_turn,
		CF_LNET_ROW,
	},
	{
		.r_name = "sunrpc",
		.r_xprt = &m0_net_bulk_sunrpc_xprt,
		.r_addr = sunrpc_addr,
		.r_spelling = sunrpc_spelling,
		.r_bad = sunrpc_bad,
		.r_dynamic = true,
		.r_workers_set = m0_net_bulk_sunrpc_tm_set_num_threads,
		.r_nobody = -ENETUNREACH,
		.r_nobuf = CF_BOTH,
		.r_toobig = CF_BOTH,
		.r_desc_at_add = false,
		.r_stale = -ENOENT,
		.r_cancel_ns = CF_CANCEL_NS,
		.r_seg_max = M0_NET_BULK_SUNRPC_SEGMENT_MAX,
		.r_segs_max = M0_NET_BULK_SUNRPC_SEGMENTS_MAX,
		.r_buf_max = M0_NET_BULK_SUNRPC_BUFFER_MAX,
		.r_msg_max = M0_NET_BULK_SUNRPC_MESSAGE_MAX,
	},
	{ .r_name = NULL }
};
