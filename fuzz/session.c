/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A whole node of ours, in the simulator, and a peer who says whatever the input
 * has him say: each byte of it chooses a step, those after it its particulars.
 * Good words of the protocol, spoilt ones, and any bytes; on several
 * connections, dialled by him or by the node, while the node's application puts,
 * gets, pings and changes its mind, and time passes.
 *
 * The target demands that each operation completes exactly once, in bounded time,
 * and that nothing is left.
 */
#include <stdio.h>

#include "lib/fuzz.h"
#include "lnd/ksock/ksock_wire.h"
#include "lnet/node.h"
#include "lnet/wire/wire.h"

enum {
	RAWS_MAX = 8,
	OPS_MAX = 6,
	PROBES_MAX = 4,
	STEPS_MAX = 200,
	WINDOW_BYTES = 4096,
	WINDOW_BITS = 0x10,
	BYTES_MAX = 8192,
	/** Everything has its end by then; in virtual time. */
	END_MS = 60000
};

static struct {
	struct m0_sim        s_sim;
	struct node          s_node;
	struct fuzz_in      *s_in;
	struct m0_sim_raw   *s_raws[RAWS_MAX];
	unsigned             s_raws_nr;
	unsigned             s_raw;
	struct node_window   s_windows[2];
	struct node_op       s_ops[OPS_MAX];
	unsigned             s_ops_nr;
	struct m0_lnet_probe s_probes[PROBES_MAX];
	unsigned             s_probes_nr;
	unsigned             s_probes_done_nr;
	/** The next words: their bytes, and how they are spoilt. */
	uint8_t  s_buf[BYTES_MAX];
	size_t   s_nr;
	unsigned s_spoil;
	size_t   s_spoil_at;
	uint8_t  s_spoil_by;
	/** The handle in the last request of the node that was heard. */
	struct m0_lnet_wmd s_wmd;
	bool               s_large;
	/** The peer answers the node's HELLO by itself, as it should. */
	bool s_manners;
} s;

static const char *const his[] = { "10.0.0.2", "10.0.0.3", "fd00::2" };

static uint64_t in(unsigned bytes)
{
	return fuzz_number(s.s_in, bytes);
}

static unsigned below(unsigned bound)
{
	return fuzz_byte(s.s_in) % bound;
}

static struct m0_lnet_nid some_nid(void)
{
	static const char *const texts[] = {
		"10.0.0.1@tcp",
		"10.0.0.2@tcp",
		"10.0.0.3@tcp",
		"10.0.0.1@tcp1",
		"fd00::2@tcp",
		"0@lo",
		"*",
	};
	struct m0_lnet_nid nid;
	int rc = m0_lnet_nid_parse_any(&nid, texts[below(ARRAY_SIZE(texts))]);

	M0_ASSERT(rc == 0);
	return nid;
}

/* Mostly who it is right to name. */
static struct m0_lnet_nid nid_of(const char *text)
{
	struct m0_lnet_nid nid;
	char               full[M0_LNET_NIDSTR_SIZE];
	uint8_t            way = fuzz_byte(s.s_in);

	if (way >= 0xf0)
		return some_nid();
	(void)snprintf(full, sizeof full, "%s@tcp", text);
	M0_ASSERT(m0_lnet_nid_parse(&nid, full) == 0);
	return nid;
}

/* -- words ----------------------------------------------------------------- */

static struct m0_sim_raw *raw(void)
{
	return s.s_raws_nr == 0 ? NULL : s.s_raws[s.s_raw % s.s_raws_nr];
}

/* Name of the peer on a connection, as text. */
static const char *speaker(void)
{
	struct m0_sim_raw *r = raw();

	return r == NULL || r->smr_data == NULL ? his[0] : r->smr_data;
}

/* The address of the node that one can reach. */
static const char *reached_from(const char *addr)
{
	return strchr(addr, ':') == NULL ? "10.0.0.1" : "fd00::1";
}

/* Says s_buf, spoilt if that was asked for. */
static void say(void)
{
	struct m0_sim_raw *r = raw();

	if (s.s_spoil != 0 && s.s_nr > 0) {
		size_t at = s.s_spoil_at % s.s_nr;

		switch (s.s_spoil) {
		case 1:
			s.s_buf[at] ^= s.s_spoil_by;
			break;
		case 2:
			s.s_nr = at;
			break;
		default:
			memset(s.s_buf + at, s.s_spoil_by & 1 ? 0xff : 0,
			       min64u(4, s.s_nr - at));
		}
		s.s_spoil = 0;
	}
	if (r != NULL && s.s_nr > 0)
		m0_sim_raw_send(r, s.s_buf, s.s_nr);
	s.s_nr = 0;
}

