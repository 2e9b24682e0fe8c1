/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The suite of the RPC layer: every case on every transport, inline and not,
 * with threads and in the simulator; see rt.h.
 */
#include "rt.h"

static const struct cf_suite suites[] = {
	{ "item", rpc_suite_item }, { "stream", rpc_suite_stream },
	{ "conn", rpc_suite_conn }, { "stop", rpc_suite_stop },
	{ "bulk", rpc_suite_bulk }, { "frm", rpc_suite_frm },
	{ "link", rpc_suite_link }, { "ways", rpc_suite_ways },
	{ "pack", rpc_suite_pack }, { "stuck", rpc_suite_stuck },
	{ "told", rpc_suite_told }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return cf_main(argc, argv, suites);
}
