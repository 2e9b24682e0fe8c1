/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Checks of fields. Each looks at a copy that the other side cannot change.
 */
#include "ring/shared_entry.h"

int m0_shared__bits(struct m0_shared_why *why, const char *field,
		    uint64_t value, uint64_t mask)
{
	if (M0_LIKELY((value & ~mask) == 0))
		return 0;
	return m0_shared_refuse_as(why, -EPROTO, field, value & ~mask,
				   "these bits are not known");
}

int m0_shared__nid(struct m0_shared_why *why, const char *field,
		   const struct m0_lnet_nid *nid)
{
	unsigned i;

	/* The other members of ANY have no meaning. */
	if (nid->ln_type == M0_LNET_TYPE_ANY)
		return 0;
	if (nid->ln_size > M0_LNET_NID_SIZE_IPV6)
		return m0_shared_refuse(why, -EPROTO, field, nid->ln_size, 0,
					M0_LNET_NID_SIZE_IPV6);
	for (i = 4U + nid->ln_size; i < M0_LNET_NID_ADDR_BYTES; ++i)
		if (nid->ln_addr[i] != 0)
			return m0_shared_refuse_as(
				why, -EPROTO, field, nid->ln_addr[i],
				"bytes beyond the address are 0");
	return 0;
}

int m0_shared__zero(struct m0_shared_why *why, const uint64_t *words,
		    size_t from, size_t bytes)
{
	uint64_t any = 0;
	size_t   i;

	M0_PRE_EX(from % sizeof any == 0 && bytes % sizeof any == 0);
#pragma GCC unroll 8
	for (i = from / sizeof any; i < bytes / sizeof any; ++i)
		any |= words[i];
	return M0_LIKELY(any == 0)
		       ? 0
		       : m0_shared_refuse_as(
				 why, -EPROTO, "reserved", any,
				 "bytes that an entry does not use are 0");
}
