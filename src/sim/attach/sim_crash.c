/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Crashes of attached processes and of their daemons.
 *
 * A side that crashes has stopped at some moment since the other side last looked. What
 * the other side has seen of an index is in its own shadow; so any value between that
 * and the present one is one at which the crash may have happened, and entries beyond it
 * may be half written.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "ring/shared_entry.h"
#include "sim/attach/sim_attach_internal.h"

enum {
	/** Longest time until a death is noticed. */
	NOTICE_NS_MAX = 20 * 1000 * 1000
};

static uint64_t cut_nr;

void m0_sim__attach_cut_reset(void)
{
	cut_nr = 0;
}

uint64_t m0_sim_process_cut_nr(void)
{
	return cut_nr;
}

/* From now on nobody but this side sees what it writes. */
static void part(void *addr, uint64_t bytes, int fd, bool all)
{
	size_t         page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *at = addr;
	uint64_t       i;

	if (mmap(addr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		 fd, 0) == MAP_FAILED)
		M0_IMPOSSIBLE("mmap");
	/* Nor does this side see what the other one writes. */
	for (i = 0; all && i < bytes; i += page)
		at[i] = at[i];
}

/* Writes garbage over some words. */
static void scramble(struct m0_sim_daemon *daemon, void *at, uint32_t bytes)
{
	uint64_t *word = at;
	uint32_t  i;

	for (i = 0; i < bytes / sizeof *word; ++i) {
		if (m0_sim__attach_draw(daemon, 0, 1) == 1)
			word[i] = m0_sim__attach_draw(daemon, 0, UINT64_MAX);
	}
}

static char *entry_at(const struct m0_shared_out *out, uint32_t nr)
{
	return out->sot_entries +
	       (uint64_t)(nr & (out->sot_nr - 1)) * out->sot_bytes;
}

/* Garbage in entries from `from` on that are not seen, and in the next one. */
static void tail_scramble(struct m0_sim_daemon       *daemon,
			  const struct m0_shared_out *out, uint32_t from,
			  uint32_t taken_nr)
{
	for (; from != out->sot_put_nr + 1 && from - taken_nr < out->sot_nr;
	     ++from)
		scramble(daemon, entry_at(out, from), out->sot_bytes);
}

/* The end of the group that begins with an entry, which may be garbage. */
static uint32_t group_end(const struct m0_shared_out *out, uint32_t nr)
{
	const struct m0_shared_tag *tag = (const void *)entry_at(out, nr);
	uint32_t                    left = out->sot_put_nr - nr;

	return nr + min_check(left, (uint32_t)tag->stg_more_nr + 1);
}

/* Entries become seen by groups. */
static void process_puts_cut(struct sim_attach *att)
{
	const struct m0_shared_out *out = &att->sia_side.shs_out;
	const struct m0_shared_in  *in = &att->sia_serve.srv_side.shs_in;
	uint32_t                    nr;
	uint32_t                    groups = 0;

	for (nr = in->shi_put_nr; nr != out->sot_put_nr; ++groups)
		nr = group_end(out, nr);
	groups = (uint32_t)m0_sim__attach_draw(att->sia_daemon, 0, groups);
	for (nr = in->shi_put_nr; groups > 0; --groups)
		nr = group_end(out, nr);
	cut_nr += out->sot_put_nr - nr;
	tail_scramble(att->sia_daemon, out, nr, in->shi_taken_nr);
	*out->sot_put = nr;
}

/* The number of incoming messages is written after the index. */
static void process_takes_cut(struct sim_attach *att)
{
	const struct m0_shared_side *srv = &att->sia_serve.srv_side;
	uint32_t *incoming = &srv->shs_words->shw_up_taken.shl_incoming;
	uint32_t  queued = srv->shs_incoming_nr - *incoming;
	uint32_t  most = *incoming - att->sia_serve.srv_taken_nr;

	most = min_check(most, srv->shs_cfg.shc_incoming_nr - queued);
	*incoming -= (uint32_t)m0_sim__attach_draw(att->sia_daemon, 0, most);
}

/* The process may have taken the word of the daemon, and not rung. */
static void process_sleeps_cut(struct sim_attach *att)
{
	struct m0_shared_words *words = att->sia_serve.srv_side.shs_words;

	words->shw_client_sleeps.shl_word =
		(uint32_t)m0_sim__attach_draw(att->sia_daemon, 0, 3);
	if (m0_sim__attach_draw(att->sia_daemon, 0, 1) == 1)
		words->shw_server_sleeps.shl_word = 0;
}

static void death_fire(struct m0_sim_timer *timer)
{
	struct sim_attach *att = timer->simt_data;

	if (!att->sia_is_dead) {
		att->sia_daemon_is_missed = true;
		m0_sim__attach_rouse(att);
	} else if (!att->sia_has_ended) {
		m0_serve_end(&att->sia_serve);
	}
}

