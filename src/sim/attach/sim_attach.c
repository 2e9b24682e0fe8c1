/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Attached processes: the host's functions of both sides, and their lives. The two
 * mappings of an area are in one process; all else is that of a real attachment without
 * the socket.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/shm.h"
#include "sim/attach/sim_attach_internal.h"

enum {
	WHY_BYTES = 160,
	/** Longest delay of a bell. */
	BELL_NS_MAX = 20 * 1000,
	DOWN_NR_MIN = 128
};

struct m0_list m0_sim__attaches
	__attribute__((aligned(__alignof__(struct sim_attach))));

static struct m0_list         daemons;
static uint32_t               pids_nr;
static m0_front_attach_open_t open_before;
/* The lists are those of the simulation of this m0_os_epoch(). */
static uint32_t epoch;

static uint32_t maps_max(void)
{
	return m0_serve_cfg_default.svg_shared.shc_regions_max;
}

uint64_t m0_sim__attach_draw(struct m0_sim_daemon *daemon, uint64_t lo,
			     uint64_t hi)
{
	return m0_sim__rand_in(&daemon->sda_rand, lo, hi);
}

struct sim_attach *m0_sim__attach_of(const struct m0_lnet *lnet)
{
	struct sim_attach *att;

	m0_list_for_each_entry(&m0_sim__attaches, att, struct sim_attach,
			       sia_link) {
		if (att->sia_lnet == lnet)
			return att;
	}
	return NULL;
}

/* ----------------------------------------------------------- the process -- */

/* Ends a wait. */
static void process_rouse(void *host)
{
	struct sim_attach *att = host;

	att->sia_rung = true;
	if (att->sia_has_fd)
		m0_os_fd_signal(&att->sia_pollable);
}

void m0_sim__attach_rouse(struct sim_attach *att)
{
	process_rouse(att);
	if (att->sia_lnet != NULL)
		m0_pump_wake(att->sia_lnet);
}

bool m0_sim__attach_call(struct sim_attach *att)
{
	if (att->sia_crash_in > 0 && --att->sia_crash_in == 0)
		m0_sim_process_crash(att->sia_lnet);
	return att->sia_is_dead;
}

static bool daemon_serves(const struct sim_attach *att)
{
	return att->sia_daemon != NULL && !att->sia_daemon->sda_is_dead &&
	       !att->sia_has_ended;
}

static void bell_fire(struct m0_sim_timer *timer)
{
	struct sim_attach *att = timer->simt_data;

	if (daemon_serves(att))
		m0_serve_wake(&att->sia_serve);
}

static void server_wake(void *host)
{
	struct sim_attach *att = host;

	if (m0_sim__attach_call(att) || !daemon_serves(att) ||
	    att->sia_bell.simt_at > 0)
		return;
	m0_sim_timer_arm(&att->sia_daemon->sda_sim, &att->sia_bell,
			 m0_sim__core()->simk_now +
				 m0_sim__attach_draw(att->sia_daemon, 0,
						     BELL_NS_MAX),
			 bell_fire);
}

static bool is_rung(void *arg)
{
	return ((const struct sim_attach *)arg)->sia_rung;
}

static int process_wait(void *host, m0_time_t deadline)
{
	struct sim_attach *att = host;
	bool               ok;

	M0_ASSERT_INFO(m0_mutex_held_nr() == 0, "a wait with a lock held");
	(void)m0_sim__attach_call(att);
	ok = m0_sim__run(m0_sim__core(), is_rung, att, deadline);
	att->sia_rung = false;
	return ok ? 0 : -ETIMEDOUT;
}

static int no_map(void *host, uint32_t nr, uint64_t bytes, void **ret)
{
	(void)host;
	(void)nr;
	(void)bytes;
	(void)ret;
	return -EINVAL;
}

static bool daemon_is_dead(void *host)
{
	return ((const struct sim_attach *)host)->sia_daemon_is_missed;
}

static int creds(void *host, struct m0_shared_creds *ret)
{
	const struct sim_attach *att = host;

	*ret = (struct m0_shared_creds){ .scr_pid = att->sia_pid };
	return 0;
}

