/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/proto.h"
#include "os/shm.h"

int m0_attach__mem_make(const char *name, uint64_t bytes, bool fixed,
			void **ret)
{
	return m0_os_shm_make(name, bytes,
			      fixed ? M0_OS_SHM_FIXED : M0_OS_SHM_GROWS, ret);
}

int m0_attach__mem_map(int fd, uint64_t bytes, void **ret,
		       char why[M0_ATTACH_WHY_BYTES])
{
	return m0_os_shm_map(fd, bytes, true, ret, why, M0_ATTACH_WHY_BYTES);
}

void m0_attach__mem_unmap(void *addr, uint64_t bytes)
{
	m0_os_shm_unmap(addr, bytes);
}
