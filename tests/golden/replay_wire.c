/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The other machines of a replay, as our node meets them on the wire. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "golden/replay.h"

enum {
	MSG_BYTES_MAX = (1 << 20) + 4096
};

static const char *addr_text(const struct m0_host_addr *addr, char *buf)
{
	return inet_ntop(addr->sa_bytes_nr == 4 ? AF_INET : AF_INET6,
			 addr->sa_bytes, buf, INET6_ADDRSTRLEN);
}

static void end_text(const struct pcap_end *end, char *buf)
{
	struct m0_host_addr addr = { .sa_bytes_nr =
					     (uint8_t)end->pe_addr_bytes };

	memcpy(addr.sa_bytes, end->pe_addr, end->pe_addr_bytes);
	(void)addr_text(&addr, buf);
}

/* -- what is said to our node ---------------------------------------------- */

static void say_msg(struct replay *replay, struct replay_conn *conn,
		    uint64_t cookie, const struct m0_lnet_hdr *hdr,
		    const uint8_t *payload)
{
	uint8_t              buf[M0_LNET_HDR_LARGE_BYTES];
	struct m0_sock_frame frame = { .sfr_type = M0_SOCK_FRAME_LNET,
				       .sfr_cookie = { cookie } };
	size_t               nr;

	m0_sock__frame_encode(&frame, buf);
	m0_sim_raw_send(conn->rc_raw, buf, M0_SOCK_FRAME_BYTES);
	nr = m0_lnet__hdr_encode(hdr, conn->rc_version == M0_SOCK_V4, buf);
	assert_true(nr > 0);
	m0_sim_raw_send(conn->rc_raw, buf, nr);
	m0_sim_raw_send(conn->rc_raw, payload, hdr->lhd_payload_bytes);
	++replay->re_fed_nr;
}

static bool conn_is_good(const struct replay_conn *conn)
{
	return conn->rc_is_open && !conn->rc_is_ended;
}

static bool same_addr(const struct pcap_end *left, const struct pcap_end *right)
{
	return left->pe_addr_bytes == right->pe_addr_bytes &&
	       memcmp(left->pe_addr, right->pe_addr, left->pe_addr_bytes) == 0;
}

/* Between the same two addresses, whichever has begun. */
static bool same_pair(const struct pcap_stream *left,
		      const struct pcap_stream *right)
{
	const struct pcap_end *l = left->ps_end;
	const struct pcap_end *r = right->ps_end;

	return (same_addr(&l[0], &r[0]) && same_addr(&l[1], &r[1])) ||
	       (same_addr(&l[0], &r[1]) && same_addr(&l[1], &r[0]));
}

struct replay_conn *replay__conn(struct replay *replay, unsigned stream)
{
	const struct pcap_stream *streams = replay->re_pcap.pc_streams;
	struct replay_conn       *other = NULL;
	struct replay_conn       *conn;
	unsigned                  i;

	for (i = 0; i < replay->re_conns_nr; ++i) {
		conn = &replay->re_conns[i];
		if (!conn_is_good(conn) || conn->rc_stream < 0)
			continue;
		if (conn->rc_stream == (int)stream)
			return conn;
		if (same_pair(&streams[conn->rc_stream], &streams[stream]))
			other = conn;
	}
	return other;
}

/* A recorded answer, with the handle and NIDs of what it answers. */
static void answer_say(struct replay *replay, const struct replay_said *said,
		       struct replay_item *answer)
{
	const struct dialogue_msg *msg = answer->ri_msg;
	struct m0_lnet_hdr         hdr = msg->dm_hdr;
	struct replay_conn        *conn;

	hdr.lhd_wmd = said->rs_hdr.lhd_wmd;
	hdr.lhd_dest_nid = said->rs_hdr.lhd_src_nid;
	hdr.lhd_src_nid = said->rs_hdr.lhd_dest_nid;
	conn = replay__conn(replay, answer->ri_stream);
	if (conn == NULL)
		conn = &replay->re_conns[said->rs_conn];
	answer->ri_done = true;
	answer->ri_owed = msg->dm_frame.sfr_cookie[0] != 0;
	say_msg(replay, conn, msg->dm_frame.sfr_cookie[0], &hdr,
		msg->dm_payload);
}

