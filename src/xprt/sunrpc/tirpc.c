/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The bytes of RPC: libtirpc's headers of calls and replies, the filters that
 * rpcgen makes of m0/sunrpc.x, and the host's rpcbind. The only file that sees
 * libtirpc: of its global state only what rpcb_set() has is used, under a lock
 * of its own.
 *
 * Payload is not decoded here: it goes straight between sockets and buffers, so
 * only its length belongs to a head.
 */
#include <netinet/in.h>

#include <m0_sunrpc_xdr.h>

#include "xprt/sunrpc/sunrpc_internal.h"

enum {
	/* xid, direction, version of RPC, program, version, procedure. */
	CALL_FIXED = 24,
	/* Flavour and length. */
	AUTH_FIXED = 8,
	EP_BYTES = 12,
	DESC_BYTES = 8 + 2 * EP_BYTES + 4 + 4,
	REPLY_FIXED = 12
};

_Static_assert((int)SR_MSG == M0_SUNRPC_MSG && (int)SR_GET == M0_SUNRPC_GET &&
		       (int)SR_PUT == M0_SUNRPC_PUT,
	       "procedures");
_Static_assert((int)SR_PIECE_MAX == M0_SUNRPC_PIECE_MAX &&
		       (int)M0_NET_BULK_SUNRPC_MESSAGE_MAX ==
			       M0_SUNRPC_MESSAGE_MAX &&
		       (int)M0_SUNRPC_MESSAGE_MAX <= (int)SR_PIECE_MAX,
	       "bounds");
_Static_assert((int)CALL_FIXED + 2 * ((int)AUTH_FIXED + MAX_AUTH_BYTES) +
			       (int)DESC_BYTES + 8 <=
		       (int)SR_HEAD_MAX,
	       "a head may be longer");

/* Arguments without their payload. */
static const uint32_t args_nr[SR_PROC_NR] = {
	[SR_MSG] = 2 * EP_BYTES + 4,
	[SR_GET] = DESC_BYTES + 4,
	[SR_PUT] = DESC_BYTES + 4 + 4,
};
static const uint32_t results_nr[SR_PROC_NR] = {
	[SR_MSG] = 4,
	[SR_GET] = 12,
	[SR_PUT] = 4,
};

static uint32_t number_at(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
	       (uint32_t)bytes[2] << 8 | bytes[3];
}

/* ------------------------------------------------------------- arguments -- */

static bool ep_code(XDR *xdrs, struct sr_ep *ep)
{
	m0_sunrpc_ep x = { .sep_addr = ep->se_host,
			   .sep_port = ep->se_port,
			   .sep_id = ep->se_id };

	if (!xdr_m0_sunrpc_ep(xdrs, &x))
		return false;
	*ep = (struct sr_ep){ .se_host = x.sep_addr,
			      .se_port = x.sep_port,
			      .se_id = x.sep_id };
	return true;
}

static void ep_to(m0_sunrpc_ep *to, const struct sr_ep *ep)
{
	to->sep_addr = ep->se_host;
	to->sep_port = ep->se_port;
	to->sep_id = ep->se_id;
}

static void ep_from(struct sr_ep *to, const m0_sunrpc_ep *ep)
{
	to->se_host = ep->sep_addr;
	to->se_port = ep->sep_port;
	to->se_id = ep->sep_id;
}

static bool desc_code(XDR *xdrs, struct sr_desc *desc)
{
	m0_sunrpc_buf_desc x = { .sbd_id = desc->sd_id,
				 .sbd_qtype = desc->sd_qtype,
				 .sbd_total = desc->sd_total };

	ep_to(&x.sbd_active_ep, &desc->sd_active);
	ep_to(&x.sbd_passive_ep, &desc->sd_passive);
	if (!xdr_m0_sunrpc_buf_desc(xdrs, &x))
		return false;
	desc->sd_id = x.sbd_id;
	desc->sd_qtype = x.sbd_qtype;
	desc->sd_total = x.sbd_total;
	ep_from(&desc->sd_active, &x.sbd_active_ep);
	ep_from(&desc->sd_passive, &x.sbd_passive_ep);
	return true;
}

static bool args_code(XDR *xdrs, struct sr_call_head *head)
{
	switch (head->sch_proc) {
	case SR_MSG:
		return ep_code(xdrs, &head->sch_from) &&
		       ep_code(xdrs, &head->sch_to) &&
		       xdr_u_int(xdrs, &head->sch_data_nr) &&
		       head->sch_data_nr <= M0_SUNRPC_MESSAGE_MAX;
	case SR_GET:
		return desc_code(xdrs, &head->sch_desc) &&
		       xdr_u_int(xdrs, &head->sch_offset);
	case SR_PUT:
		return desc_code(xdrs, &head->sch_desc) &&
		       xdr_u_int(xdrs, &head->sch_offset) &&
		       xdr_u_int(xdrs, &head->sch_data_nr) &&
		       head->sch_data_nr <= M0_SUNRPC_PIECE_MAX;
	default:
		return true;
	}
}

