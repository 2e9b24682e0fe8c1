/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A console's session: its node, the nodes it tests, what they answer. */
#include <stdlib.h>
#include <string.h>

#include "lst.h"
#include "../base/text.h"

enum {
	/** Calls that are on their way at a time. */
	CALLS_MAX = 256
};

/** Admits test nodes of the session. Runs on the node's thread, without the lock:
 * nodes stay where they are. */
static bool is_ours(void *arg, const struct m0_lnet_nid *nid)
{
	const struct lst_session *session = arg;
	unsigned nr = __atomic_load_n(&session->lsn_nodes_nr, __ATOMIC_ACQUIRE);
	unsigned i;

	for (i = 0; i < nr; ++i)
		if (m0_lnet_nid_eq(&session->lsn_nodes[i].lcn_id.lp_nid, nid))
			return true;
	return false;
}

static int selftest_start(struct lst_session *session, struct lst_args *args)
{
	struct m0_st_cfg          cfg;
	struct m0_lnet_process_id id;
	int                       rc;

	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = session->lsn_lnet;
	/* This node may be in a group of its own session. */
	cfg.scf_admits = is_ours;
	cfg.scf_arg = session;
	rc = m0_lnet_get_id(session->lsn_lnet, 1, &id);
	if (rc == 0)
		rc = m0_st_open(&session->lsn_st, &cfg);
	if (rc != 0)
		return tool_fail_set(&args->lsa_fail, TOOL_FAILED,
				     "the selftest cannot be started: %s",
				     tool_errtext(rc));
	session->lsn_nid = id.lp_nid;
	session->lsn_feats = M0_ST_FEAT_LEN;
	session->lsn_sid.sid_nid4 = m0_lnet_nid_hash(&id.lp_nid);
	if (m0_lnet_nid_is_nid4(&id.lp_nid))
		session->lsn_sid.sid_nid4 = m0_lnet_nid_to4(&id.lp_nid);
	else
		session->lsn_feats |= M0_ST_FEAT_LARGE;
	session->lsn_sid.sid_stamp = m0_time_now() / M0_TIME_ONE_MSEC;
	return 0;
}

int lst_session_start(struct lst_session *session, struct m0_lnet *lnet,
		      struct lst_args *args, const char *key)
{
	int rc;

	session->lsn_lnet = lnet;
	snprintf(session->lsn_key, sizeof session->lsn_key, "%s", key);
	snprintf(session->lsn_name, sizeof session->lsn_name, "%s",
		 args->lsa_words_nr > 0 ? args->lsa_words[0] : "session");
	session->lsn_timeout = lst_idle_timeout(args);
	session->lsn_force = args->lsa_force;
	session->lsn_any_port = args->lsa_opts.nop_cfg.lc_src_port_max == 0;
	session->lsn_nodes = calloc(LST_NODES_MAX, sizeof *session->lsn_nodes);
	if (session->lsn_nodes == NULL)
		return tool_fail_set(&args->lsa_fail, TOOL_FAILED,
				     "no memory is left");
	m0_mutex_init(&session->lsn_lock);
	rc = selftest_start(session, args);
	if (rc != 0) {
		m0_mutex_fini(&session->lsn_lock);
		free(session->lsn_nodes);
		return rc;
	}
	/* The batch that every session has. */
	snprintf(session->lsn_batches[session->lsn_batches_nr++].lbt_name,
		 LST_NAME_BYTES, "batch");
	return 0;
}

void lst_session_stop(struct lst_session *session)
{
	unsigned i;

	m0_st_close(session->lsn_st);
	for (i = 0; i < session->lsn_groups_nr; ++i)
		free(session->lsn_groups[i]);
	free(session->lsn_nodes);
	m0_mutex_fini(&session->lsn_lock);
}

int lst_session_open(struct lst_session *session, struct lst_args *args,
		     const char *key)
{
	struct m0_lnet *lnet;
	int             rc;

	rc = lnet_opts_open(&args->lsa_opts, &args->lsa_opts.nop_cfg, &lnet);
	if (rc != 0)
		return rc;
	rc = lst_session_start(session, lnet, args, key);
	if (rc != 0)
		m0_lnet_close(lnet);
	return rc;
}

void lst_session_close(struct lst_session *session)
{
	lst_session_stop(session);
	m0_lnet_close(session->lsn_lnet);
}

/* -- calls ----------------------------------------------------------------- */

struct m0_st_msg lst_msg(const struct lst_session *session, uint32_t type)
{
	return (struct m0_st_msg){
		.smg_type = type,
		.smg_feats = session->lsn_feats,
		.smg_sid = session->lsn_sid,
	};
}

static void node_note(struct lst_session *session, struct lst_node *node,
		      const struct m0_st_call *call)
{
	const struct m0_st_msg *rep = &call->scl_reply;

	if (call->scl_rc != 0) {
		node->lcn_state = LST_DOWN;
		return;
	}
	node->lcn_heard = m0_time_now();
	if (rep->smg_type == M0_ST_MKSN_REP || rep->smg_type == M0_ST_DEBUG_REP)
		node->lcn_timeout = rep->smg_timeout;
	if (m0_st_sid_eq(&rep->smg_sid, &session->lsn_sid)) {
		node->lcn_state = LST_ACTIVE;
	} else if (rep->smg_sid.sid_nid4 == M0_LNET_NID4_ANY) {
		node->lcn_state = LST_UNKNOWN;
	} else {
		node->lcn_state = LST_BUSY;
		memcpy(node->lcn_other, rep->smg_name, sizeof node->lcn_other);
	}
}

