/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/crc32.h>
#include <linux/delay.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/sched.h>

#include "kern/os/kern_os.h"

#define SPIN_NS_DEFAULT (50 * M0_TIME_ONE_USEC)

static void kern_abort(void)
{
	BUG();
}

static void kern_log(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	switch (level) {
	case M0_LOG_FATAL:
		pr_crit("colibri: %s\n", text);
		break;
	case M0_LOG_ERROR:
		pr_err("colibri: %s\n", text);
		break;
	case M0_LOG_WARN:
		pr_warn("colibri: %s\n", text);
		break;
	default:
		pr_info("colibri: %s\n", text);
	}
}

static const struct m0_alloc_ops kern_alloc_ops = {
	.ao_alloc = kern_alloc,
	.ao_free = kern_free,
};

const struct m0_base_hooks kern_hooks = {
	.bh_abort = kern_abort,
	.bh_log = kern_log,
	.bh_alloc = &kern_alloc_ops,
};

void m0_os__hooks_install(void)
{
	m0_base_hooks_set(&kern_hooks);
}

void m0_os__yield(void)
{
	yield();
}

void m0_os__give_way(void)
{
	cond_resched();
}

m0_time_t m0_os_spin_ns_default(void)
{
	return m0_os_cpus_nr() == 1 ? 0 : SPIN_NS_DEFAULT;
}

unsigned m0_os_cpus_nr(void)
{
	return num_online_cpus();
}

bool m0_os_cpus_valid(const struct m0_bitmap *cpus)
{
	return m0_bitmap_next(cpus, 0) < min64u(nr_cpu_ids, cpus->b_nr);
}

const char *m0_os_env(const char *name)
{
	(void)name;
	return NULL;
}

void m0_os__random(void *ret_bytes, size_t nr)
{
	get_random_bytes(ret_bytes, nr);
}

uint32_t m0_os_crc32c(uint32_t crc, const void *bytes, size_t nr)
{
	return ~__crc32c_le(~crc, bytes, nr);
}

/* -- descriptors, which the kernel's users of the library do not poll ---------- */

int m0_os__fd_open(struct m0_os_fd *fd)
{
	(void)fd;
	return -ENOSYS;
}

void m0_os__fd_close(struct m0_os_fd *fd)
{
	(void)fd;
}

void m0_os__fd_arm(struct m0_os_fd *fd, m0_time_t deadline)
{
	(void)fd;
	(void)deadline;
}

int m0_os_fd_open(struct m0_os_fd *fd)
{
	M0_SET0(fd);
	fd->of_fd = -1;
	fd->of_event = -1;
	fd->of_timer = -1;
	return m0_os_get()->oo_fd_open(fd);
}

void m0_os_fd_close(struct m0_os_fd *fd)
{
	m0_os_get()->oo_fd_close(fd);
}

int m0_os_fd_join(struct m0_os_fd *fd, int other)
{
	(void)fd;
	(void)other;
	return -ENOSYS;
}

void m0_os_fd_leave(struct m0_os_fd *fd, int other)
{
	(void)fd;
	(void)other;
}

void m0_os_fd_signal(struct m0_os_fd *fd)
{
	(void)fd;
}

bool m0_os_fd_is_readable(const struct m0_os_fd *fd)
{
	(void)fd;
	return false;
}

void m0_os_fd_clear(struct m0_os_fd *fd)
{
	(void)fd;
}

void m0_os_fd_arm(struct m0_os_fd *fd, m0_time_t deadline)
{
	m0_os_get()->oo_fd_arm(fd, deadline);
}
