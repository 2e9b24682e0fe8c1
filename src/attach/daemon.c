/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * m0/lnet_daemon.h: the server half for programs.
 */
#include <stdio.h>

#include "attach/attach.h"
#include "attach/attach_server.h"
#include "m0/lnet_daemon.h"

struct m0_lnet_daemon {
	struct m0_attach_server lda_server;
};

void m0_lnet_daemon_cfg_default(struct m0_lnet_daemon_cfg *cfg)
{
	struct m0_attach_policy policy;

	M0_BASSERT((int)M0_LNET_DAEMON_IDS_MAX == (int)M0_ATTACH_IDS_MAX);
	m0_attach_policy_default(&policy);
	*cfg = (struct m0_lnet_daemon_cfg){
		.ldc_uids_nr = policy.apo_uids_nr,
		.ldc_gids_nr = policy.apo_gids_nr,
		.ldc_mode = policy.apo_mode,
		.ldc_group = policy.apo_group,
		.ldc_procs_max = policy.apo_procs_max,
		.ldc_procs_of_uid_max = policy.apo_procs_of_uid_max,
		.ldc_bytes_max = policy.apo_serve.svg_bytes_max,
		.ldc_bytes_total = policy.apo_bytes_total,
		.ldc_mds_max = policy.apo_serve.svg_shared.shc_mds_max,
		.ldc_ops_max = policy.apo_serve.svg_shared.shc_ops_max,
		.ldc_listen_fd = policy.apo_listen_fd,
	};
	memcpy(cfg->ldc_uids, policy.apo_uids, sizeof cfg->ldc_uids);
	memcpy(cfg->ldc_gids, policy.apo_gids, sizeof cfg->ldc_gids);
}

static int range_check(const char *field, uint64_t value, uint64_t min,
		       uint64_t max, char *why)
{
	if (value >= min && value <= max)
		return 0;
	if (why != NULL)
		(void)snprintf(why, M0_LNET_WHY_BYTES,
			       "%s is %llu; accepted: %llu to %llu", field,
			       (unsigned long long)value,
			       (unsigned long long)min,
			       (unsigned long long)max);
	return -EINVAL;
}

static int ranges_check(const char *field, uint32_t max,
			const struct m0_lnet_daemon_range *ranges, unsigned nr,
			char *why)
{
	unsigned i;
	int      rc;

	rc = range_check(field, nr, 0, M0_LNET_DAEMON_RANGES_MAX, why);
	for (i = 0; i < nr && rc == 0; ++i) {
		rc = range_check(field, ranges[i].ldg_first, 0, max, why);
		if (rc == 0)
			rc = range_check(field, ranges[i].ldg_last,
					 ranges[i].ldg_first, max, why);
	}
	return rc;
}

static int rules_check(const struct m0_lnet_daemon_cfg *cfg, char *why)
{
	unsigned i;
	int      rc = range_check("ldc_rules_nr", cfg->ldc_rules_nr, 0,
				  M0_LNET_DAEMON_RULES_MAX, why);

	for (i = 0; i < cfg->ldc_rules_nr && rc == 0; ++i) {
		const struct m0_lnet_daemon_rule *rule = &cfg->ldc_rules[i];

		rc = range_check("ldr_who", rule->ldr_who, 0,
				 M0_LNET_DAEMON_GROUP, why);
		if (rc == 0)
			rc = ranges_check("ldr_portals",
					  M0_SHARED_PORTALS_MAX - 1,
					  rule->ldr_portals,
					  rule->ldr_portals_nr, why);
		if (rc == 0)
			rc = ranges_check("ldr_tmids", M0_SHARED_TMID_MAX,
					  rule->ldr_tmids, rule->ldr_tmids_nr,
					  why);
	}
	return rc;
}

