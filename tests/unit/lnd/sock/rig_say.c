/* SPDX-License-Identifier: Apache-2.0 */
/* What the peer says, byte by byte, and how what it hears is read. */
#include "rig.h"

size_t rig_put_request(uint8_t *buf, const struct m0_lnet_nid *nid)
{
	struct m0_sock_request req = { .sr_nid = *nid };

	return m0_sock__request_encode(&req, buf);
}

size_t rig_put_hello(uint8_t *buf, uint32_t version,
		     const struct m0_lnet_nid *src, uint64_t incarnation,
		     uint32_t ctype)
{
	struct m0_sock_hello hello = { .sh_version = version,
				       .sh_src_nid = *src,
				       .sh_dst_nid = *src,
				       .sh_src_pid = 12345,
				       .sh_src_incarnation = incarnation,
				       .sh_ctype = ctype };

	return m0_sock__hello_encode(&hello, buf);
}

size_t rig_put_frame(uint8_t *buf, uint32_t type, uint64_t cookie0,
		     uint64_t cookie1)
{
	struct m0_sock_frame frame = { .sfr_type = type,
				       .sfr_cookie = { cookie0, cookie1 } };

	m0_sock__frame_encode(&frame, buf);
	return M0_SOCK_FRAME_BYTES;
}

size_t rig_put_message(uint8_t *buf, bool large, uint64_t cookie,
		       uint32_t payload_bytes)
{
	size_t nr = large ? 96 : 72;

	(void)rig_put_frame(buf, M0_SOCK_FRAME_LNET, cookie, 0);
	memset(buf + M0_SOCK_FRAME_BYTES, 0x5a, nr);
	memcpy(buf + M0_SOCK_FRAME_BYTES + (large ? 52 : 28), &payload_bytes,
	       sizeof payload_bytes);
	return M0_SOCK_FRAME_BYTES + nr;
}

struct m0_sock_hello rig_see_hello(struct rig *rig, struct rig_stream *stream)
{
	struct m0_sock_hello hello;
	const uint8_t       *head = rig_see(rig, stream, 8);
	int                  nr = m0_sock__hello_bytes(head);

	assert_true(nr > 0);
	(void)rig_see(rig, stream, (size_t)nr - 8);
	assert_int_equal(m0_sock__hello_decode(&hello, head), 0);
	return hello;
}

struct m0_sock_frame rig_see_frame(struct rig *rig, struct rig_stream *stream)
{
	struct m0_sock_frame frame;

	assert_int_equal(m0_sock__frame_decode(&frame, false,
					       rig_see(rig, stream, 24)),
			 0);
	return frame;
}
