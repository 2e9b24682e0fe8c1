/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <unistd.h>

#include "m0/xlnet.h"

#include "m0/lnet_route.h"
#include "place.h"
#include "m0/lnet_run.h"
#include "../base/stop.h"
#include "../base/text.h"

enum {
	PORTAL_MAX = 63,
	LOG_TEXT_BYTES = 2048
};

/** Time for the rest, once a daemon was found. */
#define AGAIN_NS (2 * M0_TIME_ONE_SECOND)

/* As the library's own, in the words of the options. */
static void log_say(void *arg, enum m0_log_level level, const char *text)
{
	char words[LOG_TEXT_BYTES];

	(void)arg;
	(void)dprintf(STDERR_FILENO, "colibri: %s: %s\n",
		      m0_log_level_name(level),
		      lnet_opts_words(words, sizeof words, text));
}

int tool_place_open(struct tool_place *place, const struct tool_xprt *xprt,
		    const struct lnet_opts *opts, bool accept, bool polled)
{
	static bool log_is_set;
	int         rc;

	M0_SET0(place);
	place->tpl_xprt = xprt;
	if (!xprt->txp_node) {
		if (opts->nop_given)
			tool_fail_set(opts->nop_fail, TOOL_USAGE,
				      "options of a node are accepted with "
				      "--transport lnet only");
		return opts->nop_fail->tf_exit;
	}
	place->tpl_cfg = opts->nop_cfg;
	if (!accept && !opts->nop_accept_given)
		place->tpl_cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	place->tpl_cfg.lc_inline = polled;
	if (!log_is_set)
		m0_log_set(&log_say, NULL);
	log_is_set = true;
	rc = lnet_opts_open(opts, &place->tpl_cfg, &place->tpl_lnet);
	if (rc == 0) {
		rc = m0_net_lnet_use(place->tpl_lnet);
		if (rc == 0)
			return 0;
		m0_lnet_close(place->tpl_lnet);
		rc = lnet_opts_open_fail(opts, rc, "");
	}
	place->tpl_lnet = NULL;
	return rc;
}

void tool_place_close(struct tool_place *place)
{
	int rc;

	if (place->tpl_lnet == NULL)
		return;
	rc = m0_net_lnet_unuse(place->tpl_lnet);
	M0_ASSERT_INFO(rc == 0, "%s", m0_errname(rc));
	m0_lnet_close(place->tpl_lnet);
	place->tpl_lnet = NULL;
}

bool tool_place_again(const struct tool_place *place)
{
	m0_time_t until = m0_time_add(m0_time_now(),
				      m0_time_add(place->tpl_cfg.lc_reattach_ns,
						  AGAIN_NS));

	if (place->tpl_lnet == NULL || place->tpl_cfg.lc_reattach_ns == 0)
		return false;
	while (m0_lnet_is_ended(place->tpl_lnet)) {
		if (m0_time_now() >= until || stop_signal() != 0)
			return false;
		m0_lnet_progress(place->tpl_lnet);
		(void)m0_nanosleep(10 * M0_TIME_ONE_MSEC, NULL);
	}
	return true;
}

/* The NID of an end point, as text. */
static const char *nid_of(const char *addr, char ret[M0_LNET_NIDSTR_SIZE])
{
	const char *at = strchr(addr, '@');
	size_t nr = at == NULL ? 0 : strcspn(at, ":") + (size_t)(at - addr);

	snprintf(ret, M0_LNET_NIDSTR_SIZE, "%.*s", (int)nr, addr);
	return ret;
}

static bool is_loopback(const char *nid)
{
	return strncmp(nid, "127.", 4) == 0;
}

/*
 * On one host each process needs an address of its own; elsewhere the default
 * is good as long as the network is the same.
 */
static size_t net_words(const char *nid, char *ret, size_t size)
{
	const char *net = strchr(nid, '@') + 1;
	const char *own = "ADDRESS";
	int         nr;

	if (is_loopback(nid))
		own = strncmp(nid, "127.0.0.1@", 10) == 0 ? "127.0.0.2"
							  : "127.0.0.1";
	else if (strchr(nid, ':') == NULL && strcmp(net, "tcp") == 0)
		return 0;
	if (is_loopback(nid) || strchr(nid, ':') != NULL)
		nr = snprintf(ret, size, "--net '%s(%s)' ", net, own);
	else
		nr = snprintf(ret, size, "--net %s ", net);
	return (size_t)nr;
}

