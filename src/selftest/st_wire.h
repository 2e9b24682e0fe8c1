/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Codec of the messages of LNet's selftest. Every message has 160 bytes, in its
 * sender's byte order: a header of 24 bytes, and a body. A request names the
 * match bits to which its reply goes, and those of its bulk.
 */
#ifndef M0_SRC_SELFTEST_ST_WIRE_H
#define M0_SRC_SELFTEST_ST_WIRE_H

#include "m0/lnet_nid.h"

enum {
	M0_ST_MSG_BYTES = 160,
	M0_ST_VERSION = 1,
	/** Bytes of a session's name. */
	M0_ST_NAME_BYTES = 32,
	M0_ST_CONCURRENCY_MAX = 1024,
	/** Greatest status of a reply: a positive errno. */
	M0_ST_STATUS_MAX = 4095,
	/** Most bytes of a bulk transfer, and of a page of its pattern. */
	M0_ST_BULK_MAX = 1 << 20,
	M0_ST_PAGE_BYTES = 4096,
	/** A destination in the list of a TEST request. */
	M0_ST_DEST_BYTES = 12,
	M0_ST_DEST_LARGE_BYTES = 24,
	/** Most destinations of a list: a page of them, as what follows in the
	 * next page is uncertain; and with LARGE. */
	M0_ST_DESTS_PER_PAGE = 341,
	M0_ST_DESTS_LARGE_MAX = 4096,
	M0_ST_DESTS_LIST_MAX = M0_ST_DESTS_LARGE_MAX * M0_ST_DEST_LARGE_BYTES
};
#define M0_ST_MAGIC      UINT32_C(0xeeb0f00d)
#define M0_ST_PING_MAGIC UINT32_C(0xbabeface)
#define M0_ST_LOOP_INF   UINT32_C(0xffffffff)

/** Portals. */
enum {
	M0_ST_PORTAL_TEST = 50,
	M0_ST_PORTAL_FRAMEWORK = 51,
	M0_ST_PORTAL_REPLY = 52
};

/** Services: the match bits of requests. */
enum m0_st_service {
	M0_ST_SRV_DEBUG = 0,
	M0_ST_SRV_MKSN = 1,
	M0_ST_SRV_RMSN = 2,
	M0_ST_SRV_BATCH = 3,
	M0_ST_SRV_TEST = 4,
	M0_ST_SRV_STAT = 5,
	M0_ST_SRV_BRW = 11,
	M0_ST_SRV_PING = 12
};

/** Types of messages. The reply to a request has the next number. */
enum m0_st_type {
	M0_ST_MKSN = 0,
	M0_ST_MKSN_REP = 1,
	M0_ST_RMSN = 2,
	M0_ST_RMSN_REP = 3,
	M0_ST_BATCH = 4,
	M0_ST_BATCH_REP = 5,
	M0_ST_STAT = 6,
	M0_ST_STAT_REP = 7,
	M0_ST_TEST = 8,
	M0_ST_TEST_REP = 9,
	M0_ST_DEBUG = 10,
	M0_ST_DEBUG_REP = 11,
	M0_ST_BRW = 12,
	M0_ST_BRW_REP = 13,
	M0_ST_PING = 14,
	M0_ST_PING_REP = 15,
	M0_ST_TYPES_NR = 16
};

/** Features of a session. */
enum {
	/** The length of bulk is in bytes, not in pages. */
	M0_ST_FEAT_LEN = 1,
	/** Ours: destinations have NIDs of any size. */
	M0_ST_FEAT_LARGE = 1 << 30,
	M0_ST_FEATS = M0_ST_FEAT_LEN | M0_ST_FEAT_LARGE
};

enum {
	M0_ST_RUN = 1,
	M0_ST_STOP = 2,
	M0_ST_QUERY = 3
};
enum {
	M0_ST_READ = 1,
	M0_ST_WRITE = 2
};
/** How data is checked. */
enum m0_st_check {
	M0_ST_CHECK_NONE = 1,
	M0_ST_CHECK_SIMPLE = 2,
	M0_ST_CHECK_FULL = 3,
	M0_ST_CHECK_DISCARD = 4
};

/** A session's identity; all ones: none. */
struct m0_st_sid {
	uint64_t sid_nid4;
	uint64_t sid_stamp;
};
#define M0_ST_SID_NONE ((struct m0_st_sid){ UINT64_MAX, UINT64_MAX })
static inline bool m0_st_sid_eq(const struct m0_st_sid *left,
				const struct m0_st_sid *right)
{
	return left->sid_nid4 == right->sid_nid4 &&
	       left->sid_stamp == right->sid_stamp;
}

