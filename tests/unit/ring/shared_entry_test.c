/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Entries of a shared area: each arrives as it was sent, and each field is checked. */
#include "unit/ring/shared_rig.h"

static struct rig               rig;
static struct m0_ring_seg       segs[M0_LNET_MD_SEGS_MAX];
static struct m0_ring_seg       got_segs[M0_LNET_MD_SEGS_MAX];
static struct m0_shared_request req;
static struct m0_shared_request got;
static struct m0_shared_why     why;
static const struct m0_lnet_nid nid = { .ln_type = M0_LNET_TYPE_TCP,
					.ln_addr = { 10, 0, 0, 1 } };
static const struct m0_lnet_nid nid6 = { .ln_size = M0_LNET_NID_SIZE_IPV6,
					 .ln_type = M0_LNET_TYPE_TCP,
					 .ln_addr = { 0x20, 1, [15] = 1 } };

static int setup(void **state)
{
	unsigned i;

	(void)state;
	rig_init(&rig);
	memset(&req, 0, sizeof req);
	memset(&got, 0, sizeof got);
	req.srq_segs = segs;
	got.srq_segs = got_segs;
	for (i = 0; i < ARRAY_SIZE(segs); ++i)
		segs[i] = (struct m0_ring_seg){ .rsg_region = 1 + i % 8,
						.rsg_offset = i * 100,
						.rsg_bytes = 1000 };
	return 0;
}

/* ------------------------------------------------------------- operations -- */

/* A request of every opcode, as a front may make it. */
static void req_make(enum m0_shared_opcode opcode, uint32_t segs_nr)
{
	bool has_me = opcode == M0_SHARED_QUEUE_ATTACH ||
		      opcode == M0_SHARED_ENTRY_ATTACH;

	(void)setup(NULL);
	req.srq_opcode = opcode;
	req.srq_nr = 3;
	req.srq_gen = 7;
	req.srq_md_nr = opcode == M0_SHARED_MD_ATTACH ||
					opcode == M0_SHARED_QUEUE_ATTACH
				? 3
				: 5;
	req.srq_md_gen = req.srq_md_nr == 3 ? 7 : 9;
	req.srq_me = (struct m0_ring_me){ .rme_id = { nid6, 12345 },
					  .rme_portal = 9,
					  .rme_flags = M0_LNET_ME_QUEUE,
					  .rme_match_bits = 0x123456789abcdef0,
					  .rme_ignore_bits = 0xff };
	req.srq_md = (struct m0_ring_md){
		.rmd_length = segs_nr * 1000,
		.rmd_vec_offset = 0,
		.rmd_max_size = segs_nr * 500,
		.rmd_threshold = -1,
		.rmd_options = (has_me ? M0_LNET_MD_OP_PUT : 0) |
			       M0_LNET_MD_MAX_SIZE,
		.rmd_eq = 4,
		.rmd_me = has_me ? 3 : M0_RING_NR_NONE,
		.rmd_me_gen = has_me ? 7 : 0,
		.rmd_auto_unlink = 1,
		.rmd_segs_nr = segs_nr,
	};
	req.srq_op = (struct m0_ring_op){ .rop_self = m0_lnet_nid_any,
					  .rop_target = { nid, 12345 },
					  .rop_portal = 63,
					  .rop_match_bits = 0xfeed,
					  .rop_hdr_data = 0xbeef,
					  .rop_md_offset = segs_nr > 0,
					  .rop_bytes = segs_nr > 0,
					  .rop_offset = 17,
					  .rop_md = 5,
					  .rop_md_gen = 9,
					  .rop_ack = 1 };
}

