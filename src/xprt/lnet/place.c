/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where machines are: the nodes of this process that they may use, and the
 * numbers that are taken on each. Nodes and numbers are under places_lock, which
 * nests in everything; a node stays while a machine is on it.
 *
 * A number is taken for the whole node, whatever the NID in the address: match
 * bits and portal are all that tells machines apart.
 */
#include "xprt/lnet/xlnet_internal.h"
#include "os/os.h"

struct xlnet_node {
	struct m0_list_link xn_link;
	struct m0_lnet     *xn_lnet;
	struct m0_lnet_eq   xn_eq;
	/** Machines that have a place on it. */
	struct m0_list xn_machines;
	/** Machines that refer to it. */
	uint32_t xn_users_nr;
	/** Opened by us. */
	bool xn_is_default;
	/** Its thread's: the machine that is being told, NULL: none. */
	struct m0_net_kit_machine *xn_visited;
	struct m0_net_kit_visit    xn_visit;
	unsigned                   xn_visit_nr;
};

static struct m0_mutex places_lock = M0_MUTEX_SINIT(&places_lock);
static struct m0_list  places;
static bool            places_inited;
static uint32_t        domains_nr;
/* The default node is being opened, or closed. */
static bool default_changes;

enum {
	/** Of the default node, for a peer. */
	PEER_CREDITS = 64,
	/** Events told to a machine before others may have its lock. */
	VISIT_NR = 32
};

/** Between looks at that. */
#define LOOK_NS 1000000

/* --------------------------------------------------------------- events -- */

/* A machine is left when it has heard what a pass has for it, or much of it. */
static void visit(struct xlnet_node *node, struct m0_net_kit_machine *machine)
{
	if (node->xn_visited != NULL)
		m0_net_kit_leave(node->xn_visited, &node->xn_visit);
	if (machine != NULL)
		m0_net_kit_enter(machine, &node->xn_visit);
	node->xn_visited = machine;
	node->xn_visit_nr = 0;
}

static void events_told(struct m0_lnet_eq *eq)
{
	visit(container_of(eq, struct xlnet_node, xn_eq), NULL);
}

static __attribute__((noinline)) void other_event_tell(
	struct xlnet_md *xd, const struct m0_lnet_event *ev)
{
	switch (xd->xd_kind) {
	case XLNET_CATCH:
		m0_xlnet__catch_event(xlnet_machine(xd->xd_machine), ev);
		break;
	case XLNET_STAGE:
		m0_xlnet__stage_event(xlnet_machine(xd->xd_machine), xd, ev);
		break;
	case XLNET_PASSIVE:
		m0_xlnet__passive_event(xlnet_buf(xd->xd_kb), ev);
		break;
	case XLNET_ACTIVE:
		m0_xlnet__active_event(xlnet_buf(xd->xd_kb), ev);
		break;
	default:
		M0_IMPOSSIBLE("an event of an MD that has ended");
	}
}

/* The machine is visited. Messages are many, and asked for first. */
static inline void event_tell(struct xlnet_md            *xd,
			      const struct m0_lnet_event *ev)
{
	if (xd->xd_kind == XLNET_RECV)
		m0_xlnet__recv_event(xlnet_buf(xd->xd_kb), ev);
	else if (xd->xd_kind == XLNET_SEND)
		m0_xlnet__send_event(xlnet_buf(xd->xd_kb), ev);
	else
		other_event_tell(xd, ev);
}

/* Apart: the events that follow need no frame for it. */
static __attribute__((noinline)) void first_event_tell(
	struct xlnet_node *node, struct xlnet_md *xd,
	const struct m0_lnet_event *ev)
{
	visit(node, xd->xd_machine);
	event_tell(xd, ev);
}

static void event_handle(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct xlnet_node *node = container_of(eq, struct xlnet_node, xn_eq);
	struct xlnet_md   *xd = ev->ev_md_user;

	if (M0_LIKELY(node->xn_visited == xd->xd_machine &&
		      ++node->xn_visit_nr < VISIT_NR))
		event_tell(xd, ev);
	else
		first_event_tell(node, xd, ev);
}