/** Counters of a STAT reply. */
struct m0_st_stats {
	uint32_t sct_running_ms;
	uint32_t sct_active_batches;
	uint32_t sct_zombies;
	uint32_t sct_brw_errors;
	uint32_t sct_ping_errors;
	uint32_t sct_rpc_errors;
	uint32_t sct_rpc_sent;
	uint32_t sct_rpc_rcvd;
	uint32_t sct_rpc_dropped;
	uint32_t sct_rpc_expired;
	uint64_t sct_bulk_get;
	uint64_t sct_bulk_put;
	uint32_t sct_msgs_alloc;
	uint32_t sct_msgs_max;
	uint32_t sct_errors;
	uint32_t sct_send_count;
	uint32_t sct_recv_count;
	uint32_t sct_route_count;
	uint32_t sct_drop_count;
	uint64_t sct_send_length;
	uint64_t sct_recv_length;
	uint64_t sct_route_length;
	uint64_t sct_drop_length;
};

/** A TEST request. */
struct m0_st_test {
	uint64_t tsr_batch;
	uint32_t tsr_service;
	uint32_t tsr_loop;
	uint32_t tsr_concurrency;
	uint8_t  tsr_is_client;
	uint8_t  tsr_stop_on_error;
	uint32_t tsr_dests_nr;
	/* Parameters of brw: direction, check, bytes. Without LEN tsr_bytes is a number of
	 * pages on the wire, and a multiple of M0_ST_PAGE_BYTES here. */
	uint32_t tsr_rw;
	uint32_t tsr_check;
	uint32_t tsr_bytes;
	uint32_t tsr_offset;
};

/** A message, decoded. Fields that its type does not have are 0. */
struct m0_st_msg {
	uint32_t         smg_version;
	uint32_t         smg_type;
	uint32_t         smg_feats;
	uint64_t         smg_rpyid;
	uint64_t         smg_bulkid;
	uint32_t         smg_status;
	struct m0_st_sid smg_sid;
	/** MKSN: not NUL-terminated if it has all 32 bytes, which is refused. */
	char     smg_name[M0_ST_NAME_BYTES];
	uint32_t smg_force;
	/** MKSN and DEBUG replies: seconds. */
	uint32_t smg_timeout;
	uint32_t smg_batches_nr;
	/** DEBUG and STAT requests: flags and type. */
	uint32_t smg_flags;
	/* BATCH. */
	uint64_t smg_batch;
	uint32_t smg_opc;
	uint32_t smg_test_nr;
	uint32_t smg_arg;
	uint32_t smg_active;
	uint32_t smg_time;
	/* BRW. */
	uint32_t smg_rw;
	uint32_t smg_bytes;
	uint32_t smg_check;
	/* PING. */
	uint32_t           smg_ping_magic;
	uint32_t           smg_seq;
	uint64_t           smg_sec;
	uint64_t           smg_nsec;
	struct m0_st_test  smg_test;
	struct m0_st_stats smg_stats;
	/** The sender has the other byte order. */
	bool smg_swapped;
};

/** "MKSN", "BRW reply"; "?" for a number that is no type. */
const char        *m0_st_type_name(uint32_t type);
static inline bool m0_st_type_is_request(uint32_t type)
{
	return type < M0_ST_TYPES_NR && type % 2 == 0;
}
/** The service that gets requests of this type. */
enum m0_st_service m0_st_type_service(uint32_t type);
/** The portal to which requests of this type go. */
uint32_t m0_st_type_portal(uint32_t type);

/**
 * Decodes a message.
 * @retval -EMSGSIZE  `nr` is not M0_ST_MSG_BYTES.
 * @retval -EPROTO    the magic is wrong, the type unknown, or a name has no end.
 *                    A wrong version is not refused, so that it can be answered.
 */
int m0_st_decode(struct m0_st_msg *ret, const void *bytes, size_t nr);
/** Encodes a message in this host's order, or in the other with smg_swapped. */
void m0_st_encode(const struct m0_st_msg *msg, uint8_t bytes[M0_ST_MSG_BYTES]);
/**
 * Checks what a request asks for, beyond what it is made of.
 * @param feats  features of the session.
 * @return 0 or a positive errno, as the status of the reply.
 */
int m0_st_test_check(const struct m0_st_test *test, uint32_t feats);
int m0_st_brw_check(const struct m0_st_msg *msg, uint32_t feats);

/** Most destinations of a list. */
uint32_t m0_st_dests_max(uint32_t feats);
/** Bytes of a list of `nr` destinations, M0_ST_DESTS_LIST_MAX at most. LARGE has
 * LEN, too. */
size_t m0_st_dests_bytes(uint32_t nr, uint32_t feats);
/**
 * Decodes destination `i` of a list.
 * @retval -EPROTO  not the identity of a node.
 */
int m0_st_dest_decode(struct m0_lnet_process_id *ret, const uint8_t *list,
		      uint32_t i, uint32_t feats, bool swapped);
/** Pre: without LARGE, m0_lnet_nid_is_nid4() of its NID. */
void m0_st_dest_encode(const struct m0_lnet_process_id *id, uint8_t *list,
		       uint32_t i, uint32_t feats, bool swapped);

#endif /* M0_SRC_SELFTEST_ST_WIRE_H */
