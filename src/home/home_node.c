/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a node.
 */
#include "home/home_internal.h"
#include "m0/lnet_run.h"

static m0_time_t ms(uint64_t nr)
{
	return nr * M0_TIME_ONE_MSEC;
}

/* ------------------------------------------------------------------ open -- */

static int memory_init(struct m0_lnet *lnet)
{
	const struct m0_lnet_cfg *cfg = &lnet->hm_cfg;
	int                       rc;

	M0_ALLOC_ARR(lnet->hm_lazy, cfg->lc_portals_nr);
	if (lnet->hm_lazy == NULL)
		return -ENOMEM;
	rc = m0_home__slots_init(&lnet->hm_mes, sizeof(struct m0_home_me),
				 cfg->lc_mes_max);
	if (rc == 0)
		rc = m0_home__slots_init(&lnet->hm_mds,
					 sizeof(struct m0_home_md),
					 cfg->lc_mds_max);
	if (rc == 0)
		rc = m0_home__slots_init(&lnet->hm_msgs,
					 sizeof(struct m0_home_msg),
					 cfg->lc_msgs_max);
	if (rc == 0)
		rc = m0_home__slots_init(&lnet->hm_eq_slots,
					 sizeof(struct m0_home_eq),
					 M0_HOME_EQS_MAX);
	m0_home__msgs_share(lnet);
	return rc;
}

static struct m0_lnet *lnet_new(const struct m0_lnet_cfg *cfg)
{
	struct m0_lnet *lnet;

	M0_ALLOC_PTR(lnet);
	if (lnet == NULL)
		return NULL;
	lnet->hm_cfg = *cfg;
	m0_mutex_init(&lnet->hm_lock);
	m0_list_init(&lnet->hm_probes);
	m0_list_init(&lnet->hm_node.hno_probes_done);
	m0_list_init(&lnet->hm_eqs);
	m0_list_init(&lnet->hm_runners);
	m0_list_init(&lnet->hm_woken);
	m0_home__mems_init(lnet);
	lnet->hm_run_at = M0_TIME_NEVER;
	lnet->hm_inline = true;
	lnet->hm_down.hdq_tail = &lnet->hm_down.hdq_first;
	lnet->hm_node.hno_do = m0_home__do;
	m0_list_init(&lnet->hm_down.hdq_calls);
	m0_list_init(&lnet->hm_node.hno_calls_taken);
	m0_list_init(&lnet->hm_barriers);
	lnet->hm_up.huq_tail = &lnet->hm_up.huq_first;
	(void)m0_semaphore_init(&lnet->hm_closed_sem, 0);
	m0_strand_init(&lnet->hm_strand, &m0_home__strand_ops, "m0-lnet");
	if (cfg->lc_spin_ns >= 0)
		lnet->hm_strand.st_spin_ns = (m0_time_t)cfg->lc_spin_ns;
	if (memory_init(lnet) != 0) {
		m0_home__free(lnet);
		return NULL;
	}
	return lnet;
}

static int engine_make(struct m0_lnet *lnet, m0_time_t now)
{
	const struct m0_lnet_cfg *cfg = &lnet->hm_cfg;
	struct m0_lnet_engine_cfg ecfg = {
		.lec_pid = M0_LNET_PID_LUSTRE,
		.lec_portals_nr = cfg->lc_portals_nr,
		.lec_peers_max = cfg->lc_peers_max,
		.lec_msgs_max = cfg->lc_msgs_max,
		.lec_peer_credits = cfg->lc_peer_credits,
		.lec_credits = cfg->lc_credits,
		.lec_discovery = cfg->lc_discovery,
		.lec_transaction_timeout_ns =
			ms(cfg->lc_transaction_timeout_ms),
		.lec_timeout_ns = ms(cfg->lc_timeout_ms),
		.lec_home_ops = &m0_home__ops,
		.lec_home = lnet,
	};

	m0_os_random(&ecfg.lec_cookie, sizeof ecfg.lec_cookie);
	return m0_lnet_engine_create(&lnet->hm_node.hno_engine, &ecfg, now);
}

