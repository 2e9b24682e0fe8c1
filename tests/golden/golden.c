/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <stdlib.h>

#include "golden/golden.h"

struct golden_file golden_files[GOLDEN_FILES_MAX];
size_t             golden_files_nr;

static char problem[512];

/** Splits all streams of a file. */
static const char *file_split(struct golden_file *file)
{
	const struct pcap *pcap = &file->gf_pcap;
	size_t             i;

	file->gf_dialogues =
		calloc(pcap->pc_streams_nr, sizeof *file->gf_dialogues);
	if (file->gf_dialogues == NULL)
		return "no memory";
	for (i = 0; i < pcap->pc_streams_nr; ++i)
		if (dialogue_init(&file->gf_dialogues[i],
				  &pcap->pc_streams[i]) != 0)
			return "a message cannot be decoded";
	return NULL;
}

static const char *file_load(const char *dir, struct golden_file *file)
{
	char path[4096];
	int  rc;

	(void)snprintf(path, sizeof path, "%s/%s.pcap", dir, file->gf_name);
	rc = pcap_load(&file->gf_pcap, path);
	if (rc != 0) {
		(void)snprintf(problem, sizeof problem, "%.400s: %s", path,
			       strerror(-rc));
		return problem;
	}
	return file_split(file);
}

/** The next row of counts.txt; false at its end. */
static bool row_get(FILE *counts, struct golden_file *file)
{
	size_t i;

	if (fscanf(counts, "%63s", file->gf_name) != 1)
		return false;
	for (i = 0; i < GOLDEN_NR; ++i)
		if (fscanf(counts, "%lu", &file->gf_counts[i]) != 1)
			return false;
	return true;
}

const char *golden_load(const char *dir)
{
	char        path[4096];
	FILE       *counts;
	const char *wrong = NULL;

	(void)snprintf(path, sizeof path, "%s/counts.txt", dir);
	counts = fopen(path, "r");
	if (counts == NULL)
		return "no counts.txt";
	/* The heading. */
	(void)fscanf(counts, "%*[^\n]");
	while (wrong == NULL && golden_files_nr < GOLDEN_FILES_MAX &&
	       row_get(counts, &golden_files[golden_files_nr]))
		wrong = file_load(dir, &golden_files[golden_files_nr++]);
	if (wrong == NULL && !feof(counts))
		wrong = "counts.txt: a row is not of these columns";
	(void)fclose(counts);
	return wrong;
}

void golden_free(void)
{
	struct golden_file *file;
	size_t              i;

	for (; golden_files_nr > 0; --golden_files_nr) {
		file = &golden_files[golden_files_nr - 1];
		for (i = 0; i < file->gf_pcap.pc_streams_nr; ++i)
			dialogue_fini(&file->gf_dialogues[i]);
		free(file->gf_dialogues);
		pcap_free(&file->gf_pcap);
	}
}

int golden_ping(const struct dialogue_msg *msg, struct m0_lnet_ping_info *info,
		struct m0_lnet_ping_ni nis[GOLDEN_PING_NIS])
{
	*info = (struct m0_lnet_ping_info){ .lpi_nis = nis,
					    .lpi_nis_max = GOLDEN_PING_NIS };
	return m0_lnet__ping_decode(info, msg->dm_payload,
				    msg->dm_hdr.lhd_payload_bytes);
}
