/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Makes first inputs of the targets, from recorded traffic and from our own
 * encoders:
 *	fuzz_seed tests/golden fuzz/corpus
 */
#include <stdio.h>
#include <sys/stat.h>

#include "../../tools/copy/copy_wire.h"
#include "../../tools/object/obj_wire.h"
#include "golden/golden.h"
#include "golden/roce.h"
#include "../../tests/unit/lnd/o2ib/worked.h"
#include "fuzz.h"
#include "m0/net_kit.h"
#include "m0/rpc_bulk.h"
#include "os/os.h"
#include "ring/shared_entry.h"
#include "../../tools/perf/perf_wire.h"
#include "rpc/core/rpc_wire.h"
#include "xprt/sunrpc/sunrpc_internal.h"

enum {
	/** Bounds of one kind of messages of one recorded file. */
	KIND_MAX = 3,
	PATH_BYTES = 4096
};

static const char *corpus;

static void seed_put(const char *target, const char *name, const void *bytes,
		     size_t nr)
{
	char  path[PATH_BYTES];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", corpus, target);
	(void)mkdir(path, 0777);
	(void)snprintf(path, sizeof path, "%s/%s/%s", corpus, target, name);
	file = fopen(path, "wb");
	M0_ASSERT(file != NULL);
	M0_ASSERT(fwrite(bytes, 1, nr, file) == nr);
	M0_ASSERT(fclose(file) == 0);
}

static void text_put(const char *target, const char *const *texts, size_t nr)
{
	char   name[32];
	size_t i;

	for (i = 0; i < nr; ++i) {
		(void)snprintf(name, sizeof name, "text-%02zu", i + 1);
		seed_put(target, name, texts[i], strlen(texts[i]));
	}
}

/* ------------------------------------------------------ recorded traffic -- */

static void msg_put(const char *file, const struct dialogue_msg *msg,
		    unsigned nr)
{
	char        name[64];
	const char *targets[] = { "sock_request", "sock_hello", "sock_frame",
				  "lnet_hdr" };

	(void)snprintf(name, sizeof name, "recorded-%.2s-%u", file, nr);
	seed_put(targets[msg->dm_kind], name,
		 msg->dm_kind == DIALOGUE_LNET ? msg->dm_hdr_bytes
					       : msg->dm_bytes,
		 msg->dm_kind != DIALOGUE_LNET ? msg->dm_nr
		 : msg->dm_large               ? M0_LNET_HDR_LARGE_BYTES
					       : M0_LNET_HDR_BYTES);
	if (dialogue_is_ping(msg))
		seed_put("ping_info", name, msg->dm_payload,
			 msg->dm_hdr.lhd_payload_bytes);
}

static void recorded(void)
{
	struct golden_file  *file;
	struct golden_file  *last = NULL;
	struct dialogue     *dlg;
	struct dialogue_msg *msg;
	unsigned             nr[8] = {};
	unsigned             kind;

	golden_for_each_msg(file, dlg, msg)
	{
		if (file != last)
			memset(nr, 0, sizeof nr);
		last = file;
		kind = (unsigned)msg->dm_kind;
		if (msg->dm_kind == DIALOGUE_LNET)
			kind += msg->dm_hdr.lhd_type;
		if (nr[kind]++ < KIND_MAX)
			msg_put(file->gf_name, msg, 10 * kind + nr[kind]);
	}
}

/* Takes two messages of each type from a recording of net o2ib. */
static void o2ib_recorded(const char *dir, const char *name)
{
	static struct roce        roce;
	const struct roce_packet *packet = roce.ro_packets;
	const uint8_t            *bytes;
	unsigned                  nr[256] = { 0 };
	char                      seed[64];
	size_t                    bytes_nr;
	size_t                    i;

	M0_ASSERT(roce_load(&roce, dir, name) == 0);
	for (i = 0; i < roce.ro_packets_nr; ++i, ++packet) {
		bytes = packet->rop_bytes;
		bytes_nr = packet->rop_nr;
		if (packet->rop_opcode == ROCE_UD_SEND_ONLY) {
			bytes = roce_private(packet, ROCE_CM_REQ, &bytes_nr);
			if (bytes == NULL)
				bytes = roce_private(packet, ROCE_CM_REP,
						     &bytes_nr);
		} else if (packet->rop_opcode != ROCE_RC_SEND_ONLY) {
			continue;
		}
		if (bytes == NULL || nr[bytes[6]]++ > 1)
			continue;
		(void)snprintf(seed, sizeof seed, "recorded-%s-%02x-%u", name,
			       bytes[6], nr[bytes[6]]);
		seed_put("o2ib_wire", seed, bytes, bytes_nr);
	}
}