static void numbers_make(void)
{
	switch (req.srq_opcode) {
	case M0_SHARED_EQ_ADD:
		req.srq_eq_add =
			(struct m0_shared_eq_add){ .sqa_max = 1024,
						   .sqa_is_polled = 1 };
		break;
	case M0_SHARED_LIMITS_SET:
		req.srq_limits =
			(struct m0_shared_limits){ .sli_bytes = 1 << 20,
						   .sli_mes = 1,
						   .sli_mds = 2,
						   .sli_ops = 3,
						   .sli_eqs = 4,
						   .sli_regions = 5 };
		break;
	case M0_SHARED_TM_CLAIM:
	case M0_SHARED_TM_RELEASE:
		req.srq_tm = (struct m0_shared_tm){ .stn_portal = 34,
						    .stn_tmid = 4095 };
		break;
	default:
		req.srq_number = 1;
		break;
	}
	if (M0_IN(req.srq_opcode,
		  (M0_SHARED_LAZY, M0_SHARED_BARRIER, M0_SHARED_EQ_ADD,
		   M0_SHARED_EQ_DEL, M0_SHARED_STATS_RESET, M0_SHARED_CLOSE,
		   M0_SHARED_LIMITS_SET, M0_SHARED_TM_CLAIM,
		   M0_SHARED_TM_RELEASE)))
		req.srq_gen = 0;
	if (M0_IN(req.srq_opcode,
		  (M0_SHARED_STATS_RESET, M0_SHARED_CLOSE, M0_SHARED_LIMITS_SET,
		   M0_SHARED_TM_CLAIM, M0_SHARED_TM_RELEASE)))
		req.srq_nr = 0;
	if (req.srq_opcode == M0_SHARED_CONTROL)
		req.srq_nr = 1;
}

/* Writes the request to the queue. @return its entries. */
static uint32_t req_put(void)
{
	uint32_t nr = m0_shared_request_entries(&req);

	assert_int_equal(m0_shared_reserve(&rig.rig_client, nr, NULL), 0);
	assert_int_equal(m0_shared_request_put(&rig.rig_client, &req), nr);
	return nr;
}

static void req_send(void)
{
	uint32_t nr = req_put();

	m0_shared_commit(&rig.rig_client, nr);
	why.shy_field = NULL;
	assert_int_equal(m0_shared_request_get(&rig.rig_server, &got, &why),
			 nr);
	m0_shared_release(&rig.rig_server, nr, 0);
	assert_int_equal(got.srq_opcode, req.srq_opcode);
	assert_int_equal(got.srq_nr, req.srq_nr);
	assert_int_equal(got.srq_gen, req.srq_gen);
}

static void assert_md(void)
{
	assert_int_equal(got.srq_md_nr, req.srq_md_nr);
	assert_int_equal(got.srq_md_gen, req.srq_md_gen);
	assert_memory_equal(&got.srq_md, &req.srq_md,
			    offsetof(struct m0_ring_md, rmd_long));
	assert_memory_equal(got_segs, segs,
			    req.srq_md.rmd_segs_nr * sizeof segs[0]);
}

static void mds_arrive_with_all_segments(void **state)
{
	uint32_t nr;

	(void)state;
	for (nr = 0; nr <= M0_LNET_MD_SEGS_MAX; ++nr) {
		req_make(M0_SHARED_MD_ATTACH, nr);
		req_send();
		assert_md();
		req_make(M0_SHARED_QUEUE_ATTACH, nr);
		req_send();
		assert_md();
		req_make(M0_SHARED_ENTRY_ATTACH, nr);
		req_send();
		assert_md();
		assert_memory_equal(&got.srq_me, &req.srq_me,
				    sizeof req.srq_me);
	}
	assert_int_equal(m0_shared_request_entries(&req), M0_SHARED_GROUP_MAX);
}

static void operations_arrive(void **state)
{
	enum m0_shared_opcode opcode;

	(void)state;
	for (opcode = M0_SHARED_PUT; opcode <= M0_SHARED_BIND_GET; ++opcode) {
		req_make(opcode, 1);
		req_send();
		req.srq_op.rop_ack = opcode == M0_SHARED_PUT ||
				     opcode == M0_SHARED_BIND_PUT;
		assert_memory_equal(&got.srq_op, &req.srq_op,
				    offsetof(struct m0_ring_op, rop_event));
		if (opcode >= M0_SHARED_BIND_PUT)
			assert_md();
	}
}

static void short_entries_arrive(void **state)
{
	static const enum m0_shared_opcode opcodes[] = {
		M0_SHARED_ME_UNLINK,  M0_SHARED_MD_UNLINK,
		M0_SHARED_LAZY,       M0_SHARED_STATS_RESET,
		M0_SHARED_CLOSE,      M0_SHARED_BARRIER,
		M0_SHARED_CONTROL,    M0_SHARED_EQ_ADD,
		M0_SHARED_EQ_DEL,     M0_SHARED_REGION_ADD,
		M0_SHARED_REGION_DEL, M0_SHARED_LIMITS_SET,
		M0_SHARED_TM_CLAIM,   M0_SHARED_TM_RELEASE,
		M0_SHARED_COPY_DONE,  M0_SHARED_ME_ATTACH,
	};
	unsigned i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(opcodes); ++i) {
		req_make(opcodes[i], 0);
		numbers_make();
		req_send();
		if (M0_IN(opcodes[i],
			  (M0_SHARED_LAZY, M0_SHARED_CONTROL,
			   M0_SHARED_REGION_ADD, M0_SHARED_COPY_DONE)))
			assert_int_equal(got.srq_number, 1);
	}
	req_make(M0_SHARED_LIMITS_SET, 0);
	numbers_make();
	req_send();
	assert_memory_equal(&got.srq_limits, &req.srq_limits,
			    sizeof req.srq_limits);
}