/* The driver of this type of network; NULL: none was made. */
static struct m0_lnd *lnd_of(const struct m0_lnet *lnet, uint8_t type)
{
	unsigned i;

	for (i = 0; i < lnet->hm_node.hno_lnds_nr; ++i)
		if (m0_lnd_row_has(lnet->hm_node.hno_rows[i], type))
			return lnet->hm_node.hno_lnds[i];
	return NULL;
}

/* Does the configuration have a network that this driver serves? */
static bool is_wanted(const struct m0_lnet_cfg *cfg,
		      const struct m0_lnd_row  *row)
{
	unsigned i;

	for (i = 0; i < cfg->lc_nets_nr; ++i)
		if (m0_lnd_row_has(row,
				   m0_lnet_net_type(cfg->lc_nets[i].lnc_net)))
			return true;
	return m0_lnd_row_has(row, M0_LNET_TYPE_LO) ||
	       (cfg->lc_nets_nr == 0 && m0_lnd_row_has(row, M0_LNET_TYPE_TCP));
}

static int lnds_make(struct m0_lnet *lnet, m0_time_t now, char *why)
{
	struct m0_lnd_env env = { .lev_reactor = lnet->hm_node.hno_reactor,
				  .lev_cfg = &lnet->hm_cfg,
				  .lev_now = now };
	const struct m0_lnd_row *row;
	struct m0_lnd           *lnd;
	unsigned                 i;
	int                      rc = 0;

	m0_os_random(&env.lev_seed, sizeof env.lev_seed);
	for (i = 0; rc == 0 && (row = m0_lnd_row_at(i)) != NULL; ++i) {
		if (!is_wanted(&lnet->hm_cfg, row))
			continue;
		rc = row->lrw_create(&lnd, &env, why);
		if (rc == 0)
			m0_home__lnd_add(lnet, row, lnd);
	}
	return rc;
}

/* Reactor, engine and drivers, bottom up; what was made stays on failure. */
static int parts_make(struct m0_lnet *lnet, const struct m0_host_ops *host,
		      char *why)
{
	m0_time_t now = m0_time_now();
	int       rc = host->hso_reactor_create(&lnet->hm_node.hno_reactor);

	if (rc != 0)
		return m0_home__why(why, rc, "sockets cannot be watched: %s",
				    m0_errname(rc));
	lnet->hm_node.hno_reactor->rtr_now = now;
	if (lnet->hm_node.hno_reactor->rtr_ops->rtro_strand_set != NULL)
		lnet->hm_node.hno_reactor->rtr_ops->rtro_strand_set(
			lnet->hm_node.hno_reactor, &lnet->hm_strand);
	rc = engine_make(lnet, now);
	if (rc == 0)
		rc = lnds_make(lnet, now, why);
	if (rc == 0 || why[0] != 0)
		return rc;
	return m0_home__why(why, rc, "the node cannot be made: %s",
			    m0_errname(rc));
}

static int ni_start(struct m0_lnet *lnet, const struct m0_lnet_nid *nid,
		    const char *device, uint64_t incarnation, char *why)
{
	struct m0_lnd    *lnd = lnd_of(lnet, nid->ln_type);
	struct m0_lnd_ni *ni;
	int               rc;

	M0_PRE(lnd != NULL);

	rc = m0_lnet_engine_ni_add(lnet->hm_node.hno_engine, nid, device,
				   incarnation, lnd, &ni);
	if (rc != 0)
		return m0_home__why(why, rc, "an interface cannot be made: %s",
				    m0_errname(rc));
	rc = lnd->ld_ops->ldo_ni_start(lnd, ni, why);
	if (rc != 0) {
		m0_lnet_engine_ni_del(lnet->hm_node.hno_engine, ni);
		return rc;
	}
	m0_lnet_engine_ni_up(lnet->hm_node.hno_engine, ni);
	lnet->hm_nids[lnet->hm_nids_nr++] = *nid;
	return 0;
}

