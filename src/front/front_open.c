/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Opening a node in this process.
 */
#include "front/front_internal.h"
#include "m0/lnet_route.h"

enum {
	/** Interval of looks at the gateways that are checked. */
	ROUTERS_TICK_NS = 2 * 1000 * 1000
};

int m0_front__ring_make(struct m0_lnet *lnet)
{
	size_t bytes = m0_front__ring_bytes(lnet);

	M0_PRE(lnet->fro_ring == NULL && lnet->fro_node == NULL);
	lnet->fro_ring = m0_alloc_aligned(bytes, 6);
	if (lnet->fro_ring == NULL)
		return -ENOMEM;
	m0_ring_out_init(&lnet->fro_down, &lnet->fro_ring->rng_down);
	m0_ring_in_init(&lnet->fro_up, &lnet->fro_ring->rng_up);
	return 0;
}

/* Returns the smaller one; 0 is no bound. */
static uint32_t bound(uint32_t nr, uint32_t max)
{
	return max == 0 ? nr : min_check(nr, max);
}

int m0_front__slots_make(struct m0_lnet *lnet, uint32_t max)
{
	const struct m0_lnet_cfg *cfg = &lnet->fro_cfg;
	int                       rc;

	rc = m0_front__slots_init(&lnet->fro_mes, sizeof(struct m0_front_me),
				  offsetof(struct m0_front_me, fme_attach),
				  bound(cfg->lc_mes_max, max));
	if (rc == 0)
		rc = m0_front__slots_init(
			&lnet->fro_mds, sizeof(struct m0_front_md),
			offsetof(struct m0_front_md, fmd_attach),
			bound(cfg->lc_mds_max, max));
	if (rc == 0)
		rc = m0_front__slots_init(
			&lnet->fro_ops, sizeof(struct m0_front_op),
			offsetof(struct m0_front_op, fop_place),
			bound(m0_node_share_max(cfg), max));
	if (rc == 0)
		rc = m0_front__slots_init(&lnet->fro_eq_slots,
					  sizeof(struct m0_front_eq),
					  sizeof(struct m0_front_slot),
					  bound(M0_NODE_EQS_MAX, max));
	if (rc == 0)
		rc = m0_front__slots_init(&lnet->fro_segs,
					  sizeof(struct m0_front_slot),
					  sizeof(struct m0_front_slot),
					  bound(M0_RING_SEGS_MAX, max));
	if (rc == 0)
		rc = m0_front__slots_init(
			&lnet->fro_controls, sizeof(struct m0_front_control),
			offsetof(struct m0_front_control, fcl_place),
			bound(M0_RING_CONTROLS_MAX, max));
	return rc;
}

struct m0_lnet *m0_front__new(const struct m0_lnet_cfg   *cfg,
			      const struct m0_strand_ops *ops)
{
	struct m0_lnet        *lnet;
	struct m0_front_embed *embed;

	M0_ALLOC_PTR(lnet);
	if (lnet == NULL)
		return NULL;
	lnet->fro_cfg = *cfg;
	lnet->fro_share_max = m0_node_share_max(cfg);
	m0_mutex_init(&lnet->fro_lock);
	m0_list_init(&lnet->fro_calls);
	m0_list_init(&lnet->fro_eqs);
	m0_list_init(&lnet->fro_runners);
	m0_list_init(&lnet->fro_woken);
	m0_list_init(&lnet->fro_embed.emb_behinds);
	m0_list_init(&lnet->fro_embed.emb_tms);
	m0_front__mems_init(lnet);
	lnet->fro_run_at = M0_TIME_NEVER;
	lnet->fro_inline = true;
	embed = &lnet->fro_embed;
	(void)m0_semaphore_init(&embed->emb_closed_sem, 0);
	m0_strand_init(&embed->emb_strand, ops, "m0-lnet");
	if (cfg->lc_spin_ns >= 0)
		embed->emb_strand.st_spin_ns = (m0_time_t)cfg->lc_spin_ns;
	return lnet;
}

static int memory_init(struct m0_lnet *lnet)
{
	int rc;

	M0_ALLOC_ARR(lnet->fro_lazy, lnet->fro_cfg.lc_portals_nr);
	if (lnet->fro_lazy == NULL)
		return -ENOMEM;
	rc = m0_front__ring_make(lnet);
	if (rc == 0)
		rc = m0_front__slots_make(lnet, 0);
	if (rc == 0)
		rc = m0_front__records_init(lnet);
	if (rc == 0)
		rc = m0_node_create(&lnet->fro_node, &lnet->fro_cfg,
				    lnet->fro_ring, &m0_front__host, lnet);
	return rc;
}

static struct m0_lnet *lnet_new(const struct m0_lnet_cfg *cfg)
{
	struct m0_lnet *lnet = m0_front__new(cfg, &m0_front__strand_ops);

	if (lnet != NULL && memory_init(lnet) != 0) {
		m0_front__free(lnet);
		return NULL;
	}
	return lnet;
}

