/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and replies of the object service, and what it keeps of objects. */
#include "../tools/obj_wire.h"
#include "lib/fuzz.h"

static void req_check(const uint8_t *bytes, size_t size)
{
	struct obj_req req;
	struct obj_req again;
	uint8_t       *first;
	uint8_t       *second;
	size_t         nr;
	int            rc = obj_req_decode(&req, bytes, size);

	M0_ASSERT(M0_IN(rc, (0, -EPROTO, -EPROTONOSUPPORT)));
	if (rc != 0)
		return;
	nr = obj_req_size(&req);
	first = calloc(1, nr);
	second = calloc(1, nr);
	M0_ASSERT(first != NULL && second != NULL);
	M0_ASSERT(obj_req_encode(&req, first) == nr);
	M0_ASSERT(obj_req_decode(&again, first, nr) == 0);
	M0_ASSERT(again.orq_name_nr == req.orq_name_nr);
	M0_ASSERT(again.orq_data_nr == req.orq_data_nr);
	M0_ASSERT(obj_req_encode(&again, second) == nr);
	M0_ASSERT(memcmp(first, second, nr) == 0);
	free(first);
	free(second);
}

static void rep_check(const uint8_t *bytes, size_t size)
{
	struct obj_rep  rep;
	struct obj_rep  again;
	struct obj_info info;
	uint8_t        *first;
	uint8_t        *second;
	size_t          nr;
	int             rc = obj_rep_decode(&rep, bytes, size);

	obj_info_decode(&info, bytes, size);
	M0_ASSERT(M0_IN(rc, (0, -EPROTO, -EPROTONOSUPPORT)));
	if (rc != 0)
		return;
	nr = obj_rep_size(&rep);
	first = calloc(1, nr);
	second = calloc(1, nr);
	M0_ASSERT(first != NULL && second != NULL);
	M0_ASSERT(obj_rep_encode(&rep, first) == nr);
	M0_ASSERT(obj_rep_decode(&again, first, nr) == 0);
	M0_ASSERT(obj_rep_encode(&again, second) == nr);
	M0_ASSERT(memcmp(first, second, nr) == 0);
	free(first);
	free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = fuzz_copy(data, size);

	req_check(bytes, size);
	rep_check(bytes, size);
	free(bytes);
	return 0;
}