static int nis_start(struct m0_lnet *lnet, const struct m0_home_iface *ifaces,
		     unsigned nr, char *why)
{
	uint64_t incarnation = m0_os_wall_ns();
	unsigned i;
	int      rc;

	m0_lnet_engine_time(lnet->hm_node.hno_engine, m0_time_now());
	rc = ni_start(lnet, &m0_lnet_nid_lo, "lo", incarnation, why);
	for (i = 0; rc == 0 && i < nr; ++i)
		rc = ni_start(lnet, &ifaces[i].hif_nid, ifaces[i].hif_device,
			      incarnation, why);
	return rc;
}

/* The interfaces of the configuration, as addresses. */
static int ifaces_find(const struct m0_lnet_cfg *cfg,
		       const struct m0_host_ops *host,
		       struct m0_home_iface *ret, unsigned *ret_nr, char *why)
{
	struct m0_host_iface *ifaces;
	int                   nr;
	int                   rc;

	M0_ALLOC_ARR(ifaces, M0_HOME_IFACES_MAX);
	if (ifaces == NULL)
		return -ENOMEM;
	nr = host->hso_ifaces(ifaces, M0_HOME_IFACES_MAX);
	if (nr < 0)
		rc = m0_home__why(why, nr,
				  "the addresses of this machine cannot be "
				  "listed: %s",
				  m0_errname(nr));
	else
		rc = m0_home__ifaces(cfg, ifaces,
				     min_check((unsigned)nr,
					       (unsigned)M0_HOME_IFACES_MAX),
				     ret, M0_HOME_NIS_MAX, ret_nr, why);
	m0_free(ifaces);
	return rc;
}

static int lnet_start(struct m0_lnet *lnet, const struct m0_host_ops *host,
		      char *why)
{
	struct m0_home_iface *ifaces;
	unsigned              nr = 0;
	int                   rc;

	M0_ALLOC_ARR(ifaces, M0_HOME_NIS_MAX);
	if (ifaces == NULL)
		return -ENOMEM;
	rc = m0_home__cpus_set(lnet, why);
	if (rc == 0)
		rc = ifaces_find(&lnet->hm_cfg, host, ifaces, &nr, why);
	if (rc == 0)
		rc = parts_make(lnet, host, why);
	if (rc == 0)
		rc = nis_start(lnet, ifaces, nr, why);
	m0_free(ifaces);
	return rc;
}

int m0_lnet_open(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg, char *why)
{
	const struct m0_host_ops *host = m0_host_ops_get();
	struct m0_lnet_cfg        dflt;
	struct m0_lnet           *lnet;
	char                      text[M0_LNET_WHY_BYTES] = "";
	int                       rc;

	M0_BASSERT((int)M0_LND_WHY_BYTES == (int)M0_LNET_WHY_BYTES);
	if (cfg == NULL) {
		m0_lnet_cfg_default(&dflt);
		cfg = &dflt;
	}
	rc = m0_lnet_cfg_check(cfg, why);
	if (rc != 0)
		return rc;
	if (host == NULL)
		return m0_home__why(why, -ENOSYS,
				    "this program was built without sockets");
	lnet = lnet_new(cfg);
	if (lnet == NULL)
		return m0_home__why(why, -ENOMEM, "no memory for a node");
	rc = lnet_start(lnet, host, text);
	if (rc == 0 && !cfg->lc_inline)
		rc = m0_lnet_thread_start(lnet);
	if (rc == 0) {
		*ret = lnet;
		return 0;
	}
	m0_home__undo(lnet);
	return m0_home__why(why, rc, "%s",
			    text[0] != 0 ? text : m0_errname(rc));
}