static void o2ib(const char *dir)
{
	o2ib_recorded(dir, "17-o2ib-rxe-ping");
	o2ib_recorded(dir, "17-o2ib-rxe-read-4K");
	o2ib_recorded(dir, "17-o2ib-rxe-write-1M");
	seed_put("o2ib_wire", "noop", worked_noop, sizeof worked_noop);
	seed_put("o2ib_wire", "put-nak", worked_put_nak, sizeof worked_put_nak);
	seed_put("o2ib_wire", "put-ack", worked_put_ack, sizeof worked_put_ack);
	seed_put("o2ib_wire", "reject", worked_reject, sizeof worked_reject);
}

/* -------------------------------------------------------- our encoders -- */

static void nids(void)
{
	static const char *const texts[] = { "10.0.0.1@tcp",
					     "10.0.0.1",
					     "2001:db8::1@tcp2",
					     "0@lo",
					     "5@gni3",
					     "1.2.3.4@o2ib65535",
					     "*",
					     "<?>",
					     "a000001@<17:0>",
					     "tcp",
					     "tcp65536",
					     "<17:3>",
					     "::ffff:1.2.3.4@tcp" };
	struct m0_lnet_nid       nid;
	uint8_t                  buf[M0_LNET_NID_BYTES];
	char                     name[32];
	size_t                   i;

	text_put("nid_text", texts, ARRAY_SIZE(texts));
	for (i = 0; i < ARRAY_SIZE(texts); ++i) {
		if (m0_lnet_nid_parse_any(&nid, texts[i]) != 0)
			continue;
		(void)snprintf(name, sizeof name, "nid-%02zu", i + 1);
		m0_lnet_nid_encode(&nid, buf);
		seed_put("nid", name, buf, sizeof buf);
	}
}

static void texts(void)
{
	static const char *const eps[] = { "10.0.0.1@tcp:12345:40:7",
					   "2001:db8::1@tcp:12345:34:4095",
					   "0@lo:12345:63:*",
					   "10.0.0.1@tcp:12346:40:7", "1:2:3" };
	static const char *const nets[] = {
		"tcp",
		"tcp(eth0)",
		"tcp1(10.0.0.1,10.0.0.2)[0-3,5]",
		" tcp ( eth0 [1] , eth1 ) , tcp2(::1)",
		"lo,tcp(",
		"o2ib(ib0)"
	};
	static const char *const lines[] = {
		"ping timeout_ms=1000 10.0.0.1@tcp 10.0.0.2@tcp",
		"discover force=1 json=1 source=10.0.0.1@tcp 10.0.0.2@tcp",
		"net.show net=tcp verbose=4",
		"peer.show 10.0.0.1@tcp",
		"peer.list",
		"stats.show json=1",
		"stats.reset",
		"global.show",
		"fault.add fault.kind=drop fault.src=* fault.dst=10.0.0.1@tcp "
		"fault.rate=3 fault.msgs=1",
		"fault.show fault.kind=any",
		"fault.reset"
	};

	text_put("ep_text", eps, ARRAY_SIZE(eps));
	text_put("cfg_nets", nets, ARRAY_SIZE(nets));
	text_put("ctl_request", lines, ARRAY_SIZE(lines));
}

static void descs(void)
{
	struct m0_net_kit_desc kd = { .nks_qtype = M0_NET_QT_PASSIVE_BULK_SEND,
				      .nks_id = 7,
				      .nks_size = 4096,
				      .nks_incarnation = 99,
				      .nks_passive = { 6, { 10, 0, 0, 1 } },
				      .nks_active = { 5, { 10, 0, 0, 2 } } };
	struct m0_net_buf_desc_data bdd = { .bdd_used = 4096 };
	uint8_t                     buf[512];
	m0_bcount_t                 nr;

	M0_ASSERT(m0_net_kit_desc_encode(&kd, &bdd.bdd_desc) == 0);
	seed_put("net_desc", "both", bdd.bdd_desc.nbd_data,
		 bdd.bdd_desc.nbd_len);
	nr = m0_rpc_bulk_desc_put(buf, &bdd);
	seed_put("rpc_body", "bulk-1", buf, nr);
	nr += m0_rpc_bulk_desc_put(buf + nr, &bdd);
	seed_put("rpc_body", "bulk-2", buf, nr);
	m0_net_desc_free(&bdd.bdd_desc);
	kd.nks_qtype = M0_NET_QT_PASSIVE_BULK_RECV;
	kd.nks_active.nka_len = 0;
	M0_ASSERT(m0_net_kit_desc_encode(&kd, &bdd.bdd_desc) == 0);
	seed_put("net_desc", "anybody", bdd.bdd_desc.nbd_data,
		 bdd.bdd_desc.nbd_len);
	m0_net_desc_free(&bdd.bdd_desc);
}

