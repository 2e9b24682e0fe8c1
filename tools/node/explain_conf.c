/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A node of a configuration file, in the simulator: the engine of a real node, on a
 * simulated host that has the addresses of the file. No time passes, so nothing is
 * sent, and all is as at the start of the node.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "m0/log.h"
#include "m0/sim_net.h"

#include "explain_conf.h"
#include "explain_serve.h"
#include "lnet_opts.h"
#include "../conf/conf_file.h"
#include "../conf/conf_live.h"

enum {
	HOST_ADDRS_MAX = 8,
	HOSTS_MAX = 16,
	ADDRS_MAX = HOST_ADDRS_MAX * HOSTS_MAX,
	/** Addresses of 192.0.2.0/24, which is for documentation. */
	ASSUMED_MAX = 254
};

struct plan_node {
	const char                 *pln_path;
	const struct explain_addrs *pln_addrs;
	struct conf_model           pln_model;
	struct m0_lnet_cfg          pln_cfg;
	/** Addresses of the host, each once. */
	char     pln_own[ADDRS_MAX][M0_LNET_CFG_NAME_BYTES];
	unsigned pln_own_nr;
	/** Devices with an assumed address; the first one is 192.0.2.1. */
	char pln_devices[ASSUMED_MAX][M0_LNET_CFG_NAME_BYTES];
	/** Each device of an option was found. */
	bool                      pln_used[EXPLAIN_ADDRS_MAX];
	unsigned                  pln_devices_nr;
	struct explain_assumed    pln_assumed;
	struct tool_fail         *pln_fail;
	const struct ctl_request *pln_req;
};

static void assume(struct plan_node *plan, const char *fmt, ...)
	M0_PRINTF(2, 3);

static void assume(struct plan_node *plan, const char *fmt, ...)
{
	struct explain_assumed *all = &plan->pln_assumed;
	va_list                 args;

	if (all->eas_nr == EXPLAIN_ASSUMED_MAX)
		return;
	va_start(args, fmt);
	(void)vsnprintf(all->eas_texts[all->eas_nr++], sizeof all->eas_texts[0],
			fmt, args);
	va_end(args);
}

/* -------------------------------------------------------------- addresses */

static bool is_address(const char *text)
{
	uint8_t bytes[16];

	return inet_pton(AF_INET, text, bytes) == 1 ||
	       inet_pton(AF_INET6, text, bytes) == 1;
}

/* @return the address that an option gives the device; NULL: none does. */
static const char *address_given(struct plan_node *plan, const char *device)
{
	size_t   bytes = strlen(device);
	unsigned i;

	for (i = 0; i < plan->pln_addrs->exa_nr; ++i) {
		const char *text = plan->pln_addrs->exa_texts[i];

		if (strncmp(text, device, bytes) == 0 && text[bytes] == '=') {
			plan->pln_used[i] = true;
			return text + bytes + 1;
		}
	}
	return NULL;
}

/* Gives the device an address of 192.0.2.0/24, the same one each time. */
static int address_assume(struct plan_node *plan, const char *device,
			  char ret[M0_LNET_CFG_NAME_BYTES])
{
	unsigned i;

	for (i = 0; i < plan->pln_devices_nr; ++i)
		if (strcmp(plan->pln_devices[i], device) == 0)
			break;
	if (i == ASSUMED_MAX)
		return tool_fail_set(plan->pln_fail, TOOL_FAILED,
				     "%s: there are more than %d devices",
				     plan->pln_path, (int)ASSUMED_MAX);
	snprintf(ret, M0_LNET_CFG_NAME_BYTES, "192.0.2.%u", i + 1);
	if (i < plan->pln_devices_nr)
		return TOOL_OK;
	snprintf(plan->pln_devices[plan->pln_devices_nr++],
		 M0_LNET_CFG_NAME_BYTES, "%s", device);
	assume(plan,
	       "%s has the address %s, because its own is not in the file; "
	       "--address %s=ADDRESS gives it",
	       device, ret, device);
	return TOOL_OK;
}

static int own_add(struct plan_node *plan, const char *addr)
{
	unsigned i;

	if (!is_address(addr))
		return tool_fail_set(
			plan->pln_fail, TOOL_USAGE,
			"%s: '%s' is no IP address of an interface; "
			"accepted: as 10.0.0.1 or 2001:db8::1",
			plan->pln_path, addr);
	for (i = 0; i < plan->pln_own_nr; ++i)
		if (strcmp(plan->pln_own[i], addr) == 0)
			return TOOL_OK;
	if (plan->pln_own_nr == ADDRS_MAX)
		return tool_fail_set(plan->pln_fail, TOOL_FAILED,
				     "%s: there are more than %d addresses",
				     plan->pln_path, (int)ADDRS_MAX);
	snprintf(plan->pln_own[plan->pln_own_nr++], M0_LNET_CFG_NAME_BYTES,
		 "%s", addr);
	return TOOL_OK;
}

