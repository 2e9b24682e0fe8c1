/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Encoders and decoders of the messages on a connection, for ends of place.h:
 * messages of the protocol, right or wrong.
 */
#ifndef M0_TESTS_LNET_SPEECH_H
#define M0_TESTS_LNET_SPEECH_H

#include "lnet/place.h"
#include "lnd/ksock/ksock_wire.h"
#include "lnet/wire/wire.h"

enum {
	SPEECH_BYTES_MAX = 4096,
	SPEECH_PORTAL = 30,
	SPEECH_BITS = 0x1234
};
#define SPEECH_PING_BITS (UINT64_C(1) << 63)

/** Bytes to be said. */
struct speech {
	uint8_t sp_bytes[SPEECH_BYTES_MAX];
	size_t  sp_nr;
};

/** The version that is spoken where `version` would be over IPv4. */
uint32_t speech_version(const struct place *place, uint32_t version);
void     speech_request(struct speech *speech, const struct m0_lnet_nid *nid);
/** HELLO of host `who` to the node, of `version` 1 to 4. */
void speech_hello(struct speech *speech, const struct place *place,
		  unsigned who, uint32_t version, uint32_t ctype,
		  uint64_t incarnation);
void speech_noop(struct speech *speech, uint64_t cookie0, uint64_t cookie1);
/** Frame and header; payload is the caller's. */
void speech_msg(struct speech *speech, bool large, uint64_t cookie0,
		const struct m0_lnet_hdr *hdr);
/** A header of `type` from host `who` to the node: whole, and harmless. */
struct m0_lnet_hdr speech_hdr(const struct place *place, unsigned who,
			      uint32_t type);
void speech_say(struct place_end *end, const struct speech *speech);

/** Says it again and hears the answer. False: it did not come, or is none. */
bool speech_hear_hello(struct place_end *end, struct m0_sock_hello *hello,
		       uint64_t ms);

/** A message that was heard. */
struct heard {
	struct m0_sock_frame hd_frame;
	struct m0_lnet_hdr   hd_hdr;
	const uint8_t       *hd_payload;
};
/** The next frame, NOOPs included. False: it did not come. */
bool speech_hear(struct place_end *end, struct heard *heard, uint64_t ms);

/**
 * Connects as host `who` with good manners, as a connection of type `ctype`.
 * The case fails if the node does not want it.
 */
struct place_end *speech_join(struct place *place, unsigned who,
			      uint32_t version, uint32_t ctype,
			      uint64_t incarnation);
/** Pings over the connection: is it answered? */
bool speech_ping(struct place_end *end);

#endif /* M0_TESTS_LNET_SPEECH_H */
