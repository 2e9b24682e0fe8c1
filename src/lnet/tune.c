/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Tunables and health that the user sets while the node runs. */
#include "lnet/health/health.h"

enum {
	DAY_SECONDS = 86400
};

/** A tunable and its range. */
struct tunable {
	const char *tun_name;
	uint64_t    tun_min;
	uint64_t    tun_max;
};

static const struct tunable tunables[M0_LNET_TUNABLES_NR] = {
	[M0_LNET_TUNE_DISCOVERY] = { "discovery", 0, 1 },
	[M0_LNET_TUNE_DROP_ASYM_ROUTE] = { "drop_asym_route", 0, 1 },
	[M0_LNET_TUNE_RETRY_COUNT] = { "retry_count", 0, UINT8_MAX },
	[M0_LNET_TUNE_TRANSACTION_TIMEOUT] = { "transaction_timeout", 1,
					       DAY_SECONDS },
	[M0_LNET_TUNE_HEALTH_SENSITIVITY] = { "health_sensitivity", 0,
					      M0_LNET_HEALTH_MAX },
	[M0_LNET_TUNE_RECOVERY_LIMIT] = { "recovery_limit", 0, DAY_SECONDS },
	[M0_LNET_TUNE_MAX_RECOVERY_PING_INTERVAL] = { "max_recovery_ping_interval",
						      1, DAY_SECONDS },
	[M0_LNET_TUNE_CUT_THROUGH] = { "cut_through", 0, 1 },
	[M0_LNET_TUNE_SPLICE] = { "splice", 0, 1 },
};

const char *m0_lnet_tunable_name(enum m0_lnet_tunable tunable)
{
	return (unsigned)tunable < M0_LNET_TUNABLES_NR
		       ? tunables[tunable].tun_name
		       : "unknown";
}

void m0_lnet__tunable_range(enum m0_lnet_tunable tunable, uint64_t *min,
			    uint64_t *max)
{
	M0_PRE((unsigned)tunable < M0_LNET_TUNABLES_NR);
	*min = tunables[tunable].tun_min;
	*max = tunables[tunable].tun_max;
}

static m0_time_t seconds(uint64_t nr)
{
	return nr * M0_TIME_ONE_SECOND;
}

/** Rounds up, as times of the configuration may have fractions. */
static uint64_t in_seconds(m0_time_t time)
{
	return (time + M0_TIME_ONE_SECOND - 1) / M0_TIME_ONE_SECOND;
}

void m0_lnet_engine_tunables(const struct m0_lnet_engine *eng,
			     uint64_t ret[M0_LNET_TUNABLES_NR])
{
	const struct m0_lnet_engine_cfg  *cfg = &eng->le_cfg;
	const struct m0_lnet_health_ecfg *health = &cfg->lec_health;

	ret[M0_LNET_TUNE_DISCOVERY] = cfg->lec_discovery;
	ret[M0_LNET_TUNE_DROP_ASYM_ROUTE] = cfg->lec_route.lrc_drop_asym;
	ret[M0_LNET_TUNE_RETRY_COUNT] = health->lhe_retries;
	ret[M0_LNET_TUNE_TRANSACTION_TIMEOUT] =
		in_seconds(cfg->lec_transaction_timeout_ns);
	ret[M0_LNET_TUNE_HEALTH_SENSITIVITY] = health->lhe_sensitivity;
	ret[M0_LNET_TUNE_RECOVERY_LIMIT] = in_seconds(health->lhe_limit_ns);
	ret[M0_LNET_TUNE_MAX_RECOVERY_PING_INTERVAL] =
		in_seconds(health->lhe_ping_max_ns);
	ret[M0_LNET_TUNE_CUT_THROUGH] = cfg->lec_route.lrc_cut_through;
	ret[M0_LNET_TUNE_SPLICE] = cfg->lec_route.lrc_splice;
}