static int lnet_start(struct m0_lnet *lnet, const struct m0_host_ops *host,
		      char *why)
{
	int rc = m0_node_cpus_set(&lnet->fro_embed.emb_cpus, &lnet->fro_cfg,
				  why);

	if (rc == 0)
		rc = m0_node_start(lnet->fro_node, &lnet->fro_embed.emb_strand,
				   host, why);
	if (rc != 0)
		return rc;
	lnet->fro_nids.fns_version = lnet->fro_node->nod_nids_version;
	lnet->fro_nids.fns_nr = lnet->fro_node->nod_nids_nr;
	memcpy(lnet->fro_nids.fns_nid, lnet->fro_node->nod_nids,
	       sizeof lnet->fro_nids.fns_nid);
	return 0;
}

/*
 * Waits until each gateway was checked once. A check ends after the time-out of its
 * ping; one that queues behind those of many gateways may end after the wait.
 */
static void routers_await(struct m0_lnet *lnet)
{
	const struct m0_lnet_routing_cfg *cfg = &lnet->fro_cfg.lc_routing;
	m0_time_t                         until;

	M0_PRE(!lnet->fro_inline);
	if (!cfg->lgc_check_first || cfg->lgc_routes_nr == 0)
		return;
	until = m0_time_add(m0_time_now(), cfg->lgc_ping_ms * M0_TIME_ONE_MSEC);
	while (m0_lnet_routes_unchecked(lnet) > 0 && m0_time_now() < until)
		m0_time_sleep(m0_time_from_now(0, ROUTERS_TICK_NS));
}

/* -------------------------------------------------------------- attached -- */

static m0_front_attach_open_t attach_open;

m0_front_attach_open_t m0_front_attach_open_set(m0_front_attach_open_t open)
{
	m0_front_attach_open_t before = attach_open;

	attach_open = open;
	return before;
}

/* The daemon's path, "" for the usual one; NULL: the node is in this process. */
static const char *attach_path(const struct m0_lnet_cfg *cfg)
{
	static const char word[] = "attach";
	const char       *text = cfg->lc_attach;
	const char       *env = m0_os_env("M0_LNET");

	if (strcmp(text, "none") == 0)
		return NULL;
	if (text[0] != 0)
		return strcmp(text, "default") == 0 ? "" : text;
	if (env == NULL || strncmp(env, word, sizeof word - 1) != 0)
		return NULL;
	env += sizeof word - 1;
	if (*env == 0)
		return env;
	/* Another text names a network. */
	return *env == ':' ? env + 1 : NULL;
}

static int attached_open(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg,
			 const char *path, char *why)
{
	struct m0_lnet *lnet = NULL;
	int             rc;

	if (attach_open == NULL)
		return m0_node_why(why, -ENOSYS,
				   "this program cannot attach to a node");
	rc = attach_open(&lnet, cfg, path, why);
	if (rc != 0)
		return rc;
	rc = m0_node_cpus_set(&lnet->fro_embed.emb_cpus, cfg, why);
	if (rc == 0 && !cfg->lc_inline) {
		rc = m0_lnet_thread_start(lnet);
		if (rc != 0)
			(void)m0_node_why(why, rc, "%s", m0_errname(rc));
	}
	if (rc == 0)
		*ret = lnet;
	else
		m0_lnet_close(lnet);
	return rc;
}

/* ------------------------------------------------------------------------ */

static int cfg_open(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg,
		    char *why)
{
	const struct m0_host_ops *host = m0_host_ops_get();
	struct m0_lnet           *lnet;
	char                      text[M0_LNET_WHY_BYTES] = "";
	int                       rc;

	M0_BASSERT((int)M0_LND_WHY_BYTES == (int)M0_LNET_WHY_BYTES);
	rc = m0_lnet_cfg_check(cfg, why);
	if (rc != 0)
		return rc;
	if (attach_path(cfg) != NULL)
		return attached_open(ret, cfg, attach_path(cfg), why);
	if (host == NULL)
		return m0_node_why(why, -ENOSYS,
				   "this program was built without sockets");
	lnet = lnet_new(cfg);
	if (lnet == NULL)
		return m0_node_why(why, -ENOMEM, "no memory for a node");
	rc = lnet_start(lnet, host, text);
	if (rc == 0 && !cfg->lc_inline)
		rc = m0_lnet_thread_start(lnet);
	if (rc == 0) {
		if (!cfg->lc_inline)
			routers_await(lnet);
		*ret = lnet;
		return 0;
	}
	m0_front__undo(lnet);
	return m0_node_why(why, rc, "%s", text[0] != 0 ? text : m0_errname(rc));
}

int m0_lnet_open(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg, char *why)
{
	struct m0_lnet_cfg *dflt;
	int                 rc;

	if (cfg != NULL)
		return cfg_open(ret, cfg, why);
	/* Too large for a kernel's stack. */
	M0_ALLOC_PTR(dflt);
	if (dflt == NULL)
		return m0_node_why(why, -ENOMEM, "no memory for a node");
	m0_lnet_cfg_default(dflt);
	rc = cfg_open(ret, dflt, why);
	m0_free(dflt);
	return rc;
}
