/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The program of the cases with foes; what they are made with is hostile.c's. */
#include "hostile.h"

static const struct cf_suite suites[] = {
	{ "packets", hostile_packets }, { "client", hostile_client },
	{ "server", hostile_server },   { "stop", hostile_stop },
	{ "fuzz", hostile_fuzz },       { NULL, NULL },
};

int main(int argc, char **argv)
{
	return cf_main(argc, argv, suites);
}
