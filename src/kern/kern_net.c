/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Nodes of network namespaces other than the first, whose node the parameters of the
 * module describe. A namespace is born without interfaces, so it has no node until a text
 * of networks is written to its /proc/sys/net/colibri/networks.
 *
 * Neither a node nor its sockets keep a namespace. One that goes away ends its node first,
 * while its interfaces are still there: operations of a device run before those of
 * interfaces.
 */
#include <linux/capability.h>
#include <linux/mutex.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "kern/dev/kern_version.h"
#include "kern/kern_node.h"
#include "kern/os/kern_tls.h"

enum {
	TEXT_BYTES = 1024,
	/** A node takes threads, of which the library has KERN_THREADS_MAX. */
	NODES_MAX = 64,
	ENTRIES_NR = 2
};

/** State of the module for a namespace. */
struct kern_ns {
	struct net              *knx_net;
	struct ctl_table_header *knx_header;
	struct ctl_table         knx_table[ENTRIES_NR + 1];
	/** Guards what follows. */
	struct mutex     knx_lock;
	struct kern_node knx_node;
	/** Its node was opened with other routes. */
	bool knx_is_stale;
	char knx_networks[TEXT_BYTES];
	char knx_routes[TEXT_BYTES];
};

static unsigned int ns_id;
static atomic_t     nodes_nr;

static void ns_close(struct kern_ns *ns)
{
	if (ns->knx_node.knk_lnet == NULL)
		return;
	kern_node_close(&ns->knx_node);
	atomic_dec(&nodes_nr);
	ns->knx_networks[0] = 0;
	pr_info("colibri: namespace %u: its node has ended\n",
		ns->knx_net->ns.inum);
}

static int ns_open(struct kern_ns *ns, const char *networks, char *why)
{
	int rc = -EUSERS;

	if (atomic_inc_return(&nodes_nr) <= NODES_MAX)
		rc = kern_node_open(&ns->knx_node, ns->knx_net, networks,
				    ns->knx_routes, why);
	if (rc != 0) {
		atomic_dec(&nodes_nr);
		return rc;
	}
	(void)strscpy(ns->knx_networks, networks, TEXT_BYTES);
	ns->knx_is_stale = false;
	return 0;
}

/* A text with a mistake leaves the node as it is. */
static int ns_renew(struct kern_ns *ns, const char *networks, char *why)
{
	int rc = 0;

	if (networks[0] != 0)
		rc = kern_node_check(networks, ns->knx_routes, why);
	if (rc != 0)
		return rc;
	ns_close(ns);
	return networks[0] == 0 ? 0 : ns_open(ns, networks, why);
}

static int ns_renew_logged(struct kern_ns *ns, const char *networks)
{
	char *why = m0_alloc(M0_LNET_WHY_BYTES);
	int   rc = why == NULL ? -ENOMEM : ns_renew(ns, networks, why);

	if (rc != 0)
		pr_err("colibri: namespace %u: %s\n", ns->knx_net->ns.inum,
		       why != NULL && why[0] != 0 ? why : m0_errname(rc));
	m0_free(why);
	return rc;
}

/* The lock is held. */
static int ns_set(struct kern_ns *ns, const char *networks)
{
	int rc;

	if (ns->knx_node.knk_lnet != NULL && !ns->knx_is_stale &&
	    strcmp(networks, ns->knx_networks) == 0)
		return 0;
	rc = kern_enter();
	if (rc != 0)
		return rc;
	rc = ns_renew_logged(ns, networks);
	kern_leave();
	return rc;
}

static void routes_set(struct kern_ns *ns, const char *routes)
{
	if (strcmp(routes, ns->knx_routes) != 0)
		ns->knx_is_stale = true;
	(void)strscpy(ns->knx_routes, routes, TEXT_BYTES);
}

/* Whether the whole of it, from `at` on, is kept: proc_dostring() cuts what is too long. */
static bool text_fits(const char *buffer, size_t bytes, loff_t at)
{
	if (bytes > 0 && buffer[bytes - 1] == '\n')
		--bytes;
	return bytes < TEXT_BYTES && at < (loff_t)(TEXT_BYTES - bytes);
}

/* Reads or writes a text of the namespace. */
static int text_handle(struct kern_ns *ns, char *of, int write, void *buffer,
		       size_t *bytes, loff_t *at)
{
	char            *copy = kzalloc(TEXT_BYTES, GFP_KERNEL);
	struct ctl_table table = { .data = copy, .maxlen = TEXT_BYTES };
	int              rc = copy == NULL ? -ENOMEM : 0;

	if (rc == 0 && mutex_lock_killable(&ns->knx_lock) != 0)
		rc = -EINTR;
	if (rc == 0) {
		(void)strscpy(copy, of, TEXT_BYTES);
		rc = proc_dostring(&table, write, buffer, bytes, at);
		if (rc == 0 && write && of == ns->knx_networks)
			rc = ns_set(ns, copy);
		else if (rc == 0 && write)
			routes_set(ns, copy);
		mutex_unlock(&ns->knx_lock);
	}
	kfree(copy);
	return rc;
}

/* Memory and threads of a node are the host's, so its own administrator decides. */
static int entry_handle(KERN_SYSCTL_CONST struct ctl_table *table, int write,
			void *buffer, size_t *bytes, loff_t *at)
{
	if (write && !capable(CAP_NET_ADMIN))
		return -EPERM;
	if (write && !text_fits(buffer, *bytes, *at))
		return -EINVAL;
	return text_handle(table->extra1, table->data, write, buffer, bytes,
			   at);
}

static void entry_set(struct kern_ns *ns, unsigned i, const char *name,
		      char *text)
{
	ns->knx_table[i] = (struct ctl_table){
		.procname = name,
		.data = text,
		.maxlen = TEXT_BYTES,
		.mode = 0644,
		.proc_handler = entry_handle,
		.extra1 = ns,
	};
}

static int ns_begin(struct net *net)
{
	struct kern_ns *ns = net_generic(net, ns_id);

	ns->knx_net = net;
	mutex_init(&ns->knx_lock);
	if (net_eq(net, &init_net))
		return 0;
	entry_set(ns, 0, "networks", ns->knx_networks);
	entry_set(ns, 1, "routes", ns->knx_routes);
	ns->knx_header = kern_net_sysctl_add(net, "net/colibri", ns->knx_table,
					     ENTRIES_NR);
	return ns->knx_header == NULL ? -ENOMEM : 0;
}

static void ns_end(struct net *net)
{
	struct kern_ns *ns = net_generic(net, ns_id);
	bool            is_inside = kern_is_inside();

	if (ns->knx_header == NULL)
		return;
	/* Waits for who reads or writes now. */
	unregister_net_sysctl_table(ns->knx_header);
	/* A namespace cannot stay. */
	if (!is_inside)
		kern_enter_wait();
	ns_close(ns);
	if (!is_inside)
		kern_leave();
}

static struct pernet_operations ns_ops = {
	.init = ns_begin,
	.exit = ns_end,
	.id = &ns_id,
	.size = sizeof(struct kern_ns),
};

int kern_net_start(void)
{
	return register_pernet_device(&ns_ops);
}

void kern_net_stop(void)
{
	unregister_pernet_device(&ns_ops);
}
