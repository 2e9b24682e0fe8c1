/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Our console in the place of the recorded one: it gets the commands that the real
 * console got. Its requests must be those of the recording to the byte, but for the
 * match bits that it chooses; players answer as the kernel nodes did; and it must
 * print what the real tool printed.
 *	lnet_lst_golden_test DIRECTORY
 */
#include <stdlib.h>

#include "../../tools/lst/lst.h"
#include "golden/golden.h"
#include "lnet/node.h"
#include "m0/lnet_run.h"
#include "selftest/st_pattern.h"

enum {
	PLAYS_MAX = 64,
	TEXT_BYTES = 65536,
	/** Places of the match bits in a request. */
	BITS_AT = 24,
	BULK_BITS_AT = 32,
	PING_TIME_AT = 24 + 16,
	/** Bytes at the end of a PING request that are a time. */
	PING_TIME_BYTES = 16,
	WAIT_MS = 5000
};

/* The command's own list needs all of its parts. */
const struct tool_cmd tool_cmds[] = { { .tc_name = NULL } };

static const char               *golden_dir;
static struct m0_sim             sim;
static const struct golden_file *file;
static struct lst_session        session;
static struct lst_args           args;

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 50 * 1000,
	.ssc_piece_bytes_max = 65536,
};

/** Far away: an endless test does little in each second. */
static const struct m0_sim_stream_cfg far = {
	.ssc_latency_ns = 30 * 1000 * 1000,
	.ssc_piece_bytes_max = 65536,
};

/* -- players --------------------------------------------------------------- */

/** A node of the recording: what it was asked, and how it answered. */
struct player {
	struct node       ply_node;
	struct m0_lnet_eq ply_eq;
	uint8_t           ply_room[PLAYS_MAX * M0_ST_MSG_BYTES];
	void             *ply_addr;
	m0_bcount_t       ply_bytes;
	struct m0_bufvec  ply_vec;
};

/** A recorded request, and what came of it here. */
struct play {
	const struct dialogue_msg *pla_msg;
	struct player             *pla_player;
	bool                       pla_begun;
	bool                       pla_done;
	struct m0_st_msg           pla_recorded;
	/** Ours. */
	struct m0_st_msg           pla_st;
	struct m0_lnet_nid         pla_from;
	struct m0_lnet_nid         pla_self;
	uint8_t                   *pla_bulk;
	uint8_t                    pla_reply[M0_ST_MSG_BYTES];
	void                      *pla_addr[2];
	m0_bcount_t                pla_bytes[2];
	struct m0_bufvec           pla_vec[2];
	const struct dialogue_msg *pla_answer;
	const struct dialogue_msg *pla_data;
};

static struct play plays[PLAYS_MAX];
static unsigned    plays_nr;

/** The PUT or GET to match bits of a reply, or the REPLY to a GET. */
static const struct dialogue_msg *answer_find(uint64_t                   bits,
					      const struct dialogue_msg *get)
{
	size_t i;
	size_t j;

	for (i = 0; i < file->gf_pcap.pc_streams_nr; ++i) {
		const struct dialogue *dlg = &file->gf_dialogues[i];

		for (j = 0; j < dlg->dl_msgs_nr; ++j) {
			const struct dialogue_msg *msg = &dlg->dl_msgs[j];
			const struct m0_lnet_hdr  *hdr = &msg->dm_hdr;

			if (msg->dm_kind != DIALOGUE_LNET)
				continue;
			if (get != NULL && hdr->lhd_type == M0_LNET_REPLY &&
			    memcmp(&hdr->lhd_wmd, &get->dm_hdr.lhd_wmd,
				   sizeof hdr->lhd_wmd) == 0)
				return msg;
			if (get == NULL &&
			    (hdr->lhd_type == M0_LNET_PUT ||
			     hdr->lhd_type == M0_LNET_GET) &&
			    hdr->lhd_portal == M0_ST_PORTAL_REPLY &&
			    hdr->lhd_match_bits == bits)
				return msg;
		}
	}
	return NULL;
}

/** Takes out of a request what its sender chooses. */
static void mask(uint8_t ret[M0_ST_MSG_BYTES], const uint8_t *bytes,
		 const struct m0_st_msg *st)
{
	memcpy(ret, bytes, M0_ST_MSG_BYTES);
	memset(ret + BITS_AT, 0, sizeof(uint64_t));
	if (st->smg_bulkid != 0)
		memset(ret + BULK_BITS_AT, 0xff, sizeof(uint64_t));
	if (st->smg_type == M0_ST_PING)
		memset(ret + PING_TIME_AT, 0, PING_TIME_BYTES);
}

