/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stdio.h>

#include "ctl.h"
#include "../base/text.h"

/** Each verb: its name in a request, and the right that it needs. */
static const struct {
	const char    *name;
	enum ctl_right right;
} verbs[CTL_VERBS_NR] = {
	[CTL_PING] = { "ping", CTL_RIGHT_LOOK },
	[CTL_DISCOVER] = { "discover", CTL_RIGHT_CHANGE },
	[CTL_NET_SHOW] = { "net.show", CTL_RIGHT_LOOK },
	[CTL_PEER_SHOW] = { "peer.show", CTL_RIGHT_LOOK },
	[CTL_PEER_LIST] = { "peer.list", CTL_RIGHT_LOOK },
	[CTL_STATS_SHOW] = { "stats.show", CTL_RIGHT_LOOK },
	[CTL_STATS_RESET] = { "stats.reset", CTL_RIGHT_CHANGE },
	[CTL_GLOBAL_SHOW] = { "global.show", CTL_RIGHT_LOOK },
	[CTL_PROCESS_SHOW] = { "process.show", CTL_RIGHT_LOOK },
	[CTL_PROCESS_DRAIN] = { "process.drain", CTL_RIGHT_CHANGE },
	[CTL_METRICS_SHOW] = { "metrics.show", CTL_RIGHT_LOOK },
	[CTL_EXPLAIN] = { "explain", CTL_RIGHT_LOOK },
	/* Payloads may be secret. */
	[CTL_CAPTURE] = { "capture", CTL_RIGHT_CHANGE },
	[CTL_CONFIG_EXPORT] = { "config.export", CTL_RIGHT_LOOK },
	[CTL_CONFIG_IMPORT] = { "config.import", CTL_RIGHT_CHANGE },
	[CTL_CONFIG_CONFIRM] = { "config.confirm", CTL_RIGHT_CHANGE },
	[CTL_CONFIG_UNDO] = { "config.undo", CTL_RIGHT_CHANGE },
	[CTL_ROUTE_ADD] = { "route.add", CTL_RIGHT_CHANGE },
	[CTL_ROUTE_DEL] = { "route.del", CTL_RIGHT_CHANGE },
	[CTL_ROUTE_SHOW] = { "route.show", CTL_RIGHT_LOOK },
	[CTL_ROUTING_SHOW] = { "routing.show", CTL_RIGHT_LOOK },
	[CTL_UDSP_ADD] = { "udsp.add", CTL_RIGHT_CHANGE },
	[CTL_UDSP_DEL] = { "udsp.del", CTL_RIGHT_CHANGE },
	[CTL_UDSP_SHOW] = { "udsp.show", CTL_RIGHT_LOOK },
	[CTL_UDSP_ADD_DRY] = { "udsp.add_dry", CTL_RIGHT_LOOK },
	[CTL_UDSP_DEL_DRY] = { "udsp.del_dry", CTL_RIGHT_LOOK },
	[CTL_SET] = { "set", CTL_RIGHT_CHANGE },
	[CTL_NET_SET] = { "net.set", CTL_RIGHT_CHANGE },
	[CTL_NET_ADD] = { "net.add", CTL_RIGHT_CHANGE },
	[CTL_NET_DEL] = { "net.del", CTL_RIGHT_CHANGE },
	[CTL_PEER_ADD] = { "peer.add", CTL_RIGHT_CHANGE },
	[CTL_PEER_DEL] = { "peer.del", CTL_RIGHT_CHANGE },
	[CTL_PEER_SET] = { "peer.set", CTL_RIGHT_CHANGE },
	[CTL_DEBUG_RECOVERY] = { "debug.recovery", CTL_RIGHT_LOOK },
	[CTL_FAULT_ADD] = { "fault.add", CTL_RIGHT_CHANGE },
	[CTL_FAULT_DEL] = { "fault.del", CTL_RIGHT_CHANGE },
	[CTL_FAULT_SHOW] = { "fault.show", CTL_RIGHT_LOOK },
	[CTL_FAULT_RESET] = { "fault.reset", CTL_RIGHT_CHANGE },
};

#define FAULT_PREFIX "fault."
#define ROUTE_PREFIX "route."
#define UDSP_PREFIX  "udsp."

enum {
	TIMEOUT_MS_MAX = 86400000
};

const char *ctl_verb_name(enum ctl_verb verb)
{
	return verbs[verb].name;
}

enum ctl_right ctl_verb_right(enum ctl_verb verb)
{
	return verbs[verb].right;
}

