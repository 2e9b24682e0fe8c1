/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Our code decodes the messages of Lustre's nodes, and encodes them in the same
 * bytes. [r.M0.net.xprt.lnet.user.no-gpl]: it was written without Lustre's code.
 *	golden_test DIRECTORY
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "golden/golden.h"

static const char *dir;

/** Names file and message if what follows fails. */
static void where(const struct golden_file *file, const struct dialogue *dlg,
		  const struct dialogue_msg *msg)
{
	print_message("%s: c%zu, message %zu\n", file->gf_name,
		      (size_t)(dlg - file->gf_dialogues) + 1,
		      (size_t)(msg - dlg->dl_msgs));
}

#define CHECK(file, dlg, msg, cond)                  \
	do {                                         \
		if (!(cond))                         \
			where((file), (dlg), (msg)); \
		assert_true(cond);                   \
	} while (0)

/* Every file is looked at: one without a row would be forgotten. */
static void files_all_have_counts(void **state)
{
	char   pattern[4096];
	glob_t found;

	(void)state;
	(void)snprintf(pattern, sizeof pattern, "%s/*.pcap", dir);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(golden_files_nr, found.gl_pathc);
	globfree(&found);
}

/* The reader found the whole of each connection. */
static void files_read_leave_nothing(void **state)
{
	struct golden_file *file;
	size_t              i;
	size_t              j;

	(void)state;
	for (file = golden_files; file < golden_files + golden_files_nr;
	     ++file) {
		const struct pcap *pcap = &file->gf_pcap;

		assert_int_equal(pcap->pc_strays_nr, 0);
		assert_int_equal(pcap->pc_lost_bytes, 0);
		for (i = 0; i < pcap->pc_streams_nr; ++i)
			for (j = 1; j < pcap->pc_streams[i].ps_events_nr; ++j)
				assert_true(pcap->pc_streams[i]
						    .ps_events[j - 1]
						    .pv_time_ns <=
					    pcap->pc_streams[i]
						    .ps_events[j]
						    .pv_time_ns);
	}
}

/* -- encoding again -------------------------------------------------------- */

static size_t ping_encode(const struct dialogue_msg *msg, void *buf, size_t max)
{
	struct m0_lnet_ping_ni   nis[GOLDEN_PING_NIS];
	struct m0_lnet_ping_info info;

	if (golden_ping(msg, &info, nis) != 0 || info.lpi_truncated ||
	    info.lpi_bytes != msg->dm_hdr.lhd_payload_bytes)
		return 0;
	return m0_lnet__ping_encode(&info, buf, max);
}

/** Encodes a message, without a payload we did not decode. */
static size_t msg_encode(const struct dialogue_msg *msg, uint8_t *buf,
			 size_t max)
{
	size_t nr = (size_t)(msg->dm_hdr_bytes - msg->dm_bytes);

	switch (msg->dm_kind) {
	case DIALOGUE_REQUEST:
		return m0_sock__request_encode(&msg->dm_request, buf);
	case DIALOGUE_HELLO:
		return m0_sock__hello_encode(&msg->dm_hello, buf);
	case DIALOGUE_NOOP:
		m0_sock__frame_encode(&msg->dm_frame, buf);
		return M0_SOCK_FRAME_BYTES;
	case DIALOGUE_LNET:
		/* No frame in V1. */
		if (nr > 0)
			m0_sock__frame_encode(&msg->dm_frame, buf);
		nr += m0_lnet__hdr_encode(&msg->dm_hdr, msg->dm_large,
					  buf + nr);
		if (dialogue_is_ping(msg))
			nr += ping_encode(msg, buf + nr, max - nr);
		return nr;
	}
	return 0;
}

/* The wire format is theirs, to the bit, in both directions. */
static void messages_encoded_again_are_same_bytes(void **state)
{
	struct golden_file  *file;
	struct dialogue     *dlg;
	struct dialogue_msg *msg;
	uint8_t              buf[1024];
	size_t               want;
	size_t               nr;

	(void)state;
	golden_for_each_msg(file, dlg, msg)
	{
		nr = msg_encode(msg, buf, sizeof buf);
		want = msg->dm_nr;
		if (msg->dm_kind == DIALOGUE_LNET && !dialogue_is_ping(msg))
			want -= msg->dm_hdr.lhd_payload_bytes;
		CHECK(file, dlg, msg, nr == want);
		CHECK(file, dlg, msg, memcmp(buf, msg->dm_bytes, nr) == 0);
	}
}

/* -- numbers --------------------------------------------------------------- */

