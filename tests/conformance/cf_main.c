/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The runner: one process for each case, so that one that fails, aborts or
 * hangs is named and the others still run. Speaks TAP.
 */
#include <getopt.h>
#include <signal.h>
#include <unistd.h>
#include <sys/wait.h>

#include "base/rand.h"

#include "cf.h"
#include "cf_internal.h"

static const char *const mode_names[] = { "async", "sync", "inline" };

struct options {
	uint64_t    o_seeds_nr;
	const char *o_case;
	/** So many cases, which the seed draws; 0: all. */
	unsigned o_draw_nr;
	/** One case of so many, by the number in $M0_DRAW; 1: all. */
	unsigned o_share;
	bool     o_list;
	bool     o_no_fork;
};

const char *cf__mode_name(enum cf_mode mode)
{
	return mode_names[mode];
}

static int usage(const char *program)
{
	fprintf(stderr,
		"usage: %s --row NAME [--env threads|sim] [--seed N]\n"
		"	[--seeds NR] [--mode async|sync|inline] [--workers N]\n"
		"	[--case TEXT] [--draw NR] [--share NR] [--list]\n"
		"	[--no-fork]\n"
		"With --share, one case of NR runs, which the number in "
		"$M0_DRAW tells; all run if it is \"all\" or not set.\n",
		program);
	return 2;
}

static bool row_find(const char *name)
{
	const struct cf_row *row;

	for (row = cf_rows; row->r_name != NULL; ++row) {
		if (strcmp(row->r_name, name) == 0) {
			cf.c_row = row;
			return true;
		}
	}
	return false;
}

static bool mode_find(const char *name)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(mode_names); ++i) {
		if (strcmp(mode_names[i], name) == 0) {
			cf.c_mode = (enum cf_mode)i;
			return true;
		}
	}
	return false;
}

static int options_parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "row", required_argument, NULL, 'r' },
		{ "env", required_argument, NULL, 'e' },
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'n' },
		{ "mode", required_argument, NULL, 'm' },
		{ "workers", required_argument, NULL, 'w' },
		{ "case", required_argument, NULL, 'c' },
		{ "draw", required_argument, NULL, 'd' },
		{ "share", required_argument, NULL, 'p' },
		{ "list", no_argument, NULL, 'l' },
		{ "no-fork", no_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 }
	};
	bool ok = true;
	int  opt;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (opt) {
		case 'r':
			ok = ok && row_find(optarg);
			break;
		case 'e':
			cf.c_sim = strcmp(optarg, "sim") == 0;
			break;
		case 's':
			cf.c_seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			o->o_seeds_nr = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			ok = ok && mode_find(optarg);
			break;
		case 'w':
			cf.c_workers = strtoul(optarg, NULL, 0);
			break;
		case 'c':
			o->o_case = optarg;
			break;
		case 'd':
			o->o_draw_nr = (unsigned)atoi(optarg);
			break;
		case 'p':
			o->o_share = (unsigned)atoi(optarg);
			ok = ok && o->o_share > 0;
			break;
		case 'l':
			o->o_list = true;
			break;
		case 'f':
			o->o_no_fork = true;
			break;
		default:
			ok = false;
			break;
		}
	}
	return ok && optind == argc ? 0 : -EINVAL;
}

/* Seeds matter to threads too: shapes and sizes are drawn from them. */
static void case_run(const struct cf_case *c, uint64_t seeds_nr)
{
	uint64_t first = cf.c_seed;

	for (; cf.c_seed < first + seeds_nr; ++cf.c_seed) {
		cf.c_waiting = "what the case is made in";
		cf__env_begin();
		cf_begin();
		cf.c_waiting = NULL;
		c->cc_fn();
		cf.c_waiting = "what the case has left";
		cf_end();
		cf__env_end();
	}
}

static void hung(int sig)
{
	static const char text[] = "# HANGS: waits for: ";

	(void)sig;
	(void)!write(2, text, sizeof text - 1);
	(void)!write(2, cf.c_case, strlen(cf.c_case));
	(void)!write(2, ": ", 2);
	if (cf.c_waiting != NULL)
		(void)!write(2, cf.c_waiting, strlen(cf.c_waiting));
	(void)!write(2, "\n", 1);
	abort();
}