/* The events of an operation are those that the node can post about it. */
static void events_are_reserved(void **state)
{
	static const struct {
		enum m0_shared_opcode opcode;
		unsigned              nr;
	} rows[] = {
		{ M0_SHARED_ME_ATTACH, 1 },    { M0_SHARED_MD_ATTACH, 1 },
		{ M0_SHARED_ENTRY_ATTACH, 2 }, { M0_SHARED_PUT, 3 },
		{ M0_SHARED_GET, 3 },          { M0_SHARED_BIND_PUT, 4 },
		{ M0_SHARED_BIND_GET, 4 },     { M0_SHARED_MD_UNLINK, 0 },
		{ M0_SHARED_CONTROL, 1 },      { M0_SHARED_CLOSE, 0 },
	};
	unsigned i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		req_make(rows[i].opcode, 1);
		assert_int_equal(m0_shared_events_nr(&req), rows[i].nr);
	}
	req_make(M0_SHARED_PUT, 1);
	req.srq_op.rop_ack = 0;
	assert_int_equal(m0_shared_events_nr(&req), 2);
}

/* ------------------------------------------------------------------- lies -- */

/** A field of entry `lie_entry` of a request that is changed, and what is said. */
struct lie {
	enum m0_shared_opcode lie_opcode;
	uint32_t              lie_segs_nr;
	uint32_t              lie_entry;
	size_t                lie_offset;
	size_t                lie_bytes;
	uint64_t              lie_value;
	const char           *lie_text;
};

