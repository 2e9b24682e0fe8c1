/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Checks of LNet: by the running node, or by a node of this process. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "doctor.h"
#include "why.h"
#include "../base/jout.h"
#include "../base/log_pipe.h"
#include "../base/text.h"

enum {
	PING_MS = 2500,
	/** Pings whose time is measured. */
	PINGS_NR = 20,
	/** And how long they may take. */
	PINGS_MS = 1000,
	/** Peer NIs that are looked at at a time. */
	ROWS_NR = 256
};

/** The outcome of a ping or of a discovery. */
struct doctor_probe {
	int      dpr_status;
	uint64_t dpr_took_ns;
	unsigned dpr_nids_nr;
	char     dpr_why[DOCTOR_TEXT_BYTES];
};

/* --------------------------------------------------------------- who does it */

int doctor_ask(struct doctor *doctor, const struct ctl_request *req,
	       char **ret_out, char **ret_err)
{
	struct tool_fail fail = { .tf_exit = TOOL_OK };

	return ctl_ask_text(doctor->dtr_opts.nop_ctl, req,
			    doctor_left_ms(doctor, 10000), -1, ret_out, ret_err,
			    &fail);
}

/* The metrics of the running node; NULL: there are none. The caller frees them. */
static char *metrics_of(struct doctor *doctor)
{
	struct ctl_request req;
	char              *text;

	ctl_request_init(&req, CTL_METRICS_SHOW);
	if (doctor_ask(doctor, &req, &text, NULL) == TOOL_OK)
		return text;
	free(text);
	return NULL;
}

static bool node_runs(struct doctor *doctor)
{
	struct tool_fail untrusted = { .tf_exit = TOOL_OK };
	char             where[CTL_WHERE_BYTES] = "";
	const char      *path = doctor->dtr_opts.nop_ctl;
	int              fd = path != NULL ? ctl_connect(path)
					   : ctl_connect_default(where, &untrusted);

	if (fd < 0 && path != NULL)
		ctl_nobody(path, fd, &doctor->dtr_fail);
	if (fd < 0)
		return false;
	(void)close(fd);
	return true;
}

/* The port at which the node expects its peers. */
static void port_take(struct doctor *doctor)
{
	static const char    name[] = "\ncolibri_node_port ";
	struct m0_lnet_info *info;
	const char          *at;

	if (doctor->dtr_by_ctl) {
		doctor->dtr_metrics = metrics_of(doctor);
		at = doctor->dtr_metrics == NULL
			     ? NULL
			     : strstr(doctor->dtr_metrics, name);
		if (at != NULL)
			doctor->dtr_opts.nop_cfg.lc_port =
				(uint16_t)atoi(at + strlen(name));
	} else if (doctor->dtr_lnet != NULL && doctor->dtr_attaches &&
		   m0_lnet_info_head_get(doctor->dtr_lnet, &info) == 0) {
		doctor->dtr_opts.nop_cfg.lc_port = info->li_port;
		m0_lnet_info_free(info);
	}
}

void doctor_lnet_open(struct doctor *doctor)
{
	struct lnet_opts   *opts = &doctor->dtr_opts;
	struct m0_lnet_cfg *cfg = &opts->nop_cfg;

	if (!opts->nop_given && !doctor->dtr_attaches)
		doctor->dtr_by_ctl = node_runs(doctor);
	if (doctor->dtr_by_ctl)
		port_take(doctor);
	if (doctor->dtr_by_ctl || doctor->dtr_fail.tf_exit != TOOL_OK)
		return;
	/* Peers answer on the connections we make. */
	if (!opts->nop_accept_given)
		cfg->lc_accept = M0_LNET_ACCEPT_NONE;
	(void)log_pipe_init(M0_LOG_WARN);
	/* The reason is told as that of the check of the port. */
	(void)lnet_opts_open(opts, cfg, &doctor->dtr_lnet);
	port_take(doctor);
}

void doctor_lnet_close(struct doctor *doctor)
{
	if (doctor->dtr_lnet != NULL)
		m0_lnet_close(doctor->dtr_lnet);
	doctor->dtr_lnet = NULL;
	free(doctor->dtr_metrics);
	doctor->dtr_metrics = NULL;
}

static void why_set(struct doctor_probe *probe, const char *text)
{
	snprintf(probe->dpr_why, sizeof probe->dpr_why, "%.500s", text);
	probe->dpr_why[strcspn(probe->dpr_why, "\n")] = '\0';
}

