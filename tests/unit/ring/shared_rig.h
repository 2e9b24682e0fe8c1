/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Both sides of a shared area, and a host that counts. */
#ifndef M0_TESTS_UNIT_RING_SHARED_RIG_H
#define M0_TESTS_UNIT_RING_SHARED_RIG_H

#include "unit/base/panics.h"

#include "ring/shared_entry.h"

enum {
	AREA_BYTES = 1 << 20
};

struct rig_host {
	unsigned rgh_wakes_nr;
	unsigned rgh_waits_nr;
	bool     rgh_is_dead;
	/** Called by a wait, if it is not NULL. */
	void (*rgh_in_wait)(void);
};

struct rig {
	struct m0_shared_side rig_client;
	struct m0_shared_side rig_server;
	/** Hosts of the two. */
	struct rig_host rig_client_host;
	struct rig_host rig_server_host;
	char            rig_area[AREA_BYTES] __attribute__((__aligned__(64)));
};

static inline void rig_wake(void *arg)
{
	struct rig_host *host = arg;

	++host->rgh_wakes_nr;
}

static inline int rig_wait(void *arg, m0_time_t deadline)
{
	struct rig_host *host = arg;

	(void)deadline;
	++host->rgh_waits_nr;
	if (host->rgh_in_wait != NULL)
		host->rgh_in_wait();
	return -ETIMEDOUT;
}

static inline int rig_map(void *arg, uint32_t nr, uint64_t bytes, void **ret)
{
	static char memory[64];

	(void)arg;
	(void)nr;
	if (bytes > sizeof memory)
		return -EINVAL;
	if (bytes > 0)
		*ret = memory;
	return 0;
}

static inline bool rig_is_dead(void *arg)
{
	struct rig_host *host = arg;

	return host->rgh_is_dead;
}

static inline int rig_creds(void *arg, struct m0_shared_creds *ret)
{
	(void)arg;
	*ret = (struct m0_shared_creds){ 1, 2, 3 };
	return 0;
}

static const struct m0_shared_host rig_host_ops = {
	.shh_wake = rig_wake,
	.shh_wait = rig_wait,
	.shh_map = rig_map,
	.shh_is_dead = rig_is_dead,
	.shh_creds = rig_creds,
};

static inline struct m0_shared_cfg rig_cfg(void)
{
	return (struct m0_shared_cfg){
		.shc_down_nr = 128,
		.shc_up_nr = 128,
		.shc_reserved_nr = 96,
		.shc_incoming_nr = 32,
		.shc_portals_nr = 64,
		.shc_mes_max = 16,
		.shc_mds_max = 16,
		.shc_ops_max = 16,
		.shc_eqs_max = 4,
		.shc_regions_max = 8,
		.shc_controls_nr = 2,
		.shc_control_bytes = sizeof(struct m0_ring_control),
	};
}

static inline void rig_init(struct rig *rig)
{
	struct m0_shared_cfg cfg = rig_cfg();
	struct m0_shared_why why;

	memset(rig, 0, sizeof *rig);
	assert_int_equal(m0_shared_make(&rig->rig_server, rig->rig_area,
					AREA_BYTES, &cfg, &rig_host_ops,
					&rig->rig_server_host, &why),
			 0);
	assert_int_equal(m0_shared_join(&rig->rig_client, rig->rig_area,
					AREA_BYTES, &rig_host_ops,
					&rig->rig_client_host, &why),
			 0);
}

#endif /* M0_TESTS_UNIT_RING_SHARED_RIG_H */
