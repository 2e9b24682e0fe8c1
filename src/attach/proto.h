/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The socket between an attached process and its daemon: its messages (ring/attach_msg.h)
 * with their descriptors.
 */
#ifndef M0_SRC_ATTACH_PROTO_H
#define M0_SRC_ATTACH_PROTO_H

#include "os/shm.h"
#include "ring/attach_msg.h"

enum {
	/** Descriptors of a message for which a receiver has room. */
	M0_ATTACH_FDS_MAX = 4
};

/** A message that has come. */
struct m0_attach_in {
	union m0_attach_msg aim_u;
	size_t              aim_bytes;
	/** Its descriptors; the receiver closes those that it does not keep. */
	int      aim_fds[M0_ATTACH_FDS_MAX];
	unsigned aim_fds_nr;
	/** The message was longer, or had more descriptors, which are closed. */
	bool aim_is_cut;
};

/**
 * Sends a message; never blocks if `flags` has MSG_DONTWAIT.
 * @return 0 or a negative errno
 */
int m0_attach__send(int sock, const struct m0_attach_head *head, const int *fds,
		    unsigned fds_nr, int flags);
/** Sends REFUSE, REGION_DONE or ENDED, without blocking. */
int m0_attach__say(int sock, enum m0_attach_type type, int rc, uint32_t nr,
		   const char *why);
/**
 * Receives a message.
 * @retval 1
 * @retval 0  the other side has hung up.
 * @return else a negative errno: -EAGAIN there is none.
 */
int m0_attach__recv(int sock, struct m0_attach_in *in, int flags);
/** Closes all descriptors of a message that are not kept. */
void m0_attach__drop(struct m0_attach_in *in);
/**
 * Checks the form of a message: head, length, number of descriptors, reserved bytes.
 * @return 0, or a negative errno with a reason.
 */
int m0_attach__check(const struct m0_attach_in *in,
		     char                       why[M0_ATTACH_WHY_BYTES]);
/** The number of users that the user namespace of this process does not map. */
uint32_t m0_attach__unmapped_uid(void);

#endif /* M0_SRC_ATTACH_PROTO_H */