/* The last of the library's messages about the NID, or one about its address. */
static void why_take(const struct doctor *doctor, struct doctor_probe *probe)
{
	struct node_whys *whys = calloc(1, sizeof *whys);
	enum m0_log_level level;
	char              text[LOG_PIPE_TEXT_BYTES];
	char              words[LOG_PIPE_TEXT_BYTES];
	const char       *why = NULL;

	while (log_pipe_get(&level, text)) {
		if (whys != NULL)
			node_whys_note(whys, text, m0_time_now());
		if (strstr(text, doctor->dtr_nid_text) != NULL)
			why_set(probe,
				lnet_opts_words(words, sizeof words, text));
	}
	if (whys != NULL && probe->dpr_why[0] == '\0')
		why = node_whys_get(whys, &doctor->dtr_nid, probe->dpr_status,
				    m0_time_now());
	if (why != NULL)
		why_set(probe, why);
	free(whys);
}

static void own_probe(struct doctor *doctor, enum m0_lnet_probe_kind kind,
		      uint64_t ms, struct doctor_probe *ret)
{
	struct m0_lnet_probe *probe = calloc(1, sizeof *probe);

	if (probe == NULL) {
		ret->dpr_status = -ENOMEM;
		return;
	}
	probe->pr_kind = kind;
	probe->pr_nid = doctor->dtr_nid;
	probe->pr_self = m0_lnet_nid_any;
	probe->pr_timeout_ms = ms;
	ret->dpr_status = m0_lnet_probe_sync(doctor->dtr_lnet, probe);
	ret->dpr_took_ns = probe->pr_took_ns;
	ret->dpr_nids_nr = probe->pr_nids_nr;
	free(probe);
	if (ret->dpr_status != 0)
		why_take(doctor, ret);
}

/* Asks for JSON. @param ret_err  the caller frees it. @return NULL: there is none. */
static struct json_t *tree_ask(struct doctor            *doctor,
			       const struct ctl_request *req, int *ret_code,
			       char **ret_err)
{
	char           why[JOUT_WHY_BYTES];
	struct json_t *tree = NULL;
	char          *text;

	*ret_code = doctor_ask(doctor, req, &text, ret_err);
	if (text != NULL)
		tree = jout_read_text(text, why);
	free(text);
	return tree;
}

/* Reads the answer to a ping or to a discovery of one NID. */
static void answer_read(const struct json_t *tree, const char *verb,
			struct doctor_probe *ret)
{
	const struct json_t *good = jout_at(jout_get(tree, verb), 0);
	const struct json_t *bad = jout_at(jout_get(tree, "manage"), 0);
	const struct json_t *nids = jout_get(good, "peer_ni");
	const char          *descr = jout_get_str(bad, "descr");
	double               took;

	ret->dpr_status = (int)jout_get_number(bad, "errno");
	/* The node's own measure has not the way to the node in it. */
	if (jout_get_real(good, "ns", &took) && took >= 0)
		ret->dpr_took_ns = (uint64_t)took;
	if (descr != NULL)
		snprintf(ret->dpr_why, sizeof ret->dpr_why, "%.*s",
			 (int)strcspn(descr, "\n"), descr);
	while (jout_at(nids, ret->dpr_nids_nr) != NULL)
		++ret->dpr_nids_nr;
}

/* Reads the answer to a request that the node did not serve. */
static void refusal_parse(char *err, struct doctor_probe *ret)
{
	const char *why = ctl_why(err);

	ret->dpr_status = strstr(why, CTL_REFUSES_CHANGE) != NULL ? -EPERM
								  : -EIO;
	snprintf(ret->dpr_why, sizeof ret->dpr_why, "%s", why);
}

static void ctl_probe(struct doctor *doctor, enum m0_lnet_probe_kind kind,
		      uint64_t ms, struct doctor_probe *ret)
{
	struct ctl_request req;
	m0_time_t          began = m0_time_now();
	struct json_t     *tree;
	char              *err;
	int                code;

	ctl_request_init(&req, kind == M0_LNET_PING ? CTL_PING : CTL_DISCOVER);
	req.cq_json = true;
	req.cq_timeout_ms = ms;
	req.cq_nids[0] = doctor->dtr_nid;
	req.cq_nids_nr = 1;
	tree = tree_ask(doctor, &req, &code, &err);
	ret->dpr_took_ns = m0_time_now() - began;
	answer_read(tree, kind == M0_LNET_PING ? "ping" : "discover", ret);
	if (code != TOOL_OK && ret->dpr_status == 0)
		refusal_parse(err, ret);
	jout_free(tree);
	free(err);
}

