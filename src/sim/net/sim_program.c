/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Programs: a thread each, of which one runs at a time. The scheduler gives a
 * program its turn and waits until the program waits, or has ended. Such a turn is
 * no step: as the test does, the program may wait, and time passes for it.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "m0/sim_libc.h"
#include "m0/sim_program.h"
#include "sim/net/sim_net_internal.h"

/* The C library's own. */
#undef sigwait
#undef sigprocmask
#undef pthread_sigmask
#undef nanosleep
#undef sleep
#undef usleep

enum {
	SIGNALS_MAX = 8,
	/** Virtual time that a program has to end after its host died. */
	DEAD_S = 3600
};

struct m0_sim_program {
	struct sim_strand         spm_entry;
	struct m0_sim            *spm_sim;
	struct m0_sim_program_cfg spm_cfg;
	char                     *spm_argv[M0_SIM_ARGS_MAX + 2];
	int                       spm_argc;
	pthread_t                 spm_thread;
	/** Raised for its turn, and when it leaves that. */
	sem_t spm_go;
	sem_t spm_back;
	int   spm_status;
	bool  spm_has_ended;
	/** Its host died in its life. */
	bool spm_is_dead;
	/** Semaphore that it waits for, NULL: time alone; and until when. */
	struct m0_semaphore *spm_semaphore;
	m0_time_t            spm_until;
	/** The death of its host ends the wait. */
	bool spm_is_sleep;
	bool spm_got;

	int                 spm_signals[SIGNALS_MAX];
	unsigned            spm_signals_nr;
	struct m0_semaphore spm_signalled;

	FILE  *spm_in;
	FILE  *spm_out;
	FILE  *spm_err;
	char  *spm_text;
	size_t spm_text_nr;
	char  *spm_errors;
	size_t spm_errors_nr;
	/** Bytes of the text when its host died. */
	size_t spm_alive_nr;
};

static struct m0_sim_program *program_of(struct sim_strand *entry)
{
	return container_of(entry, struct m0_sim_program, spm_entry);
}

static bool is_down(const struct m0_sim_program *program)
{
	return program->spm_is_dead ||
	       m0_sim_host_is_down(program->spm_cfg.spq_host);
}

/* ------------------------------------------------------------------ turns -- */

static void turn_take(sem_t *turn)
{
	while (sem_wait(turn) != 0)
		M0_ASSERT(errno == EINTR);
}

/* Gives the turn back; returns with the next one. */
static void turn_leave(struct m0_sim_program *program)
{
	(void)sem_post(&program->spm_back);
	turn_take(&program->spm_go);
}

static bool program_wait(struct sim_strand   *entry,
			 struct m0_semaphore *semaphore, m0_time_t until)
{
	struct m0_sim_program *program = program_of(entry);

	program->spm_semaphore = semaphore;
	program->spm_until = until;
	program->spm_got = false;
	turn_leave(program);
	program->spm_semaphore = NULL;
	return program->spm_got;
}

static m0_time_t program_next(const struct sim_strand *entry)
{
	const struct m0_sim_program *program =
		program_of((struct sim_strand *)(uintptr_t)entry);

	if (program->spm_has_ended)
		return M0_TIME_NEVER;
	if (program->spm_semaphore != NULL &&
	    m0_semaphore_value(program->spm_semaphore) > 0)
		return 0;
	if (program->spm_is_sleep && is_down(program))
		return 0;
	return program->spm_until;
}

/* Its stdout ends here. */
static void program_dies(struct m0_sim_program *program)
{
	program->spm_is_dead = true;
	(void)fflush(program->spm_out);
	program->spm_alive_nr = program->spm_text_nr;
}

