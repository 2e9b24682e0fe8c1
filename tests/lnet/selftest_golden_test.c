/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Recorded selftests of kernel nodes, with our nodes in the place of the nodes under
 * test: a player sends what the recorded console and clients sent, and ours must
 * answer with the recorded bytes.
 *	lnet_selftest_golden_test DIRECTORY
 */
#include <stdlib.h>

#include "golden/golden.h"
#include "lnet/node.h"
#include "m0/lnet_run.h"
#include "selftest/selftest.h"
#include "selftest/st_pattern.h"

enum {
	REPLY_MS = 1000,
	/** Bytes of a reply that are always as recorded: of STAT, that which comes
	 * before the counters of LNet, without the time. */
	STAT_TIME_AT = 24 + 20,
	STAT_LNET_AT = 24 + 76
};

static const char   *golden_dir;
static struct m0_sim sim;
static struct node   player;
static struct node   ours[2];
static struct m0_st *sts[2];
static unsigned      ours_nr;

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 50 * 1000,
	.ssc_piece_bytes_max = 65536,
};

static void up(const char *player_addr, const char *const *addrs, unsigned nr)
{
	struct m0_st_cfg cfg;

	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	node_init(&player, &sim, "player", player_addr, NULL);
	for (ours_nr = 0; ours_nr < nr; ++ours_nr) {
		node_init(&ours[ours_nr], &sim, ours_nr == 0 ? "one" : "two",
			  addrs[ours_nr], NULL);
		m0_st_cfg_default(&cfg);
		cfg.scf_lnet = ours[ours_nr].n_lnet;
		assert_int_equal(m0_st_open(&sts[ours_nr], &cfg), 0);
	}
}

static void down(void)
{
	unsigned i;

	for (i = 0; i < ours_nr; ++i) {
		m0_st_close(sts[i]);
		node_fini(&ours[i]);
	}
	node_fini(&player);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

/* -- the recording --------------------------------------------------------- */

/** A PUT or GET to the portal of replies with these bits, of any connection. */
static const struct dialogue_msg *answer_find(const struct golden_file *file,
					      uint64_t                  bits)
{
	size_t i;
	size_t j;

	for (i = 0; i < file->gf_pcap.pc_streams_nr; ++i) {
		const struct dialogue *dlg = &file->gf_dialogues[i];

		for (j = 0; j < dlg->dl_msgs_nr; ++j) {
			const struct dialogue_msg *msg = &dlg->dl_msgs[j];

			if (msg->dm_kind == DIALOGUE_LNET &&
			    (msg->dm_hdr.lhd_type == M0_LNET_PUT ||
			     msg->dm_hdr.lhd_type == M0_LNET_GET) &&
			    msg->dm_hdr.lhd_portal == M0_ST_PORTAL_REPLY &&
			    msg->dm_hdr.lhd_match_bits == bits)
				return msg;
		}
	}
	return NULL;
}

/** The REPLY to a GET. */
static const struct dialogue_msg *fetched_find(const struct golden_file  *file,
					       const struct dialogue_msg *get)
{
	size_t i;
	size_t j;

	for (i = 0; i < file->gf_pcap.pc_streams_nr; ++i) {
		const struct dialogue *dlg = &file->gf_dialogues[i];

		for (j = 0; j < dlg->dl_msgs_nr; ++j) {
			const struct dialogue_msg *msg = &dlg->dl_msgs[j];

			if (msg->dm_kind == DIALOGUE_LNET &&
			    msg->dm_hdr.lhd_type == M0_LNET_REPLY &&
			    memcmp(&msg->dm_hdr.lhd_wmd, &get->dm_hdr.lhd_wmd,
				   sizeof get->dm_hdr.lhd_wmd) == 0)
				return msg;
		}
	}
	return NULL;
}

/* -- the player ------------------------------------------------------------ */

/** Memory at which an answer is expected. */
struct spot {
	const struct dialogue_msg *spo_msg;
	uint8_t                   *spo_bytes;
	void                      *spo_addr;
	m0_bcount_t                spo_nr;
	struct m0_bufvec           spo_vec;
	bool                       spo_done;
	/** How data is to be checked. */
	uint32_t    spo_check;
	m0_bcount_t spo_moved;
};

static void spot_event(struct m0_lnet_eq *eq, const struct m0_lnet_event *event)
{
	struct spot *spot = event->ev_md_user;

	(void)eq;
	assert_int_equal(event->ev_status, 0);
	spot->spo_done = true;
	spot->spo_moved = event->ev_mlength;
}

static bool spot_is_done(void *arg)
{
	return ((struct spot *)arg)->spo_done;
}

static void spot_init(struct spot *spot, struct m0_lnet_eq *eq,
		      const struct m0_lnet_nid *from, const uint8_t *bytes,
		      size_t nr, const struct dialogue_msg *msg)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = M0_ST_PORTAL_REPLY,
		.mea_id = { *from, M0_LNET_PID_LUSTRE },
		.mea_match_bits = msg->dm_hdr.lhd_match_bits,
		.mea_flags = M0_LNET_ME_UNLINK,
	};
	struct m0_lnet_md_attr md = {
		.mda_length = nr,
		.mda_threshold = 1,
		.mda_auto_unlink = true,
		.mda_options = msg->dm_hdr.lhd_type == M0_LNET_GET
				       ? M0_LNET_MD_OP_GET
				       : M0_LNET_MD_OP_PUT,
		.mda_eq = eq,
		.mda_user = spot,
	};
	struct m0_lnet_handle handle;

	M0_SET0(spot);
	spot->spo_msg = msg;
	spot->spo_bytes = calloc(1, nr);
	spot->spo_addr = spot->spo_bytes;
	spot->spo_nr = nr;
	spot->spo_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&spot->spo_addr,
							     &spot->spo_nr);
	if (bytes != NULL)
		memcpy(spot->spo_bytes, bytes, nr);
	md.mda_vec = &spot->spo_vec;
	assert_int_equal(m0_lnet_entry_attach(player.n_lnet, &me, &md, &handle),
			 0);
}

