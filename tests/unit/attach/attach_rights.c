/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Portals and numbers of transfer machines that the policy admits. */
#include <string.h>
#include <unistd.h>

#include "attach_fix.h"
#include "m0/lnet_daemon.h"

static const struct m0_serve_ranges portal_20 = { { { 20, 20 } }, 1 };
static const struct m0_serve_ranges portals_30 = { { { 30, 34 } }, 1 };

/* The first rule that is about a process applies; without one it may use nothing. */
static void rules_are_for_users_and_groups(void **state)
{
	struct m0_attach_policy policy = {
		.apo_rules_nr = 2,
		.apo_rules = { { M0_ATTACH_USER, 7, portal_20, portals_30,
				 true },
			       { M0_ATTACH_GROUP, 8, portals_30, portal_20,
				 false } },
		.apo_unmapped_uid = (uint32_t)-1,
		.apo_unmapped_gid = (uint32_t)-1,
	};
	const uint32_t         groups[] = { 5, 8 };
	struct m0_shared_creds creds = { 1, 7, 8 };
	struct m0_serve_cfg    cfg;

	(void)state;
#define RIGHTS(nr) m0_attach_policy_rights(&policy, &creds, groups, nr, &cfg)
	RIGHTS(2);
	assert_true(m0_serve_ranges_have(&cfg.svg_portals, 20));
	assert_false(m0_serve_ranges_have(&cfg.svg_portals, 19));
	assert_false(m0_serve_ranges_have(&cfg.svg_portals, 21));
	assert_true(m0_serve_ranges_have(&cfg.svg_tmids, 30));
	assert_true(m0_serve_ranges_have(&cfg.svg_tmids, 34));
	assert_false(m0_serve_ranges_have(&cfg.svg_tmids, 35));
	assert_true(cfg.svg_no_copies);
	/* A member of the group, by its own group or a further one. */
	creds.scr_uid = 9;
	RIGHTS(0);
	assert_true(m0_serve_ranges_have(&cfg.svg_portals, 33));
	assert_false(cfg.svg_no_copies);
	creds.scr_gid = 1;
	RIGHTS(2);
	assert_true(m0_serve_ranges_have(&cfg.svg_portals, 33));
	RIGHTS(1);
	assert_int_equal(cfg.svg_portals.vrs_nr, 0);
	assert_int_equal(cfg.svg_tmids.vrs_nr, 0);
	/* Numbers that stand for all those without one are nobody's. */
	policy.apo_unmapped_gid = 8;
	RIGHTS(2);
	assert_int_equal(cfg.svg_portals.vrs_nr, 0);
	creds.scr_uid = 7;
	policy.apo_unmapped_uid = 7;
	RIGHTS(2);
	assert_int_equal(cfg.svg_portals.vrs_nr, 0);
	policy.apo_rules_nr = 0;
	RIGHTS(2);
	assert_true(m0_serve_ranges_have(&cfg.svg_portals, 65535));
	assert_true(m0_serve_ranges_have(&cfg.svg_tmids, 0));
#undef RIGHTS
}

static void process_has_the_rights_of_its_user(void **state)
{
	struct m0_attach_policy *policy = &fix.fx_policy;
	struct fix_proc          proc;
	struct m0_shared_report  rep;
	struct m0_attach_info    info;

	(void)state;
	policy->apo_rules_nr = 1;
	policy->apo_rules[0] =
		(struct m0_attach_rule){ M0_ATTACH_USER, geteuid(), portals_30,
					 M0_SERVE_RANGES_ALL, false };
	fix_restart();
	assert_int_equal(fix_attach(&proc), 0);
	assert_true(fix_entry(&proc, 3, 7, 4096));
	assert_true(fix_get(&proc, &rep));
	assert_int_equal(rep.shp_kind, M0_SHARED_EV_UNLINK);
	assert_int_equal(rep.shp_event.rev_status, -EACCES);
	assert_int_equal(m0_attach_server_info(&fix.fx_server, &info, 1), 1);
	assert_int_equal(info.ain_denied_nr, 1);
	fix_detach(&proc);
	fix_all_gone();
}

static void bad_rules_are_named(void **state)
{
	static const struct m0_lnet_daemon_rule rule = {
		.ldr_portals = { { 0, 65535 } },
		.ldr_portals_nr = 1,
		.ldr_tmids = { { 0, 4095 } },
		.ldr_tmids_nr = 1,
	};
	struct m0_lnet_daemon_cfg   cfg;
	struct m0_lnet_daemon_rule *bad = &cfg.ldc_rules[0];
	struct m0_lnet_daemon      *daemon;
	char                        why[M0_LNET_WHY_BYTES];

	(void)state;
#define BAD(field, value, text)                                              \
	do {                                                                 \
		m0_lnet_daemon_cfg_default(&cfg);                            \
		cfg.ldc_rules_nr = 1;                                        \
		*bad = rule;                                                 \
		field = value;                                               \
		assert_int_equal(m0_lnet_daemon_start(&daemon, fix.fx_lnet,  \
						      &cfg, "/none/x", why), \
				 -EINVAL);                                   \
		assert_non_null(strstr(why, text));                          \
	} while (0)
	BAD(cfg.ldc_rules_nr, 17, "ldc_rules_nr is 17; accepted: 0 to 16");
	BAD(*(unsigned *)&bad->ldr_who, 3, "ldr_who is 3");
	BAD(bad->ldr_portals_nr, 9, "ldr_portals is 9; accepted: 0 to 8");
	BAD(bad->ldr_portals[0].ldg_last, 65536, "ldr_portals is 65536");
	BAD(bad->ldr_tmids[0].ldg_last, 4096, "accepted: 0 to 4095");
	BAD(bad->ldr_tmids[0].ldg_first, 4096, "ldr_tmids is 4096");
	BAD(bad->ldr_tmids_nr, 9, "ldr_tmids is 9");
#undef BAD
}

int fix_rights(void)
{
#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, fix_setup, fix_teardown)
	const struct CMUnitTest cases[] = {
		CASE(rules_are_for_users_and_groups),
		CASE(process_has_the_rights_of_its_user),
		CASE(bad_rules_are_named),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