void ctl_request_init(struct ctl_request *req, enum ctl_verb verb)
{
	M0_SET0(req);
	req->cq_verb = verb;
	req->cq_net = M0_LNET_NET_ANY;
	req->cq_source = m0_lnet_nid_any;
	req->cq_route.lra_net = M0_LNET_NET_ANY;
	req->cq_route.lra_gateway = m0_lnet_nid_any;
	req->cq_udsp.lud_idx = M0_LNET_UDSP_LAST;
	m0_lnet_fault_attr_init(&req->cq_fault, M0_LNET_FAULT_ANY);
}

static bool number(const char *text, uint64_t max, uint64_t *ret)
{
	return text_number_parse(text, ret) == 0 && *ret <= max;
}

/* A key without its "route.". @return what is wrong, or NULL. */
static const char *route_parse(struct m0_lnet_route_attr *attr, const char *key,
			       const char *value)
{
	uint64_t nr = 0;

	if (strcmp(key, "net") == 0)
		return m0_lnet_net_parse(&attr->lra_net, value) == 0
			       ? NULL
			       : "not a network of a route";
	if (strcmp(key, "gateway") == 0)
		return m0_lnet_nid_parse(&attr->lra_gateway, value) == 0
			       ? NULL
			       : "not a gateway of a route";
	if (strcmp(key, "hops") == 0 && number(value, UINT32_MAX, &nr))
		attr->lra_hops = (uint32_t)nr;
	else if (strcmp(key, "priority") == 0 && number(value, UINT32_MAX, &nr))
		attr->lra_priority = (uint32_t)nr;
	else
		return "not a key of a route, or not a value of it";
	return NULL;
}

/* A key without its "udsp.". @return what is wrong, or NULL. */
static const char *udsp_parse(struct m0_lnet_udsp *udsp, const char *key,
			      const char *value)
{
	struct m0_lnet_nid_range *range = NULL;
	uint64_t                  nr = 0;

	if (strcmp(key, "src") == 0)
		range = &udsp->lud_src;
	else if (strcmp(key, "dst") == 0)
		range = &udsp->lud_dst;
	else if (strcmp(key, "rte") == 0)
		range = &udsp->lud_rte;
	if (range != NULL)
		return m0_lnet_nid_range_parse(range, value, NULL) == 0
			       ? NULL
			       : "not a range of a rule";
	if (strcmp(key, "idx") == 0 && number(value, INT32_MAX, &nr))
		udsp->lud_idx = (int32_t)nr;
	else if (strcmp(key, "action") == 0 && number(value, UINT32_MAX, &nr))
		udsp->lud_action = (uint32_t)nr;
	else if (strcmp(key, "priority") == 0 && number(value, UINT32_MAX, &nr))
		udsp->lud_priority = (uint32_t)nr;
	else
		return "not a key of a rule, or not a value of it";
	return NULL;
}

/* Keys of changes. @return is it one, with a value of it? */
static bool change_parse(struct ctl_request *req, const char *key,
			 const char *value)
{
	uint64_t nr = 0;

	if (strcmp(key, "name") == 0 && value[0] != '\0' &&
	    strlen(value) < sizeof req->cq_name)
		snprintf(req->cq_name, sizeof req->cq_name, "%s", value);
	else if (strcmp(key, "value") == 0 && number(value, UINT64_MAX, &nr))
		req->cq_value = nr;
	else if (strcmp(key, "ifaces") == 0 &&
		 strlen(value) < sizeof req->cq_ifaces)
		snprintf(req->cq_ifaces, sizeof req->cq_ifaces, "%s", value);
	else if (strcmp(key, "options") == 0 &&
		 strlen(value) < sizeof req->cq_options)
		snprintf(req->cq_options, sizeof req->cq_options, "%s", value);
	else if (strcmp(key, "body") == 0 && number(value, CTL_BODY_MAX, &nr) &&
		 req->cq_verb == CTL_CONFIG_IMPORT)
		req->cq_body_nr = (size_t)nr;
	else if (strcmp(key, "non_mr") == 0 && number(value, 1, &nr))
		req->cq_non_mr = nr != 0;
	else if (strcmp(key, "by_hops") == 0 && number(value, 1, &nr))
		req->cq_by_hops = nr != 0;
	else if (strcmp(key, "by_priority") == 0 && number(value, 1, &nr))
		req->cq_by_priority = nr != 0;
	else
		return false;
	return true;
}