static void request_say(void)
{
	struct m0_sock_request req = { .sr_nid = nid_of(
					       reached_from(speaker())) };

	s.s_nr = m0_sock__request_encode(&req, s.s_buf);
	say();
}

static void hello_say(void)
{
	uint8_t              how = fuzz_byte(s.s_in);
	struct m0_sock_hello hello = {
		.sh_version = 1 + (how & 3),
		.sh_src_pid = M0_LNET_PID_LUSTRE,
		.sh_dst_pid = M0_LNET_PID_LUSTRE,
		.sh_src_incarnation = 1 + (how >> 7),
		.sh_ctype = how >> 2 & 7,
	};

	hello.sh_src_nid = nid_of(speaker());
	hello.sh_dst_nid = nid_of(reached_from(speaker()));
	if (hello.sh_version < M0_SOCK_V4 && (how & 0x40) != 0)
		hello.sh_ips_nr = 1;
	s.s_large = hello.sh_version == M0_SOCK_V4;
	s.s_nr = m0_sock__hello_encode(&hello, s.s_buf);
	if (s.s_nr > 0 && hello.sh_ips_nr > 0) {
		memset(s.s_buf + s.s_nr, 1, 4);
		s.s_nr += 4;
	}
	say();
}

static void frame_put(uint32_t type, uint64_t cookie0, uint64_t cookie1)
{
	struct m0_sock_frame frame = { .sfr_type = type,
				       .sfr_cookie = { cookie0, cookie1 } };

	m0_sock__frame_encode(&frame, s.s_buf + s.s_nr);
	s.s_nr += M0_SOCK_FRAME_BYTES;
}

static void noop_say(void)
{
	uint64_t cookie0 = in(1);

	frame_put(M0_SOCK_FRAME_NOOP, cookie0, in(1));
	say();
}

/* Frame and header; `nr` bytes of what follows them are said. */
static void msg_say(struct m0_lnet_hdr *hdr, const void *payload, size_t nr)
{
	uint8_t how = fuzz_byte(s.s_in);
	size_t  put;

	hdr->lhd_dest_nid = nid_of(reached_from(speaker()));
	hdr->lhd_src_nid = nid_of(speaker());
	hdr->lhd_dest_pid = M0_LNET_PID_LUSTRE;
	hdr->lhd_src_pid = M0_LNET_PID_LUSTRE;
	if ((how & 1) == 0)
		frame_put(M0_SOCK_FRAME_LNET, (how & 2) ? 2 + (how >> 4) : 0,
			  0);
	put = m0_lnet__hdr_encode(hdr, s.s_large ^ ((how & 0xc) == 0xc),
				  s.s_buf + s.s_nr);
	if (put == 0)
		put = m0_lnet__hdr_encode(hdr, true, s.s_buf + s.s_nr);
	s.s_nr += put;
	nr = min64u(nr, BYTES_MAX - s.s_nr);
	if (payload != NULL)
		memcpy(s.s_buf + s.s_nr, payload, nr);
	else
		memset(s.s_buf + s.s_nr, 0x5a, nr);
	s.s_nr += nr;
	say();
}

static uint64_t some_bits(void)
{
	static const uint64_t bits[] = { WINDOW_BITS, WINDOW_BITS + 1,
					 UINT64_C(1) << 63, 0x99 };

	return bits[below(ARRAY_SIZE(bits))];
}

static uint32_t some_length(void)
{
	static const uint32_t lengths[] = {
		0, 1, 64, 1000, 4096, 1 << 20, 1048577, 0xffffffff
	};

	return lengths[below(ARRAY_SIZE(lengths))];
}

static void wmd_choose(struct m0_lnet_wmd *wmd)
{
	switch (below(4)) {
	case 0:
		*wmd = m0_lnet__wmd_none;
		break;
	case 1:
		memset(wmd, 0x11, sizeof *wmd);
		break;
	default:
		*wmd = s.s_wmd;
	}
}

/* Members one by one: in what order initialisers are made nobody says, and an
 * input is to mean the same to every compiler. */
static void put_say(void)
{
	struct m0_lnet_hdr hdr = { .lhd_type = M0_LNET_PUT };
	size_t             nr;

	hdr.lhd_portal = below(2) ? NODE_PORTAL : 0;
	hdr.lhd_match_bits = some_bits();
	hdr.lhd_offset = some_length();
	hdr.lhd_payload_bytes = some_length();
	wmd_choose(&hdr.lhd_wmd);
	nr = 2 * in(2);
	msg_say(&hdr, NULL, min64u(hdr.lhd_payload_bytes, nr));
}