#define FIELD(type, field)                        \
	offsetof(struct m0_shared_##type, field), \
		sizeof(((struct m0_shared_##type *)0)->field)
#define TAG(field)        FIELD(tag, field)
#define BODY(type, field) sizeof(struct m0_shared_tag) + FIELD(type, field)
#define NUMBER(at, bytes) sizeof(struct m0_shared_tag) + (at), (bytes)

static const struct lie lies[] = {
	{ M0_SHARED_PUT, 1, 0, TAG(stg_opcode), 99,
	  "opcode 99: 1 to 25 is accepted" },
	{ M0_SHARED_PUT, 1, 0, TAG(stg_opcode), 0,
	  "opcode 0: 1 to 25 is accepted" },
	{ M0_SHARED_PUT, 1, 0, TAG(stg_opcode), M0_SHARED_MORE_SEGS,
	  "opcode 33: 1 to 25 is accepted" },
	{ M0_SHARED_PUT, 1, 0, TAG(stg_more_nr), 1,
	  "more_nr 1: 0 to 0 is accepted" },
	{ M0_SHARED_PUT, 1, 0, TAG(stg_nr), 16, "nr 16: 0 to 15 is accepted" },
	{ M0_SHARED_PUT, 1, 0, TAG(stg_gen), 0,
	  "gen 0: 1 to 4294967295 is accepted" },
	{ M0_SHARED_PUT, 1, 0, TAG(stg_reserved), 5,
	  "tag_reserved 5: 0 to 0 is accepted" },
	{ M0_SHARED_STATS_RESET, 0, 0, TAG(stg_nr), 1,
	  "nr 1: 0 to 0 is accepted" },
	{ M0_SHARED_CLOSE, 0, 0, TAG(stg_gen), 1, "gen 1: 0 to 0 is accepted" },
	{ M0_SHARED_REGION_ADD, 0, 0, TAG(stg_nr), 0,
	  "nr 0: 1 to 8 is accepted" },
	{ M0_SHARED_REGION_ADD, 0, 0, TAG(stg_nr), 9,
	  "nr 9: 1 to 8 is accepted" },
	{ M0_SHARED_REGION_ADD, 0, 0, NUMBER(0, 8), 0,
	  "region_bytes 0: 1 to 140737488355328 is accepted" },
	{ M0_SHARED_CONTROL, 0, 0, TAG(stg_nr), 2, "nr 2: 0 to 1 is accepted" },
	{ M0_SHARED_LAZY, 0, 0, TAG(stg_nr), 0, "nr 0: 1 to 63 is accepted" },
	{ M0_SHARED_LAZY, 0, 0, NUMBER(0, 8), 4, "lazy 4: 1 to 3 is accepted" },
	{ M0_SHARED_BARRIER, 0, 0, TAG(stg_nr), 4, "nr 4: 0 to 3 is accepted" },
	{ M0_SHARED_BARRIER, 0, 0, NUMBER(104, 8), 1,
	  "reserved 1: bytes that an entry does not use are 0" },
	{ M0_SHARED_EQ_ADD, 0, 0, BODY(eq_add, sqa_is_polled), 2,
	  "eq_is_polled 2: 0 to 1 is accepted" },
	{ M0_SHARED_EQ_ADD, 0, 0, BODY(eq_add, sqa_max), 0,
	  "eq_max 0: 1 to 1073741824 is accepted" },
	{ M0_SHARED_EQ_ADD, 0, 0, NUMBER(7, 1), 3,
	  "eq_reserved 3: 0 to 0 is accepted" },
	{ M0_SHARED_LIMITS_SET, 0, 0, BODY(limits, sli_mes), 17,
	  "limits_mes 17: 0 to 16 is accepted" },
	{ M0_SHARED_LIMITS_SET, 0, 0, BODY(limits, sli_mds), 17,
	  "limits_mds 17: 0 to 16 is accepted" },
	{ M0_SHARED_LIMITS_SET, 0, 0, BODY(limits, sli_ops), 17,
	  "limits_ops 17: 0 to 16 is accepted" },
	{ M0_SHARED_LIMITS_SET, 0, 0, BODY(limits, sli_eqs), 5,
	  "limits_eqs 5: 0 to 4 is accepted" },
	{ M0_SHARED_LIMITS_SET, 0, 0, BODY(limits, sli_regions), 9,
	  "limits_regions 9: 0 to 8 is accepted" },
	{ M0_SHARED_LIMITS_SET, 0, 0, BODY(limits, sli_reserved), 1,
	  "limits_reserved 1: 0 to 0 is accepted" },
	{ M0_SHARED_TM_CLAIM, 0, 0, BODY(tm, stn_portal), 0,
	  "tm_portal 0: 1 to 63 is accepted" },
	{ M0_SHARED_TM_CLAIM, 0, 0, BODY(tm, stn_tmid), 4097,
	  "tm_tmid 4097: 0 to 4096 is accepted" },
	{ M0_SHARED_TM_RELEASE, 0, 0, BODY(tm, stn_tmid), 4096,
	  "tm_tmid 4096: 0 to 4095 is accepted" },
	{ M0_SHARED_COPY_DONE, 0, 0, TAG(stg_nr), 32,
	  "nr 32: 0 to 31 is accepted" },
	{ M0_SHARED_COPY_DONE, 0, 0, TAG(stg_gen), 0,
	  "gen 0: 1 to 4294967295 is accepted" },
	{ M0_SHARED_COPY_DONE, 0, 0, NUMBER(0, 8), 4096,
	  "copy_errno 4096: 0 to 4095 is accepted" },
	{ M0_SHARED_ME_ATTACH, 0, 0, BODY(me, sma_portal), 0,
	  "me_portal 0: 1 to 63 is accepted" },
	{ M0_SHARED_ME_ATTACH, 0, 0, BODY(me, sma_portal), 64,
	  "me_portal 64: 1 to 63 is accepted" },
	{ M0_SHARED_ME_ATTACH, 0, 0, BODY(me, sma_flags), 0x12,
	  "me_flags 16: these bits are not known" },
	{ M0_SHARED_ME_ATTACH, 0, 0, BODY(me, sma_flags), 9,
	  "me_flags 9: QUEUE does not go with UNLINK" },
	{ M0_SHARED_ME_ATTACH, 0, 0, BODY(me, sma_id.lp_nid.ln_size), 13,
	  "me_id 13: 0 to 12 is accepted" },
	{ M0_SHARED_ME_ATTACH, 0, 0, BODY(me, sma_id.lp_nid.ln_size), 0,
	  "me_id 1: bytes beyond the address are 0" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_threshold), 0,
	  "md_threshold 0: 1 or more, or -1, is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_threshold), 0xfffffffe,
	  "md_threshold -2: -1 to 2147483647 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_options), 0x8000,
	  "md_options 32768: these bits are not known" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_options), 1,
	  "md_options 1: an MD has OP_PUT or OP_GET if it has an ME" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_eq), 5,
	  "md_eq 5: 0 to 4 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_me), 16,
	  "md_me 16: 0 to 15 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_me), 0,
	  "md_me_gen 0: 1 to 4294967295 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_me_gen), 1,
	  "md_me_gen 1: 0 to 0 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_auto_unlink), 2,
	  "md_auto_unlink 2: 0 to 1 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_reserved[6]), 1,
	  "reserved 0: bytes that an entry does not use are 0" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_segs[1].rsg_offset), 1,
	  "reserved 1: bytes that an entry does not use are 0" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_max_size), 1001,
	  "md_max_size 1001: 0 to 1000 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_vec_offset), 1001,
	  "md_vec_offset 1001: 0 to 1000 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_vec_offset), 1,
	  "md_length 1000: 0 to 999 is accepted" },
	{ M0_SHARED_MD_ATTACH, 0, 0, BODY(md, smd_segs_nr), 257,
	  "md_segs_nr 257: 0 to 256 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_segs_nr), 3,
	  "more_nr 0: 1 to 1 is accepted" },
	{ M0_SHARED_MD_ATTACH, 3, 0, TAG(stg_more_nr), 0,
	  "more_nr 0: 1 to 1 is accepted" },
	{ M0_SHARED_MD_ATTACH, 3, 0, TAG(stg_more_nr), 2,
	  "more_nr 2: 0 to 1 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_segs[0].rsg_region), 0,
	  "seg_region 0: 1 to 8 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_segs[0].rsg_region), 9,
	  "seg_region 9: 1 to 8 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_segs[0].rsg_reserved), 1,
	  "seg_reserved 1: 0 to 0 is accepted" },
	{ M0_SHARED_MD_ATTACH, 1, 0, BODY(md, smd_segs[0].rsg_offset),
	  UINT64_MAX, "seg_bytes 1000: 0 to 0 is accepted" },
	{ M0_SHARED_MD_ATTACH, 2, 0, BODY(md, smd_segs[0].rsg_bytes),
	  UINT64_MAX, "seg_bytes 1000: 0 to 0 is accepted" },
	{ M0_SHARED_MD_ATTACH, 3, 1, TAG(stg_opcode), M0_SHARED_MD_ATTACH,
	  "opcode 3: 33 to 33 is accepted" },
	{ M0_SHARED_MD_ATTACH, 3, 1, TAG(stg_nr), 1,
	  "nr 1: segments have no number" },
	{ M0_SHARED_MD_ATTACH, 3, 1, BODY(segs, ssg_segs[1].rsg_bytes), 2,
	  "reserved 2: bytes that an entry does not use are 0" },
	{ M0_SHARED_QUEUE_ATTACH, 1, 0, BODY(md, smd_auto_unlink), 0,
	  "md_auto_unlink 0: an MD of a QUEUE has an ME and unlinks itself" },
	{ M0_SHARED_ENTRY_ATTACH, 1, 0, TAG(stg_more_nr), 0,
	  "more_nr 0: 1 to 1 is accepted" },
	{ M0_SHARED_ENTRY_ATTACH, 1, 1, TAG(stg_opcode), M0_SHARED_MORE_SEGS,
	  "opcode 33: 32 to 32 is accepted" },
	{ M0_SHARED_ENTRY_ATTACH, 1, 1, TAG(stg_more_nr), 1,
	  "more_nr 1: 0 to 0 is accepted" },
	{ M0_SHARED_ENTRY_ATTACH, 1, 1, TAG(stg_nr), 16,
	  "nr 16: 0 to 15 is accepted" },
	{ M0_SHARED_ENTRY_ATTACH, 1, 1, BODY(md, smd_me), 4,
	  "md_me 4: the MD is for the ME of its group" },
	{ M0_SHARED_BIND_PUT, 1, 1, BODY(md, smd_me), 4,
	  "md_me_gen 0: 1 to 4294967295 is accepted" },
	{ M0_SHARED_BIND_PUT, 1, 0, BODY(op, sop_md), 4,
	  "op_md 4: the operation is on the MD of its group" },
	{ M0_SHARED_BIND_PUT, 1, 0, BODY(op, sop_md_offset), 1001,
	  "op_md_offset 1001: 0 to 1000 is accepted" },
	{ M0_SHARED_BIND_PUT, 1, 0, BODY(op, sop_bytes), 1000,
	  "op_bytes 1000: 0 to 999 is accepted" },
	{ M0_SHARED_PUT, 1, 0, BODY(op, sop_bytes), M0_LNET_MTU + 1,
	  "op_bytes 1048577: 0 to 1048576 is accepted" },
	{ M0_SHARED_PUT, 1, 0, BODY(op, sop_portal), 64,
	  "op_portal 64: 0 to 63 is accepted" },
	{ M0_SHARED_PUT, 1, 0, BODY(op, sop_md), 16,
	  "op_md 16: 0 to 15 is accepted" },
	{ M0_SHARED_PUT, 1, 0, BODY(op, sop_md_gen), 0,
	  "op_md_gen 0: 1 to 4294967295 is accepted" },
	{ M0_SHARED_PUT, 1, 0, BODY(op, sop_ack), 2,
	  "op_ack 2: 0 to 1 is accepted" },
	{ M0_SHARED_GET, 1, 0, BODY(op, sop_ack), 1,
	  "op_ack 1: 0 to 0 is accepted" },
	{ M0_SHARED_PUT, 1, 0, BODY(op, sop_reserved[1]), 4,
	  "op_reserved 4: 0 to 0 is accepted" },
	{ M0_SHARED_PUT, 1, 0, BODY(op, sop_target.lp_nid.ln_type), 255,
	  "op_target type 255: 0 to 254 is accepted" },
	{ M0_SHARED_PUT, 1, 0, BODY(op, sop_target.lp_nid.ln_addr[4]), 1,
	  "op_target 1: bytes beyond the address are 0" },
	{ M0_SHARED_PUT, 1, 0, BODY(op, sop_target.lp_pid), UINT32_MAX,
	  "op_target pid 4294967295: 0 to 4294967294 is accepted" },
	{ M0_SHARED_PUT, 1, 0, BODY(op, sop_self.ln_type), 2,
	  "op_self 255: 0 to 12 is accepted" },
	{ M0_SHARED_PUT, 1, 0, NUMBER(96, 8), 8,
	  "reserved 8: bytes that an entry does not use are 0" },
};

