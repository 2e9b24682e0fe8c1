/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An application with the reference's names, against the installed headers. */
#include <lib/chan.h>
#include <lib/memory.h>
#include <lib/trace.h>
#include <net/buffer_pool.h>
#include <net/bulk_mem.h>
#include <net/lnet/lnet.h>
#include <net/net.h>
#include <net/net_internal.h>
#include <net/if.h>

static struct m0_mutex guard = M0_MUTEX_SINIT(&guard);

M0_BASSERT(M0_SEG_SIZE == 4096);

int main(void)
{
	struct m0_net_domain *dom;
	int                   rc;

	M0_ENTRY();
	m0_mutex_lock(&guard);
	rc = m0_net_init();
	M0_ASSERT(rc == 0);
	M0_ALLOC_PTR(dom);
	M0_ASSERT(dom != NULL);
	M0_ASSERT(m0_mutex_is_not_locked(&m0_net_mutex));
	rc = m0_net_domain_init(dom, &m0_net_bulk_mem_xprt);
	M0_ASSERT(rc == 0 && m0_net__domain_invariant(dom));
	M0_LOG(M0_DEBUG, "%u bytes",
	       max32u(1, (uint32_t)m0_net_domain_get_max_buffer_size(dom)));
	/* The system's header of the same folder is found as well. */
	M0_ASSERT(IF_NAMESIZE > 1);
	m0_net_domain_fini(dom);
	m0_free0(&dom);
	m0_net_fini();
	m0_mutex_unlock(&guard);
	return M0_RC(rc);
}
