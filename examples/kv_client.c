/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* kv_client PLACE put KEY <VALUE | get KEY >VALUE | del KEY */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <m0/easy.h>

#include "kv.h"

static void *input(size_t *nr)
{
	size_t max = 1 << 16;
	char  *data = malloc(max);
	size_t got;

	for (*nr = 0;
	     data && (got = fread(data + *nr, 1, max - *nr, stdin)) > 0;)
		if ((*nr += got) == max && !(data = realloc(data, max *= 2)))
			abort();
	return data;
}

int main(int argc, char **argv)
{
	static const char *const words[KV_OPS_NR] = { "put", "get", "del" };
	char                     why[M0_EASY_WHY_BYTES];
	struct m0_easy_call      call = { .ec_opcode = 0 };
	struct m0_easy          *client;
	int                      rc;

	while (argc == 4 && call.ec_opcode < KV_OPS_NR &&
	       strcmp(argv[2], words[call.ec_opcode]) != 0)
		++call.ec_opcode;
	if (argc != 4 || call.ec_opcode == KV_OPS_NR) {
		fprintf(stderr, "usage: kv_client PLACE put|get|del KEY\n");
		return 2;
	}
	if (m0_easy_open(&client, argv[1], NULL, why) != 0) {
		fprintf(stderr, "kv_client: %s\n", why);
		return 1;
	}
	call.ec_kind = call.ec_opcode == KV_GET ? M0_EASY_QUERY
						: M0_EASY_UPDATE;
	call.ec_args = (struct m0_rpc_slice){ argv[3], strlen(argv[3]) };
	if (call.ec_opcode == KV_PUT)
		call.ec_data.sl_data = input(&call.ec_data.sl_nr);
	rc = m0_easy_call(client, &call);
	if (rc != 0)
		fprintf(stderr, "kv_client: %s: %s\n", argv[3], strerror(-rc));
	else if (call.ec_opcode == KV_GET)
		fwrite(call.ec_out, 1, call.ec_out_nr, stdout);
	m0_free(call.ec_out);
	free((void *)call.ec_data.sl_data);
	m0_easy_close(client);
	return rc != 0;
}