/* @return what is wrong, or NULL. */
static const char *pair_parse(struct ctl_request *req, const char *key,
			      const char *value)
{
	uint64_t nr = 0;

	if (strncmp(key, FAULT_PREFIX, sizeof FAULT_PREFIX - 1) == 0)
		return ctl_fault_parse(&req->cq_fault,
				       key + sizeof FAULT_PREFIX - 1, value);
	if (strncmp(key, ROUTE_PREFIX, sizeof ROUTE_PREFIX - 1) == 0)
		return route_parse(&req->cq_route,
				   key + sizeof ROUTE_PREFIX - 1, value);
	if (strncmp(key, UDSP_PREFIX, sizeof UDSP_PREFIX - 1) == 0)
		return udsp_parse(&req->cq_udsp, key + sizeof UDSP_PREFIX - 1,
				  value);
	if (strcmp(key, "json") == 0 && number(value, 1, &nr))
		req->cq_json = nr != 0;
	else if (strcmp(key, "force") == 0 && number(value, 1, &nr))
		req->cq_force = nr != 0;
	else if (strcmp(key, "verbose") == 0 &&
		 number(value, CTL_VERBOSE_MAX, &nr))
		req->cq_verbose = (unsigned)nr;
	else if (strcmp(key, "timeout_ms") == 0 &&
		 number(value, TIMEOUT_MS_MAX, &nr))
		req->cq_timeout_ms = nr;
	else if (strcmp(key, "netns") == 0 && number(value, UINT64_MAX, &nr))
		req->cq_netns = nr;
	else if (strcmp(key, "net") == 0)
		return m0_lnet_net_parse(&req->cq_net, value) == 0
			       ? NULL
			       : "not a network";
	else if (strcmp(key, "source") == 0)
		return m0_lnet_nid_parse(&req->cq_source, value) == 0
			       ? NULL
			       : "not a NID";
	else if (!change_parse(req, key, value))
		return "not a key, or not a value of it";
	return NULL;
}

static const char *word_parse(struct ctl_request *req, char *word)
{
	char *value = strchr(word, '=');

	if (value != NULL) {
		*value++ = '\0';
		return pair_parse(req, word, value);
	}
	if (req->cq_nids_nr == CTL_NIDS_MAX)
		return "too many NIDs";
	if (m0_lnet_nid_parse(&req->cq_nids[req->cq_nids_nr], word) != 0)
		return "not a NID";
	++req->cq_nids_nr;
	return NULL;
}

static const char *verb_parse(struct ctl_request *req, const char *word)
{
	int i;

	for (i = 0; word != NULL && i < CTL_VERBS_NR; ++i) {
		if (strcmp(word, verbs[i].name) == 0) {
			ctl_request_init(req, (enum ctl_verb)i);
			return NULL;
		}
	}
	return "not a verb";
}

/* How many NIDs the verb takes, at least and at most. */
static void nids_range(enum ctl_verb verb, unsigned *min, unsigned *max)
{
	bool many = M0_IN(verb, (CTL_PING, CTL_DISCOVER, CTL_PEER_ADD,
				 CTL_PEER_DEL, CTL_CAPTURE));
	bool one = M0_IN(verb, (CTL_PEER_SHOW, CTL_PEER_SET, CTL_NET_SET,
				CTL_EXPLAIN));

	*min = (many && verb != CTL_CAPTURE) || verb == CTL_EXPLAIN ? 1 : 0;
	*max = many ? CTL_NIDS_MAX : (one ? 1 : 0);
}

static const char *nids_check(const struct ctl_request *req)
{
	unsigned min;
	unsigned max;

	nids_range(req->cq_verb, &min, &max);
	if (req->cq_nids_nr < min)
		return "no NID";
	return req->cq_nids_nr > max ? "a NID too many" : NULL;
}

int ctl_request_parse(struct ctl_request *req, char *line, const char **ret_why)
{
	char *rest;
	char *word = strtok_r(line, " ", &rest);

	*ret_why = verb_parse(req, word);
	while (*ret_why == NULL && (word = strtok_r(NULL, " ", &rest)) != NULL)
		*ret_why = word_parse(req, word);
	if (*ret_why == NULL)
		*ret_why = nids_check(req);
	return *ret_why == NULL ? 0 : -EINVAL;
}

struct line {
	char  *cln_buf;
	size_t cln_nr;
};

static void line_put(struct line *line, const char *fmt, ...) M0_PRINTF(2, 3);

static void line_put(struct line *line, const char *fmt, ...)
{
	size_t  room = CTL_LINE_BYTES - line->cln_nr;
	va_list args;
	int     nr;

	va_start(args, fmt);
	nr = vsnprintf(line->cln_buf + line->cln_nr, room, fmt, args);
	va_end(args);
	M0_ASSERT(nr >= 0 && (size_t)nr < room);
	line->cln_nr += (size_t)nr;
}

