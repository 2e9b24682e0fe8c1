/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * One connection of Lustre's socket driver, message by message: for tests that
 * look at recorded messages, or that stand in for one side of a recorded dialogue
 * and compare the messages of the other side.
 *
 *	struct pcap     pcap;
 *	struct dialogue dialogue;
 *
 *	pcap_load(&pcap, "tests/golden/02-discovery.pcap");
 *	dialogue_init(&dialogue, &pcap.pc_streams[0]);
 *	... dialogue.dl_msgs[i], i < dialogue.dl_msgs_nr, in order of time
 *	dialogue_fini(&dialogue);
 *	pcap_free(&pcap);
 *
 * To get bytes as they came, cut anywhere, use pcap_stream.ps_events.
 */
#ifndef M0_TESTS_GOLDEN_DIALOGUE_H
#define M0_TESTS_GOLDEN_DIALOGUE_H

#include "lib/pcap.h"
#include "lnd/ksock/ksock_wire.h"
#include "lnet/wire/wire.h"

enum dialogue_kind {
	DIALOGUE_REQUEST,
	DIALOGUE_HELLO,
	/** A frame alone. */
	DIALOGUE_NOOP,
	/** A frame (none in V1), a header, the payload. */
	DIALOGUE_LNET
};

struct dialogue_msg {
	enum dialogue_kind dm_kind;
	enum pcap_side     dm_from;
	/** When its last byte had come, as pv_time_ns. */
	m0_time_t dm_time_ns;
	/** All of it, as it was recorded. */
	const uint8_t *dm_bytes;
	size_t         dm_nr;
	/* Decoded; of DIALOGUE_LNET the last five. */
	struct m0_sock_request dm_request;
	struct m0_sock_hello   dm_hello;
	struct m0_sock_frame   dm_frame;
	struct m0_lnet_hdr     dm_hdr;
	bool                   dm_large;
	const uint8_t         *dm_hdr_bytes;
	const uint8_t         *dm_payload;
};

struct dialogue {
	const struct pcap_stream *dl_stream;
	struct dialogue_msg      *dl_msgs;
	size_t                    dl_msgs_nr;
	/** Version and type in the HELLO of each side; 0: there was none. */
	uint32_t dl_version[2];
	uint32_t dl_ctype[2];
	/** Bytes that were taken, of each side. */
	size_t dl_at[2];
};

/**
 * Takes the bytes of `stream` apart, up to the end or what cannot be decoded.
 * @retval 0        all bytes of both sides are in messages.
 * @retval -EPROTO  not all; dl_msgs has those before.
 */
int  dialogue_init(struct dialogue *dialogue, const struct pcap_stream *stream);
void dialogue_fini(struct dialogue *dialogue);

/** Is it ping information: a PUT or REPLY of the reserved portal? */
bool dialogue_is_ping(const struct dialogue_msg *msg);

#endif /* M0_TESTS_GOLDEN_DIALOGUE_H */
