/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The conformance suite of transports. Every case runs on every row, in every
 * mode and environment; see cf.h.
 */
#include "cf.h"
#include "xprt_suite.h"

static const struct cf_suite suites[] = {
	{ "domain", xprt_suite_dom },    { "tm", xprt_suite_tm },
	{ "stop", xprt_suite_stop },     { "ep", xprt_suite_ep },
	{ "msg", xprt_suite_msg },       { "multi", xprt_suite_multi },
	{ "bulk", xprt_suite_bulk },     { "desc", xprt_suite_desc },
	{ "time", xprt_suite_time },     { "cancel", xprt_suite_cancel },
	{ "mode", xprt_suite_mode },     { "pool", xprt_suite_pool },
	{ "ride", xprt_suite_ride },     { "misc", xprt_suite_misc },
	{ "stress", xprt_suite_stress }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return cf_main(argc, argv, suites);
}
