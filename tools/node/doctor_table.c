/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Many NIDs: one line for each. */
#include <stdio.h>
#include <unistd.h>

#include "doctor.h"
#include "../base/nids.h"
#include "../base/stop.h"

enum {
	SUMMARY_BYTES = 80
};

/** NIDs of an expression. */
struct doctor_list {
	struct m0_lnet_nid *dli_nids;
	unsigned           *dli_nr;
};

static int nid_add(void *arg, const struct m0_lnet_nid *nid)
{
	struct doctor_list *list = arg;

	if (*list->dli_nr == DOCTOR_NIDS_MAX)
		return -E2BIG;
	list->dli_nids[(*list->dli_nr)++] = *nid;
	return 0;
}

int doctor_expand(const char *word, struct m0_lnet_nid *nids, unsigned *nr)
{
	struct doctor_list list = { nids, nr };

	return nids_expand(word, nid_add, &list);
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
	char       summary[SUMMARY_BYTES];
	unsigned   i;
	size_t     c;

	if (shows)
		fprintf(stderr, "connecting to %u NIDs", nr);
	doctor_tcp_scan(doctor, nids, nr, errors);
	printf("%-24s", "nid");
	for (c = 0; c < ARRAY_SIZE(columns); ++c)
		printf(" %-9s", doctor_names[columns[c]]);
	(void)putchar('\n');
	doctor_page_head(doctor);
	for (i = 0; i < nr && stop_signal() == 0; ++i) {
		char text[M0_LNET_NIDSTR_SIZE];

		if (shows)
			fprintf(stderr, "\r%u of %u             ", i + 1, nr);
		doctor->dtr_scanned = errors[i];
		doctor_run(doctor,
			   m0_lnet_nid_print(&nids[i], text, sizeof text));
		bad += doctor_worst(doctor) == DOCTOR_FAIL ? 1 : 0;
		row_print(doctor);
		doctor_page_row(doctor);
	}
	if (shows)
		fputs("\r", stderr);
	snprintf(summary, sizeof summary, "%u of %u NIDs without a failure%s",
		 i - bad, nr, i < nr ? ", interrupted" : "");
	printf("%s\n", summary);
	doctor_page_end(doctor, summary);
	return bad == 0 && i == nr ? TOOL_OK : TOOL_FAILED;
}
