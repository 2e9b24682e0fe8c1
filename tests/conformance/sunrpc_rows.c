/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The addresses of the sunrpc transport's row. */
#include <unistd.h>

#include "cf.h"
#include "sunrpc_rows.h"

/* Below those that the system gives, and other than the other rows'. */
unsigned sunrpc_port(void)
{
	return 8000 + (unsigned)getpid() % 12000;
}

void sunrpc_addr(char *ret, unsigned nr)
{
	snprintf(ret, CF_ADDR_MAX, "127.0.0.1:%u:%u", sunrpc_port(), nr);
}

void sunrpc_spelling(char *ret, unsigned nr)
{
	snprintf(ret, CF_ADDR_MAX, "127.0.0.1:%05u:%04u", sunrpc_port(), nr);
}

const char *const sunrpc_bad[] = { "",
				   " ",
				   ":",
				   "::",
				   "127.0.0.1",
				   "127.0.0.1:7000",
				   "127.0.0.1:7000:",
				   "127.0.0.1::1",
				   ":7000:1",
				   "127.0.0.1:65536:1",
				   "127.0.0.1:7000:4294967296",
				   "127.0.0.1:7000:99999999999999999999",
				   "127.0.0.1:7000:-1",
				   "127.0.0.1:7000:1:",
				   "127.0.0.1:7000:1:1",
				   "127.0.0.1:7000:1 ",
				   " 127.0.0.1:7000:1",
				   "127.0.0.1:7000:0x1",
				   "127.0.0.1:7000:**",
				   "127.0.0.256:7000:1",
				   "127.0.0:7000:1",
				   "0.0.0.0:7000:1",
				   "224.0.0.1:7000:1",
				   "255.255.255.255:7000:1",
				   "localhost:7000:1",
				   "::1:7000:1",
				   "*",
				   NULL };
