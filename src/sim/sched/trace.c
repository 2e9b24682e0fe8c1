/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Narration of the simulator, its expected values, and the end of failed runs.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/probes.h"
#include "sim/sched/sim_internal.h"

/* There if a sanitizer is. */
extern void __sanitizer_set_death_callback(void (*callback)(void))
	__attribute__((weak));

/* Present in libFuzzer programs, which must keep the input of a crash. */
extern int LLVMFuzzerRunDriver(int *argc, char ***argv,
			       int (*one)(const uint8_t *data, size_t size))
	__attribute__((weak));

static void (*the_hook)(void);

/* FNV-1a, 64 bits. */
static uint64_t hash_add(uint64_t hash, const void *bytes, size_t nr)
{
	const uint8_t *at = bytes;

	for (; nr > 0; --nr)
		hash = (hash ^ *at++) * 0x100000001b3ULL;
	return hash;
}

static m0_time_t since_start(m0_time_t at)
{
	return at - SIM_START_SEC * M0_TIME_ONE_SECOND;
}

const char *m0_sim__speaker(const struct m0_sim_core *core)
{
	const struct m0_strand  *strand = m0_strand_current();
	const struct sim_strand *entry;

	if (strand == NULL && !core->simk_in_turn && core->simk_program != NULL)
		return core->simk_program->sims_name;
	if (strand == NULL)
		return core->simk_in_turn ? "sim" : "app";
	entry = strand->st_runner;
	return entry != NULL ? entry->sims_name : strand->st_name;
}

/* -- lines --------------------------------------------------------------- */

static void line_print(const struct sim_line *line)
{
	m0_time_t us = since_start(line->sinl_at) / M0_TIME_ONE_USEC;

	fprintf(stderr, "%5" PRIu64 ".%03" PRIu64 " ms %s > %s\n", us / 1000,
		us % 1000, line->sinl_name, line->sinl_text);
}

static void story_add(struct m0_sim_core *core, const struct sim_line *line)
{
	char text[SIM_NAME_LEN + SIM_TEXT_LEN + 32];
	int  nr;

	nr = snprintf(text, sizeof text, "%3" PRIu64 " ms %s > %s\n",
		      since_start(line->sinl_at) / M0_TIME_ONE_MSEC,
		      line->sinl_name, line->sinl_text);
	core->simk_story = m0_sim__grow(core->simk_story,
					core->simk_story_len + (size_t)nr + 1,
					&core->simk_story_max, 1);
	memcpy(core->simk_story + core->simk_story_len, text, (size_t)nr + 1);
	core->simk_story_len += (size_t)nr;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_watched(const struct m0_sim_core *core, const char *kind,
		       const char *text)
{
	unsigned i;

	for (i = 0; i < core->simk_watches_nr; ++i)
		if (has_prefix(kind, core->simk_watches[i]) ||
		    has_prefix(text, core->simk_watches[i]))
			return true;
	return false;
}

static void line_end(struct m0_sim_core *core, const struct sim_line *line,
		     const char *kind)
{
	uint64_t hash = core->simk_hash;

	++core->simk_lines_nr;
	hash = hash_add(hash, &line->sinl_at, sizeof line->sinl_at);
	hash = hash_add(hash, line->sinl_name, strlen(line->sinl_name));
	core->simk_hash =
		hash_add(hash, line->sinl_text, strlen(line->sinl_text));
	if (core->simk_verbose)
		line_print(line);
	if (is_watched(core, kind, line->sinl_text))
		story_add(core, line);
}

static void M0_PRINTF(4, 0)
	trace_write(struct m0_sim_core *core, const char *name,
		    const char *kind, const char *fmt, va_list args)
{
	struct sim_line *line;

	line = &core->simk_lines[core->simk_lines_nr %
				 core->simk_cfg.simc_lines_max];
	line->sinl_at = core->simk_now;
	(void)snprintf(line->sinl_name, sizeof line->sinl_name, "%s", name);
	(void)vsnprintf(line->sinl_text, sizeof line->sinl_text, fmt, args);
	line_end(core, line, kind);
}

void m0_sim__trace(struct m0_sim_core *core, const char *name, const char *kind,
		   const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	trace_write(core, name, kind, fmt, args);
	va_end(args);
}

void m0_sim_say(struct m0_sim *sim, const char *fmt, ...)
{
	struct m0_sim_core *core = sim->sim_core;
	va_list             args;

	va_start(args, fmt);
	trace_write(core, m0_sim__speaker(core), "say", fmt, args);
	va_end(args);
}

void m0_sim_options(struct m0_sim *sim, const char *fmt, ...)
{
	char   *text = sim->sim_core->simk_options;
	size_t  at = strlen(text);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text + at, SIM_OPTIONS_LEN - at, fmt, args);
	va_end(args);
	at = strlen(text);
	text[at] = '\n';
	text[at + 1] = 0;
}

