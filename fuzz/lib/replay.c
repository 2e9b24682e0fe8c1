/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Runs a target on files, without libFuzzer:
 *	fuzz_TARGET FILE|DIRECTORY...
 * A directory stands for the files in it, and must have some.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fuzz.h"

enum {
	INPUT_MAX = 1 << 20,
	PATH_BYTES = 4096
};

static unsigned inputs_nr;

static void file_run(const char *path)
{
	static uint8_t buf[INPUT_MAX];
	FILE          *file = fopen(path, "rb");
	uint8_t       *copy;
	size_t         nr;

	if (file == NULL) {
		perror(path);
		exit(1);
	}
	nr = fread(buf, 1, sizeof buf, file);
	(void)fclose(file);
	/* Said before: the last line names what it died of. */
	printf("%s: %zu bytes\n", path, nr);
	(void)fflush(stdout);
	copy = fuzz_copy(buf, nr);
	(void)LLVMFuzzerTestOneInput(copy, nr);
	free(copy);
	++inputs_nr;
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void dir_run(const char *path)
{
	struct dirent **entries;
	char            name[PATH_BYTES];
	int             nr = scandir(path, &entries, is_file, alphasort);
	int             i;

	if (nr < 1) {
		fprintf(stderr, "%s: nothing to run\n", path);
		exit(1);
	}
	for (i = 0; i < nr; ++i) {
		(void)snprintf(name, sizeof name, "%s/%s", path,
			       entries[i]->d_name);
		file_run(name);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	struct stat st;
	int         i;

	for (i = 1; i < argc; ++i) {
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			dir_run(argv[i]);
		else
			file_run(argv[i]);
	}
	printf("%u inputs\n", inputs_nr);
	return inputs_nr > 0 ? 0 : 1;
}
