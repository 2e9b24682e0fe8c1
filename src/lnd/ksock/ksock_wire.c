/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/cursor.h"
#include "lnd/ksock/ksock_wire.h"

enum {
	REQUEST_V1 = 1,
	REQUEST_V2 = 2,
	/** V1 of the HELLO is an LNet header of this type. */
	V1_HDR_HELLO = 4,
	V1_MAJOR = 1,
	V1_MINOR = 0,
	IP_BYTES = 4,
	COOKIE_KEEPALIVE = 1
};

/* -- numbers and NIDs in the peer's order ---------------------------------- */

static inline uint32_t get32(struct m0_cursor *cur, bool swapped)
{
	uint32_t number = m0_cursor_get_le32(cur);

	return swapped ? __builtin_bswap32(number) : number;
}

static inline uint64_t get64(struct m0_cursor *cur, bool swapped)
{
	uint64_t number = m0_cursor_get_le64(cur);

	return swapped ? __builtin_bswap64(number) : number;
}

/** A NID of either form. @retval -EPROTO  one that cannot be. */
static int nid_get(struct m0_cursor *cur, bool large, bool swapped,
		   struct m0_lnet_nid *nid)
{
	int rc;

	if (large)
		rc = m0_lnet_nid_decode(nid,
					m0_cursor_skip(cur, M0_LNET_NID_BYTES));
	else
		rc = m0_lnet_nid_from4(nid, get64(cur, swapped));
	return rc == 0 ? 0 : -EPROTO;
}

static void nid_put(struct m0_cursor *cur, bool large,
		    const struct m0_lnet_nid *nid)
{
	if (large)
		m0_lnet_nid_encode(nid, m0_cursor_skip(cur, M0_LNET_NID_BYTES));
	else
		m0_cursor_put_le64(cur, m0_lnet_nid_to4(nid));
}

static bool fits_small(const struct m0_lnet_nid *nid)
{
	return m0_lnet_nid_is_nid4(nid) || m0_lnet_nid_is_any(nid);
}

/** The two numbers that begin a request or HELLO. */
struct head {
	uint32_t hd_magic;
	uint32_t hd_version;
	bool     hd_swapped;
};

/** The magic comes as `magic` in either order, else as it is. */
static struct head head_get(struct m0_cursor *cur, uint32_t magic)
{
	struct head head = { .hd_magic = m0_cursor_get_le32(cur) };

	if (head.hd_magic == __builtin_bswap32(magic)) {
		head.hd_magic = magic;
		head.hd_swapped = true;
	}
	head.hd_version = get32(cur, head.hd_swapped);
	return head;
}

/* -- connection request ---------------------------------------------------- */

size_t m0_sock__request_encode(const struct m0_sock_request *req,
			       uint8_t buf[M0_SOCK_REQUEST_BYTES_MAX])
{
	bool             large = !fits_small(&req->sr_nid);
	struct m0_cursor cur;

	m0_cursor_init(&cur, buf, M0_SOCK_REQUEST_BYTES_MAX);
	m0_cursor_put_le32(&cur, M0_SOCK_MAGIC_ACCEPTOR);
	m0_cursor_put_le32(&cur, large ? REQUEST_V2 : REQUEST_V1);
	nid_put(&cur, large, &req->sr_nid);
	return m0_cursor_pos(&cur);
}

int m0_sock__request_magic(const void *bytes)
{
	struct m0_cursor cur;

	m0_cursor_init_const(&cur, bytes, M0_SOCK_MAGIC_BYTES);
	switch (m0_cursor_get_le32(&cur)) {
	case M0_SOCK_MAGIC_ACCEPTOR:
	case __builtin_bswap32(M0_SOCK_MAGIC_ACCEPTOR):
		return 0;
	case M0_SOCK_MAGIC_HELLO:
	case __builtin_bswap32(M0_SOCK_MAGIC_HELLO):
		return -EPROTONOSUPPORT;
	default:
		return -EPROTO;
	}
}