static struct doctor_probe probe_make(struct doctor          *doctor,
				      enum m0_lnet_probe_kind kind, uint64_t ms)
{
	struct doctor_probe ret = { .dpr_status = -EIO };

	if (doctor->dtr_by_ctl)
		ctl_probe(doctor, kind, ms, &ret);
	else
		own_probe(doctor, kind, ms, &ret);
	return ret;
}

/* --------------------------------------------------------------- port, route */

static bool nets_have(struct doctor *doctor)
{
	uint32_t net = m0_lnet_nid_net(&doctor->dtr_nid);
	char     name[M0_LNET_NIDSTR_SIZE];
	char     text[M0_LNET_NIDSTR_SIZE + 16];

	if (!doctor->dtr_by_ctl)
		return m0_lnet_dist(doctor->dtr_lnet, &doctor->dtr_nid, NULL,
				    NULL) < 2;
	snprintf(text, sizeof text,
		 "@%s\",device=", m0_lnet_net_print(net, name, sizeof name));
	return doctor->dtr_metrics == NULL ||
	       strstr(doctor->dtr_metrics, text) != NULL;
}

/* Can this process have a source port that Lustre nodes accept? */
static bool has_privileged_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool               ret = false;
	uint16_t           port;

	for (port = 1023; fd >= 0 && !ret && port > 1000; --port) {
		at.sin_port = htons(port);
		ret = bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
		if (!ret && errno != EADDRINUSE)
			break;
	}
	if (fd >= 0)
		(void)close(fd);
	return ret;
}

static bool is_o2ib(const struct doctor *doctor)
{
	return doctor->dtr_nid.ln_type == M0_LNET_TYPE_O2IB;
}

void doctor_port_check(struct doctor *doctor)
{
	if (!doctor->dtr_by_ctl && doctor->dtr_lnet == NULL) {
		doctor_note(doctor, DOCTOR_PORT, DOCTOR_FAIL, "%s",
			    doctor->dtr_fail.tf_text);
		doctor_remedy(doctor, DOCTOR_PORT, "%s",
			      doctor->dtr_attaches
				      ? "start `colibri node --attach', or "
					"name the socket of one: --attach=PATH"
				      : "start `colibri node', or give --net "
					"and --source-ports");
		return;
	}
	if (doctor->dtr_by_ctl || doctor->dtr_attaches) {
		doctor_note(doctor, DOCTOR_PORT, DOCTOR_OK,
			    "the running node asks");
	} else if (!is_o2ib(doctor) &&
		   doctor->dtr_opts.nop_cfg.lc_src_port_max != 0 &&
		   !has_privileged_port()) {
		doctor_note(doctor, DOCTOR_PORT, DOCTOR_WARN,
			    "this user may not have a port below 1024, and "
			    "Lustre nodes accept no other");
		doctor_remedy(doctor, DOCTOR_PORT,
			      "setcap cap_net_bind_service=ep, or sysctl "
			      "net.ipv4.ip_unprivileged_port_start=900");
	} else {
		doctor_note(doctor, DOCTOR_PORT, DOCTOR_OK,
			    "a node of this process asks");
	}
	doctor->dtr_is_routed = !nets_have(doctor);
}

/* ------------------------------------------------------------- ping and others */

static void ping_failed(struct doctor *doctor, const struct doctor_probe *probe)
{
	bool connected = doctor->dtr_checks[DOCTOR_TCP].dch_verdict ==
			 DOCTOR_OK;
	const char *why = probe->dpr_why;

	doctor_note(doctor, DOCTOR_PING, DOCTOR_FAIL, "%s%s%s",
		    tool_errtext(probe->dpr_status), why[0] != '\0' ? ": " : "",
		    why);
	if (probe->dpr_status == -EHOSTUNREACH && doctor->dtr_is_routed)
		doctor_remedy(doctor, DOCTOR_PING,
			      "`colibri route show -v' says which routes are "
			      "down");
	else if (is_o2ib(doctor) && !doctor->dtr_is_routed)
		doctor_remedy(
			doctor, DOCTOR_PING,
			"on both hosts, `ibv_devinfo' has a port that is "
			"PORT_ACTIVE, and `rping' works between them; the "
			"nodes have the same service, usually 987");
	else if (!connected)
		doctor_remedy(
			doctor, DOCTOR_PING,
			"see the checks above; for a NID behind a router, "
			"add a route");
	if (!connected)
		return;
	doctor_note(doctor, DOCTOR_HELLO, DOCTOR_FAIL,
		    "the peer accepts TCP, and no LNet connection came about");
	doctor_remedy(doctor, DOCTOR_HELLO,
		      "is it an LNet node, and does it have this NID? Lustre "
		      "accepts source ports below 1024 only; the log of the "
		      "peer says what it refused");
}

