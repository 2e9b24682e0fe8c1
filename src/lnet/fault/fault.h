/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Fault rules: which messages they hit. What becomes of these is done where they
 * come in (recv.c) and leave (send.c).
 *
 * Pure and by itself: a header, an NI and the time go in, a verdict comes out.
 */
#ifndef M0_SRC_LNET_FAULT_H
#define M0_SRC_LNET_FAULT_H

#include "m0/lnet_fault.h"
#include "base/rand.h"
#include "lnet/wire/wire.h"

/** What is to be done to a message. */
enum m0_lnet__fault_act {
	M0_LNET__FAULT_DROP = 1 << 0,
	M0_LNET__FAULT_DELAY = 1 << 1,
	M0_LNET__FAULT_DUPLICATE = 1 << 2,
	/** Turn a bit of the payload, of the header. */
	M0_LNET__FAULT_PAYLOAD = 1 << 3,
	M0_LNET__FAULT_HEADER = 1 << 4,
	M0_LNET__FAULT_CUT = 1 << 5,
	/** Ours to keep: the message was judged; has been sent once already. */
	M0_LNET__FAULT_JUDGED = 1 << 6,
	M0_LNET__FAULT_AGAIN = 1 << 7
};

struct m0_lnet__faults {
	/** Newest first. */
	struct m0_list lfs_rules;
	unsigned       lfs_nr;
	uint64_t       lfs_seed;
	/** Rules ever added. */
	uint64_t lfs_added_nr;
};

/** A message that is looked at. */
struct m0_lnet__fault_look {
	const struct m0_lnet_hdr *flo_hdr;
	/** Of the NI that it comes in or leaves by. */
	const struct m0_lnet_nid *flo_local;
	bool                      flo_leaves;
	m0_time_t                 flo_now;
};

struct m0_lnet__fault_verdict {
	/** enum m0_lnet__fault_act. */
	unsigned fav_acts;
	/** DELAY. */
	m0_time_t fav_until;
	/** DROP of one that leaves. */
	enum m0_lnd_health fav_health;
	/** PAYLOAD, HEADER: which, of any number of bits. */
	uint32_t fav_bit;
};

/** NULL: no memory. */
struct m0_lnet__faults *m0_lnet__faults_create(uint64_t seed);
/** NULL is allowed. */
void m0_lnet__faults_destroy(struct m0_lnet__faults *faults);
/** @retval -ENOSPC, -ENOMEM */
int m0_lnet__faults_add(struct m0_lnet__faults          *faults,
			const struct m0_lnet_fault_attr *attr, m0_time_t now);
/** As the calls of m0/lnet_fault.h. */
int m0_lnet__faults_del(struct m0_lnet__faults   *faults,
			enum m0_lnet_fault_kind   kind,
			const struct m0_lnet_nid *src,
			const struct m0_lnet_nid *dst);
int m0_lnet__faults_reset(struct m0_lnet__faults *faults,
			  enum m0_lnet_fault_kind kind, m0_time_t now);
int m0_lnet__faults_get(const struct m0_lnet__faults *faults,
			enum m0_lnet_fault_kind kind, struct m0_lnet_fault *ret,
			unsigned max);

/** Counts it, and says what becomes of it. */
void m0_lnet__faults_judge(struct m0_lnet__faults           *faults,
			   const struct m0_lnet__fault_look *look,
			   struct m0_lnet__fault_verdict    *ret);
/** An errno that goes with a class of failure. */
int m0_lnet__fault_status(enum m0_lnd_health health);

#endif /* M0_SRC_LNET_FAULT_H */
