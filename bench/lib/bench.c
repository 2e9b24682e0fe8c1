/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "bench.h"

enum {
	HUGE = 2 << 20
};

struct bench_opt bench_opt = {
	.o_slice_s = 0.001,
	.o_slice_nr = 61,
	.o_cpu = { 0, 1 },
	.o_spin_ns = 50000,
};

static size_t    huge_asked;
static clockid_t other_clock;
static bool      has_other;

void bench_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(2);
}

int bench_options(int argc, char **argv, const char *usage)
{
	struct bench_opt *opt = &bench_opt;
	int               o;

	alarm(BENCH_ALARM_S); /* whatever happens */
	while ((o = getopt(argc, argv, "+t:n:c:s:p")) != -1) {
		if (o == 't')
			opt->o_slice_s = atof(optarg);
		else if (o == 'n')
			opt->o_slice_nr = atoi(optarg);
		else if (o == 's')
			opt->o_spin_ns = strtoull(optarg, NULL, 0);
		else if (o == 'p')
			opt->o_poll = true;
		else if (o != 'c' || sscanf(optarg, "%d,%d", &opt->o_cpu[0],
					    &opt->o_cpu[1]) != 2)
			bench_die("%s", usage);
	}
	if (opt->o_slice_nr < 1 || opt->o_slice_nr > BENCH_SLICES_MAX ||
	    opt->o_slice_s <= 0 || optind >= argc)
		bench_die("%s", usage);
	return optind;
}

double bench_now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void bench_other_clock(clockid_t clock)
{
	other_clock = clock;
	has_other = true;
}

double bench_cpu_s(void)
{
	struct timespec other = { 0 };
	struct rusage   r;

	getrusage(RUSAGE_SELF, &r);
	if (has_other)
		clock_gettime(other_clock, &other);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec + other.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6 +
	       (double)other.tv_nsec * 1e-9;
}

void bench_pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	/* a machine with one processor still runs, and says so by its figures */
	(void)sched_setaffinity(0, sizeof(set), &set);
}

void *bench_huge(size_t bytes)
{
	void *p = NULL;

	bytes = (bytes + HUGE - 1) / HUGE * HUGE;
	if (posix_memalign(&p, HUGE, bytes) != 0)
		bench_die("no memory: %zu bytes", bytes);
	(void)madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 1, bytes);
	huge_asked += bytes;
	return p;
}

void bench_huge_report(void)
{
	FILE  *f = fopen("/proc/self/smaps_rollup", "r");
	char   line[256];
	size_t kib = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "AnonHugePages: %zu", &kib) == 1)
			break;
	if (f != NULL)
		fclose(f);
	if (huge_asked > 0)
		bench_line("huge.part",
			   (double)(kib << 10) / (double)huge_asked, "ratio");
}

void bench_line(const char *name, double value, const char *unit)
{
	printf("%s %.6g %s\n", name, value, unit);
	fflush(stdout);
}

/* --------------------------------------------------------------- turns -- */

struct series {
	uint64_t s_ops;
	int      s_nr;
	double   s_ns[BENCH_SLICES_MAX];
	double   s_cpu_ns[BENCH_SLICES_MAX];
};

static int cmp(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int nr)
{
	qsort(v, (size_t)nr, sizeof(v[0]), &cmp);
	return nr % 2 != 0 ? v[nr / 2] : (v[nr / 2] + v[nr / 2 - 1]) / 2;
}

/** Runs one slice; returns its time, 0 if nothing is to be kept. */
static double slice(const struct bench_case *c, struct series *s, bool keep)
{
	double   t, cpu;
	uint64_t done;

	if (c->c_enter != NULL)
		c->c_enter(c->c_arg);
	cpu = bench_cpu_s();
	t = bench_now_s();
	done = c->c_run(c->c_arg, s->s_ops);
	t = bench_now_s() - t;
	cpu = bench_cpu_s() - cpu;
	if (c->c_leave != NULL)
		c->c_leave(c->c_arg);
	if (keep) {
		s->s_ns[s->s_nr] = t / (double)done * 1e9;
		s->s_cpu_ns[s->s_nr++] = cpu / (double)done * 1e9;
	}
	return t;
}

