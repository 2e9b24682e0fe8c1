// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The module: a node of LNet in this kernel, from parameters, as long as the module
 * is loaded. It is in the first network namespace; kern_net.c has the nodes of others.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/thread_info.h>
#include <net/net_namespace.h>

#include "kern/kern_node.h"
#include "kern/os/kern_os.h"
#include "kern/os/kern_stack.h"
#include "kern/os/kern_tls.h"
#include "kern/tcp/kern_tcp.h"
#include "m0/lnet.h"
#include "m0/xlnet.h"
#include "selftest/selftest.h"

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Colibri: a node of LNet");

static char *networks = "tcp";
module_param(networks, charp, 0444);
MODULE_PARM_DESC(networks,
		 "networks and interfaces, such as tcp(eth0); empty: no node");

static char *routes = "";
module_param(routes, charp, 0444);
MODULE_PARM_DESC(routes, "routes to other networks");

static ushort port = 988;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "port to listen at and to connect to");

static char *accept = "secure";
module_param(accept, charp, 0444);
MODULE_PARM_DESC(
	accept,
	"peers that may connect: secure (from privileged ports), all or none");

static uint transaction_timeout;
module_param(transaction_timeout, uint, 0444);
MODULE_PARM_DESC(transaction_timeout,
		 "seconds to wait for an ACK or REPLY; 0: 150");

static bool selftest;
module_param(selftest, bool, 0444);
MODULE_PARM_DESC(selftest, "serve LNet's selftest");

static int log_level = M0_LOG_WARN;
module_param(log_level, int, 0444);
MODULE_PARM_DESC(
	log_level,
	"most detailed messages: 2 warnings, 3 notices, 4 information");

static ushort device_mode = 0600;
module_param(device_mode, ushort, 0444);
MODULE_PARM_DESC(device_mode, "mode of /dev/colibri; 0: there is no device");

static uint device_uid;
module_param(device_uid, uint, 0444);
MODULE_PARM_DESC(device_uid, "owner of /dev/colibri");

static uint device_gid;
module_param(device_gid, uint, 0444);
MODULE_PARM_DESC(device_gid, "group of /dev/colibri");

static uint device_procs = 256;
module_param(device_procs, uint, 0444);
MODULE_PARM_DESC(device_procs, "most processes, of which a user has half");

static ulong device_bytes = 1UL << 30;
module_param(device_bytes, ulong, 0444);
MODULE_PARM_DESC(device_bytes, "most bytes of memory of a process");

static ulong device_bytes_total = 4UL << 30;
module_param(device_bytes_total, ulong, 0444);
MODULE_PARM_DESC(device_bytes_total, "most bytes of memory of all processes");

enum {
	/** Bytes of its stack that a thread should not exceed, of 16 KiB. With KASAN frames
	 * and stacks are larger, and nothing is judged. */
	STACK_MAX = IS_ENABLED(CONFIG_KASAN) ? THREAD_SIZE : 6144
};

/* The node of the first namespace, which machines of other modules use. */
static struct kern_node first;

static int accept_set(struct m0_lnet_cfg *cfg)
{
	if (strcmp(accept, "secure") == 0)
		cfg->lc_accept = M0_LNET_ACCEPT_SECURE;
	else if (strcmp(accept, "all") == 0)
		cfg->lc_accept = M0_LNET_ACCEPT_ALL;
	else if (strcmp(accept, "none") == 0)
		cfg->lc_accept = M0_LNET_ACCEPT_NONE;
	else
		return -EINVAL;
	return 0;
}

/* @param why  empty: the error alone tells. */
static int cfg_make(struct m0_lnet_cfg *cfg, const char *nets,
		    const char *routing, char *why)
{
	int rc;

	m0_lnet_cfg_default(cfg);
	cfg->lc_port = port;
	if (transaction_timeout != 0)
		cfg->lc_transaction_timeout_ms = (uint64_t)transaction_timeout *
						 1000;
	rc = accept_set(cfg);
	if (rc != 0) {
		(void)snprintf(why, M0_LNET_WHY_BYTES,
			       "accept is %s; it may be secure, all or none",
			       accept);
		return rc;
	}
	rc = m0_lnet_cfg_networks(cfg, nets, why);
	if (rc == 0 && routing[0] != 0)
		rc = m0_lnet_cfg_routes(cfg, routing, why);
	return rc;
}

static int selftest_open(struct kern_node *node)
{
	struct m0_st_cfg cfg;

	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = node->knk_lnet;
	cfg.scf_serves = true;
	return m0_st_open(&node->knk_selftest, &cfg);
}

void kern_node_close(struct kern_node *node)
{
	if (node->knk_lnet == NULL)
		return;
	kern_device_node_del(node->knk_device);
	if (node->knk_selftest != NULL)
		m0_st_close(node->knk_selftest);
	m0_lnet_close(node->knk_lnet);
	M0_SET0(node);
}

/* @param ret  to be freed. */
static int cfg_new(const char *nets, const char *routing, char *why,
		   struct m0_lnet_cfg **ret)
{
	struct m0_lnet_cfg *cfg;
	int                 rc;

	M0_ALLOC_PTR(cfg);
	if (cfg == NULL)
		return -ENOMEM;
	rc = cfg_make(cfg, nets, routing, why);
	if (rc == 0)
		*ret = cfg;
	else
		m0_free(cfg);
	return rc;
}