int m0_sock__request_bytes(const void *bytes)
{
	struct m0_cursor cur;
	struct head      head;
	int              rc = m0_sock__request_magic(bytes);

	if (rc != 0)
		return rc;
	m0_cursor_init_const(&cur, bytes, M0_SOCK_HEAD_BYTES);
	head = head_get(&cur, M0_SOCK_MAGIC_ACCEPTOR);
	switch (head.hd_version) {
	case REQUEST_V1:
		return M0_SOCK_REQUEST_V1_BYTES;
	case REQUEST_V2:
		return M0_SOCK_REQUEST_V2_BYTES;
	default:
		return -EPROTONOSUPPORT;
	}
}

int m0_sock__request_decode(struct m0_sock_request *req, const void *bytes)
{
	int              nr = m0_sock__request_bytes(bytes);
	struct m0_cursor cur;
	struct head      head;

	if (nr < 0)
		return -EPROTO;
	m0_cursor_init_const(&cur, bytes, (size_t)nr);
	head = head_get(&cur, M0_SOCK_MAGIC_ACCEPTOR);
	return nid_get(&cur, head.hd_version == REQUEST_V2, head.hd_swapped,
		       &req->sr_nid);
}

size_t m0_sock__request_refuse(uint8_t buf[M0_SOCK_REQUEST_V1_BYTES])
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, buf, M0_SOCK_REQUEST_V1_BYTES);
	m0_cursor_put_le32(&cur, M0_SOCK_MAGIC_ACCEPTOR);
	m0_cursor_put_le32(&cur, REQUEST_V1);
	m0_cursor_put_le64(&cur, 0);
	return m0_cursor_pos(&cur);
}

/* -- HELLO ----------------------------------------------------------------- */

uint32_t m0_sock__ctype_invert(uint32_t ctype)
{
	switch (ctype) {
	case M0_SOCK_BULK_IN:
		return M0_SOCK_BULK_OUT;
	case M0_SOCK_BULK_OUT:
		return M0_SOCK_BULK_IN;
	default:
		return ctype;
	}
}

/** An LNet header of old, whose destination is magic and version. */
static void hello_put_v1(struct m0_cursor           *cur,
			 const struct m0_sock_hello *hello)
{
	m0_cursor_put_le32(cur, M0_SOCK_MAGIC_V1);
	m0_cursor_put_le16(cur, V1_MAJOR);
	m0_cursor_put_le16(cur, V1_MINOR);
	nid_put(cur, false, &hello->sh_src_nid);
	m0_cursor_put_le32(cur, hello->sh_dst_pid);
	m0_cursor_put_le32(cur, hello->sh_src_pid);
	m0_cursor_put_le32(cur, V1_HDR_HELLO);
	m0_cursor_put_le32(cur, hello->sh_ips_nr * IP_BYTES);
	m0_cursor_put_le64(cur, hello->sh_src_incarnation);
	m0_cursor_put_le32(cur, hello->sh_ctype);
	memset(cur->cu_at, 0, m0_cursor_left(cur));
	(void)m0_cursor_skip(cur, m0_cursor_left(cur));
}

static void hello_put(struct m0_cursor *cur, const struct m0_sock_hello *hello)
{
	bool large = hello->sh_version == M0_SOCK_V4;

	m0_cursor_put_le32(cur, M0_SOCK_MAGIC_HELLO);
	m0_cursor_put_le32(cur, hello->sh_version);
	nid_put(cur, large, &hello->sh_src_nid);
	nid_put(cur, large, &hello->sh_dst_nid);
	m0_cursor_put_le32(cur, hello->sh_src_pid);
	m0_cursor_put_le32(cur, hello->sh_dst_pid);
	m0_cursor_put_le64(cur, hello->sh_src_incarnation);
	m0_cursor_put_le64(cur, hello->sh_dst_incarnation);
	m0_cursor_put_le32(cur, hello->sh_ctype);
	m0_cursor_put_le32(cur, hello->sh_ips_nr);
}

