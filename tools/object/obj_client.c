/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "../base/jout.h"
#include "../base/le.h"
#include "obj_client.h"
#include "../base/stop.h"

enum {
	STAGE_TYPES = 1,
	STAGE_PLACE,
	STAGE_DOMAIN,
	STAGE_MACHINE,
	STAGE_CONN,
	STAGE_SESSION,
	/** Number of the service in this process' map. */
	SERVICE = 1,
	/** Bytes of an entry of a list before its name. */
	ENTRY_HEAD = 24
};

/** A service that is there answers a farewell at once. */
#define BYE_NS (2 * M0_TIME_ONE_SECOND)
/** A signal is noticed so soon. */
#define TICK_NS (100 * M0_TIME_ONE_MSEC)

const char *obj_errtext(int rc)
{
	switch (rc) {
	case -ENOENT:
		return "no such object";
	case -ENOSPC:
		return "No space left on the service's disk, or in its store; "
		       "free some, or see --store-max of colibri-serve(1)";
	case -EDQUOT:
		return "the service has no memory left for more clients or "
		       "streams; repeat the command";
	case -EFBIG:
		return "larger than the service's --object-max, or than files "
		       "may be there (ulimit -f)";
	case -EBADMSG:
		return "the checksum does not match: damaged on its way or on "
		       "the disk";
	case -ESTALE:
		return "the service has forgotten what was done (it was "
		       "started anew without a durable store); repeat the "
		       "command";
	case -ETIMEDOUT:
		return "no answer in time";
	case -EAGAIN:
	case -EBUSY:
		return "the service was busy, and had no answer in time; "
		       "repeat the command";
	case -EPROTO:
	case -EPROTONOSUPPORT:
	case -EOPNOTSUPP:
		return "this is no object service of this version";
	default:
		return tool_errtext(rc);
	}
}

int obj_interrupted(struct tool_fail *fail)
{
	return tool_fail_set(fail, TOOL_FAILED,
			     "interrupted; the same command goes on from here");
}

int obj_fail_note(struct tool_fail *fail, const char *what, const char *name,
		  int rc)
{
	char shown[OBJ_NAME_MAX + 2];

	obj_name_show(shown, sizeof shown, name);
	if (rc == -EINTR)
		return obj_interrupted(fail);
	if (rc == -EINVAL && name[0] == '\0')
		return tool_fail_set(fail, TOOL_USAGE,
				     "NAME is empty; accepted: the name of an "
				     "object, or -r for all there are");
	if (rc == -EINVAL || rc == -ENAMETOOLONG || rc == -EILSEQ)
		return tool_fail_set(fail, TOOL_FAILED, "%s '%s': name %s",
				     what, shown, obj_name_why(rc));
	return tool_fail_set(fail, TOOL_FAILED, "%s '%s': %s", what, shown,
			     obj_errtext(rc));
}

int obj_fail(struct obj_client *client, const char *what, const char *name,
	     int rc)
{
	return obj_fail_note(client->oc_fail, what, name, rc);
}

/* -------------------------------------------------------------- opening -- */

static int reach_fail(struct obj_client *client, int rc)
{
	const struct obj_args   *args = client->oc_args;
	const struct obj_target *target = client->oc_target;

	if (rc == -ETIMEDOUT)
		return tool_fail_set(client->oc_fail, TOOL_FAILED,
				     "no answer from %s within %g s: is "
				     "`colibri serve' running there?",
				     target->ot_eps[0],
				     (double)args->oa_timeout_ms / 1e3);
	if (rc == -ENOSPC || rc == -EDQUOT)
		return tool_fail_set(client->oc_fail, TOOL_FAILED,
				     "%s accepts no more clients now, or its "
				     "store is full; repeat the command, or "
				     "see --clients-max and --store-max of "
				     "colibri-serve(1)",
				     target->ot_eps[0]);
	return tool_fail_set(client->oc_fail, TOOL_FAILED,
			     "%s cannot be reached: %s; is `colibri serve' "
			     "running there?",
			     target->ot_eps[0], tool_errtext(rc));
}

