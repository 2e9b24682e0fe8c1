/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"
int perf_main(int argc, char **argv)
{
	(void)argc; (void)argv;
	return TOOL_FAILED;
}