/** The quickest of a few: another process may run meanwhile. */
static double quickest(const struct bench_case *c, struct series *s)
{
	double best = slice(c, s, false);

	for (int i = 0; i < 2 && best >= bench_opt.o_slice_s / 2; i++) {
		double t = slice(c, s, false);

		best = t < best ? t : best;
	}
	return best;
}

/** Warms up, and finds how many operations make a slice. */
static void calibrate(const struct bench_case *c, struct series *s)
{
	double t;

	memset(s, 0, sizeof(*s));
	s->s_ops = 1;
	while ((t = quickest(c, s)) < bench_opt.o_slice_s / 2) {
		double grow = bench_opt.o_slice_s / (t + 1e-7);

		s->s_ops =
			(uint64_t)((double)s->s_ops * (grow > 10 ? 10 : grow)) +
			1;
	}
}

static void report(const struct bench_case *c, struct series *s)
{
	char   name[80];
	double ns = median(s->s_ns, s->s_nr);
	double best = s->s_ns[0];

	bench_line(c->c_name, c->c_rate ? 1e3 / ns : ns,
		   c->c_rate ? "Mop/s" : "ns");
	snprintf(name, sizeof(name), "%s.best", c->c_name);
	bench_line(name, c->c_rate ? 1e3 / best : best,
		   c->c_rate ? "Mop/s" : "ns");
	snprintf(name, sizeof(name), "%s.cpu", c->c_name);
	bench_line(name, median(s->s_cpu_ns, s->s_nr), "ns");
}

void bench_turns(const struct bench_case *cases, int nr)
{
	static struct series series[BENCH_CASES_MAX];

	for (int i = 0; i < nr; i++)
		calibrate(&cases[i], &series[i]);
	for (int j = 0; j < bench_opt.o_slice_nr; j++)
		for (int i = 0; i < nr; i++)
			(void)slice(&cases[i], &series[i], true);
	for (int i = 0; i < nr; i++)
		report(&cases[i], &series[i]);
}

void bench_counted(const struct bench_case *c, uint64_t nr)
{
	(void)c->c_run(c->c_arg, nr);
}

/* -------------------------------------------------------------- worker -- */

struct bench_worker {
	pthread_t w_thread;
	sem_t     w_go;
	sem_t     w_running;
	sem_t     w_parked;
	int       w_cpu;
	_Alignas(128) bool w_park;
	bool w_quit;
	void (*w_step)(void *arg);
	void *w_arg;
};

static void sem_take(sem_t *sem)
{
	while (sem_wait(sem) != 0 && errno == EINTR)
		;
}

static void *worker(void *arg)
{
	struct bench_worker *w = arg;

	bench_pin(w->w_cpu);
	for (;;) {
		sem_take(&w->w_go);
		if (w->w_quit)
			return NULL;
		sem_post(&w->w_running);
		while (!__atomic_load_n(&w->w_park, __ATOMIC_ACQUIRE))
			w->w_step(w->w_arg);
		sem_post(&w->w_parked);
	}
}

struct bench_worker *bench_worker_start(int cpu)
{
	struct bench_worker *w;

	w = aligned_alloc(128, (sizeof(*w) + 127) / 128 * 128);
	if (w == NULL)
		bench_die("no memory");
	memset(w, 0, sizeof(*w));
	w->w_cpu = cpu;
	sem_init(&w->w_go, 0, 0);
	sem_init(&w->w_running, 0, 0);
	sem_init(&w->w_parked, 0, 0);
	if (pthread_create(&w->w_thread, NULL, &worker, w) != 0)
		bench_die("no thread");
	return w;
}

void bench_worker_run(struct bench_worker *w, void (*step)(void *arg),
		      void                *arg)
{
	w->w_step = step;
	w->w_arg = arg;
	w->w_park = false;
	sem_post(&w->w_go);
	sem_take(&w->w_running);
}

void bench_worker_park(struct bench_worker *w)
{
	__atomic_store_n(&w->w_park, true, __ATOMIC_RELEASE);
	sem_take(&w->w_parked);
}

void bench_worker_stop(struct bench_worker *w)
{
	w->w_quit = true;
	sem_post(&w->w_go);
	pthread_join(w->w_thread, NULL);
	free(w);
}
