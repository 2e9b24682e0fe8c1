/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/threads.h"

int threads_cpus_nr(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
							   : 1;
}

int threads_cpu(void)
{
	cpu_set_t set;
	int       cpu = CPU_SETSIZE - 1;

	CPU_ZERO(&set);
	(void)sched_getaffinity(0, sizeof set, &set);
	while (cpu > 0 && !CPU_ISSET((size_t)cpu, &set))
		--cpu;
	return cpu;
}

static int is_named(const char *tid, const char *name)
{
	char  path[300];
	char  line[64] = "";
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/self/task/%s/comm", tid);
	file = fopen(path, "r");
	if (file == NULL)
		return 0;
	if (fgets(line, sizeof line, file) == NULL)
		line[0] = 0;
	(void)fclose(file);
	line[strcspn(line, "\n")] = 0;
	return strcmp(line, name) == 0;
}

int threads_on(const char *name, int cpu)
{
	DIR           *dir = opendir("/proc/self/task");
	struct dirent *entry;
	cpu_set_t      set;
	int            nr = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' || !is_named(entry->d_name, name) ||
		    sched_getaffinity(atoi(entry->d_name), sizeof set, &set) !=
			    0)
			continue;
		nr += CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)cpu, &set);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return nr;
}
