/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet/fault/fault.h"

enum {
	PORTALS_NR = 64,
	NS_PER_MS = 1000000
};

struct rule {
	struct m0_list_link  rul_link;
	struct m0_lnet_fault rul_fault;
	struct m0_rand       rul_rand;
	/** Start of the window (a number of messages, or a time), and the
	 * position in it that is hit. */
	uint64_t rul_begin;
	uint64_t rul_hit;
	/** The position of this window was hit. */
	bool rul_done;
};

/* ---------------------------------------------------------------- the list -- */

struct m0_lnet__faults *m0_lnet__faults_create(uint64_t seed)
{
	struct m0_lnet__faults *faults;

	M0_ALLOC_PTR(faults);
	if (faults == NULL)
		return NULL;
	m0_list_init(&faults->lfs_rules);
	m0_list_init(&faults->lfs_taps);
	faults->lfs_seed = seed;
	return faults;
}

static uint64_t window_size(const struct rule *rule)
{
	const struct m0_lnet_fault_attr *attr = &rule->rul_fault.lft_attr;

	return attr->lfa_interval_ms > 0 ? attr->lfa_interval_ms * NS_PER_MS
					 : attr->lfa_rate;
}

/* Opens the next window. */
static void window_open(struct rule *rule, uint64_t begin)
{
	rule->rul_begin = begin;
	rule->rul_done = false;
	rule->rul_hit = begin + m0_rand_below(&rule->rul_rand,
					      max64u(window_size(rule), 1));
	M0_POST(rule->rul_hit >= begin);
}

static void rule_begin(struct rule *rule, m0_time_t now)
{
	const struct m0_lnet_fault_attr *attr = &rule->rul_fault.lft_attr;

	window_open(rule, attr->lfa_interval_ms > 0 ? now : 0);
	if (attr->lfa_interval_ms == 0 && attr->lfa_rate == 2)
		rule->rul_hit = 0;
}

int m0_lnet__faults_add(struct m0_lnet__faults          *faults,
			const struct m0_lnet_fault_attr *attr, m0_time_t now)
{
	struct rule *rule;

	M0_PRE(faults->lfs_nr <= M0_LNET_FAULTS_MAX);
	M0_PRE(attr->lfa_kind != M0_LNET_FAULT_ANY);
	if (faults->lfs_nr == M0_LNET_FAULTS_MAX)
		return -ENOSPC;
	M0_ALLOC_PTR(rule);
	if (rule == NULL)
		return -ENOMEM;
	rule->rul_fault.lft_attr = *attr;
	++faults->lfs_added_nr;
	m0_rand_init(&rule->rul_rand,
		     attr->lfa_seed != 0
			     ? attr->lfa_seed
			     : faults->lfs_seed + faults->lfs_added_nr);
	rule_begin(rule, now);
	m0_list_link_init(&rule->rul_link);
	m0_list_add(&faults->lfs_rules, &rule->rul_link);
	++faults->lfs_nr;
	return 0;
}

static bool is_of(const struct rule *rule, enum m0_lnet_fault_kind kind)
{
	return kind == M0_LNET_FAULT_ANY ||
	       rule->rul_fault.lft_attr.lfa_kind == kind;
}

static bool is_named(const struct m0_lnet_nid *name,
		     const struct m0_lnet_nid *of_rule)
{
	return name == NULL || m0_lnet_nid_is_any(name) ||
	       m0_lnet_nid_eq(name, of_rule);
}

int m0_lnet__faults_del(struct m0_lnet__faults   *faults,
			enum m0_lnet_fault_kind   kind,
			const struct m0_lnet_nid *src,
			const struct m0_lnet_nid *dst)
{
	struct rule *rule;
	struct rule *next;
	int          nr = 0;

	m0_list_for_each_entry_safe(&faults->lfs_rules, rule, next, struct rule,
				    rul_link) {
		const struct m0_lnet_fault_attr *attr =
			&rule->rul_fault.lft_attr;

		if (!is_of(rule, kind) || !is_named(src, &attr->lfa_src) ||
		    !is_named(dst, &attr->lfa_dst))
			continue;
		m0_list_del(&rule->rul_link);
		m0_free(rule);
		M0_ASSERT(faults->lfs_nr > 0);
		--faults->lfs_nr;
		++nr;
	}
	return nr;
}

void m0_lnet__faults_destroy(struct m0_lnet__faults *faults)
{
	if (faults == NULL)
		return;
	(void)m0_lnet__faults_del(faults, M0_LNET_FAULT_ANY, NULL, NULL);
	M0_ASSERT(faults->lfs_nr == 0);
	m0_free(faults);
}

int m0_lnet__faults_reset(struct m0_lnet__faults *faults,
			  enum m0_lnet_fault_kind kind, m0_time_t now)
{
	struct m0_lnet_fault_attr attr;
	struct rule              *rule;
	int                       nr = 0;

