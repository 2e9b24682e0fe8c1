/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Fault rules decide which messages they hit. The acts are done where messages
 * arrive (recv.c) and leave (send.c).
 *
 * The rules are pure and independent of the engine: header, NI and time go in,
 * a verdict comes out.
 */
#ifndef M0_SRC_LNET_FAULT_H
#define M0_SRC_LNET_FAULT_H

#include "m0/lnet_fault.h"
#include "base/rand.h"
#include "lnet/wire/wire.h"

/** Acts on a message. */
enum m0_lnet__fault_act {
	M0_LNET__FAULT_DROP = 1 << 0,
	M0_LNET__FAULT_DELAY = 1 << 1,
	M0_LNET__FAULT_DUPLICATE = 1 << 2,
	/** Invert a bit of the payload, or of the header. */
	M0_LNET__FAULT_PAYLOAD = 1 << 3,
	M0_LNET__FAULT_HEADER = 1 << 4,
	M0_LNET__FAULT_CUT = 1 << 5,
	/** For the engine: the message was judged; it has been sent once. */
	M0_LNET__FAULT_JUDGED = 1 << 6,
	M0_LNET__FAULT_AGAIN = 1 << 7
};

struct m0_lnet__faults {
	/** Newest first. */
	struct m0_list lfs_rules;
	unsigned       lfs_nr;
	/** tap.h: those to whom messages are shown. */
	struct m0_list lfs_taps;
	unsigned       lfs_taps_nr;
	/** The message that is being handled; NULL: none is. */
	struct m0_lnet__tap_coming *lfs_coming;
	uint64_t                    lfs_seed;
	/** Number of rules that were ever added. */
	uint64_t lfs_added_nr;
};

/** The message to judge. */
struct m0_lnet__fault_look {
	const struct m0_lnet_hdr *flo_hdr;
	/** NID of the NI by which the message arrives or leaves. */
	const struct m0_lnet_nid *flo_local;
	bool                      flo_leaves;
	m0_time_t                 flo_now;
};

struct m0_lnet__fault_verdict {
	/** Bits of enum m0_lnet__fault_act. */
	unsigned fav_acts;
	/** With DELAY: the time when the message continues. */
	m0_time_t fav_until;
	/** With DROP of a message that leaves: the class of failure to
	 * report. */
	enum m0_lnd_health fav_health;
	/** With PAYLOAD or HEADER: selects the bit, modulo the number of
	 * bits. */
	uint32_t fav_bit;
};

/** Returns NULL if there is no memory. */
struct m0_lnet__faults *m0_lnet__faults_create(uint64_t seed);
/** Returns true if there is neither a rule nor a tap. */
static inline bool m0_lnet__faults_is_empty(
	const struct m0_lnet__faults *faults)
{
	return faults->lfs_nr == 0 && faults->lfs_taps_nr == 0;
}
/** `faults` may be NULL. */
void m0_lnet__faults_destroy(struct m0_lnet__faults *faults);
/** @retval -ENOSPC, -ENOMEM */
int m0_lnet__faults_add(struct m0_lnet__faults          *faults,
			const struct m0_lnet_fault_attr *attr, m0_time_t now);
/** See the calls of m0/lnet_fault.h. */
int m0_lnet__faults_del(struct m0_lnet__faults   *faults,
			enum m0_lnet_fault_kind   kind,
			const struct m0_lnet_nid *src,
			const struct m0_lnet_nid *dst);
int m0_lnet__faults_reset(struct m0_lnet__faults *faults,
			  enum m0_lnet_fault_kind kind, m0_time_t now);
int m0_lnet__faults_get(const struct m0_lnet__faults *faults,
			enum m0_lnet_fault_kind kind, struct m0_lnet_fault *ret,
			unsigned max);

/** Counts the message, and returns the verdict on it. */
void m0_lnet__faults_judge(struct m0_lnet__faults           *faults,
			   const struct m0_lnet__fault_look *look,
			   struct m0_lnet__fault_verdict    *ret);
/** Returns the bit of enum m0_lnet_fault_msgs of a type of message. */
unsigned m0_lnet__fault_msg_bit(uint32_t type);
/** Returns an errno that fits a class of failure. */
int m0_lnet__fault_status(enum m0_lnd_health health);

#endif /* M0_SRC_LNET_FAULT_H */
