/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A file for a support ticket: a tar archive of texts. It has what commands of this node
 * show to everybody who may read, and nothing else of the host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>

#include "doctor.h"
#include "../base/file_save.h"

enum {
	BLOCK_BYTES = 512,
	BUNDLE_MODE = 0600
};

/** The head of a file in an archive, by POSIX. */
struct doctor_tar {
	char dta_name[100];
	char dta_mode[8];
	char dta_uid[8];
	char dta_gid[8];
	char dta_size[12];
	char dta_mtime[12];
	char dta_sum[8];
	char dta_type;
	char dta_link[100];
	char dta_magic[6];
	char dta_version[2];
	char dta_rest[247];
};
_Static_assert(sizeof(struct doctor_tar) == BLOCK_BYTES, "a block");

static const struct {
	const char   *name;
	enum ctl_verb verb;
	unsigned      verbose;
} parts[] = {
	{ "config.yaml", CTL_CONFIG_EXPORT, 0 },
	{ "global.yaml", CTL_GLOBAL_SHOW, 0 },
	{ "net.yaml", CTL_NET_SHOW, 4 },
	{ "peer.yaml", CTL_PEER_SHOW, 4 },
	{ "route.yaml", CTL_ROUTE_SHOW, 1 },
	{ "routing.yaml", CTL_ROUTING_SHOW, 0 },
	{ "udsp.yaml", CTL_UDSP_SHOW, 0 },
	{ "fault.yaml", CTL_FAULT_SHOW, 0 },
	{ "process.yaml", CTL_PROCESS_SHOW, 0 },
	{ "stats.yaml", CTL_STATS_SHOW, 4 },
	{ "metrics.txt", CTL_METRICS_SHOW, 0 },
};

static void head_make(struct doctor_tar *head, const char *name, size_t nr)
{
	const uint8_t *bytes = (const uint8_t *)head;
	unsigned       sum = 0;
	size_t         i;

	M0_SET0(head);
	snprintf(head->dta_name, sizeof head->dta_name, "colibri/%s", name);
	snprintf(head->dta_mode, sizeof head->dta_mode, "%07o", 0644U);
	snprintf(head->dta_uid, sizeof head->dta_uid, "%07o", 0U);
	snprintf(head->dta_gid, sizeof head->dta_gid, "%07o", 0U);
	snprintf(head->dta_size, sizeof head->dta_size, "%011llo",
		 (unsigned long long)nr);
	snprintf(head->dta_mtime, sizeof head->dta_mtime, "%011llo",
		 (unsigned long long)time(NULL));
	memset(head->dta_sum, ' ', sizeof head->dta_sum);
	head->dta_type = '0';
	memcpy(head->dta_magic, "ustar", sizeof head->dta_magic);
	memcpy(head->dta_version, "00", sizeof head->dta_version);
	for (i = 0; i < BLOCK_BYTES; ++i)
		sum += bytes[i];
	snprintf(head->dta_sum, sizeof head->dta_sum, "%06o", sum & 0777777U);
}

static void file_add(FILE *tar, const char *name, const char *text, size_t nr)
{
	static const char zeroes[BLOCK_BYTES];
	struct doctor_tar head;

	head_make(&head, name, nr);
	(void)fwrite(&head, 1, sizeof head, tar);
	(void)fwrite(text, 1, nr, tar);
	(void)fwrite(zeroes, 1, (BLOCK_BYTES - nr % BLOCK_BYTES) % BLOCK_BYTES,
		     tar);
}

static void version_add(FILE *tar)
{
	struct utsname name;
	char           text[1024];

	(void)uname(&name);
	snprintf(text, sizeof text,
		 "colibri %s (library %s)\nkernel %s %s\nmachine %s\n",
		 M0_VERSION_STR, m0_version(), name.sysname, name.release,
		 name.machine);
	file_add(tar, "version.txt", text, strlen(text));
}

static void parts_add(struct doctor *doctor, FILE *tar)
{
	struct ctl_request req;
	size_t             i;

	for (i = 0; i < ARRAY_SIZE(parts); ++i) {
		char *text;

		ctl_request_init(&req, parts[i].verb);
		req.cq_verbose = parts[i].verbose;
		(void)doctor_ask(doctor, &req, &text, NULL);
		if (text != NULL && text[0] != '\0')
			file_add(tar, parts[i].name, text, strlen(text));
		free(text);
	}
}

static void bundle_fill(struct doctor *doctor, FILE *tar, const char *report,
			size_t nr)
{
	static const char end[2 * BLOCK_BYTES];

	version_add(tar);
	file_add(tar, doctor->dtr_json ? "doctor.json" : "doctor.txt", report,
		 nr);
	doctor->dtr_deadline =
		m0_time_add(m0_time_now(), 10 * M0_TIME_ONE_SECOND);
	if (doctor->dtr_by_ctl)
		parts_add(doctor, tar);
	(void)fwrite(end, 1, sizeof end, tar);
}

int doctor_bundle(struct doctor *doctor, const char *report, size_t nr)
{
	char  *text = NULL;
	size_t text_nr = 0;
	FILE  *tar = open_memstream(&text, &text_nr);
	int    rc = -ENOMEM;

	if (tar != NULL) {
		bundle_fill(doctor, tar, report, nr);
		rc = ferror(tar) ? -ENOMEM : 0;
		if (fclose(tar) != 0)
			rc = -ENOMEM;
	}
	if (rc == 0)
		rc = file_save(doctor->dtr_bundle, BUNDLE_MODE, text, text_nr);
	free(text);
	if (rc != 0)
		return tool_fail_set(&doctor->dtr_fail, TOOL_FAILED,
				     "--bundle '%s' cannot be written: %s",
				     doctor->dtr_bundle, tool_errtext(rc));
	return 0;
}