static void frame_count(const struct m0_sock_frame *frame,
			unsigned long               counts[GOLDEN_NR])
{
	uint64_t ranges[2][2];
	int      nr = m0_sock__frame_acks(frame, ranges);

	assert_true(nr >= 0);
	counts[GOLDEN_ZCACK] += nr > 0;
	if (frame->sfr_type == M0_SOCK_FRAME_NOOP)
		++counts[nr > 0 ? GOLDEN_NOOP : GOLDEN_KEEPALIVE];
	else
		counts[GOLDEN_ZCASK] += frame->sfr_cookie[0] != 0;
	counts[GOLDEN_CSUM] += frame->sfr_csum != 0;
}

static void lnet_count(const struct dialogue_msg *msg,
		       unsigned long              counts[GOLDEN_NR])
{
	static const enum golden_count type[] = {
		[M0_LNET_ACK] = GOLDEN_ACK,
		[M0_LNET_PUT] = GOLDEN_PUT,
		[M0_LNET_GET] = GOLDEN_GET,
		[M0_LNET_REPLY] = GOLDEN_REPLY,
	};

	++counts[type[msg->dm_hdr.lhd_type]];
	counts[GOLDEN_PING] += dialogue_is_ping(msg);
	counts[GOLDEN_PAYLOAD] += msg->dm_hdr.lhd_payload_bytes;
	if (msg->dm_hdr_bytes != msg->dm_bytes)
		frame_count(&msg->dm_frame, counts);
}

static void msg_count(const struct dialogue_msg *msg,
		      unsigned long              counts[GOLDEN_NR])
{
	switch (msg->dm_kind) {
	case DIALOGUE_REQUEST:
		++counts[msg->dm_nr == M0_SOCK_REQUEST_V1_BYTES
				 ? GOLDEN_REQUEST1
				 : GOLDEN_REQUEST2];
		break;
	case DIALOGUE_HELLO:
		++counts[GOLDEN_HELLO1 + msg->dm_hello.sh_version - M0_SOCK_V1];
		break;
	case DIALOGUE_NOOP:
		frame_count(&msg->dm_frame, counts);
		break;
	case DIALOGUE_LNET:
		lnet_count(msg, counts);
		break;
	}
}

/* Another decoder saw the same messages: none was missed or made up. */
static void messages_counted_are_those_of_table(void **state)
{
	static unsigned long counts[GOLDEN_FILES_MAX][GOLDEN_NR];
	struct golden_file  *file;
	struct dialogue     *dlg;
	struct dialogue_msg *msg;
	size_t               i;

	(void)state;
	golden_for_each_msg(file, dlg, msg)
		msg_count(msg, counts[file - golden_files]);
	for (file = golden_files; file < golden_files + golden_files_nr;
	     ++file) {
		counts[file - golden_files][GOLDEN_STREAMS] =
			file->gf_pcap.pc_streams_nr;
		for (i = 0; i < GOLDEN_NR; ++i) {
			if (counts[file - golden_files][i] ==
			    file->gf_counts[i])
				continue;
			fail_msg("%s: column %zu: %lu, not %lu", file->gf_name,
				 i, counts[file - golden_files][i],
				 file->gf_counts[i]);
		}
	}
}

/* -- sense ----------------------------------------------------------------- */

/* Numbers of each message are such as section 3 and 4 of the protocol say. */
static void messages_are_sane(void **state)
{
	struct golden_file       *file;
	struct dialogue          *dlg;
	struct dialogue_msg      *msg;
	const struct m0_lnet_hdr *hdr;

	(void)state;
	golden_for_each_msg(file, dlg, msg)
	{
		hdr = &msg->dm_hdr;
		if (msg->dm_kind == DIALOGUE_HELLO) {
			CHECK(file, dlg, msg,
			      msg->dm_hello.sh_src_pid == M0_LNET_PID_LUSTRE);
			CHECK(file, dlg, msg,
			      m0_lnet_nid_net(&msg->dm_hello.sh_src_nid) >>
					      16 ==
				      M0_LNET_TYPE_TCP);
		}
		if (msg->dm_kind != DIALOGUE_LNET)
			continue;
		CHECK(file, dlg, msg, hdr->lhd_src_pid == M0_LNET_PID_LUSTRE);
		CHECK(file, dlg, msg, hdr->lhd_dest_pid == M0_LNET_PID_LUSTRE);
		CHECK(file, dlg, msg, !m0_lnet_nid_is_any(&hdr->lhd_src_nid));
		CHECK(file, dlg, msg, !m0_lnet_nid_is_lo(&hdr->lhd_src_nid));
		CHECK(file, dlg, msg, !m0_lnet_nid_is_any(&hdr->lhd_dest_nid));
		CHECK(file, dlg, msg, hdr->lhd_portal < 64);
		CHECK(file, dlg, msg,
		      hdr->lhd_payload_bytes <= M0_LNET_PAYLOAD_MAX);
		CHECK(file, dlg, msg,
		      M0_IN(hdr->lhd_type, (M0_LNET_PUT, M0_LNET_REPLY)) ||
			      hdr->lhd_payload_bytes == 0);
	}
}

