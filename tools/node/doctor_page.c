/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The page of `colibri doctor --report`: each check of a NID, or a map of many. */
#include <stdlib.h>

#include "doctor.h"
#include "../base/page.h"

static enum page_mark mark_of(enum doctor_verdict verdict)
{
	static const enum page_mark marks[DOCTOR_VERDICTS_NR] = {
		[DOCTOR_SKIPPED] = PAGE_NONE,
		[DOCTOR_OK] = PAGE_GOOD,
		[DOCTOR_WARN] = PAGE_DOUBTFUL,
		[DOCTOR_FAIL] = PAGE_BAD,
	};

	return marks[verdict];
}

static void check_put(FILE *file, const struct doctor *doctor, size_t i)
{
	const struct doctor_check *check = &doctor->dtr_checks[i];
	bool                       has_remedy = check->dch_remedy[0] != '\0';
	char                       text[2 * DOCTOR_TEXT_BYTES + 16];

	snprintf(text, sizeof text, "%s%s%s", check->dch_text,
		 has_remedy ? " Remedy: " : "", check->dch_remedy);
	page_row(file);
	page_cell(file, doctor_names[i], PAGE_NONE);
	page_cell(file, doctor_verdicts[check->dch_verdict],
		  mark_of(check->dch_verdict));
	page_cell(file, text, PAGE_PROSE);
}

void doctor_page_one(const struct doctor *doctor)
{
	FILE  *file = doctor->dtr_page;
	size_t i;

	if (file == NULL)
		return;
	page_grid_begin(file);
	page_row(file);
	page_head(file, "check");
	page_head(file, "verdict");
	page_head(file, "finding");
	for (i = 0; i < DOCTOR_CHECKS_NR; ++i)
		check_put(file, doctor, i);
	page_grid_end(file);
}

void doctor_page_head(const struct doctor *doctor)
{
	FILE  *file = doctor->dtr_page;
	size_t i;

	if (file == NULL)
		return;
	page_grid_begin(file);
	page_row(file);
	page_head(file, "NID");
	for (i = 0; i < DOCTOR_CHECKS_NR; ++i)
		page_head(file, doctor_names[i]);
}

void doctor_page_row(const struct doctor *doctor)
{
	FILE  *file = doctor->dtr_page;
	size_t i;

	if (file == NULL)
		return;
	page_row(file);
	page_cell(file, doctor->dtr_nid_text, PAGE_NONE);
	for (i = 0; i < DOCTOR_CHECKS_NR; ++i) {
		enum doctor_verdict verdict = doctor->dtr_checks[i].dch_verdict;

		page_cell(file,
			  verdict == DOCTOR_SKIPPED ? "-"
						    : doctor_verdicts[verdict],
			  mark_of(verdict));
	}
}

void doctor_page_end(const struct doctor *doctor, const char *text)
{
	if (doctor->dtr_page == NULL)
		return;
	page_grid_end(doctor->dtr_page);
	page_text(doctor->dtr_page, text);
}

int doctor_page_open(struct doctor *doctor, const char *title)
{
	if (doctor->dtr_report == NULL)
		return TOOL_OK;
	doctor->dtr_page = fopen(doctor->dtr_report, "we");
	if (doctor->dtr_page == NULL)
		return tool_fail_set(&doctor->dtr_fail, TOOL_FAILED,
				     "--report %s: %s", doctor->dtr_report,
				     tool_errtext(errno));
	page_begin(doctor->dtr_page, title);
	page_time(doctor->dtr_page);
	return TOOL_OK;
}

int doctor_page_close(struct doctor *doctor)
{
	FILE *file = doctor->dtr_page;

	if (file == NULL)
		return TOOL_OK;
	page_end(file);
	doctor->dtr_page = NULL;
	return fclose(file) == 0
		       ? TOOL_OK
		       : tool_fail_set(&doctor->dtr_fail, TOOL_FAILED,
				       "--report %s: %s", doctor->dtr_report,
				       tool_errtext(errno));
}
