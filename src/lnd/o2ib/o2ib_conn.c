/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnd/o2ib/o2ib_conn.h"

static uint16_t least(uint16_t left, uint16_t right)
{
	return left < right ? left : right;
}

static bool peer_invariant(const struct m0_o2ib_peer *peer)
{
	return _0C(peer->ibo_ask.ibp_queue_depth > 0) &&
	       _0C(peer->ibo_ask.ibp_frags_max > 0) &&
	       _0C(peer->ibo_ask.ibp_frags_max <= M0_O2IB_FRAGS_SENT_MAX) &&
	       _0C(peer->ibo_state <= M0_O2IB_ASKED);
}

void m0_o2ib__peer_init(struct m0_o2ib_peer       *peer,
			const struct m0_o2ib_self *self, uint64_t nid4)
{
	M0_PRE(self->ibs_stamp != 0 && self->ibs_depth_max > 0);
	*peer = (struct m0_o2ib_peer){
		.ibo_nid4 = nid4,
		.ibo_ask = { .ibp_queue_depth = least(self->ibs_depth_max,
						      M0_O2IB_DEPTH_FIRST),
			     .ibp_frags_max = M0_O2IB_FRAGS_SENT_MAX,
			     .ibp_msg_bytes_max = M0_O2IB_MSG_BYTES_MAX }
	};
	M0_POST(peer_invariant(peer));
}

/** The header of a message of connection set-up. */
static struct m0_o2ib_hdr hdr_to(const struct m0_o2ib_self *self,
				 const struct m0_o2ib_peer *peer,
				 enum m0_o2ib_type          type)
{
	return (struct m0_o2ib_hdr){ .ibh_type = (uint8_t)type,
				     .ibh_src_nid4 = self->ibs_nid4,
				     .ibh_src_stamp = self->ibs_stamp,
				     .ibh_dst_nid4 = peer->ibo_nid4,
				     .ibh_dst_stamp = peer->ibo_stamp };
}

/* -- who it is ------------------------------------------------------------- */

static int refuse_nid(struct m0_o2ib_why *why, enum m0_o2ib_field field,
		      const struct m0_o2ib_hdr *hdr, uint64_t said,
		      uint64_t expected)
{
	return m0_o2ib__refuse(
		why, field, "%s: %s NID %#llx, expected %#llx",
		m0_o2ib__type_name(hdr->ibh_type),
		field == M0_O2IB_FIELD_SRC_NID ? "source" : "destination",
		(unsigned long long)said, (unsigned long long)expected);
}

static int refuse_stamp(struct m0_o2ib_why *why, enum m0_o2ib_field field,
			const struct m0_o2ib_hdr *hdr, uint64_t said,
			uint64_t expected)
{
	(void)m0_o2ib__refuse(
		why, field, "%s: %s stamp %#llx, expected %#llx",
		m0_o2ib__type_name(hdr->ibh_type),
		field == M0_O2IB_FIELD_SRC_STAMP ? "source" : "destination",
		(unsigned long long)said, (unsigned long long)expected);
	return -ESTALE;
}

/** Is a message for us, and for this run? */
static int for_us(const struct m0_o2ib_self *self,
		  const struct m0_o2ib_hdr *hdr, struct m0_o2ib_why *why)
{
	if (hdr->ibh_dst_nid4 != self->ibs_nid4)
		return refuse_nid(why, M0_O2IB_FIELD_DST_NID, hdr,
				  hdr->ibh_dst_nid4, self->ibs_nid4);
	if (hdr->ibh_dst_stamp != self->ibs_stamp)
		return refuse_stamp(why, M0_O2IB_FIELD_DST_STAMP, hdr,
				    hdr->ibh_dst_stamp, self->ibs_stamp);
	return 0;
}

int m0_o2ib__conn_check(const struct m0_o2ib_self *self,
			const struct m0_o2ib_peer *peer,
			const struct m0_o2ib_hdr *hdr, struct m0_o2ib_why *why)
{
	if (hdr->ibh_type == M0_O2IB_CONNREQ ||
	    hdr->ibh_type == M0_O2IB_CONNACK)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_TYPE,
				       "%s on a connection",
				       m0_o2ib__type_name(hdr->ibh_type));
	if (hdr->ibh_src_nid4 != peer->ibo_nid4)
		return refuse_nid(why, M0_O2IB_FIELD_SRC_NID, hdr,
				  hdr->ibh_src_nid4, peer->ibo_nid4);
	if (hdr->ibh_src_stamp != peer->ibo_stamp)
		return refuse_stamp(why, M0_O2IB_FIELD_SRC_STAMP, hdr,
				    hdr->ibh_src_stamp, peer->ibo_stamp);
	return for_us(self, hdr, why);
}

