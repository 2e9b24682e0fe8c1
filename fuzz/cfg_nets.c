/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Networks as text, and what a configuration made of it says of itself. */
#include "lib/fuzz.h"
#include "m0/lnet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct m0_lnet_cfg cfg;
	char               why[M0_LNET_WHY_BYTES];
	char              *text = fuzz_text(data, size);
	unsigned           nr;
	int                rc;

	m0_lnet_cfg_default(&cfg);
	nr = cfg.lc_nets_nr;
	rc = m0_lnet_cfg_networks(&cfg, text, why);
	M0_ASSERT(M0_IN(rc, (0, -EINVAL, -ENOSPC)));
	M0_ASSERT(cfg.lc_nets_nr <= M0_LNET_CFG_NETS_MAX);
	if (rc != 0)
		M0_ASSERT(strlen(why) < sizeof why);
	else
		M0_ASSERT(cfg.lc_nets_nr >= nr);
	/* Nothing that was read is refused later. */
	if (rc == 0)
		M0_ASSERT(m0_lnet_cfg_check(&cfg, why) == 0);
	free(text);
	return 0;
}
