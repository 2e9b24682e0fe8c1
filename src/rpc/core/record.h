/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Records of clients, sessions and streams in the store of a server: keys,
 * values and how to find them again. Keys begin with the byte 0.
 *
 *   c uuid                          -> incarnation: older ones are refused;
 *                                      whether there was one; when it was
 *                                      known to live, in wall time
 *   s uuid session                  -> incarnation, streams, window
 *   r uuid session stream slot      -> number, ack, code, reply
 *
 * An update puts one key: the reply's. The slot is the number modulo the
 * window, so that a reply takes the place of one that was acknowledged, and a
 * stream never has more keys than its window. The last number executed is the
 * highest of the replies'.
 *
 * All within a transaction of the caller.
 */
#ifndef M0_SRC_RPC_CORE_RECORD_H
#define M0_SRC_RPC_CORE_RECORD_H

#include "m0/rpc_store.h"

enum {
	/** Bytes of a reply's value before the reply itself. */
	M0_RPC_RECORD_HEAD = 32
};

struct m0_rpc_record_session {
	uint64_t rrs_session;
	uint64_t rrs_incarnation;
	uint32_t rrs_streams;
	uint32_t rrs_window;
};

struct m0_rpc_record_reply {
	uint64_t rrr_session;
	uint32_t rrr_stream;
	/** For putting: the stream's window. */
	uint32_t rrr_window;
	uint64_t rrr_xid;
	uint64_t rrr_ack;
	int32_t  rrr_rc;
	/** Got: what followed the head. */
	struct m0_rpc_slice rrr_reply;
};

struct m0_rpc_record_client {
	struct m0_uint128 rrc_uuid;
	uint64_t          rrc_incarnation;
	/** There was an older one, which may be somewhere still. */
	bool rrc_fences;
	/** Nanoseconds of wall time; 0: not known, by an older library. */
	uint64_t rrc_lived_ns;
};

/** @retval -ENOENT  the client was never here. -EPROTO  not a record. */
int m0_rpc_record_client_get(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			     struct m0_rpc_record_client *ret);
int m0_rpc_record_client_put(struct m0_rpc_tx                  *tx,
			     const struct m0_rpc_record_client *rec);
/** The client after `uuid`, in the order of keys; of {0, 0}: the first.
 * @retval -ENOENT  there is none. @retval -EPROTO  not a record. */
int m0_rpc_record_client_next(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			      struct m0_rpc_record_client *ret);
/**
 * Deletes replies that were acknowledged, which are kept until their slots are
 * used again; of each stream the last one stays.
 * @param ret_nr  keys deleted, at most `max`. @retval -EAGAIN  there may be more.
 */
int m0_rpc_record_client_trim(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			      uint32_t max, uint32_t *ret_nr);
/** As m0_rpc_record_client_del(), a part. @retval -EAGAIN  there is more. */
int m0_rpc_record_client_del_some(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
				  uint32_t max);
/** With all its sessions and replies. */
int m0_rpc_record_client_del(struct m0_rpc_tx *tx, struct m0_uint128 uuid);
/** Has left: goes, if it is the last one known, has no session and keeps no
 * older one out. */
int m0_rpc_record_client_leave(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			       uint64_t incarnation);

int m0_rpc_record_session_get(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			      uint64_t                      session,
			      struct m0_rpc_record_session *ret);
int m0_rpc_record_session_put(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			      const struct m0_rpc_record_session *rec);
/** With its replies. */
int m0_rpc_record_session_del(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			      uint64_t session);

/**
 * @param value  `nr` bytes, the first M0_RPC_RECORD_HEAD of which are written
 *               here; the reply follows them.
 */
int m0_rpc_record_reply_put(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			    const struct m0_rpc_record_reply *rec, void *value,
			    m0_bcount_t nr);
/**
 * Calls `found` for each reply of the session; it must not change the store.
 * Other than 0 ends it and is returned.
 * @retval -EPROTO  one that is no record was met.
 */
int m0_rpc_record_replies(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			  uint64_t session,
			  int (*found)(const struct m0_rpc_record_reply *rec,
				       void                             *arg),
			  void *arg);

#endif /* M0_SRC_RPC_CORE_RECORD_H */
