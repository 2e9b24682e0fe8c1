/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The application of our node in a replay: sends the messages of the recording, and
 * posts memory for incoming ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "golden/replay.h"

static void event_come(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct replay_loan *loan = ev->ev_md_user;

	(void)eq;
	assert_false(loan->rl_is_ended);
	if (ev->ev_type != M0_LNET_EV_UNLINK &&
	    ev->ev_type != M0_LNET_EV_SEND) {
		loan->rl_has_come = true;
		loan->rl_event = *ev;
	} else if (ev->ev_status != 0) {
		loan->rl_event = *ev;
	}
	loan->rl_is_ended = ev->ev_unlinked;
}

void replay__app_open(struct replay *replay)
{
	m0_lnet_eq_init(&replay->re_eq, replay->re_lnet, event_come, 0);
}

static void loan_look(struct replay *replay, const struct replay_loan *loan)
{
	const struct dialogue_msg *msg = loan->rl_item->ri_msg;
	size_t                     nr = msg->dm_hdr.lhd_payload_bytes;

	if (!loan->rl_is_ended)
		replay__fail(replay, loan->rl_item, "its memory has not ended");
	if (loan->rl_item->ri_ours)
		return;
	if (!loan->rl_has_come || loan->rl_event.ev_status != 0)
		replay__fail(replay, loan->rl_item, "it has not come");
	if (replay__type(loan->rl_item) != M0_LNET_PUT)
		return;
	if (loan->rl_event.ev_mlength != nr ||
	    memcmp(loan->rl_buf, msg->dm_payload, nr) != 0)
		replay__fail(replay, loan->rl_item, "other bytes have come");
	assert_true(loan->rl_event.ev_hdr_data == msg->dm_hdr.lhd_hdr_data);
	assert_true(m0_lnet_nid_eq(&loan->rl_event.ev_source.lp_nid,
				   &msg->dm_hdr.lhd_src_nid));
}

void replay__app_close(struct replay *replay)
{
	unsigned i;

	for (i = 0; i < replay->re_loans_nr; ++i) {
		loan_look(replay, &replay->re_loans[i]);
		free(replay->re_loans[i].rl_buf);
	}
	assert_int_equal(replay->re_probes_done_nr, replay->re_probes_nr);
	m0_lnet_eq_fini(&replay->re_eq);
}

static struct replay_loan *loan_new(struct replay      *replay,
				    struct replay_item *item, size_t nr)
{
	struct replay_loan *loan = &replay->re_loans[replay->re_loans_nr++];

	assert_true(replay->re_loans_nr <= REPLAY_LOANS_MAX);
	*loan = (struct replay_loan){ .rl_count = nr,
				      .rl_buf = calloc(1, nr + 1),
				      .rl_item = item };
	assert_non_null(loan->rl_buf);
	loan->rl_vec = (struct m0_bufvec){
		.ov_vec = { .v_nr = 1, .v_count = &loan->rl_count },
		.ov_buf = &loan->rl_buf,
	};
	return loan;
}

static struct m0_lnet_md_attr loan_md(struct replay      *replay,
				      struct replay_loan *loan,
				      unsigned options, int32_t threshold)
{
	return (struct m0_lnet_md_attr){
		.mda_vec = &loan->rl_vec,
		.mda_length = loan->rl_count,
		.mda_threshold = threshold,
		.mda_options = options,
		.mda_auto_unlink = true,
		.mda_eq = &replay->re_eq,
		.mda_user = loan,
	};
}

