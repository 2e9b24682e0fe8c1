/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "ctl.h"
#include "fault_words.h"
#include "../base/text.h"

/* A field that is a number, under its name in a request. */
struct word_number {
	const char *wnu_key;
	size_t      wnu_offset;
	size_t      wnu_bytes;
};

/* clang-format off */
#define NUMBER(key, field) {                                           \
	key, offsetof(struct m0_lnet_fault_attr, field),               \
	sizeof(((struct m0_lnet_fault_attr *)NULL)->field) }
/* clang-format on */

static const struct word_number numbers[] = {
	NUMBER("msgs", lfa_msgs),
	NUMBER("portals", lfa_portals),
	NUMBER("all", lfa_all),
	NUMBER("random", lfa_random),
	NUMBER("interval_ms", lfa_interval_ms),
	NUMBER("rate", lfa_rate),
	NUMBER("max", lfa_max),
	NUMBER("seed", lfa_seed),
	NUMBER("latency_ms", lfa_latency_ms),
	NUMBER("health", lfa_health),
	NUMBER("header", lfa_header),
};

struct word_nid {
	const char *wni_key;
	size_t      wni_offset;
};

static const struct word_nid nids[] = {
	{ "src", offsetof(struct m0_lnet_fault_attr, lfa_src) },
	{ "dst", offsetof(struct m0_lnet_fault_attr, lfa_dst) },
	{ "local", offsetof(struct m0_lnet_fault_attr, lfa_local) },
};

static bool number_set(struct m0_lnet_fault_attr *attr,
		       const struct word_number *number, uint64_t value)
{
	char *at = (char *)attr + number->wnu_offset;

	if (number->wnu_bytes == sizeof(bool)) {
		*(bool *)(void *)at = value != 0;
		return value <= 1;
	}
	if (number->wnu_bytes == sizeof(unsigned)) {
		*(unsigned *)(void *)at = (unsigned)value;
		return value <= UINT32_MAX;
	}
	*(uint64_t *)(void *)at = value;
	return true;
}

static uint64_t number_get(const struct m0_lnet_fault_attr *attr,
			   const struct word_number        *number)
{
	const char *at = (const char *)attr + number->wnu_offset;

	if (number->wnu_bytes == sizeof(bool))
		return *(const bool *)(const void *)at;
	if (number->wnu_bytes == sizeof(unsigned))
		return *(const unsigned *)(const void *)at;
	return *(const uint64_t *)(const void *)at;
}

const char *ctl_fault_parse(struct m0_lnet_fault_attr *attr, const char *key,
			    const char *value)
{
	uint64_t nr;
	size_t   i;

	if (strcmp(key, "kind") == 0)
		return fault_kind_parse(value, &attr->lfa_kind) == 0
			       ? NULL
			       : "not a kind of fault rule";
	for (i = 0; i < ARRAY_SIZE(nids); ++i) {
		if (strcmp(key, nids[i].wni_key) == 0)
			return fault_nid_parse(
				       value, (void *)((char *)attr +
						       nids[i].wni_offset)) == 0
				       ? NULL
				       : "not a NID";
	}
	for (i = 0; i < ARRAY_SIZE(numbers); ++i) {
		if (strcmp(key, numbers[i].wnu_key) == 0)
			return text_number_parse(value, &nr) == 0 &&
					       number_set(attr, &numbers[i], nr)
				       ? NULL
				       : "not a number of a fault rule";
	}
	return "not a key of a fault rule";
}

void ctl_fault_print(const struct m0_lnet_fault_attr *attr,
		     char                             ret[CTL_FAULT_BYTES])
{
	char   text[M0_LNET_NIDSTR_SIZE];
	size_t used;
	size_t i;

	used = (size_t)snprintf(ret, CTL_FAULT_BYTES, " fault.kind=%s",
				fault_kind_name(attr->lfa_kind));
	for (i = 0; i < ARRAY_SIZE(nids); ++i) {
		const void *nid = (const char *)attr + nids[i].wni_offset;

		used += (size_t)snprintf(ret + used, CTL_FAULT_BYTES - used,
					 " fault.%s=%s", nids[i].wni_key,
					 fault_nid_print(nid, text));
	}
	for (i = 0; i < ARRAY_SIZE(numbers); ++i)
		used += (size_t)snprintf(ret + used, CTL_FAULT_BYTES - used,
					 " fault.%s=%" PRIu64,
					 numbers[i].wnu_key,
					 number_get(attr, &numbers[i]));
	M0_ASSERT(used < CTL_FAULT_BYTES);
}