static void program_turn(struct m0_sim_core *core, struct sim_strand *entry)
{
	struct m0_sim_program *program = program_of(entry);
	struct sim_net        *net = m0_sim__net();
	struct m0_sim_host    *host = net->sin_host_used;
	struct sim_strand     *before = core->simk_program;
	uintptr_t              thread = core->simk_thread;
	FILE *const            files[] = { stdin, stdout, stderr };

	if (program->spm_semaphore != NULL)
		program->spm_got = m0_semaphore_trydown(program->spm_semaphore);
	if (is_down(program) && !program->spm_is_dead)
		program_dies(program);
	core->simk_program = entry;
	core->simk_thread = (uintptr_t)program->spm_thread;
	m0_sim_host_use(program->spm_cfg.spq_host);
	stdin = program->spm_in;
	stdout = program->spm_out;
	core->simk_stderr = stderr;
	core->simk_errors = &program->spm_errors;
	stderr = program->spm_err;
	(void)sem_post(&program->spm_go);
	turn_take(&program->spm_back);
	stdin = files[0];
	stdout = files[1];
	stderr = files[2];
	m0_sim_host_use(host);
	core->simk_thread = thread;
	core->simk_program = before;
}

static const struct sim_program_ops program_ops = {
	.spo_next = program_next,
	.spo_turn = program_turn,
	.spo_wait = program_wait,
};

static void *program_thread(void *arg)
{
	struct m0_sim_program *program = arg;

	turn_take(&program->spm_go);
	program->spm_status =
		program->spm_cfg.spq_main(program->spm_argc, program->spm_argv);
	program->spm_has_ended = true;
	(void)sem_post(&program->spm_back);
	return NULL;
}

/* ------------------------------------------------------------------- life -- */

static FILE *file_must(FILE *file)
{
	M0_ASSERT_INFO(file != NULL, "no memory for a file");
	return file;
}

static void args_copy(struct m0_sim_program *program, const char *const *args)
{
	program->spm_argv[program->spm_argc++] =
		strdup(program->spm_cfg.spq_name);
	for (; args != NULL && *args != NULL; ++args) {
		M0_PRE(program->spm_argc <= M0_SIM_ARGS_MAX);
		program->spm_argv[program->spm_argc++] = strdup(*args);
	}
}

static void files_open(struct m0_sim_program *program)
{
	const struct m0_sim_program_cfg *cfg = &program->spm_cfg;

	program->spm_in =
		file_must(cfg->spq_input_nr == 0
				  ? fopen("/dev/null", "re")
				  : fmemopen((void *)(uintptr_t)cfg->spq_input,
					     cfg->spq_input_nr, "r"));
	program->spm_out = file_must(
		open_memstream(&program->spm_text, &program->spm_text_nr));
	program->spm_err = file_must(
		open_memstream(&program->spm_errors, &program->spm_errors_nr));
	/* The text is there from now on. */
	(void)fflush(program->spm_err);
}

struct m0_sim_program *m0_sim_program_start(
	struct m0_sim *sim, const struct m0_sim_program_cfg *cfg)
{
	struct m0_sim_core    *core = m0_sim__core();
	struct m0_sim_program *program;

	M0_PRE(core->simk_program == NULL && sim->sim_core == core);
	M0_PRE(!m0_sim_host_is_down(cfg->spq_host));
	program = m0_sim__realloc(NULL, 1, sizeof *program);
	*program = (struct m0_sim_program){
		.spm_sim = sim,
		.spm_cfg = *cfg,
		.spm_entry = { .sims_program = &program_ops,
			       .sims_place = &cfg->spq_host->smh_place },
	};
	args_copy(program, cfg->spq_args);
	files_open(program);
	m0_semaphore_init(&program->spm_signalled, 0);
	if (sem_init(&program->spm_go, 0, 0) != 0 ||
	    sem_init(&program->spm_back, 0, 0) != 0 ||
	    pthread_create(&program->spm_thread, NULL, program_thread,
			   program) != 0)
		M0_IMPOSSIBLE("no thread for a program");
	m0_sim__entry_add(core, &program->spm_entry, cfg->spq_name);
	return program;
}

bool m0_sim_program_has_ended(const struct m0_sim_program *program)
{
	return program->spm_has_ended;
}

const char *m0_sim_program_output(struct m0_sim_program *program,
				  size_t                *ret_nr)
{
	(void)fflush(program->spm_out);
	if (program->spm_is_dead)
		program->spm_text[program->spm_alive_nr] = 0;
	if (ret_nr != NULL)
		*ret_nr = program->spm_is_dead ? program->spm_alive_nr
					       : program->spm_text_nr;
	return program->spm_text;
}

const char *m0_sim_program_errors(struct m0_sim_program *program)
{
	(void)fflush(program->spm_err);
	return program->spm_errors;
}