/** The first recorded request to this player with these bytes. */
static struct play *play_find(struct player *player, const uint8_t *bytes)
{
	struct m0_st_msg st;
	uint8_t          ours[M0_ST_MSG_BYTES];
	uint8_t          theirs[M0_ST_MSG_BYTES];
	struct play     *play;

	assert_int_equal(m0_st_decode(&st, bytes, M0_ST_MSG_BYTES), 0);
	mask(ours, bytes, &st);
	for (play = plays; play < plays + plays_nr; ++play) {
		mask(theirs, play->pla_msg->dm_payload, &play->pla_recorded);
		if (!play->pla_begun && play->pla_player == player &&
		    memcmp(ours, theirs, sizeof ours) == 0)
			return play;
	}
	print_error("%s: a request of the console was not recorded so\n",
		    m0_st_type_name(st.smg_type));
	for (play = plays; play < plays + plays_nr; ++play) {
		if (play->pla_begun || play->pla_player != player ||
		    play->pla_recorded.smg_type != st.smg_type)
			continue;
		mask(theirs, play->pla_msg->dm_payload, &play->pla_recorded);
		assert_memory_equal(ours, theirs, sizeof ours);
	}
	fail();
	return NULL;
}

static void send(struct play *play, unsigned part, uint64_t bits, void *addr,
		 size_t bytes, bool is_get)
{
	struct player    *player = play->pla_player;
	struct m0_lnet_op op = {
		.lo_self = play->pla_self,
		.lo_target = { play->pla_from, M0_LNET_PID_LUSTRE },
		.lo_portal = M0_ST_PORTAL_REPLY,
		.lo_match_bits = bits,
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = &play->pla_vec[part],
		.mda_length = bytes,
		.mda_threshold = is_get ? 2 : 1,
		.mda_auto_unlink = true,
		.mda_eq = &player->ply_eq,
		.mda_user = play,
	};
	struct m0_lnet_handle handle;

	play->pla_addr[part] = addr;
	play->pla_bytes[part] = bytes;
	play->pla_vec[part] = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(
		&play->pla_addr[part], &play->pla_bytes[part]);
	assert_int_equal(is_get ? m0_lnet_bind_get(player->ply_node.n_lnet, &md,
						   &op, &handle)
				: m0_lnet_bind_put(player->ply_node.n_lnet, &md,
						   &op, &handle),
			 0);
}

static void reply_send(struct play *play)
{
	memcpy(play->pla_reply, play->pla_answer->dm_payload, M0_ST_MSG_BYTES);
	send(play, 1, play->pla_st.smg_rpyid, play->pla_reply, M0_ST_MSG_BYTES,
	     false);
}

/** Data that was fetched is what was fetched then. */
static void bulk_check(const struct play *play)
{
	size_t nr = play->pla_bytes[0];

	assert_int_equal(nr, play->pla_data->dm_hdr.lhd_payload_bytes);
	if (play->pla_st.smg_type == M0_ST_TEST)
		assert_memory_equal(play->pla_bulk, play->pla_data->dm_payload,
				    nr);
	else
		assert_true(m0_st_pattern_is(play->pla_bulk, nr, 0,
					     play->pla_st.smg_check, false));
}

static void request_take(struct player *player, const struct m0_lnet_event *ev)
{
	const uint8_t             *bytes = player->ply_room + ev->ev_offset;
	struct play               *play = play_find(player, bytes);
	const struct dialogue_msg *bulk;
	bool                       is_get;

	assert_int_equal(ev->ev_mlength, M0_ST_MSG_BYTES);
	(void)m0_st_decode(&play->pla_st, bytes, M0_ST_MSG_BYTES);
	assert_int_equal(ev->ev_match_bits,
			 m0_st_type_service(play->pla_st.smg_type));
	play->pla_begun = true;
	play->pla_from = ev->ev_source.lp_nid;
	play->pla_self = ev->ev_target.lp_nid;
	play->pla_answer = answer_find(play->pla_recorded.smg_rpyid, NULL);
	assert_non_null(play->pla_answer);
	if (play->pla_recorded.smg_bulkid == 0) {
		reply_send(play);
		return;
	}
	bulk = answer_find(play->pla_recorded.smg_bulkid, NULL);
	assert_non_null(bulk);
	is_get = bulk->dm_hdr.lhd_type == M0_LNET_GET;
	play->pla_data = is_get ? answer_find(0, bulk) : bulk;
	play->pla_bulk = calloc(1, play->pla_data->dm_hdr.lhd_payload_bytes);
	if (!is_get)
		memcpy(play->pla_bulk, play->pla_data->dm_payload,
		       play->pla_data->dm_hdr.lhd_payload_bytes);
	send(play, 0, play->pla_st.smg_bulkid, play->pla_bulk,
	     play->pla_data->dm_hdr.lhd_payload_bytes, is_get);
}

