/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The use cases of the seeds as programs: what an application does, in its own
 * order and with its own callbacks, on every transport and in every mode.
 */
#include "scenarios.h"

static const struct cf_suite suites[] = { { "msg", scenarios_msg },
					  { "bulk", scenarios_bulk },
					  { "loop", scenarios_loop },
					  { NULL, NULL } };

int main(int argc, char **argv)
{
	return cf_main(argc, argv, suites);
}