/* Gives the interface its address. */
static int ni_address(struct plan_node *plan, struct conf_ni *ni)
{
	const char *device = ni->cni_iface[0] != '\0' ? ni->cni_iface
						      : "the first device";
	const char *given = address_given(plan, ni->cni_iface);

	if (given != NULL)
		snprintf(ni->cni_addr, sizeof ni->cni_addr, "%s", given);
	else if (ni->cni_addr[0] == '\0' && is_address(ni->cni_iface))
		snprintf(ni->cni_addr, sizeof ni->cni_addr, "%s",
			 ni->cni_iface);
	else if (ni->cni_addr[0] == '\0' &&
		 address_assume(plan, device, ni->cni_addr) != TOOL_OK)
		return plan->pln_fail->tf_exit;
	return own_add(plan, ni->cni_addr);
}

static int options_check(const struct plan_node *plan)
{
	unsigned i;

	for (i = 0; i < plan->pln_addrs->exa_nr; ++i)
		if (!plan->pln_used[i])
			tool_bad_value(plan->pln_fail, "--address",
				       plan->pln_addrs->exa_texts[i],
				       "a device of the file, =, and its "
				       "address, as eth0=10.0.0.1");
	return plan->pln_fail->tf_exit;
}

/* Makes the networks of the file, or tcp if it has none. */
static int nets_make(struct plan_node *plan)
{
	struct conf_model  *model = &plan->pln_model;
	struct m0_lnet_cfg *cfg = &plan->pln_cfg;
	unsigned            i;
	unsigned            j;

	if (model->cmo_nis_nr == 0) {
		struct conf_ni *ni = conf_ni_add(model);

		if (ni == NULL)
			return tool_fail_set(plan->pln_fail, TOOL_FAILED, "%s",
					     tool_errtext(ENOMEM));
		ni->cni_net = m0_lnet_net(M0_LNET_TYPE_TCP, 0);
		assume(plan, "the file has no network; the node has tcp");
	}
	for (i = 0; i < model->cmo_nis_nr; ++i)
		if (ni_address(plan, &model->cmo_nis[i]) != TOOL_OK)
			return plan->pln_fail->tf_exit;
	for (i = 0; i < model->cmo_nis_nr; ++i) {
		uint32_t net = model->cmo_nis[i].cni_net;

		for (j = 0; j < cfg->lc_nets_nr; ++j)
			if (cfg->lc_nets[j].lnc_net == net)
				break;
		if (j < cfg->lc_nets_nr)
			continue;
		if (j == M0_LNET_CFG_NETS_MAX)
			return tool_fail_set(plan->pln_fail, TOOL_USAGE,
					     "%s: a node has at most %d "
					     "networks",
					     plan->pln_path,
					     (int)M0_LNET_CFG_NETS_MAX);
		conf_net_cfg(model, net, &cfg->lc_nets[cfg->lc_nets_nr++]);
	}
	return options_check(plan);
}

/* ---------------------------------------------------------------- the node */

static void hosts_make(const struct plan_node *plan)
{
	unsigned i;

	/* The node has the addresses of all hosts. */
	for (i = 0; i < plan->pln_own_nr; ++i) {
		static char addrs[HOST_ADDRS_MAX * M0_LNET_CFG_NAME_BYTES];
		size_t      at = i % HOST_ADDRS_MAX == 0 ? 0 : strlen(addrs);

		snprintf(addrs + at, sizeof addrs - at, "%s%s",
			 at == 0 ? "" : " ", plan->pln_own[i]);
		if (i % HOST_ADDRS_MAX == HOST_ADDRS_MAX - 1 ||
		    i == plan->pln_own_nr - 1)
			(void)m0_sim_host_add("host", addrs);
	}
	m0_sim_host_use(NULL);
}

/* Makes the node what the file says. */
static int node_change(struct plan_node *plan, struct m0_lnet *lnet)
{
	struct conf_fail  why = { .cff_set = false };
	struct conf_plan  changes = { .cpn_nr = 0 };
	struct conf_model running;
	int               code = TOOL_USAGE;
	int               rc = conf_live_get_bare(&running, lnet);

	if (rc != 0)
		return conf_file_fail(plan->pln_path, TOOL_FAILED, rc, &why,
				      plan->pln_fail);
	rc = conf_plan_make(&changes, &running, &plan->pln_model, NULL, &why);
	if (rc == 0) {
		code = TOOL_FAILED;
		rc = conf_live_apply(lnet, &changes, &why);
	}
	if (rc != 0)
		conf_file_fail(plan->pln_path, (enum tool_exit)code, rc, &why,
			       plan->pln_fail);
	conf_plan_fini(&changes);
	conf_model_fini(&running);
	return plan->pln_fail->tf_exit;
}

