/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The fixture's environment: real threads, or the simulator. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "lib/env.h"

#include "cf.h"
#include "cf_internal.h"

static struct env env;

static __thread struct cf_thread here;

struct cf_thread *cf_here(void)
{
	return &here;
}

int cf_tid(void)
{
	return (int)syscall(SYS_gettid);
}

void cf__env_begin(void)
{
	cf__heap_begin();
	env_init(&env, cf.c_sim ? ENV_SIM : ENV_THREADS, cf.c_seed);
}

void cf__env_end(void)
{
	env_fini(&env);
	cf__heap_end();
}

void cf_sleep_ms(unsigned ms)
{
	(void)m0_nanosleep(ms * M0_TIME_ONE_MSEC, NULL);
}

/* Whether the status of a thread is that of TSan's own, which wakes ten times a
 * second. It has the name of the program, which threads of the library have not. */
static bool is_tsans(const char *status)
{
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
	char name[32];

	snprintf(name, sizeof name, "Name:\t%.15s\n",
		 program_invocation_short_name);
	return strncmp(status, name, strlen(name)) == 0;
#endif
#endif
	(void)status;
	return false;
}

/* How often a thread has gone to sleep since it began. */
static uint64_t sleeps_nr(const char *tid)
{
	static const char key[] = "\nvoluntary_ctxt_switches:";
	char              text[4096];
	char              path[64];
	const char       *at;
	FILE             *f;
	size_t            nr;

	snprintf(path, sizeof path, "/proc/self/task/%.20s/status", tid);
	f = fopen(path, "r");
	if (f == NULL)
		return 0; /* The thread has ended. */
	nr = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[nr] = 0;
	if (is_tsans(text))
		return 0;
	at = strstr(text, key);
	CF_TRUE(at != NULL, "no count of switches in %s", path);
	return strtoull(at + sizeof key - 1, NULL, 10);
}

uint64_t cf_activity(void)
{
	uint64_t       nr = 0;
	struct dirent *entry;
	DIR           *dir;

	if (cf.c_sim)
		return m0_sim_turns_nr(&env.env_sim);
	dir = opendir("/proc/self/task");
	CF_TRUE(dir != NULL, "/proc/self/task: %s", strerror(errno));
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != gettid())
			nr += sleeps_nr(entry->d_name);
	closedir(dir);
	return nr;
}

void cf__env_yield(void)
{
	if (cf.c_sim)
		env_yield(&env);
	else
		sched_yield();
}

struct m0_sim *cf__sim(void)
{
	return &env.env_sim;
}

void cf__env_report(void)
{
	if (env_is_sim(&env))
		m0_sim_report(&env.env_sim, "case failed");
}

bool cf_fd_none(void)
{
	return false;
}

bool cf_fd_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
}

void cf_fd_wait(int fd, const char *what)
{
	cf.c_waiting = what;
	if (!env_wait_fd(&env, fd, 20 * M0_TIME_ONE_SECOND))
		cf_fail(__FILE__, __LINE__,
			"descriptor is not readable, expected: %s", what);
	cf.c_waiting = NULL;
}