/* Answers a question beyond the recording: a ping. */
static void surplus_say(struct replay *replay, const struct replay_said *said)
{
	struct m0_lnet_hdr hdr = said->rs_hdr;
	unsigned           machine = replay__machine(replay, &hdr.lhd_dest_nid);
	const struct replay_machine *m = &replay->re_machines[machine];
	bool                         is_get = hdr.lhd_type == M0_LNET_GET;

	assert_true(machine < replay->re_machines_nr);
	if (m->rm_info == NULL || m0_lnet__wmd_is_none(&hdr.lhd_wmd))
		return;
	++replay->re_surplus_nr;
	hdr = (struct m0_lnet_hdr){
		.lhd_type = is_get ? M0_LNET_REPLY : M0_LNET_ACK,
		.lhd_dest_nid = said->rs_hdr.lhd_src_nid,
		.lhd_src_nid = said->rs_hdr.lhd_dest_nid,
		.lhd_dest_pid = M0_LNET_PID_LUSTRE,
		.lhd_src_pid = M0_LNET_PID_LUSTRE,
		.lhd_wmd = said->rs_hdr.lhd_wmd,
		.lhd_match_bits = is_get ? 0 : said->rs_hdr.lhd_match_bits,
		.lhd_length = is_get ? 0 : said->rs_hdr.lhd_payload_bytes,
		.lhd_payload_bytes =
			is_get ? (uint32_t)min64u(m->rm_info_nr,
						  said->rs_hdr.lhd_length)
			       : 0,
	};
	say_msg(replay, &replay->re_conns[said->rs_conn], 0, &hdr, m->rm_info);
}

void replay__feed(struct replay *replay, struct replay_item *item)
{
	const struct dialogue_msg *msg = item->ri_msg;
	struct replay_conn        *conn;
	struct m0_lnet_hdr         hdr = msg->dm_hdr;

	conn = replay__conn(replay, item->ri_stream);
	if (conn == NULL)
		replay__fail(replay, item, "no connection to say it on");
	item->ri_done = true;
	if (msg->dm_kind == DIALOGUE_NOOP) {
		/* Ours asks for no acknowledgements: keep-alives alone. */
		if (msg->dm_frame.sfr_cookie[1] == 1)
			m0_sim_raw_send(conn->rc_raw, msg->dm_bytes,
					msg->dm_nr);
		return;
	}
	item->ri_owed = msg->dm_frame.sfr_cookie[0] != 0;
	if (msg->dm_frame.sfr_cookie[1] != 0 ||
	    msg->dm_large != (conn->rc_version == M0_SOCK_V4) ||
	    (msg->dm_frame.sfr_csum != 0 && conn->rc_version != M0_SOCK_V2)) {
		say_msg(replay, conn, msg->dm_frame.sfr_cookie[0], &hdr,
			msg->dm_payload);
		return;
	}
	m0_sim_raw_send(conn->rc_raw, msg->dm_bytes, msg->dm_nr);
	++replay->re_fed_nr;
}

/* -- connections ------------------------------------------------------------- */

static struct replay_conn *conn_new(struct replay     *replay,
				    struct m0_sim_raw *raw, int stream)
{
	struct replay_conn *conn = &replay->re_conns[replay->re_conns_nr++];

	assert_true(replay->re_conns_nr <= REPLAY_CONNS_MAX);
	*conn = (struct replay_conn){ .rc_raw = raw, .rc_stream = stream };
	return conn;
}

static void came(struct m0_sim_raw *raw, void *arg)
{
	struct replay_conn *conn = conn_new(arg, raw, -1);

	conn->rc_is_dialled_by_us = true;
}

void replay__listen(struct replay *replay)
{
	const struct replay_machine *machine;
	struct m0_host_addr          addr = {};
	char                         text[INET6_ADDRSTRLEN];
	char                         seen[32][INET6_ADDRSTRLEN];
	unsigned                     seen_nr = 0;
	unsigned                     i;
	unsigned                     k;
	unsigned                     n;

	for (i = 0; i < replay->re_machines_nr; ++i) {
		machine = &replay->re_machines[i];
		for (k = 0; i != replay->re_ours && k < machine->rm_nids_nr;
		     ++k) {
			addr.sa_bytes_nr =
				machine->rm_nids[k].ln_size == 0 ? 4 : 16;
			memcpy(addr.sa_bytes, machine->rm_nids[k].ln_addr, 16);
			(void)addr_text(&addr, text);
			for (n = 0; n < seen_nr; ++n)
				if (strcmp(seen[n], text) == 0)
					break;
			if (n < seen_nr)
				continue;
			strcpy(seen[seen_nr++], text);
			m0_sim_raw_listen(text, 988, came, replay);
		}
	}
}