static void each_lie_is_found(void **state)
{
	char     text[256];
	unsigned i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(lies); ++i) {
		const struct lie *lie = &lies[i];
		uint32_t          nr;

		req_make(lie->lie_opcode, lie->lie_segs_nr);
		numbers_make();
		nr = req_put();
		memcpy((char *)m0_shared_slot(&rig.rig_client, lie->lie_entry) +
			       lie->lie_offset,
		       &lie->lie_value, lie->lie_bytes);
		m0_shared_commit(&rig.rig_client, nr);
		memset(&why, 0, sizeof why);
		assert_int_equal(m0_shared_request_get(&rig.rig_server, &got,
						       &why),
				 -EPROTO);
		assert_string_equal(m0_shared_why_print(&why, text,
							sizeof text),
				    lie->lie_text);
	}
}

/* A group of which only a part was committed. */
static void part_of_a_group_is_an_error(void **state)
{
	(void)state;
	req_make(M0_SHARED_BIND_PUT, 3);
	assert_int_equal(req_put(), 3);
	m0_shared_commit(&rig.rig_client, 2);
	assert_int_equal(m0_shared_request_get(&rig.rig_server, &got, &why),
			 -EPROTO);
	assert_string_equal(why.shy_field, "more_nr");
}

/* ----------------------------------------------------------------- events -- */

