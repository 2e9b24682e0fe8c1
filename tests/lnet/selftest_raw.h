/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Messages of the selftest byte by byte: a node that serves a selftest, another that
 * sends it what a test likes, and fields with wrong values.
 */
#ifndef M0_TESTS_LNET_SELFTEST_RAW_H
#define M0_TESTS_LNET_SELFTEST_RAW_H

#include "lnet/node.h"
#include "m0/lnet_run.h"
#include "selftest/selftest.h"

enum {
	/** No reply comes. */
	DROPPED = -1,
	BODY = 24,
	PARAMS = BODY + 58,
	REPLY_MS = 200,
	BATCH = 1
};

extern struct m0_sim    sim;
extern struct node      asker;
extern struct node      served;
extern struct m0_st    *st;
extern struct m0_st_sid sid;

/** Open and close both nodes, and the selftest of `served`. */
void up_tuned(void (*tune)(struct m0_lnet_cfg *cfg));
void up(void);
void down(void);
/** A session with a batch that has the server's half of a test. */
void session_begin(void);
/** Ends the session; nothing of it is left. */
void session_end(void);

/** A message of 160 bytes, or of one more, that is sent, or that is awaited. */
struct raw {
	uint8_t          raw_bytes[M0_ST_MSG_BYTES + 1];
	void            *raw_addr;
	m0_bcount_t      raw_nr;
	struct m0_bufvec raw_vec;
	bool             raw_come;
	bool             raw_over;
	size_t           raw_moved;
};

void raw_event(struct m0_lnet_eq *eq, const struct m0_lnet_event *event);
bool raw_is_over(void *arg);
struct m0_lnet_md_attr raw_md(struct raw *raw, struct m0_lnet_eq *eq, size_t nr,
			      unsigned options);
void                   raw_send(struct node *from, const struct m0_lnet_nid *to,
				struct m0_lnet_eq *eq, struct raw *raw, size_t nr,
				uint32_t portal, uint64_t bits);

/** A message without errors. */
struct m0_st_msg msg_of(uint32_t type);
/** Sends bytes to a service. @return status of the reply, or DROPPED. */
int ask_bytes(const uint8_t bytes[M0_ST_MSG_BYTES], size_t nr, uint32_t type,
	      uint64_t rpyid);
int ask(const struct m0_st_msg *msg);
int ask_type(uint32_t type);
/** Adds a client's half of a test: its destinations are all `dest`.
 * @return status of the reply. */
int ask_client_test(const struct m0_st_msg *msg, const struct node *dest);

/** A field with a value, and the status or return code that it has as consequence. */
struct wrong {
	uint32_t    wrg_type;
	const char *wrg_field;
	uint16_t    wrg_at;
	uint8_t     wrg_bytes;
	uint64_t    wrg_value;
	int         wrg_status;
};

void field_set(uint8_t *bytes, const struct wrong *wrong);

#endif /* M0_TESTS_LNET_SELFTEST_RAW_H */
