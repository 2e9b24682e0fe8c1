/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The policy: users that may attach, and the sizes that a process gets.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/server_internal.h"

enum {
	PROCS_MAX = 256,
	PROCS_OF_UID_MAX = 128,
	/** /proc/sys/kernel/overflowuid and overflowgid. */
	NO_ID = 65534
};

/* Does the file, uid_map or gid_map, map all numbers to themselves or others? */
static bool maps_all(const char *path)
{
	unsigned long inside;
	unsigned long outside;
	unsigned long nr;
	unsigned long sum = 0;
	FILE         *file = fopen(path, "re");

	if (file == NULL)
		return true;
	while (fscanf(file, "%lu %lu %lu", &inside, &outside, &nr) == 3)
		sum += nr;
	(void)fclose(file);
	return sum == UINT32_MAX;
}

/*
 * The number that the kernel puts in place of one that the user namespace of this process has no
 * number for, by default 65534. It is the number of "nobody", too, if that is mapped.
 */
static uint32_t unmapped(const char *map, const char *overflow)
{
	unsigned nr = NO_ID;
	FILE    *file;

	if (maps_all(map))
		return (uint32_t)-1;
	file = fopen(overflow, "re");
	if (file == NULL || fscanf(file, "%u", &nr) != 1)
		nr = NO_ID;
	if (file != NULL)
		(void)fclose(file);
	return nr;
}

uint32_t m0_attach__unmapped_uid(void)
{
	return unmapped("/proc/self/uid_map", "/proc/sys/kernel/overflowuid");
}

void m0_attach_policy_default(struct m0_attach_policy *policy)
{
	*policy = (struct m0_attach_policy){
		.apo_serve = m0_serve_cfg_default,
		.apo_procs_max = PROCS_MAX,
		.apo_procs_of_uid_max = PROCS_OF_UID_MAX,
		.apo_bytes_total = UINT64_MAX,
		.apo_uids_nr = 2,
		.apo_uids = { 0, geteuid() },
		.apo_mode = 0600,
		.apo_group = (uint32_t)-1,
		.apo_unmapped_uid = m0_attach__unmapped_uid(),
		.apo_unmapped_gid = unmapped("/proc/self/gid_map",
					     "/proc/sys/kernel/overflowgid"),
		.apo_listen_fd = -1,
	};
}

static bool has(const uint32_t *ids, unsigned nr, uint32_t id)
{
	while (nr > 0 && ids[nr - 1] != id)
		--nr;
	return nr > 0;
}

static bool allows_group(const struct m0_attach_policy *policy, uint32_t gid)
{
	return gid != policy->apo_unmapped_gid &&
	       has(policy->apo_gids, policy->apo_gids_nr, gid);
}

bool m0_attach_policy_allows(const struct m0_attach_policy *policy,
			     const struct m0_shared_creds  *creds,
			     const uint32_t *groups, unsigned groups_nr)
{
	unsigned i;

	if ((creds->scr_uid != policy->apo_unmapped_uid &&
	     has(policy->apo_uids, policy->apo_uids_nr, creds->scr_uid)) ||
	    allows_group(policy, creds->scr_gid))
		return true;
	for (i = 0; i < groups_nr; ++i) {
		if (allows_group(policy, groups[i]))
			return true;
	}
	return false;
}

static bool is_about(const struct m0_attach_policy *policy,
		     const struct m0_attach_rule   *rule,
		     const struct m0_shared_creds  *creds,
		     const uint32_t *groups, unsigned groups_nr)
{
	switch (rule->aru_who) {
	case M0_ATTACH_ANYBODY:
		return true;
	case M0_ATTACH_USER:
		return rule->aru_id == creds->scr_uid &&
		       rule->aru_id != policy->apo_unmapped_uid;
	case M0_ATTACH_GROUP:
		return rule->aru_id != policy->apo_unmapped_gid &&
		       (rule->aru_id == creds->scr_gid ||
			has(groups, groups_nr, rule->aru_id));
	}
	return false;
}

void m0_attach_policy_rights(const struct m0_attach_policy *policy,
			     const struct m0_shared_creds  *creds,
			     const uint32_t *groups, unsigned groups_nr,
			     struct m0_serve_cfg *ret)
{
	unsigned i = 0;

	ret->svg_portals = M0_SERVE_RANGES_ALL;
	ret->svg_tmids = M0_SERVE_RANGES_ALL;
	ret->svg_no_copies = false;
	if (policy->apo_rules_nr == 0)
		return;
	while (i < policy->apo_rules_nr &&
	       !is_about(policy, &policy->apo_rules[i], creds, groups,
			 groups_nr))
		++i;
	M0_SET0(&ret->svg_portals);
	M0_SET0(&ret->svg_tmids);
	if (i == policy->apo_rules_nr)
		return;
	ret->svg_portals = policy->apo_rules[i].aru_portals;
	ret->svg_tmids = policy->apo_rules[i].aru_tmids;
	ret->svg_no_copies = policy->apo_rules[i].aru_no_copies;
}

unsigned m0_attach__creds(int sock, struct m0_shared_creds *ret,
			  uint32_t *groups, unsigned groups_max)
{
	struct ucred cred = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	socklen_t    bytes = sizeof cred;

	(void)getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &bytes);
	*ret = (struct m0_shared_creds){ .scr_pid = (uint32_t)cred.pid,
					 .scr_uid = cred.uid,
					 .scr_gid = cred.gid };
	bytes = (socklen_t)(groups_max * sizeof *groups);
	/* A process with more groups counts as one without any. */
	if (getsockopt(sock, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) != 0)
		return 0;
	return bytes / sizeof *groups;
}
