/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Rules: their forms, and their text. */
#include "lnet/policy/range.h"

enum {
	SRC = 1 << 0,
	DST = 1 << 1,
	RTE = 1 << 2
};

/** Returns the ranges that the rule has, as bits. */
static unsigned ranges_of(const struct m0_lnet_udsp *udsp)
{
	return (udsp->lud_src.lnr_form != 0 ? SRC : 0) |
	       (udsp->lud_dst.lnr_form != 0 ? DST : 0) |
	       (udsp->lud_rte.lnr_form != 0 ? RTE : 0);
}

/* -- forms ----------------------------------------------------------------- */

/** Why a rule may not have these ranges; NULL: it may. */
static const char *form_flaw(unsigned ranges)
{
	switch (ranges) {
	case SRC:
	case DST:
	case DST | SRC:
	case DST | RTE:
		return NULL;
	case 0:
		return "the rule has no range; accepted: src, dst, dst and "
		       "src, or dst and rte";
	case RTE:
		return "rte is given without dst; gateways are preferred for "
		       "destinations, which dst names";
	case SRC | RTE:
		return "src and rte are given without dst; gateways are "
		       "preferred for destinations, which dst names";
	default:
		return "src and rte are in one rule; add two rules, one with "
		       "dst and src, and one with dst and rte";
	}
}

static int range_check(const char *name, const struct m0_lnet_nid_range *range,
		       char *why)
{
	const char *flaw = m0_lnet__range_malformed(range);

	return flaw == NULL
		       ? 0
		       : m0_lnet__range_why(why, -EINVAL, "%s: %s", name, flaw);
}

static int action_check(const struct m0_lnet_udsp *udsp, unsigned ranges,
			char *why)
{
	bool pair = ranges != SRC && ranges != DST;

	if (udsp->lud_action != M0_LNET_UDSP_PRIORITY &&
	    udsp->lud_action != M0_LNET_UDSP_PREFER)
		return m0_lnet__range_why(why, -EINVAL,
					  "the action is %" PRIu32
					  "; accepted: 1, a priority, or 2, a "
					  "preference",
					  udsp->lud_action);
	if (pair && udsp->lud_action != M0_LNET_UDSP_PREFER)
		return m0_lnet__range_why(
			why, -EINVAL,
			"priority is %" PRIu32
			"; it is accepted with src or dst alone, because %s "
			"make a preference, which has no number",
			udsp->lud_priority,
			ranges == (DST | SRC) ? "dst and src" : "dst and rte");
	if (!pair && udsp->lud_action != M0_LNET_UDSP_PRIORITY)
		return m0_lnet__range_why(
			why, -EINVAL,
			"the action is 2, a preference; accepted with src or "
			"dst alone: 1, a priority");
	if (pair ? udsp->lud_priority != 0
		 : udsp->lud_priority == M0_LNET_PRIORITY_NONE)
		return m0_lnet__range_why(
			why, -EINVAL,
			"priority is %" PRIu32
			"; accepted: 0 to 4294967294 with src or dst alone, "
			"else 0",
			udsp->lud_priority);
	return 0;
}

int m0_lnet_udsp_check(const struct m0_lnet_udsp *udsp, char *why)
{
	unsigned    ranges = ranges_of(udsp);
	const char *flaw = form_flaw(ranges);
	int         rc;

	if (udsp->lud_idx < M0_LNET_UDSP_LAST)
		return m0_lnet__range_why(why, -EINVAL,
					  "idx is %" PRId32
					  "; accepted: 0 or more, or -1, the "
					  "end of the list",
					  udsp->lud_idx);
	rc = range_check("src", &udsp->lud_src, why);
	if (rc == 0)
		rc = range_check("dst", &udsp->lud_dst, why);
	if (rc == 0)
		rc = range_check("rte", &udsp->lud_rte, why);
	if (rc == 0 && flaw != NULL)
		rc = m0_lnet__range_why(why, -EINVAL, "%s", flaw);
	if (rc != 0)
		return rc;
	if ((ranges & RTE) != 0 &&
	    udsp->lud_rte.lnr_form == M0_LNET_NID_RANGE_NET)
		return m0_lnet__range_why(
			why, -EINVAL,
			"rte is a network; accepted: gateways, as ADDR@NET");
	return action_check(udsp, ranges, why);
}

/* -- text ------------------------------------------------------------------ */

static int range_take(const char *name, const char *text,
		      struct m0_lnet_nid_range *range, char *why)
{
	char said[256];
	int  rc;

	if (text == NULL)
		return 0;
	rc = m0_lnet_nid_range_parse(range, text, why);
	if (rc == 0 || why == NULL)
		return rc;
	/* The name of the field goes before what is said of it. */
	strncpy(said, why, sizeof said - 1);
	said[sizeof said - 1] = '\0';
	return m0_lnet__range_why(why, rc, "%s is %s", name, said);
}

/** Parses a decimal number up to `max`. */
static int number_take(const char *name, const char *text, uint32_t max,
		       uint32_t *ret, char *why)
{
	const char *at = text;
	uint64_t    number = 0;

	if (text == NULL)
		return 0;
	for (; *at >= '0' && *at <= '9' && number <= max; ++at)
		number = number * 10 + (unsigned)(*at - '0');
	if (at == text || *at != '\0' || number > max)
		return m0_lnet__range_why(why, -EINVAL,
					  "%s is `%.64s`; accepted: 0 to "
					  "%" PRIu32,
					  name, text, max);
	*ret = (uint32_t)number;
	return 0;
}

static int fields_take(struct m0_lnet_udsp            *udsp,
		       const struct m0_lnet_udsp_text *text, char *why)
{
	uint32_t idx = (uint32_t)M0_LNET_UDSP_LAST;
	int      rc;

	rc = range_take("src", text->lut_src, &udsp->lud_src, why);
	if (rc == 0)
		rc = range_take("dst", text->lut_dst, &udsp->lud_dst, why);
	if (rc == 0)
		rc = range_take("rte", text->lut_rte, &udsp->lud_rte, why);
	if (rc == 0)
		rc = number_take("priority", text->lut_priority,
				 M0_LNET_PRIORITY_NONE - 1, &udsp->lud_priority,
				 why);
	/* As of lnetctl, -1 is the end. */
	if (rc == 0 && text->lut_idx != NULL &&
	    strcmp(text->lut_idx, "-1") != 0)
		rc = number_take("idx", text->lut_idx, INT32_MAX, &idx, why);
	udsp->lud_idx = (int32_t)idx;
	return rc;
}

int m0_lnet_udsp_parse(struct m0_lnet_udsp            *udsp,
		       const struct m0_lnet_udsp_text *text, char *why)
{
	unsigned ranges;
	int      rc;

	M0_SET0(udsp);
	rc = fields_take(udsp, text, why);
	if (rc != 0)
		return rc;
	ranges = ranges_of(udsp);
	udsp->lud_action = ranges == SRC || ranges == DST ||
					   text->lut_priority != NULL
				   ? M0_LNET_UDSP_PRIORITY
				   : M0_LNET_UDSP_PREFER;
	return m0_lnet_udsp_check(udsp, why);
}