static bool case_fork(const struct cf_case *c, uint64_t seeds_nr)
{
	const char *limit = getenv("CF_ALARM_S");
	int         status;
	pid_t       pid;

	cf.c_case = c->cc_name;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		signal(SIGALRM, hung);
		alarm(limit == NULL ? 100 : (unsigned)atoi(limit));
		case_run(c, seeds_nr);
		fflush(NULL);
		cf.c_waiting = "the end of the process";
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	if (WIFSIGNALED(status))
		fprintf(stderr, "# %s: ended by signal %d\n", c->cc_name,
			WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool wanted(const struct options *o, const struct cf_suite *s,
		   const struct cf_case *c)
{
	return o->o_case == NULL || strstr(c->cc_name, o->o_case) != NULL ||
	       strcmp(s->cs_name, o->o_case) == 0;
}

static unsigned wanted_nr(const struct cf_suite *suites,
			  const struct options  *o)
{
	const struct cf_suite *s;
	const struct cf_case  *c;
	unsigned               nr = 0;

	for (s = suites; s->cs_name != NULL; ++s)
		for (c = s->cs_cases; c->cc_name != NULL; ++c)
			nr += wanted(o, s, c);
	return nr;
}

/* Rows and modes begin with different cases on one day. */
static uint64_t turn_of(const char *text)
{
	const char *name = cf.c_row->r_name;
	uint64_t    turn = strtoull(text, NULL, 0);

	for (; *name != '\0'; ++name)
		turn += (unsigned char)*name;
	return turn + (unsigned)cf.c_mode;
}

/*
 * Returns true if it is the turn of case `nr` of those that are wanted: with
 * --share, one case of so many, other ones each day, and all in as many days.
 */
static bool has_turn(const struct options *o, unsigned nr)
{
	const char *text = getenv("M0_DRAW");

	return o->o_case != NULL || text == NULL || strcmp(text, "all") == 0 ||
	       (nr + turn_of(text)) % o->o_share == 0;
}

static int suites_run(const struct cf_suite *suites, const struct options *o)
{
	const struct cf_suite *s;
	const struct cf_case  *c;
	struct m0_rand         rand;
	unsigned               nr = 0;
	unsigned               failed = 0;
	unsigned               left = wanted_nr(suites, o);
	unsigned               draw = o->o_draw_nr == 0 ? left : o->o_draw_nr;
	unsigned               at = 0;

	m0_rand_init(&rand, cf.c_seed);
	for (s = suites; s->cs_name != NULL; ++s) {
		for (c = s->cs_cases; c->cc_name != NULL; ++c) {
			bool ok = true;

			/* Each choice of `draw` of them is as probable. */
			if (!wanted(o, s, c) ||
			    m0_rand_below(&rand, left--) >= draw)
				continue;
			--draw;
			if (!has_turn(o, at++))
				continue;
			++nr;
			cf.c_case = c->cc_name;
			if (o->o_no_fork)
				case_run(c, o->o_seeds_nr);
			else if (!o->o_list)
				ok = case_fork(c, o->o_seeds_nr);
			failed += !ok;
			printf("%s %u - %s: %s\n", ok ? "ok" : "not ok", nr,
			       s->cs_name, c->cc_name);
		}
	}
	if (nr < at)
		printf("# %u of %u cases, by M0_DRAW=%s; M0_DRAW=all runs all\n",
		       nr, at, getenv("M0_DRAW"));
	printf("1..%u\n", nr);
	return failed == 0 ? 0 : 1;
}

int cf_main(int argc, char **argv, const struct cf_suite *suites)
{
	struct options o = { .o_seeds_nr = 1, .o_share = 1 };
	const char    *replay = getenv("M0_SEED");

	cf.c_row = cf_rows;
	cf.c_workers = 1;
	cf.c_seed = 1;
	if (options_parse(argc, argv, &o) != 0)
		return usage(argv[0]);
	if (replay != NULL) {
		cf.c_seed = strtoull(replay, NULL, 0);
		o.o_seeds_nr = 1;
	}
	return suites_run(suites, &o);
}
