/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Definitions that the files of room `rpc` share. The contract is m0/rpc.h; the
 * pure code (packets, formation, streams) is in rpc/core.
 *
 * One thread at a time moves a machine: the one that delivers for its transfer
 * machine, in callbacks of buffers and in the rider's step. All functions below
 * are for that thread, but those that say otherwise. Whatever another thread
 * wants is a *call* pushed to the machine's inbox, which is a stack without a
 * lock that the step takes as a whole; pushing to a machine that has ended is
 * refused.
 *
 * A step runs calls, timers, streams that have something to send, and formation, and
 * notifies the posters of items that have ended. Net callbacks come before it, in
 * the same pass, and what was added leaves after it.
 *
 * The machine consists of parts, each a structure with a header and files of its
 * own: the inbox (rpc_inbox.c), timers (pause.c), counts (stats.c), items that
 * end (item/item.c), the sender (item/target.c, item/rpc_send.c), the receiver
 * (item/rpc_recv.c), what it has as a client (client/), as a server (server/),
 * the store's jobs (server/jobs.c), the map of services and its own further
 * addresses (links/), and bulk (bulk/).
 */
#ifndef M0_SRC_RPC_RPC_INTERNAL_H
#define M0_SRC_RPC_RPC_INTERNAL_H

#include "base/tls.h"
#include "base/hash.h"
#include "base/timerq.h"
#include "os/os.h"
#include "m0/rpc.h"
#include "rpc/core/cstream.h"
#include "rpc/core/dups.h"
#include "rpc/core/frm.h"
#include "rpc/core/sstream.h"
#include "rpc/core/rpc_wire.h"

struct m0_rpc__machine;
struct m0_rpc__target;
struct m0_rpc__conn;
struct m0_rpc__session;
struct m0_rpc__client;
struct m0_rpc__ssession;
struct m0_rpc__packet;
struct m0_rpc__rbuf;
struct m0_rpc__link;
struct m0_rpc__rail;

enum {
	/** Bodies from here on may be gathered. */
	M0_RPC__GATHER_MIN = 1024,
	/** Pieces of a gathered body. */
	M0_RPC__GATHER_MAX = 8,
	/** Send buffers of a machine: a packet each, made when needed. When half
	 * of them are in use a place gets one only if so many times what it has
	 * is left. */
	M0_RPC__PACKETS_MAX = 256,
	M0_RPC__PACKETS_SHARE = 16,
	/** Busy packets that refuse a version. */
	M0_RPC__REFUSALS_MAX = 8,
	/** Replies of the library that are under way, to all peers. */
	M0_RPC__NOTICES_MAX = 1024,
	/** Handshakes that wait for the store. */
	M0_RPC__HANDSHAKES_MAX = 1024,
	/** Notices to one destination, whose host may never read them. */
	M0_RPC__NOTICES_EACH_MAX = 64,
	/** Packets that one receive buffer takes. */
	M0_RPC__RECV_MSGS_MAX = 256,
	/** Least rc_client_bytes_max; so much may wait for each place. */
	M0_RPC__CLIENT_BYTES_MIN = 65536
};

#include "rpc/rpc_inbox.h"
#include "rpc/pause.h"
#include "rpc/stats.h"
#include "rpc/notice.h"
#include "rpc/item/item.h"
#include "rpc/item/note.h"
#include "rpc/item/target.h"
#include "rpc/item/sender.h"
#include "rpc/item/receiver.h"
#include "rpc/item/group.h"
#include "rpc/links/map.h"
#include "rpc/links/link.h"
#include "rpc/links/rail.h"
#include "rpc/client/conn.h"
#include "rpc/client/session.h"
#include "rpc/client/post.h"
#include "rpc/bulk/bulks.h"
#include "rpc/server/server.h"
#include "rpc/server/jobs.h"
#include "rpc/rpc_pool.h"

enum m0_rpc__phase {
	M0_RPC__RUNS,
	/** Stop was called: waits for what is there. */
	M0_RPC__DRAINS,
	/** Nothing is there any more. */
	M0_RPC__QUIET
};

struct m0_rpc__machine {
	struct m0_rpc_machine *rml_machine;
	struct m0_net_domain  *rml_dom;
	struct m0_rpc_cfg      rml_cfg;
	struct m0_net_tm_rider rml_rider;
	/** The time of this pass. */
	m0_time_t rml_now;
	/** Nothing new is accepted: stop was called. Atomic. */
	uint32_t rml_stops;
	/** enum m0_rpc__phase. Atomic. */
	uint32_t rml_phase;
	/** A thread has taken it upon itself to stop the transfer machines.
	 * Atomic. */
	uint32_t rml_stopper;
	/** When stop(false) becomes stop(true). */
	m0_time_t rml_drain_at;
	/** Items end at once. */
	bool rml_aborts;
	/** Goes with each packet. Atomic. */
	uint32_t rml_epoch;
	/** Raised when the transfer machine is STARTED, STOPPED or FAILED. */
	struct m0_semaphore rml_state_sem;
	int32_t             rml_failed_rc;