static int machine_open(struct obj_client *client)
{
	const struct obj_args *args = client->oc_args;
	struct m0_rpc_cfg      cfg;
	int                    rc;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_timeout_ns = client->oc_timeout_ns;
	cfg.rc_formation_off = args->oa_no_batch;
	rc = m0_rpc_machine_init(&client->oc_machine, &client->oc_dom, &cfg,
				 args->oa_ep, NULL, M0_BUFFER_ANY_COLOUR, 0,
				 args->oa_no_batch ? OBJ_INFLIGHT_MAX : 0);
	if (rc != 0)
		return tool_fail_set(client->oc_fail, TOOL_FAILED,
				     "end point '%s': %s",
				     args->oa_ep == NULL ? "any" : args->oa_ep,
				     tool_errtext(rc));
	client->oc_stage = STAGE_MACHINE;
	return 0;
}

static int session_open(struct obj_client *client)
{
	const struct m0_uint128  service = { .u_hi = 0, .u_lo = SERVICE };
	const struct obj_args   *args = client->oc_args;
	const struct obj_target *target = client->oc_target;
	m0_time_t limit = m0_time_add(m0_time_now(), client->oc_timeout_ns);
	int       rc;

	rc = m0_rpc_machine_map_links(&client->oc_machine, service,
				      target->ot_eps, target->ot_eps_nr);
	if (rc == 0)
		rc = m0_rpc_conn_create(&client->oc_conn, service, NULL,
					&client->oc_machine, 0, limit);
	if (rc != 0)
		return reach_fail(client, rc);
	client->oc_stage = STAGE_CONN;
	rc = m0_rpc_session_init(&client->oc_session, &client->oc_conn);
	if (rc != 0)
		return reach_fail(client, rc);
	client->oc_stage = STAGE_SESSION;
	client->oc_session.s_streams_nr =
		(uint32_t)(args->oa_streams != 0 ? args->oa_streams
						 : args->oa_inflight);
	/* The service keeps an answer for each request in flight of a
	 * stream, as a record in its store; fewer of them are fewer pages to
	 * write. */
	client->oc_session.s_window =
		(uint32_t)((max64u(args->oa_inflight, args->oa_blocks) +
			    client->oc_session.s_streams_nr - 1) /
			   client->oc_session.s_streams_nr);
	rc = m0_rpc_session_establish_sync(&client->oc_session, limit);
	return rc != 0 ? reach_fail(client, rc) : 0;
}

/* Any transport that carries the requests can parse its end points. */
static int target_check(struct obj_client *client, const struct tool_xprt *xprt)
{
	const struct obj_args   *args = client->oc_args;
	const struct obj_target *target = client->oc_target;
	unsigned                 i;

	for (i = 0; i < target->ot_eps_nr; ++i)
		(void)tool_place_check(xprt, target->ot_eps[i],
				       strlen(target->ot_eps[i]), false,
				       "end point", client->oc_fail);
	if (args->oa_ep != NULL)
		(void)tool_place_check(xprt, args->oa_ep, strlen(args->oa_ep),
				       true, "--ep", client->oc_fail);
	return client->oc_fail->tf_exit;
}

/* With several end points, skip those on networks that this node does not
 * have. */
static int place_check(struct obj_client *client)
{
	const struct tool_place *place = &client->oc_place;
	const struct obj_target *target = client->oc_target;
	unsigned                 i;

	if (tool_place_is_alone(place, target->ot_eps[0]))
		return tool_fail_set(client->oc_fail, TOOL_USAGE,
				     "'%s' is at our own NID; give this "
				     "process another, with --net",
				     target->ot_eps[0]);
	for (i = 0; i < target->ot_eps_nr; ++i) {
		if (tool_place_meets(place, target->ot_eps[i]))
			return tool_place_own_check(
				place, client->oc_args->oa_ep, client->oc_fail);
	}
	return tool_place_peer_check(place, target->ot_eps[0], "end point",
				     client->oc_fail);
}

