/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory of a process: it comes by the socket, is checked and mapped by the server's
 * thread, and waits until the node's thread takes REGION_ADD from the ring. What the node's
 * thread gives up is unmapped by the server's thread, since that takes long.
 */
#include <unistd.h>

#include "attach/server_internal.h"

/** Addresses of a process are lower. */
#define HOME_MAX (UINT64_C(1) << 62)

static uint32_t maps_max(const struct m0_attach__proc *proc)
{
	return proc->apr_serve.srv_cfg.svg_shared.shc_regions_max;
}

/* May it have the number, and so many bytes? */
static int region_check(const struct m0_attach__proc  *proc,
			const struct m0_attach_region *region,
			char                           why[M0_ATTACH_WHY_BYTES])
{
	const struct m0_attach_server *server = proc->apr_server;
	uint64_t bytes_max = proc->apr_serve.srv_cfg.svg_bytes_max;
	uint64_t total_max = server->asv_policy.apo_bytes_total;
	uint64_t total = __atomic_load_n(&server->asv_bytes, __ATOMIC_RELAXED);

	if (region->aer_nr == 0 || region->aer_nr > maps_max(proc))
		return m0_attach__why(why, -EINVAL,
				      "region %u: 1 to %u is accepted",
				      region->aer_nr, maps_max(proc));
	if (region->aer_home > HOME_MAX || region->aer_cookie_at > HOME_MAX)
		return m0_attach__why(why, -EINVAL,
				      "region %u: no process has such an "
				      "address",
				      region->aer_nr);
	if (proc->apr_maps[region->aer_nr - 1] != NULL)
		return m0_attach__why(why, -EEXIST, "region %u is in use",
				      region->aer_nr);
	if (region->aer_bytes > bytes_max - proc->apr_maps_bytes)
		return m0_attach__why(
			why, -EDQUOT,
			"bytes %llu: this process may have %llu, and has %llu",
			(unsigned long long)region->aer_bytes,
			(unsigned long long)bytes_max,
			(unsigned long long)proc->apr_maps_bytes);
	/* Only this thread adds: the total can only have become less. */
	if (region->aer_bytes > total_max - total)
		return m0_attach__why(
			why, -EDQUOT,
			"bytes %llu: all processes together may have %llu, and "
			"have %llu",
			(unsigned long long)region->aer_bytes,
			(unsigned long long)total_max,
			(unsigned long long)total);
	return 0;
}

int m0_attach__region_take(struct m0_attach__proc        *proc,
			   const struct m0_attach_region *region, int fd,
			   char why[M0_ATTACH_WHY_BYTES])
{
	struct m0_attach__map *map;
	int                    rc;

	/* Only this thread adds. */
	m0_mutex_lock(&proc->apr_lock);
	rc = region_check(proc, region, why);
	m0_mutex_unlock(&proc->apr_lock);
	if (rc != 0)
		return rc;
	M0_ALLOC_PTR(map);
	if (map == NULL)
		return m0_attach__why(why, -ENOMEM, "no memory");
	rc = m0_os_shm_map(fd, region->aer_bytes, true, &map->amp_addr, why,
			   M0_ATTACH_WHY_BYTES);
	if (rc != 0) {
		m0_free(map);
		return rc;
	}
	map->amp_bytes = region->aer_bytes;
	map->amp_home = region->aer_home;
	map->amp_cookie_at = region->aer_cookie_at;
	memcpy(map->amp_cookie, region->aer_cookie, sizeof map->amp_cookie);
	m0_mutex_lock(&proc->apr_lock);
	proc->apr_maps[region->aer_nr - 1] = map;
	proc->apr_maps_bytes += map->amp_bytes;
	__atomic_add_fetch(&proc->apr_server->asv_bytes, map->amp_bytes,
			   __ATOMIC_RELAXED);
	++proc->apr_maps_nr;
	m0_mutex_unlock(&proc->apr_lock);
	return 0;
}

static void map_drop(struct m0_attach__proc *proc, uint32_t nr)
{
	struct m0_attach__map *map = proc->apr_maps[nr - 1];

	proc->apr_maps[nr - 1] = NULL;
	proc->apr_maps_bytes -= map->amp_bytes;
	__atomic_sub_fetch(&proc->apr_server->asv_bytes, map->amp_bytes,
			   __ATOMIC_RELAXED);
	--proc->apr_maps_nr;
	map->amp_next = proc->apr_dropped;
	proc->apr_dropped = map;
}

int m0_attach__region_map(void *host, uint32_t nr, uint64_t bytes, void **ret)
{
	struct m0_attach__proc *proc = host;
	struct m0_attach__map  *map;
	int                     rc = 0;

	M0_PRE(nr >= 1 && nr <= maps_max(proc));
	m0_mutex_lock(&proc->apr_lock);
	map = proc->apr_maps[nr - 1];
	if (bytes == 0)
		map_drop(proc, nr);
	else if (map == NULL || bytes > map->amp_bytes)
		rc = -EINVAL;
	else
		*ret = map->amp_addr;
	m0_mutex_unlock(&proc->apr_lock);
	if (bytes == 0)
		m0_loop_rouse(&proc->apr_server->asv_loop);
	return rc;
}

bool m0_attach__region_home(struct m0_serve *srv, uint32_t nr,
			    struct m0_serve_home *ret)
{
	struct m0_attach__proc      *proc = srv->srv_owner;
	const struct m0_attach__map *map;
	bool                         has;

	M0_PRE(nr >= 1 && nr <= maps_max(proc));
	m0_mutex_lock(&proc->apr_lock);
	map = proc->apr_maps[nr - 1];
	has = map != NULL && map->amp_home != 0 && proc->apr_creds.scr_pid != 0;
	if (has) {
		*ret = (struct m0_serve_home){
			.vhm_pid = proc->apr_creds.scr_pid,
			.vhm_addr = map->amp_home,
			.vhm_cookie_at = map->amp_cookie_at,
		};
		memcpy(ret->vhm_cookie, map->amp_cookie,
		       sizeof ret->vhm_cookie);
	}
	m0_mutex_unlock(&proc->apr_lock);
	return has;
}

void m0_attach__regions_sweep(struct m0_attach__proc *proc)
{
	struct m0_attach__map *map;
	struct m0_attach__map *next;

	m0_mutex_lock(&proc->apr_lock);
	map = proc->apr_dropped;
	proc->apr_dropped = NULL;
	m0_mutex_unlock(&proc->apr_lock);
	for (; map != NULL; map = next) {
		next = map->amp_next;
		m0_os_shm_unmap(map->amp_addr, map->amp_bytes);
		m0_free(map);
	}
}

void m0_attach__regions_fini(struct m0_attach__proc *proc)
{
	uint32_t nr;

	for (nr = 1; proc->apr_maps != NULL && nr <= maps_max(proc); ++nr) {
		if (proc->apr_maps[nr - 1] != NULL)
			map_drop(proc, nr);
	}
	m0_attach__regions_sweep(proc);
	m0_free0(&proc->apr_maps);
}
