/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "serve/serve_maps.h"

int m0_serve_maps_init(struct m0_serve_maps *maps, uint32_t max,
		       uint64_t bytes_max, uint64_t *total, uint64_t total_max)
{
	*maps = (struct m0_serve_maps){ .vms_max = max,
					.vms_bytes_max = bytes_max,
					.vms_total = total,
					.vms_total_max = total_max };
	m0_mutex_init(&maps->vms_lock);
	M0_ALLOC_ARR(maps->vms_maps, max);
	return maps->vms_maps == NULL ? -ENOMEM : 0;
}

static void bytes_sub(struct m0_serve_maps *maps, uint64_t bytes)
{
	M0_PRE(maps->vms_nr > 0 && maps->vms_bytes >= bytes);
	maps->vms_bytes -= bytes;
	--maps->vms_nr;
	__atomic_sub_fetch(maps->vms_total, bytes, __ATOMIC_RELAXED);
}

/* May it have the number, and so many bytes? */
static int region_check(const struct m0_serve_maps *maps, uint32_t nr,
			uint64_t bytes, char why[M0_ATTACH_WHY_BYTES])
{
	if (nr == 0 || nr > maps->vms_max)
		return m0_attach__why(why, -EINVAL,
				      "region %u: 1 to %u is accepted", nr,
				      maps->vms_max);
	if (maps->vms_maps[nr - 1] != NULL)
		return m0_attach__why(why, -EEXIST, "region %u is in use", nr);
	if (bytes > maps->vms_bytes_max - maps->vms_bytes)
		return m0_attach__why(
			why, -EDQUOT,
			"bytes %llu: this process may have %llu, and has %llu",
			(unsigned long long)bytes,
			(unsigned long long)maps->vms_bytes_max,
			(unsigned long long)maps->vms_bytes);
	return 0;
}

/* Servers of other processes may add, too. */
static int total_add(const struct m0_serve_maps *maps, uint64_t bytes,
		     char why[M0_ATTACH_WHY_BYTES])
{
	uint64_t total =
		__atomic_add_fetch(maps->vms_total, bytes, __ATOMIC_RELAXED);

	if (total <= maps->vms_total_max)
		return 0;
	__atomic_sub_fetch(maps->vms_total, bytes, __ATOMIC_RELAXED);
	return m0_attach__why(why, -EDQUOT,
			      "bytes %llu: all processes together may have "
			      "%llu, and have %llu",
			      (unsigned long long)bytes,
			      (unsigned long long)maps->vms_total_max,
			      (unsigned long long)(total - bytes));
}

int m0_serve_maps_reserve(struct m0_serve_maps *maps, uint32_t nr,
			  uint64_t bytes, char why[M0_ATTACH_WHY_BYTES])
{
	int rc;

	m0_mutex_lock(&maps->vms_lock);
	rc = region_check(maps, nr, bytes, why);
	if (rc == 0)
		rc = total_add(maps, bytes, why);
	if (rc == 0) {
		maps->vms_bytes += bytes;
		++maps->vms_nr;
	}
	m0_mutex_unlock(&maps->vms_lock);
	return rc;
}

void m0_serve_maps_unreserve(struct m0_serve_maps *maps, uint64_t bytes)
{
	m0_mutex_lock(&maps->vms_lock);
	bytes_sub(maps, bytes);
	m0_mutex_unlock(&maps->vms_lock);
}

bool m0_serve_maps_put(struct m0_serve_maps *maps, uint32_t nr,
		       struct m0_serve_map *map)
{
	bool is_closed;

	m0_mutex_lock(&maps->vms_lock);
	is_closed = maps->vms_is_closed;
	M0_PRE(maps->vms_maps[nr - 1] == NULL);
	if (!is_closed)
		maps->vms_maps[nr - 1] = map;
	m0_mutex_unlock(&maps->vms_lock);
	return !is_closed;
}

static void map_drop(struct m0_serve_maps *maps, uint32_t nr)
{
	struct m0_serve_map *map = maps->vms_maps[nr - 1];

	maps->vms_maps[nr - 1] = NULL;
	bytes_sub(maps, map->vmp_bytes);
	map->vmp_next = maps->vms_dropped;
	maps->vms_dropped = map;
}

int m0_serve_maps_map(struct m0_serve_maps *maps, uint32_t nr, uint64_t bytes,
		      void **ret)
{
	struct m0_serve_map *map;
	int                  rc = 0;

	M0_PRE(nr >= 1 && nr <= maps->vms_max);
	m0_mutex_lock(&maps->vms_lock);
	map = maps->vms_maps[nr - 1];
	if (bytes == 0)
		map_drop(maps, nr);
	else if (map == NULL || bytes > map->vmp_bytes)
		rc = -EINVAL;
	else
		*ret = map->vmp_addr;
	m0_mutex_unlock(&maps->vms_lock);
	return rc;
}

bool m0_serve_maps_home(struct m0_serve_maps *maps, uint32_t nr,
			struct m0_serve_home *ret)
{
	const struct m0_serve_map *map;
	bool                       has;

	M0_PRE(nr >= 1 && nr <= maps->vms_max);
	m0_mutex_lock(&maps->vms_lock);
	map = maps->vms_maps[nr - 1];
	has = map != NULL && map->vmp_home.vhm_addr != 0;
	if (has)
		*ret = map->vmp_home;
	m0_mutex_unlock(&maps->vms_lock);
	return has;
}

struct m0_serve_map *m0_serve_maps_dropped(struct m0_serve_maps *maps)
{
	struct m0_serve_map *ret;

	m0_mutex_lock(&maps->vms_lock);
	ret = maps->vms_dropped;
	maps->vms_dropped = NULL;
	m0_mutex_unlock(&maps->vms_lock);
	return ret;
}

void m0_serve_maps_close(struct m0_serve_maps *maps)
{
	uint32_t nr;

	m0_mutex_lock(&maps->vms_lock);
	maps->vms_is_closed = true;
	for (nr = 1; maps->vms_maps != NULL && nr <= maps->vms_max; ++nr) {
		if (maps->vms_maps[nr - 1] != NULL)
			map_drop(maps, nr);
	}
	m0_mutex_unlock(&maps->vms_lock);
}

void m0_serve_maps_fini(struct m0_serve_maps *maps)
{
	M0_PRE(maps->vms_nr == 0 && maps->vms_dropped == NULL);
	m0_free0(&maps->vms_maps);
	m0_mutex_fini(&maps->vms_lock);
}
