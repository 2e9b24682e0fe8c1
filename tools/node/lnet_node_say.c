/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A line for each thing that happens: words, or JSON.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../base/jout.h"
#include "lnet_node.h"
#include "../base/stop.h"
#include "../base/text.h"

enum {
	TIME_BYTES = 32
};

static const char *time_text(char buf[TIME_BYTES])
{
	struct timespec now;
	struct tm       tm;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)localtime_r(&now.tv_sec, &tm);
	(void)strftime(buf, TIME_BYTES, "%Y-%m-%dT%H:%M:%S%z", &tm);
	return buf;
}

static struct json_t *event_alloc(const char *event)
{
	struct json_t *tree = jout_alloc();
	char           text[TIME_BYTES];

	jout_str(tree, "time", time_text(text));
	jout_str(tree, "event", event);
	return tree;
}

/* A line is out when it is said: others wait for it. */
static void event_print(struct json_t *tree)
{
	if (stop_lets_say(stdout)) {
		(void)jout_print_line(tree, stdout);
		(void)fflush(stdout);
	}
	jout_free(tree);
}

static void say(const char *fmt, ...) M0_PRINTF(1, 2);

static void say(const char *fmt, ...)
{
	char    text[TIME_BYTES];
	va_list args;

	if (!stop_lets_say(stdout))
		return;
	printf("%s ", time_text(text));
	va_start(args, fmt);
	(void)vprintf(fmt, args);
	va_end(args);
	(void)putchar('\n');
	(void)fflush(stdout);
}

static void say_nid(struct lnet_node *node, const struct m0_lnet_ni_info *ni)
{
	static const char *const accepts[] = {
		[M0_LNET_ACCEPT_SECURE] = "secure",
		[M0_LNET_ACCEPT_ALL] = "all",
		[M0_LNET_ACCEPT_NONE] = "none",
	};
	const struct m0_lnet_cfg *cfg = &node->lno_opts.nop_cfg;
	const char               *accept = accepts[cfg->lc_accept];
	const char *device = ni->nii_device[0] != '\0' ? ni->nii_device : "?";
	bool        is_o2ib = ni->nii_nid.ln_type == M0_LNET_TYPE_O2IB;
	unsigned    port = is_o2ib ? ni->nii_lnd.ldi_service : cfg->lc_port;
	char        text[M0_LNET_NIDSTR_SIZE];
	struct json_t *tree;

	(void)m0_lnet_nid_print(&ni->nii_nid, text, sizeof text);
	if (node->lno_json) {
		tree = event_alloc("nid");
		jout_str(tree, "nid", text);
		jout_str(tree, "device", device);
		jout_num(tree, "port", port);
		jout_str(tree, "accept", accept);
		event_print(tree);
	} else if (cfg->lc_accept == M0_LNET_ACCEPT_NONE) {
		say("NID %s on %s, no listener: peers cannot connect", text,
		    device);
	} else if (is_o2ib) {
		say("NID %s on %s, listening for RDMA on service %u", text,
		    device, port);
	} else {
		say("NID %s on %s, listening on port %u (accept %s)", text,
		    device, port, accept);
	}
}

static void say_nids(struct lnet_node *node)
{
	struct m0_lnet_info *info;
	unsigned             i;

	if (m0_lnet_info_head_get(node->lno_lnet, &info) != 0)
		return;
	/* The first is the loopback. */
	for (i = 1; i < info->li_nis_nr; ++i)
		say_nid(node, &info->li_nis[i]);
	m0_lnet_info_free(info);
}

static void say_http(struct lnet_node *node)
{
	struct json_t *tree;

	if (node->lno_http == NULL)
		return;
	if (node->lno_json) {
		tree = event_alloc("metrics");
		jout_str(tree, "url", metrics_http_url(node->lno_http));
		event_print(tree);
	} else {
		say("metrics at %s", metrics_http_url(node->lno_http));
	}
}

