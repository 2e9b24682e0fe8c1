/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

#include "golden/dialogue.h"

/** Takes a request or HELLO whose size its head tells. @return bytes, or 0. */
static size_t request_take(struct dialogue_msg *msg, size_t left)
{
	int nr = left < M0_SOCK_HEAD_BYTES
			 ? 0
			 : m0_sock__request_bytes(msg->dm_bytes);

	msg->dm_kind = DIALOGUE_REQUEST;
	if (nr <= 0 || left < (size_t)nr ||
	    m0_sock__request_decode(&msg->dm_request, msg->dm_bytes) != 0)
		return 0;
	return (size_t)nr;
}

static size_t hello_take(struct dialogue *dialogue, struct dialogue_msg *msg,
			 size_t left)
{
	int nr = left < M0_SOCK_HEAD_BYTES
			 ? 0
			 : m0_sock__hello_bytes(msg->dm_bytes);

	msg->dm_kind = DIALOGUE_HELLO;
	if (nr <= 0 || left < (size_t)nr ||
	    m0_sock__hello_decode(&msg->dm_hello, msg->dm_bytes) != 0 ||
	    msg->dm_hello.sh_ips_nr != 0)
		return 0;
	dialogue->dl_version[msg->dm_from] = msg->dm_hello.sh_version;
	dialogue->dl_ctype[msg->dm_from] = msg->dm_hello.sh_ctype;
	return (size_t)nr;
}

/** A header at `at`, and the payload. @return bytes with those before. */
static size_t lnet_take(struct dialogue_msg *msg, size_t at, size_t left)
{
	size_t nr = at + (msg->dm_large ? M0_LNET_HDR_LARGE_BYTES
					: M0_LNET_HDR_BYTES);

	msg->dm_kind = DIALOGUE_LNET;
	msg->dm_hdr_bytes = msg->dm_bytes + at;
	msg->dm_payload = msg->dm_bytes + nr;
	if (left < nr || m0_lnet__hdr_decode(&msg->dm_hdr, msg->dm_large,
					     msg->dm_hdr_bytes) != 0)
		return 0;
	nr += msg->dm_hdr.lhd_payload_bytes;
	return left < nr ? 0 : nr;
}

static size_t frame_take(const struct dialogue *dialogue,
			 struct dialogue_msg *msg, size_t left)
{
	if (dialogue->dl_version[msg->dm_from] == M0_SOCK_V1)
		return lnet_take(msg, 0, left);
	if (left < M0_SOCK_FRAME_BYTES ||
	    m0_sock__frame_decode(&msg->dm_frame, false, msg->dm_bytes) != 0)
		return 0;
	msg->dm_kind = DIALOGUE_NOOP;
	if (msg->dm_frame.sfr_type == M0_SOCK_FRAME_NOOP)
		return M0_SOCK_FRAME_BYTES;
	msg->dm_large = dialogue->dl_version[msg->dm_from] == M0_SOCK_V4;
	return lnet_take(msg, M0_SOCK_FRAME_BYTES, left);
}

/** Takes the next message of side `from`; false: it is not all there. */
static bool msg_take(struct dialogue *dialogue, enum pcap_side from,
		     size_t said_nr, m0_time_t time_ns)
{
	const uint8_t      *said = dialogue->dl_stream->ps_said[from].pcb_bytes;
	size_t              at = dialogue->dl_at[from];
	struct dialogue_msg msg = { .dm_from = from, .dm_time_ns = time_ns };
	struct dialogue_msg *msgs;

	msg.dm_bytes = said + at;
	if (at == 0 && from == PCAP_INITIATOR)
		msg.dm_nr = request_take(&msg, said_nr);
	else if (dialogue->dl_version[from] == 0)
		msg.dm_nr = hello_take(dialogue, &msg, said_nr - at);
	else
		msg.dm_nr = frame_take(dialogue, &msg, said_nr - at);
	if (msg.dm_nr == 0)
		return false;
	msgs = realloc(dialogue->dl_msgs,
		       (dialogue->dl_msgs_nr + 1) * sizeof *msgs);
	M0_ASSERT(msgs != NULL);
	msgs[dialogue->dl_msgs_nr++] = msg;
	dialogue->dl_msgs = msgs;
	dialogue->dl_at[from] += msg.dm_nr;
	return true;
}

int dialogue_init(struct dialogue *dialogue, const struct pcap_stream *stream)
{
	const struct pcap_event *event;
	size_t                   i;

	*dialogue = (struct dialogue){ .dl_stream = stream };
	for (i = 0; i < stream->ps_events_nr; ++i) {
		event = &stream->ps_events[i];
		if (event->pv_kind != PCAP_BYTES)
			continue;
		while (msg_take(dialogue, event->pv_from,
				event->pv_at + event->pv_nr, event->pv_time_ns))
			;
	}
	for (i = 0; i < 2; ++i)
		if (dialogue->dl_at[i] != stream->ps_said[i].pcb_nr)
			return -EPROTO;
	return 0;
}

void dialogue_fini(struct dialogue *dialogue)
{
	free(dialogue->dl_msgs);
	*dialogue = (struct dialogue){};
}

bool dialogue_is_ping(const struct dialogue_msg *msg)
{
	static const uint8_t magic[] = { 0x67, 0x6e, 0x69, 0x70 };

	return msg->dm_kind == DIALOGUE_LNET &&
	       M0_IN(msg->dm_hdr.lhd_type, (M0_LNET_PUT, M0_LNET_REPLY)) &&
	       msg->dm_hdr.lhd_portal == 0 &&
	       msg->dm_hdr.lhd_payload_bytes >= sizeof magic &&
	       memcmp(msg->dm_payload, magic, sizeof magic) == 0;
}