/* -- requests of ours ------------------------------------------------------ */

void m0_o2ib__conn_ask(const struct m0_o2ib_self *self,
		       struct m0_o2ib_peer       *peer,
		       uint8_t                    buf[M0_O2IB_CONN_BYTES])
{
	struct m0_o2ib_hdr hdr = hdr_to(self, peer, M0_O2IB_CONNREQ);

	M0_PRE(peer_invariant(peer));
	M0_PRE(peer->ibo_state == M0_O2IB_IDLE);
	(void)m0_o2ib__conn_encode(&hdr, &peer->ibo_ask, buf,
				   M0_O2IB_CONN_BYTES);
	peer->ibo_state = M0_O2IB_ASKED;
}

/** Checks what an acceptance grants against what was asked for. */
static int granted_check(const struct m0_o2ib_params *asked,
			 const struct m0_o2ib_params *granted,
			 struct m0_o2ib_why          *why)
{
	if (granted->ibp_queue_depth > asked->ibp_queue_depth)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_QUEUE_DEPTH,
				       "CONNACK: queue depth %u, asked for %u",
				       granted->ibp_queue_depth,
				       asked->ibp_queue_depth);
	if (granted->ibp_frags_max > asked->ibp_frags_max)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_FRAGS_MAX,
				       "CONNACK: %u fragments, asked for %u",
				       granted->ibp_frags_max,
				       asked->ibp_frags_max);
	return 0;
}

int m0_o2ib__conn_accepted(const struct m0_o2ib_self *self,
			   struct m0_o2ib_peer *peer, const void *bytes,
			   size_t nr, struct m0_o2ib_params *granted,
			   struct m0_o2ib_why *why)
{
	struct m0_o2ib_hdr hdr;
	int                rc;

	M0_PRE(peer->ibo_state == M0_O2IB_ASKED);
	peer->ibo_state = M0_O2IB_IDLE;
	rc = m0_o2ib__hdr_decode(&hdr, bytes, nr, why);
	if (rc != 0)
		return -EPROTO;
	if (hdr.ibh_type != M0_O2IB_CONNACK)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_TYPE,
				       "%s, expected CONNACK",
				       m0_o2ib__type_name(hdr.ibh_type));
	rc = m0_o2ib__conn_decode(&hdr, bytes, granted, why);
	if (rc == 0)
		rc = granted_check(&peer->ibo_ask, granted, why);
	if (rc == 0 && hdr.ibh_src_nid4 != peer->ibo_nid4)
		rc = refuse_nid(why, M0_O2IB_FIELD_SRC_NID, &hdr,
				hdr.ibh_src_nid4, peer->ibo_nid4);
	if (rc == 0)
		rc = for_us(self, &hdr, why);
	if (rc == 0) {
		peer->ibo_stamp = hdr.ibh_src_stamp;
		peer->ibo_rejects_nr = 0;
	}
	return rc;
}

/** Takes a smaller value that a rejection suggests. */
static int lower(uint16_t *asked, uint16_t suggested)
{
	if (suggested == 0 || suggested >= *asked)
		return -ECONNREFUSED;
	*asked = suggested;
	return 0;
}

/** Says what does not fit, with both values. Races and stale stamps are no mismatch. */
static void reject_say(const struct m0_o2ib_peer   *peer,
		       const struct m0_o2ib_reject *rej,
		       struct m0_o2ib_why          *why)
{
	const struct m0_o2ib_params *limits = &rej->ibr_limits;