static void get_say(void)
{
	struct m0_lnet_hdr hdr = { .lhd_type = M0_LNET_GET };

	hdr.lhd_portal = below(2) ? NODE_PORTAL : 0;
	hdr.lhd_match_bits = some_bits();
	hdr.lhd_offset = some_length();
	hdr.lhd_length = some_length();
	wmd_choose(&hdr.lhd_wmd);
	msg_say(&hdr, NULL, 0);
}

/* ACK or REPLY, to what the node has asked or to nothing. */
static void answer_say(void)
{
	struct m0_lnet_hdr hdr = {};

	hdr.lhd_type = below(2) ? M0_LNET_ACK : M0_LNET_REPLY;
	hdr.lhd_match_bits = some_bits();
	if (hdr.lhd_type == M0_LNET_ACK)
		hdr.lhd_length = some_length();
	else
		hdr.lhd_payload_bytes = some_length();
	wmd_choose(&hdr.lhd_wmd);
	msg_say(&hdr, NULL, min64u(hdr.lhd_payload_bytes, BYTES_MAX));
}

/* Ping information, as a push or as the reply to a ping of the node. */
static void info_say(void)
{
	struct m0_lnet_ping_ni   nis[4];
	struct m0_lnet_ping_info info = { .lpi_nis = nis,
					  .lpi_pid = M0_LNET_PID_LUSTRE };
	struct m0_lnet_hdr       hdr = { .lhd_match_bits = UINT64_C(1) << 63 };
	uint8_t                  buf[512];
	uint8_t                  how = fuzz_byte(s.s_in);

	info.lpi_features = M0_LNET_FEAT_BASE | M0_LNET_FEAT_NI_STATUS |
			    (uint32_t)in(1);
	info.lpi_seq = (uint32_t)in(1);
	for (info.lpi_nis_nr = 0; info.lpi_nis_nr < (how & 3U);
	     ++info.lpi_nis_nr) {
		nis[info.lpi_nis_nr].lpg_nid = nid_of(speaker());
		nis[info.lpi_nis_nr].lpg_up = (how & 4) == 0;
		if (m0_lnet_nid_is_any(&nis[info.lpi_nis_nr].lpg_nid))
			nis[info.lpi_nis_nr].lpg_nid = m0_lnet_nid_lo;
	}
	hdr.lhd_type = (how & 8) ? M0_LNET_PUT : M0_LNET_REPLY;
	hdr.lhd_payload_bytes =
		(uint32_t)m0_lnet__ping_encode(&info, buf, sizeof buf);
	wmd_choose(&hdr.lhd_wmd);
	msg_say(&hdr, buf, hdr.lhd_payload_bytes);
}

static void bytes_say(void)
{
	size_t nr = in(1);

	nr = min64u(nr, s.s_in->fi_left);
	memcpy(s.s_buf, s.s_in->fi_at, nr);
	s.s_in->fi_at += nr;
	s.s_in->fi_left -= nr;
	s.s_nr = nr;
	say();
}

static void spoil(void)
{
	s.s_spoil = 1 + below(3);
	s.s_spoil_at = in(2);
	s.s_spoil_by = (uint8_t)in(1);
}

/* -- connections ----------------------------------------------------------- */

/* The node has connected, and introduced itself: so does he. */
static void greet(struct m0_sim_raw *r)
{
	struct m0_sock_hello hello;
	struct m0_lnet_nid   nid;
	uint8_t              buf[M0_SOCK_HELLO_BYTES_MAX];
	int                  at;
	int                  nr;

	if (r->smr_done > 0 || r->smr_in_nr < M0_SOCK_HEAD_BYTES)
		return;
	at = m0_sock__request_bytes(r->smr_in);
	if (at < 0 || r->smr_in_nr < (size_t)at + M0_SOCK_HEAD_BYTES)
		return;
	nr = m0_sock__hello_bytes(r->smr_in + at);
	if (nr < 0 || r->smr_in_nr < (size_t)(at + nr) ||
	    m0_sock__hello_decode(&hello, r->smr_in + at) != 0)
		return;
	r->smr_done = (size_t)(at + nr);
	s.s_wmd = m0_lnet__wmd_none;
	s.s_large = hello.sh_version == M0_SOCK_V4;
	nid = hello.sh_src_nid;
	hello.sh_src_nid = hello.sh_dst_nid;
	hello.sh_dst_nid = nid;
	hello.sh_src_incarnation = 1;
	hello.sh_ctype = m0_sock__ctype_invert(hello.sh_ctype);
	m0_sim_raw_send(r, buf, m0_sock__hello_encode(&hello, buf));
}