static const struct m0_shared_host client_host = {
	.shh_wake = server_wake,
	.shh_wait = process_wait,
	.shh_map = no_map,
	.shh_is_dead = daemon_is_dead,
	.shh_creds = creds,
};

static int share(void *host, uint32_t nr, void *addr, uint64_t bytes)
{
	struct sim_attach *att = host;
	struct sim_map    *map;
	char               why[WHY_BYTES];
	int                fd = m0_os_region_fd(addr);
	int                rc;

	if (m0_sim__attach_call(att) || !daemon_serves(att))
		return -ESHUTDOWN;
	M0_ASSERT(nr > 0 && nr <= maps_max());
	map = &att->sia_maps[nr - 1];
	M0_ASSERT(map->sam_addr == NULL);
	rc = m0_os_shm_map(fd, bytes, true, &map->sam_addr, why, sizeof why);
	if (rc != 0)
		return rc;
	map->sam_fd = dup(fd);
	map->sam_bytes = bytes;
	map->sam_home = att->sia_copies ? (uintptr_t)addr : 0;
	return 0;
}

/* The process of a daemon that has the number and is alive; NULL: there is none. */
static struct sim_attach *source_find(const struct m0_sim_daemon *daemon,
				      uint32_t                    pid)
{
	struct sim_attach *att;

	m0_list_for_each_entry(&m0_sim__attaches, att, struct sim_attach,
			       sia_link) {
		if (att->sia_daemon == daemon && att->sia_pid == pid)
			return att->sia_is_dead || att->sia_client_area == NULL
				       ? NULL
				       : att;
	}
	return NULL;
}

/* Bytes of another process, by the daemon's mapping of them, which is valid also when the process
 * has given the memory up; NULL: the process has handed over no such memory. */
static const char *source_at(const struct sim_attach      *from,
			     const struct m0_shared_piece *piece)
{
	uint32_t i;

	for (i = 0; i < maps_max(); ++i) {
		const struct sim_map *map = &from->sia_maps[i];
		uint64_t              offset = piece->spe_from - map->sam_home;

		if (map->sam_addr != NULL && map->sam_home != 0 &&
		    piece->spe_from >= map->sam_home &&
		    offset <= map->sam_bytes &&
		    piece->spe_bytes <= map->sam_bytes - offset)
			return (const char *)map->sam_addr + offset;
	}
	return NULL;
}

/*
 * The process copies from another one. Either may crash between the two halves of a piece: the
 * other one because it may do so at any moment, which is not a call of its own.
 */
static int copy(void *host, const struct m0_shared_copy *copy, void *const *to)
{
	struct sim_attach *att = host;
	struct sim_attach *from;
	uint32_t           i;

	if (m0_sim__attach_call(att) || !daemon_serves(att))
		return -ESHUTDOWN;
	if (!att->sia_copies)
		return -EPERM;
	for (i = 0; i < copy->scp_pieces_nr; ++i) {
		const struct m0_shared_piece *piece = &copy->scp_pieces[i];
		uint32_t                      half = piece->spe_bytes / 2;
		const char                   *at;

		from = source_find(att->sia_daemon, copy->scp_pid);
		at = from == NULL ? NULL : source_at(from, piece);
		if (at == NULL)
			return from == NULL ? -ESRCH : -EFAULT;
		memcpy(to[i], at, half);
		if (m0_sim__attach_call(from) || m0_sim__attach_call(att)) {
			++att->sia_daemon->sda_copies_cut_nr;
			return -ESRCH;
		}
		memcpy((char *)to[i] + half, at + half,
		       piece->spe_bytes - half);
	}
	++att->sia_daemon->sda_copies_nr;
	return 0;
}

static int fd_get(void *host)
{
	struct sim_attach *att = host;
	int                rc;

	if (!att->sia_has_fd) {
		rc = m0_os_fd_open(&att->sia_pollable);
		if (rc != 0)
			return rc;
		att->sia_has_fd = true;
	}
	return att->sia_pollable.of_fd;
}