void replay__lend(struct replay *replay, struct replay_item *item)
{
	const struct m0_lnet_hdr *hdr = &item->ri_msg->dm_hdr;
	bool                      is_get = replay__type(item) == M0_LNET_GET;
	struct replay_loan       *loan;
	struct replay_item       *answer;
	struct m0_lnet_handle     me;
	struct m0_lnet_md_attr    md;
	struct m0_lnet_me_attr    attr = {
		   .mea_portal = hdr->lhd_portal,
		   .mea_id = { .lp_nid = m0_lnet_nid_any,
			       .lp_pid = M0_LNET_PID_ANY },
		   .mea_match_bits = hdr->lhd_match_bits,
		   .mea_flags = M0_LNET_ME_UNLINK,
	};

	loan = loan_new(replay, item,
			is_get ? hdr->lhd_length : hdr->lhd_payload_bytes);
	answer = is_get ? replay__answer(replay, &hdr->lhd_wmd, true) : NULL;
	if (answer != NULL) {
		loan->rl_count = answer->ri_msg->dm_hdr.lhd_payload_bytes;
		memcpy(loan->rl_buf, answer->ri_msg->dm_payload,
		       loan->rl_count);
	}
	md = loan_md(replay, loan,
		     (is_get ? M0_LNET_MD_OP_GET : M0_LNET_MD_OP_PUT) |
			     M0_LNET_MD_TRUNCATE | M0_LNET_MD_MANAGE_REMOTE,
		     1);
	assert_int_equal(m0_lnet_me_attach(replay->re_lnet, &attr, &me), 0);
	assert_int_equal(
		m0_lnet_md_attach(replay->re_lnet, me, &md, &loan->rl_md), 0);
}

static void asked(struct m0_lnet_probe *probe)
{
	struct replay *replay = probe->pr_user;

	++replay->re_probes_done_nr;
}

static void probe(struct replay *replay, const struct m0_lnet_nid *nid,
		  enum m0_lnet_probe_kind kind)
{
	struct m0_lnet_probe *p = &replay->re_probes[replay->re_probes_nr++];

	assert_true(replay->re_probes_nr <= REPLAY_PROBES_MAX);
	*p = (struct m0_lnet_probe){ .pr_kind = kind,
				     .pr_nid = *nid,
				     .pr_self = m0_lnet_nid_any,
				     .pr_timeout_ms = 20000,
				     .pr_force = true,
				     .pr_done = asked,
				     .pr_user = replay };
	assert_int_equal(m0_lnet_probe(replay->re_lnet, p), 0);
}

/* A request as the machine's application has made it. */
static void request(struct replay *replay, struct replay_item *item)
{
	const struct dialogue_msg *msg = item->ri_msg;
	const struct m0_lnet_hdr  *hdr = &msg->dm_hdr;
	bool                       is_get = hdr->lhd_type == M0_LNET_GET;
	bool   ack = !is_get && !m0_lnet__wmd_is_none(&hdr->lhd_wmd);
	size_t nr = is_get ? hdr->lhd_length : hdr->lhd_payload_bytes;
	struct replay_loan    *loan = loan_new(replay, item, nr);
	struct m0_lnet_md_attr md = loan_md(replay, loan, M0_LNET_MD_TRUNCATE,
					    is_get || ack ? 2 : 1);
	struct m0_lnet_op      op = {
		     .lo_self = m0_lnet_nid_any,
		     .lo_target = { .lp_nid = hdr->lhd_dest_nid,
				    .lp_pid = hdr->lhd_dest_pid },
		     .lo_portal = hdr->lhd_portal,
		     .lo_match_bits = hdr->lhd_match_bits,
		     .lo_offset = hdr->lhd_offset,
		     .lo_hdr_data = hdr->lhd_hdr_data,
		     .lo_ack = ack,
	};

	if (!is_get)
		memcpy(loan->rl_buf, msg->dm_payload, nr);
	assert_int_equal(m0_lnet_md_bind(replay->re_lnet, &md, &loan->rl_md),
			 0);
	assert_int_equal(is_get ? m0_lnet_get(replay->re_lnet, loan->rl_md, &op)
				: m0_lnet_put(replay->re_lnet, loan->rl_md,
					      &op),
			 0);
}

void replay__tell(struct replay *replay, struct replay_item *item)
{
	const struct m0_lnet_hdr *hdr = &item->ri_msg->dm_hdr;

	if (item->ri_told)
		return;
	item->ri_told = true;
	if (!replay__is_reserved(hdr))
		request(replay, item);
	else
		probe(replay, &hdr->lhd_dest_nid,
		      hdr->lhd_type == M0_LNET_GET ? M0_LNET_PING
						   : M0_LNET_DISCOVER);
}