void m0_sim_program_signal(struct m0_sim_program *program, int sig)
{
	M0_PRE(program->spm_signals_nr < SIGNALS_MAX);
	program->spm_signals[program->spm_signals_nr++] = sig;
	m0_semaphore_up(&program->spm_signalled);
}

static bool has_ended(void *arg)
{
	return m0_sim_program_has_ended(arg);
}

static void program_free(struct m0_sim_program *program)
{
	int i;

	(void)pthread_join(program->spm_thread, NULL);
	(void)fclose(program->spm_in);
	(void)fclose(program->spm_out);
	(void)fclose(program->spm_err);
	free(program->spm_text);
	free(program->spm_errors);
	for (i = 0; i < program->spm_argc; ++i)
		free(program->spm_argv[i]);
	(void)sem_destroy(&program->spm_go);
	(void)sem_destroy(&program->spm_back);
	m0_semaphore_fini(&program->spm_signalled);
	free(program);
}

int m0_sim_program_end(struct m0_sim_program *program)
{
	struct m0_sim_core *core = m0_sim__core();
	m0_time_t           until = M0_TIME_NEVER;
	int                 status;

	M0_PRE(core->simk_program == NULL);
	if (is_down(program))
		until = core->simk_now + DEAD_S * M0_TIME_ONE_SECOND;
	if (!m0_sim__run(core, has_ended, program, until))
		m0_sim_fail(
			program->spm_sim,
			"%s goes on after its host died: it ends when calls "
			"fail, or sigwait() returns",
			program->spm_cfg.spq_name);
	status = is_down(program) ? M0_SIM_PROGRAM_DIED : program->spm_status;
	m0_sim__entry_del(core, &program->spm_entry);
	program_free(program);
	return status;
}

/* -------------------------------------------------------- the C library's -- */

/* The program that runs; NULL: none. */
static struct m0_sim_program *program_now(void)
{
	if (m0_sim__live == NULL || m0_sim__live->simk_program == NULL)
		return NULL;
	return program_of(m0_sim__live->simk_program);
}

static bool signal_pop(struct m0_sim_program *program, const sigset_t *set,
		       int *sig)
{
	unsigned i;

	for (i = 0; i < program->spm_signals_nr; ++i) {
		if (!sigismember(set, program->spm_signals[i]))
			continue;
		*sig = program->spm_signals[i];
		--program->spm_signals_nr;
		memmove(&program->spm_signals[i], &program->spm_signals[i + 1],
			(program->spm_signals_nr - i) *
				sizeof program->spm_signals[0]);
		return true;
	}
	return false;
}

int m0_sim_sigwait(const sigset_t *set, int *sig)
{
	struct m0_sim_program *program = program_now();

	if (program == NULL)
		return sigwait(set, sig);
	program->spm_is_sleep = true;
	while (!signal_pop(program, set, sig)) {
		if (is_down(program)) {
			*sig = SIGTERM;
			break;
		}
		(void)program_wait(&program->spm_entry, &program->spm_signalled,
				   M0_TIME_NEVER);
	}
	program->spm_is_sleep = false;
	return 0;
}

int m0_sim_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	if (program_now() == NULL)
		return sigprocmask(how, set, old);
	if (old != NULL)
		(void)sigemptyset(old);
	return 0;
}

int m0_sim_nanosleep(const struct timespec *wait, struct timespec *left)
{
	struct m0_sim_program *program = program_now();

	if (program == NULL)
		return nanosleep(wait, left);
	program->spm_is_sleep = true;
	if (!is_down(program))
		(void)program_wait(&program->spm_entry, NULL,
				   m0_time_add(m0_time_now(),
					       m0_time((uint64_t)wait->tv_sec,
						       wait->tv_nsec)));
	program->spm_is_sleep = false;
	if (left != NULL)
		*left = (struct timespec){ 0, 0 };
	return 0;
}

unsigned m0_sim_sleep(unsigned s)
{
	return (unsigned)m0_sim_nanosleep(&(struct timespec){ (time_t)s, 0 },
					  NULL);
}

int m0_sim_usleep(unsigned us)
{
	return m0_sim_nanosleep(
		&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}