static void fd_arm(void *host, m0_time_t deadline)
{
	struct sim_attach *att = host;

	if (deadline == M0_TIME_NEVER) {
		att->sia_rung = false;
		m0_os_fd_clear(&att->sia_pollable);
	}
	m0_os_fd_arm(&att->sia_pollable, deadline);
}

/* -------------------------------------------------------------- the daemon -- */

static void map_end(struct sim_map *map)
{
	if (map->sam_addr == NULL)
		return;
	m0_os_shm_unmap(map->sam_addr, map->sam_bytes);
	(void)close(map->sam_fd);
	M0_SET0(map);
}

static void client_wake(void *host)
{
	struct sim_attach *att = host;

	if (!att->sia_is_dead && att->sia_daemon != NULL &&
	    !att->sia_daemon->sda_is_dead)
		m0_sim__attach_rouse(att);
}

/* The daemon waits as its node does. */
static int server_wait(void *host, m0_time_t deadline)
{
	(void)host;
	(void)deadline;
	return -ETIMEDOUT;
}

static int server_map(void *host, uint32_t nr, uint64_t bytes, void **ret)
{
	struct sim_attach *att = host;
	struct sim_map    *map = &att->sia_maps[nr - 1];

	if (bytes == 0)
		map_end(map);
	else if (map->sam_addr == NULL || bytes > map->sam_bytes)
		return -EINVAL;
	else
		*ret = map->sam_addr;
	return 0;
}

/* Death is an event. */
static bool process_is_dead(void *host)
{
	(void)host;
	return false;
}

static const struct m0_shared_host server_host = {
	.shh_wake = client_wake,
	.shh_wait = server_wait,
	.shh_map = server_map,
	.shh_is_dead = process_is_dead,
	.shh_creds = creds,
};

static void serve_ended(struct m0_serve *srv)
{
	struct sim_attach *att = srv->srv_owner;
	char               text[WHY_BYTES] = "";

	M0_ASSERT(!att->sia_has_ended);
	att->sia_has_ended = true;
	if (srv->srv_why.shy_field != NULL) {
		++att->sia_daemon->sda_broken_nr;
		(void)m0_shared_why_print(&srv->srv_why, text, sizeof text);
	}
	m0_sim__trace(m0_sim__core(), m0_sim__speaker(m0_sim__core()), "attach",
		      "process %u is detached%s%s", att->sia_pid,
		      text[0] != 0 ? ": " : "", text);
	/* Its memory is not used any more. */
	if (att->sia_is_dead && att->sia_lnet != NULL)
		m0_pump_end(att->sia_lnet);
}

static bool home(struct m0_serve *srv, uint32_t nr, struct m0_serve_home *ret)
{
	const struct sim_attach *att = srv->srv_owner;

	*ret = (struct m0_serve_home){
		.vhm_pid = att->sia_pid,
		.vhm_addr = att->sia_maps[nr - 1].sam_home,
	};
	return ret->vhm_addr != 0;
}

static const struct m0_serve_ops serve_ops = {
	.svo_ended = serve_ended,
	.svo_home = home,
};

/* -------------------------------------------------------------------- life -- */

/* Frees an attachment that both sides have left. */
static void attach_look(struct sim_attach *att)
{
	struct m0_sim sim = { m0_sim__core() };

	if (!att->sia_is_over || att->sia_client_area != NULL)
		return;
	m0_sim_timer_cancel(&sim, &att->sia_bell);
	m0_sim_timer_cancel(&sim, &att->sia_death);
	m0_list_del(&att->sia_link);
	(void)close(att->sia_fd);
	free(att->sia_maps);
	free(att);
}

/* Everything is released: the daemon leaves. */
static void server_leave(struct sim_attach *att)
{
	uint32_t i;

	m0_serve_fini(&att->sia_serve);
	for (i = 0; i < maps_max(); ++i)
		map_end(&att->sia_maps[i]);
	m0_os_shm_unmap(att->sia_server_area, att->sia_bytes);
	att->sia_is_over = true;
	attach_look(att);
}

