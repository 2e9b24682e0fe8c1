/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory of a process: it comes by the socket, and the server's thread checks, maps and
 * unmaps it (serve/serve_maps.h).
 */
#include <string.h>
#include <unistd.h>

#include "attach/server_internal.h"

/** Addresses of a process are lower. */
#define HOME_MAX (UINT64_C(1) << 62)

int m0_attach__region_take(struct m0_attach__proc        *proc,
			   const struct m0_attach_region *region, int fd,
			   char why[M0_ATTACH_WHY_BYTES])
{
	struct m0_serve_maps *maps = &proc->apr_maps;
	struct m0_serve_map  *map;
	int                   rc;

	if (region->aer_home > HOME_MAX || region->aer_cookie_at > HOME_MAX)
		return m0_attach__why(why, -EINVAL,
				      "region %u: no process has such an "
				      "address",
				      region->aer_nr);
	rc = m0_serve_maps_reserve(maps, region->aer_nr, region->aer_bytes,
				   why);
	if (rc != 0)
		return rc;
	M0_ALLOC_PTR(map);
	rc = map == NULL
		     ? m0_attach__why(why, -ENOMEM, "no memory")
		     : m0_os_shm_map(fd, region->aer_bytes, true,
				     &map->vmp_addr, why, M0_ATTACH_WHY_BYTES);
	if (rc != 0) {
		m0_free(map);
		m0_serve_maps_unreserve(maps, region->aer_bytes);
		return rc;
	}
	map->vmp_bytes = region->aer_bytes;
	/* Nobody may copy from the process: its addresses are of no use. */
	if (!proc->apr_no_copies) {
		map->vmp_home = (struct m0_serve_home){
			.vhm_addr = region->aer_home,
			.vhm_cookie_at = region->aer_cookie_at,
		};
		memcpy(map->vmp_home.vhm_cookie, region->aer_cookie,
		       sizeof region->aer_cookie);
	}
	/* Only this thread closes. */
	return m0_serve_maps_put(maps, region->aer_nr, map) ? 0 : -ESHUTDOWN;
}

int m0_attach__region_map(void *host, uint32_t nr, uint64_t bytes, void **ret)
{
	struct m0_attach__proc *proc = host;
	int rc = m0_serve_maps_map(&proc->apr_maps, nr, bytes, ret);

	if (bytes == 0)
		m0_loop_rouse(&proc->apr_server->asv_loop);
	return rc;
}

bool m0_attach__region_home(struct m0_serve *srv, uint32_t nr,
			    struct m0_serve_home *ret)
{
	struct m0_attach__proc *proc = srv->srv_owner;

	/* Several users may have the number of those that are not mapped. */
	if (proc->apr_creds.scr_pid == 0 ||
	    proc->apr_creds.scr_uid ==
		    proc->apr_server->asv_policy.apo_unmapped_uid ||
	    !m0_serve_maps_home(&proc->apr_maps, nr, ret))
		return false;
	ret->vhm_pid = proc->apr_creds.scr_pid;
	return true;
}

void m0_attach__regions_sweep(struct m0_attach__proc *proc)
{
	struct m0_serve_map *map;
	struct m0_serve_map *next;

	/* No HELLO has come. */
	if (proc->apr_maps.vms_total == NULL)
		return;
	map = m0_serve_maps_dropped(&proc->apr_maps);
	for (; map != NULL; map = next) {
		next = map->vmp_next;
		m0_os_shm_unmap(map->vmp_addr, map->vmp_bytes);
		m0_free(map);
	}
}

void m0_attach__regions_fini(struct m0_attach__proc *proc)
{
	if (proc->apr_maps.vms_total == NULL)
		return;
	m0_serve_maps_close(&proc->apr_maps);
	m0_attach__regions_sweep(proc);
	m0_serve_maps_fini(&proc->apr_maps);
}