/* ---------------------------------------------------------------- nodes -- */

/* places_lock is held. */
static struct xlnet_node *node_of_lnet(const struct m0_lnet *lnet)
{
	struct xlnet_node *node;

	if (!places_inited)
		return NULL;
	m0_list_for_each_entry(&places, node, struct xlnet_node, xn_link) {
		if (node->xn_lnet == lnet)
			return node;
	}
	return NULL;
}

static bool nid_is_on(const struct xlnet_node  *node,
		      const struct m0_lnet_nid *nid)
{
	struct m0_lnet_process_id id;
	unsigned                  i;

	for (i = 0; m0_lnet_get_id(node->xn_lnet, i, &id) == 0; ++i) {
		if (m0_lnet_nid_eq(&id.lp_nid, nid))
			return true;
	}
	return false;
}

/* The node that has a NID; NULL: any NID. places_lock is held. */
static struct xlnet_node *node_of_nid(const struct m0_lnet_nid *nid)
{
	struct xlnet_node *node;

	if (!places_inited)
		return NULL;
	m0_list_for_each_entry(&places, node, struct xlnet_node, xn_link) {
		if (nid == NULL || nid_is_on(node, nid))
			return node;
	}
	return NULL;
}

static struct xlnet_node *node_make(struct m0_lnet *lnet)
{
	struct xlnet_node *node;

	M0_ALLOC_PTR(node);
	if (node == NULL)
		return NULL;
	node->xn_lnet = lnet;
	m0_list_link_init(&node->xn_link);
	m0_list_init(&node->xn_machines);
	m0_lnet_eq_init(&node->xn_eq, lnet, event_handle, 0);
	m0_lnet_eq_told_set(&node->xn_eq, events_told);
	return node;
}

/* @return false: there is one of this node. */
static bool node_add(struct xlnet_node *node)
{
	bool known;

	m0_mutex_lock(&places_lock);
	if (!places_inited)
		m0_list_init(&places);
	places_inited = true;
	known = node_of_lnet(node->xn_lnet) != NULL;
	if (!known)
		m0_list_add_tail(&places, &node->xn_link);
	m0_mutex_unlock(&places_lock);
	return !known;
}

/* It is not in places any more. */
static void node_free(struct xlnet_node *node)
{
	m0_lnet_eq_fini(&node->xn_eq);
	m0_list_fini(&node->xn_machines);
	m0_list_link_fini(&node->xn_link);
	m0_free(node);
}

int m0_net_lnet_use(struct m0_lnet *lnet)
{
	struct xlnet_node *node = node_make(lnet);

	if (node == NULL)
		return -ENOMEM;
	if (node_add(node))
		return 0;
	node_free(node);
	return -EEXIST;
}

int m0_net_lnet_unuse(struct m0_lnet *lnet)
{
	struct xlnet_node *node;
	int                rc = 0;

	m0_mutex_lock(&places_lock);
	node = node_of_lnet(lnet);
	if (node == NULL || node->xn_is_default)
		rc = -ENOENT;
	else if (node->xn_users_nr > 0)
		rc = -EBUSY;
	else
		m0_list_del(&node->xn_link);
	m0_mutex_unlock(&places_lock);
	if (rc == 0)
		node_free(node);
	return rc;
}

/* ----------------------------------------------------- the default node -- */

static void number_of_env(const char *name, uint64_t max, uint64_t *ret)
{
	const char *text = m0_os_env(name);
	uint64_t    v = 0;

	if (text == NULL || *text == 0)
		return;
	for (; *text >= '0' && *text <= '9' && v <= max; ++text)
		v = v * 10 + (uint64_t)(*text - '0');
	if (*text == 0 && v > 0 && v <= max)
		*ret = v;
	else
		m0_log(M0_LOG_WARN,
		       "lnet: $%s is no number from 1 to %" PRIu64
		       "; it is not used",
		       name, max);
}

