/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "golden/replay.h"

enum {
	/** Time for our node to send a message that the recording demands. */
	SAY_MS = 3000,
	/** And for a keep-alive, whose time is ours to choose. */
	ALIVE_MS = 45000
};

/* -- the recording ----------------------------------------------------------- */

int replay__type(const struct replay_item *item)
{
	if (item->ri_kind != PCAP_BYTES ||
	    item->ri_msg->dm_kind != DIALOGUE_LNET)
		return -1;
	return (int)item->ri_msg->dm_hdr.lhd_type;
}

bool replay__is_reserved(const struct m0_lnet_hdr *hdr)
{
	return hdr->lhd_portal == 0;
}

unsigned replay__machine(const struct replay      *replay,
			 const struct m0_lnet_nid *nid)
{
	unsigned i;
	unsigned k;

	for (i = 0; i < replay->re_machines_nr; ++i)
		for (k = 0; k < replay->re_machines[i].rm_nids_nr; ++k)
			if (m0_lnet_nid_eq(&replay->re_machines[i].rm_nids[k],
					   nid))
				return i;
	return REPLAY_MACHINES_MAX;
}

static void nid_add(struct replay_machine    *machine,
		    const struct m0_lnet_nid *nid)
{
	unsigned i;

	for (i = 0; i < machine->rm_nids_nr; ++i)
		if (m0_lnet_nid_eq(&machine->rm_nids[i], nid))
			return;
	assert_true(machine->rm_nids_nr < REPLAY_NIDS_MAX);
	machine->rm_nids[machine->rm_nids_nr++] = *nid;
}

static unsigned machine_add(struct replay            *replay,
			    const struct m0_lnet_nid *nid)
{
	unsigned i = replay__machine(replay, nid);

	if (i < REPLAY_MACHINES_MAX)
		return i;
	i = replay->re_machines_nr++;
	assert_true(replay->re_machines_nr <= REPLAY_MACHINES_MAX);
	nid_add(&replay->re_machines[i], nid);
	replay->re_machines[i].rm_first_nr = 1;
	return i;
}

/* Ping information of either side, if it is all there. */
static void info_learn(struct replay *replay, const struct dialogue_msg *msg)
{
	struct m0_lnet_ping_ni   nis[REPLAY_NIDS_MAX];
	struct m0_lnet_ping_info info = { .lpi_nis = nis,
					  .lpi_nis_max = REPLAY_NIDS_MAX };
	struct replay_machine   *machine;
	unsigned                 i;

	if (!dialogue_is_ping(msg) ||
	    m0_lnet__ping_decode(&info, msg->dm_payload,
				 msg->dm_hdr.lhd_payload_bytes) != 0 ||
	    info.lpi_truncated)
		return;
	machine = &replay->re_machines[machine_add(replay, &nis[0].lpg_nid)];
	for (i = 0; i < info.lpi_nis_nr; ++i)
		nid_add(machine, &nis[i].lpg_nid);
	/* A machine that becomes a router is known by what it says then. */
	if (machine->rm_info != NULL &&
	    (machine->rm_is_router ||
	     (info.lpi_features & M0_LNET_FEAT_RTE_DISABLED) != 0))
		return;
	machine->rm_is_router =
		(info.lpi_features & M0_LNET_FEAT_RTE_DISABLED) == 0;
	machine->rm_first_nr = info.lpi_nis_nr;
	/* In the order of the information. */
	for (i = 0; i < info.lpi_nis_nr; ++i)
		machine->rm_nids[i] = nis[i].lpg_nid;
	machine->rm_features = info.lpi_features;
	machine->rm_info = msg->dm_payload;
	machine->rm_info_nr = msg->dm_hdr.lhd_payload_bytes;
}

static void item_add(struct replay *replay, const struct replay_item *item)
{
	unsigned at = replay->re_items_nr++;

	assert_true(replay->re_items_nr <= REPLAY_ITEMS_MAX);
	for (; at > 0 && replay->re_items[at - 1].ri_time > item->ri_time; --at)
		replay->re_items[at] = replay->re_items[at - 1];
	replay->re_items[at] = *item;
}