/** Returns true if the values fit together once `tunable` is changed. */
static bool fits(const struct m0_lnet_engine *eng, enum m0_lnet_tunable tunable,
		 uint64_t value)
{
	uint64_t now[M0_LNET_TUNABLES_NR];

	m0_lnet_engine_tunables(eng, now);
	now[tunable] = value;
	switch (tunable) {
	case M0_LNET_TUNE_RETRY_COUNT:
		if (value > 0 && now[M0_LNET_TUNE_HEALTH_SENSITIVITY] == 0)
			return false;
		__attribute__((__fallthrough__));
	case M0_LNET_TUNE_TRANSACTION_TIMEOUT:
		return now[M0_LNET_TUNE_RETRY_COUNT] <
		       now[M0_LNET_TUNE_TRANSACTION_TIMEOUT];
	default:
		return true;
	}
}

/** Peers learn whether this node takes part in discovery. */
static void discovery_set(struct m0_lnet_engine *eng, bool on)
{
	if (eng->le_cfg.lec_discovery == on)
		return;
	eng->le_cfg.lec_discovery = on;
	m0_lnet__topology_changed(eng);
	m0_lnet__nis_publish(eng);
}

int m0_lnet_engine_tune(struct m0_lnet_engine *eng,
			enum m0_lnet_tunable tunable, uint64_t value)
{
	struct m0_lnet_engine_cfg  *cfg = &eng->le_cfg;
	struct m0_lnet_health_ecfg *health = &cfg->lec_health;

	if ((unsigned)tunable >= M0_LNET_TUNABLES_NR ||
	    value < tunables[tunable].tun_min ||
	    value > tunables[tunable].tun_max || !fits(eng, tunable, value))
		return -EINVAL;
	switch (tunable) {
	case M0_LNET_TUNE_DISCOVERY:
		discovery_set(eng, value != 0);
		break;
	case M0_LNET_TUNE_DROP_ASYM_ROUTE:
		cfg->lec_route.lrc_drop_asym = value != 0;
		break;
	case M0_LNET_TUNE_CUT_THROUGH:
		cfg->lec_route.lrc_cut_through = value != 0;
		break;
	case M0_LNET_TUNE_SPLICE:
		cfg->lec_route.lrc_splice = value != 0;
		break;
	case M0_LNET_TUNE_RETRY_COUNT:
		health->lhe_retries = (unsigned)value;
		break;
	case M0_LNET_TUNE_TRANSACTION_TIMEOUT:
		cfg->lec_transaction_timeout_ns = seconds(value);
		break;
	case M0_LNET_TUNE_HEALTH_SENSITIVITY:
		health->lhe_sensitivity = (unsigned)value;
		if (value == 0)
			health->lhe_retries = 0;
		break;
	case M0_LNET_TUNE_RECOVERY_LIMIT:
		health->lhe_limit_ns = seconds(value);
		break;
	default:
		health->lhe_ping_max_ns = seconds(value);
		break;
	}
	return 0;
}

/* -- health ---------------------------------------------------------------- */

static bool is_meant(const struct m0_lnet_nid *want,
		     const struct m0_lnet_nid *nid)
{
	return m0_lnet_nid_is_any(want) || m0_lnet_nid_eq(want, nid);
}

unsigned m0_lnet_engine_health_set(struct m0_lnet_engine    *eng,
				   enum m0_lnet_health_of    of,
				   const struct m0_lnet_nid *nid,
				   unsigned                  health)
{
	struct m0_lnet_lpni *lpni;
	struct m0_lnet_ni   *ni;
	struct m0_hash_link *at;
	unsigned             nr = 0;

	M0_PRE(health <= M0_LNET_HEALTH_MAX);
	if (of == M0_LNET_HEALTH_OF_NIS)
		m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni,
				       lni_link) {
			if (ni == eng->le_lo || ni->lni_stopping ||
			    !is_meant(nid, &ni->lni_lnd.ldn_nid))
				continue;
			m0_lnet__health_ni_set(ni, health);
			++nr;
		}
	else
		for (at = m0_hash_first(&eng->le_lpnis); at != NULL;
		     at = m0_hash_next(at)) {
			lpni = container_of(at, struct m0_lnet_lpni, lpn_hash);
			if (!is_meant(nid, &lpni->lpn_nid))
				continue;
			m0_lnet__health_lpni_set(eng, lpni, health);
			++nr;
		}
	return nr;
}