static void accept_of_env(struct m0_lnet_cfg *cfg)
{
	static const char *const names[] = { [M0_LNET_ACCEPT_SECURE] = "secure",
					     [M0_LNET_ACCEPT_ALL] = "all",
					     [M0_LNET_ACCEPT_NONE] = "none" };
	const char              *text = m0_os_env("M0_LNET_ACCEPT");
	unsigned                 i;

	for (i = 0; text != NULL && i < ARRAY_SIZE(names); ++i) {
		if (strcmp(text, names[i]) == 0)
			cfg->lc_accept = (enum m0_lnet_accept)i;
	}
}

/* What the environment says. */
static int default_cfg(struct m0_lnet_cfg *cfg, char *why)
{
	const char *nets = m0_os_env("M0_LNET");
	const char *cpus = m0_os_env("M0_LNET_CPUS");
	uint64_t    port;
	uint64_t    timeout = 0;
	int         rc = 0;

	m0_lnet_cfg_default(cfg);
	port = cfg->lc_port;
	/* A thread comes with the first machine that needs one. */
	cfg->lc_inline = true;
	/* So many messages may leave in one call. */
	cfg->lc_peer_credits = PEER_CREDITS;
	number_of_env("M0_LNET_PORT", UINT16_MAX, &port);
	cfg->lc_port = (uint16_t)port;
	accept_of_env(cfg);
	/* From any port: those of old need a privilege. */
	if (cfg->lc_accept != M0_LNET_ACCEPT_SECURE) {
		cfg->lc_src_port_max = 0;
		cfg->lc_src_port_min = 0;
	}
	number_of_env("M0_LNET_TIMEOUT_MS", UINT32_MAX, &timeout);
	if (timeout > 0) {
		cfg->lc_transaction_timeout_ms = timeout;
		cfg->lc_timeout_ms = timeout;
	}
	/* Too long, it has no end, which the node's check finds. */
	if (cpus != NULL)
		memcpy(cfg->lc_cpus, cpus,
		       min64u(strlen(cpus) + 1, sizeof cfg->lc_cpus));
	if (nets != NULL && *nets != 0)
		rc = m0_lnet_cfg_networks(cfg, nets, why);
	return rc;
}

static int default_open(void)
{
	char                why[M0_LNET_WHY_BYTES] = "";
	struct m0_lnet_cfg *cfg;
	struct xlnet_node  *node;
	struct m0_lnet     *lnet;
	int                 rc;

	M0_ALLOC_PTR(cfg);
	if (cfg == NULL)
		return -ENOMEM;
	rc = default_cfg(cfg, why);
	if (rc == 0)
		rc = m0_lnet_open(&lnet, cfg, why);
	m0_free(cfg);
	if (rc != 0) {
		m0_log(M0_LOG_ERROR, "lnet: %s", why);
		return rc;
	}
	node = node_make(lnet);
	if (node == NULL) {
		m0_lnet_close(lnet);
		return -ENOMEM;
	}
	node->xn_is_default = true;
	(void)node_add(node);
	return 0;
}

/* Takes the default node off the list; NULL: there is none. places_lock. */
static struct xlnet_node *default_take(void)
{
	struct xlnet_node *node;

	m0_list_for_each_entry(&places, node, struct xlnet_node, xn_link) {
		if (node->xn_is_default) {
			m0_list_del(&node->xn_link);
			return node;
		}
	}
	return NULL;
}

/* Another domain's node is being opened or closed: waits. */
static void default_lock(void)
{
	m0_mutex_lock(&places_lock);
	while (default_changes) {
		m0_mutex_unlock(&places_lock);
		m0_time_sleep(m0_time_from_now(0, LOOK_NS));
		m0_mutex_lock(&places_lock);
	}
}