static void stream_load(struct replay *replay, unsigned nr)
{
	const struct pcap_stream *stream = &replay->re_pcap.pc_streams[nr];
	struct dialogue          *dialogue = &replay->re_dialogues[nr];
	size_t                    i;

	assert_int_equal(dialogue_init(dialogue, stream), 0);
	for (i = 0; i < dialogue->dl_msgs_nr; ++i) {
		const struct dialogue_msg *msg = &dialogue->dl_msgs[i];
		struct replay_item         item = {
				.ri_time = msg->dm_time_ns,
				.ri_stream = nr,
				.ri_from = msg->dm_from,
				.ri_msg = msg,
		};

		item_add(replay, &item);
		if (msg->dm_kind == DIALOGUE_LNET)
			info_learn(replay, msg);
	}
	for (i = 0; i < stream->ps_events_nr; ++i) {
		const struct pcap_event *event = &stream->ps_events[i];
		struct replay_item       item = {
			      .ri_time = event->pv_time_ns,
			      .ri_stream = nr,
			      .ri_kind = event->pv_kind,
			      .ri_from = event->pv_from,
		};

		if (event->pv_kind != PCAP_BYTES)
			item_add(replay, &item);
	}
}

void replay_load(struct replay *replay, const char *path)
{
	const struct dialogue_msg *msg;
	unsigned                   i;

	memset(replay, 0, sizeof *replay);
	(void)snprintf(replay->re_name, sizeof replay->re_name, "%s",
		       strrchr(path, '/') + 1);
	assert_int_equal(pcap_load(&replay->re_pcap, path), 0);
	assert_true(replay->re_pcap.pc_streams_nr <= REPLAY_STREAMS_MAX);
	replay->re_streams_nr = (unsigned)replay->re_pcap.pc_streams_nr;
	for (i = 0; i < replay->re_streams_nr; ++i)
		stream_load(replay, i);
	/* Add machines that send no ping information. */
	for (i = 0; i < replay->re_items_nr; ++i) {
		msg = replay->re_items[i].ri_msg;
		if (msg != NULL && msg->dm_kind == DIALOGUE_HELLO)
			(void)machine_add(replay, &msg->dm_hello.sh_src_nid);
	}
}

void replay_free(struct replay *replay)
{
	unsigned i;

	for (i = 0; i < replay->re_streams_nr; ++i)
		dialogue_fini(&replay->re_dialogues[i]);
	pcap_free(&replay->re_pcap);
}

/* A HELLO of the machine, from the address that its NID names: not of a script
 * that says it is somebody. */
static bool hello_is_of(const struct replay         *replay,
			const struct replay_item    *item,
			const struct replay_machine *m)
{
	const struct dialogue_msg *msg = item->ri_msg;
	const struct pcap_end     *end;

	if (msg == NULL || msg->dm_kind != DIALOGUE_HELLO ||
	    !m0_lnet_nid_eq(&msg->dm_hello.sh_src_nid, &m->rm_nids[0]))
		return false;
	end = &replay->re_pcap.pc_streams[item->ri_stream].ps_end[msg->dm_from];
	return memcmp(end->pe_addr, m->rm_nids[0].ln_addr,
		      end->pe_addr_bytes) == 0;
}

bool replay_is_node(const struct replay *replay, unsigned machine)
{
	const struct replay_machine *m = &replay->re_machines[machine];
	unsigned                     i;

	/* Only one side of a router is recorded: router_test takes its place. */
	if (m->rm_is_router)
		return false;
	for (i = 0; i < replay->re_items_nr; ++i)
		if (hello_is_of(replay, &replay->re_items[i], m))
			return true;
	return false;
}

struct replay_item *replay__answer(struct replay            *replay,
				   const struct m0_lnet_wmd *wmd, bool ours)
{
	struct replay_item *item;
	unsigned            i;
	int                 type;

	for (i = 0; i < replay->re_items_nr; ++i) {
		item = &replay->re_items[i];
		type = replay__type(item);
		if ((type == M0_LNET_ACK || type == M0_LNET_REPLY) &&
		    item->ri_ours == ours &&
		    memcmp(&item->ri_msg->dm_hdr.lhd_wmd, wmd, sizeof *wmd) ==
			    0)
			return item;
	}
	return NULL;
}