static const struct m0_rpc_wire_sum sum = { .rws_add = m0_os_crc32c };

/* A packet of `items_nr` items with bodies of more and more bytes. */
static void packet(const char *name, uint32_t items_nr)
{
	struct m0_rpc_wire_packet head = { .rwp_items_nr = items_nr,
					   .rwp_life = 3,
					   .rwp_sender = { 1, 2 },
					   .rwp_incarnation = 9 };
	struct m0_rpc_wire_item   item = { .rwi_opcode = M0_RPC_OP_USER,
					   .rwi_flags = M0_RPC_WIRE_REQUEST,
					   .rwi_session = 1,
					   .rwi_xid = 1,
					   .rwi_ack = 1 };
	uint8_t                   buf[1024] = {};
	struct m0_rpc_wire_seg    seg = { buf, M0_RPC_WIRE_PACKET_BYTES };

	for (; items_nr > 0; --items_nr) {
		item.rwi_size = 5 * items_nr;
		item.rwi_stream = items_nr;
		m0_rpc__wire_item_put(buf + seg.rwg_nr, &item);
		seg.rwg_nr += m0_rpc__wire_item_size(item.rwi_size);
	}
	(void)m0_rpc__wire_seal(&head, &seg, 1, &sum);
	seed_put("rpc_packet", name, buf, seg.rwg_nr);
}

static void rpc(void)
{
	static struct m0_rpc_session_est ses = {
		1, 2, 8, true, true, { 4, 5 }
	};
	static struct m0_rpc_session_rep rep = { 2, 8, false, { 3, 4 } };
	struct m0_rpc_conn_est           est = { { 1, 2 }, 3, 4096 };
	struct m0_rpc_conn_rep           crep = { 1, 2, 4096, true };
	uint8_t                          buf[M0_RPC_WIRE_BODY_MAX];

	packet("one", 1);
	packet("three", 3);
	m0_rpc__wire_refusal_put(buf, &sum);
	seed_put("rpc_packet", "refusal", buf, M0_RPC_WIRE_REFUSAL_BYTES);
	seed_put("rpc_body", "conn-est", buf, m0_rpc__conn_est_put(buf, &est));
	seed_put("rpc_body", "conn-rep", buf, m0_rpc__conn_rep_put(buf, &crep));
	seed_put("rpc_body", "number", buf, m0_rpc__number_put(buf, 77));
	seed_put("rpc_body", "session-est", buf,
		 m0_rpc__session_est_put(buf, &ses));
	seed_put("rpc_body", "session-rep", buf,
		 m0_rpc__session_rep_put(buf, &rep));
	/* Records: kind, bytes of a key, bytes of a value. */
	seed_put("rpc_record", "client",
		 "\0\0\x10\1\0\0\0\0\0\0\0\1\2\3\4\5\6\7", 19);
	seed_put("rpc_record", "session",
		 "\1\0\x18\1\0\0\0\2\0\0\0\1\2\3\4\5\6\7\1\2\3\4\5\6\7", 27);
	seed_put("rpc_record", "reply",
		 "\2\x08\0\0\0\1\0\0\0\2\x20\1\0\0\0\2\0\0\0\1\2\3\4\5\6\7"
		 "\1\2\3\4\5\6\7\1\2\3\4\5\6\7\1\2\3\4\5\6",
		 43);
}