void node_say_start(struct lnet_node *node)
{
	struct json_t *tree;

	if (node->lno_json) {
		tree = event_alloc("start");
		jout_str(tree, "version", m0_version());
		jout_num(tree, "pid", (uint64_t)getpid());
		event_print(tree);
	} else {
		say("colibri node %s, process %d", m0_version(), (int)getpid());
	}
	say_nids(node);
	say_http(node);
	if (node->lno_json) {
		tree = event_alloc("ready");
		jout_str(tree, "ctl", node->lno_path);
		event_print(tree);
	} else {
		say("ready; control socket %s", node->lno_path);
	}
}

void node_say_config(struct lnet_node *node, const char *what, const char *text)
{
	struct json_t *tree;

	if (!node->lno_json) {
		say("configuration %s: %s", what, text);
		return;
	}
	tree = event_alloc("config");
	jout_str(tree, "what", what);
	jout_str(tree, "text", text);
	event_print(tree);
}

void node_say_log(struct lnet_node *node, enum m0_log_level level,
		  const char *text)
{
	struct json_t *tree;

	if (!node->lno_json) {
		say("%s: %s", m0_log_level_name(level), text);
		return;
	}
	tree = event_alloc("log");
	jout_str(tree, "level", m0_log_level_name(level));
	jout_str(tree, "text", text);
	event_print(tree);
}

/* --------------------------------------------------------------------- peers */

static int seen_cmp(const void *left, const void *right)
{
	const struct seen_peer *a = left;
	const struct seen_peer *b = right;

	return m0_lnet_nid_cmp(&a->snp_nid, &b->snp_nid);
}

/* All NIDs of all peers, sorted. NULL: none, or no memory. */
static struct seen_peer *seen_alloc(const struct m0_lnet_info *info,
				    size_t                    *ret_nr)
{
	struct seen_peer *seen;
	size_t            nr = 0;
	unsigned          i;
	unsigned          j;

	*ret_nr = 0;
	for (i = 0; i < info->li_peers_nr; ++i)
		nr += info->li_peers[i].pei_nis_nr;
	if (nr == 0)
		return NULL;
	seen = calloc(nr, sizeof *seen);
	if (seen == NULL)
		return NULL;
	for (i = 0; i < info->li_peers_nr; ++i) {
		for (j = 0; j < info->li_peers[i].pei_nis_nr; ++j) {
			const struct m0_lnet_peer_ni_info *ni =
				&info->li_peers[i].pei_nis[j];

			seen[*ret_nr].snp_nid = ni->pni_nid;
			seen[*ret_nr].snp_up = ni->pni_up;
			seen[*ret_nr].snp_down = ni->pni_down;
			seen[*ret_nr].snp_lost_nr = ni->pni_lost_nr;
			++*ret_nr;
		}
	}
	qsort(seen, nr, sizeof *seen, seen_cmp);
	return seen;
}

static void say_peer(struct lnet_node *node, const struct seen_peer *peer,
		     const char *what)
{
	char           nid[M0_LNET_NIDSTR_SIZE];
	struct json_t *tree;

	(void)m0_lnet_nid_print(&peer->snp_nid, nid, sizeof nid);
	if (node->lno_json) {
		tree = event_alloc("peer");
		jout_str(tree, "nid", nid);
		jout_str(tree, "is", what);
		event_print(tree);
	} else {
		say("peer %s is %s", nid, what);
	}
}

/* Between two looks a peer may go down and come up again. */
static bool is_lost_since(const struct seen_peer *old,
			  const struct seen_peer *now)
{
	return now->snp_lost_nr > (old == NULL ? 0 : old->snp_lost_nr);
}

/* A peer before and now; NULL: not there. */
static void peer_compare(struct lnet_node *node, const struct seen_peer *old,
			 const struct seen_peer *now)
{
	if (now == NULL) {
		say_peer(node, old, "forgotten");
		return;
	}
	if (old == NULL)
		say_peer(node, now, "new");
	if (is_lost_since(old, now)) {
		/* The peer was up in between. */
		if (old != NULL && !old->snp_up)
			say_peer(node, now, "up");
		say_peer(node, now, "down");
		if (now->snp_up)
			say_peer(node, now, "up");
		return;
	}
	if (old != NULL && now->snp_up && !old->snp_up)
		say_peer(node, now, "up");
	if (now->snp_down && (old == NULL || !old->snp_down))
		say_peer(node, now, "down");
}