int m0_xlnet__nodes_get(void)
{
	bool opens;
	int  rc = 0;

	default_lock();
	opens = !places_inited || m0_list_is_empty(&places);
	default_changes = opens;
	++domains_nr;
	m0_mutex_unlock(&places_lock);
	if (!opens)
		return 0;
	rc = default_open();
	m0_mutex_lock(&places_lock);
	default_changes = false;
	if (rc != 0)
		--domains_nr;
	m0_mutex_unlock(&places_lock);
	return rc;
}

void m0_xlnet__nodes_put(void)
{
	struct xlnet_node *node = NULL;
	struct m0_lnet    *lnet;

	default_lock();
	if (--domains_nr == 0 && places_inited)
		node = default_take();
	default_changes = node != NULL;
	m0_mutex_unlock(&places_lock);
	if (node == NULL)
		return;
	lnet = node->xn_lnet;
	node_free(node);
	m0_lnet_close(lnet);
	m0_mutex_lock(&places_lock);
	default_changes = false;
	m0_mutex_unlock(&places_lock);
}

int m0_net_lnet_ifaces_get(struct m0_net_domain *dom, char ***addrs)
{
	enum {
		MAX = 512
	};
	struct m0_lnet_process_id id;
	struct xlnet_node        *node;
	char                    **ret;
	char                     *text;
	unsigned                  nr = 0;
	unsigned                  i;

	(void)dom;
	ret = m0_alloc((MAX + 1) * sizeof *ret + MAX * M0_LNET_NIDSTR_SIZE);
	if (ret == NULL)
		return -ENOMEM;
	text = (char *)&ret[MAX + 1];
	m0_mutex_lock(&places_lock);
	if (!places_inited)
		m0_list_init(&places);
	places_inited = true;
	m0_list_for_each_entry(&places, node, struct xlnet_node, xn_link) {
		/* The first of each is 0@lo. */
		for (i = nr == 0 ? 0 : 1;
		     nr < MAX && m0_lnet_get_id(node->xn_lnet, i, &id) == 0;
		     ++i, ++nr, text += M0_LNET_NIDSTR_SIZE)
			ret[nr] = m0_lnet_nid_print(&id.lp_nid, text,
						    M0_LNET_NIDSTR_SIZE);
	}
	m0_mutex_unlock(&places_lock);
	*addrs = ret;
	return 0;
}

void m0_net_lnet_ifaces_put(struct m0_net_domain *dom, char ***addrs)
{
	(void)dom;
	m0_free(*addrs);
	*addrs = NULL;
}

/* ------------------------------------------------------------- machines -- */

static bool tmid_is_taken(const struct xlnet_node *node, uint32_t portal,
			  uint32_t tmid)
{
	struct xlnet_machine *xm;

	m0_list_for_each_entry(&node->xn_machines, xm, struct xlnet_machine,
			       xm_link) {
		if (xm->xm_addr.xa_portal == portal &&
		    xm->xm_addr.xa_tmid == tmid)
			return true;
	}
	return false;
}

static int tmid_take(struct xlnet_node *node, struct xlnet_machine *xm)
{
	struct xlnet_addr *addr = &xm->xm_addr;
	uint32_t           tmid;

	if (addr->xa_tmid != XLNET_TMID_ANY) {
		if (tmid_is_taken(node, addr->xa_portal, addr->xa_tmid))
			return -EADDRINUSE;
	} else {
		tmid = M0_NET_LNET_TMID_MAX;
		while (tmid_is_taken(node, addr->xa_portal, tmid)) {
			if (tmid-- == 0)
				return -EADDRNOTAVAIL;
		}
		addr->xa_tmid = tmid;
	}
	m0_list_link_init(&xm->xm_link);
	m0_list_add_tail(&node->xn_machines, &xm->xm_link);
	return 0;
}

/*
 * A confined machine that is alone on its node has the node's thread, which moves
 * its bytes, on its processors. places_lock is held.
 */