static void player_event(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct player *player = container_of(eq, struct player, ply_eq);
	struct play   *play = ev->ev_md_user;

	if (ev->ev_md_user == player) {
		if (ev->ev_type == M0_LNET_EV_PUT)
			request_take(player, ev);
		return;
	}
	assert_int_equal(ev->ev_status, 0);
	if (ev->ev_type == M0_LNET_EV_REPLY)
		bulk_check(play);
	if (!ev->ev_unlinked)
		return;
	/* The first to end is the bulk, if there is one. */
	if (play->pla_bulk != NULL) {
		free(play->pla_bulk);
		play->pla_bulk = NULL;
		reply_send(play);
	} else {
		play->pla_done = true;
	}
}

static void player_init(struct player *player, const char *name,
			const char *addr)
{
	static const uint32_t  portals[] = { M0_ST_PORTAL_TEST,
					     M0_ST_PORTAL_FRAMEWORK };
	struct m0_lnet_md_attr md = {
		.mda_vec = &player->ply_vec,
		.mda_length = sizeof player->ply_room,
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
		.mda_options = M0_LNET_MD_OP_PUT,
		.mda_eq = &player->ply_eq,
		.mda_user = player,
	};
	struct m0_lnet_me_attr me = {
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_ignore_bits = UINT64_MAX,
	};
	struct m0_lnet_handle handle;
	struct m0_lnet_handle md_handle;
	size_t                i;

	node_init(&player->ply_node, &sim, name, addr, NULL);
	m0_lnet_eq_init(&player->ply_eq, player->ply_node.n_lnet, player_event,
			0);
	player->ply_addr = player->ply_room;
	player->ply_bytes = sizeof player->ply_room;
	player->ply_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(
		&player->ply_addr, &player->ply_bytes);
	for (i = 0; i < ARRAY_SIZE(portals); ++i) {
		me.mea_portal = portals[i];
		assert_int_equal(m0_lnet_me_attach(player->ply_node.n_lnet, &me,
						   &handle),
				 0);
		assert_int_equal(m0_lnet_md_attach(player->ply_node.n_lnet,
						   handle, &md, &md_handle),
				 0);
	}
}

static void player_fini(struct player *player)
{
	node_close(&player->ply_node);
	m0_lnet_eq_fini(&player->ply_eq);
}

/** Finds the requests to players in the recording. */
static void plays_init(const char *name, struct player *players,
		       unsigned players_nr)
{
	const struct golden_file  *each;
	const struct dialogue     *dlg;
	const struct dialogue_msg *msg;
	unsigned                   i;

	memset(plays, 0, sizeof plays);
	plays_nr = 0;
	golden_for_each_msg(each, dlg, msg)
	{
		if (strcmp(each->gf_name, name) != 0 ||
		    msg->dm_kind != DIALOGUE_LNET ||
		    msg->dm_hdr.lhd_type != M0_LNET_PUT ||
		    (msg->dm_hdr.lhd_portal != M0_ST_PORTAL_TEST &&
		     msg->dm_hdr.lhd_portal != M0_ST_PORTAL_FRAMEWORK))
			continue;
		file = each;
		for (i = 0; i < players_nr; ++i)
			if (m0_lnet_nid_eq(&players[i].ply_node.n_nid,
					   &msg->dm_hdr.lhd_dest_nid))
				break;
		assert_true(i < players_nr && plays_nr < PLAYS_MAX);
		plays[plays_nr].pla_msg = msg;
		plays[plays_nr].pla_player = &players[i];
		assert_int_equal(m0_st_decode(&plays[plays_nr].pla_recorded,
					      msg->dm_payload, M0_ST_MSG_BYTES),
				 0);
		/* Sessions have the identity of the recorded one. */
		if (plays[plays_nr].pla_recorded.smg_type == M0_ST_MKSN)
			session.lsn_sid = plays[plays_nr].pla_recorded.smg_sid;
		++plays_nr;
	}
}

static bool plays_are_done(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < plays_nr; ++i)
		if (!plays[i].pla_done)
			return false;
	return true;
}

/* -- what the tool printed ------------------------------------------------- */

/** A recorded session: commands after "+ ", and what they printed. */
struct script {
	char  scr_text[TEXT_BYTES];
	char *scr_at;
};