int lst_calls(struct lst_session *session, const unsigned *nodes, unsigned nr,
	      const struct m0_st_msg *msgs, uint32_t timeout,
	      struct m0_st_call **calls)
{
	struct m0_st_call *all = calloc(nr > 0 ? nr : 1, sizeof *all);
	unsigned           i;
	unsigned           part;
	int                bad = 0;

	if (all == NULL)
		return -ENOMEM;
	for (i = 0; i < nr; ++i) {
		all[i].scl_dest = session->lsn_nodes[nodes[i]].lcn_id;
		all[i].scl_request = msgs[i];
	}
	if (*calls != NULL) {
		/* Bulk of the caller's. */
		for (i = 0; i < nr; ++i) {
			all[i].scl_bulk = (*calls)[i].scl_bulk;
			all[i].scl_bulk_bytes = (*calls)[i].scl_bulk_bytes;
		}
		free(*calls);
	}
	for (i = 0; i < nr; i += part) {
		part = min_check(nr - i, (unsigned)CALLS_MAX);
		m0_st_calls(session->lsn_st, all + i, part,
			    (uint64_t)timeout * 1000);
	}
	for (i = 0; i < nr; ++i) {
		/* A node chooses the name that a terminal will show. */
		text_make_printable(all[i].scl_reply.smg_name);
		node_note(session, &session->lsn_nodes[nodes[i]], &all[i]);
		bad += all[i].scl_rc != 0 || all[i].scl_reply.smg_status != 0;
	}
	*calls = all;
	return bad;
}

void lst_call_say(const struct lst_session *session,
		  const struct m0_st_call *call, const char *what, FILE *err)
{
	char text[M0_LNET_NIDSTR_SIZE];
	int  status = (int)call->scl_reply.smg_status;

	(void)m0_lnet_id_print(&call->scl_dest, text, sizeof text);
	if (call->scl_rc == 0 && status == EBUSY &&
	    call->scl_reply.smg_name[0] != '\0')
		fprintf(err,
			"%s: %s: the node has session `%s'; --force "
			"takes it over\n",
			what, text, call->scl_reply.smg_name);
	else if (call->scl_rc == 0 && status == EACCES)
		fprintf(err,
			"%s: %s: the node does not admit us; see its "
			"--selftest\n",
			what, text);
	else
		fprintf(err, "%s: %s: %s\n", what, text,
			tool_errtext(call->scl_rc != 0 ? call->scl_rc
						       : status));
	if (call->scl_rc == -ETIMEDOUT && session->lsn_any_port)
		fprintf(err, "A Lustre node takes what comes from a port above "
			     "1023 for another node's, and its answers do not "
			     "arrive: do without `--source-ports any'.\n");
	else if (call->scl_rc == -ETIMEDOUT)
		fprintf(err, "Is module lnet_selftest loaded there, and is "
			     "this NID the first of the node?\n");
}

void lst_keepalive(struct lst_session *session)
{
	m0_time_t          now = m0_time_now();
	struct m0_st_msg   msg = lst_msg(session, M0_ST_DEBUG);
	struct m0_st_msg  *msgs;
	struct m0_st_call *calls = NULL;
	unsigned          *nodes;
	unsigned           nr = 0;
	unsigned           i;

	nodes = calloc(LST_NODES_MAX, sizeof *nodes);
	msgs = calloc(LST_NODES_MAX, sizeof *msgs);
	for (i = 0; nodes != NULL && msgs != NULL && i < session->lsn_nodes_nr;
	     ++i) {
		const struct lst_node *node = &session->lsn_nodes[i];

		if (node->lcn_groups_nr == 0 || node->lcn_state != LST_ACTIVE ||
		    m0_time_sub(now, node->lcn_heard) <
			    node->lcn_timeout * M0_TIME_ONE_SECOND / 2)
			continue;
		nodes[nr] = i;
		msgs[nr++] = msg;
	}
	if (nr > 0)
		(void)lst_calls(session, nodes, nr, msgs, 8, &calls);
	free(calls);
	free(nodes);
	free(msgs);
}

/* -- names ----------------------------------------------------------------- */

struct lst_group *lst_group_find(struct lst_session *session, const char *name)
{
	unsigned i;

	for (i = 0; i < session->lsn_groups_nr; ++i)
		if (strcmp(session->lsn_groups[i]->lgp_name, name) == 0)
			return session->lsn_groups[i];
	return NULL;
}

struct lst_batch *lst_batch_find(struct lst_session *session, const char *name)
{
	unsigned i;

	for (i = 0; i < session->lsn_batches_nr; ++i)
		if (strcmp(session->lsn_batches[i].lbt_name, name) == 0)
			return &session->lsn_batches[i];
	return NULL;
}

const char *lst_state_name(enum lst_state state)
{
	return state == LST_ACTIVE ? "Active"
	       : state == LST_BUSY ? "Busy"
	       : state == LST_DOWN ? "Down"
				   : "Unknown";
}

void lst_count(const struct lst_session *session, const unsigned *nodes,
	       unsigned nr, unsigned ret[5])
{
	unsigned i;

	memset(ret, 0, 5 * sizeof *ret);
	for (i = 0; i < nr; ++i) {
		enum lst_state state = session->lsn_nodes[nodes[i]].lcn_state;

		++ret[state == LST_ACTIVE ? 0
		      : state == LST_BUSY ? 1
		      : state == LST_DOWN ? 2
					  : 3];
		++ret[4];
	}
}