const char *tool_place_words(const struct tool_place *place, const char *addr,
			     char *ret, size_t size)
{
	const struct m0_lnet_cfg *cfg = &place->tpl_cfg;
	char                      nid[M0_LNET_NIDSTR_SIZE];
	bool                      any = cfg->lc_accept == M0_LNET_ACCEPT_ALL;
	size_t                    used;

	ret[0] = '\0';
	if (place->tpl_lnet == NULL || strchr(addr, '@') == NULL)
		return ret;
	used = net_words(nid_of(addr, nid), ret, size);
	if (cfg->lc_port != 988)
		used += (size_t)snprintf(ret + used, size - used, "--port %u ",
					 cfg->lc_port);
	if (any)
		used += (size_t)snprintf(ret + used, size - used,
					 "--source-ports any ");
	if (any && strchr(nid, ':') != NULL)
		snprintf(ret + used, size - used, "--peers-colibri ");
	return ret;
}

/* The NID of an end point. */
static bool nid_get(const char *addr, struct m0_lnet_nid *ret)
{
	char text[M0_LNET_NIDSTR_SIZE];

	return m0_lnet_nid_parse(ret, nid_of(addr, text)) == 0;
}

/* One of ours; the first is the loopback. */
static bool own_get(const struct tool_place *place, unsigned i,
		    struct m0_lnet_nid *ret)
{
	struct m0_lnet_process_id id;

	if (place->tpl_lnet == NULL ||
	    m0_lnet_get_id(place->tpl_lnet, i, &id) != 0)
		return false;
	*ret = id.lp_nid;
	return true;
}

bool tool_place_has(const struct tool_place *place, const char *addr)
{
	struct m0_lnet_nid nid;
	struct m0_lnet_nid own;
	unsigned           i;

	if (!nid_get(addr, &nid))
		return false;
	for (i = 0; own_get(place, i, &own); ++i) {
		if (m0_lnet_nid_eq(&own, &nid))
			return true;
	}
	return false;
}

bool tool_place_is_alone(const struct tool_place *place, const char *addr)
{
	return tool_place_has(place, addr) &&
	       (place->tpl_lnet == NULL ||
		!m0_lnet_is_attached(place->tpl_lnet));
}

/* Is there a route to the network, up or down? */
static bool is_routed(const struct tool_place *place, uint32_t net)
{
	struct m0_lnet_route_info *routes;
	bool                       found = false;
	int                        nr;
	int                        i;

	routes = calloc(M0_LNET_ROUTES_MAX, sizeof *routes);
	if (routes == NULL)
		return false;
	nr = m0_lnet_route_get(place->tpl_lnet, routes, M0_LNET_ROUTES_MAX);
	for (i = 0; i < nr; ++i)
		found |= routes[i].lri_attr.lra_net == net;
	free(routes);
	return found;
}

bool tool_place_meets(const struct tool_place *place, const char *addr)
{
	struct m0_lnet_nid nid;
	struct m0_lnet_nid own;
	unsigned           i;

	if (place->tpl_lnet == NULL || !nid_get(addr, &nid))
		return true;
	for (i = 0; own_get(place, i, &own); ++i) {
		if (m0_lnet_nid_net(&own) == m0_lnet_nid_net(&nid))
			return true;
	}
	return is_routed(place, m0_lnet_nid_net(&nid));
}

/* All our NIDs. */
static const char *owns_text(const struct tool_place *place, char *ret,
			     size_t size)
{
	struct m0_lnet_nid own;
	char               text[M0_LNET_NIDSTR_SIZE];
	size_t             used = 0;
	unsigned           i;

	ret[0] = '\0';
	for (i = 1; own_get(place, i, &own) && used < size; ++i) {
		m0_lnet_nid_print(&own, text, sizeof text);
		used += (size_t)snprintf(ret + used, size - used, "%s%s",
					 used > 0 ? ", " : "", text);
	}
	return ret;
}

int tool_place_peer_check(const struct tool_place *place, const char *addr,
			  const char *what, struct tool_fail *fail)
{
	char text[256];

	if (tool_place_meets(place, addr))
		return 0;
	return tool_fail_set(fail, TOOL_USAGE,
			     "%s '%s' is on a network that this process is not "
			     "on; it is %s; --net names others, and "
			     "--routes routers to them",
			     what, addr, owns_text(place, text, sizeof text));
}

int tool_place_own_check(const struct tool_place *place, const char *addr,
			 struct tool_fail *fail)
{
	char text[256];

	if (addr == NULL || place->tpl_lnet == NULL ||
	    tool_place_has(place, addr))
		return 0;
	return tool_fail_set(fail, TOOL_USAGE,
			     "--ep '%s' is not at a NID of this process; it "
			     "has: %s; --net names others",
			     addr, owns_text(place, text, sizeof text));
}

/* `nr` numbers, each behind a colon; behind them, NULL: they are not there. */
static const char *numbers_skip(const char *pos, int nr)
{
	size_t digits;

	for (; nr > 0; --nr) {
		digits = pos[0] == ':' ? strspn(pos + 1, "0123456789") : 0;
		if (digits == 0)
			return NULL;
		pos += 1 + digits;
	}
	return pos;
}

