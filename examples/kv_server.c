/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A durable store of values, up to 1 GiB each: kv_server PLACE DIR */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <m0/easy.h>

#include "kv.h"

static int put(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx, (void)rp;
	return m0_rpc_tx_put(rq->erq_tx, rq->erq_args, rq->erq_data);
}

static int get(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx;
	return m0_rpc_tx_get(rq->erq_tx, rq->erq_args, &rp->ep_data);
}

static int del(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx, (void)rp;
	return m0_rpc_tx_del(rq->erq_tx, rq->erq_args);
}

static const struct m0_easy_op kv_ops[KV_OPS_NR] = {
	{ KV_PUT, M0_EASY_UPDATE, "put", put },
	{ KV_GET, M0_EASY_QUERY, "get", get },
	{ KV_DEL, M0_EASY_UPDATE, "del", del },
};

int main(int argc, char **argv)
{
	struct m0_easy_cfg cfg = { .en_ops = kv_ops, .en_ops_nr = KV_OPS_NR };
	char               why[M0_EASY_WHY_BYTES];
	struct m0_easy    *service;
	sigset_t           ends;
	int                sig;

	if (argc != 3) {
		fprintf(stderr, "usage: kv_server PLACE DIR\n");
		return 2;
	}
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	cfg.en_dir = argv[2];
	if (m0_easy_open(&service, argv[1], &cfg, why) != 0) {
		fprintf(stderr, "kv_server: %s\n", why);
		return 1;
	}
	printf("%s\n", m0_easy_addr(service));
	fflush(stdout);
	sigwait(&ends, &sig);
	m0_easy_close(service);
	return 0;
}