/* Waits for barriers of the node, so a strand cannot do it. */
static void sweep(const struct m0_sim_daemon *daemon)
{
	struct sim_attach *att;
	struct sim_attach *next;

	m0_list_for_each_entry_safe(&m0_sim__attaches, att, next,
				    struct sim_attach, sia_link) {
		if (att->sia_daemon == daemon && att->sia_has_ended &&
		    !att->sia_is_over)
			server_leave(att);
	}
}

static void process_closed(void *host)
{
	struct sim_attach *att = host;

	if (att->sia_has_fd)
		m0_os_fd_close(&att->sia_pollable);
	att->sia_has_fd = false;
	m0_os_shm_unmap(att->sia_client_area, att->sia_bytes);
	att->sia_client_area = NULL;
	att->sia_lnet = NULL;
	/* A process that has ended hangs up. */
	if (daemon_serves(att))
		m0_serve_end(&att->sia_serve);
	attach_look(att);
}

/* The area, with so many entries downwards, and the daemon's side of it. */
static int server_begin(struct sim_attach *att, uint32_t down_nr)
{
	struct m0_sim_daemon *daemon = att->sia_daemon;
	struct m0_serve_cfg   cfg = m0_serve_cfg_default;
	char                  why[WHY_BYTES];
	int                   rc;

	cfg.svg_shared.shc_down_nr = down_nr;
	cfg.svg_spin_ns = m0_sim__attach_draw(daemon, 0, 1) * 50 *
			  M0_TIME_ONE_USEC;
	/* Time passes only when nothing spins. */
	if (m0_sim__core()->simk_cfg.simc_step_ns_max == 0)
		cfg.svg_spin_ns = 0;
	cfg.svg_tms = &daemon->sda_tms;
	cfg.svg_copies = &daemon->sda_copies;
	att->sia_bytes = m0_shared_bytes(&cfg.svg_shared);
	att->sia_fd = m0_os_shm_make("colibri-sim", att->sia_bytes,
				     M0_OS_SHM_FIXED, &att->sia_server_area);
	M0_ASSERT(att->sia_fd >= 0);
	rc = m0_os_shm_map(att->sia_fd, att->sia_bytes, true,
			   &att->sia_client_area, why, sizeof why);
	M0_ASSERT_INFO(rc == 0, "%s", why);
	rc = m0_serve_init(&att->sia_serve, daemon->sda_lnet, &cfg,
			   att->sia_server_area, att->sia_bytes, &server_host,
			   att, &serve_ops, att);
	if (rc != 0)
		m0_serve_fini(&att->sia_serve);
	return rc;
}

static struct sim_attach *attach_new(struct m0_sim_daemon *daemon)
{
	/* As aligned as its type, which no realloc() is. */
	struct sim_attach *att =
		aligned_alloc(__alignof__(struct sim_attach), sizeof *att);
	uint32_t max = maps_max();

	M0_ASSERT(att != NULL);
	*att = (struct sim_attach){ .sia_daemon = daemon,
				    .sia_pid = ++pids_nr };
	memcpy(att->sia_path, daemon->sda_path, sizeof att->sia_path);
	att->sia_bell.simt_data = att;
	att->sia_death.simt_data = att;
	att->sia_maps = m0_sim__realloc(NULL, max, sizeof att->sia_maps[0]);
	memset(att->sia_maps, 0, max * sizeof att->sia_maps[0]);
	m0_list_link_init(&att->sia_link);
	m0_list_add_tail(&m0_sim__attaches, &att->sia_link);
	return att;
}

/* The daemon cannot serve it: no memory. */
static int attach_undo(struct sim_attach *att, int rc)
{
	m0_os_shm_unmap(att->sia_server_area, att->sia_bytes);
	m0_os_shm_unmap(att->sia_client_area, att->sia_bytes);
	att->sia_client_area = NULL;
	att->sia_is_over = true;
	attach_look(att);
	return rc;
}

static struct m0_sim_daemon *daemon_at(const char *path)
{
	struct m0_sim_daemon *daemon;

	m0_list_for_each_entry(&daemons, daemon, struct m0_sim_daemon,
			       sda_link) {
		if (!daemon->sda_is_dead && strcmp(daemon->sda_path, path) == 0)
			return daemon;
	}
	return NULL;
}