	if (rej->ibr_general || rej->ibr_version != M0_O2IB_VERSION)
		(void)m0_o2ib__refuse(
			why, M0_O2IB_FIELD_VERSION,
			"the peer speaks version %#x, and we version %#x",
			rej->ibr_version, M0_O2IB_VERSION);
	else if (rej->ibr_reason == M0_O2IB_MSG_QUEUE_SIZE)
		(void)m0_o2ib__refuse(
			why, M0_O2IB_FIELD_QUEUE_DEPTH,
			"peer credits: its queue depth is %u, ours %u",
			limits->ibp_queue_depth, peer->ibo_ask.ibp_queue_depth);
	else if (rej->ibr_reason == M0_O2IB_RDMA_FRAGS)
		(void)m0_o2ib__refuse(
			why, M0_O2IB_FIELD_FRAGS_MAX,
			"the peer takes %u fragments of memory, and we ask for %u",
			limits->ibp_frags_max, peer->ibo_ask.ibp_frags_max);
	else if (limits->ibp_msg_bytes_max != 0 &&
		 limits->ibp_msg_bytes_max != M0_O2IB_MSG_BYTES_MAX)
		(void)m0_o2ib__refuse(
			why, M0_O2IB_FIELD_MSG_BYTES,
			"its messages have at most %u bytes, ours %u",
			limits->ibp_msg_bytes_max, M0_O2IB_MSG_BYTES_MAX);
	else if (rej->ibr_reason != M0_O2IB_CONN_RACE &&
		 rej->ibr_reason != M0_O2IB_CONN_STALE)
		(void)m0_o2ib__refuse(why, M0_O2IB_FIELD_TYPE,
				      "the peer refuses, for reason %u",
				      rej->ibr_reason);
}

/** Decides what follows a rejection. */
static int reject_act(struct m0_o2ib_peer         *peer,
		      const struct m0_o2ib_reject *rej)
{
	if (rej->ibr_general || rej->ibr_version != M0_O2IB_VERSION)
		return -EPROTONOSUPPORT;
	switch (rej->ibr_reason) {
	case M0_O2IB_CONN_RACE:
		return 0;
	case M0_O2IB_CONN_STALE:
		peer->ibo_stamp = rej->ibr_stamp;
		return 0;
	case M0_O2IB_RDMA_FRAGS:
		return lower(&peer->ibo_ask.ibp_frags_max,
			     rej->ibr_limits.ibp_frags_max);
	case M0_O2IB_MSG_QUEUE_SIZE:
		return lower(&peer->ibo_ask.ibp_queue_depth,
			     rej->ibr_limits.ibp_queue_depth);
	case M0_O2IB_CONN_UNCOMPAT:
		return -EPROTONOSUPPORT;
	default:
		return -ECONNREFUSED;
	}
}

int m0_o2ib__conn_rejected(struct m0_o2ib_peer *peer, const void *bytes,
			   size_t nr, uint64_t *delay_ns,
			   struct m0_o2ib_why *why)
{
	struct m0_o2ib_reject rej;
	int                   rc;

	M0_PRE(peer->ibo_state == M0_O2IB_ASKED);
	peer->ibo_state = M0_O2IB_IDLE;
	rc = m0_o2ib__reject_decode(&rej, bytes, nr, why);
	if (rc != 0)
		return rc;
	if (peer->ibo_rejects_nr < UINT32_MAX)
		++peer->ibo_rejects_nr;
	*delay_ns = rej.ibr_reason == M0_O2IB_CONN_RACE ||
				    peer->ibo_rejects_nr >
					    M0_O2IB_AGAIN_AT_ONCE_MAX
			    ? M0_O2IB_AGAIN_NS
			    : 0;
	M0_POST(peer_invariant(peer));
	reject_say(peer, &rej, why);
	return reject_act(peer, &rej);
}

void m0_o2ib__conn_failed(struct m0_o2ib_peer *peer)
{
	M0_PRE(peer->ibo_state == M0_O2IB_ASKED);
	peer->ibo_state = M0_O2IB_IDLE;
}

/* -- requests of peers ----------------------------------------------------- */

/** Rejects a request; one that is for another node learns nothing of ours. */
static void reject(const struct m0_o2ib_self *self,
		   struct m0_o2ib_answer *answer, enum m0_o2ib_reason reason,
		   bool is_ours)
{
	struct m0_o2ib_reject rej = {
		.ibr_reason = (uint8_t)reason,
		.ibr_version = M0_O2IB_VERSION,
		.ibr_limits = { .ibp_msg_bytes_max = M0_O2IB_MSG_BYTES_MAX }
	};

	M0_PRE(answer->ibn_why.ibw_field != M0_O2IB_FIELD_NONE);
	if (is_ours) {
		rej.ibr_stamp = self->ibs_stamp;
		rej.ibr_limits.ibp_queue_depth = self->ibs_depth_max;
		rej.ibr_limits.ibp_frags_max = M0_O2IB_FRAGS_SENT_MAX;
	}
	answer->ibn_accept = false;
	answer->ibn_nr = m0_o2ib__reject_encode(&rej, answer->ibn_bytes);
}