static bool ping_check(struct doctor *doctor)
{
	struct doctor_probe probe = probe_make(doctor, M0_LNET_PING,
					       doctor_left_ms(doctor, PING_MS));
	char                took[TEXT_MAX];

	if (probe.dpr_status != 0) {
		ping_failed(doctor, &probe);
		return false;
	}
	doctor_note(doctor, DOCTOR_HELLO, DOCTOR_OK, "accepted");
	doctor_note(doctor, DOCTOR_PING, DOCTOR_OK,
		    "%u NID%s, first answer after %s", probe.dpr_nids_nr,
		    probe.dpr_nids_nr == 1 ? "" : "s",
		    text_time(took, (double)probe.dpr_took_ns));
	return true;
}

static void discovery_check(struct doctor *doctor)
{
	struct doctor_probe probe = probe_make(doctor, M0_LNET_DISCOVER,
					       doctor_left_ms(doctor, PING_MS));

	if (probe.dpr_status == 0) {
		doctor_note(doctor, DOCTOR_DISCOVERY, DOCTOR_OK,
			    "%u NID%s of the peer", probe.dpr_nids_nr,
			    probe.dpr_nids_nr == 1 ? "" : "s");
	} else if (probe.dpr_status == -EOPNOTSUPP) {
		doctor_note(doctor, DOCTOR_DISCOVERY, DOCTOR_WARN,
			    "the peer takes no part in it: one rail is used");
		doctor_remedy(doctor, DOCTOR_DISCOVERY,
			      "on the peer: `lnetctl set discovery 1'");
	} else if (probe.dpr_status == -EPERM) {
		doctor_note(doctor, DOCTOR_DISCOVERY, DOCTOR_SKIPPED, "%s",
			    probe.dpr_why[0] != '\0'
				    ? probe.dpr_why
				    : "only the user of the node may discover");
		doctor_remedy(doctor, DOCTOR_DISCOVERY,
			      "to check it, run `colibri doctor' as that user "
			      "or as root");
	} else {
		doctor_note(doctor, DOCTOR_DISCOVERY, DOCTOR_FAIL, "%s %s",
			    tool_errtext(probe.dpr_status), probe.dpr_why);
		doctor_remedy(doctor, DOCTOR_DISCOVERY,
			      "the peer answers pings and does not fetch our "
			      "NIDs: does it reach this host?");
	}
}

static int by_time(const void *a, const void *b)
{
	const uint64_t *one = a;
	const uint64_t *two = b;

	return (*one > *two) - (*one < *two);
}

static void latency_note(struct doctor *doctor, double ns)
{
	bool slow = ns > 10e6;
	char text[TEXT_MAX];

	doctor_note(doctor, DOCTOR_LATENCY, slow ? DOCTOR_WARN : DOCTOR_OK,
		    "%s to and fro, median of pings", text_time(text, ns));
	if (slow)
		doctor_remedy(doctor, DOCTOR_LATENCY,
			      "a local network takes less than 1 ms: look for "
			      "load on both hosts, and for loss by `ss -ti'");
}

static void latency_check(struct doctor *doctor)
{
	m0_time_t until =
		m0_time_add(m0_time_now(), doctor_left_ms(doctor, PINGS_MS) *
						   M0_TIME_ONE_MSEC);
	uint64_t times[PINGS_NR];
	unsigned nr;

	for (nr = 0; nr < PINGS_NR && m0_time_now() < until; ++nr) {
		struct doctor_probe probe = probe_make(
			doctor, M0_LNET_PING, doctor_left_ms(doctor, PINGS_MS));

		if (probe.dpr_status != 0)
			break;
		times[nr] = probe.dpr_took_ns;
	}
	if (nr == 0) {
		doctor_note(doctor, DOCTOR_LATENCY, DOCTOR_SKIPPED,
			    "no further ping was answered in time");
		return;
	}
	qsort(times, nr, sizeof times[0], by_time);
	latency_note(doctor, (double)times[nr / 2]);
}

