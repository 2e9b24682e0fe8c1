/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet/speech.h"

enum {
	ANSWER_MS = 1000
};

static void speech_add(struct speech *speech, const void *bytes, size_t nr)
{
	M0_PRE(speech->sp_nr + nr <= SPEECH_BYTES_MAX);
	memcpy(speech->sp_bytes + speech->sp_nr, bytes, nr);
	speech->sp_nr += nr;
}

uint32_t speech_version(const struct place *place, uint32_t version)
{
	return place_is_ip6(place) ? (uint32_t)M0_SOCK_V4 : version;
}

void speech_request(struct speech *speech, const struct m0_lnet_nid *nid)
{
	struct m0_sock_request req = { .sr_nid = *nid };
	uint8_t                buf[M0_SOCK_REQUEST_BYTES_MAX];

	speech_add(speech, buf, m0_sock__request_encode(&req, buf));
}

void speech_hello(struct speech *speech, const struct place *place,
		  unsigned who, uint32_t version, uint32_t ctype,
		  uint64_t incarnation)
{
	struct m0_sock_hello hello = {
		.sh_version = speech_version(place, version),
		.sh_src_nid = place_nid(place, who),
		.sh_dst_nid = place->pl_nid,
		.sh_src_pid = M0_LNET_PID_LUSTRE,
		.sh_src_incarnation = incarnation,
		.sh_ctype = ctype,
	};
	uint8_t buf[M0_SOCK_HELLO_BYTES_MAX];

	speech_add(speech, buf, m0_sock__hello_encode(&hello, buf));
}

void speech_noop(struct speech *speech, uint64_t cookie0, uint64_t cookie1)
{
	struct m0_sock_frame frame = { .sfr_type = M0_SOCK_FRAME_NOOP,
				       .sfr_cookie = { cookie0, cookie1 } };
	uint8_t              buf[M0_SOCK_FRAME_BYTES];

	m0_sock__frame_encode(&frame, buf);
	speech_add(speech, buf, sizeof buf);
}

void speech_msg(struct speech *speech, bool large, uint64_t cookie0,
		const struct m0_lnet_hdr *hdr)
{
	struct m0_sock_frame frame = { .sfr_type = M0_SOCK_FRAME_LNET,
				       .sfr_cookie = { cookie0, 0 } };
	uint8_t              buf[M0_LNET_HDR_LARGE_BYTES];

	m0_sock__frame_encode(&frame, buf);
	speech_add(speech, buf, M0_SOCK_FRAME_BYTES);
	speech_add(speech, buf, m0_lnet__hdr_encode(hdr, large, buf));
}

struct m0_lnet_hdr speech_hdr(const struct place *place, unsigned who,
			      uint32_t type)
{
	struct m0_lnet_hdr hdr = {
		.lhd_dest_nid = place->pl_nid,
		.lhd_src_nid = place_nid(place, who),
		.lhd_dest_pid = M0_LNET_PID_LUSTRE,
		.lhd_src_pid = M0_LNET_PID_LUSTRE,
		.lhd_type = type,
		.lhd_wmd = { { 0xaa, 0xbb, [8] = 5 } },
		.lhd_match_bits = SPEECH_BITS,
		.lhd_portal = SPEECH_PORTAL,
		.lhd_length = 16,
	};

	return hdr;
}

void speech_say(struct place_end *end, const struct speech *speech)
{
	place_send(end, speech->sp_bytes, speech->sp_nr);
}

bool speech_hear_hello(struct place_end *end, struct m0_sock_hello *hello,
		       uint64_t ms)
{
	int bytes;

	if (!place_wait_in(end, M0_SOCK_HEAD_BYTES, ms))
		return false;
	bytes = m0_sock__hello_bytes(end->pe_in + end->pe_done);
	if (bytes < 0 || !place_wait_in(end, (size_t)bytes, ms) ||
	    m0_sock__hello_decode(hello, end->pe_in + end->pe_done) != 0)
		return false;
	end->pe_done += (size_t)bytes;
	end->pe_version = hello->sh_version;
	return true;
}

bool speech_hear(struct place_end *end, struct heard *heard, uint64_t ms)
{
	bool   large = end->pe_version == M0_SOCK_V4;
	size_t bytes = M0_SOCK_FRAME_BYTES;

	if (!place_wait_in(end, bytes, ms) ||
	    m0_sock__frame_decode(&heard->hd_frame, false,
				  end->pe_in + end->pe_done) != 0)
		return false;
	if (heard->hd_frame.sfr_type == M0_SOCK_FRAME_LNET) {
		bytes += large ? M0_LNET_HDR_LARGE_BYTES : M0_LNET_HDR_BYTES;
		if (!place_wait_in(end, bytes, ms) ||
		    m0_lnet__hdr_decode(&heard->hd_hdr, large,
					end->pe_in + end->pe_done +
						M0_SOCK_FRAME_BYTES) != 0)
			return false;
		if (!place_wait_in(end, bytes + heard->hd_hdr.lhd_payload_bytes,
				   ms))
			return false;
		heard->hd_payload = end->pe_in + end->pe_done + bytes;
		bytes += heard->hd_hdr.lhd_payload_bytes;
	}
	end->pe_done += bytes;
	return true;
}

struct place_end *speech_join(struct place *place, unsigned who,
			      uint32_t version, uint32_t ctype,
			      uint64_t incarnation)
{
	struct speech        speech = {};
	struct m0_sock_hello hello;
	struct place_end    *end = place_dial(place, who);

	speech_request(&speech, &place->pl_nid);
	speech_hello(&speech, place, who, version, ctype, incarnation);
	speech_say(end, &speech);
	assert_true(speech_hear_hello(end, &hello, ANSWER_MS));
	assert_int_equal(hello.sh_version, speech_version(place, version));
	assert_int_equal(hello.sh_ctype, m0_sock__ctype_invert(ctype));
	assert_true(m0_lnet_nid_eq(&hello.sh_src_nid, &place->pl_nid));
	return end;
}

bool speech_ping(struct place_end *end)
{
	struct m0_lnet_hdr hdr =
		speech_hdr(end->pe_place, end->pe_who, M0_LNET_GET);
	static uint32_t          nr;
	struct m0_lnet_ping_ni   nis[4];
	struct m0_lnet_ping_info info = { .lpi_nis = nis, .lpi_nis_max = 4 };
	struct speech            speech = {};
	struct heard             heard;

	hdr.lhd_portal = 0;
	hdr.lhd_match_bits = SPEECH_PING_BITS;
	hdr.lhd_length = M0_LNET_PING_SINK_BYTES;
	++nr;
	memcpy(hdr.lhd_wmd.wm_bytes + 4, &nr, sizeof nr);
	speech_msg(&speech, end->pe_version == M0_SOCK_V4, 0, &hdr);
	speech_say(end, &speech);
	/* Other things may have been said before. */
	do
		if (!speech_hear(end, &heard, ANSWER_MS))
			return false;
	while (heard.hd_frame.sfr_type != M0_SOCK_FRAME_LNET ||
	       heard.hd_hdr.lhd_type != M0_LNET_REPLY ||
	       memcmp(&heard.hd_hdr.lhd_wmd, &hdr.lhd_wmd,
		      sizeof hdr.lhd_wmd) != 0);
	return m0_lnet__ping_decode(&info, heard.hd_payload,
				    heard.hd_hdr.lhd_payload_bytes) == 0 &&
	       info.lpi_nis_nr == 2;
}
