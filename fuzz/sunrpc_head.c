/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Heads of calls and replies of transport sunrpc, in as many pieces as a
 * connection takes them. The first byte says which: 0 a call, else a reply to
 * the procedure of that number. */
#include "lib/fuzz.h"
#include "xprt/sunrpc/sunrpc_internal.h"

static void call_again(const struct sr_call_head *head)
{
	uint8_t             first[SR_OUT_HEAD_MAX];
	uint8_t             second[SR_OUT_HEAD_MAX];
	struct sr_call_head again;
	uint32_t            nr = m0_sunrpc__call_encode(first, head);
	uint32_t            rpc;

	M0_ASSERT(nr <= sizeof first - 4);
	M0_ASSERT(m0_sunrpc__call_need(first, nr, &rpc) == nr);
	M0_ASSERT(m0_sunrpc__call_decode(first, nr, &again) == SR_SUCCESS);
	M0_ASSERT(again.sch_xid == head->sch_xid);
	M0_ASSERT(again.sch_data_nr == head->sch_data_nr);
	M0_ASSERT(m0_sunrpc__call_encode(second, &again) == nr);
	M0_ASSERT(memcmp(first, second, nr) == 0);
}

static void call_check(const uint8_t *data, uint32_t size)
{
	struct sr_call_head head;
	uint32_t            rpc = 0;
	uint32_t            have = 0;
	uint32_t            need;
	uint8_t            *bytes;

	while ((need = m0_sunrpc__call_need(data, have, &rpc)) > have) {
		M0_ASSERT(need <= SR_HEAD_MAX);
		if (have == size)
			break;
		have = (uint32_t)min64u(need, size);
	}
	/* A cut in the header of RPC ends the connection. */
	if (need == 0 || rpc == 0 || have < rpc)
		return;
	bytes = fuzz_copy(data, have);
	if (m0_sunrpc__call_decode(bytes, have, &head) == SR_SUCCESS) {
		M0_ASSERT(head.sch_proc < SR_PROC_NR);
		call_again(&head);
	}
	free(bytes);
}

static void reply_check(const uint8_t *data, uint32_t size, enum sr_proc proc)
{
	struct sr_reply_head head = { .srh_proc = proc };
	struct sr_reply_head again = { .srh_proc = proc };
	uint8_t              buf[SR_OUT_HEAD_MAX];
	uint32_t             have = 0;
	uint32_t             need;
	uint8_t             *bytes;

	while ((need = m0_sunrpc__reply_need(data, have, proc)) > have) {
		M0_ASSERT(need <= SR_HEAD_MAX);
		if (have == size)
			return;
		have = (uint32_t)min64u(need, size);
	}
	if (need == 0)
		return;
	bytes = fuzz_copy(data, have);
	if (m0_sunrpc__reply_decode(bytes, have, &head) &&
	    head.srh_verdict == SR_SUCCESS) {
		head.srh_xid = 7;
		need = m0_sunrpc__reply_encode(buf, &head);
		M0_ASSERT(m0_sunrpc__reply_need(buf, need, proc) == need);
		M0_ASSERT(m0_sunrpc__reply_decode(buf, need, &again));
		M0_ASSERT(again.srh_verdict == SR_SUCCESS);
		M0_ASSERT(again.srh_rc == head.srh_rc);
		M0_ASSERT(again.srh_eof == head.srh_eof);
		M0_ASSERT(again.srh_data_nr == head.srh_data_nr);
	}
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0 || size > 2 * SR_HEAD_MAX)
		return 0;
	if (data[0] == 0)
		call_check(data + 1, (uint32_t)size - 1);
	else
		reply_check(data + 1, (uint32_t)size - 1,
			    (enum sr_proc)(data[0] % SR_PROC_NR));
	return 0;
}