static void cpus_hint(struct xlnet_node *node)
{
	const struct xlnet_machine *xm;
	const struct m0_bitmap     *cpus = NULL;
	uint32_t                    nr = 0;
	int                         rc;

	m0_list_for_each_entry(&node->xn_machines, xm, struct xlnet_machine,
			       xm_link) {
		cpus = m0_net_kit_machine_cpus(xm->xm_machine);
		++nr;
	}
	rc = m0_lnet_confine_hint(node->xn_lnet, nr == 1 ? cpus : NULL);
	if (rc != 0)
		m0_log(M0_LOG_WARN,
		       "lnet: the node's thread cannot follow its transfer "
		       "machine to its processors: %s",
		       m0_errname(rc));
}

/* The address of a machine that may be anywhere. */
static void addr_any(const struct xlnet_node *node, struct xlnet_addr *ret)
{
	struct m0_lnet_process_id id;

	if (m0_lnet_get_id(node->xn_lnet, 1, &id) != 0)
		(void)m0_lnet_get_id(node->xn_lnet, 0, &id);
	ret->xa_nid = id.lp_nid;
	ret->xa_portal = M0_NET_LNET_PORTAL;
	ret->xa_tmid = XLNET_TMID_ANY;
}

/* Finds the node of a machine and holds it. */
static int node_get(struct xlnet_machine         *xm,
		    const struct m0_net_kit_addr *wanted)
{
	struct xlnet_addr  addr;
	struct xlnet_node *node;

	if (xm->xm_node != NULL)
		return 0;
	if (wanted != NULL && m0_xlnet__addr_unpack(wanted, &addr) != 0)
		return -EINVAL;
	m0_mutex_lock(&places_lock);
	node = node_of_nid(wanted == NULL ? NULL : &addr.xa_nid);
	if (node != NULL) {
		++node->xn_users_nr;
		if (wanted == NULL)
			addr_any(node, &addr);
		xm->xm_addr = addr;
		__atomic_store_n(&xm->xm_node, node, __ATOMIC_RELEASE);
	}
	m0_mutex_unlock(&places_lock);
	return node == NULL ? -EADDRNOTAVAIL : 0;
}

/* The node may go now: polls of the machine, which may come still, look away. */
static void node_put(struct xlnet_machine *xm)
{
	m0_mutex_lock(&places_lock);
	--xm->xm_node->xn_users_nr;
	__atomic_store_n(&xm->xm_node, (struct xlnet_node *)NULL,
			 __ATOMIC_RELEASE);
	m0_mutex_unlock(&places_lock);
}

static void place_leave(struct xlnet_machine *xm)
{
	m0_mutex_lock(&places_lock);
	m0_list_del(&xm->xm_link);
	m0_list_link_fini(&xm->xm_link);
	cpus_hint(xm->xm_node);
	m0_mutex_unlock(&places_lock);
}

static int place_take(struct xlnet_machine *xm)
{
	struct m0_net_transfer_mc *tm = m0_net_kit_machine_tm(xm->xm_machine);
	int                        rc;

	m0_mutex_lock(&places_lock);
	rc = tmid_take(xm->xm_node, xm);
	if (rc == 0)
		cpus_hint(xm->xm_node);
	m0_mutex_unlock(&places_lock);
	if (rc != 0)
		return rc;
	m0_xlnet__addr_pack(&xm->xm_addr, &xm->xm_kit_addr);
	rc = m0_xlnet__queue_begin(xm);
	if (rc != 0) {
		place_leave(xm);
		return rc;
	}
	m0_mutex_lock(&tm->ntm_mutex);
	rc = m0_xlnet__catch_begin(xm);
	m0_mutex_unlock(&tm->ntm_mutex);
	if (rc != 0) {
		m0_xlnet__queue_end(xm);
		place_leave(xm);
	}
	return rc;
}

int m0_xlnet__start(struct m0_net_kit_machine    *machine,
		    const struct m0_net_kit_addr *wanted,
		    struct m0_net_kit_addr       *ret_own)
{
	struct xlnet_machine      *xm = xlnet_machine(machine);
	struct m0_net_transfer_mc *tm = m0_net_kit_machine_tm(machine);
	int                        rc;

