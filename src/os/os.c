/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "os/os_internal.h"

/* About as long as what does not block takes on another processor. */
enum {
	ZERO_SPINS_NR = 1000
};

static const void *process_here(void)
{
	return NULL;
}

const struct m0_os_ops m0_os_real = {
	.oo_now = m0_os__now,
	.oo_wall = m0_os__wall,
	.oo_strand_start = m0_os__strand_start,
	.oo_strand_confine = m0_os__strand_confine,
	.oo_strand_wake = m0_os__strand_wake,
	.oo_strand_stop = m0_os__strand_stop,
	.oo_strand_sleeps = m0_os__strand_sleeps,
	.oo_wait = m0_os__wait,
	.oo_post = m0_os__post,
	.oo_sleep = m0_os__sleep,
	.oo_fd_open = m0_os__fd_open,
	.oo_fd_close = m0_os__fd_close,
	.oo_fd_arm = m0_os__fd_arm,
	.oo_random = m0_os__random,
	.oo_yield = m0_os__yield,
	.oo_process = process_here,
};

static const struct m0_os_ops *os_ops = &m0_os_real;
static uint32_t                os_epoch;

void m0_os_set(const struct m0_os_ops *ops)
{
	os_ops = ops != NULL ? ops : &m0_os_real;
	++os_epoch;
}

uint32_t m0_os_epoch(void)
{
	return os_epoch;
}

const struct m0_os_ops *m0_os_get(void)
{
	return os_ops;
}

void m0_os_yield(void)
{
	os_ops->oo_yield();
}

const void *m0_os_process(void)
{
	return os_ops->oo_process();
}

void m0_os_zero_wait(const uint32_t *nr)
{
	unsigned i;

	for (i = 0; __atomic_load_n(nr, __ATOMIC_SEQ_CST) != 0; ++i)
		if (i < ZERO_SPINS_NR)
			m0_os__pause();
		else
			m0_os_yield();
}

void m0_os_random(void *ret_bytes, size_t nr)
{
	os_ops->oo_random(ret_bytes, nr);
}