static struct m0_shared_report report;
static struct m0_shared_report told;

static void report_make(enum m0_shared_kind kind)
{
	static const uint32_t types[M0_SHARED_KINDS_NR] = {
		[M0_SHARED_EV_SEND] = M0_LNET_EV_SEND,
		[M0_SHARED_EV_RESPONSE] = M0_LNET_EV_REPLY,
		[M0_SHARED_EV_INCOMING] = M0_LNET_EV_PUT,
		[M0_SHARED_EV_UNLINK] = M0_LNET_EV_UNLINK,
	};

	rig_init(&rig);
	memset(&report, 0, sizeof report);
	memset(&told, 0, sizeof told);
	report.shp_kind = kind;
	report.shp_nr = kind != M0_SHARED_EV_INCOMING;
	if (kind <= M0_SHARED_EV_UNLINK) {
		report.shp_gen = 8;
		report.shp_is_last = kind <= M0_SHARED_EV_RESPONSE;
		report.shp_event = (struct m0_ring_event){
			.rev_type = types[kind],
			.rev_status = -110,
			.rev_unlinked = 1,
			.rev_target = { nid, 1 },
			.rev_initiator = { nid6, 2 },
			.rev_source = { nid, 3 },
			.rev_sender = nid6,
			.rev_portal = 4,
			.rev_match_bits = 5,
			.rev_hdr_data = 6,
			.rev_rlength = 7,
			.rev_mlength = 8,
			.rev_offset = 9,
			.rev_is_get = 1,
			.rev_md_nr = 15,
			.rev_md_gen = 11,
		};
	} else if (kind == M0_SHARED_RESULT) {
		report.shp_result = (struct m0_shared_result){
			.srt_status = 0,
			.srt_opcode = M0_SHARED_TM_CLAIM,
			.srt_value = 4095
		};
	} else if (kind == M0_SHARED_COPY) {
		report.shp_gen = 8;
		report.shp_copy = (struct m0_shared_copy){
			.scp_pid = 5,
			.scp_pieces_nr = 2,
			.scp_cookie_at = 6,
			.scp_cookie = { 7, 8 },
			.scp_pieces = { { .spe_from = 9,
					  .spe_offset = 10,
					  .spe_region = 8,
					  .spe_bytes = M0_LNET_MTU - 1 },
					{ .spe_from = 11,
					  .spe_region = 1,
					  .spe_bytes = 1 } },
		};
	}
}

