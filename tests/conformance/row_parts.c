/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "row_parts.h"

enum {
	TIMEOUT_MS = 1000,
	TIMEOUT_SIM_MS = 300,
	TMIDS_NR = 4096
};

void row_mem_addr(char *ret, unsigned nr)
{
	snprintf(ret, CF_ADDR_MAX, "127.0.0.%u:%u", 1 + nr % 3, 7000 + nr);
}

const char *const row_mem_bad[] = { "",
				    " ",
				    "127.0.0.1",
				    "127.0.0.1:",
				    ":7000",
				    "127.0.0.1:0",
				    "127.0.0.1:65536",
				    "127.0.0.1:7000:1",
				    "127.0.0.1:65535:4294967295",
				    "127.0.0.256:7000",
				    "127.0.0:7000",
				    "127.0.0.1.1:7000",
				    "127.0.0.1:70a",
				    "127.0.0.1 :7000",
				    " 127.0.0.1:7000",
				    "127.0.0.1:7000 ",
				    "127.0.0.1:-1",
				    "localhost:7000",
				    "*",
				    "127.0.0.1:*",
				    "0@lo:12345:34:1",
				    "127.0.0.1:7000:",
				    "127.0.0.1:99999999999999999999",
				    "::1:7000",
				    NULL };

const char *const row_lnet_bad[] = { "",
				     " ",
				     ":",
				     ":::",
				     "127.0.0.1",
				     "127.0.0.1@tcp",
				     "127.0.0.1@tcp:12345",
				     "127.0.0.1@tcp:12345:40",
				     "127.0.0.1:12345:40:1",
				     "127.0.0.1@tcp:12346:40:1",
				     "127.0.0.1@tcp:12345:0:1",
				     "127.0.0.1@tcp:12345:40:4096",
				     "127.0.0.1@tcp:12345:40:-1",
				     "127.0.0.1@tcp:12345:40:1 ",
				     " 127.0.0.1@tcp:12345:40:1",
				     "127.0.0.1@tcp:12345:40:1:",
				     "127.0.0.1@tcp:12345:40:",
				     "127.0.0.1@tcp:12345::1",
				     "127.0.0.1@tcp::40:1",
				     "127.0.0.1@:12345:40:1",
				     "@tcp:12345:40:1",
				     "127.0.0.256@tcp:12345:40:1",
				     "127.0.0.1@ib:12345:40:1",
				     "1@lo:12345:40:1",
				     "::1::@tcp:12345:40:1",
				     "127.0.0.1@tcp:12345:40:99999999999999",
				     "127.0.0.1@tcp:12345:40:0x1",
				     NULL };

void row_lnet_addr(char *ret, const char *nid, unsigned nr)
{
	snprintf(ret, CF_ADDR_MAX, "%s:12345:40:%u", nid, nr % TMIDS_NR);
}

void row_lnet_cfg(struct m0_lnet_cfg *cfg, const char *networks)
{
	static char why[M0_LNET_WHY_BYTES];

	m0_lnet_cfg_default(cfg);
	CF_EQ(m0_lnet_cfg_networks(cfg, networks, why), 0, "%s", why);
	cfg->lc_inline = true;
	cfg->lc_accept = M0_LNET_ACCEPT_ALL;
	cfg->lc_src_port_max = 0;
	cfg->lc_src_port_min = 0;
	cfg->lc_peers_colibri = true;
	cfg->lc_transaction_timeout_ms = cf.c_sim ? TIMEOUT_SIM_MS : TIMEOUT_MS;
	cfg->lc_timeout_ms = cf.c_sim ? TIMEOUT_SIM_MS : TIMEOUT_MS;
	cfg->lc_reconnect_min_ms = 10;
	cfg->lc_reconnect_max_ms = 100;
}