void replay__dial(struct replay *replay, struct replay_item *item)
{
	const struct pcap_stream *stream =
		&replay->re_pcap.pc_streams[item->ri_stream];
	char               from[INET6_ADDRSTRLEN];
	char               to[INET6_ADDRSTRLEN];
	struct m0_sim_raw *raw;

	end_text(&stream->ps_end[PCAP_INITIATOR], from);
	end_text(&stream->ps_end[PCAP_LISTENER], to);
	raw = m0_sim_raw_dial(from, stream->ps_end[PCAP_INITIATOR].pe_port, to,
			      988);
	(void)conn_new(replay, raw, (int)item->ri_stream);
	m0_sim_raw_send(raw, item->ri_msg->dm_bytes, item->ri_msg->dm_nr);
	item->ri_done = true;
}

/* -- what our node says -------------------------------------------------------- */

static size_t left_of(const struct replay_conn *conn)
{
	return conn->rc_raw->smr_in_nr - conn->rc_at;
}

static const uint8_t *at_of(const struct replay_conn *conn)
{
	return conn->rc_raw->smr_in + conn->rc_at;
}

static struct replay_item *hello_item(struct replay *replay, unsigned stream,
				      bool ours)
{
	unsigned i;

	for (i = 0; i < replay->re_items_nr; ++i) {
		struct replay_item *item = &replay->re_items[i];

		if (item->ri_stream == stream && item->ri_ours == ours &&
		    item->ri_kind == PCAP_BYTES &&
		    item->ri_msg->dm_kind == DIALOGUE_HELLO)
			return item;
	}
	return NULL;
}

/* A HELLO must be what the recorded one is, but for the life it tells of. */
static void hello_conforms(struct replay *replay, struct replay_item *item,
			   const struct m0_sock_hello *hello)
{
	const struct m0_sock_hello *want = &item->ri_msg->dm_hello;

	if (hello->sh_version != want->sh_version ||
	    hello->sh_ctype != want->sh_ctype ||
	    !m0_lnet_nid_eq(&hello->sh_src_nid, &want->sh_src_nid) ||
	    !m0_lnet_nid_eq(&hello->sh_dst_nid, &want->sh_dst_nid) ||
	    hello->sh_src_pid != want->sh_src_pid ||
	    hello->sh_src_incarnation == 0 || hello->sh_ips_nr != 0)
		replay__fail(replay, item, "another HELLO: version %u type %u",
			     hello->sh_version, hello->sh_ctype);
	item->ri_done = true;
	++replay->re_hellos_nr;
}

/* Our node has connected: which recorded stream is that? */
static void dialled_bind(struct replay *replay, struct replay_conn *conn,
			 const struct m0_sock_hello *hello)
{
	struct replay_item *item;
	unsigned            i;
	unsigned            k;

	for (i = 0; i < replay->re_streams_nr; ++i) {
		item = hello_item(replay, i, true);
		if (item == NULL || item->ri_done || replay->re_left_out[i] ||
		    item->ri_msg->dm_from != PCAP_INITIATOR ||
		    item->ri_msg->dm_hello.sh_ctype != hello->sh_ctype ||
		    !m0_lnet_nid_eq(&item->ri_msg->dm_hello.sh_dst_nid,
				    &hello->sh_dst_nid))
			continue;
		conn->rc_stream = (int)i;
		hello_conforms(replay, item, hello);
		for (k = 0; k < replay->re_items_nr; ++k)
			if (replay->re_items[k].ri_stream == i &&
			    replay->re_items[k].ri_kind == PCAP_BYTES &&
			    replay->re_items[k].ri_msg->dm_kind ==
				    DIALOGUE_REQUEST)
				replay->re_items[k].ri_done = true;
		return;
	}
}