static int cfg_check(const struct m0_lnet_daemon_cfg *cfg, char *why)
{
	int rc = range_check("ldc_uids_nr", cfg->ldc_uids_nr, 0,
			     M0_LNET_DAEMON_IDS_MAX, why);

	if (rc == 0)
		rc = range_check("ldc_gids_nr", cfg->ldc_gids_nr, 0,
				 M0_LNET_DAEMON_IDS_MAX, why);
	if (rc == 0)
		rc = range_check("ldc_mode", cfg->ldc_mode, 0, 0777, why);
	if (rc == 0)
		rc = range_check("ldc_procs_max", cfg->ldc_procs_max, 1, 65536,
				 why);
	if (rc == 0)
		rc = range_check("ldc_procs_of_uid_max",
				 cfg->ldc_procs_of_uid_max, 1, 65536, why);
	if (rc == 0)
		rc = range_check("ldc_bytes_max", cfg->ldc_bytes_max, 4096,
				 UINT64_C(1) << 48, why);
	if (rc == 0)
		rc = range_check("ldc_bytes_total", cfg->ldc_bytes_total, 4096,
				 UINT64_MAX, why);
	if (rc == 0)
		rc = range_check("ldc_mds_max", cfg->ldc_mds_max, 1,
				 M0_SHARED_OBJECTS_MAX, why);
	if (rc == 0)
		rc = range_check("ldc_ops_max", cfg->ldc_ops_max, 1,
				 M0_SHARED_OBJECTS_MAX, why);
	if (rc == 0)
		rc = rules_check(cfg, why);
	return rc;
}

static void ranges_of(const struct m0_lnet_daemon_range *ranges, unsigned nr,
		      struct m0_serve_ranges *ret)
{
	unsigned i;

	M0_BASSERT((int)M0_LNET_DAEMON_RANGES_MAX == (int)M0_SERVE_RANGES_MAX);
	M0_SET0(ret);
	ret->vrs_nr = nr;
	for (i = 0; i < nr; ++i)
		ret->vrs_ranges[i] =
			(struct m0_serve_range){ ranges[i].ldg_first,
						 ranges[i].ldg_last };
}

static void rules_of(const struct m0_lnet_daemon_cfg *cfg,
		     struct m0_attach_policy         *policy)
{
	unsigned i;

	M0_BASSERT((int)M0_LNET_DAEMON_RULES_MAX == (int)M0_ATTACH_RULES_MAX);
	M0_BASSERT((int)M0_LNET_DAEMON_ANYBODY == (int)M0_ATTACH_ANYBODY);
	M0_BASSERT((int)M0_LNET_DAEMON_USER == (int)M0_ATTACH_USER);
	M0_BASSERT((int)M0_LNET_DAEMON_GROUP == (int)M0_ATTACH_GROUP);
	policy->apo_rules_nr = cfg->ldc_rules_nr;
	for (i = 0; i < cfg->ldc_rules_nr; ++i) {
		const struct m0_lnet_daemon_rule *rule = &cfg->ldc_rules[i];
		struct m0_attach_rule            *ret = &policy->apo_rules[i];

		ret->aru_who = (enum m0_attach_who)rule->ldr_who;
		ret->aru_id = rule->ldr_id;
		ranges_of(rule->ldr_portals, rule->ldr_portals_nr,
			  &ret->aru_portals);
		ranges_of(rule->ldr_tmids, rule->ldr_tmids_nr, &ret->aru_tmids);
		ret->aru_no_copies = rule->ldr_no_copies;
	}
}

static void policy_of(const struct m0_lnet_daemon_cfg *cfg,
		      struct m0_attach_policy         *policy)
{
	m0_attach_policy_default(policy);
	policy->apo_uids_nr = cfg->ldc_uids_nr;
	policy->apo_gids_nr = cfg->ldc_gids_nr;
	memcpy(policy->apo_uids, cfg->ldc_uids, sizeof policy->apo_uids);
	memcpy(policy->apo_gids, cfg->ldc_gids, sizeof policy->apo_gids);
	policy->apo_mode = cfg->ldc_mode;
	policy->apo_group = cfg->ldc_group;
	policy->apo_procs_max = cfg->ldc_procs_max;
	policy->apo_procs_of_uid_max = cfg->ldc_procs_of_uid_max;
	policy->apo_listen_fd = cfg->ldc_listen_fd;
	rules_of(cfg, policy);
	policy->apo_serve.svg_bytes_max = cfg->ldc_bytes_max;
	policy->apo_bytes_total = cfg->ldc_bytes_total;
	policy->apo_serve.svg_shared.shc_mds_max = cfg->ldc_mds_max;
	policy->apo_serve.svg_shared.shc_mes_max = cfg->ldc_mds_max;
	policy->apo_serve.svg_shared.shc_ops_max = cfg->ldc_ops_max;
}