/* The answer to a HELLO is its mirror image. */
static void hellos_mirror_each_other(void **state)
{
	struct golden_file         *file;
	struct dialogue            *dlg;
	struct dialogue_msg        *msg;
	const struct m0_sock_hello *first;
	const struct m0_sock_hello *answer;

	(void)state;
	golden_for_each_dialogue(file, dlg)
	{
		first = NULL;
		for (msg = dlg->dl_msgs; msg < dlg->dl_msgs + dlg->dl_msgs_nr;
		     ++msg) {
			if (msg->dm_kind != DIALOGUE_HELLO)
				continue;
			if (msg->dm_from == PCAP_INITIATOR) {
				first = &msg->dm_hello;
				continue;
			}
			answer = &msg->dm_hello;
			CHECK(file, dlg, msg, first != NULL);
			CHECK(file, dlg, msg,
			      answer->sh_version == first->sh_version);
			CHECK(file, dlg, msg,
			      answer->sh_ctype ==
				      m0_sock__ctype_invert(first->sh_ctype));
			/* V1 names no destination. */
			CHECK(file, dlg, msg,
			      answer->sh_version == M0_SOCK_V1 ||
				      (m0_lnet_nid_eq(&answer->sh_src_nid,
						      &first->sh_dst_nid) &&
				       m0_lnet_nid_eq(&answer->sh_dst_nid,
						      &first->sh_src_nid)));
		}
	}
}

/* A node's ping information is complete, and names whom it comes from. */
static void pings_tell_of_their_sender(void **state)
{
	struct m0_lnet_ping_ni   nis[GOLDEN_PING_NIS];
	struct m0_lnet_ping_info info;
	struct golden_file      *file;
	struct dialogue         *dlg;
	struct dialogue_msg     *msg;
	bool                     found;
	unsigned                 i;

	(void)state;
	golden_for_each_msg(file, dlg, msg)
	{
		if (!dialogue_is_ping(msg))
			continue;
		CHECK(file, dlg, msg, golden_ping(msg, &info, nis) == 0);
		CHECK(file, dlg, msg, !info.lpi_truncated);
		CHECK(file, dlg, msg, info.lpi_pid == M0_LNET_PID_LUSTRE);
		CHECK(file, dlg, msg, info.lpi_seq > 0);
		CHECK(file, dlg, msg, info.lpi_nis_nr <= GOLDEN_PING_NIS);
		found = false;
		for (i = 0; i < info.lpi_nis_nr; ++i)
			found |= m0_lnet_nid_eq(&nis[i].lpg_nid,
						&msg->dm_hdr.lhd_src_nid);
		CHECK(file, dlg, msg, found);
	}
}

/** Did the other side send a message of `type` with this handle before? */
static bool was_asked(const struct golden_file *file, const struct dialogue *at,
		      const struct dialogue_msg *answer, uint32_t type)
{
	const struct dialogue     *dlg;
	const struct dialogue_msg *msg;
	size_t                     i;

	for (i = 0; i < file->gf_pcap.pc_streams_nr; ++i) {
		dlg = &file->gf_dialogues[i];
		for (msg = dlg->dl_msgs; msg < dlg->dl_msgs + dlg->dl_msgs_nr;
		     ++msg)
			if (msg->dm_kind == DIALOGUE_LNET &&
			    msg->dm_hdr.lhd_type == type &&
			    msg->dm_time_ns <= answer->dm_time_ns &&
			    (dlg != at || msg->dm_from != answer->dm_from) &&
			    memcmp(&msg->dm_hdr.lhd_wmd,
				   &answer->dm_hdr.lhd_wmd,
				   sizeof msg->dm_hdr.lhd_wmd) == 0)
				return true;
	}
	return false;
}