/* Compares what has come with what was recorded. */
static void spot_check(struct spot *spot)
{
	const uint8_t   *recorded = spot->spo_msg->dm_payload;
	struct m0_st_msg msg;
	size_t           nr = spot->spo_nr;

	assert_true(m0_sim_run_until(&sim, spot_is_done, spot,
				     REPLY_MS * M0_TIME_ONE_MSEC));
	assert_int_equal(spot->spo_moved, spot->spo_nr);
	if (spot->spo_msg->dm_hdr.lhd_type == M0_LNET_PUT) {
		if (nr == M0_ST_MSG_BYTES &&
		    m0_st_decode(&msg, recorded, nr) == 0 &&
		    msg.smg_type == M0_ST_STAT_REP) {
			nr = STAT_LNET_AT;
			memcpy(spot->spo_bytes + STAT_TIME_AT,
			       recorded + STAT_TIME_AT, sizeof(uint32_t));
		}
		/* Kernels send what was in their pages before where a check does not
		 * look. */
		if (nr < M0_ST_PAGE_BYTES)
			assert_memory_equal(spot->spo_bytes, recorded, nr);
		else
			assert_true(m0_st_pattern_is(spot->spo_bytes, nr, 0,
						     spot->spo_check, false));
	}
	free(spot->spo_bytes);
}

