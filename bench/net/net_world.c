/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "net_world.h"

/** Memory that the sides share. */
struct stage {
	sem_t st_go;
	sem_t st_ready;
	int   st_play;
	bool  st_quit;
	_Alignas(128) _Atomic bool st_park;
};

static struct stage            *stage;
static enum world_kind          kind;
static const struct world_play *plays;
static int                      plays_nr;
static pid_t                    child;
static pthread_t                thread;

void *world_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		bench_die("no shared memory: %zu bytes", bytes);
	return p;
}

void world_sem_init(sem_t *sem)
{
	if (sem_init(sem, 1, 0) != 0)
		bench_die("semaphore: %s", strerror(errno));
}

void world_sem_take(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		if (errno != EINTR)
			bench_die("semaphore: %s", strerror(errno));
}

static void all_open(int side)
{
	for (int i = 0; i < plays_nr; i++)
		plays[i].wp_open(plays[i].wp_arg, side);
}

static void all_close(int side)
{
	for (int i = plays_nr - 1; i >= 0; i--)
		plays[i].wp_close(plays[i].wp_arg, side);
}

static void serve(const struct world_play *play)
{
	while (!atomic_load_explicit(&stage->st_park, memory_order_acquire))
		play->wp_serve(play->wp_arg);
}

/** Side 1 waits to be told what is next. */
static void go_take(void)
{
	if (plays[0].wp_idle == NULL) {
		world_sem_take(&stage->st_go);
		return;
	}
	while (sem_trywait(&stage->st_go) != 0)
		plays[0].wp_idle(plays[0].wp_arg);
}

static void side_one(void)
{
	bench_pin(bench_opt.o_cpu[1]);
	all_open(1);
	sem_post(&stage->st_ready);
	for (;;) {
		go_take();
		if (stage->st_quit)
			break;
		sem_post(&stage->st_ready);
		serve(&plays[stage->st_play]);
		sem_post(&stage->st_ready);
	}
	all_close(1);
}

static void *side_one_thread(void *arg)
{
	side_one();
	return arg;
}

/** The other side has failed, or ends while it should not. */
static void child_gone(int sig)
{
	int status;

	(void)sig;
	if (child > 0 && !stage->st_quit &&
	    waitpid(child, &status, WNOHANG) == child)
		_exit(3);
}

static void child_make(void)
{
	struct sigaction sa = { .sa_handler = &child_gone };
	pid_t            parent = getpid();
	clockid_t        clock;

	sigaction(SIGCHLD, &sa, NULL);
	child = fork();
	if (child < 0)
		bench_die("fork: %s", strerror(errno));
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(3);
		alarm(BENCH_ALARM_S);
		side_one();
		_exit(0);
	}
	if (clock_getcpuclockid(child, &clock) == 0)
		bench_other_clock(clock);
}

void world_start(enum world_kind how, const struct world_play *all, int nr)
{
	kind = how;
	plays = all;
	plays_nr = nr;
	stage = world_shared(sizeof(*stage));
	world_sem_init(&stage->st_go);
	world_sem_init(&stage->st_ready);
	for (int i = 0; i < nr; i++)
		plays[i].wp_prepare(plays[i].wp_arg);
	if (kind == WORLD_FORK)
		child_make();
	else if (kind == WORLD_THREADS &&
		 pthread_create(&thread, NULL, &side_one_thread, NULL) != 0)
		bench_die("no thread");
	bench_pin(bench_opt.o_cpu[0]);
	if (kind == WORLD_TURNS)
		all_open(1);
	else
		world_sem_take(&stage->st_ready);
	all_open(0);
}

void world_stop(void)
{
	all_close(0);
	stage->st_quit = true;
	sem_post(&stage->st_go);
	if (kind == WORLD_TURNS)
		all_close(1);
	else if (kind == WORLD_THREADS)
		pthread_join(thread, NULL);
	else
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
}

void world_enter(const struct world_play *play)
{
	if (kind == WORLD_TURNS || play->wp_serve == NULL)
		return;
	stage->st_play = (int)(play - plays);
	atomic_store(&stage->st_park, false);
	sem_post(&stage->st_go);
	world_sem_take(&stage->st_ready);
}

void world_leave(const struct world_play *play)
{
	if (kind == WORLD_TURNS || play->wp_serve == NULL)
		return;
	atomic_store_explicit(&stage->st_park, true, memory_order_release);
	world_sem_take(&stage->st_ready);
}

static bool is_free(const char *host, unsigned port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port) };
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool               ok;

	inet_pton(AF_INET, host, &in.sin_addr);
	ok = fd >= 0 && bind(fd, (struct sockaddr *)&in, sizeof(in)) == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

unsigned world_port(void)
{
	unsigned port = 20000 + (unsigned)getpid() % 12000;

	for (int i = 0; i < 100; i++, port++)
		if (is_free("127.0.0.1", port) && is_free("127.0.0.2", port))
			return port;
	bench_die("no free port");
}