static void probe_sink(void *arg, const char *name, const char *text)
{
	m0_sim__trace(arg, m0_sim__speaker(arg), name, "%s", text);
}

/* -- bad ends ------------------------------------------------------------ */

void m0_sim__report(struct m0_sim_core *core, const char *why)
{
	uint64_t max = core->simk_cfg.simc_lines_max;
	uint64_t end = core->simk_lines_nr;
	uint64_t i = end > max ? end - max : 0;

	if (core->simk_reported)
		return;
	core->simk_reported = true;
	if (core->simk_program != NULL) {
		fflush(stderr);
		stderr = core->simk_stderr;
		fputs(*core->simk_errors, stderr);
	}
	/* Print even after a fatal signal: a partial trace is better than
	 * none. */
	/* NOLINTBEGIN(bugprone-signal-handler) */
	if (i > 0 && !core->simk_verbose)
		fprintf(stderr, "... %" PRIu64 " lines before\n", i);
	for (; i < end && !core->simk_verbose; ++i)
		line_print(&core->simk_lines[i % max]);
	fprintf(stderr, "simulation: %s\n%sM0_SEED=%" PRIu64 " to replay\n",
		why, core->simk_options, core->simk_seed);
	fflush(stderr);
	/* NOLINTEND(bugprone-signal-handler) */
}

void m0_sim_report(struct m0_sim *sim, const char *why)
{
	m0_sim__report(sim->sim_core, why);
}

void m0_sim__die(struct m0_sim_core *core, const char *fmt, ...)
{
	char    why[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, sizeof why, fmt, args);
	va_end(args);
	m0_sim__report(core, why);
	abort();
}

void m0_sim_on_failure(void (*hook)(void))
{
	the_hook = hook;
}

void m0_sim__case_fail(void)
{
	if (the_hook != NULL)
		the_hook();
	abort();
}

void m0_sim_fail(struct m0_sim *sim, const char *fmt, ...)
{
	char    why[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, sizeof why, fmt, args);
	va_end(args);
	m0_sim__report(sim->sim_core, why);
	m0_sim__case_fail();
}

static void live_report(void)
{
	if (m0_sim__live != NULL)
		m0_sim__report(m0_sim__live, "the program ends");
}

/* This is not async-signal-safe, but the process is lost anyway. */
static void signal_take(int nr)
{
	live_report();
	(void)signal(nr, SIG_DFL);
	(void)raise(nr);
}

static void ends_watch(void)
{
	static bool done;

	if (done || LLVMFuzzerRunDriver != NULL)
		return;
	done = true;
	(void)signal(SIGABRT, signal_take);
	(void)signal(SIGTERM, signal_take);
	(void)atexit(live_report);
	if (__sanitizer_set_death_callback != NULL)
		__sanitizer_set_death_callback(live_report);
}

/* -- expectations -------------------------------------------------------- */

void m0_sim_watch(struct m0_sim *sim, const char *prefix)
{
	struct m0_sim_core *core = sim->sim_core;

	M0_PRE(core->simk_watches_nr < SIM_WATCHES_MAX);
	core->simk_watches[core->simk_watches_nr++] = prefix;
}

/* Number of the first line that differs, from 1. */
static unsigned first_difference(const char *a, const char *b)
{
	unsigned line = 1;

	for (; *a != 0 && *a == *b; ++a, ++b)
		if (*a == '\n')
			++line;
	return line;
}

void m0_sim_expect(struct m0_sim *sim, const char *text)
{
	struct m0_sim_core *core = sim->sim_core;
	const char         *story;

	story = core->simk_story_len > 0 ? core->simk_story : "";
	if (strcmp(story, text) != 0) {
		fprintf(stderr, "expected:\n%sbut it was:\n%s", text, story);
		m0_sim_fail(sim, "not as expected, from line %u on",
			    first_difference(story, text));
	}
	core->simk_story_len = 0;
}

uint64_t m0_sim_hash(const struct m0_sim *sim)
{
	return sim->sim_core->simk_hash;
}

/* -- life ---------------------------------------------------------------- */

void m0_sim__trace_init(struct m0_sim_core *core)
{
	const char *verbose = getenv("M0_SIM_VERBOSE");

	M0_PRE(core->simk_cfg.simc_lines_max > 0);
	core->simk_lines = m0_sim__realloc(NULL, core->simk_cfg.simc_lines_max,
					   sizeof core->simk_lines[0]);
	core->simk_hash = 0xcbf29ce484222325ULL;
	core->simk_verbose = verbose != NULL && *verbose == '1';
	ends_watch();
	m0_probe_sink_set(probe_sink, core);
}

void m0_sim__trace_fini(struct m0_sim_core *core)
{
	m0_probe_sink_set(NULL, NULL);
	free(core->simk_lines);
	free(core->simk_story);
}
