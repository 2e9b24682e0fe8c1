/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** For the suite of drivers: memory of messages, in segments; counters. */
#ifndef M0_TESTS_LNET_LND_HELPERS_H
#define M0_TESTS_LNET_LND_HELPERS_H

#include <stdlib.h>

#include "m0/lnd.h"

enum {
	SEG_BYTES = 100000
};

static inline void vec_make(struct m0_bufvec *vec, size_t bytes)
{
	uint32_t nr = (uint32_t)(bytes / SEG_BYTES) + 1;
	uint32_t i;

	vec->ov_vec.v_nr = nr;
	vec->ov_vec.v_count = calloc(nr, sizeof *vec->ov_vec.v_count);
	vec->ov_buf = calloc(nr, sizeof *vec->ov_buf);
	for (i = 0; i < nr; ++i) {
		vec->ov_vec.v_count[i] = min64u(bytes + 1, SEG_BYTES);
		bytes -= min64u(bytes, SEG_BYTES);
		vec->ov_buf[i] = calloc(1, vec->ov_vec.v_count[i]);
	}
}

static inline void vec_free(struct m0_bufvec *vec)
{
	uint32_t i;

	for (i = 0; i < vec->ov_vec.v_nr; ++i)
		free(vec->ov_buf[i]);
	free(vec->ov_vec.v_count);
	free(vec->ov_buf);
	M0_SET0(vec);
}

static inline uint8_t *byte_at(struct m0_bufvec *vec, size_t at)
{
	return (uint8_t *)vec->ov_buf[at / SEG_BYTES] + at % SEG_BYTES;
}

static inline struct m0_lnd_ni_info lnd_info(const struct m0_lnd_ni *ni)
{
	struct m0_lnd_ni_info info;

	M0_SET0(&info);
	ni->ldn_lnd->ld_ops->ldo_ni_info(ni, &info);
	return info;
}

#endif /* M0_TESTS_LNET_LND_HELPERS_H */
