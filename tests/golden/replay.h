/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A recorded dialogue with one of its hosts replaced by a node of ours. The replay
 * sends the messages of the other hosts to our node, at their recorded times. Our node
 * must send the messages of the replaced host: the same kinds in answer to the same
 * requests, with the same fields where the protocol leaves no choice.
 *
 * Our node answers by itself. The replay does what the host's applications did (pings,
 * discovery, the traffic of selftest): when the recording comes to such a message, the
 * node sends one like it, and memory for incoming messages is posted before.
 *
 * Requests of the recording carry handles that answers repeat. Our node has handles of
 * its own, so the replay puts them into recorded answers. It answers requests beyond
 * the recording (the node may discover a peer) from what the recording has about the
 * peer.
 */
#ifndef M0_TESTS_GOLDEN_REPLAY_H
#define M0_TESTS_GOLDEN_REPLAY_H

#include "golden/dialogue.h"
#include "sim/net/sim_raw.h"
#include "m0/lnet.h"

enum {
	REPLAY_NIDS_MAX = 8,
	REPLAY_MACHINES_MAX = 16,
	REPLAY_STREAMS_MAX = 16,
	REPLAY_CONNS_MAX = 64,
	REPLAY_ITEMS_MAX = 1024,
	REPLAY_SAID_MAX = 1024,
	REPLAY_PROBES_MAX = 64,
	REPLAY_LOANS_MAX = 512
};

/** A machine of the recording, by what it says of itself. */
struct replay_machine {
	struct m0_lnet_nid rm_nids[REPLAY_NIDS_MAX];
	unsigned           rm_nids_nr;
	/** NIDs of the first ping information; later NIDs are not ours. */
	unsigned       rm_first_nr;
	bool           rm_is_router;
	uint32_t       rm_features;
	const uint8_t *rm_info;
	size_t         rm_info_nr;
};

/** Something recorded. */
struct replay_item {
	m0_time_t                  ri_time;
	unsigned                   ri_stream;
	enum pcap_kind             ri_kind;
	enum pcap_side             ri_from;
	const struct dialogue_msg *ri_msg;
	/** Said by the machine that is replaced. */
	bool ri_ours;
	/** Said, or heard; or need not be. */
	bool ri_done;
	/** The application of our node was told to. */
	bool ri_told;
	/** Its cookie is to be acknowledged by us. */
	bool ri_owed;
};

/** A connection as our node has it. */
struct replay_conn {
	struct m0_sim_raw *rc_raw;
	/** The recorded stream; < 0: there is none. */
	int      rc_stream;
	bool     rc_is_dialled_by_us;
	bool     rc_is_open;
	bool     rc_is_ended;
	uint32_t rc_version;
	uint32_t rc_ctype;
	size_t   rc_at;
	/** Address that our node has dialled. */
	unsigned rc_machine;
};

/** Message of our node. */
struct replay_said {
	unsigned             rs_conn;
	struct m0_sock_frame rs_frame;
	struct m0_lnet_hdr   rs_hdr;
	/** Offset in smr_in of the connection. */
	size_t rs_payload_at;
	bool   rs_is_matched;
};

/** Memory of our node's application, for one message. */
struct replay_loan {
	struct m0_bufvec      rl_vec;
	m0_bcount_t           rl_count;
	void                 *rl_buf;
	struct m0_lnet_handle rl_md;
	bool                  rl_is_ended;
	bool                  rl_has_come;
	struct m0_lnet_event  rl_event;
	struct replay_item   *rl_item;
};

struct replay {
	struct m0_sim   re_sim;
	struct pcap     re_pcap;
	struct dialogue re_dialogues[REPLAY_STREAMS_MAX];
	unsigned        re_streams_nr;
	/** Not played: V1, or of an address that our node does not have. */
	bool                  re_left_out[REPLAY_STREAMS_MAX];
	struct replay_machine re_machines[REPLAY_MACHINES_MAX];
	unsigned              re_machines_nr;
	struct replay_item    re_items[REPLAY_ITEMS_MAX];
	unsigned              re_items_nr;
	/** The machine that is replaced, and the network that it has routes to; 0:
	 * it has none. */
	unsigned           re_ours;
	uint32_t           re_far_net;
	struct m0_lnet    *re_lnet;
	struct m0_lnet_eq  re_eq;
	struct replay_conn re_conns[REPLAY_CONNS_MAX];
	unsigned           re_conns_nr;
	struct replay_said re_said[REPLAY_SAID_MAX];
	unsigned           re_said_nr;

	struct m0_lnet_probe re_probes[REPLAY_PROBES_MAX];
	unsigned             re_probes_nr;
	unsigned             re_probes_done_nr;
	struct replay_loan   re_loans[REPLAY_LOANS_MAX];
	unsigned             re_loans_nr;

	/** Counts, for a caller that asks whether anything was proved. */
	unsigned re_matched_nr;
	unsigned re_surplus_nr;
	unsigned re_unreachable_nr;
	unsigned re_keepalives_nr;
	unsigned re_acked_nr;
	unsigned re_hellos_nr;
	unsigned re_fed_nr;
	char     re_name[64];
};

/** Reads a recording and who takes part. */
void replay_load(struct replay *replay, const char *path);
void replay_free(struct replay *replay);
/** Is this machine one of Lustre's, with ping information of its own? */
bool replay_is_node(const struct replay *replay, unsigned machine);
/**
 * Plays it in a simulation of its own with machine `ours` replaced; fails the
 * case at the first thing that our node does not say, or says wrong.
 */
void replay_play(struct replay *replay, unsigned ours);

/* -- between the files of the replay ----------------------------------------- */

/** M0_LNET_... of an item that is a message; -1. */
int  replay__type(const struct replay_item *item);
bool replay__is_reserved(const struct m0_lnet_hdr *hdr);
/** REPLAY_MACHINES_MAX: nobody's. */
unsigned replay__machine(const struct replay      *replay,
			 const struct m0_lnet_nid *nid);
/** The recorded answer of a machine to the request with this handle. */
struct replay_item *replay__answer(struct replay            *replay,
				   const struct m0_lnet_wmd *wmd, bool ours);
/** Takes what our node has said; answers what wants an answer at once. */
void replay__pump(struct replay *replay);
/** Says a recorded message of another machine. */
void replay__feed(struct replay *replay, struct replay_item *item);
/** Somebody listens where our node may connect to. */
void replay__listen(struct replay *replay);
/** A recorded connection to our node. */
void replay__dial(struct replay *replay, struct replay_item *item);
/** The open connection of a recorded stream, or of its machine; NULL. */
struct replay_conn *replay__conn(struct replay *replay, unsigned stream);
/** Opens our node, with routes to a network that the machine sends requests to. */
void replay__node_open(struct replay *replay);
/** Is the network of `nid` one of our node's, or has the node a route to it? */
bool replay__is_reachable(const struct replay      *replay,
			  const struct m0_lnet_nid *nid);
/** The application of our node: is told to send, gets memory ready. */
void replay__tell(struct replay *replay, struct replay_item *item);
void replay__lend(struct replay *replay, struct replay_item *item);
void replay__app_open(struct replay *replay);
void replay__app_close(struct replay *replay);
/** Fails the case. */
void replay__fail(struct replay *replay, const struct replay_item *item,
		  const char *fmt, ...) M0_PRINTF(3, 4)
	__attribute__((noreturn));

#endif /* M0_TESTS_GOLDEN_REPLAY_H */
