/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a node.
 */
#include "home/home_internal.h"
#include "lnd/lo/lo.h"
#include "m0/lnet_run.h"

enum {
	/** In the order of hm_lnds. */
	LND_SOCK,
	LND_LO
};

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
	m0_home__msgs_share(lnet);
	return rc;
}

/* Also after a failed memory_init(). */
void m0_home__free(struct m0_lnet *lnet)
{
	m0_home__slots_fini(&lnet->hm_msgs);
	m0_home__slots_fini(&lnet->hm_mds);
	m0_home__slots_fini(&lnet->hm_mes);
	m0_free(lnet->hm_lazy);
	m0_os_cpus_fini(&lnet->hm_cpus);
	m0_mutex_fini(&lnet->hm_lock);
	m0_free(lnet);
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
	m0_list_init(&lnet->hm_probes_done);
	m0_list_init(&lnet->hm_eqs);
	m0_list_init(&lnet->hm_runners);
	m0_list_init(&lnet->hm_woken);
	lnet->hm_run_at = M0_TIME_NEVER;
	lnet->hm_inline = true;
	lnet->hm_inbox_tail = &lnet->hm_inbox;
	lnet->hm_events_tail = &lnet->hm_events;
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
	return m0_lnet_engine_create(&lnet->hm_engine, &ecfg, now);
}

static enum m0_sock_accept accept_of(enum m0_lnet_accept accept)
{
	switch (accept) {
	case M0_LNET_ACCEPT_SECURE:
		return M0_SOCK_ACCEPT_SECURE;
	case M0_LNET_ACCEPT_ALL:
		return M0_SOCK_ACCEPT_ALL;
	default:
		return M0_SOCK_ACCEPT_NONE;
	}
}

static int sock_make(struct m0_lnet *lnet, m0_time_t now)
{
	const struct m0_lnet_cfg *cfg = &lnet->hm_cfg;
	struct m0_sock_cfg        scfg;
	uint64_t                  seed;

	m0_sock_cfg_default(&scfg);
	scfg.soc_port = cfg->lc_port;
	scfg.soc_accept = accept_of(cfg->lc_accept);
	scfg.soc_src_port_max = cfg->lc_src_port_max;
	scfg.soc_src_port_min = cfg->lc_src_port_min;
	scfg.soc_peers_colibri = cfg->lc_peers_colibri;
	scfg.soc_pid = M0_LNET_PID_LUSTRE;
	scfg.soc_conns_per_peer = cfg->lc_control_only ? 0
						       : cfg->lc_conns_per_peer;
	scfg.soc_timeout_ns = ms(cfg->lc_timeout_ms);
	scfg.soc_accept_timeout_ns = ms(cfg->lc_accept_timeout_ms);
	scfg.soc_keepalive_ns = ms(cfg->lc_keepalive_ms);
	scfg.soc_reconnect_min_ns = ms(cfg->lc_reconnect_min_ms);
	scfg.soc_reconnect_max_ns = ms(cfg->lc_reconnect_max_ms);
	scfg.soc_conns_max = cfg->lc_conns_max;
	scfg.soc_accepting_max = cfg->lc_accepting_max;
	scfg.soc_failed_max = cfg->lc_peers_max;
	m0_os_random(&seed, sizeof seed);
	return m0_sock_create(&lnet->hm_lnds[LND_SOCK], &scfg, lnet->hm_io,
			      seed, now);
}

static int io_make(struct m0_lnet *lnet, const struct m0_sock_io_ops *ops)
{
	const struct m0_lnet_cfg *cfg = &lnet->hm_cfg;
	struct m0_sock_io_cfg     icfg = {
		    .sic_sndbuf_bytes = cfg->lc_sndbuf_bytes,
		    .sic_rcvbuf_bytes = cfg->lc_rcvbuf_bytes,
	};

	memcpy(icfg.sic_congestion, cfg->lc_congestion,
	       sizeof icfg.sic_congestion);
	return ops->sio_create(&lnet->hm_io, &icfg);
}

/* Sockets, engine and drivers, bottom up; what was made stays on failure. */
static int parts_make(struct m0_lnet *lnet, const struct m0_sock_io_ops *ops,
		      char *why)
{
	m0_time_t now = m0_time_now();
	int       rc = io_make(lnet, ops);

	if (rc != 0)
		return m0_home__why(why, rc, "sockets cannot be watched: %s",
				    m0_errname(rc));
	if (ops->sio_strand_set != NULL)
		ops->sio_strand_set(lnet->hm_io, &lnet->hm_strand);
	rc = engine_make(lnet, now);
	if (rc == 0)
		rc = sock_make(lnet, now);
	if (rc == 0)
		rc = m0_lo_create(&lnet->hm_lnds[LND_LO]);
	return rc == 0 ? 0
		       : m0_home__why(why, rc, "the node cannot be made: %s",
				      m0_errname(rc));
}