/* An ACK echoes the handle of a PUT, a REPLY that of a GET. */
static void answers_echo_handle_of_request(void **state)
{
	struct golden_file  *file;
	struct dialogue     *dlg;
	struct dialogue_msg *msg;

	(void)state;
	golden_for_each_msg(file, dlg, msg)
	{
		if (msg->dm_kind != DIALOGUE_LNET)
			continue;
		if (msg->dm_hdr.lhd_type == M0_LNET_ACK)
			CHECK(file, dlg, msg,
			      was_asked(file, dlg, msg, M0_LNET_PUT));
		if (msg->dm_hdr.lhd_type == M0_LNET_REPLY)
			CHECK(file, dlg, msg,
			      was_asked(file, dlg, msg, M0_LNET_GET));
	}
}

/** How often `cookie` was asked to be acknowledged to the sender of `ack`. */
static unsigned asked_nr(const struct golden_file  *file,
			 const struct dialogue_msg *ack, uint64_t cookie)
{
	const struct dialogue     *dlg;
	const struct dialogue_msg *msg;
	unsigned                   nr = 0;
	size_t                     i;

	for (i = 0; i < file->gf_pcap.pc_streams_nr; ++i) {
		dlg = &file->gf_dialogues[i];
		for (msg = dlg->dl_msgs; msg < dlg->dl_msgs + dlg->dl_msgs_nr;
		     ++msg)
			nr += msg->dm_kind == DIALOGUE_LNET &&
			      msg->dm_from != ack->dm_from &&
			      msg->dm_time_ns <= ack->dm_time_ns &&
			      msg->dm_frame.sfr_cookie[0] == cookie;
	}
	return nr;
}

/* Each acknowledged cookie was asked for by the other side, once. */
static void cookies_acknowledged_were_asked_for(void **state)
{
	struct golden_file  *file;
	struct dialogue     *dlg;
	struct dialogue_msg *msg;
	uint64_t             ranges[2][2];

	(void)state;
	golden_for_each_msg(file, dlg, msg)
	{
		if (msg->dm_kind != DIALOGUE_NOOP ||
		    m0_sock__frame_acks(&msg->dm_frame, ranges) == 0)
			continue;
		CHECK(file, dlg, msg, ranges[0][0] == ranges[0][1]);
		CHECK(file, dlg, msg, asked_nr(file, msg, ranges[0][0]) == 1);
	}
}

/* -- checksums ------------------------------------------------------------- */

static uint32_t csum_of(const struct dialogue_msg *msg)
{
	struct m0_sock_frame frame = msg->dm_frame;
	uint8_t              buf[M0_SOCK_FRAME_BYTES];
	uint32_t             csum;

	frame.sfr_csum = 0;
	m0_sock__frame_encode(&frame, buf);
	csum = m0_sock__csum(M0_SOCK_CSUM_INIT, buf, sizeof buf);
	return m0_sock__csum(csum, msg->dm_bytes + sizeof buf,
			     msg->dm_nr - sizeof buf);
}

/* Checksums of V2 are ours, but for the one that was sent to be wrong. */
static void checksums_recorded_are_those_computed(void **state)
{
	const uint32_t       wrong = 0x01234567;
	struct golden_file  *file;
	struct dialogue     *dlg;
	struct dialogue_msg *msg;
	unsigned             checked = 0;

	(void)state;
	golden_for_each_msg(file, dlg, msg)
	{
		if (msg->dm_frame.sfr_csum == 0)
			continue;
		CHECK(file, dlg, msg,
		      dlg->dl_version[msg->dm_from] == M0_SOCK_V2);
		CHECK(file, dlg, msg,
		      (msg->dm_frame.sfr_csum == csum_of(msg)) ==
			      (msg->dm_frame.sfr_csum != wrong));
		++checked;
	}
	assert_int_equal(checked, 4);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_all_have_counts),
		cmocka_unit_test(files_read_leave_nothing),
		cmocka_unit_test(messages_encoded_again_are_same_bytes),
		cmocka_unit_test(messages_counted_are_those_of_table),
		cmocka_unit_test(messages_are_sane),
		cmocka_unit_test(hellos_mirror_each_other),
		cmocka_unit_test(pings_tell_of_their_sender),
		cmocka_unit_test(answers_echo_handle_of_request),
		cmocka_unit_test(cookies_acknowledged_were_asked_for),
		cmocka_unit_test(checksums_recorded_are_those_computed),
	};
	const char *wrong;
	int         rc;

	dir = argc == 2 ? argv[1] : ".";
	wrong = golden_load(dir);
	if (wrong != NULL) {
		fprintf(stderr, "golden: %s\n", wrong);
		return 1;
	}
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	golden_free();
	return rc;
}
