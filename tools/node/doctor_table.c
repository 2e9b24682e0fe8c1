/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Many NIDs: one line for each. */
#include <stdio.h>
#include <unistd.h>

#include "doctor.h"
#include "m0/lnet_udsp.h"
#include "../base/jout.h"
#include "../base/stop.h"

/** NIDs of an expression. */
struct doctor_list {
	struct m0_lnet_nid *dli_nids;
	unsigned           *dli_nr;
	int                 dli_rc;
};

static void nid_add(struct doctor_list *list, const struct m0_lnet_nid *nid)
{
	if (*list->dli_nr == DOCTOR_NIDS_MAX)
		list->dli_rc = -E2BIG;
	else
		list->dli_nids[(*list->dli_nr)++] = *nid;
}

static void part_set(struct m0_lnet_nid *nid, bool is_number, unsigned part,
		     uint32_t value)
{
	unsigned i;

	if (!is_number)
		nid->ln_addr[part] = (uint8_t)value;
	for (i = 0; is_number && i < 4; ++i)
		nid->ln_addr[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* All values of a part, and of the parts behind it: at most four. */
static void part_expand(struct doctor_list *list, struct m0_lnet_nid *nid,
			const struct m0_lnet_nid_range *range, unsigned part,
			unsigned at)
{
	unsigned i;
	uint64_t n;

	if (part == range->lnr_parts_nr) {
		nid_add(list, nid);
		return;
	}
	for (i = 0; i < range->lnr_part_nr[part]; ++i) {
		const struct m0_lnet_range *one = &range->lnr_ranges[at + i];

		for (n = one->lrg_lo; n <= one->lrg_hi && list->dli_rc == 0;
		     n += max_check(one->lrg_stride, UINT32_C(1))) {
			part_set(nid, range->lnr_parts_nr == 1, part,
				 (uint32_t)n);
			part_expand(list, nid, range, part + 1,
				    at + range->lnr_part_nr[part]);
		}
	}
}

int doctor_expand(const char *word, struct m0_lnet_nid *nids, unsigned *nr)
{
	struct doctor_list       list = { nids, nr, 0 };
	struct m0_lnet_nid_range range;
	struct m0_lnet_nid       nid;

	if (m0_lnet_nid_parse(&nid, word) == 0) {
		nid_add(&list, &nid);
		return list.dli_rc;
	}
	if (m0_lnet_nid_range_parse(&range, word, NULL) != 0 ||
	    range.lnr_form != M0_LNET_NID_RANGE_PARTS ||
	    range.lnr_nets_nr > 1 ||
	    (range.lnr_nets_nr == 1 &&
	     range.lnr_ranges[0].lrg_lo != range.lnr_ranges[0].lrg_hi))
		return -EINVAL;
	nid = (struct m0_lnet_nid){ .ln_type = range.lnr_type };
	if (range.lnr_nets_nr == 1)
		nid.ln_num = (uint16_t)range.lnr_ranges[0].lrg_lo;
	part_expand(&list, &nid, &range, 0, range.lnr_nets_nr);
	return list.dli_rc;
}

/* ---------------------------------------------------------------- the table */

static const enum doctor_what columns[] = {
	DOCTOR_ROUTE,     DOCTOR_TCP,     DOCTOR_MTU,  DOCTOR_PING,
	DOCTOR_DISCOVERY, DOCTOR_LATENCY, DOCTOR_RATE, DOCTOR_HEALTH,
};

static void row_print(const struct doctor *doctor)
{
	enum doctor_what first = DOCTOR_CHECKS_NR;
	size_t           i;

	printf("%-24s", doctor->dtr_nid_text);
	for (i = 0; i < ARRAY_SIZE(columns); ++i) {
		enum doctor_verdict verdict =
			doctor->dtr_checks[columns[i]].dch_verdict;

		printf(" %-9s", verdict == DOCTOR_SKIPPED
					? "-"
					: doctor_verdicts[verdict]);
	}
	for (i = 0; i < DOCTOR_CHECKS_NR && first == DOCTOR_CHECKS_NR; ++i)
		if (doctor->dtr_checks[i].dch_verdict == DOCTOR_FAIL)
			first = (enum doctor_what)i;
	if (first != DOCTOR_CHECKS_NR)
		printf(" %s: %s", doctor_names[first],
		       doctor->dtr_checks[first].dch_text);
	(void)putchar('\n');
	(void)fflush(stdout);
}

int doctor_table(struct doctor *doctor, const struct m0_lnet_nid *nids,
		 unsigned nr)
{
	static int errors[DOCTOR_NIDS_MAX];
	bool       shows = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	unsigned   bad = 0;
	unsigned   i;
	size_t     c;

	if (shows)
		fprintf(stderr, "connecting to %u NIDs", nr);
	doctor_tcp_scan(doctor, nids, nr, errors);
	printf("%-24s", "nid");
	for (c = 0; c < ARRAY_SIZE(columns); ++c)
		printf(" %-9s", doctor_names[columns[c]]);
	(void)putchar('\n');
	for (i = 0; i < nr && stop_signal() == 0; ++i) {
		char text[M0_LNET_NIDSTR_SIZE];

		if (shows)
			fprintf(stderr, "\r%u of %u             ", i + 1, nr);
		doctor->dtr_scanned = errors[i];
		doctor_run(doctor,
			   m0_lnet_nid_print(&nids[i], text, sizeof text));
		bad += doctor_worst(doctor) == DOCTOR_FAIL ? 1 : 0;
		row_print(doctor);
	}
	if (shows)
		fputs("\r", stderr);
	printf("%u of %u NIDs without a failure%s\n", i - bad, nr,
	       i < nr ? ", interrupted" : "");
	return bad == 0 && i == nr ? TOOL_OK : TOOL_FAILED;
}