/* ----------------------------------------------------------------- calls -- */

uint32_t m0_sunrpc__call_encode(uint8_t *to, const struct sr_call_head *head)
{
	struct sr_call_head copy = *head;
	struct rpc_msg msg = { .rm_xid = head->sch_xid, .rm_direction = CALL };
	bool           ok;
	XDR            xdrs;

	msg.rm_call.cb_rpcvers = RPC_MSG_VERSION;
	msg.rm_call.cb_prog = M0_SUNRPC_PROG;
	msg.rm_call.cb_vers = M0_SUNRPC_VERS;
	msg.rm_call.cb_proc = head->sch_proc;
	xdrmem_create(&xdrs, (char *)to, SR_OUT_HEAD_MAX - 4, XDR_ENCODE);
	ok = xdr_callmsg(&xdrs, &msg) && args_code(&xdrs, &copy);
	M0_ASSERT(ok);
	return xdr_getpos(&xdrs);
}

static uint32_t padded(uint32_t nr)
{
	return (nr + 3) & ~(uint32_t)3;
}

/* Where the opaque_auth at `at` ends, as far as known; 0: too long. */
static uint32_t auth_end(const uint8_t *bytes, uint32_t nr, uint32_t at)
{
	uint32_t len;

	if (nr < at + AUTH_FIXED)
		return at + AUTH_FIXED;
	len = number_at(bytes + at + 4);
	return len > MAX_AUTH_BYTES ? 0 : at + AUTH_FIXED + padded(len);
}

uint32_t m0_sunrpc__call_need(const uint8_t *bytes, uint32_t nr, uint32_t *rpc)
{
	uint32_t end;
	uint32_t proc;

	if (nr < CALL_FIXED)
		return CALL_FIXED;
	if (number_at(bytes + 4) != CALL)
		return 0;
	/* A call of another version of RPC has no known form. */
	if (number_at(bytes + 8) != RPC_MSG_VERSION) {
		*rpc = CALL_FIXED;
		return CALL_FIXED;
	}
	end = auth_end(bytes, nr, CALL_FIXED);
	if (end != 0 && end <= nr)
		end = auth_end(bytes, nr, end);
	if (end == 0 || end > nr)
		return end;
	*rpc = end;
	proc = number_at(bytes + 20);
	if (number_at(bytes + 12) != M0_SUNRPC_PROG ||
	    number_at(bytes + 16) != M0_SUNRPC_VERS || proc >= SR_PROC_NR)
		return end;
	return end + args_nr[proc];
}

static enum sr_verdict call_judge(const struct rpc_msg *msg)
{
	const struct call_body *cb = &msg->rm_call;

	if (cb->cb_cred.oa_flavor != AUTH_NONE &&
	    cb->cb_cred.oa_flavor != AUTH_SYS)
		return SR_AUTH_REJECTED;
	if (cb->cb_prog != M0_SUNRPC_PROG)
		return SR_PROG_UNAVAIL;
	if (cb->cb_vers != M0_SUNRPC_VERS)
		return SR_PROG_MISMATCH;
	return cb->cb_proc < SR_PROC_NR ? SR_SUCCESS : SR_PROC_UNAVAIL;
}

enum sr_verdict m0_sunrpc__call_decode(const uint8_t *bytes, uint32_t nr,
				       struct sr_call_head *ret)
{
	char            auth[2][MAX_AUTH_BYTES];
	struct rpc_msg  msg;
	enum sr_verdict verdict;
	XDR             xdrs;

	M0_SET0(ret);
	M0_SET0(&msg);
	ret->sch_xid = number_at(bytes);
	if (number_at(bytes + 8) != RPC_MSG_VERSION)
		return SR_RPC_MISMATCH;
	msg.rm_call.cb_cred.oa_base = auth[0];
	msg.rm_call.cb_verf.oa_base = auth[1];
	xdrmem_create(&xdrs, (char *)(uintptr_t)bytes, nr, XDR_DECODE);
	if (!xdr_callmsg(&xdrs, &msg))
		return SR_GARBAGE;
	ret->sch_proc = msg.rm_call.cb_proc;
	verdict = call_judge(&msg);
	if (verdict == SR_SUCCESS && !args_code(&xdrs, ret))
		verdict = SR_GARBAGE;
	return verdict;
}

/* --------------------------------------------------------------- replies -- */

static const enum accept_stat accept_stats[] = {
	[SR_SUCCESS] = SUCCESS,
	[SR_PROG_UNAVAIL] = PROG_UNAVAIL,
	[SR_PROG_MISMATCH] = PROG_MISMATCH,
	[SR_PROC_UNAVAIL] = PROC_UNAVAIL,
	[SR_GARBAGE] = GARBAGE_ARGS,
};

