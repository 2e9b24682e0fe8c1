/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Memory of buffer descriptors: slots of one size from a recycled slab.
 */
#ifndef M0_SRC_NET_NET_DESC_H
#define M0_SRC_NET_NET_DESC_H

#include "base/tls.h"
#include "m0/net.h"

enum {
	/** Size of a slot; a longer descriptor takes memory of its own. */
	M0_NET__DESC_SLOT_BYTES = 192
};

/**
 * Returns `nr` bytes for a descriptor, NULL if there is no memory.
 * m0_net_desc_free() takes them back.
 */
uint8_t *m0_net__desc_bytes_get(uint32_t nr);
/** Frees the slab. No descriptor is left. */
void m0_net__desc_slab_fini(void);

/** A pass of this thread: the slot that it keeps for its next descriptor. */
struct m0_net__desc_pass {
	bool              dp_open;
	struct desc_slot *dp_kept;
};
M0_TLS_EXTERN(struct m0_net__desc_pass, m0_net__desc_pass);

/** Gives the kept slot back to the slab. Pre: there is one. */
void m0_net__desc_kept_return(void);

static inline void m0_net__desc_pass_begin(void)
{
	m0_net__desc_pass()->dp_open = true;
}

static inline void m0_net__desc_pass_end(void)
{
	struct m0_net__desc_pass *pass = m0_net__desc_pass();

	pass->dp_open = false;
	if (pass->dp_kept != NULL)
		m0_net__desc_kept_return();
}

#endif /* M0_SRC_NET_NET_DESC_H */