	m0_list_for_each_entry(&faults->lfs_rules, rule, struct rule,
			       rul_link) {
		if (!is_of(rule, kind))
			continue;
		attr = rule->rul_fault.lft_attr;
		M0_SET0(&rule->rul_fault);
		rule->rul_fault.lft_attr = attr;
		rule_begin(rule, now);
		++nr;
	}
	return nr;
}

int m0_lnet__faults_get(const struct m0_lnet__faults *faults,
			enum m0_lnet_fault_kind kind, struct m0_lnet_fault *ret,
			unsigned max)
{
	struct rule *rule;
	unsigned     nr = 0;

	m0_list_for_each_entry(&faults->lfs_rules, rule, struct rule,
			       rul_link) {
		if (!is_of(rule, kind))
			continue;
		if (nr < max)
			ret[nr] = rule->rul_fault;
		++nr;
	}
	return (int)nr;
}

/* ------------------------------------------------------- is a rule for it? -- */

static bool is_net(const struct m0_lnet_nid *nid)
{
	return m0_lnet_nid_is_nid4(nid) && nid->ln_addr[0] == 0xff &&
	       nid->ln_addr[1] == 0xff && nid->ln_addr[2] == 0xff &&
	       nid->ln_addr[3] == 0xff;
}

static bool nid_fits(const struct m0_lnet_nid *want,
		     const struct m0_lnet_nid *nid)
{
	return m0_lnet_nid_is_any(want) || m0_lnet_nid_eq(want, nid) ||
	       (is_net(want) && m0_lnet_nid_net(want) == m0_lnet_nid_net(nid));
}

unsigned m0_lnet__fault_msg_bit(uint32_t type)
{
	switch (type) {
	case M0_LNET_ACK:
		return M0_LNET_FAULT_ACK;
	case M0_LNET_PUT:
		return M0_LNET_FAULT_PUT;
	case M0_LNET_GET:
		return M0_LNET_FAULT_GET;
	default:
		return M0_LNET_FAULT_REPLY;
	}
}

static bool portal_fits(uint64_t portals, const struct m0_lnet_hdr *hdr)
{
	if (portals == 0)
		return true;
	return M0_IN(hdr->lhd_type, (M0_LNET_PUT, M0_LNET_GET)) &&
	       hdr->lhd_portal < PORTALS_NR &&
	       (portals & UINT64_C(1) << hdr->lhd_portal) != 0;
}

/*
 * Returns true if a rule of this kind acts here. See the top of
 * m0/lnet_fault.h.
 */
static bool place_fits(const struct m0_lnet_fault_attr  *attr,
		       const struct m0_lnet__fault_look *look)
{
	bool lo = m0_lnet_nid_is_lo(look->flo_local);

	switch (attr->lfa_kind) {
	case M0_LNET_FAULT_DROP:
		return look->flo_leaves == (attr->lfa_health != 0);
	case M0_LNET_FAULT_DELAY:
		return look->flo_leaves || !lo;
	case M0_LNET_FAULT_DUPLICATE:
		return look->flo_leaves;
	case M0_LNET_FAULT_CORRUPT:
		return !look->flo_leaves &&
		       (attr->lfa_header ||
			look->flo_hdr->lhd_payload_bytes > 0);
	default:
		return !lo;
	}
}

static bool fits(const struct m0_lnet_fault_attr  *attr,
		 const struct m0_lnet__fault_look *look)
{
	const struct m0_lnet_hdr *hdr = look->flo_hdr;

	return place_fits(attr, look) &&
	       (attr->lfa_msgs == 0 ||
		(attr->lfa_msgs & m0_lnet__fault_msg_bit(hdr->lhd_type)) !=
			0) &&
	       portal_fits(attr->lfa_portals, hdr) &&
	       nid_fits(&attr->lfa_src, &hdr->lhd_src_nid) &&
	       nid_fits(&attr->lfa_dst, &hdr->lhd_dest_nid) &&
	       nid_fits(&attr->lfa_local, look->flo_local);
}

/* -------------------------------------------------------------- is it hit? -- */

static void seen(struct m0_lnet_fault *fault, uint32_t type)
{
	++fault->lft_seen_nr;
	switch (type) {
	case M0_LNET_ACK:
		++fault->lft_seen.lmc_ack;
		break;
	case M0_LNET_PUT:
		++fault->lft_seen.lmc_put;
		break;
	case M0_LNET_GET:
		++fault->lft_seen.lmc_get;
		break;
	default:
		++fault->lft_seen.lmc_reply;
		break;
	}
}

/* Returns true if the rule hits `at`, a number of messages or a time. */
static bool window_hit(struct rule *rule, uint64_t at, bool exactly)
{
	uint64_t size = window_size(rule);
	uint64_t gone = at - rule->rul_begin;

	M0_PRE(size > 0 && at >= rule->rul_begin);
	if (gone >= size)
		window_open(rule, at - gone % size);
	if (rule->rul_done ||
	    (exactly ? at != rule->rul_hit : at < rule->rul_hit))
		return false;
	rule->rul_done = true;
	return true;
}