static int transport_open(struct obj_client *client)
{
	const struct obj_args  *args = client->oc_args;
	struct lnet_opts        opts = args->oa_opts;
	const struct tool_xprt *xprt;
	const char             *name =
                args->oa_transport
				    ?: tool_place_xprt(client->oc_target->ot_eps[0]);
	int rc;

	xprt = tool_xprt_find(name, client->oc_fail);
	if (xprt == NULL)
		return TOOL_USAGE;
	if (!xprt->txp_far)
		return tool_fail_set(client->oc_fail, TOOL_USAGE,
				     "--transport '%s' reaches this process "
				     "only; use lnet or sunrpc",
				     name);
	(void)target_check(client, xprt);
	lnet_opts_timeout(&opts, args->oa_timeout_ms);
	/* The end points are named. A node without a listener cannot be pinged by
	 * the other NIDs of a service that has several. */
	opts.nop_cfg.lc_discovery = false;
	if (lnet_opts_check(&opts) != 0)
		return client->oc_fail->tf_exit;
	if (tool_place_open(&client->oc_place, xprt, &opts, false, false) != 0)
		return client->oc_fail->tf_exit;
	client->oc_stage = STAGE_PLACE;
	if (place_check(client) != 0)
		return client->oc_fail->tf_exit;
	rc = m0_net_domain_init(&client->oc_dom, xprt->txp_xprt);
	if (rc != 0)
		return tool_fail_set(client->oc_fail, TOOL_FAILED,
				     "transport '%s': %s", xprt->txp_name,
				     tool_errtext(rc));
	client->oc_stage = STAGE_DOMAIN;
	return 0;
}

int obj_client_open(struct obj_client *client, const struct obj_args *args,
		    const struct obj_target *target, struct tool_fail *fail)
{
	int rc;

	M0_SET0(client);
	client->oc_args = args;
	client->oc_target = target;
	client->oc_fail = fail;
	client->oc_timeout_ns = args->oa_timeout_ms * M0_TIME_ONE_MSEC;
	rc = m0_net_init();
	if (rc != 0)
		return tool_fail_set(fail, TOOL_FAILED,
				     "the library did not start: %s",
				     tool_errtext(rc));
	rc = obj_types_register(NULL);
	M0_ASSERT(rc == 0);
	client->oc_stage = STAGE_TYPES;
	client->oc_start = m0_time_now();
	if (transport_open(client) == 0 && machine_open(client) == 0)
		(void)session_open(client);
	return fail->tf_exit;
}

void obj_client_close(struct obj_client *client)
{
	m0_time_t limit = m0_time_add(m0_time_now(), BYE_NS);

	if (client->oc_stage >= STAGE_SESSION) {
		m0_rpc_session_cancel(&client->oc_session);
		(void)m0_rpc_session_destroy(&client->oc_session, limit);
	}
	if (client->oc_stage >= STAGE_CONN)
		(void)m0_rpc_conn_destroy(&client->oc_conn, limit);
	if (client->oc_stage >= STAGE_MACHINE)
		m0_rpc_machine_fini(&client->oc_machine);
	if (client->oc_stage >= STAGE_DOMAIN)
		(void)m0_net_domain_fini(&client->oc_dom);
	if (client->oc_stage >= STAGE_PLACE)
		tool_place_close(&client->oc_place);
	if (client->oc_stage >= STAGE_TYPES) {
		obj_types_deregister();
		(void)m0_net_fini();
	}
	client->oc_stage = 0;
}

/* -------------------------------------------------------------- calling -- */

int obj_reply_of(struct m0_rpc_item *item, struct obj_rep *ret)
{
	int                rc = m0_rpc_item_error(item);
	struct m0_rpc_raw *raw;

	M0_SET0(ret);
	if (rc != 0)
		return rc;
	if (item->ri_reply->ri_type != obj_type(OBJ_REPLY))
		return 0; /* a status alone */
	raw = m0_rpc_raw_of(item->ri_reply);
	return obj_rep_decode(ret, raw->rr_data, raw->rr_nr);
}

