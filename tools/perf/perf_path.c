/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Net o2ib: how the payloads of a row went. */
#include <string.h>

#include "m0/lnet_info.h"

#include "perf_path.h"

const char *const perf_path_names[PERF_PATHS_NR] = {
	[PERF_PATH_NONE] = "-",
	[PERF_PATH_IMMEDIATE] = "immediate",
	[PERF_PATH_WRITE] = "write",
	[PERF_PATH_COPIED] = "copied",
};

bool perf_path_has(const struct perf_setup *setup)
{
	const char *addr = setup->pu_addrs[PERF_A];

	return addr != NULL && strstr(addr, "@o2ib") != NULL;
}

static void node_look(struct m0_lnet *lnet, struct perf_arrived *ret)
{
	struct m0_lnet_info *info;
	unsigned             i;

	if (lnet == NULL || m0_lnet_info_get(lnet, &info) != 0)
		return;
	for (i = 0; i < info->li_nis_nr; ++i) {
		ret->pra_direct += info->li_nis[i].nii_lnd.ldi_direct_bytes;
		ret->pra_copied += info->li_nis[i].nii_lnd.ldi_copied_bytes;
	}
	m0_lnet_info_free(info);
}

void perf_path_look(const struct perf_setup *setup, struct perf_arrived *ret)
{
	int i;

	*ret = (struct perf_arrived){ .pra_direct = 0 };
	for (i = 0; i < PERF_SIDES_NR; ++i)
		node_look(setup->pu_lnets[i], ret);
}

enum perf_path perf_path_of(uint64_t size, uint64_t ops,
			    const struct perf_arrived *from,
			    const struct perf_arrived *to)
{
	uint64_t direct = to->pra_direct - from->pra_direct;
	uint64_t copied = to->pra_copied - from->pra_copied;

	/* Descriptors and answers are small, and are copied in every row. */
	if (direct > 0 && direct / size >= ops / 2)
		return PERF_PATH_WRITE;
	if (size <= PERF_PATH_IMMEDIATE_MAX)
		return PERF_PATH_IMMEDIATE;
	/* Nothing of it arrived at this process, whose node counted. */
	return copied / size >= ops / 2 && ops > 1 ? PERF_PATH_COPIED
						   : PERF_PATH_WRITE;
}