/* Decides whether the rule hits a message that was counted. */
static bool is_hit(struct rule *rule, m0_time_t now)
{
	const struct m0_lnet_fault      *fault = &rule->rul_fault;
	const struct m0_lnet_fault_attr *attr = &fault->lft_attr;

	if (attr->lfa_max > 0 && fault->lft_hits_nr >= attr->lfa_max)
		return false;
	if (attr->lfa_all)
		return true;
	if (attr->lfa_random)
		return m0_rand_below(&rule->rul_rand, 2) == 0;
	if (attr->lfa_interval_ms > 0)
		return window_hit(rule, now, false);
	return window_hit(rule, fault->lft_seen_nr - 1, true);
}

/* Not the builtin: where the processor has no instruction, it is a function of the
 * compiler's library, which a kernel has not. */
static unsigned bits_nr(unsigned mask)
{
	unsigned nr = 0;

	for (; mask != 0; mask &= mask - 1)
		++nr;
	return nr;
}

/* Picks one of the classes of failure that are set. */
static enum m0_lnd_health health_pick(struct rule *rule)
{
	unsigned mask = rule->rul_fault.lft_attr.lfa_health;
	uint64_t nr;

	M0_PRE(mask != 0);
	nr = m0_rand_below(&rule->rul_rand, bits_nr(mask));
	for (; nr > 0; --nr)
		mask &= mask - 1;
	M0_ASSERT(mask != 0);
	return (enum m0_lnd_health)__builtin_ctz(mask);
}

static void act(struct rule *rule, m0_time_t now,
		struct m0_lnet__fault_verdict *ret)
{
	const struct m0_lnet_fault_attr *attr = &rule->rul_fault.lft_attr;

	switch (attr->lfa_kind) {
	case M0_LNET_FAULT_DROP:
		ret->fav_acts |= M0_LNET__FAULT_DROP;
		if (attr->lfa_health != 0)
			ret->fav_health = health_pick(rule);
		break;
	case M0_LNET_FAULT_DELAY:
		ret->fav_acts |= M0_LNET__FAULT_DELAY;
		ret->fav_until = max64u(
			ret->fav_until,
			m0_time_add(now, attr->lfa_latency_ms * NS_PER_MS));
		break;
	case M0_LNET_FAULT_DUPLICATE:
		ret->fav_acts |= M0_LNET__FAULT_DUPLICATE;
		break;
	case M0_LNET_FAULT_CORRUPT:
		ret->fav_acts |= attr->lfa_header ? M0_LNET__FAULT_HEADER
						  : M0_LNET__FAULT_PAYLOAD;
		ret->fav_bit = (uint32_t)m0_rand_next(&rule->rul_rand);
		break;
	default:
		M0_ASSERT(attr->lfa_kind == M0_LNET_FAULT_CUT);
		ret->fav_acts |= M0_LNET__FAULT_CUT;
		break;
	}
}

void m0_lnet__faults_judge(struct m0_lnet__faults           *faults,
			   const struct m0_lnet__fault_look *look,
			   struct m0_lnet__fault_verdict    *ret)
{
	struct rule *rule;

	M0_SET0(ret);
	m0_list_for_each_entry(&faults->lfs_rules, rule, struct rule,
			       rul_link) {
		if (!fits(&rule->rul_fault.lft_attr, look))
			continue;
		seen(&rule->rul_fault, look->flo_hdr->lhd_type);
		if (!is_hit(rule, look->flo_now))
			continue;
		++rule->rul_fault.lft_hits_nr;
		act(rule, look->flo_now, ret);
		if ((ret->fav_acts & M0_LNET__FAULT_DROP) != 0)
			return;
	}
}

int m0_lnet__fault_status(enum m0_lnd_health health)
{
	static const int status[] = {
		[M0_LND_LOCAL_INTERRUPT] = -EINTR,
		[M0_LND_LOCAL_DROPPED] = -ENOBUFS,
		[M0_LND_LOCAL_ABORTED] = -ECONNABORTED,
		[M0_LND_LOCAL_NO_ROUTE] = -EHOSTUNREACH,
		[M0_LND_LOCAL_ERROR] = -EIO,
		[M0_LND_LOCAL_TIMEOUT] = -ETIMEDOUT,
		[M0_LND_REMOTE_ERROR] = -EREMOTEIO,
		[M0_LND_REMOTE_DROPPED] = -ECONNRESET,
		[M0_LND_REMOTE_TIMEOUT] = -ETIMEDOUT,
		[M0_LND_NETWORK_TIMEOUT] = -ETIMEDOUT,
	};

	M0_PRE(health > M0_LND_OK && health < (int)ARRAY_SIZE(status));
	return status[health];
}