/* After a signal nobody waits for it any more. */
static int reply_wait(struct m0_rpc_item *item)
{
	const uint64_t is_final = UINT64_C(1) << M0_RPC_ITEM_REPLIED |
				  UINT64_C(1) << M0_RPC_ITEM_FAILED;
	int rc;

	do
		rc = m0_rpc_item_timedwait(item, is_final,
					   m0_time_add(m0_time_now(), TICK_NS));
	while (rc == -ETIMEDOUT && stop_signal() == 0);
	if (rc == 0)
		return 0;
	m0_rpc_item_cancel(item);
	return -EINTR;
}

int obj_call(struct obj_client *client, enum obj_op op,
	     const struct obj_req *req, struct obj_rep *ret,
	     struct m0_rpc_item **ret_item)
{
	uint8_t           *body;
	struct m0_rpc_raw *raw = obj_raw_new(op, obj_req_size(req), &body);
	int                rc;

	*ret_item = NULL;
	if (raw == NULL)
		return -ENOMEM;
	(void)obj_req_encode(req, body);
	raw->rr_item.ri_session = &client->oc_session;
	raw->rr_item.ri_stream = obj_op_is_update(op);
	rc = m0_rpc_post(&raw->rr_item);
	if (rc == 0)
		rc = reply_wait(&raw->rr_item);
	if (rc == 0)
		rc = obj_reply_of(&raw->rr_item, ret);
	*ret_item = &raw->rr_item;
	return rc;
}

/* ---------------------------------------------------------------- lists -- */

static int entry_get(const uint8_t **at, uint32_t *left, struct obj_entry *ret)
{
	if (*left < ENTRY_HEAD)
		return -EPROTO;
	ret->oe_size = le_get64(*at);
	ret->oe_mtime_ns = le_get64(*at + 8);
	ret->oe_mode = le_get32(*at + 16);
	ret->oe_name_nr = le_get32(*at + 20);
	ret->oe_name = (const char *)*at + ENTRY_HEAD;
	if (ret->oe_name_nr > *left - ENTRY_HEAD ||
	    obj_name_check(ret->oe_name, ret->oe_name_nr) != 0)
		return -EPROTO;
	*at += ENTRY_HEAD + ret->oe_name_nr;
	*left -= ENTRY_HEAD + ret->oe_name_nr;
	return 0;
}

/* Is it what was asked for, and behind what came before? So lists end. */
static bool entry_is_due(const struct obj_entry *entry,
			 const struct obj_req   *req)
{
	uint8_t key[OBJ_KEY_MAX];
	uint8_t last[OBJ_KEY_MAX];
	size_t  nr = obj_name_key(key, entry->oe_name, entry->oe_name_nr);
	size_t  last_nr;
	int     cmp;

	if (entry->oe_name_nr < req->orq_name_nr ||
	    memcmp(entry->oe_name, req->orq_name, req->orq_name_nr) != 0)
		return false;
	if (req->orq_after_nr == 0)
		return true;
	last_nr = obj_name_key(last, req->orq_after, req->orq_after_nr);
	cmp = memcmp(key, last, min64u(nr, last_nr));
	return cmp > 0 || (cmp == 0 && nr > last_nr);
}