/** Sends a recorded request, and checks what comes of it. */
static void request_play(const struct golden_file  *file,
			 const struct dialogue_msg *msg)
{
	const struct m0_lnet_hdr  *hdr = &msg->dm_hdr;
	const struct dialogue_msg *bulk;
	const struct dialogue_msg *fetched;
	struct m0_lnet_eq          eq;
	struct spot                reply;
	struct spot                data;
	struct spot                request = { .spo_nr = M0_ST_MSG_BYTES };
	struct m0_st_msg           st;
	struct m0_lnet_handle      handle;
	struct m0_lnet_op          op = {
			 .lo_self = m0_lnet_nid_any,
			 .lo_target = { hdr->lhd_dest_nid, M0_LNET_PID_LUSTRE },
			 .lo_portal = hdr->lhd_portal,
			 .lo_match_bits = hdr->lhd_match_bits,
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = &request.spo_vec,
		.mda_length = M0_ST_MSG_BYTES,
		.mda_threshold = 1,
		.mda_auto_unlink = true,
		.mda_eq = &eq,
		.mda_user = &request,
	};

	assert_int_equal(m0_st_decode(&st, msg->dm_payload, M0_ST_MSG_BYTES),
			 0);
	m0_lnet_eq_init(&eq, player.n_lnet, spot_event, 0);
	spot_init(&reply, &eq, &hdr->lhd_dest_nid, NULL, M0_ST_MSG_BYTES,
		  answer_find(file, st.smg_rpyid));
	bulk = st.smg_bulkid == 0 ? NULL : answer_find(file, st.smg_bulkid);
	if (bulk != NULL) {
		fetched = bulk->dm_hdr.lhd_type == M0_LNET_GET
				  ? fetched_find(file, bulk)
				  : NULL;
		spot_init(&data, &eq, &hdr->lhd_dest_nid,
			  fetched != NULL ? fetched->dm_payload : NULL,
			  (fetched ?: bulk)->dm_hdr.lhd_payload_bytes, bulk);
		data.spo_check = st.smg_check;
	}
	request.spo_addr = (void *)msg->dm_payload;
	request.spo_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(
		&request.spo_addr, &request.spo_nr);
	assert_int_equal(m0_lnet_bind_put(player.n_lnet, &md, &op, &handle), 0);
	spot_check(&reply);
	if (bulk != NULL)
		spot_check(&data);
	assert_true(m0_sim_run_until(&sim, spot_is_done, &request,
				     REPLY_MS * M0_TIME_ONE_MSEC));
	m0_lnet_eq_fini(&eq);
}

static int by_time(const void *left, const void *right)
{
	const struct dialogue_msg *const *l = left;
	const struct dialogue_msg *const *r = right;

	return ((*l)->dm_time_ns > (*r)->dm_time_ns) -
	       ((*l)->dm_time_ns < (*r)->dm_time_ns);
}

/** Plays all requests of a recording, one after the other. @return their number. */
static unsigned file_play(const char *name)
{
	const struct dialogue_msg *requests[128];
	const struct golden_file  *file;
	const struct dialogue     *dlg;
	const struct dialogue_msg *msg;
	unsigned                   nr = 0;
	unsigned                   i;

	golden_for_each_msg(file, dlg, msg)
	{
		if (strcmp(file->gf_name, name) != 0 ||
		    msg->dm_kind != DIALOGUE_LNET ||
		    msg->dm_hdr.lhd_type != M0_LNET_PUT ||
		    (msg->dm_hdr.lhd_portal != M0_ST_PORTAL_TEST &&
		     msg->dm_hdr.lhd_portal != M0_ST_PORTAL_FRAMEWORK))
			continue;
		assert_true(nr < ARRAY_SIZE(requests));
		requests[nr++] = msg;
	}
	qsort(requests, nr, sizeof requests[0], by_time);
	for (file = golden_files; strcmp(file->gf_name, name) != 0; ++file)
		;
	for (i = 0; i < nr; ++i) {
		request_play(file, requests[i]);
		/* Tests that were started end before the next request. */
		m0_sim_run_ms(&sim, 100);
	}
	return nr;
}

/* A console, and our nodes as client and as server of its tests. */
static void remote_console_is_served_as_by_kernels(void **state)
{
	static const char *const addrs[] = { "192.168.77.2", "192.168.77.3" };

	(void)state;
	up("192.168.77.4", addrs, 2);
	assert_int_equal(file_play("14-selftest-remote-console"), 20);
	down();
}

/* A kernel client: our node serves its pings, reads and writes. */
static void client_is_served_as_by_kernels(void **state)
{
	static const char *const addrs[] = { "192.168.77.3" };

	(void)state;
	up("192.168.77.2", addrs, 1);
	assert_int_equal(file_play("03-selftest"), 17);
	down();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(remote_console_is_served_as_by_kernels),
		cmocka_unit_test(client_is_served_as_by_kernels),
	};
	const char *why;
	int         rc;

	if (argc != 2)
		return 2;
	golden_dir = argv[1];
	why = golden_load(golden_dir);
	if (why != NULL) {
		print_error("%s\n", why);
		return 1;
	}
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	golden_free();
	return rc;
}