static void dialled_answer(struct replay *replay, struct replay_conn *conn,
			   const struct m0_sock_hello *hello)
{
	struct replay_item  *item = NULL;
	struct m0_sock_hello mine;
	uint8_t              buf[M0_SOCK_HELLO_BYTES_MAX];

	if (conn->rc_stream >= 0)
		item = hello_item(replay, (unsigned)conn->rc_stream, false);
	if (item != NULL) {
		item->ri_done = true;
		m0_sim_raw_send(conn->rc_raw, item->ri_msg->dm_bytes,
				item->ri_msg->dm_nr);
		return;
	}
	mine = (struct m0_sock_hello){
		.sh_version = hello->sh_version,
		.sh_src_nid = hello->sh_dst_nid,
		.sh_dst_nid = hello->sh_src_nid,
		.sh_src_pid = M0_LNET_PID_LUSTRE,
		.sh_src_incarnation = 4711,
		.sh_ctype = m0_sock__ctype_invert(hello->sh_ctype),
	};
	m0_sim_raw_send(conn->rc_raw, buf, m0_sock__hello_encode(&mine, buf));
}

/* @return bytes of the request our node begins with; 0: not all there. */
static size_t request_take(struct replay *replay, struct replay_conn *conn)
{
	struct m0_sock_request req;
	int                    nr;

	if (left_of(conn) < M0_SOCK_HEAD_BYTES)
		return 0;
	nr = m0_sock__request_bytes(at_of(conn));
	assert_true(nr > 0);
	if (left_of(conn) < (size_t)nr)
		return 0;
	assert_int_equal(m0_sock__request_decode(&req, at_of(conn)), 0);
	conn->rc_machine = replay__machine(replay, &req.sr_nid);
	assert_true(conn->rc_machine < replay->re_machines_nr);
	return (size_t)nr;
}

static bool hello_take(struct replay *replay, struct replay_conn *conn)
{
	struct m0_sock_hello hello;
	struct replay_item  *item;
	size_t               at = 0;
	int                  nr;

	if (conn->rc_is_dialled_by_us) {
		at = request_take(replay, conn);
		if (at == 0)
			return false;
	}
	if (left_of(conn) < at + M0_SOCK_HEAD_BYTES)
		return false;
	nr = m0_sock__hello_bytes(at_of(conn) + at);
	assert_true(nr > 0);
	if (left_of(conn) < at + (size_t)nr)
		return false;
	assert_int_equal(m0_sock__hello_decode(&hello, at_of(conn) + at), 0);
	conn->rc_at += at + (size_t)nr;
	conn->rc_version = hello.sh_version;
	conn->rc_ctype = hello.sh_ctype;
	conn->rc_is_open = true;
	if (conn->rc_is_dialled_by_us) {
		dialled_bind(replay, conn, &hello);
		dialled_answer(replay, conn, &hello);
	} else {
		item = hello_item(replay, (unsigned)conn->rc_stream, true);
		assert_non_null(item);
		hello_conforms(replay, item, &hello);
	}
	return true;
}

/* -- messages of our node ------------------------------------------------------ */

static const uint8_t *payload_of(const struct replay      *replay,
				 const struct replay_said *said)
{
	return replay->re_conns[said->rs_conn].rc_raw->smr_in +
	       said->rs_payload_at;
}

/* Our ping information tells the same machine. */
static void info_conforms(struct replay *replay, struct replay_item *item,
			  const struct replay_said *said)
{
	const struct replay_machine *m = &replay->re_machines[replay->re_ours];
	struct m0_lnet_ping_ni       nis[REPLAY_NIDS_MAX];
	struct m0_lnet_ping_info     info = { .lpi_nis = nis,
					      .lpi_nis_max = REPLAY_NIDS_MAX };
	unsigned                     i;

	if (m0_lnet__ping_decode(&info, payload_of(replay, said),
				 said->rs_hdr.lhd_payload_bytes) != 0)
		replay__fail(replay, item, "no ping information");
	/* Without discovery Lustre claims Multi-Rail all the same; we do not,
	 * since what a peer then may do to us needs discovery. */
	if ((m->rm_features & M0_LNET_FEAT_DISCOVERY) == 0)
		info.lpi_features |= M0_LNET_FEAT_MULTI_RAIL;
	/* The recorded nodes are of Lustre. */
	info.lpi_features ^= M0_LNET_FEAT_COLIBRI;
	if (info.lpi_features != m->rm_features ||
	    info.lpi_nis_nr != m->rm_first_nr ||
	    info.lpi_pid != M0_LNET_PID_LUSTRE)
		replay__fail(replay, item,
			     "other ping information: features %x, %u NIDs",
			     info.lpi_features, info.lpi_nis_nr);
	for (i = 0; i < m->rm_first_nr; ++i)
		if (!m0_lnet_nid_eq(&nis[i].lpg_nid, &m->rm_nids[i]) ||
		    !nis[i].lpg_up)
			replay__fail(replay, item, "another NID %u", i);
}

