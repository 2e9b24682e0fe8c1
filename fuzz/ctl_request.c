/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Requests on the control socket of a node: a line of words. */
#include "../tools/node/ctl.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ctl_request req;
	struct ctl_request again;
	const char        *why;
	char              *line;
	char               first[CTL_LINE_BYTES];
	char               second[CTL_LINE_BYTES];
	size_t             nr;
	int                rc;

	if (size >= CTL_LINE_BYTES - 1)
		return 0;
	line = fuzz_text(data, size);
	rc = ctl_request_parse(&req, line, &why);
	M0_ASSERT(rc == 0 || (rc == -EINVAL && why != NULL));
	if (rc == 0) {
		nr = ctl_request_print(&req, first);
		M0_ASSERT(nr > 0 && first[nr - 1] == '\n');
		first[nr - 1] = 0;
		memcpy(second, first, nr);
		M0_ASSERT(ctl_request_parse(&again, second, &why) == 0);
		M0_ASSERT(again.cq_verb == req.cq_verb);
		M0_ASSERT(again.cq_nids_nr == req.cq_nids_nr);
		M0_ASSERT(ctl_request_print(&again, second) == nr);
		second[nr - 1] = 0;
		M0_ASSERT(strcmp(first, second) == 0);
	}
	free(line);
	return 0;
}