void m0_o2ib__conn_reject(const struct m0_o2ib_self *self,
			  enum m0_o2ib_reason        reason,
			  struct m0_o2ib_answer     *answer)
{
	(void)m0_o2ib__refuse(&answer->ibn_why, M0_O2IB_FIELD_TYPE,
			      "CONNREQ: refused, reason %d", (int)reason);
	reject(self, answer, reason, true);
}

bool m0_o2ib__conn_incoming(const struct m0_o2ib_self *self, const void *bytes,
			    size_t nr, struct m0_o2ib_hdr *hdr,
			    struct m0_o2ib_answer *answer)
{
	struct m0_o2ib_why *why = &answer->ibn_why;

	*answer = (struct m0_o2ib_answer){};
	if (m0_o2ib__hdr_decode(hdr, bytes, nr, why) != 0) {
		reject(self, answer, M0_O2IB_FATAL, false);
		return false;
	}
	if (hdr->ibh_dst_nid4 != self->ibs_nid4) {
		(void)for_us(self, hdr, why);
		reject(self, answer, M0_O2IB_FATAL, false);
		return false;
	}
	/* A first request does not know our stamp. */
	if (hdr->ibh_dst_stamp != 0 && for_us(self, hdr, why) != 0) {
		reject(self, answer, M0_O2IB_CONN_STALE, true);
		return false;
	}
	if (hdr->ibh_type != M0_O2IB_CONNREQ) {
		(void)m0_o2ib__refuse(why, M0_O2IB_FIELD_TYPE,
				      "%s, expected CONNREQ",
				      m0_o2ib__type_name(hdr->ibh_type));
		reject(self, answer, M0_O2IB_FATAL, true);
		return false;
	}
	if (m0_o2ib__conn_decode(hdr, bytes, &answer->ibn_granted, why) != 0) {
		reject(self, answer, M0_O2IB_FATAL, true);
		return false;
	}
	if (answer->ibn_granted.ibp_queue_depth > self->ibs_depth_max) {
		(void)m0_o2ib__refuse(why, M0_O2IB_FIELD_QUEUE_DEPTH,
				      "CONNREQ: queue depth %u, at most %u",
				      answer->ibn_granted.ibp_queue_depth,
				      self->ibs_depth_max);
		reject(self, answer, M0_O2IB_MSG_QUEUE_SIZE, true);
		return false;
	}
	return true;
}

void m0_o2ib__conn_answer(const struct m0_o2ib_self *self,
			  struct m0_o2ib_peer       *peer,
			  const struct m0_o2ib_hdr  *hdr,
			  struct m0_o2ib_answer     *answer)
{
	struct m0_o2ib_params *granted = &answer->ibn_granted;
	uint64_t               stamp = peer->ibo_stamp;
	struct m0_o2ib_hdr     ack;

	M0_PRE(hdr->ibh_src_nid4 == peer->ibo_nid4);
	M0_PRE(granted->ibp_queue_depth <= self->ibs_depth_max);
	peer->ibo_stamp = hdr->ibh_src_stamp;
	if (stamp != 0 && stamp != hdr->ibh_src_stamp) {
		answer->ibn_close = true;
		(void)refuse_stamp(&answer->ibn_why, M0_O2IB_FIELD_SRC_STAMP,
				   hdr, hdr->ibh_src_stamp, stamp);
		reject(self, answer, M0_O2IB_CONN_STALE, true);
		return;
	}
	granted->ibp_frags_max =
		least(granted->ibp_frags_max, M0_O2IB_FRAGS_SENT_MAX);
	ack = hdr_to(self, peer, M0_O2IB_CONNACK);
	answer->ibn_accept = true;
	answer->ibn_nr = m0_o2ib__conn_encode(
		&ack,
		&(struct m0_o2ib_params){ granted->ibp_queue_depth,
					  granted->ibp_frags_max,
					  M0_O2IB_MSG_BYTES_MAX },
		answer->ibn_bytes, sizeof answer->ibn_bytes);
}