static void tools(void)
{
	uint8_t         desc[] = { 1, 2, 3, 4 };
	struct copy_msg cm = { .cm_type = COPY_OPEN,
			       .cm_length = 4096,
			       .cm_block = 4096,
			       .cm_inflight = 4,
			       .cm_text = "name\0from",
			       .cm_text_nr = 9 };
	struct perf_msg pm = { .psg_type = PERF_ROW,
			       .psg_id = 1,
			       .psg_conv = 5,
			       .psg_row = 1,
			       .psg_size = 64,
			       .psg_depth = 8,
			       .psg_text = "0@lo:12345:40:1",
			       .psg_text_nr = 15 };
	uint8_t         buf[512];

	seed_put("copy_wire", "open", buf,
		 (size_t)copy_msg_encode(&cm, buf, sizeof buf));
	cm = (struct copy_msg){ .cm_type = COPY_BLOCK,
				.cm_length = 9,
				.cm_desc = { sizeof desc, desc } };
	seed_put("copy_wire", "block", buf,
		 (size_t)copy_msg_encode(&cm, buf, sizeof buf));
	cm = (struct copy_msg){ .cm_type = COPY_END_REPLY,
				.cm_status = -28,
				.cm_text = "no room",
				.cm_text_nr = 7 };
	seed_put("copy_wire", "end-reply", buf,
		 (size_t)copy_msg_encode(&cm, buf, sizeof buf));
	seed_put("perf_wire", "row", buf,
		 (size_t)perf_msg_encode(&pm, buf, sizeof buf));
	pm = (struct perf_msg){ .psg_type = PERF_LOOK_REPLY,
				.psg_conv = 5,
				.psg_cpu_ns = 1,
				.psg_now_ns = 2,
				.psg_text = "" };
	seed_put("perf_wire", "look-reply", buf,
		 (size_t)perf_msg_encode(&pm, buf, sizeof buf));
}

static void objects(void)
{
	uint8_t        desc[] = { 1, 2, 3, 4 };
	struct obj_req req = { .orq_flags = OBJ_FORCE,
			       .orq_name = "a/name",
			       .orq_name_nr = 6,
			       .orq_data = "data",
			       .orq_data_nr = 4 };
	struct obj_rep rep = { .orp_flags = OBJ_INLINE,
			       .orp_size = 4,
			       .orp_name = "a/name",
			       .orp_name_nr = 6,
			       .orp_data = "data",
			       .orp_data_nr = 4 };
	uint8_t        buf[1024];

	seed_put("obj_wire", "put", buf, obj_req_encode(&req, buf));
	seed_put("obj_wire", "reply", buf, obj_rep_encode(&rep, buf));
	req.orq_data_nr = 0;
	req.orq_after = "b";
	req.orq_after_nr = 1;
	req.orq_desc.bdd_used = 4096;
	req.orq_desc.bdd_desc.nbd_len = sizeof desc;
	req.orq_desc.bdd_desc.nbd_data = desc;
	seed_put("obj_wire", "write", buf, obj_req_encode(&req, buf));
}

static void sunrpc(void)
{
	struct sr_ep         ep = { 0x7f000001, 4000, 1 };
	struct sr_call_head  call = { .sch_xid = 5,
				      .sch_from = ep,
				      .sch_to = ep,
				      .sch_desc = { 7, ep, ep, 2, 4096 },
				      .sch_data_nr = 100 };
	struct sr_reply_head reply = { .srh_xid = 5, .srh_data_nr = 100 };
	uint8_t              buf[1 + SR_OUT_HEAD_MAX];
	char                 name[16];
	unsigned             proc;

	for (proc = 0; proc < SR_PROC_NR; ++proc) {
		buf[0] = 0;
		call.sch_proc = proc;
		(void)snprintf(name, sizeof name, "call-%u", proc);
		seed_put("sunrpc_head", name, buf,
			 1 + m0_sunrpc__call_encode(buf + 1, &call));
		buf[0] = (uint8_t)(SR_PROC_NR + proc);
		reply.srh_proc = (enum sr_proc)proc;
		(void)snprintf(name, sizeof name, "reply-%u", proc);
		seed_put("sunrpc_head", name, buf,
			 1 + m0_sunrpc__reply_encode(buf + 1, &reply));
	}
}

/* A program of ring_side.c: the other side puts these entries, this one takes them. */
static void ring_put(const char *name, bool server, const void *entries,
		     size_t nr, size_t bytes)
{
	uint8_t buf[4 + 8 * M0_SHARED_UP_BYTES];

	M0_ASSERT(nr * bytes + 4 <= sizeof buf);
	buf[0] = !server;
	buf[1] = 1;
	buf[2] = (uint8_t)nr;
	memcpy(buf + 3, entries, nr * bytes);
	buf[3 + nr * bytes] = 3;
	seed_put("ring_side", name, buf, 4 + nr * bytes);
}