int m0_lnet_daemon_start(struct m0_lnet_daemon **ret, struct m0_lnet *lnet,
			 const struct m0_lnet_daemon_cfg *cfg, const char *path,
			 char *why)
{
	char                      text[M0_ATTACH_WHY_BYTES] = "no memory";
	struct m0_lnet_daemon_cfg dflt;
	struct m0_attach_policy   policy;
	struct m0_lnet_daemon    *daemon;
	int                       rc;

	if (cfg == NULL) {
		m0_lnet_daemon_cfg_default(&dflt);
		cfg = &dflt;
	}
	rc = cfg_check(cfg, why);
	if (rc != 0)
		return rc;
	policy_of(cfg, &policy);
	M0_ALLOC_PTR(daemon);
	rc = daemon == NULL
		     ? -ENOMEM
		     : m0_attach_server_start(
			       &daemon->lda_server, lnet, &policy,
			       path == NULL ? M0_ATTACH_PATH : path, text);
	if (rc == 0) {
		*ret = daemon;
		return 0;
	}
	m0_free(daemon);
	if (why != NULL)
		(void)snprintf(why, M0_LNET_WHY_BYTES, "%s", text);
	return rc;
}

void m0_lnet_daemon_drain(struct m0_lnet_daemon *daemon)
{
	m0_attach_server_drain(&daemon->lda_server);
}

int m0_lnet_daemon_stop(struct m0_lnet_daemon *daemon, m0_time_t deadline)
{
	int rc = m0_attach_server_stop(&daemon->lda_server, deadline);

	if (rc != 0)
		return rc;
	m0_attach_server_fini(&daemon->lda_server);
	m0_free(daemon);
	return 0;
}

int m0_lnet_daemon_check(struct m0_lnet_daemon *daemon, m0_time_t deadline)
{
	return m0_attach_server_check(&daemon->lda_server, deadline);
}

void m0_lnet_daemon_info_get(struct m0_lnet_daemon      *daemon,
			     struct m0_lnet_daemon_info *ret)
{
	struct m0_attach_server *server = &daemon->lda_server;

	m0_mutex_lock(&server->asv_lock);
	*ret = (struct m0_lnet_daemon_info){
		.ldf_attached_nr = server->asv_attached_nr,
		.ldf_refused_nr = server->asv_refused_nr,
		.ldf_procs_nr = server->asv_procs_nr,
		.ldf_bytes =
			__atomic_load_n(&server->asv_bytes, __ATOMIC_RELAXED),
	};
	m0_mutex_unlock(&server->asv_lock);
}

unsigned m0_lnet_daemon_procs_get(struct m0_lnet_daemon   *daemon,
				  struct m0_lnet_attached *ret, unsigned max)
{
	struct m0_attach_info *info;
	unsigned               nr;
	unsigned               i;

	M0_ALLOC_ARR(info, max);
	if (info == NULL)
		return 0;
	nr = m0_attach_server_info(&daemon->lda_server, info, max);
	for (i = 0; i < nr; ++i)
		ret[i] = (struct m0_lnet_attached){
			.lax_pid = info[i].ain_creds.scr_pid,
			.lax_uid = info[i].ain_creds.scr_uid,
			.lax_gid = info[i].ain_creds.scr_gid,
			.lax_is_ending = info[i].ain_is_ending,
			.lax_since = info[i].ain_since,
			.lax_mds_nr = info[i].ain_mds_nr,
			.lax_regions_nr = info[i].ain_regions_nr,
			.lax_bytes = info[i].ain_bytes,
			.lax_ops_nr = info[i].ain_ops_nr,
			.lax_events_nr = info[i].ain_events_nr,
			.lax_denied_nr = info[i].ain_denied_nr,
			.lax_copied_bytes = info[i].ain_copied_bytes,
			.lax_daemon_bytes = info[i].ain_daemon_bytes,
			.lax_fell_back_nr = info[i].ain_fell_back_nr,
			.lax_shadow_bytes = info[i].ain_shadow_bytes,
			.lax_direct_sent_nr = info[i].ain_direct_sent_nr,
			.lax_direct_taken_nr = info[i].ain_direct_taken_nr,
		};
	m0_free(info);
	return nr;
}
