/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the sunrpc transport that knows m0/sunrpc.x alone: made by rpcgen
 * and libtirpc, without the library.
 *
 *   sunrpc_client PORT FROM TO msg TEXT
 *   sunrpc_client PORT FROM TO get IDENTITY ROOM         prints what it read
 *   sunrpc_client PORT FROM TO put IDENTITY TEXT
 *
 * All on 127.0.0.1. The exit status is that of the call: 0 or an error number;
 * 200: RPC itself failed.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <m0_sunrpc_xdr.h>

enum {
	NO_RPC = 200
};

static struct timeval limit = { 20, 0 };
static m0_sunrpc_ep   from;
static m0_sunrpc_ep   to;

static CLIENT *client_make(unsigned short port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr.s_addr = htonl(0x7f000001) };
	struct netbuf      buf = { sizeof addr, sizeof addr, &addr };
	int                fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0)
		return NULL;
	return clnt_vc_create(fd, &buf, M0_SUNRPC_PROG, M0_SUNRPC_VERS, 0, 0);
}

static unsigned msg(CLIENT *client, char *text)
{
	m0_sunrpc_msg      args = { .sm_sender = from,
				    .sm_receiver = to,
				    .sm_buf = { (unsigned)strlen(text), text } };
	m0_sunrpc_msg_resp res = { NO_RPC };

	(void)clnt_call(client, M0_SUNRPC_MSG, (xdrproc_t)xdr_m0_sunrpc_msg,
			(char *)&args, (xdrproc_t)xdr_m0_sunrpc_msg_resp,
			(char *)&res, limit);
	return res.smr_rc;
}

static m0_sunrpc_buf_desc desc(const char *id, unsigned qtype, unsigned total)
{
	return (m0_sunrpc_buf_desc){ .sbd_id = strtoull(id, NULL, 16),
				     .sbd_active_ep = from,
				     .sbd_passive_ep = to,
				     .sbd_qtype = qtype,
				     .sbd_total = total };
}

/* Piece by piece, until the end is told. */
static unsigned get(CLIENT *client, const char *id, unsigned room)
{
	m0_sunrpc_get      args = { .sg_desc = desc(id, 3, room) };
	m0_sunrpc_get_resp res;

	do {
		memset(&res, 0, sizeof res);
		res.sgr_rc = NO_RPC;
		(void)clnt_call(client, M0_SUNRPC_GET,
				(xdrproc_t)xdr_m0_sunrpc_get, (char *)&args,
				(xdrproc_t)xdr_m0_sunrpc_get_resp, (char *)&res,
				limit);
		if (res.sgr_rc != 0)
			return res.sgr_rc;
		fwrite(res.sgr_buf.sgr_buf_val, 1, res.sgr_buf.sgr_buf_len,
		       stdout);
		args.sg_offset += res.sgr_buf.sgr_buf_len;
		(void)clnt_freeres(client, (xdrproc_t)xdr_m0_sunrpc_get_resp,
				   (char *)&res);
	} while (res.sgr_eof == 0);
	return 0;
}

/* In two pieces. */
static unsigned put(CLIENT *client, const char *id, char *text)
{
	unsigned           total = (unsigned)strlen(text);
	unsigned           half = total / 2;
	m0_sunrpc_put      args = { .sp_desc = desc(id, 2, total),
				    .sp_buf = { half, text } };
	m0_sunrpc_put_resp res = { 0 };
	int                i;

	for (i = 0; i < 2 && res.spr_rc == 0; ++i) {
		res.spr_rc = NO_RPC;
		(void)clnt_call(client, M0_SUNRPC_PUT,
				(xdrproc_t)xdr_m0_sunrpc_put, (char *)&args,
				(xdrproc_t)xdr_m0_sunrpc_put_resp, (char *)&res,
				limit);
		args.sp_offset = half;
		args.sp_buf.sp_buf_len = total - half;
		args.sp_buf.sp_buf_val = text + half;
	}
	return res.spr_rc;
}

int main(int argc, char **argv)
{
	CLIENT  *client;
	unsigned rc = NO_RPC;

	if (argc < 6)
		return NO_RPC;
	from.sep_addr = to.sep_addr = 0x7f000001;
	from.sep_port = to.sep_port = (unsigned)atoi(argv[1]);
	from.sep_id = (unsigned)atoi(argv[2]);
	to.sep_id = (unsigned)atoi(argv[3]);
	client = client_make((unsigned short)to.sep_port);
	if (client == NULL)
		return NO_RPC;
	if (strcmp(argv[4], "msg") == 0)
		rc = msg(client, argv[5]);
	else if (strcmp(argv[4], "get") == 0 && argc > 6)
		rc = get(client, argv[5], (unsigned)atoi(argv[6]));
	else if (strcmp(argv[4], "put") == 0 && argc > 6)
		rc = put(client, argv[5], argv[6]);
	clnt_destroy(client);
	return (int)rc;
}