int kern_node_check(const char *nets, const char *routing, char *why)
{
	struct m0_lnet_cfg *cfg;
	int                 rc = cfg_new(nets, routing, why, &cfg);

	if (rc == 0)
		m0_free(cfg);
	return rc;
}

static int lnet_open(struct kern_node *node, struct net *net, const char *nets,
		     const char *routing, char *why)
{
	struct m0_lnet_cfg *cfg;
	int                 rc = cfg_new(nets, routing, why, &cfg);

	if (rc != 0)
		return rc;
	*kern_net_here() = net;
	rc = m0_lnet_open(&node->knk_lnet, cfg, why);
	*kern_net_here() = NULL;
	m0_free(cfg);
	return rc;
}

int kern_node_open(struct kern_node *node, struct net *net, const char *nets,
		   const char *routing, char *why)
{
	int rc = lnet_open(node, net, nets, routing, why);

	if (rc != 0)
		return rc;
	if (selftest)
		rc = selftest_open(node);
	if (rc == 0 && device_mode != 0) {
		node->knk_device = kern_device_node_add(node->knk_lnet, net);
		if (node->knk_device == NULL)
			rc = -ENOMEM;
	}
	if (rc != 0)
		kern_node_close(node);
	return rc;
}

/* Machines of other modules find it. */
static int first_open(char *why)
{
	int rc;

	if (networks[0] == 0)
		return 0;
	rc = kern_node_open(&first, &init_net, networks, routes, why);
	if (rc != 0)
		return rc;
	rc = m0_net_lnet_use(first.knk_lnet);
	if (rc != 0)
		kern_node_close(&first);
	return rc;
}

static void first_close(void)
{
	if (first.knk_lnet != NULL)
		(void)m0_net_lnet_unuse(first.knk_lnet);
	kern_node_close(&first);
}

static int device_why(int rc, char *why)
{
	if (rc != 0)
		(void)snprintf(why, M0_LNET_WHY_BYTES,
			       "there is no device /dev/colibri: %s",
			       m0_errname(rc));
	return rc;
}

static int device_start(char *why)
{
	const struct kern_device_cfg cfg = {
		.kvc_mode = device_mode,
		.kvc_uid = device_uid,
		.kvc_gid = device_gid,
		.kvc_procs_max = device_procs,
		.kvc_procs_of_uid_max = device_procs - device_procs / 2,
		.kvc_bytes_max = device_bytes,
		.kvc_bytes_total = device_bytes_total,
	};

	if (device_mode == 0)
		return 0;
	if ((device_mode & ~0777) != 0) {
		(void)snprintf(why, M0_LNET_WHY_BYTES,
			       "device_mode is %o; it may be 0 to 777",
			       device_mode);
		return -EINVAL;
	}
	return device_why(kern_device_start(&cfg), why);
}

static int device_show(char *why)
{
	return device_mode == 0 ? 0 : device_why(kern_device_show(), why);
}

/* Nodes of namespaces end first, then what all have. */
static void all_end(void)
{
	kern_net_stop();
	first_close();
	kern_device_stop();
}

static int nodes_start(char *why)
{
	int rc = first_open(why);

	if (rc != 0)
		return rc;
	rc = kern_net_start();
	if (rc != 0)
		first_close();
	return rc;
}

/* The device is shown last: a process that has opened it holds the module. */
static int all_start(char *why)
{
	int rc = device_start(why);

	if (rc != 0)
		return rc;
	rc = nodes_start(why);
	if (rc != 0) {
		kern_device_stop();
		return rc;
	}
	rc = device_show(why);
	if (rc != 0)
		all_end();
	return rc;
}

static int start(void)
{
	char *why = m0_alloc(M0_LNET_WHY_BYTES);
	int   rc = why == NULL ? -ENOMEM : all_start(why);

	if (rc != 0)
		pr_err("colibri: %s\n",
		       why != NULL && why[0] != 0 ? why : m0_errname(rc));
	m0_free(why);
	return rc;
}

static void leak_report(void)
{
	long nr = kern_allocs_nr();

	if (nr != 0)
		pr_err("colibri: %ld allocations were not freed\n", nr);
}

/* The tests look for the second message. */
static void stack_report(void)
{
	struct kern_stack_most most;

	kern_stack_get(&most);
	if (most.ksm_bytes != 0)
		pr_info("colibri: thread %s has used %lu bytes of its stack, the most of all\n",
			most.ksm_name, most.ksm_bytes);
	if (most.ksm_bytes > STACK_MAX)
		pr_warn("colibri: STACK: beyond %lu bytes\n",
			(unsigned long)STACK_MAX);
}

static int __init colibri_start(void)
{
	int rc;

	m0_base_hooks_set(&kern_hooks);
	m0_host_ops_set(&kern_host_ops);
	rc = kern_enter();
	if (rc != 0)
		return rc;
	m0_log_level_set((enum m0_log_level)clip64u(
		M0_LOG_FATAL, M0_LOG_DEBUG, (uint64_t)max64(log_level, 0)));
	rc = start();
	kern_leave();
	if (rc != 0)
		leak_report();
	return rc;
}

static void __exit colibri_end(void)
{
	/* The module cannot stay. */
	kern_enter_wait();
	all_end();
	kern_leave();
	leak_report();
	stack_report();
}

module_init(colibri_start);
module_exit(colibri_end);