static void say_refused(struct lnet_node *node, const struct m0_lnet_info *info)
{
	struct json_t *tree;
	uint64_t       nr = 0;
	unsigned       i;

	for (i = 0; i < info->li_nis_nr; ++i)
		nr += info->li_nis[i].nii_lnd.ldi_refused_nr +
		      info->li_nis[i].nii_lnd.ldi_bad_peers_nr;
	if (nr > node->lno_refused_nr && node->lno_json) {
		tree = event_alloc("refused");
		jout_num(tree, "connections", nr - node->lno_refused_nr);
		event_print(tree);
	} else if (nr > node->lno_refused_nr) {
		say("%" PRIu64 " connections refused",
		    nr - node->lno_refused_nr);
	}
	node->lno_refused_nr = nr;
}

void node_say_peers(struct lnet_node *node, const struct m0_lnet_info *info)
{
	size_t            nr;
	struct seen_peer *now = seen_alloc(info, &nr);
	struct seen_peer *old = node->lno_seen;
	size_t            old_nr = node->lno_seen_nr;
	size_t            i = 0;
	size_t            j = 0;

	while (i < old_nr || j < nr) {
		int cmp = i == old_nr ? 1
			  : j == nr   ? -1
				      : seen_cmp(&old[i], &now[j]);

		peer_compare(node, cmp <= 0 ? &old[i] : NULL,
			     cmp >= 0 ? &now[j] : NULL);
		i += cmp <= 0 ? 1 : 0;
		j += cmp >= 0 ? 1 : 0;
	}
	free(old);
	node->lno_seen = now;
	node->lno_seen_nr = nr;
	say_refused(node, info);
}

/* ----------------------------------------------------------------- the end */

void node_say_drain(struct lnet_node *node, unsigned nr)
{
	struct json_t *tree;

	if (node->lno_json) {
		tree = event_alloc("drain");
		jout_num(tree, "attached", nr);
		event_print(tree);
	} else {
		say("no further process may attach; the node ends when the %u "
		    "that are attached have detached",
		    nr);
	}
}

void node_say_stopping(struct lnet_node *node, int number)
{
	struct json_t *tree;

	if (node->lno_json) {
		tree = event_alloc("stopping");
		if (number != 0)
			jout_str(tree, "signal", sigabbrev_np(number));
		event_print(tree);
	} else if (number == 0) {
		say("stopping: drained");
	} else {
		say("stopping: SIG%s", sigabbrev_np(number));
	}
}

void node_say_draining(struct lnet_node *node)
{
	if (node->lno_json)
		event_print(event_alloc("draining"));
	else
		say("draining: peers get notice to take other routes; this takes 2 "
		    "to 10 seconds");
}

void node_say_end(struct lnet_node *node, const struct m0_lnet_info *info)
{
	uint64_t       ns = m0_time_now() - node->lno_since;
	char           text[TEXT_MAX];
	struct json_t *tree;

	if (node->lno_json) {
		tree = event_alloc("stopped");
		jout_real(tree, "seconds", (double)ns / 1e9);
		if (info != NULL) {
			jout_num(tree, "peers", info->li_peers_nr);
			jout_num(tree, "sent", info->li_stats.ls_send_count);
			jout_num(tree, "received",
				 info->li_stats.ls_recv_count);
			jout_num(tree, "dropped", info->li_stats.ls_drop_count);
		}
		event_print(tree);
	} else if (info == NULL) {
		say("stopped after %s", text_time(text, (double)ns));
	} else {
		say("stopped after %s: %u peer%s, %" PRIu64
		    " messages sent, %" PRIu64 " received, %" PRIu64 " dropped",
		    text_time(text, (double)ns), info->li_peers_nr,
		    info->li_peers_nr == 1 ? "" : "s",
		    info->li_stats.ls_send_count, info->li_stats.ls_recv_count,
		    info->li_stats.ls_drop_count);
	}
}