static void reply_deny(struct rpc_msg *msg, enum sr_verdict verdict)
{
	msg->rm_reply.rp_stat = MSG_DENIED;
	if (verdict == SR_RPC_MISMATCH) {
		msg->rjcted_rply.rj_stat = RPC_MISMATCH;
		msg->rjcted_rply.rj_vers.low = RPC_MSG_VERSION;
		msg->rjcted_rply.rj_vers.high = RPC_MSG_VERSION;
	} else {
		msg->rjcted_rply.rj_stat = AUTH_ERROR;
		msg->rjcted_rply.rj_why = AUTH_REJECTEDCRED;
	}
}

/* Ours come behind what libtirpc codes. */
static bool_t results_none(XDR *xdrs, ...)
{
	(void)xdrs;
	return true;
}

static bool results_code(XDR *xdrs, struct sr_reply_head *head)
{
	if (head->srh_proc == SR_NULL)
		return true;
	if (!xdr_u_int(xdrs, &head->srh_rc))
		return false;
	return head->srh_proc != SR_GET ||
	       (xdr_u_int(xdrs, &head->srh_eof) &&
		xdr_u_int(xdrs, &head->srh_data_nr) &&
		head->srh_data_nr <= M0_SUNRPC_PIECE_MAX);
}

uint32_t m0_sunrpc__reply_encode(uint8_t *to, const struct sr_reply_head *head)
{
	struct sr_reply_head copy = *head;
	struct rpc_msg       msg;
	bool                 ok;
	XDR                  xdrs;

	M0_SET0(&msg);
	msg.rm_xid = head->srh_xid;
	msg.rm_direction = REPLY;
	if (head->srh_verdict >= SR_RPC_MISMATCH) {
		reply_deny(&msg, head->srh_verdict);
	} else {
		msg.rm_reply.rp_stat = MSG_ACCEPTED;
		msg.acpted_rply.ar_stat = accept_stats[head->srh_verdict];
		msg.acpted_rply.ar_vers.low = M0_SUNRPC_VERS;
		msg.acpted_rply.ar_vers.high = M0_SUNRPC_VERS;
		msg.acpted_rply.ar_results.proc = results_none;
	}
	xdrmem_create(&xdrs, (char *)to, SR_OUT_HEAD_MAX - 4, XDR_ENCODE);
	ok = xdr_replymsg(&xdrs, &msg) &&
	     (head->srh_verdict != SR_SUCCESS || results_code(&xdrs, &copy));
	M0_ASSERT(ok);
	return xdr_getpos(&xdrs);
}

/* A reply that is no success needs no more than its verdict. */
uint32_t m0_sunrpc__reply_need(const uint8_t *bytes, uint32_t nr,
			       enum sr_proc proc)
{
	uint32_t end;

	if (nr < REPLY_FIXED)
		return REPLY_FIXED;
	if (number_at(bytes + 8) != MSG_ACCEPTED)
		return nr;
	end = auth_end(bytes, nr, REPLY_FIXED);
	if (end == 0 || end > nr)
		return end;
	if (nr < end + 4)
		return end + 4;
	if (number_at(bytes + end) != SUCCESS)
		return nr;
	return end + 4 + results_nr[proc];
}

bool m0_sunrpc__reply_decode(const uint8_t *bytes, uint32_t nr,
			     struct sr_reply_head *ret)
{
	char           auth[MAX_AUTH_BYTES];
	struct rpc_msg msg;
	XDR            xdrs;

	M0_SET0(&msg);
	if (nr < REPLY_FIXED || number_at(bytes + 4) != REPLY)
		return false;
	ret->srh_verdict = SR_GARBAGE;
	if (number_at(bytes + 8) != MSG_ACCEPTED)
		return true;
	msg.acpted_rply.ar_verf.oa_base = auth;
	msg.acpted_rply.ar_results.proc = results_none;
	xdrmem_create(&xdrs, (char *)(uintptr_t)bytes, nr, XDR_DECODE);
	if (!xdr_replymsg(&xdrs, &msg))
		return false;
	if (msg.acpted_rply.ar_stat != SUCCESS)
		return true;
	ret->srh_verdict = SR_SUCCESS;
	return results_code(&xdrs, ret);
}

/* --------------------------------------------------------------- rpcbind -- */

bool m0_sunrpc__rpcbind_set(uint32_t host, uint32_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)port),
				    .sin_addr.s_addr = htonl(host) };
	struct netbuf      buf = { .maxlen = sizeof addr,
				   .len = sizeof addr,
				   .buf = &addr };
	struct netconfig  *conf;
	bool               ok;

	conf = getnetconfigent("tcp");
	if (conf == NULL)
		return false;
	(void)rpcb_unset(M0_SUNRPC_PROG, M0_SUNRPC_VERS, conf);
	ok = rpcb_set(M0_SUNRPC_PROG, M0_SUNRPC_VERS, conf, &buf);
	freenetconfigent(conf);
	return ok;
}

void m0_sunrpc__rpcbind_unset(void)
{
	struct netconfig *conf = getnetconfigent("tcp");

	if (conf == NULL)
		return;
	(void)rpcb_unset(M0_SUNRPC_PROG, M0_SUNRPC_VERS, conf);
	freenetconfigent(conf);
}