size_t m0_sock__hello_encode(const struct m0_sock_hello *hello,
			     uint8_t buf[M0_SOCK_HELLO_BYTES_MAX])
{
	struct m0_cursor cur;

	M0_PRE(hello->sh_version >= M0_SOCK_V1 &&
	       hello->sh_version <= M0_SOCK_V4);
	if (hello->sh_version != M0_SOCK_V4 &&
	    (!fits_small(&hello->sh_src_nid) ||
	     !fits_small(&hello->sh_dst_nid)))
		return 0;
	if (hello->sh_version == M0_SOCK_V1) {
		m0_cursor_init(&cur, buf, M0_SOCK_HELLO_V1_BYTES);
		hello_put_v1(&cur, hello);
	} else {
		m0_cursor_init(&cur, buf, M0_SOCK_HELLO_BYTES_MAX);
		hello_put(&cur, hello);
	}
	return m0_cursor_pos(&cur);
}

int m0_sock__hello_bytes(const void *bytes)
{
	struct m0_cursor cur;
	struct head      head;

	m0_cursor_init_const(&cur, bytes, M0_SOCK_HEAD_BYTES);
	head = head_get(&cur, M0_SOCK_MAGIC_HELLO);
	/* V1 is little endian on every machine. */
	if (head.hd_magic == M0_SOCK_MAGIC_V1)
		return head.hd_version == (V1_MAJOR | V1_MINOR << 16)
			       ? M0_SOCK_HELLO_V1_BYTES
			       : -EPROTONOSUPPORT;
	if (head.hd_magic != M0_SOCK_MAGIC_HELLO)
		return -EPROTO;
	switch (head.hd_version) {
	case M0_SOCK_V2:
	case M0_SOCK_V3:
		return M0_SOCK_HELLO_V3_BYTES;
	case M0_SOCK_V4:
		return M0_SOCK_HELLO_V4_BYTES;
	default:
		return -EPROTONOSUPPORT;
	}
}

static int hello_get_v1(struct m0_cursor *cur, struct m0_sock_hello *hello)
{
	uint32_t type;
	uint32_t ips_bytes;
	int      rc;

	hello->sh_version = M0_SOCK_V1;
	hello->sh_swapped = false;
	rc = nid_get(cur, false, false, &hello->sh_src_nid);
	hello->sh_dst_nid = m0_lnet_nid_any;
	hello->sh_dst_pid = m0_cursor_get_le32(cur);
	hello->sh_src_pid = m0_cursor_get_le32(cur);
	type = m0_cursor_get_le32(cur);
	ips_bytes = m0_cursor_get_le32(cur);
	hello->sh_src_incarnation = m0_cursor_get_le64(cur);
	hello->sh_dst_incarnation = 0;
	hello->sh_ctype = m0_cursor_get_le32(cur);
	hello->sh_ips_nr = ips_bytes / IP_BYTES;
	if (type != V1_HDR_HELLO || ips_bytes % IP_BYTES != 0)
		return -EPROTO;
	return rc;
}

static int hello_get(struct m0_cursor *cur, bool swapped,
		     struct m0_sock_hello *hello)
{
	bool large = hello->sh_version == M0_SOCK_V4;
	int  rc;

	hello->sh_swapped = swapped;
	rc = nid_get(cur, large, swapped, &hello->sh_src_nid);
	/* The destination NID is not checked: passive sides send anything. */
	if (nid_get(cur, large, swapped, &hello->sh_dst_nid) != 0)
		hello->sh_dst_nid = m0_lnet_nid_any;
	hello->sh_src_pid = get32(cur, swapped);
	hello->sh_dst_pid = get32(cur, swapped);
	hello->sh_src_incarnation = get64(cur, swapped);
	hello->sh_dst_incarnation = get64(cur, swapped);
	hello->sh_ctype = get32(cur, swapped);
	hello->sh_ips_nr = get32(cur, swapped);
	if (large)
		hello->sh_ips_nr = 0;
	return rc;
}