	xm->xm_machine = machine;
	rc = node_get(xm, wanted);
	if (rc != 0)
		return rc;
	/* Someone's thread has to move the node. */
	if (!tm->ntm_bev_inline)
		rc = m0_lnet_thread_start(xm->xm_node->xn_lnet);
	if (rc == 0)
		rc = place_take(xm);
	if (rc == 0)
		*ret_own = xm->xm_kit_addr;
	else if (!xm->xm_has_runner)
		node_put(xm);
	return rc;
}

void m0_xlnet__stop(struct m0_net_kit_machine *machine)
{
	struct m0_net_transfer_mc *tm = m0_net_kit_machine_tm(machine);

	m0_mutex_lock(&tm->ntm_mutex);
	m0_xlnet__catch_end(xlnet_machine(machine));
	m0_mutex_unlock(&tm->ntm_mutex);
}

void m0_xlnet__leave(struct m0_net_kit_machine *machine)
{
	struct xlnet_machine *xm = xlnet_machine(machine);

	m0_xlnet__queue_end(xm);
	place_leave(xm);
	m0_xlnet__catch_free(xm);
	if (!xm->xm_has_runner)
		node_put(xm);
}

/* ------------------------------------------------------------------ MDs -- */

struct m0_lnet *m0_xlnet__machine_lnet(const struct xlnet_machine *xm)
{
	return xm->xm_node->xn_lnet;
}

struct m0_lnet *m0_xlnet__lnet(const struct m0_net_kit_buf *kb)
{
	return m0_xlnet__machine_lnet(xlnet_machine(kb->nkb_machine));
}

void m0_xlnet__me_any(const struct xlnet_machine *xm,
		      struct m0_lnet_me_attr     *ret)
{
	*ret = (struct m0_lnet_me_attr){
		.mea_portal = xm->xm_addr.xa_portal,
		.mea_id = { .lp_nid = m0_lnet_nid_any,
			    .lp_pid = M0_LNET_PID_ANY },
		.mea_match_bits = xlnet_msg_bits(xm->xm_addr.xa_tmid),
		.mea_flags = M0_LNET_ME_UNLINK
	};
}

int m0_xlnet__attach(struct xlnet_machine *xm, const struct m0_lnet_me_attr *me,
		     struct m0_lnet_md_attr *attr, struct xlnet_md *xd)
{
	attr->mda_eq = &xm->xm_node->xn_eq;
	attr->mda_user = xd;
	return m0_lnet_entry_attach(xm->xm_node->xn_lnet, me, attr, &xd->xd_md);
}

int m0_xlnet__queue_begin(struct xlnet_machine *xm)
{
	struct m0_lnet_me_attr me;

	m0_xlnet__me_any(xm, &me);
	me.mea_flags = M0_LNET_ME_QUEUE;
	return m0_lnet_me_attach(xm->xm_node->xn_lnet, &me, &xm->xm_queue);
}

void m0_xlnet__queue_end(struct xlnet_machine *xm)
{
	(void)m0_lnet_me_unlink(xm->xm_node->xn_lnet, xm->xm_queue);
}

int m0_xlnet__queue_add(struct xlnet_machine *xm, struct m0_lnet_md_attr *attr,
			struct xlnet_md *xd)
{
	attr->mda_eq = &xm->xm_node->xn_eq;
	attr->mda_user = xd;
	return m0_lnet_md_attach(xm->xm_node->xn_lnet, xm->xm_queue, attr,
				 &xd->xd_md);
}

int m0_xlnet__bind(struct xlnet_machine *xm, struct m0_lnet_md_attr *attr,
		   const struct m0_lnet_op *op, bool is_get,
		   struct xlnet_md *xd)
{
	struct m0_lnet *lnet = xm->xm_node->xn_lnet;