void replay__fail(struct replay *replay, const struct replay_item *item,
		  const char *fmt, ...)
{
	char    what[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	if (item == NULL)
		m0_sim_fail(&replay->re_sim, "%s, machine %u: %s",
			    replay->re_name, replay->re_ours, what);
	m0_sim_fail(&replay->re_sim,
		    "%s, machine %u, connection %u, %" PRIu64
		    ".%06u s, kind %d type %d portal %u: %s",
		    replay->re_name, replay->re_ours, item->ri_stream + 1,
		    item->ri_time / M0_TIME_ONE_SECOND,
		    (unsigned)(item->ri_time % M0_TIME_ONE_SECOND / 1000),
		    item->ri_msg == NULL ? -1 : (int)item->ri_msg->dm_kind,
		    replay__type(item),
		    item->ri_msg == NULL ? 0 : item->ri_msg->dm_hdr.lhd_portal,
		    what);
}

/* -- the play ---------------------------------------------------------------- */

struct until {
	struct replay *u_replay;
	bool (*u_cond)(struct replay *replay, struct replay_item *item);
	struct replay_item *u_item;
};

static bool until_look(void *arg)
{
	struct until *u = arg;

	replay__pump(u->u_replay);
	return u->u_cond(u->u_replay, u->u_item);
}

static bool run_until(struct replay *replay,
		      bool (*cond)(struct replay      *replay,
				   struct replay_item *item),
		      struct replay_item *item, uint64_t ms)
{
	struct until u = { replay, cond, item };

	return m0_sim_run_until(&replay->re_sim, until_look, &u,
				ms * M0_TIME_ONE_MSEC);
}

static bool item_is_done(struct replay *replay, struct replay_item *item)
{
	(void)replay;
	return item->ri_done;
}

static bool never(struct replay *replay, struct replay_item *item)
{
	(void)replay;
	(void)item;
	return false;
}

/* Posts the next operations of our node's application in the recording. */
static void tell_next(struct replay *replay, struct replay_item *from)
{
	struct replay_item *item;
	int                 type;

	for (item = from; item < replay->re_items + replay->re_items_nr;
	     ++item) {
		type = replay__type(item);
		if (!item->ri_ours || item->ri_done || item->ri_told ||
		    (type != M0_LNET_PUT && type != M0_LNET_GET) ||
		    replay->re_left_out[item->ri_stream] ||
		    !replay__is_reachable(replay,
					  &item->ri_msg->dm_hdr.lhd_dest_nid))
			continue;
		replay__tell(replay, item);
		return;
	}
}

static void expect(struct replay *replay, struct replay_item *item, uint64_t ms)
{
	if (!run_until(replay, item_is_done, item, ms))
		replay__fail(replay, item, "our node does not say it");
}

/* A push because an interface has come or gone, which ours does not. */
static bool is_push_of_change(const struct replay      *replay,
			      const struct replay_item *item)
{
	const struct dialogue_msg   *msg = item->ri_msg;
	const struct replay_machine *m = &replay->re_machines[replay->re_ours];

	/* Entry 0 carries the sequence number. */
	return dialogue_is_ping(msg) && msg->dm_hdr.lhd_type == M0_LNET_PUT &&
	       m->rm_info != NULL &&
	       memcmp(msg->dm_payload + M0_LNET_PING_HEADER_BYTES,
		      m->rm_info + M0_LNET_PING_HEADER_BYTES,
		      M0_LNET_PING_ENTRY_BYTES) != 0;
}

/* A push that repeats an earlier one, which a kernel node sends at each check of a
 * gateway. Ours sends a push only if the peer does not have the information. */
static bool is_push_again(const struct replay      *replay,
			  const struct replay_item *item)
{
	const struct dialogue_msg *msg = item->ri_msg;
	const struct replay_item  *old;

	if (!dialogue_is_ping(msg))
		return false;
	for (old = replay->re_items; old < item; ++old)
		if (old->ri_ours && replay__type(old) == M0_LNET_PUT &&
		    dialogue_is_ping(old->ri_msg) &&
		    m0_lnet_nid_eq(&old->ri_msg->dm_hdr.lhd_dest_nid,
				   &msg->dm_hdr.lhd_dest_nid))
			return true;
	return false;
}

static void ours_request(struct replay *replay, struct replay_item *item)
{
	if (is_push_of_change(replay, item) || is_push_again(replay, item)) {
		item->ri_done = true;
		return;
	}
	if (!replay__is_reachable(replay, &item->ri_msg->dm_hdr.lhd_dest_nid)) {
		/* Our node's operation must fail, because there is no path. */
		replay__tell(replay, item);
		(void)run_until(replay, never, NULL, 10);
		item->ri_done = true;
		++replay->re_unreachable_nr;
		return;
	}
	replay__tell(replay, item);
	expect(replay, item, SAY_MS);
}

static bool has_kept_alive(struct replay *replay, struct replay_item *item)
{
	(void)item;
	return replay->re_keepalives_nr > 0;
}

static bool all_is_acked(struct replay *replay, struct replay_item *item)
{
	unsigned i;

	(void)item;
	for (i = 0; i < replay->re_items_nr; ++i)
		if (replay->re_items[i].ri_owed)
			return false;
	return true;
}

static void ours_noop(struct replay *replay, struct replay_item *item)
{
	bool is_alive = item->ri_msg->dm_frame.sfr_cookie[1] == 1;

	if (!run_until(replay, is_alive ? has_kept_alive : all_is_acked, NULL,
		       is_alive ? ALIVE_MS : SAY_MS))
		replay__fail(replay, item, "no keep-alive or acknowledgement");
	if (is_alive)
		replay->re_keepalives_nr = 0;
	item->ri_done = true;
}

static bool dialled_or_not(struct replay *replay, struct replay_item *item)
{
	return item->ri_done || replay__conn(replay, item->ri_stream) != NULL;
}

/*
 * Our node connects when it has something to say; to whom it is connected
 * already, it does not. With several NIDs it is free to choose another pair.
 */
static void ours_dial(struct replay *replay, struct replay_item *item)
{
	if (!item->ri_done && replay__conn(replay, item->ri_stream) == NULL)
		tell_next(replay, item);
	if (!run_until(replay, dialled_or_not, item, SAY_MS) &&
	    replay->re_machines[replay->re_ours].rm_first_nr == 1)
		replay__fail(replay, item, "our node does not connect");
	/* The rest of the set comes by and by. */
	(void)run_until(replay, item_is_done, item, 500);
	item->ri_done = true;
}

static void ours(struct replay *replay, struct replay_item *item)
{
	const struct dialogue_msg *msg = item->ri_msg;

	if (item->ri_done)
		return;
	switch (msg->dm_kind) {
	case DIALOGUE_REQUEST:
		ours_dial(replay, item);
		break;
	case DIALOGUE_HELLO:
		if (msg->dm_from == PCAP_LISTENER)
			expect(replay, item, SAY_MS);
		break;
	case DIALOGUE_NOOP:
		ours_noop(replay, item);
		break;
	case DIALOGUE_LNET:
		if (msg->dm_hdr.lhd_type == M0_LNET_PUT ||
		    msg->dm_hdr.lhd_type == M0_LNET_GET)
			ours_request(replay, item);
		else if (!replay__is_reachable(replay,
					       &msg->dm_hdr.lhd_dest_nid) ||
			 replay__conn(replay, item->ri_stream) != NULL)
			expect(replay, item, SAY_MS);
	}
}

static void theirs(struct replay *replay, struct replay_item *item)
{
	const struct dialogue_msg *msg = item->ri_msg;
	struct replay_conn        *conn;
	int                        type = replay__type(item);

	if (item->ri_done)
		return;
	if (msg->dm_kind == DIALOGUE_REQUEST) {
		replay__dial(replay, item);
	} else if (msg->dm_kind == DIALOGUE_HELLO) {
		/* A listener's HELLO left as soon as our node had connected. */
		if (msg->dm_from == PCAP_LISTENER)
			return;
		conn = &replay->re_conns[replay->re_conns_nr - 1];
		while (conn->rc_stream != (int)item->ri_stream)
			--conn;
		m0_sim_raw_send(conn->rc_raw, msg->dm_bytes, msg->dm_nr);
		item->ri_done = true;
	} else if (type == M0_LNET_ACK || type == M0_LNET_REPLY) {
		/* Said as soon as our node had asked; it has not. */
		return;
	} else {
		if (type >= 0 && !replay__is_reserved(&msg->dm_hdr))
			replay__lend(replay, item);
		replay__feed(replay, item);
	}
}

static bool conn_has_ended(struct replay *replay, struct replay_item *item)
{
	unsigned i;

	for (i = 0; i < replay->re_conns_nr; ++i)
		if (replay->re_conns[i].rc_stream == (int)item->ri_stream &&
		    !replay->re_conns[i].rc_is_ended)
			return false;
	return true;
}

/*
 * An end of a connection, whichever side has begun it. What ends a connection of V2 is
 * what was said on it, so ours ends it too; nobody stops his node there.
 */
static void ending(struct replay *replay, struct replay_item *item)
{
	const struct dialogue *dialogue =
		&replay->re_dialogues[item->ri_stream];
	unsigned i;

	if (item->ri_ours && dialogue->dl_version[0] == M0_SOCK_V2 &&
	    !run_until(replay, conn_has_ended, item, SAY_MS))
		replay__fail(replay, item, "our node does not close");

	for (i = 0; i < replay->re_conns_nr; ++i) {
		struct replay_conn *conn = &replay->re_conns[i];

		if (conn->rc_stream != (int)item->ri_stream)
			continue;
		/* Both ends are over: the port is free. */
		if (conn->rc_raw->smr_state == M0_SIM_RAW_EOF)
			m0_sim_raw_close(conn->rc_raw);
		else if (item->ri_kind == PCAP_FIN)
			m0_sim_raw_shut(conn->rc_raw);
		conn->rc_is_ended = true;
	}
	item->ri_done = true;
}

/* -- the stage --------------------------------------------------------------- */

static void marks_set(struct replay *replay)
{
	const struct dialogue_msg *msg;
	struct replay_item        *item;
	unsigned                   side[REPLAY_STREAMS_MAX];
	unsigned                   i;

	for (i = 0; i < replay->re_streams_nr; ++i) {
		const struct dialogue *dialogue = &replay->re_dialogues[i];

		side[i] = 2;
		replay->re_left_out[i] = dialogue->dl_version[PCAP_INITIATOR] ==
					 M0_SOCK_V1;
	}
	for (i = 0; i < replay->re_items_nr; ++i) {
		msg = replay->re_items[i].ri_msg;
		if (msg == NULL || msg->dm_kind != DIALOGUE_HELLO ||
		    replay__machine(replay, &msg->dm_hello.sh_src_nid) !=
			    replay->re_ours)
			continue;
		side[replay->re_items[i].ri_stream] = msg->dm_from;
	}
	for (i = 0; i < replay->re_items_nr; ++i) {
		item = &replay->re_items[i];
		msg = item->ri_msg;
		item->ri_done = item->ri_told = item->ri_owed = false;
		item->ri_ours = side[item->ri_stream] == item->ri_from;
		/* Leave out dialogues of others, and of an address that the
		 * machine had later. */
		if (side[item->ri_stream] == 2)
			replay->re_left_out[item->ri_stream] = true;
		if (item->ri_ours && msg != NULL &&
		    msg->dm_kind == DIALOGUE_HELLO &&
		    !replay__is_reachable(replay, &msg->dm_hello.sh_src_nid))
			replay->re_left_out[item->ri_stream] = true;
	}
}

/* Streams from an address that our node has only later are not played. */
static void late_leave_out(struct replay *replay)
{
	const struct replay_machine *m = &replay->re_machines[replay->re_ours];
	const struct dialogue_msg   *msg;
	unsigned                     i;
	unsigned                     k;

	for (i = 0; i < replay->re_items_nr; ++i) {
		msg = replay->re_items[i].ri_msg;
		if (msg == NULL || !replay->re_items[i].ri_ours ||
		    msg->dm_kind != DIALOGUE_HELLO)
			continue;
		for (k = 0; k < m->rm_first_nr; ++k)
			if (m0_lnet_nid_eq(&m->rm_nids[k],
					   &msg->dm_hello.sh_src_nid))
				break;
		if (k == m->rm_first_nr)
			replay->re_left_out[replay->re_items[i].ri_stream] =
				true;
	}
}

static void hosts_add(struct replay *replay)
{
	static char text[REPLAY_MACHINES_MAX * REPLAY_NIDS_MAX]
			[INET6_ADDRSTRLEN];
	unsigned nr = 0;
	unsigned i;
	unsigned k;
	unsigned side;

	for (i = 0; i < replay->re_streams_nr; ++i) {
		for (side = 0; side < 2; ++side) {
			const struct pcap_end *end =
				&replay->re_pcap.pc_streams[i].ps_end[side];

			(void)inet_ntop(
				end->pe_addr_bytes == 4 ? AF_INET : AF_INET6,
				end->pe_addr, text[nr], sizeof text[nr]);
			for (k = 0; strcmp(text[k], text[nr]) != 0; ++k)
				;
			if (k == nr)
				(void)m0_sim_host_add(text[nr++], text[k]);
		}
	}
	for (i = 0; i < replay->re_machines_nr; ++i) {
		const struct replay_machine *m = &replay->re_machines[i];

		for (k = 0; k < m->rm_nids_nr; ++k) {
			unsigned n;

			(void)inet_ntop(m->rm_nids[k].ln_size == 0 ? AF_INET
								   : AF_INET6,
					m->rm_nids[k].ln_addr, text[nr],
					sizeof text[nr]);
			for (n = 0; strcmp(text[n], text[nr]) != 0; ++n)
				;
			if (n == nr)
				(void)m0_sim_host_add(text[nr++], text[n]);
		}
	}
}

static void play(struct replay *replay)
{
	m0_time_t           begin = m0_sim_now(&replay->re_sim);
	m0_time_t           now;
	struct replay_item *item;
	unsigned            i;

	for (i = 0; i < replay->re_items_nr; ++i) {
		item = &replay->re_items[i];
		if (replay->re_left_out[item->ri_stream]) {
			item->ri_done = true;
			continue;
		}
		now = m0_sim_now(&replay->re_sim);
		if (begin + item->ri_time > now)
			(void)run_until(replay, never, NULL,
					(begin + item->ri_time - now) /
							M0_TIME_ONE_MSEC +
						1);
		if (item->ri_kind != PCAP_BYTES)
			ending(replay, item);
		else if (item->ri_ours)
			ours(replay, item);
		else
			theirs(replay, item);
	}
	if (!run_until(replay, all_is_acked, NULL, SAY_MS))
		replay__fail(replay, NULL, "a cookie is not acknowledged");
}

static void reset(struct replay *replay, unsigned ours_nr)
{
	replay->re_ours = ours_nr;
	replay->re_far_net = 0;
	replay->re_conns_nr = replay->re_said_nr = 0;
	replay->re_probes_nr = replay->re_probes_done_nr = 0;
	replay->re_loans_nr = 0;
	replay->re_matched_nr = replay->re_surplus_nr = 0;
	replay->re_unreachable_nr = replay->re_keepalives_nr = 0;
	replay->re_acked_nr = replay->re_hellos_nr = replay->re_fed_nr = 0;
}

void replay_play(struct replay *replay, unsigned ours_nr)
{
	static const struct m0_sim_stream_cfg cfg = {
		.ssc_latency_ns = 200 * 1000,
		.ssc_jitter_ns = 50 * 1000,
		.ssc_piece_bytes_max = 1460,
	};

	reset(replay, ours_nr);
	m0_sim_init_cfg(&replay->re_sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&replay->re_sim, &cfg);
	marks_set(replay);
	late_leave_out(replay);
	hosts_add(replay);
	replay__node_open(replay);
	replay__app_open(replay);
	replay__listen(replay);
	play(replay);
	(void)run_until(replay, never, NULL, 25000);
	m0_lnet_close(replay->re_lnet);
	replay__app_close(replay);
	m0_sim_net_fini();
	m0_sim_fini(&replay->re_sim);
}