/* Remember the last request of the node: an answer needs its handle. */
static void heard(struct m0_sim_raw *r)
{
	static const uint8_t lnet[] = { M0_SOCK_FRAME_LNET, 0, 0, 0 };
	bool                 large = r->smr_remote.sa_bytes_nr == 16;
	struct m0_lnet_hdr   hdr;
	size_t               nr;
	size_t               at;

	if (s.s_manners)
		greet(r);
	nr = M0_SOCK_FRAME_BYTES +
	     (large ? M0_LNET_HDR_LARGE_BYTES : M0_LNET_HDR_BYTES);
	for (at = r->smr_done; at + nr <= r->smr_in_nr; at += 4) {
		if (memcmp(r->smr_in + at, lnet, sizeof lnet) != 0 ||
		    m0_lnet__hdr_decode(&hdr, large,
					r->smr_in + at + M0_SOCK_FRAME_BYTES) !=
			    0)
			continue;
		if (hdr.lhd_type == M0_LNET_PUT || hdr.lhd_type == M0_LNET_GET)
			s.s_wmd = hdr.lhd_wmd;
		r->smr_done = at + 4;
	}
}

static void raw_add(struct m0_sim_raw *r, const char *speaks)
{
	if (s.s_raws_nr == RAWS_MAX) {
		m0_sim_raw_reset(r);
		return;
	}
	r->smr_data = (void *)(uintptr_t)speaks;
	r->smr_input = heard;
	s.s_raw = s.s_raws_nr;
	s.s_raws[s.s_raws_nr++] = r;
}

/* The node has connected to him. */
static void accepted(struct m0_sim_raw *r, void *arg)
{
	raw_add(r, arg);
}

static void dial(void)
{
	const char *from = his[below(ARRAY_SIZE(his))];

	if (s.s_raws_nr < RAWS_MAX)
		raw_add(m0_sim_raw_dial(from, 0, reached_from(from), NODE_PORT),
			from);
}

static void hang_up(void)
{
	struct m0_sim_raw *r = raw();

	if (r == NULL)
		return;
	switch (below(4)) {
	case 0:
		m0_sim_raw_shut(r);
		break;
	case 1:
		m0_sim_raw_close(r);
		break;
	case 2:
		m0_sim_raw_mute(r, !r->smr_is_mute);
		break;
	default:
		m0_sim_raw_reset(r);
	}
}

/* -- the node's application ------------------------------------------------ */

static void op_begin(void)
{
	struct m0_lnet_nid dst = nid_of(his[below(ARRAY_SIZE(his))]);
	struct node_op    *op = &s.s_ops[s.s_ops_nr];
	uint8_t            how = fuzz_byte(s.s_in);
	size_t             nr = (how & 4) ? 5000 : 100;

	if (s.s_ops_nr == OPS_MAX || m0_lnet_nid_is_any(&dst) ||
	    m0_lnet_nid_is_lo(&dst))
		return;
	++s.s_ops_nr;
	if (how & 1)
		node_get(op, &s.s_node, &dst, WINDOW_BITS, 0, nr);
	else
		node_put(op, &s.s_node, &dst, WINDOW_BITS, 0, nr, 7, how & 2);
}

static void op_unlink(void)
{
	unsigned i = below(OPS_MAX + 2);

	if (i < s.s_ops_nr && !node_op_is_over(&s.s_ops[i]))
		node_op_unlink(&s.s_ops[i]);
	else if (i >= OPS_MAX)
		node_window_unlink(&s.s_windows[i - OPS_MAX]);
}

static void probed(struct m0_lnet_probe *probe)
{
	++s.s_probes_done_nr;
	M0_ASSERT(probe->pr_status <= 0);
	M0_ASSERT(probe->pr_nids_nr <= M0_LNET_PROBE_NIDS_MAX);
}

static void probe(void)
{
	struct m0_lnet_probe *p = &s.s_probes[s.s_probes_nr];

	if (s.s_probes_nr == PROBES_MAX)
		return;
	*p = (struct m0_lnet_probe){
		.pr_self = m0_lnet_nid_any,
		.pr_force = true,
		.pr_done = probed,
	};
	p->pr_kind = below(2) ? M0_LNET_PING : M0_LNET_DISCOVER;
	p->pr_nid = nid_of(his[below(ARRAY_SIZE(his))]);
	if (m0_lnet_probe(s.s_node.n_lnet, p) == 0)
		++s.s_probes_nr;
}