	struct m0_rpc__inbox    rml_inbox;
	struct m0_rpc__ends     rml_ends;
	struct m0_rpc__timers   rml_timers;
	struct m0_rpc__conns    rml_conns;
	struct m0_rpc__sender   rml_sender;
	struct m0_rpc__receiver rml_receiver;
	struct m0_rpc__kept     rml_kept;
	struct m0_rpc__server   rml_server;
	struct m0_rpc__jobs     rml_jobs;
	struct m0_rpc__map      rml_map;
	struct m0_rpc__rails    rml_rails;
	struct m0_rpc__bulks    rml_bulks;
	struct m0_rpc__counts   rml_counts;
};

static inline struct m0_rpc__machine *m0_rpc__machine(
	const struct m0_rpc_machine *machine)
{
	return machine->rm_lib;
}

/** Items posted and not ended. Any thread. */
static inline uint32_t m0_rpc__cached_nr(const struct m0_rpc__machine *m)
{
	int32_t nr = (int32_t)(__atomic_load_n(&m->rml_inbox.rib_cached_nr,
					       __ATOMIC_RELAXED) +
			       __atomic_load_n(&m->rml_inbox.rib_cached_own_nr,
					       __ATOMIC_RELAXED));

	/* Some may have been posted and have ended between the two. */
	return nr > 0 ? (uint32_t)nr : 0;
}

/** The machine's thread: one more, or (as -1) one less. */
static inline void m0_rpc__cached_add(struct m0_rpc__machine *m, uint32_t nr)
{
	__atomic_store_n(&m->rml_inbox.rib_cached_own_nr,
			 m->rml_inbox.rib_cached_own_nr + nr, __ATOMIC_RELAXED);
}

static inline void m0_rpc__changed(struct m0_rpc__machine *m)
{
	m->rml_inbox.rib_changed = true;
}

static inline int m0_rpc__call_push(struct m0_rpc__machine *m,
				    struct m0_rpc__call    *call)
{
	if (!m0_rpc__is_here(m))
		return m0_rpc__inbox_push(m, call);
	call->rcl_next = NULL;
	if (m->rml_inbox.rib_own_tail != NULL)
		m->rml_inbox.rib_own_tail->rcl_next = call;
	else
		m->rml_inbox.rib_own_head = call;
	m->rml_inbox.rib_own_tail = call;
	return 0;
}

/** States that calls of other threads begin to change. */
static inline uint32_t m0_rpc__conn_state(const struct m0_rpc_conn *conn)
{
	return __atomic_load_n(&conn->c_state, __ATOMIC_ACQUIRE);
}
static inline uint32_t m0_rpc__session_state(
	const struct m0_rpc_session *session)
{
	return __atomic_load_n(&session->s_state, __ATOMIC_ACQUIRE);
}

/** Looks whether a machine that stops is quiet. The end of a step. */
void m0_rpc__machine_drain(struct m0_rpc__machine *m);

/** rca_target; NULL: no memory. */
static inline struct m0_rpc__target *m0_rpc__came_target(
	struct m0_rpc__machine *m, struct m0_rpc__came *came)
{
	if (came->rca_target == NULL)
		came->rca_target = m0_rpc__target_get(m, came->rca_ep,
						      m->rml_cfg.rc_policy);
	return came->rca_target;
}

/** Queues a stream that may have something to send. */
static inline void m0_rpc__stream_ready(struct m0_rpc__stream *stream)
{
	if (!m0_list_link_is_in(&stream->rsy_ready_link))
		m0_list_add_tail(&stream->rsy_session->rsx_machine->rml_conns
					  .rcn_streams,
				 &stream->rsy_ready_link);
}

/** Its timer fires when it is due, or before. */
static inline void m0_rpc__stream_arm(struct m0_rpc__stream *stream)
{
	m0_time_t due = m0_rpc_cstream_due(&stream->rsy_core);

	/* One that fires too early is armed again. */
	if (due != M0_TIME_NEVER &&
	    (!m0_timer_is_armed(&stream->rsy_timer) ||
	     due < m0_timer_deadline(&stream->rsy_timer)))
		m0_timerq_arm(&stream->rsy_session->rsx_machine->rml_timers
				       .rtm_streams,
			      &stream->rsy_timer, due);
}

static inline bool m0_rpc__client_invariant(const struct m0_rpc__client *client)
{
	return _0C(client->rct_machine != NULL) && _0C(client->rct_life != 0) &&
	       _0C(client->rct_refs >= client->rct_sessions_nr +
					       client->rct_sessions_gone_nr +
					       client->rct_oneways_nr) &&
	       _0C(ergo(client->rct_session_last != NULL,
			client->rct_sessions_nr > 0)) &&
	       _0C(client->rct_bytes <=
		   client->rct_machine->rml_server.rsv_clients_bytes) &&
	       _0C(client->rct_holds_bytes <=
		   client->rct_machine->rml_server.rsv_holds_bytes);
}

#endif /* M0_SRC_RPC_RPC_INTERNAL_H */
