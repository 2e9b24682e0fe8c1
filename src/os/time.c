/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "os/os_internal.h"

M0_TLS(struct m0_pass_tls, m0_pass_tls);

void m0_os__sleep(m0_time_t deadline)
{
	static uint32_t nobody_wakes;

	while (m0_os__now() < deadline)
		(void)m0_os__futex_wait(&nobody_wakes, 0, deadline);
}

m0_time_t m0_time_now(void)
{
	return m0_os_get()->oo_now();
}

m0_time_t m0_time_cached(void)
{
	return m0_time_pass_now();
}

uint64_t m0_os_wall_ns(void)
{
	return m0_os_get()->oo_wall();
}

void m0_os__may_block(void)
{
	M0_ASSERT_INFO(m0_strand_current() == NULL, "blocking on strand %s",
		       m0_strand_current()->st_name);
}

void m0_time_sleep(m0_time_t deadline)
{
	m0_os__may_block();
	m0_os_get()->oo_sleep(deadline);
}

int m0_nanosleep(m0_time_t req, m0_time_t *rem)
{
	m0_time_sleep(m0_time_add(m0_time_now(), req));
	if (rem != NULL)
		*rem = 0;
	return 0;
}