/* -- all of it ------------------------------------------------------------- */

static void pass(void)
{
	static const unsigned ms[] = { 0, 1, 10, 100, 1000, 6000 };

	m0_sim_run_ms(&s.s_sim, ms[below(ARRAY_SIZE(ms))]);
}

static void choose(void)
{
	s.s_raw = below(RAWS_MAX);
}

static void (*const steps[])(void) = {
	dial,     request_say, hello_say, noop_say, put_say,  get_say,
	info_say, answer_say,  bytes_say, spoil,    op_begin, op_unlink,
	probe,    pass,        pass,      hang_up,  choose,
};

static void tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_accept = M0_LNET_ACCEPT_ALL;
	cfg->lc_mes_max = 64;
	cfg->lc_mds_max = 64;
	cfg->lc_msgs_max = 64;
	cfg->lc_peers_max = 16;
	cfg->lc_conns_max = 64;
	cfg->lc_transaction_timeout_ms = 3000;
	cfg->lc_timeout_ms = 4000;
	cfg->lc_accept_timeout_ms = 2000;
}

static void begin(void)
{
	static const struct m0_sim_stream_cfg cfg = {
		.ssc_latency_ns = M0_TIME_ONE_MSEC / 10
	};
	unsigned i;

	memset(&s, 0, sizeof s);
	m0_sim_init_cfg(&s.s_sim, 1, &m0_sim_cfg_calm);
	m0_sim_net_init(&s.s_sim, &cfg);
	node_init_nids(&s.s_node, &s.s_sim, "node", "tcp(10.0.0.1,fd00::1)",
		       "10.0.0.1 fd00::1", NULL, tune);
	for (i = 0; i < ARRAY_SIZE(his); ++i) {
		m0_sim_host_add(his[i], his[i]);
		m0_sim_raw_listen(his[i], NODE_PORT, accepted,
				  (void *)(uintptr_t)his[i]);
	}
	node_window_init(&s.s_windows[0], &s.s_node, WINDOW_BITS, WINDOW_BYTES,
			 M0_LNET_MD_THRESHOLD_INF);
	node_window_init(&s.s_windows[1], &s.s_node, WINDOW_BITS + 1, 64, 2);
}

static bool is_over(void *arg)
{
	(void)arg;
	return s.s_node.n_ops_nr == 0 && s.s_node.n_windows_nr == 0 &&
	       s.s_probes_done_nr == s.s_probes_nr;
}

/* The peer falls silent or leaves; the operations of the node complete. */
static void end(bool goes)
{
	unsigned i;

	for (i = 0; goes && i < s.s_raws_nr; ++i)
		m0_sim_raw_reset(s.s_raws[i]);
	node_window_unlink(&s.s_windows[0]);
	node_window_unlink(&s.s_windows[1]);
	if (!m0_sim_run_until(&s.s_sim, is_over, NULL,
			      END_MS * M0_TIME_ONE_MSEC))
		m0_sim_fail(&s.s_sim,
			    "%u operations, %u windows, %u of %u "
			    "probes have not ended",
			    s.s_node.n_ops_nr, s.s_node.n_windows_nr,
			    s.s_probes_nr - s.s_probes_done_nr, s.s_probes_nr);
	for (i = 0; i < s.s_ops_nr; ++i)
		node_op_fini(&s.s_ops[i]);
	node_window_fini(&s.s_windows[0]);
	node_window_fini(&s.s_windows[1]);
	node_fini(&s.s_node);
	for (i = 0; i < ARRAY_SIZE(his); ++i)
		m0_sim_raw_listen(his[i], NODE_PORT, NULL, NULL);
	m0_sim_net_fini();
	m0_sim_fini(&s.s_sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in input = { data, size };
	unsigned       nr = 0;
	uint8_t        goes;

	/* Failed checks of what is used here end the program. */
	(void)setenv("CMOCKA_TEST_ABORT", "1", 1);
	m0_log_level_set(M0_LOG_ERROR);
	begin();
	s.s_in = &input;
	goes = fuzz_byte(&input);
	s.s_manners = (goes & 2) != 0;
	while (input.fi_left > 0 && nr++ < STEPS_MAX)
		steps[below(ARRAY_SIZE(steps))]();
	end(goes & 1);
	return 0;
}