int obj_list(struct obj_client *client, const char *prefix,
	     int (*each)(void *arg, const struct obj_entry *entry), void *arg)
{
	char           after[OBJ_NAME_MAX];
	struct obj_req req = { .orq_name = prefix,
			       .orq_name_nr = (uint32_t)strlen(prefix),
			       .orq_after = after };
	struct obj_rep rep = { .orp_data_nr = 0 };
	bool           more = true;
	int            rc = req.orq_name_nr > OBJ_NAME_MAX ? -ENAMETOOLONG : 0;

	while (rc == 0 && more) {
		struct obj_entry    entry;
		struct m0_rpc_item *item;
		const uint8_t      *at;
		uint32_t            left;

		rc = obj_call(client, OBJ_LIST, &req, &rep, &item);
		at = rep.orp_data;
		left = rc == 0 ? rep.orp_data_nr : 0;
		more = rc == 0 && (rep.orp_flags & OBJ_MORE) && left > 0;
		while (rc == 0 && left > 0) {
			rc = entry_get(&at, &left, &entry);
			if (rc == 0 && !entry_is_due(&entry, &req))
				rc = -EPROTO;
			if (rc != 0)
				break;
			memcpy(after, entry.oe_name, entry.oe_name_nr);
			req.orq_after_nr = entry.oe_name_nr;
			rc = each(arg, &entry);
		}
		if (item != NULL)
			m0_rpc_item_put(item);
	}
	return rc;
}

/* ---------------------------------------------------------------- stats -- */

static double batching_of(const struct m0_rpc_stats *stats)
{
	return stats->rs_nr_sent_packets == 0
		       ? 0
		       : (double)stats->rs_nr_sent_items /
				 (double)stats->rs_nr_sent_packets;
}

/* Requests that left a link that died, and how often one did. */
static void links_get(struct obj_client *client, uint64_t *ret_moved,
		      uint64_t *ret_deaths)
{
	struct m0_rpc_link_info links[OBJ_EPS_MAX];
	uint32_t                i;
	uint32_t nr = m0_rpc_conn_links(&client->oc_conn, links, OBJ_EPS_MAX);

	*ret_moved = 0;
	*ret_deaths = 0;
	for (i = 0; i < min64u(nr, OBJ_EPS_MAX); ++i) {
		*ret_moved += links[i].lki_moved_nr;
		*ret_deaths += links[i].lki_deaths_nr;
	}
}

static void links_json(struct obj_client *client, struct json_t *tree)
{
	struct m0_rpc_link_info links[OBJ_EPS_MAX];
	struct json_t          *array = jout_array(tree, "links");
	struct json_t          *link;
	uint32_t                i;
	uint32_t nr = m0_rpc_conn_links(&client->oc_conn, links, OBJ_EPS_MAX);

	for (i = 0; i < min64u(nr, OBJ_EPS_MAX); ++i) {
		link = jout_append(array);
		jout_str(link, "ep", links[i].lki_addr);
		jout_bool(link, "up", links[i].lki_state == M0_RPC_LINK_UP);
		jout_num(link, "requests", links[i].lki_put_nr);
		jout_num(link, "moved", links[i].lki_moved_nr);
		jout_num(link, "deaths", links[i].lki_deaths_nr);
	}
}

void obj_stats_json(struct obj_client *client, struct json_t *tree)
{
	struct m0_rpc_stats stats;

	m0_rpc_machine_get_stats(&client->oc_machine, &stats, false);
	jout_num(tree, "requests", stats.rs_nr_sent_items);
	jout_num(tree, "packets", stats.rs_nr_sent_packets);
	jout_real(tree, "requests_per_packet", batching_of(&stats));
	jout_num(tree, "resent", stats.rs_nr_resent_items);
	links_json(client, tree);
}

void obj_stats_print(struct obj_client *client)
{
	struct m0_rpc_stats stats;
	uint64_t            moved;
	uint64_t            deaths;

	m0_rpc_machine_get_stats(&client->oc_machine, &stats, false);
	printf("%" PRIu64 " requests in %" PRIu64 " packets (%.1f each), "
	       "%" PRIu64 " sent again\n",
	       stats.rs_nr_sent_items, stats.rs_nr_sent_packets,
	       batching_of(&stats), stats.rs_nr_resent_items);
	links_get(client, &moved, &deaths);
	if (deaths > 0)
		printf("a link died %" PRIu64 " time%s; %" PRIu64
		       " requests went over another\n",
		       deaths, deaths == 1 ? "" : "s", moved);
}
