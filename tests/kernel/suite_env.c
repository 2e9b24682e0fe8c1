/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The environment of the conformance suite, and its rows, inside the kernel. */
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "kern/os/kern_os.h"
#include "lib/threads.h"

#include "conformance/cf.h"
#include "conformance/cf_internal.h"
#include "conformance/row_parts.h"

/* -- threads ------------------------------------------------------------------- */

enum {
	SLOTS_BITS = 12,
	SLOTS_NR = 1 << SLOTS_BITS
};

/* The threads that were in a call or a callback during the case. */
static struct slot {
	struct task_struct *sl_task;
	struct cf_thread    sl_thread;
} slots[SLOTS_NR];

struct cf_thread *cf_here(void)
{
	unsigned begin = hash_ptr(current, SLOTS_BITS);
	unsigned i;

	for (i = 0; i < SLOTS_NR; ++i) {
		struct slot        *slot = &slots[(begin + i) % SLOTS_NR];
		struct task_struct *task = NULL;

		if (__atomic_compare_exchange_n(&slot->sl_task, &task, current,
						false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE) ||
		    task == current)
			return &slot->sl_thread;
	}
	cf_fail(__FILE__, __LINE__, "more threads than a case has");
}

int cf_tid(void)
{
	return current->pid;
}

static bool is_of_library(const struct task_struct *task)
{
	return (task->flags & PF_KTHREAD) && !(task->flags & PF_EXITING) &&
	       (strncmp(task->comm, "m0-", 3) == 0 ||
		strncmp(task->comm, "net-", 4) == 0);
}

uint64_t cf_activity(void)
{
	const struct task_struct *task;
	uint64_t                  nr = 0;

	rcu_read_lock();
	for_each_process(task) if (is_of_library(task)) nr += task->nvcsw;
	rcu_read_unlock();
	return nr;
}

int threads_cpus_nr(void)
{
	return (int)num_online_cpus();
}

int threads_cpu(void)
{
	return (int)num_online_cpus() - 1;
}

int threads_on(const char *name, int cpu)
{
	const struct task_struct *task;
	int                       nr = 0;

	/* One that was joined leaves the list a little later. */
	msleep(10);
	rcu_read_lock();
	for_each_process(task) nr += is_of_library(task) &&
				     strcmp(task->comm, name) == 0 &&
				     cpumask_weight(task->cpus_ptr) == 1 &&
				     cpumask_test_cpu(cpu, task->cpus_ptr);
	rcu_read_unlock();
	return nr;
}

/* -- memory -------------------------------------------------------------------- */

static const struct m0_alloc_ops env_alloc_ops = {
	.ao_alloc = kern_alloc,
	.ao_free = kern_free,
};

static const struct m0_base_hooks env_hooks = { .bh_alloc = &env_alloc_ops };

/* The heap's own: the module's are its affair. */
const struct m0_base_hooks *m0_base__hooks(void)
{
	return &env_hooks;
}

void cf__env_begin(void)
{
	memset(slots, 0, sizeof slots);
	cf__heap_begin();
}

void cf__env_end(void)
{
	cf__heap_end();
}

/* -- time ---------------------------------------------------------------------- */

void cf_sleep_ms(unsigned ms)
{
	(void)m0_nanosleep(ms * M0_TIME_ONE_MSEC, NULL);
}

void cf__env_yield(void)
{
	yield();
}

void cf__env_report(void)
{
}

/* -- descriptors, which a kernel's machines have not --------------------------- */

bool cf_fd_none(void)
{
	int m;

	for (m = CF_ASYNC; m <= CF_INLINE; ++m) {
		struct cf_tm *t = cf_tm_new_mode(0, (enum cf_mode)m);

		CF_EQ(m0_net_tm_fd(&t->ct_tm), -ENOSYS, "before start");
		cf_tm_begin_start(t);
		cf_wait_state(t, M0_NET_TM_STARTED);
		CF_EQ(m0_net_tm_fd(&t->ct_tm), -ENOSYS, "after it");
	}
	return true;
}

bool cf_fd_ready(int fd)
{
	cf_fail(__FILE__, __LINE__, "descriptor %d", fd);
}

void cf_fd_wait(int fd, const char *what)
{
	cf_fail(__FILE__, __LINE__, "descriptor %d: %s", fd, what);
}

/* -- rows ---------------------------------------------------------------------- */

enum {
	NODES_NR = 2,
	PORT = 20988,
	/* An emulated machine may stand still for a while. */
	TIMEOUT_MS = 3000
};

static struct m0_lnet *nodes[NODES_NR];

static void klnet_begin(void)
{
	static const char *const networks[] = { "tcp(127.0.0.1)",
						"tcp(127.0.0.2)" };
	static char              why[M0_LNET_WHY_BYTES];
	struct m0_lnet_cfg      *cfg = calloc(1, sizeof *cfg);
	unsigned                 i;

	for (i = 0; i < NODES_NR; ++i) {
		row_lnet_cfg(cfg, networks[i]);
		cfg->lc_port = PORT;
		cfg->lc_transaction_timeout_ms = TIMEOUT_MS;
		cfg->lc_timeout_ms = TIMEOUT_MS;
		CF_EQ(m0_lnet_open(&nodes[i], cfg, why), 0, "%s", why);
		CF_EQ(m0_net_lnet_use(nodes[i]), 0, "use");
	}
	free(cfg);
}

static void klnet_end(void)
{
	unsigned i;

	for (i = NODES_NR; i-- > 0;) {
		CF_EQ(m0_net_lnet_unuse(nodes[i]), 0, "unuse");
		m0_lnet_close(nodes[i]);
	}
}

static void klnet_turn(void)
{
	unsigned i;

	for (i = 0; i < NODES_NR; ++i)
		(void)m0_lnet_progress(nodes[i]);
}

static void klnet_addr(char *ret, unsigned nr)
{
	row_lnet_addr(ret, nr % 2 ? "127.0.0.1@tcp" : "127.0.0.2@tcp", nr);
}

static void klnet_spelling(char *ret, unsigned nr)
{
	row_lnet_addr(ret, nr % 2 ? "127.0.0.1@tcp0" : "127.0.0.2@tcp0", nr);
}

const struct cf_row cf_rows[] = { { .r_name = "kmem", CF_MEM_ROW },
				  {
					  .r_name = "klnet",
					  .r_addr = klnet_addr,
					  .r_spelling = klnet_spelling,
					  .r_begin = klnet_begin,
					  .r_end = klnet_end,
					  .r_turn = klnet_turn,
					  CF_LNET_ROW,
				  },
				  { .r_name = NULL } };
