/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A copier moves a payload from one place of memory to another in place of the caller: the
 * process that owns the target does the work. The loopback driver asks the node's copier, if there is one.
 */
#ifndef M0_SRC_BASE_COPIER_H
#define M0_SRC_BASE_COPIER_H

#include "m0/base.h"

/** A payload. The memory stays until the copy has ended. */
struct m0_copier_job {
	const struct m0_bufvec *cjo_to;
	m0_bcount_t             cjo_to_at;
	const struct m0_bufvec *cjo_from;
	m0_bcount_t             cjo_from_at;
	m0_bcount_t             cjo_bytes;
	/**
	 * Called when the copy has ended, once, unless cpr_cancel() was called. With a negative
	 * errno the bytes at the target may be anything, and the owner of the job copies.
	 * The function calls nothing of the copier.
	 */
	void (*cjo_done)(void *user, int status);
	void *cjo_user;
};

/** All of it on the strand of the node. */
struct m0_copier {
	/** Payloads with fewer bytes are not for it. */
	m0_bcount_t cpr_bytes_min;
	/** @return a number for cpr_cancel(); 0: the caller is to copy. */
	uint64_t (*cpr_begin)(struct m0_copier           *copier,
			      const struct m0_copier_job *job);
	/** The caller does not want the outcome any more. The bytes at the target may change
	 * until the process that copies learns that the message has ended. */
	void (*cpr_cancel)(struct m0_copier *copier, uint64_t copy);
};

#endif /* M0_SRC_BASE_COPIER_H */