static bool request_matches(const struct replay      *replay,
			    const struct replay_item *item,
			    const struct replay_said *said)
{
	const struct m0_lnet_hdr *want = &item->ri_msg->dm_hdr;
	const struct m0_lnet_hdr *is = &said->rs_hdr;

	return want->lhd_type == is->lhd_type &&
	       want->lhd_portal == is->lhd_portal &&
	       want->lhd_match_bits == is->lhd_match_bits &&
	       (replay__is_reserved(is) ||
		(item->ri_told && want->lhd_hdr_data == is->lhd_hdr_data &&
		 want->lhd_length == is->lhd_length &&
		 want->lhd_payload_bytes == is->lhd_payload_bytes &&
		 memcmp(item->ri_msg->dm_payload, payload_of(replay, said),
			is->lhd_payload_bytes) == 0)) &&
	       replay__machine(replay, &want->lhd_dest_nid) ==
		       replay__machine(replay, &is->lhd_dest_nid);
}

static bool matches(const struct replay *replay, const struct replay_item *item,
		    const struct replay_said *said)
{
	const struct m0_lnet_hdr *want;

	if (!item->ri_ours || item->ri_done || replay__type(item) < 0)
		return false;
	want = &item->ri_msg->dm_hdr;
	if (said->rs_hdr.lhd_type == M0_LNET_GET ||
	    said->rs_hdr.lhd_type == M0_LNET_PUT)
		return request_matches(replay, item, said);
	return want->lhd_type == said->rs_hdr.lhd_type &&
	       memcmp(&want->lhd_wmd, &said->rs_hdr.lhd_wmd,
		      sizeof want->lhd_wmd) == 0;
}

/* Where the protocol leaves no choice, the words are the same. */
static void conforms(struct replay *replay, struct replay_item *item,
		     const struct replay_said *said)
{
	const struct m0_lnet_hdr *want = &item->ri_msg->dm_hdr;
	const struct m0_lnet_hdr *is = &said->rs_hdr;

	if (said->rs_frame.sfr_csum != 0 || said->rs_frame.sfr_cookie[0] != 0)
		replay__fail(replay, item, "a checksum or a cookie");
	if (is->lhd_dest_pid != M0_LNET_PID_LUSTRE ||
	    is->lhd_src_pid != M0_LNET_PID_LUSTRE ||
	    is->lhd_offset != want->lhd_offset)
		replay__fail(replay, item, "another pid or offset");
	if (dialogue_is_ping(item->ri_msg)) {
		info_conforms(replay, item, said);
	} else if (is->lhd_payload_bytes != want->lhd_payload_bytes ||
		   memcmp(payload_of(replay, said), item->ri_msg->dm_payload,
			  is->lhd_payload_bytes) != 0) {
		replay__fail(replay, item, "other payload");
	}
	if (is->lhd_type == M0_LNET_PUT &&
	    m0_lnet__wmd_is_none(&is->lhd_wmd) !=
		    m0_lnet__wmd_is_none(&want->lhd_wmd))
		replay__fail(replay, item, "another wish for an ACK");
	if (is->lhd_type != M0_LNET_ACK && is->lhd_type != M0_LNET_REPLY)
		return;
	if (!m0_lnet_nid_eq(&is->lhd_dest_nid, &want->lhd_dest_nid) ||
	    !m0_lnet_nid_eq(&is->lhd_src_nid, &want->lhd_src_nid) ||
	    is->lhd_length != want->lhd_length ||
	    is->lhd_match_bits != want->lhd_match_bits)
		replay__fail(replay, item, "an answer with other words");
}

