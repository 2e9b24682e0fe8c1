/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The reader of recorded traffic, on files made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "lib/pcap.h"

enum {
	FIN = 1,
	SYN = 2,
	RST = 4,
	ACK = 16
};

/** A file in the making. */
static uint8_t          file[4096];
static struct m0_cursor cur;
static uint32_t         sec;

/** Begins a file of a link type. */
static void file_begin(uint32_t link)
{
	m0_cursor_init(&cur, file, sizeof file);
	m0_cursor_put_le32(&cur, 0xa1b2c3d4);
	m0_cursor_put_le32(&cur, 0x00040002);
	m0_cursor_put_le64(&cur, 0);
	m0_cursor_put_le32(&cur, 0x40000);
	m0_cursor_put_le32(&cur, link);
	sec = 1000;
}

/** The packet begins; `nr` bytes of it follow. */
static void record_put(size_t nr)
{
	m0_cursor_put_le32(&cur, sec++);
	m0_cursor_put_le32(&cur, 5);
	m0_cursor_put_le32(&cur, (uint32_t)nr);
	m0_cursor_put_le32(&cur, (uint32_t)nr);
}

static void tcp_put(bool back, uint32_t seq, uint8_t flags, const char *text)
{
	m0_cursor_put_be16(&cur, back ? 988 : 1023);
	m0_cursor_put_be16(&cur, back ? 1023 : 988);
	m0_cursor_put_be32(&cur, seq);
	m0_cursor_put_be32(&cur, 0);
	m0_cursor_put_u8(&cur, 0x50);
	m0_cursor_put_u8(&cur, flags);
	m0_cursor_put_be32(&cur, 0);
	m0_cursor_put_be16(&cur, 0);
	m0_cursor_put_bytes(&cur, text, strlen(text));
}

static void ip4_put(bool back, size_t nr)
{
	m0_cursor_put_be16(&cur, 0x4500);
	m0_cursor_put_be16(&cur, (uint16_t)(20 + nr));
	m0_cursor_put_be32(&cur, 0);
	m0_cursor_put_be32(&cur, 0x40060000);
	m0_cursor_put_be32(&cur, back ? 0x0a000002 : 0x0a000001);
	m0_cursor_put_be32(&cur, back ? 0x0a000001 : 0x0a000002);
}

/** A packet on Ethernet, with `pad` bytes behind it. */
static void ether_put(bool back, uint32_t seq, uint8_t flags, const char *text,
		      size_t pad)
{
	size_t nr = 20 + strlen(text);

	record_put(14 + 20 + nr + pad);
	m0_cursor_put_be64(&cur, 0);
	m0_cursor_put_be32(&cur, 0);
	m0_cursor_put_be16(&cur, 0x0800);
	ip4_put(back, nr);
	tcp_put(back, seq, flags, text);
	m0_cursor_put_bytes(&cur, "paddingpadding", pad);
}

static int file_load(struct pcap *pcap)
{
	char  path[] = "/tmp/pcap_test.XXXXXX";
	int   fd = mkstemp(path);
	FILE *out;
	int   rc;

	assert_true(fd >= 0);
	assert_true(m0_cursor_is_ok(&cur));
	out = fdopen(fd, "wb");
	assert_non_null(out);
	assert_int_equal(fwrite(file, 1, m0_cursor_pos(&cur), out),
			 m0_cursor_pos(&cur));
	assert_int_equal(fclose(out), 0);
	rc = pcap_load(pcap, path);
	assert_int_equal(unlink(path), 0);
	return rc;
}

static void said_check(const struct pcap_stream *stream, enum pcap_side side,
		       const char *text)
{
	assert_int_equal(stream->ps_said[side].pcb_nr, strlen(text));
	assert_memory_equal(stream->ps_said[side].pcb_bytes, text,
			    strlen(text));
}

/* Late, repeated and overlapping packets, around the end of the numbers. */
static void stream_out_of_order_is_put_together(void **state)
{
	struct pcap pcap;

	(void)state;
	file_begin(1);
	ether_put(false, 0xfffffffc, SYN, "", 6);
	ether_put(true, 100, SYN | ACK, "", 6);
	ether_put(false, 0xfffffffd, ACK, "abc", 3);
	ether_put(false, 3, ACK, "ghi", 0);
	ether_put(true, 104, ACK | FIN, "Z", 0);
	ether_put(false, 0xfffffffd, ACK, "abcd", 0);
	ether_put(true, 101, ACK, "WXY", 0);
	ether_put(false, 1, ACK, "ef", 0);
	ether_put(false, 0, ACK, "def", 0);
	ether_put(false, 6, RST, "", 0);
	assert_int_equal(file_load(&pcap), 0);
	assert_int_equal(pcap.pc_streams_nr, 1);
	assert_int_equal(pcap.pc_strays_nr, 0);
	assert_int_equal(pcap.pc_lost_bytes, 0);
	said_check(&pcap.pc_streams[0], PCAP_INITIATOR, "abcdefghi");
	said_check(&pcap.pc_streams[0], PCAP_LISTENER, "WXYZ");
	pcap_free(&pcap);
}

