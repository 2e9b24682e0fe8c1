/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ping information: small and large entries, metadata, cut short. */
#include "lib/fuzz.h"
#include "lnet/wire/wire.h"

enum {
	NIS_MAX = 64
};

/* Encoding an accepted message gives one that decodes to the same. */
static void again_check(struct m0_lnet_ping_info *info)
{
	struct m0_lnet_ping_ni   nis[NIS_MAX];
	struct m0_lnet_ping_info again = { .lpi_nis = nis,
					   .lpi_nis_max = NIS_MAX };
	uint8_t                 *buf;
	size_t                   nr;
	size_t                   cut;
	unsigned                 i;
	unsigned                 k;

	nr = m0_lnet__ping_size(info);
	buf = fuzz_copy(NULL, 0);
	buf = realloc(buf, nr);
	M0_ASSERT(buf != NULL);
	cut = nr / 2;
	M0_ASSERT(m0_lnet__ping_encode(info, buf, cut) == cut);
	M0_ASSERT(m0_lnet__ping_encode(info, buf, nr) == nr);
	M0_ASSERT(m0_lnet__ping_decode(&again, buf, nr) == 0);
	M0_ASSERT(!again.lpi_truncated && again.lpi_bytes == nr);
	M0_ASSERT(again.lpi_pid == info->lpi_pid);
	M0_ASSERT(again.lpi_seq == info->lpi_seq);
	M0_ASSERT(again.lpi_nis_nr == info->lpi_nis_nr);
	/* In another order, maybe; the first is the primary one. */
	for (i = 0; i < info->lpi_nis_nr; ++i) {
		for (k = 0; k < again.lpi_nis_nr; ++k)
			if (m0_lnet_nid_eq(&nis[k].lpg_nid,
					   &info->lpi_nis[i].lpg_nid) &&
			    nis[k].lpg_up == info->lpi_nis[i].lpg_up)
				break;
		M0_ASSERT(k < again.lpi_nis_nr);
		M0_ASSERT(i > 0 || m0_lnet_nid_eq(&nis[0].lpg_nid,
						  &info->lpi_nis[0].lpg_nid));
	}
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct m0_lnet_ping_ni   nis[NIS_MAX];
	struct m0_lnet_ping_info info = { .lpi_nis = nis,
					  .lpi_nis_max = NIS_MAX };

	if (m0_lnet__ping_decode(&info, data, size) != 0)
		return 0;
	M0_ASSERT(info.lpi_nis_nr <= M0_LNET_PING_NIS_MAX);
	M0_ASSERT(info.lpi_bytes <= M0_LNET_PING_BYTES_MAX);
	M0_ASSERT(info.lpi_truncated == (size < info.lpi_bytes));
	info.lpi_nis_nr = min_check(info.lpi_nis_nr, info.lpi_nis_max);
	again_check(&info);
	return 0;
}