static void route_put(struct line *line, const struct m0_lnet_route_attr *attr)
{
	char text[M0_LNET_NIDSTR_SIZE];

	if (attr->lra_net != M0_LNET_NET_ANY)
		line_put(line, " route.net=%s",
			 m0_lnet_net_print(attr->lra_net, text, sizeof text));
	if (!m0_lnet_nid_is_any(&attr->lra_gateway))
		line_put(line, " route.gateway=%s",
			 m0_lnet_nid_print(&attr->lra_gateway, text,
					   sizeof text));
	line_put(line, " route.hops=%" PRIu32 " route.priority=%" PRIu32,
		 attr->lra_hops, attr->lra_priority);
}

static void range_put(struct line *line, const char *name,
		      const struct m0_lnet_nid_range *range)
{
	char text[M0_LNET_NID_RANGE_BYTES];

	if (range->lnr_form != M0_LNET_NID_RANGE_NONE)
		line_put(line, " udsp.%s=%s", name,
			 m0_lnet_nid_range_print(range, text, sizeof text));
}

static void udsp_put(struct line *line, const struct m0_lnet_udsp *udsp)
{
	M0_BASSERT(3 * M0_LNET_NID_RANGE_BYTES + 512 < CTL_LINE_BYTES);
	range_put(line, "src", &udsp->lud_src);
	range_put(line, "dst", &udsp->lud_dst);
	range_put(line, "rte", &udsp->lud_rte);
	if (udsp->lud_idx != M0_LNET_UDSP_LAST)
		line_put(line, " udsp.idx=%" PRId32, udsp->lud_idx);
	line_put(line, " udsp.action=%" PRIu32 " udsp.priority=%" PRIu32,
		 udsp->lud_action, udsp->lud_priority);
}

size_t ctl_request_print(const struct ctl_request *req,
			 char                      buf[CTL_LINE_BYTES])
{
	struct line line = { .cln_buf = buf };
	char        text[M0_LNET_NIDSTR_SIZE];
	char        fault[CTL_FAULT_BYTES];
	unsigned    i;

	M0_BASSERT(CTL_NIDS_MAX * (M0_LNET_NIDSTR_SIZE + 1) + CTL_FAULT_BYTES +
			   2 * CTL_TEXT_BYTES + 512 <
		   CTL_LINE_BYTES);
	line_put(&line, "%s json=%d verbose=%u force=%d timeout_ms=%" PRIu64,
		 verbs[req->cq_verb].name, req->cq_json, req->cq_verbose,
		 req->cq_force, req->cq_timeout_ms);
	if (req->cq_netns != 0)
		line_put(&line, " netns=%" PRIu64, req->cq_netns);
	if (req->cq_net != M0_LNET_NET_ANY)
		line_put(&line, " net=%s",
			 m0_lnet_net_print(req->cq_net, text, sizeof text));
	if (!m0_lnet_nid_is_any(&req->cq_source))
		line_put(&line, " source=%s",
			 m0_lnet_nid_print(&req->cq_source, text, sizeof text));
	if (req->cq_name[0] != '\0')
		line_put(&line, " name=%s", req->cq_name);
	if (M0_IN(req->cq_verb, (CTL_EXPLAIN, CTL_CAPTURE)))
		line_put(&line, " value=%" PRIu64, req->cq_value);
	if (req->cq_verb >= CTL_SET && req->cq_verb < CTL_FAULT_ADD)
		line_put(&line, " value=%" PRIu64 " non_mr=%d", req->cq_value,
			 req->cq_non_mr);
	if (req->cq_verb == CTL_CONFIG_IMPORT)
		line_put(&line, " value=%" PRIu64 " body=%zu", req->cq_value,
			 req->cq_body_nr);
	if (req->cq_ifaces[0] != '\0')
		line_put(&line, " ifaces=%s", req->cq_ifaces);
	if (req->cq_options[0] != '\0')
		line_put(&line, " options=%s", req->cq_options);
	if (M0_IN(req->cq_verb, (CTL_ROUTE_ADD, CTL_ROUTE_DEL, CTL_ROUTE_SHOW)))
		route_put(&line, &req->cq_route);
	if (req->cq_verb == CTL_ROUTE_SHOW)
		line_put(&line, " by_hops=%d by_priority=%d", req->cq_by_hops,
			 req->cq_by_priority);
	if (req->cq_verb >= CTL_UDSP_ADD && req->cq_verb < CTL_SET)
		udsp_put(&line, &req->cq_udsp);
	if (req->cq_verb >= CTL_FAULT_ADD || req->cq_verb == CTL_CAPTURE) {
		ctl_fault_print(&req->cq_fault, fault);
		line_put(&line, "%s", fault);
	}
	for (i = 0; i < req->cq_nids_nr; ++i)
		line_put(&line, " %s",
			 m0_lnet_nid_print(&req->cq_nids[i], text,
					   sizeof text));
	line_put(&line, "\n");
	return line.cln_nr;
}