static void *report_write(void)
{
	assert_int_equal(m0_shared_reserve(&rig.rig_server, 1, NULL), 0);
	m0_shared_report_put(&rig.rig_server, &report);
	return m0_shared_slot(&rig.rig_server, 0);
}

static void events_arrive(void **state)
{
	enum m0_shared_kind kind;

	(void)state;
	for (kind = 1; kind < M0_SHARED_KINDS_NR; ++kind) {
		report_make(kind);
		(void)report_write();
		m0_shared_commit(&rig.rig_server, 1);
		assert_int_equal(
			m0_shared_report_get(&rig.rig_client, &told, &why), 1);
		assert_memory_equal(&told, &report, sizeof report);
	}
}

/** A field of an event that is changed, and what is said. */
struct event_lie {
	enum m0_shared_kind evl_kind;
	size_t              evl_offset;
	size_t              evl_bytes;
	uint64_t            evl_value;
	const char         *evl_text;
};

static const struct event_lie event_lies[] = {
	{ M0_SHARED_DONE, TAG(stg_opcode), 11, "kind 11: 1 to 10 is accepted" },
	{ M0_SHARED_DONE, TAG(stg_nr), 16, "nr 16: 0 to 15 is accepted" },
	{ M0_SHARED_DONE, TAG(stg_more_nr), 1,
	  "more_nr 1: 0 to 0 is accepted" },
	{ M0_SHARED_DONE, TAG(stg_reserved), 1,
	  "tag_reserved 1: 0 to 0 is accepted" },
	{ M0_SHARED_DONE, NUMBER(0, 8), 1,
	  "reserved 1: bytes that an entry does not use are 0" },
	{ M0_SHARED_ANSWER, TAG(stg_nr), 2, "nr 2: 0 to 1 is accepted" },
	{ M0_SHARED_PASSED, TAG(stg_nr), 4, "nr 4: 0 to 3 is accepted" },
	{ M0_SHARED_EV_INCOMING, TAG(stg_nr), 1, "nr 1: 0 to 0 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_type), M0_LNET_EV_ACK,
	  "ev_type 4: 5 to 5 is accepted" },
	{ M0_SHARED_EV_RESPONSE, BODY(event, sev_type), M0_LNET_EV_SEND,
	  "ev_type 5: 3 to 4 is accepted" },
	{ M0_SHARED_EV_INCOMING, BODY(event, sev_type), 3,
	  "ev_type 3: 1 to 2 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_status), 1,
	  "ev_status 1: -4095 to 0 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_target.lp_nid.ln_size), 13,
	  "ev_target 13: 0 to 12 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_initiator.lp_nid.ln_size), 13,
	  "ev_initiator 13: 0 to 12 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_source.lp_nid.ln_size), 13,
	  "ev_source 13: 0 to 12 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_sender.ln_size), 13,
	  "ev_sender 13: 0 to 12 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_mlength), M0_LNET_MTU + 1,
	  "ev_mlength 1048577: 0 to 1048576 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_md), 16,
	  "ev_md 16: 0 to 15 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_md_gen), 0,
	  "ev_md_gen 0: 1 to 4294967295 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_unlinked), 2,
	  "ev_unlinked 2: 0 to 1 is accepted" },
	{ M0_SHARED_EV_UNLINK, BODY(event, sev_unlinked), 0,
	  "ev_unlinked 0: 1 to 1 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_is_get), 2,
	  "ev_is_get 2: 0 to 1 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_is_last), 2,
	  "ev_is_last 2: 0 to 1 is accepted" },
	{ M0_SHARED_EV_INCOMING, BODY(event, sev_is_last), 1,
	  "ev_is_last 1: 0 to 0 is accepted" },
	{ M0_SHARED_EV_SEND, BODY(event, sev_reserved[4]), 1,
	  "ev_reserved 1: 0 is accepted" },
	{ M0_SHARED_RESULT, BODY(result, srt_status), 5,
	  "result_status 5: -4095 to 0 is accepted" },
	{ M0_SHARED_RESULT, BODY(result, srt_opcode), 15,
	  "result_opcode 15: 16 to 22 is accepted" },
	{ M0_SHARED_RESULT, BODY(result, srt_value), 4096,
	  "result_value 4096: 0 to 4095 is accepted" },
	{ M0_SHARED_COPY, TAG(stg_nr), 32, "nr 32: 0 to 31 is accepted" },
	{ M0_SHARED_COPY, BODY(copy, scp_pid), 0,
	  "copy_pid 0: 1 to 2147483647 is accepted" },
	{ M0_SHARED_COPY, BODY(copy, scp_pid), 1U << 31,
	  "copy_pid 2147483648: 1 to 2147483647 is accepted" },
	{ M0_SHARED_COPY, BODY(copy, scp_pieces_nr), 0,
	  "copy_pieces_nr 0: 1 to 6 is accepted" },
	{ M0_SHARED_COPY, BODY(copy, scp_pieces_nr), 7,
	  "copy_pieces_nr 7: 1 to 6 is accepted" },
	{ M0_SHARED_COPY, BODY(copy, scp_pieces_nr), 1,
	  "reserved 4294967307: bytes that an entry does not use are 0" },
	{ M0_SHARED_COPY, BODY(copy, scp_pieces[0].spe_region), 0,
	  "piece_region 0: 1 to 8 is accepted" },
	{ M0_SHARED_COPY, BODY(copy, scp_pieces[1].spe_region), 9,
	  "piece_region 9: 1 to 8 is accepted" },
	{ M0_SHARED_COPY, BODY(copy, scp_pieces[1].spe_bytes), 0,
	  "piece_bytes 0: 1 to 1048576 is accepted" },
	{ M0_SHARED_COPY, BODY(copy, scp_pieces[1].spe_bytes), 2,
	  "copy_bytes 1048577: 1 to 1048576 is accepted" },
	{ M0_SHARED_COPY, BODY(copy, scp_pieces[0].spe_offset), UINT64_MAX,
	  "piece_offset 18446744073709551615: 0 to 140737488355328 is "
	  "accepted" },
	{ M0_SHARED_COPY, BODY(copy, scp_pieces[0].spe_from), UINT64_MAX,
	  "piece_from 18446744073709551615: 1 to 18446744073708503039 is "
	  "accepted" },
};

static void each_lie_of_a_server_is_found(void **state)
{
	char     text[256];
	unsigned i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(event_lies); ++i) {
		const struct event_lie *lie = &event_lies[i];

		report_make(lie->evl_kind);
		memcpy((char *)report_write() + lie->evl_offset,
		       &lie->evl_value, lie->evl_bytes);
		m0_shared_commit(&rig.rig_server, 1);
		memset(&why, 0, sizeof why);
		assert_int_equal(m0_shared_report_get(&rig.rig_client, &told,
						      &why),
				 -EPROTO);
		assert_string_equal(m0_shared_why_print(&why, text,
							sizeof text),
				    lie->evl_text);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		CASE(mds_arrive_with_all_segments),
		CASE(operations_arrive),
		CASE(short_entries_arrive),
		CASE(events_are_reserved),
		CASE(each_lie_is_found),
		CASE(part_of_a_group_is_an_error),
		CASE(events_arrive),
		CASE(each_lie_of_a_server_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
