/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Requests and replies of the object service, and what it keeps of objects. */
#include "../tools/object/obj_wire.h"
#include "lib/fuzz.h"

/* Encoding an accepted body gives the same bytes. */
static void req_check(const uint8_t *bytes, size_t size)
{
	struct obj_req req;
	uint8_t       *again;
	int            rc = obj_req_decode(&req, bytes, size);

	M0_ASSERT(M0_IN(rc, (0, -EPROTO, -EPROTONOSUPPORT)));
	if (rc != 0)
		return;
	M0_ASSERT(obj_req_size(&req) == size);
	again = fuzz_copy(bytes, size);
	memset(again, 0xff, size);
	M0_ASSERT(obj_req_encode(&req, again) == size);
	M0_ASSERT(memcmp(again, bytes, size) == 0);
	free(again);
}

static void rep_check(const uint8_t *bytes, size_t size)
{
	struct obj_rep  rep;
	struct obj_info info;
	uint8_t        *again;
	int             rc = obj_rep_decode(&rep, bytes, size);

	obj_info_decode(&info, bytes, size);
	M0_ASSERT(M0_IN(rc, (0, -EPROTO, -EPROTONOSUPPORT)));
	if (rc != 0)
		return;
	M0_ASSERT(obj_rep_size(&rep) == size);
	again = fuzz_copy(bytes, size);
	memset(again, 0xff, size);
	M0_ASSERT(obj_rep_encode(&rep, again) == size);
	M0_ASSERT(memcmp(again, bytes, size) == 0);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = fuzz_copy(data, size);

	req_check(bytes, size);
	rep_check(bytes, size);
	free(bytes);
	return 0;
}
