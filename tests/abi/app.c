/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An application as others write it: the installed headers and nothing else. */
#include <m0/mem.h>
#include <m0/net.h>
#include <m0/net_pool.h>
#include <m0/net_xprt.h>
#include <stdio.h>

int main(void)
{
	static struct m0_net_domain dom;
	int                         rc;

	rc = m0_net_init();
	if (rc != 0)
		return 1;
	rc = m0_net_domain_init(&dom, &m0_net_bulk_mem_xprt);
	if (rc == 0) {
		printf("%lu\n",
		       (unsigned long)m0_net_domain_get_max_buffer_size(&dom));
		m0_net_domain_fini(&dom);
	}
	m0_net_fini();
	return rc == 0 ? 0 : 1;
}