int m0_sock__hello_decode(struct m0_sock_hello *hello, const void *bytes)
{
	int              nr = m0_sock__hello_bytes(bytes);
	struct m0_cursor cur;
	struct head      head;
	int              rc;

	if (nr < 0)
		return -EPROTO;
	m0_cursor_init_const(&cur, bytes, (size_t)nr);
	head = head_get(&cur, M0_SOCK_MAGIC_HELLO);
	hello->sh_version = head.hd_version;
	if (head.hd_magic == M0_SOCK_MAGIC_V1)
		rc = hello_get_v1(&cur, hello);
	else
		rc = hello_get(&cur, head.hd_swapped, hello);
	if (rc == 0 && hello->sh_ips_nr > M0_SOCK_HELLO_IPS_MAX)
		rc = -EPROTO;
	return rc;
}

bool m0_sock__hello_ips_bad(const void *ips, uint32_t ips_nr)
{
	struct m0_cursor cur;
	uint32_t         i;

	m0_cursor_init_const(&cur, ips, (size_t)ips_nr * IP_BYTES);
	for (i = 0; i < ips_nr; ++i)
		if (m0_cursor_get_le32(&cur) == 0)
			return true;
	return false;
}

/* -- frames ---------------------------------------------------------------- */

/* For each message: in its caller. */
inline void m0_sock__frame_encode(const struct m0_sock_frame *frame,
				  uint8_t buf[M0_SOCK_FRAME_BYTES])
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, buf, M0_SOCK_FRAME_BYTES);
	m0_cursor_put_le32(&cur, frame->sfr_type);
	m0_cursor_put_le32(&cur, frame->sfr_csum);
	m0_cursor_put_le64(&cur, frame->sfr_cookie[0]);
	m0_cursor_put_le64(&cur, frame->sfr_cookie[1]);
}

/* Likewise. */
inline int m0_sock__frame_decode(struct m0_sock_frame *frame, bool swapped,
				 const uint8_t buf[M0_SOCK_FRAME_BYTES])
{
	struct m0_cursor cur;

	m0_cursor_init_const(&cur, buf, M0_SOCK_FRAME_BYTES);
	frame->sfr_type = get32(&cur, swapped);
	frame->sfr_csum = get32(&cur, swapped);
	frame->sfr_cookie[0] = get64(&cur, swapped);
	frame->sfr_cookie[1] = get64(&cur, swapped);
	return frame->sfr_type == M0_SOCK_FRAME_NOOP ||
			       frame->sfr_type == M0_SOCK_FRAME_LNET
		       ? 0
		       : -EPROTO;
}

/** Notes first..last, unless that is "none". @return ranges there are. */
static int range_add(uint64_t ranges[2][2], int nr, uint64_t first,
		     uint64_t last)
{
	if (last == 0)
		return nr;
	ranges[nr][0] = first;
	ranges[nr][1] = last;
	return nr + 1;
}

int m0_sock__frame_acks(const struct m0_sock_frame *frame,
			uint64_t                    ranges[2][2])
{
	uint64_t first = frame->sfr_cookie[0];
	uint64_t last = frame->sfr_cookie[1];
	int      nr;

	if (frame->sfr_type == M0_SOCK_FRAME_LNET)
		/* The first asks; only the second acknowledges. */
		return last == COOKIE_KEEPALIVE
			       ? -EPROTO
			       : range_add(ranges, 0, last, last);
	if (first == 0 && last == COOKIE_KEEPALIVE)
		return 0;
	if (first == COOKIE_KEEPALIVE || last == COOKIE_KEEPALIVE)
		return -EPROTO;
	if (first == 0)
		return range_add(ranges, 0, last, last);
	if (first <= last)
		return range_add(ranges, 0, first, last);
	nr = range_add(ranges, 0, first, first);
	return range_add(ranges, nr, last, last);
}