static int node_ask(struct plan_node *plan)
{
	char            why[M0_LNET_WHY_BYTES] = "";
	struct m0_lnet *lnet;
	int             code;
	int             rc = m0_lnet_open(&lnet, &plan->pln_cfg, why);

	if (rc != 0)
		return tool_fail_set(plan->pln_fail,
				     rc == -EINVAL ? TOOL_USAGE : TOOL_FAILED,
				     "%s: %s", plan->pln_path,
				     why[0] != '\0' ? why : tool_errtext(rc));
	code = node_change(plan, lnet);
	if (code == TOOL_OK)
		code = explain_serve(plan->pln_req, lnet, &plan->pln_assumed,
				     stdout, stderr);
	m0_lnet_close(lnet);
	return code;
}

static int node_simulate(struct plan_node *plan)
{
	/* Longer than the node lives. */
	static const struct m0_sim_stream_cfg streams = {
		.ssc_latency_ns = 1000 * M0_TIME_ONE_SECOND,
	};
	struct m0_sim sim;
	int           code;

	m0_sim_init_cfg(&sim, 1, &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &streams);
	hosts_make(plan);
	code = node_ask(plan);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
	return code;
}

/* Is it a NID of a peer of the file? */
static bool is_peer(const struct conf_model  *model,
		    const struct m0_lnet_nid *nid)
{
	unsigned i;
	unsigned j;

	for (i = 0; i < model->cmo_peers_nr; ++i) {
		const struct conf_peer *peer = &model->cmo_peers[i];

		if (m0_lnet_nid_eq(&peer->cpe_primary, nid))
			return true;
		for (j = 0; j < peer->cpe_nids_nr; ++j)
			if (m0_lnet_nid_eq(&peer->cpe_nids[j], nid))
				return true;
	}
	return false;
}

/* Takes what the options say for the addresses of the host, of which `ip2nets' asks;
 * those of this host do not count. */
static void locals_make(const struct plan_node *plan, struct conf_locals *ret)
{
	const char *text;
	unsigned    i;

	M0_BASSERT((int)EXPLAIN_ADDRS_MAX <= (int)CONF_LOCALS_MAX);
	M0_SET0(ret);
	for (i = 0; i < plan->pln_addrs->exa_nr; ++i) {
		struct conf_local *local = &ret->cfs_locals[ret->cfs_nr];

		text = plan->pln_addrs->exa_texts[i];
		snprintf(local->cfl_iface, sizeof local->cfl_iface, "%.*s",
			 (int)strcspn(text, "="), text);
		text += strcspn(text, "=");
		if (*text == '=' &&
		    inet_pton(AF_INET, text + 1, &local->cfl_addr) == 1)
			++ret->cfs_nr;
	}
}

/* As conf_file_load(), but of another host. */
static int model_read(struct plan_node *plan)
{
	struct conf_fail   why = { .cff_set = false };
	struct conf_locals locals;
	char              *text;
	size_t             nr;
	int                rc;

	conf_model_init(&plan->pln_model);
	if (conf_file_read(plan->pln_path, &text, &nr, plan->pln_fail) !=
	    TOOL_OK)
		return plan->pln_fail->tf_exit;
	locals_make(plan, &locals);
	rc = conf_read(&plan->pln_model, text, nr, &locals, &why);
	free(text);
	return rc == 0 ? TOOL_OK
		       : conf_file_fail(plan->pln_path, TOOL_USAGE, rc, &why,
					plan->pln_fail);
}

int explain_conf(const char *path, const struct ctl_request *req,
		 const struct explain_addrs *addrs, struct tool_fail *fail)
{
	struct plan_node *plan = calloc(1, sizeof *plan);
	int               code;

	if (plan == NULL)
		return tool_fail_set(fail, TOOL_FAILED, "%s",
				     tool_errtext(ENOMEM));
	plan->pln_path = path;
	plan->pln_addrs = addrs;
	plan->pln_fail = fail;
	plan->pln_req = req;
	m0_lnet_cfg_default(&plan->pln_cfg);
	plan->pln_cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	m0_log_level_set(M0_LOG_ERROR);
	code = model_read(plan);
	if (code == TOOL_OK) {
		conf_notes_print(path, &plan->pln_model, stderr);
		assume(plan, "the node is as the file says, and no other node "
			     "was asked");
		assume(plan, "all interfaces, NIDs and gateways are up and "
			     "healthy, and only the first checks of gateways "
			     "are in flight");
		if (!is_peer(&plan->pln_model, &req->cq_nids[0]))
			assume(plan, "the NID is the only one of its peer, "
				     "because the file has no peer with it");
		code = nets_make(plan);
	}
	if (code == TOOL_OK)
		code = node_simulate(plan);
	conf_model_fini(&plan->pln_model);
	free(plan);
	return code;
}