/* --------------------------------------------------------------------- health */

static void health_note(struct doctor *doctor, double ratio, double failures)
{
	if (ratio < 0) {
		doctor_note(doctor, DOCTOR_HEALTH, DOCTOR_SKIPPED,
			    "the node keeps no record of the NID");
	} else if (ratio < 1 || failures > 0) {
		doctor_note(doctor, DOCTOR_HEALTH, DOCTOR_WARN,
			    "%.1f %%, %.0f messages failed", 100 * ratio,
			    failures);
		doctor_remedy(
			doctor, DOCTOR_HEALTH,
			"`colibri peer show -v 2 --nid %s' has the classes "
			"of the failures",
			doctor->dtr_nid_text);
	} else {
		doctor_note(doctor, DOCTOR_HEALTH, DOCTOR_OK, "full");
	}
}

/* The NI of the NID in the answer of peer.show; NULL: it is not there. */
static const struct json_t *peer_ni_find(const struct json_t *tree,
					 const char          *nid)
{
	const struct json_t *peer;
	const struct json_t *ni;
	const char          *name;
	size_t               i;
	size_t               j;

	for (i = 0; (peer = jout_at(jout_get(tree, "peer"), i)) != NULL; ++i)
		for (j = 0;
		     (ni = jout_at(jout_get(peer, "peer ni"), j)) != NULL;
		     ++j) {
			name = jout_get_str(ni, "nid");
			if (name != NULL && strcmp(name, nid) == 0)
				return ni;
		}
	return NULL;
}

static void health_by_ctl(struct doctor *doctor)
{
	struct ctl_request   req;
	struct json_t       *tree;
	const struct json_t *health;
	char                *err;
	int                  code;

	ctl_request_init(&req, CTL_PEER_SHOW);
	req.cq_json = true;
	req.cq_verbose = 2;
	req.cq_nids[0] = doctor->dtr_nid;
	req.cq_nids_nr = 1;
	tree = tree_ask(doctor, &req, &code, &err);
	health = jout_get(peer_ni_find(tree, doctor->dtr_nid_text),
			  "health stats");
	if (code != TOOL_OK || health == NULL)
		health_note(doctor, -1, 0);
	else
		health_note(doctor,
			    jout_get_number(health, "health value") / 1000,
			    jout_get_number(health, "dropped") +
				    jout_get_number(health, "timeout") +
				    jout_get_number(health, "error") +
				    jout_get_number(health, "network timeout"));
	jout_free(tree);
	free(err);
}

static double failures_of(const struct m0_lnet_failures *bad)
{
	return (double)(bad->lf_remote_error + bad->lf_remote_dropped +
			bad->lf_remote_timeout + bad->lf_network_timeout);
}

static void health_check(struct doctor *doctor)
{
	struct m0_lnet_peer_ni_row *rows;
	struct m0_lnet_nid          after = m0_lnet_nid_any;
	double                      failures = 0;
	double                      ratio = -1;
	int                         nr;
	int                         i;

	if (doctor->dtr_by_ctl) {
		health_by_ctl(doctor);
		return;
	}
	rows = calloc(ROWS_NR, sizeof *rows);
	do {
		nr = rows == NULL ? 0
				  : m0_lnet_peer_nis_get(doctor->dtr_lnet,
							 &after, rows, ROWS_NR);
		for (i = 0; i < nr && ratio < 0; ++i) {
			const struct m0_lnet_peer_ni_info *ni = &rows[i].pnr_ni;

			after = ni->pni_nid;
			if (!m0_lnet_nid_eq(&ni->pni_nid, &doctor->dtr_nid))
				continue;
			ratio = ni->pni_health / 1000.0;
			failures = failures_of(&ni->pni_failures);
		}
	} while (nr == ROWS_NR && ratio < 0);
	free(rows);
	health_note(doctor, ratio, failures);
}

void doctor_lnet_checks(struct doctor *doctor)
{
	if (doctor->dtr_lnet == NULL && !doctor->dtr_by_ctl)
		return;
	if (doctor->dtr_checks[DOCTOR_TCP].dch_verdict == DOCTOR_FAIL ||
	    !ping_check(doctor))
		return;
	discovery_check(doctor);
	latency_check(doctor);
	doctor_rate_check(doctor);
	health_check(doctor);
}