/* One of four deaths is noticed at once. */
static void death_arm(struct sim_attach *att)
{
	struct m0_sim_daemon *daemon = att->sia_daemon;
	m0_time_t             delay = 0;

	if (m0_sim__attach_draw(daemon, 0, 3) > 0)
		delay = m0_sim__attach_draw(daemon, 0, NOTICE_NS_MAX);
	m0_sim_timer_arm(&daemon->sda_sim, &att->sia_death,
			 m0_sim__core()->simk_now + delay, death_fire);
}

void m0_sim_process_crash(struct m0_lnet *lnet)
{
	struct sim_attach *att = m0_sim__attach_of(lnet);

	M0_PRE(att != NULL);
	if (att->sia_is_dead)
		return;
	att->sia_is_dead = true;
	m0_sim__trace(m0_sim__core(), m0_sim__speaker(m0_sim__core()), "attach",
		      "process %u crashes", att->sia_pid);
	if (att->sia_daemon == NULL || att->sia_daemon->sda_is_dead ||
	    att->sia_has_ended) {
		m0_pump_end(lnet);
		return;
	}
	process_puts_cut(att);
	process_takes_cut(att);
	process_sleeps_cut(att);
	part(att->sia_client_area, att->sia_bytes, att->sia_fd, true);
	death_arm(att);
}

void m0_sim_process_crash_in(struct m0_lnet *lnet, unsigned nr)
{
	struct sim_attach *att = m0_sim__attach_of(lnet);

	M0_PRE(att != NULL);
	att->sia_crash_in = nr;
}

bool m0_sim_process_is_dead(const struct m0_lnet *lnet)
{
	const struct sim_attach *att = m0_sim__attach_of(lnet);

	return att != NULL && att->sia_is_dead;
}

void m0_sim_process_scribble(struct m0_lnet *lnet, unsigned nr)
{
	struct sim_attach    *att = m0_sim__attach_of(lnet);
	struct m0_sim_daemon *daemon = att->sia_daemon;
	uint64_t             *area = att->sia_client_area;

	M0_PRE(daemon != NULL);
	m0_sim__trace(m0_sim__core(), m0_sim__speaker(m0_sim__core()), "attach",
		      "process %u scribbles", att->sia_pid);
	while (nr-- > 0)
		area[m0_sim__attach_draw(daemon, 0,
					 att->sia_bytes / sizeof *area - 1)] =
			m0_sim__attach_draw(daemon, 0, UINT64_MAX);
}

/* Cuts off what the daemon has written and the process has not seen. */
static void daemon_cut(struct sim_attach *att)
{
	const struct m0_shared_side *srv = &att->sia_serve.srv_side;
	const struct m0_shared_side *cli = &att->sia_side;
	uint32_t put = srv->shs_out.sot_put_nr - cli->shs_in.shi_put_nr;
	uint32_t taken = srv->shs_in.shi_taken_nr - cli->shs_out.sot_taken_nr;

	put = cli->shs_in.shi_put_nr +
	      (uint32_t)m0_sim__attach_draw(att->sia_daemon, 0, put);
	taken = cli->shs_out.sot_taken_nr +
		(uint32_t)m0_sim__attach_draw(att->sia_daemon, 0, taken);
	tail_scramble(att->sia_daemon, &srv->shs_out, put,
		      cli->shs_in.shi_taken_nr);
	*srv->shs_out.sot_put = put;
	*srv->shs_in.shi_taken = taken;
	if (m0_sim__attach_draw(att->sia_daemon, 0, 1) == 1)
		srv->shs_words->shw_client_sleeps.shl_word = 0;
}

static void daemon_lost(struct sim_attach *att)
{
	uint32_t i;

	if (att->sia_is_dead) {
		m0_sim_timer_cancel(&att->sia_daemon->sda_sim, &att->sia_death);
	} else {
		daemon_cut(att);
		death_arm(att);
	}
	part(att->sia_server_area, att->sia_bytes, att->sia_fd, true);
	for (i = 0; i < att->sia_side.shs_cfg.shc_regions_max; ++i) {
		struct sim_map *map = &att->sia_maps[i];

		if (map->sam_addr != NULL)
			part(map->sam_addr, map->sam_bytes, map->sam_fd, false);
	}
	m0_serve_end(&att->sia_serve);
	if (att->sia_is_dead && att->sia_lnet != NULL)
		m0_pump_end(att->sia_lnet);
}

void m0_sim_daemon_crash(struct m0_sim_daemon *daemon)
{
	struct sim_attach *att;

	M0_PRE(!daemon->sda_is_dead);
	daemon->sda_is_dead = true;
	m0_sim__trace(m0_sim__core(), m0_sim__speaker(m0_sim__core()), "attach",
		      "the daemon at %s crashes", daemon->sda_path);
	m0_list_for_each_entry(&m0_sim__attaches, att, struct sim_attach,
			       sia_link) {
		if (att->sia_daemon == daemon && !att->sia_has_ended)
			daemon_lost(att);
	}
}