/* The daemon at the path of one that is gone answers at once, or not yet. */
static int again(void *host, m0_time_t now)
{
	struct sim_attach    *att = host;
	struct m0_sim_daemon *daemon = daemon_at(att->sia_path);
	struct sim_attach    *next;
	int                   rc;

	(void)now;
	if (m0_sim__attach_call(att) || daemon == NULL)
		return -EAGAIN;
	if (m0_sim__attach_draw(daemon, 0, 1) == 1)
		return -EINPROGRESS;
	next = attach_new(daemon);
	next->sia_copies = att->sia_copies;
	rc = server_begin(next, att->sia_side.shs_cfg.shc_down_nr);
	if (rc != 0) {
		(void)attach_undo(next, rc);
		return -EAGAIN;
	}
	++daemon->sda_attached_nr;
	rc = m0_shared_join(&next->sia_side, next->sia_client_area,
			    next->sia_bytes, &client_host, next, NULL);
	M0_ASSERT(rc == 0);
	att->sia_next = next;
	return 0;
}

static struct m0_shared_side *swap(void **host)
{
	struct sim_attach *att = *host;
	struct sim_attach *next = att->sia_next;

	M0_PRE(next != NULL);
	next->sia_lnet = att->sia_lnet;
	next->sia_pollable = att->sia_pollable;
	next->sia_has_fd = att->sia_has_fd;
	next->sia_crash_in = att->sia_crash_in;
	att->sia_has_fd = false;
	process_closed(att);
	*host = next;
	return &next->sia_side;
}

static const struct m0_pump_host pump_host = {
	.puh_share = share,
	.puh_copy = copy,
	.puh_rouse = process_rouse,
	.puh_fd = fd_get,
	.puh_fd_arm = fd_arm,
	.puh_again = again,
	.puh_swap = swap,
	.puh_closed = process_closed,
	.puh_is_stepped = true,
};

static int process_begin(struct sim_attach *att, const struct m0_lnet_cfg *cfg)
{
	int rc;

	rc = m0_shared_join(&att->sia_side, att->sia_client_area,
			    att->sia_bytes, &client_host, att, NULL);
	M0_ASSERT(rc == 0);
	rc = m0_pump_open(&att->sia_lnet, cfg, &att->sia_side, NULL, 0,
			  &pump_host, att);
	if (rc != 0) {
		process_closed(att);
		return rc;
	}
	rc = m0_pump_nids_get(att->sia_lnet);
	if (rc != 0)
		m0_lnet_close(att->sia_lnet);
	return rc;
}

static int open_attached(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg,
			 const char *path, char *why)
{
	struct m0_sim_daemon *daemon = daemon_at(path);
	struct sim_attach    *att;
	int                   rc;

	if (daemon == NULL) {
		if (why != NULL)
			(void)snprintf(why, M0_LNET_WHY_BYTES,
				       "no daemon listens at %s", path);
		return -ENOENT;
	}
	sweep(daemon);
	att = attach_new(daemon);
	att->sia_copies = cfg->lc_same_host;
	rc = server_begin(att, (uint32_t)DOWN_NR_MIN
				       << m0_sim__attach_draw(daemon, 0, 2));
	if (rc != 0)
		return attach_undo(att, rc);
	++daemon->sda_attached_nr;
	rc = process_begin(att, cfg);
	if (rc == 0)
		*ret = att->sia_lnet;
	else if (why != NULL)
		(void)snprintf(why, M0_LNET_WHY_BYTES,
			       "the daemon does not serve: %s", m0_errname(rc));
	return rc;
}

/* Forgets what an abandoned simulation has left. */
static void lists_init(void)
{
	if (epoch == m0_os_epoch())
		return;
	epoch = m0_os_epoch();
	m0_list_init(&daemons);
	m0_list_init(&m0_sim__attaches);
	pids_nr = 0;
	m0_sim__attach_cut_reset();
}