static void said_look(struct replay *replay, struct replay_said *said)
{
	struct replay_item *item;
	struct replay_item *answer;
	unsigned            i;

	for (i = 0; i < replay->re_items_nr; ++i) {
		item = &replay->re_items[i];
		if (!matches(replay, item, said))
			continue;
		conforms(replay, item, said);
		said->rs_is_matched = true;
		item->ri_done = true;
		++replay->re_matched_nr;
		answer = replay__answer(replay, &item->ri_msg->dm_hdr.lhd_wmd,
					false);
		if (answer != NULL && !answer->ri_done &&
		    !m0_lnet__wmd_is_none(&said->rs_hdr.lhd_wmd))
			answer_say(replay, said, answer);
		return;
	}
	if (!replay__is_reserved(&said->rs_hdr) ||
	    (said->rs_hdr.lhd_type != M0_LNET_GET &&
	     said->rs_hdr.lhd_type != M0_LNET_PUT))
		replay__fail(replay, NULL,
			     "our node says what was not recorded: type %u "
			     "portal %u bits %" PRIx64,
			     said->rs_hdr.lhd_type, said->rs_hdr.lhd_portal,
			     said->rs_hdr.lhd_match_bits);
	surplus_say(replay, said);
}

/* Each cookie of theirs is acknowledged once. */
static void acks_look(struct replay *replay, const struct m0_sock_frame *frame)
{
	uint64_t ranges[2][2];
	int      nr = m0_sock__frame_acks(frame, ranges);
	unsigned i;
	bool     found;

	assert_true(nr >= 0);
	if (frame->sfr_type == M0_SOCK_FRAME_NOOP && nr == 0)
		++replay->re_keepalives_nr;
	while (nr-- > 0) {
		for (; ranges[nr][0] <= ranges[nr][1]; ++ranges[nr][0]) {
			for (i = 0, found = false;
			     i < replay->re_items_nr && !found; ++i) {
				struct replay_item *item = &replay->re_items[i];

				found = item->ri_owed &&
					item->ri_msg->dm_frame.sfr_cookie[0] ==
						ranges[nr][0];
				if (found)
					item->ri_owed = false;
			}
			if (!found)
				replay__fail(replay, NULL,
					     "acknowledges cookie %" PRIu64
					     ", which is not owed",
					     ranges[nr][0]);
			++replay->re_acked_nr;
		}
	}
}

static bool frame_take(struct replay *replay, unsigned nr)
{
	struct replay_conn *conn = &replay->re_conns[nr];
	struct replay_said *said = &replay->re_said[replay->re_said_nr];
	bool                large = conn->rc_version == M0_SOCK_V4;
	size_t              bytes = M0_SOCK_FRAME_BYTES;

	if (left_of(conn) < bytes)
		return false;
	assert_true(replay->re_said_nr < REPLAY_SAID_MAX);
	*said = (struct replay_said){ .rs_conn = nr };
	assert_int_equal(
		m0_sock__frame_decode(&said->rs_frame, false, at_of(conn)), 0);
	if (said->rs_frame.sfr_type == M0_SOCK_FRAME_LNET) {
		bytes += large ? M0_LNET_HDR_LARGE_BYTES : M0_LNET_HDR_BYTES;
		if (left_of(conn) < bytes)
			return false;
		assert_int_equal(
			m0_lnet__hdr_decode(&said->rs_hdr, large,
					    at_of(conn) + M0_SOCK_FRAME_BYTES),
			0);
		said->rs_payload_at = conn->rc_at + bytes;
		bytes += said->rs_hdr.lhd_payload_bytes;
		if (left_of(conn) < bytes)
			return false;
	}
	conn->rc_at += bytes;
	acks_look(replay, &said->rs_frame);
	if (said->rs_frame.sfr_type == M0_SOCK_FRAME_LNET) {
		++replay->re_said_nr;
		said_look(replay, said);
	}
	return true;
}

void replay__pump(struct replay *replay)
{
	struct replay_conn *conn;
	unsigned            i;

	for (i = 0; i < replay->re_conns_nr; ++i) {
		conn = &replay->re_conns[i];
		while (conn->rc_is_open ? frame_take(replay, i)
					: hello_take(replay, conn))
			;
		if (conn->rc_raw->smr_state == M0_SIM_RAW_BROKEN ||
		    conn->rc_raw->smr_state == M0_SIM_RAW_EOF)
			conn->rc_is_ended = true;
	}
}