static void script_load(struct script *script, const char *name)
{
	char   path[512];
	FILE  *from;
	size_t nr;

	snprintf(path, sizeof path, "%s/lst/%s.txt", golden_dir, name);
	from = fopen(path, "r");
	assert_non_null(from);
	nr = fread(script->scr_text, 1, sizeof script->scr_text - 1, from);
	script->scr_text[nr] = '\0';
	(void)fclose(from);
	script->scr_at = script->scr_text;
}

/** The next command, and all lines up to the one after. @return false: none. */
static bool script_next(struct script *script, char **command, char **output)
{
	char *end;

	if (strncmp(script->scr_at, "+ ", 2) != 0)
		return false;
	*command = script->scr_at + 2;
	*output = strchr(*command, '\n');
	*(*output)++ = '\0';
	end = strncmp(*output, "+ ", 2) == 0 ? *output
					     : strstr(*output, "\n+ ");
	if (end == NULL)
		end = *output + strlen(*output);
	else if (end != *output)
		*end++ = '\0';
	/* Commands that print nothing. */
	if (end == *output)
		*output = "";
	script->scr_at = end;
	return true;
}

/** Numbers that depend on time become '#'. */
static void numbers_mask(char *line)
{
	static const char *const before[] = { "Avg: ", "Min: ", "Max: ",
					      " ID: ", "KEY: " };
	size_t                   i;
	char                    *at;

	for (i = 0; i < ARRAY_SIZE(before); ++i) {
		at = strstr(line, before[i]);
		if (at == NULL)
			continue;
		at += strlen(before[i]);
		/* Columns have eight characters; an identity ends before '@'. */
		if (i < 3) {
			memset(at, '#', 8);
			continue;
		}
		while (*at != '\0' && *at != '@' && *at != ' ')
			*at++ = '#';
	}
}

/** Groups have no names, as the tool of 2.17.0 prints them. */
static void names_lose(char *line)
{
	static const char *const names[] = { "\tcli", "\tsrv", "[ cli ]",
					     "[ srv ]" };
	size_t                   i;
	char                    *at;

	for (i = 0; i < ARRAY_SIZE(names); ++i) {
		at = strstr(line, names[i]);
		if (at != NULL)
			strcpy(at, i < 2 ? "\t(null)" : "[ (null) ]");
	}
}

/** Lines that the tool of 2.17.0 prints too much, or that depend on time. */
static bool is_left_out(const char *line, bool lists_groups, bool is_ours)
{
	if (lists_groups && strncmp(line, "\tACTIVE", 7) == 0)
		return true;
	if (lists_groups && !is_ours &&
	    (strstr(line, "[ cli ]") != NULL ||
	     strstr(line, "[ srv ]") != NULL))
		return true;
	return strstr(line, "in stopping") != NULL ||
	       strstr(line, "LNET_PID_ANY") != NULL ||
	       strstr(line, "Reader error") != NULL;
}

/** Lines that are compared. */
static void normalize(char *ret, const char *text, bool lists_groups,
		      bool is_ours, bool masks)
{
	char  line[512];
	char *out = ret;

	for (; *text != '\0'; text += *text == '\n') {
		int nr = (int)strcspn(text, "\n");

		snprintf(line, sizeof line - 16, "%.*s", nr, text);
		text += nr;
		if (is_left_out(line, lists_groups, is_ours))
			continue;
		if (lists_groups && is_ours)
			names_lose(line);
		if (masks)
			numbers_mask(line);
		out += sprintf(out, "%s\n", line);
	}
	*out = '\0';
}

/** Splits a command of the shell. @return the number of words. */
static int words_of(char *command, char **words, int max)
{
	int   nr = 0;
	char *word;

	while ((word = strsep(&command, " ")) != NULL && nr < max - 1) {
		size_t len = strlen(word);

		if (len > 1 && word[0] == '\'' && word[len - 1] == '\'') {
			word[len - 1] = '\0';
			++word;
		}
		words[nr++] = word;
	}
	words[nr] = NULL;
	return nr;
}

static bool nobody_left(const struct lst_out *out)
{
	(void)out;
	return false;
}