static void ring_ops(void)
{
	static const struct m0_lnet_nid nid = { .ln_type = M0_LNET_TYPE_TCP,
						.ln_addr = { 10, 0, 0, 1 } };
	struct m0_shared_down           entries[4];
	uint16_t                        opcode;
	char                            name[16];

	memset(entries, 0, sizeof entries);
	/* A group of an operation and an MD of 10 segments. */
	entries[0].sdn_tag.stg_gen = 1;
	entries[0].sdn_tag.stg_more_nr = 3;
	entries[0].sdn_op.sop_target = (struct m0_lnet_process_id){ nid, 1 };
	entries[0].sdn_op.sop_md_gen = 1;
	entries[1].sdn_tag.stg_opcode = M0_SHARED_MORE_MD;
	entries[1].sdn_tag.stg_gen = 1;
	entries[1].sdn_md.smd_threshold = 1;
	entries[1].sdn_md.smd_me = M0_RING_NR_NONE;
	entries[1].sdn_md.smd_segs_nr = 10;
	entries[2].sdn_tag.stg_opcode = M0_SHARED_MORE_SEGS;
	entries[3].sdn_tag.stg_opcode = M0_SHARED_MORE_SEGS;
	for (opcode = 0; opcode < 10; ++opcode)
		(opcode < 2   ? &entries[1].sdn_md.smd_segs[opcode]
		 : opcode < 6 ? &entries[2].sdn_segs.ssg_segs[opcode - 2]
			      : &entries[3].sdn_segs.ssg_segs[opcode - 6])
			->rsg_region = 1;
	entries[0].sdn_tag.stg_opcode = M0_SHARED_BIND_PUT;
	ring_put("bind-put", true, entries, 4, sizeof entries[0]);
	entries[1].sdn_tag.stg_opcode = M0_SHARED_MD_ATTACH;
	entries[1].sdn_tag.stg_more_nr = 2;
	ring_put("md-attach", true, &entries[1], 3, sizeof entries[0]);
	entries[0].sdn_tag.stg_more_nr = 0;
	entries[0].sdn_tag.stg_opcode = M0_SHARED_PUT;
	ring_put("put", true, entries, 1, sizeof entries[0]);
	for (opcode = 1; opcode < M0_SHARED_OPCODES_NR; ++opcode) {
		memset(entries, 0, sizeof entries[0]);
		entries[0].sdn_tag.stg_opcode = opcode;
		entries[0].sdn_tag.stg_nr = opcode >= M0_SHARED_REGION_ADD &&
					    opcode <= M0_SHARED_REGION_DEL;
		entries[0].sdn_words[0] = 1;
		(void)snprintf(name, sizeof name, "op-%u", opcode);
		ring_put(name, true, entries, 1, sizeof entries[0]);
	}
}

static void ring_events(void)
{
	struct m0_shared_up entry;
	uint16_t            kind;
	char                name[16];

	for (kind = 1; kind < M0_SHARED_KINDS_NR; ++kind) {
		memset(&entry, 0, sizeof entry);
		entry.sup_tag.stg_opcode = kind;
		if (kind <= M0_SHARED_EV_UNLINK) {
			entry.sup_event.sev_type =
				kind == M0_SHARED_EV_SEND ? M0_LNET_EV_SEND
				: kind == M0_SHARED_EV_RESPONSE ? M0_LNET_EV_ACK
				: kind == M0_SHARED_EV_INCOMING
					? M0_LNET_EV_PUT
					: M0_LNET_EV_UNLINK;
			entry.sup_event.sev_md_gen = 1;
			entry.sup_event.sev_unlinked = 1;
		} else if (kind == M0_SHARED_RESULT) {
			entry.sup_result.srt_opcode = M0_SHARED_EQ_ADD;
		} else if (kind == M0_SHARED_COPY) {
			entry.sup_copy.scp_pid = 1;
			entry.sup_copy.scp_pieces_nr = 1;
			entry.sup_copy.scp_pieces[0] =
				(struct m0_shared_piece){ 1, 0, 1, 1 };
		}
		(void)snprintf(name, sizeof name, "event-%u", kind);
		ring_put(name, false, &entry, 1, sizeof entry);
	}
}

int main(int argc, char **argv)
{
	const char *wrong = argc == 3 ? golden_load(argv[1])
				      : "two directories";

	if (wrong != NULL) {
		fprintf(stderr, "fuzz_seed: %s\n", wrong);
		return 1;
	}
	corpus = argv[2];
	recorded();
	o2ib(argv[1]);
	nids();
	texts();
	descs();
	rpc();
	tools();
	sunrpc();
	objects();
	ring_ops();
	ring_events();
	golden_free();
	return 0;
}