	attr->mda_eq = &xm->xm_node->xn_eq;
	attr->mda_user = xd;
	return is_get ? m0_lnet_bind_get(lnet, attr, op, &xd->xd_md)
		      : m0_lnet_bind_put(lnet, attr, op, &xd->xd_md);
}

void m0_xlnet__op(const struct xlnet_machine *xm, const struct xlnet_addr *to,
		  uint64_t bits, struct m0_lnet_op *ret)
{
	M0_SET0(ret);
	ret->lo_self = xm->xm_addr.xa_nid;
	ret->lo_target.lp_nid = to->xa_nid;
	ret->lo_target.lp_pid = M0_LNET_PID_LUSTRE;
	ret->lo_portal = to->xa_portal;
	ret->lo_match_bits = bits;
}

void m0_xlnet__end(struct xlnet_buf *xb, int32_t status)
{
	if (xb->xb_status == 0)
		xb->xb_status = status;
	if (xb->xb_ends)
		return;
	xb->xb_ends = true;
	/* -ENOENT: its last event is on its way. */
	(void)m0_lnet_md_unlink(m0_xlnet__lnet(xb->xb_md.xd_kb),
				xb->xb_md.xd_md);
}

/* -------------------------------------------------------------- running -- */

static m0_time_t machine_run(struct m0_lnet_runner *runner, m0_time_t now)
{
	return m0_net_kit_machine_run(container_of(runner, struct xlnet_machine,
						   xm_runner)
					      ->xm_machine,
				      now);
}

static void machine_wake(struct m0_net_kit_machine *machine)
{
	struct xlnet_machine *xm = xlnet_machine(machine);

	m0_lnet_runner_wake(xm->xm_node->xn_lnet, &xm->xm_runner);
}

static void machine_unrun(struct m0_net_kit_machine *machine)
{
	struct xlnet_machine *xm = xlnet_machine(machine);

	m0_lnet_runner_del(xm->xm_node->xn_lnet, &xm->xm_runner);
	node_put(xm);
}

const struct m0_net_kit_runner *m0_xlnet__runner(
	struct m0_net_kit_machine    *machine,
	const struct m0_net_kit_addr *wanted)
{
	static const struct m0_net_kit_runner runner = {
		.nkr_wake = machine_wake, .nkr_stop = machine_unrun
	};
	struct xlnet_machine *xm = xlnet_machine(machine);

	xm->xm_machine = machine;
	if (node_get(xm, wanted) != 0)
		return NULL;
	if (m0_lnet_thread_start(xm->xm_node->xn_lnet) != 0) {
		node_put(xm);
		return NULL;
	}
	xm->xm_runner.ru_run = machine_run;
	xm->xm_has_runner = true;
	m0_lnet_runner_add(xm->xm_node->xn_lnet, &xm->xm_runner);
	return &runner;
}

bool m0_xlnet__poll(struct m0_net_kit_machine *machine, bool unattended)
{
	struct xlnet_node *node = __atomic_load_n(
		&xlnet_machine(machine)->xm_node, __ATOMIC_ACQUIRE);

	if (node == NULL || !m0_lnet_is_inline(node->xn_lnet))
		return false;
	if (unattended && m0_lnet_thread_start(node->xn_lnet) == 0)
		return false;
	/* What was asked for need not wait until it was looked. */
	m0_lnet_push(node->xn_lnet);
	(void)m0_lnet_poll_at(node->xn_lnet, m0_time_cached());
	return true;
}

void m0_xlnet__push(struct m0_net_kit_machine *machine)
{
	struct xlnet_node *node = __atomic_load_n(
		&xlnet_machine(machine)->xm_node, __ATOMIC_ACQUIRE);

	if (node != NULL)
		m0_lnet_push(node->xn_lnet);
}

int m0_xlnet__poll_fd(struct m0_net_kit_machine *machine)
{
	struct xlnet_node *node = __atomic_load_n(
		&xlnet_machine(machine)->xm_node, __ATOMIC_ACQUIRE);

	return node == NULL ? -ENOENT : m0_lnet_fd(node->xn_lnet);
}
