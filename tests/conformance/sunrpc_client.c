/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A client of the sunrpc transport that knows m0/sunrpc.x and m0/desc.x alone:
 * made by rpcgen and libtirpc, without the library.
 *
 *   sunrpc_client FROM msg PORT TO TEXT       to a machine of 127.0.0.1
 *   sunrpc_client FROM get DESCRIPTOR         prints what it read
 *   sunrpc_client FROM put DESCRIPTOR TEXT
 *
 * DESCRIPTOR is the bytes of a descriptor in hexadecimal digits; all that get and
 * put know of the buffer and its owner is from there. The exit status is that of
 * the call: 0 or an error number; 200: RPC itself failed; 202: not a descriptor.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <desc_xdr.h>
#include <m0_sunrpc_xdr.h>

enum {
	NO_RPC = 200,
	NO_DESC = 202,
	HOST = 0x7f000001,
	DESC_MAX = 512
};

static struct timeval limit = { 20, 0 };
static m0_sunrpc_ep   from;

static CLIENT *client_make(const m0_sunrpc_ep *to)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)to->sep_port),
				    .sin_addr.s_addr = htonl(to->sep_addr) };
	struct netbuf      buf = { sizeof addr, sizeof addr, &addr };
	int                fd = socket(AF_INET, SOCK_STREAM, 0);

	/* Nobody calls back; it has to be a port. */
	from.sep_port = to->sep_port;
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0)
		return NULL;
	return clnt_vc_create(fd, &buf, M0_SUNRPC_PROG, M0_SUNRPC_VERS, 0, 0);
}

static unsigned msg(CLIENT *client, const m0_sunrpc_ep *to, char *text)
{
	m0_sunrpc_msg      args = { .sm_sender = from,
				    .sm_receiver = *to,
				    .sm_buf = { (unsigned)strlen(text), text } };
	m0_sunrpc_msg_resp res = { NO_RPC };

	(void)clnt_call(client, M0_SUNRPC_MSG, (xdrproc_t)xdr_m0_sunrpc_msg,
			(char *)&args, (xdrproc_t)xdr_m0_sunrpc_msg_resp,
			(char *)&res, limit);
	return res.smr_rc;
}

/* The bytes that digits stand for; 0: they are no digits. */
static u_int bytes_of(const char *digits, char *bytes)
{
	u_int    nr = 0;
	unsigned byte;

	for (; nr < DESC_MAX && digits[0] != '\0' && digits[1] != '\0';
	     digits += 2) {
		if (sscanf(digits, "%2x", &byte) != 1)
			return 0;
		bytes[nr++] = (char)byte;
	}
	return nr;
}

/* Reads the fields of a call that name the buffer of a descriptor. */
static int desc_read(const char *digits, m0_sunrpc_buf_desc *ret,
		     unsigned *ret_size)
{
	char            bytes[DESC_MAX];
	m0_net_desc_xdr d;
	XDR             xdr;
	int             ok;

	memset(&d, 0, sizeof d);
	xdrmem_create(&xdr, bytes, bytes_of(digits, bytes), XDR_DECODE);
	if (!xdr_m0_net_desc_xdr(&xdr, &d) ||
	    d.nds_version != M0_NET_DESC_VERSION)
		return 0;
	ret->sbd_id = d.nds_id ^ d.nds_incarnation;
	ret->sbd_qtype = d.nds_qtype;
	*ret_size = (unsigned)d.nds_size;
	xdrmem_create(&xdr, d.nds_passive.nds_passive_val,
		      d.nds_passive.nds_passive_len, XDR_DECODE);
	ok = xdr_m0_sunrpc_ep(&xdr, &ret->sbd_passive_ep);
	xdr_free((xdrproc_t)xdr_m0_net_desc_xdr, (char *)&d);
	return ok;
}

/* Piece by piece, until the end is told. */
static unsigned get(CLIENT *client, const m0_sunrpc_buf_desc *desc)
{
	m0_sunrpc_get      args = { .sg_desc = *desc };
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
static unsigned put(CLIENT *client, const m0_sunrpc_buf_desc *desc, char *text)
{
	unsigned      total = desc->sbd_total;
	unsigned      half = total / 2;
	m0_sunrpc_put args = { .sp_desc = *desc, .sp_buf = { half, text } };
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

/* A message to a machine whose port and number are known. */
static unsigned msg_do(char **argv)
{
	m0_sunrpc_ep to = { HOST, (unsigned)atoi(argv[0]),
			    (unsigned)atoi(argv[1]) };
	CLIENT      *client = client_make(&to);
	unsigned     rc = NO_RPC;

	if (client == NULL)
		return rc;
	rc = msg(client, &to, argv[2]);
	clnt_destroy(client);
	return rc;
}

/* Bulk, as a descriptor says; with text it is a put. */
static unsigned bulk_do(const char *digits, char *text)
{
	m0_sunrpc_buf_desc desc;
	CLIENT            *client;
	unsigned           rc = NO_RPC;
	unsigned           size;

	if (!desc_read(digits, &desc, &size) ||
	    desc.sbd_qtype != (text != NULL ? 2 : 3))
		return NO_DESC;
	client = client_make(&desc.sbd_passive_ep);
	if (client == NULL)
		return rc;
	desc.sbd_active_ep = from;
	desc.sbd_total = text != NULL ? (unsigned)strlen(text) : size;
	rc = text != NULL ? put(client, &desc, text) : get(client, &desc);
	clnt_destroy(client);
	return rc;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return NO_RPC;
	from.sep_addr = HOST;
	from.sep_id = (unsigned)atoi(argv[1]);
	if (strcmp(argv[2], "msg") == 0 && argc == 6)
		return (int)msg_do(argv + 3);
	if (strcmp(argv[2], "get") == 0 && argc == 4)
		return (int)bulk_do(argv[3], NULL);
	if (strcmp(argv[2], "put") == 0 && argc == 5)
		return (int)bulk_do(argv[3], argv[4]);
	return NO_RPC;
}
