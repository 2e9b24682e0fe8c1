/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bodies of requests and results of services: each is what the encoder puts, to
 * the byte, or is refused. */
#include "lib/fuzz.h"
#include "easy/easy_internal.h"

static void bounds_check(const struct easy_body *body)
{
	uint64_t sum = 0;
	uint32_t i;

	M0_ASSERT(body->eb_args.sl_nr <= M0_EASY_ARGS_MAX);
	M0_ASSERT(body->eb_data_nr <= M0_EASY_DATA_MAX);
	M0_ASSERT(body->eb_descs_nr <= EASY_DESCS_MAX);
	for (i = 0; i < body->eb_descs_nr; ++i)
		sum += body->eb_descs[i].bdd_used;
	M0_ASSERT(sum == (body->eb_descs_nr > 0 ? body->eb_data_nr : 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t         *bytes = fuzz_copy(data, size);
	struct easy_body body;
	uint8_t         *again;

	if (m0_easy__body_get(&body, bytes, size) == 0) {
		bounds_check(&body);
		M0_ASSERT(m0_easy__body_size(&body) == size);
		again = malloc(size);
		M0_ASSERT(again != NULL);
		m0_easy__body_put(again, &body);
		M0_ASSERT(memcmp(again, bytes, size) == 0);
		free(again);
		m0_free(body.eb_descs);
	}
	free(bytes);
	return 0;
}
