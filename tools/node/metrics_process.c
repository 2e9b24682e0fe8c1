/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "metrics_process.h"

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

uint64_t metrics_resident_bytes(void)
{
	unsigned long pages = 0;
	FILE         *file = fopen("/proc/self/statm", "re");

	if (file == NULL)
		return 0;
	if (fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	(void)fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

double metrics_cpu_s(void)
{
	struct rusage usage = { .ru_maxrss = 0 };

	(void)getrusage(RUSAGE_SELF, &usage);
	return seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
}

double metrics_started_s(m0_time_t since)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9 -
	       (double)m0_time_sub(m0_time_now(), since) / 1e9;
}