/* When: of a late packet, when what precedes it had come. */
static void events_come_when_in_order(void **state)
{
	static const struct pcap_event want[] = {
		{ PCAP_BYTES, PCAP_INITIATOR, 3, 0, 3 },
		{ PCAP_BYTES, PCAP_INITIATOR, 3, 3, 3 },
		{ PCAP_FIN, PCAP_INITIATOR, 3, 0, 0 },
		{ PCAP_BYTES, PCAP_LISTENER, 4, 0, 1 },
		{ PCAP_RESET, PCAP_LISTENER, 5, 0, 0 },
	};
	const struct pcap_event *event;
	struct pcap              pcap;
	size_t                   i;

	(void)state;
	file_begin(1);
	ether_put(false, 0, SYN, "", 0);
	ether_put(true, 0, SYN | ACK, "", 0);
	ether_put(false, 4, ACK | FIN, "def", 0);
	ether_put(false, 1, ACK, "abc", 0);
	ether_put(true, 1, ACK, "x", 0);
	ether_put(true, 2, RST, "", 0);
	assert_int_equal(file_load(&pcap), 0);
	assert_int_equal(pcap.pc_streams[0].ps_events_nr, ARRAY_SIZE(want));
	for (i = 0; i < ARRAY_SIZE(want); ++i) {
		event = &pcap.pc_streams[0].ps_events[i];
		assert_int_equal(event->pv_kind, want[i].pv_kind);
		assert_int_equal(event->pv_from, want[i].pv_from);
		assert_true(event->pv_time_ns ==
			    want[i].pv_time_ns * UINT64_C(1000000000));
		assert_int_equal(event->pv_at, want[i].pv_at);
		assert_int_equal(event->pv_nr, want[i].pv_nr);
	}
	pcap_free(&pcap);
}

/* Two ends may connect again; a repeated SYN is no new stream. */
static void stream_of_same_ends_is_another(void **state)
{
	struct pcap pcap;

	(void)state;
	file_begin(1);
	ether_put(true, 7, ACK, "stray", 0);
	ether_put(false, 0, SYN, "", 0);
	ether_put(false, 0, SYN, "", 0);
	ether_put(false, 1, ACK, "one", 0);
	ether_put(false, 4, ACK | FIN, "", 0);
	ether_put(false, 900, SYN, "", 0);
	ether_put(false, 901, ACK, "two", 0);
	ether_put(false, 910, ACK, "lost", 0);
	assert_int_equal(file_load(&pcap), 0);
	assert_int_equal(pcap.pc_streams_nr, 2);
	assert_int_equal(pcap.pc_strays_nr, 1);
	assert_int_equal(pcap.pc_lost_bytes, 4);
	said_check(&pcap.pc_streams[0], PCAP_INITIATOR, "one");
	said_check(&pcap.pc_streams[1], PCAP_INITIATOR, "two");
	assert_int_equal(pcap.pc_streams[1].ps_end[PCAP_INITIATOR].pe_port,
			 1023);
	assert_int_equal(pcap.pc_streams[1].ps_end[PCAP_LISTENER].pe_port, 988);
	pcap_free(&pcap);
}

/* Packets without a link's header, of both families, and with others'. */
static void links_known_are_read(void **state)
{
	static const struct {
		uint32_t link;
		size_t   before;
		size_t   type_at;
	} links[] = { { 101, 0, 0 }, { 113, 16, 14 }, { 276, 20, 0 } };
	uint8_t     head[20];
	struct pcap pcap;
	size_t      i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(links); ++i) {
		file_begin(links[i].link);
		record_put(links[i].before + 40);
		memset(head, 0, sizeof head);
		head[links[i].type_at] = 0x08;
		m0_cursor_put_bytes(&cur, head, links[i].before);
		ip4_put(false, 20);
		tcp_put(false, 0, SYN, "");
		assert_int_equal(file_load(&pcap), 0);
		assert_int_equal(pcap.pc_streams_nr, 1);
		assert_int_equal(
			pcap.pc_streams[0].ps_end[PCAP_LISTENER].pe_addr[3], 2);
		pcap_free(&pcap);
	}
}

/* A file of another kind is refused, and so is one with packets that were
 * cut. */
static void files_other_are_refused(void **state)
{
	struct pcap pcap;

	(void)state;
	assert_int_equal(pcap_load(&pcap, "/nonexistent"), -ENOENT);
	file_begin(147);
	assert_int_equal(file_load(&pcap), -EPROTO);
	file_begin(1);
	file[0] ^= 1;
	assert_int_equal(file_load(&pcap), -EPROTO);
	file_begin(1);
	ether_put(false, 0, SYN, "", 0);
	cur.cu_at -= 1;
	assert_int_equal(file_load(&pcap), -EPROTO);
	file_begin(1);
	ether_put(false, 0, SYN, "", 0);
	file[24 + 12] += 1;
	assert_int_equal(file_load(&pcap), -EPROTO);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_out_of_order_is_put_together),
		cmocka_unit_test(events_come_when_in_order),
		cmocka_unit_test(stream_of_same_ends_is_another),
		cmocka_unit_test(links_known_are_read),
		cmocka_unit_test(files_other_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