/** Runs a command of a script at the session. @return what it prints. */
static char *command_run(char *command, struct m0_lnet *lnet)
{
	struct lst_out   out = { .lso_stopped = nobody_left, .lso_fd = -1 };
	struct m0_st_sid sid = session.lsn_sid;
	char            *words[32];
	char            *text = NULL;
	size_t           bytes;
	int              nr = words_of(command, words, ARRAY_SIZE(words));

	assert_string_equal(words[0], "lst");
	out.lso_out = open_memstream(&text, &bytes);
	out.lso_err = out.lso_out;
	assert_int_equal(lst_args_parse(&args, nr, words), 0);
	if (strcmp(args.lsa_verb, "new_session") == 0) {
		lst_new_session_say(&args, out.lso_out);
		assert_int_equal(
			lst_session_start(&session, lnet, &args, "test"), 0);
		if (sid.sid_nid4 != 0)
			session.lsn_sid = sid;
	} else {
		m0_mutex_lock(&session.lsn_lock);
		(void)lst_verb_run(&session, &args, &out);
		m0_mutex_unlock(&session.lsn_lock);
	}
	(void)fclose(out.lso_out);
	return text;
}

static void script_run(const char *name, struct m0_lnet *lnet, bool masks)
{
	static struct script script;
	static char          ours[TEXT_BYTES];
	static char          theirs[TEXT_BYTES];
	char                *command;
	char                *output;
	char                *text;
	char                 copy[512];
	unsigned             seconds;
	bool                 lists_groups;

	script_load(&script, name);
	while (script_next(&script, &command, &output)) {
		snprintf(copy, sizeof copy, "%s", command);
		if (sscanf(command, "sleep %u", &seconds) == 1) {
			m0_sim_run_ms(&sim, seconds * 1000);
			continue;
		}
		text = command_run(command, lnet);
		lists_groups = strstr(copy, "list_group") != NULL;
		normalize(ours, text, lists_groups, true, masks);
		normalize(theirs, output, lists_groups, false, masks);
		free(text);
		if (strcmp(ours, theirs) != 0)
			print_error("+ %s\n", copy);
		assert_string_equal(ours, theirs);
	}
	lst_session_stop(&session);
}

/* -- cases ----------------------------------------------------------------- */

static void up(void)
{
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	memset(&session, 0, sizeof session);
}

static void down(void)
{
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

static void recording_play(const char *capture, const char *script,
			   const char *console_addr, const char *const *addrs,
			   unsigned nr, unsigned requests_nr)
{
	static struct player players[2];
	struct node          console;
	unsigned             i;

	up();
	memset(players, 0, sizeof players);
	for (i = 0; i < nr; ++i)
		player_init(&players[i], i == 0 ? "one" : "two", addrs[i]);
	node_init(&console, &sim, "console", console_addr, NULL);
	plays_init(capture, players, nr);
	assert_int_equal(plays_nr, requests_nr);
	script_run(script, console.n_lnet, false);
	assert_true(m0_sim_run_until(&sim, plays_are_done, NULL,
				     WAIT_MS * M0_TIME_ONE_MSEC));
	node_fini(&console);
	for (i = 0; i < nr; ++i)
		player_fini(&players[i]);
	down();
}

/* Test nodes are two others. */
static void console_asks_as_the_recorded_one(void **state)
{
	static const char *const addrs[] = { "192.168.77.2", "192.168.77.3" };

	(void)state;
	recording_play("14-selftest-remote-console",
		       "lst_session_remote_console", "192.168.77.4", addrs, 2,
		       20);
}

/* The console's node is the client, too: its pings, reads and writes are those of
 * the recorded client. */
static void console_and_client_ask_as_the_recorded_ones(void **state)
{
	static const char *const addrs[] = { "192.168.77.3" };

	(void)state;
	recording_play("03-selftest", "lst_session_basic", "192.168.77.2",
		       addrs, 1, 17);
}

/* The other recorded sessions, with our node in the place of the kernel's: numbers
 * differ, all words are the same. */
static void words_are_those_of_the_tool(void **state)
{
	static const char *const names[] = { "lst_session_1M", "lst_stat" };
	struct node              console;
	struct node              server;
	struct m0_st            *st;
	struct m0_st_cfg         cfg;
	size_t                   i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); ++i) {
		up();
		node_init(&console, &sim, "console", "192.168.77.2", NULL);
		node_init(&server, &sim, "server", "192.168.77.3", NULL);
		m0_st_cfg_default(&cfg);
		cfg.scf_lnet = server.n_lnet;
		assert_int_equal(m0_st_open(&st, &cfg), 0);
		m0_sim_net_cfg_set(&far);
		script_run(names[i], console.n_lnet, true);
		m0_st_close(st);
		node_fini(&server);
		node_fini(&console);
		down();
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(console_asks_as_the_recorded_one),
		cmocka_unit_test(console_and_client_ask_as_the_recorded_ones),
		cmocka_unit_test(words_are_those_of_the_tool),
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