int m0_sim_daemon_start(struct m0_sim_daemon **ret, struct m0_lnet *lnet,
			const char *path)
{
	struct m0_sim_daemon  *daemon;
	m0_front_attach_open_t before;

	M0_PRE(!m0_lnet_is_inline(lnet));
	M0_PRE(strlen(path) < M0_SIM_PATH_BYTES);
	lists_init();
	if (daemon_at(path) != NULL)
		return -EADDRINUSE;
	m0_os_regions_share(M0_OS_SHARE_WRITE);
	before = m0_front_attach_open_set(open_attached);
	if (before != open_attached)
		open_before = before;
	daemon = m0_sim__realloc(NULL, 1, sizeof *daemon);
	*daemon = (struct m0_sim_daemon){ .sda_lnet = lnet,
					  .sda_sim = { m0_sim__core() } };
	(void)snprintf(daemon->sda_path, sizeof daemon->sda_path, "%s", path);
	m0_sim__rand_init(m0_sim__core(), &daemon->sda_rand);
	/* Three of four let them copy also what is too short elsewhere. */
	daemon->sda_copies.vcs_bytes_min =
		min64u(m0_sim__attach_draw(daemon, 0, 3), 1);
	m0_list_link_init(&daemon->sda_link);
	m0_list_add_tail(&daemons, &daemon->sda_link);
	*ret = daemon;
	return 0;
}

static bool all_have_ended(void *arg)
{
	const struct sim_attach *att;

	m0_list_for_each_entry(&m0_sim__attaches, att, struct sim_attach,
			       sia_link) {
		if (att->sia_daemon == arg && !att->sia_has_ended)
			return false;
	}
	return true;
}

void m0_sim_daemon_stop(struct m0_sim_daemon *daemon)
{
	struct sim_attach *att;

	m0_list_for_each_entry(&m0_sim__attaches, att, struct sim_attach,
			       sia_link) {
		if (att->sia_daemon == daemon && !att->sia_has_ended)
			m0_serve_end(&att->sia_serve);
	}
	(void)m0_sim__run(m0_sim__core(), all_have_ended, daemon,
			  M0_TIME_NEVER);
	sweep(daemon);
	m0_list_for_each_entry(&m0_sim__attaches, att, struct sim_attach,
			       sia_link) {
		if (att->sia_daemon == daemon)
			att->sia_daemon = NULL;
	}
	m0_serve_tms_fini(&daemon->sda_tms);
	m0_serve_copies_fini(&daemon->sda_copies);
	m0_list_del(&daemon->sda_link);
	free(daemon);
	if (m0_list_is_empty(&daemons))
		(void)m0_front_attach_open_set(open_before);
}

static uint32_t numbers_count(const struct m0_serve_tms *tms)
{
	uint32_t sum = 0;
	unsigned i;

	for (i = 0; i < M0_SERVE_PORTALS_MAX; ++i)
		sum += tms->vts_portals[i].vpo_owned_nr +
		       tms->vts_portals[i].vpo_raw_nr;
	return sum;
}

void m0_sim_daemon_info_get(struct m0_sim_daemon      *daemon,
			    struct m0_sim_daemon_info *ret)
{
	const struct sim_attach *att;
	uint32_t                 i;

	sweep(daemon);
	*ret = (struct m0_sim_daemon_info){
		.sdi_attached_nr = daemon->sda_attached_nr,
		.sdi_broken_nr = daemon->sda_broken_nr,
		.sdi_copies_nr = daemon->sda_copies_nr,
		.sdi_copies_cut_nr = daemon->sda_copies_cut_nr,
		.sdi_numbers_nr = numbers_count(&daemon->sda_tms),
	};
	m0_list_for_each_entry(&m0_sim__attaches, att, struct sim_attach,
			       sia_link) {
		if (att->sia_daemon != daemon || att->sia_is_over)
			continue;
		++ret->sdi_procs_nr;
		ret->sdi_mds_nr += att->sia_serve.srv_mds_nr;
		ret->sdi_bytes += att->sia_serve.srv_regions.srs_bytes;
		for (i = 0; i < maps_max(); ++i)
			ret->sdi_regions_nr += att->sia_maps[i].sam_addr !=
					       NULL;
	}
}