void m0_home__parts_free(struct m0_lnet *lnet)
{
	int i;

	if (lnet->hm_engine != NULL)
		m0_lnet_engine_destroy(lnet->hm_engine);
	/* The socket driver ends the room below it, too. */
	if (lnet->hm_lnds[LND_SOCK] == NULL && lnet->hm_io != NULL)
		lnet->hm_io->si_ops->sio_destroy(lnet->hm_io);
	for (i = 0; i < M0_HOME_LNDS_NR; ++i) {
		if (lnet->hm_lnds[i] != NULL)
			lnet->hm_lnds[i]->ld_ops->ldo_fini(lnet->hm_lnds[i]);
		lnet->hm_lnds[i] = NULL;
	}
	lnet->hm_engine = NULL;
	lnet->hm_io = NULL;
}

static int ni_start(struct m0_lnet *lnet, const struct m0_lnet_nid *nid,
		    const char *device, uint64_t incarnation,
		    struct m0_lnd *lnd, char *why)
{
	struct m0_lnd_ni *ni;
	int               rc;

	rc = m0_lnet_engine_ni_add(lnet->hm_engine, nid, device, incarnation,
				   lnd, &ni);
	if (rc != 0)
		return m0_home__why(why, rc, "an interface cannot be made: %s",
				    m0_errname(rc));
	rc = lnd->ld_ops->ldo_ni_start(lnd, ni, why);
	if (rc != 0) {
		m0_lnet_engine_ni_del(lnet->hm_engine, ni);
		return rc;
	}
	m0_lnet_engine_ni_up(lnet->hm_engine, ni);
	lnet->hm_nids[lnet->hm_nids_nr++] = *nid;
	return 0;
}

static int nis_start(struct m0_lnet *lnet, const struct m0_home_iface *ifaces,
		     unsigned nr, char *why)
{
	uint64_t incarnation = m0_os_wall_ns();
	unsigned i;
	int      rc;

	m0_lnet_engine_time(lnet->hm_engine, m0_time_now());
	rc = ni_start(lnet, &m0_lnet_nid_lo, "lo", incarnation,
		      lnet->hm_lnds[LND_LO], why);
	for (i = 0; rc == 0 && i < nr; ++i)
		rc = ni_start(lnet, &ifaces[i].hif_nid, ifaces[i].hif_device,
			      incarnation, lnet->hm_lnds[LND_SOCK], why);
	return rc;
}

/* The interfaces of the configuration, as addresses. */
static int ifaces_find(const struct m0_lnet_cfg    *cfg,
		       const struct m0_sock_io_ops *ops,
		       struct m0_home_iface *ret, unsigned *ret_nr, char *why)
{
	struct m0_sock_iface *ifaces;
	int                   nr;
	int                   rc;

	M0_ALLOC_ARR(ifaces, M0_HOME_IFACES_MAX);
	if (ifaces == NULL)
		return -ENOMEM;
	nr = ops->sio_ifaces(ifaces, M0_HOME_IFACES_MAX);
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

static int lnet_start(struct m0_lnet *lnet, const struct m0_sock_io_ops *ops,
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
		rc = ifaces_find(&lnet->hm_cfg, ops, ifaces, &nr, why);
	if (rc == 0)
		rc = parts_make(lnet, ops, why);
	if (rc == 0)
		rc = nis_start(lnet, ifaces, nr, why);
	m0_free(ifaces);
	return rc;
}

int m0_lnet_open(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg, char *why)
{
	const struct m0_sock_io_ops *ops = m0_sock_io_get();
	struct m0_lnet_cfg           dflt;
	struct m0_lnet              *lnet;
	char                         text[M0_LNET_WHY_BYTES] = "";
	int                          rc;

	M0_BASSERT((int)M0_LND_WHY_BYTES == (int)M0_LNET_WHY_BYTES);
	if (cfg == NULL) {
		m0_lnet_cfg_default(&dflt);
		cfg = &dflt;
	}
	rc = m0_lnet_cfg_check(cfg, why);
	if (rc != 0)
		return rc;
	if (ops == NULL)
		return m0_home__why(why, -ENOSYS,
				    "this program was built without sockets");
	lnet = lnet_new(cfg);
	if (lnet == NULL)
		return m0_home__why(why, -ENOMEM, "no memory for a node");
	rc = lnet_start(lnet, ops, text);
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