/* Host, port and machine. */
static const char *sunrpc_end(const char *text)
{
	size_t nr = strspn(text, "0123456789.");

	return nr == 0 ? NULL : numbers_skip(text + nr, 2);
}

static const char *lnet_end(const char *text)
{
	const char *at = strchr(text, '@');

	if (at == NULL || memchr(text, '/', (size_t)(at - text)) != NULL)
		return NULL;
	++at;
	at += strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");
	return numbers_skip(at, 3);
}

const char *tool_place_ep_end(const char *text)
{
	const char *pos = lnet_end(text) ?: sunrpc_end(text);

	return pos != NULL && (*pos == ':' || *pos == ',') ? pos : NULL;
}

/* A host in numbers, and no NID. */
static bool looks_sunrpc(const char *addr, size_t nr)
{
	return nr > 0 && addr[0] >= '0' && addr[0] <= '9' &&
	       memchr(addr, '@', nr) == NULL;
}

const char *tool_place_xprt(const char *addr)
{
	return addr != NULL && looks_sunrpc(addr, strlen(addr)) ? "sunrpc"
								: "lnet";
}

const char *tool_place_split(const char *text)
{
	const char *pos = tool_place_ep_end(text);

	return pos != NULL && *pos == ':' ? pos + 1 : NULL;
}

/* Cuts the last part off `text`; NULL: there is none. */
static const char *last_cut(char *text)
{
	char *colon = strrchr(text, ':');

	if (colon == NULL)
		return NULL;
	*colon = '\0';
	return colon + 1;
}

static bool last_is(char *text, uint64_t min, uint64_t max)
{
	const char *part = last_cut(text);
	uint64_t    value;

	return part != NULL && text_number_parse(part, &value) == 0 &&
	       value >= min && value <= max;
}

static bool lnet_is(char *text, bool any)
{
	struct m0_lnet_nid nid;

	return (any || last_is(text, 0, M0_NET_LNET_TMID_MAX)) &&
	       last_is(text, 1, PORTAL_MAX) &&
	       last_is(text, M0_NET_LNET_PID, M0_NET_LNET_PID) &&
	       strchr(text, '@') != NULL && m0_lnet_nid_parse(&nid, text) == 0;
}

static bool sunrpc_is(char *text, bool any, bool own)
{
	struct in_addr addr;

	return (any || last_is(text, 0, UINT32_MAX)) &&
	       last_is(text, own ? 0 : 1, UINT16_MAX) &&
	       inet_pton(AF_INET, text, &addr) == 1;
}

static bool addr_is(const char *addr, size_t nr, bool own, bool sunrpc)
{
	char text[M0_NET_LNET_XEP_ADDR_LEN + 1];
	bool any;

	snprintf(text, sizeof text, "%.*s", (int)nr, addr);
	any = own && nr > 2 && strcmp(&text[strlen(text) - 2], ":*") == 0;
	if (nr >= sizeof text)
		return false;
	if (any)
		(void)last_cut(text);
	return sunrpc ? sunrpc_is(text, any, own) : lnet_is(text, any);
}

int tool_place_check(const struct tool_xprt *xprt, const char *addr, size_t nr,
		     bool own, const char *what, struct tool_fail *fail)
{
	bool sunrpc = xprt != NULL ? !xprt->txp_node : looks_sunrpc(addr, nr);

	if (addr_is(addr, nr, own, sunrpc))
		return 0;
	return tool_fail_set(
		fail, TOOL_USAGE, "%s '%.*s' is not accepted; accepted: %s%s",
		what, (int)min64u(nr, 200), addr,
		sunrpc ? "HOST:port:machine of sunrpc, as 10.0.0.1:7988:7"
		       : "NID:12345:portal:machine, as "
			 "10.0.0.1@tcp:12345:40:7, portals 1 to 63, "
			 "machines 0 to 4095",
		own ? " or *" : "");
}

const char *tool_place_any(const struct tool_place *place, char *ret,
			   size_t size)
{
	struct m0_lnet_process_id id;
	char                      nid[M0_LNET_NIDSTR_SIZE];

	if (place->tpl_lnet == NULL) {
		snprintf(ret, size, "*:0:*");
		return ret;
	}
	if (m0_lnet_get_id(place->tpl_lnet, 1, &id) != 0)
		(void)m0_lnet_get_id(place->tpl_lnet, 0, &id);
	m0_lnet_nid_print(&id.lp_nid, nid, sizeof nid);
	snprintf(ret, size, "%s:%d:%d:*", nid, M0_NET_LNET_PID,
		 M0_NET_LNET_PORTAL);
	return ret;
}
