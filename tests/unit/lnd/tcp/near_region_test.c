/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Regions that nodes of one host lend to each other: what is copied from them, what is on
 * its way meanwhile, recalls, and hostile neighbours.
 */
#include "near_rig.h"

#include <linux/falloc.h>

enum {
	PATTERN_BYTES = FAKE_BUF_BYTES + FAKE_PERIOD,
	PAGE_SHIFT = 12,
	LEND = 1,
	RECALL = 2,
	WORD_BYTES = 16
};

/* -- honest nodes ---------------------------------------------------------- */

/* Memory of the allocator with the bytes that are sent, and two ends. */
static struct m0_sock_conn *lend_open(struct m0_sock_conn **ret_theirs)
{
	uint8_t *pattern;

	fake_open("127.0.0.1", &near_cfg);
	pattern = m0_alloc_aligned(PATTERN_BYTES, PAGE_SHIFT);
	assert_non_null(pattern);
	fake_pattern_fill(pattern);
	fake_pattern = pattern;
	return fake_pair(ret_theirs);
}

static void pattern_free(void)
{
	m0_free_aligned((void *)(uintptr_t)fake_pattern, PATTERN_BYTES,
			PAGE_SHIFT);
	fake_pattern = NULL;
}

static void lend_close(struct m0_sock_conn *ours)
{
	if (fake_pattern != NULL)
		pattern_free();
	fake_close();
	fake_free(ours);
}

static void send_all(struct m0_sock_conn *from, struct m0_sock_conn *to,
		     size_t nr)
{
	fake_send(from, nr);
	fake_until(to->fc_in == from->fc_out_all && from->fc_out == to->fc_in);
}

/* Sends until the peer has mapped the region. */
static void send_until_lent(struct m0_sock_conn *from, struct m0_sock_conn *to)
{
	uint64_t before = to->fc_counts.stc_region_bytes;
	unsigned i;

	for (i = 0; i < 1000 && to->fc_counts.stc_region_bytes == before; ++i) {
		send_all(from, to, 64 << 10);
		fake_sleep();
	}
	assert_true(to->fc_counts.stc_region_bytes > before);
}

static unsigned maps_nr(void)
{
	return m0_tcp__io(fake.fs_io)->tci_maps_nr;
}

/* The first bytes take another way; then each byte is copied once, without a system call
 * at either side. */
static void lent_memory_is_copied_without_calls(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	uint64_t             calls;
	uint64_t             bytes;

	(void)state;
	ours = lend_open(&theirs);
	send_until_lent(ours, theirs);
	assert_int_equal(maps_nr(), 1);
	bytes = theirs->fc_counts.stc_region_bytes;
	calls = ours->fc_counts.stc_reads_nr + ours->fc_counts.stc_writes_nr +
		theirs->fc_counts.stc_reads_nr +
		theirs->fc_counts.stc_writes_nr;
	fake_send(ours, 5 * MIB);
	while (ours->fc_out < ours->fc_out_all)
		(void)fake_step();
	assert_int_equal(theirs->fc_in, ours->fc_out_all);
	assert_int_equal(theirs->fc_counts.stc_region_bytes - bytes, 5 * MIB);
	assert_int_equal(theirs->fc_copied, 0);
	assert_int_equal(ours->fc_counts.stc_reads_nr +
				 ours->fc_counts.stc_writes_nr +
				 theirs->fc_counts.stc_reads_nr +
				 theirs->fc_counts.stc_writes_nr,
			 calls);
	lend_close(ours);
}

/* Small pieces of lent memory, and pieces that go beyond it, take another way. */
static void not_all_is_offered_in_a_region(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	uint64_t             bytes;

	(void)state;
	ours = lend_open(&theirs);
	send_until_lent(ours, theirs);
	bytes = theirs->fc_counts.stc_region_bytes;
	ours->fc_out_seg = M0_NEAR_REGION_BYTES - 1;
	send_all(ours, theirs, M0_NEAR_REGION_BYTES - 1);
	send_all(ours, theirs, MIB);
	/* Pages on the heap. */
	ours->fc_out_seg = MIB;
	pattern_free();
	send_all(ours, theirs, MIB);
	assert_int_equal(theirs->fc_counts.stc_region_bytes, bytes);
	lend_close(ours);
}

/* Other pieces leave while the peer has not copied the first, and all are done in order
 * when it has. */
static void offers_do_not_wait_for_each_other(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	size_t               began;

	(void)state;
	ours = lend_open(&theirs);
	ours->fc_out_seg = 64 << 10;
	send_until_lent(ours, theirs);
	began = theirs->fc_in;
	fake_in_max(theirs, began + 1000);
	fake_send(ours, 3 * MIB);
	fake_until(theirs->fc_in == began + 1000);
	fake_until(ours->fc_passed ==
		   (size_t)M0_PIPE_OFFERS_MAX * ours->fc_out_seg);
	assert_int_equal(ours->fc_out, began);
	assert_int_equal(fake.fs_io->sts_ops->sto_unsent(fake.fs_io,
							 ours->fc_stream),
			 ours->fc_passed);
	fake_in_max(theirs, began + 3 * ours->fc_out_seg + 1000);
	fake_until(ours->fc_out == began + 3 * ours->fc_out_seg);
	/* Bytes that follow offers in the ring are done with them. */
	ours->fc_out_seg = 100;
	fake_send(ours, 1000);
	fake_in_max(theirs, SIZE_MAX);
	fake_until(theirs->fc_in == ours->fc_out_all);
	fake_until(ours->fc_out == ours->fc_out_all);
	assert_int_equal(ours->fc_passed, 0);
	lend_close(ours);
}

/* A peer that sleeps wakes for the recall, and unmaps the region; memory that then has the
 * same address is lent anew. */
static void freed_memory_is_unmapped(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	uint8_t             *pattern;
	int                  i;

	(void)state;
	ours = lend_open(&theirs);
	for (i = 0; i < 3; ++i) {
		send_until_lent(ours, theirs);
		assert_int_equal(maps_nr(), 1);
		pattern_free();
		assert_true(
			fake.fs_reactor->rtr_ops->rtro_ready(fake.fs_reactor));
		fake_until(maps_nr() == 0);
		pattern = m0_alloc_aligned(PATTERN_BYTES, PAGE_SHIFT);
		assert_non_null(pattern);
		fake_pattern_fill(pattern);
		fake_pattern = pattern;
	}
	send_all(ours, theirs, MIB);
	lend_close(ours);
}

/* Nothing is mapped any more when a stream has ended. */
static void end_unmaps_all(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;

	(void)state;
	ours = lend_open(&theirs);
	send_until_lent(ours, theirs);
	send_until_lent(theirs, ours);
	assert_int_equal(maps_nr(), 2);
	fake_end(ours);
	fake_until(theirs->fc_broken_nr == 1);
	assert_int_equal(maps_nr(), 0);
	lend_close(ours);
}

/* A node that has mapped too much takes its bytes another way. */
static void full_peer_refuses_regions(void **state)
{
	struct m0_sock_conn *ours;
	struct m0_sock_conn *theirs;
	int                  i;

	(void)state;
	ours = lend_open(&theirs);
	m0_tcp__io(fake.fs_io)->tci_maps_nr = M0_NEAR_MAPS_MAX;
	for (i = 0; i < 20; ++i) {
		send_all(ours, theirs, MIB);
		fake_sleep();
	}
	assert_int_equal(theirs->fc_counts.stc_region_bytes, 0);
	assert_int_equal(theirs->fc_counts.stc_offer_bytes, 20 * MIB);
	/* Another region in its place is looked at again. */
	m0_tcp__io(fake.fs_io)->tci_maps_nr = 0;
	pattern_free();
	(void)fake_step();
	lend_close(ours);
}

/* -- a hostile neighbour --------------------------------------------------- */

struct word {
	uint8_t  w_type;
	uint8_t  w_reserved[3];
	uint32_t w_nr;
	uint64_t w_bytes;
};

static void word_send(struct foe *foe, const struct word *word, int fd)
{
	assert_int_equal(m0_os_fds_send(foe->f_sock, word, sizeof *word, &fd,
					fd >= 0, 0),
			 sizeof *word);
}

static int memory_make(uint64_t bytes, void **ret)
{
	int fd = m0_os_shm_make("foe", bytes, M0_OS_SHM_OWN, ret);

	assert_true(fd >= 0);
	return fd;
}

static uint64_t state_of(const struct foe *foe, uint32_t nr)
{
	return foe->f_other->pim_regions[nr % M0_PIPE_REGIONS_MAX];
}

static uint64_t state_is(uint32_t nr, enum m0_pipe_region state)
{
	return (uint64_t)nr << M0_PIPE_REGION_BITS | state;
}

/* Lends a region of a MiB with the bytes that the fixture expects. */
static void foe_lend(struct foe *foe, uint32_t nr)
{
	const struct word word = { .w_type = LEND, .w_nr = nr, .w_bytes = MIB };
	void             *memory;
	int               fd = memory_make(MIB, &memory);
	size_t            i;

	for (i = 0; i < MIB; ++i)
		((uint8_t *)memory)[i] = fake_byte(i);
	word_send(foe, &word, fd);
	fake_until(state_of(foe, nr) == state_is(nr, M0_PIPE_REGION_MAPPED));
	(void)close(fd);
	m0_os_shm_unmap(memory, MIB);
}

static void foe_offer(struct foe *foe, uint32_t nr, uint64_t place,
		      uint32_t bytes)
{
	uint64_t put = foe->f_own->pim_offers_put;

	foe->f_own->pim_offers[put % M0_PIPE_OFFERS_MAX] =
		(struct m0_pipe_offer){ .pof_at = foe->f_own->pim_put,
					.pof_place = place,
					.pof_bytes = bytes,
					.pof_region = nr };
	__atomic_store_n(&foe->f_own->pim_offers_put, put + 1,
			 __ATOMIC_SEQ_CST);
}

static void foe_is_dropped(struct foe *foe)
{
	fake_until(foe->f_conn->fc_broken_nr == 1);
	assert_int_equal(foe->f_conn->fc_status, -EPROTO);
	assert_int_equal(maps_nr(), 0);
	foe_leave(foe);
}

static void wrong_word_ends_the_stream(const struct word *word, int fd)
{
	struct foe foe;

	fake_open("127.0.0.1", &near_cfg);
	foe_open(&foe);
	word_send(&foe, word, fd);
	foe_is_dropped(&foe);
	fake_close();
}

static void wrong_words_are_refused(void **state)
{
	const struct word good = { .w_type = LEND, .w_nr = 1, .w_bytes = 4096 };
	struct word       word;
	void             *memory;
	int               fd = memory_make(4096, &memory);
	int               unsealed;

	(void)state;
#define REFUSED(field, value, fd)                        \
	do {                                             \
		word = good;                             \
		word.field = (value);                    \
		wrong_word_ends_the_stream(&word, (fd)); \
	} while (0)
	REFUSED(w_type, 3, fd);
	REFUSED(w_type, RECALL, fd);
	REFUSED(w_reserved[2], 1, fd);
	REFUSED(w_nr, 0, fd);
	REFUSED(w_nr, 1, -1);
	/* More than there is; nothing. */
	REFUSED(w_bytes, 4097, fd);
	REFUSED(w_bytes, 0, fd);
	/* Memory that could vanish under the mapping. */
	unsealed = memfd_create("foe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(unsealed, 4096), 0);
	REFUSED(w_nr, 1, unsealed);
	(void)close(unsealed);
	/* A socket. */
	unsealed = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	REFUSED(w_nr, 1, unsealed);
	(void)close(unsealed);
	(void)close(fd);
	m0_os_shm_unmap(memory, 4096);
}

/* Words that are wrong because of what came before. */
static void words_out_of_turn_are_refused(void **state)
{
	const struct word lend = { .w_type = LEND, .w_nr = 7, .w_bytes = 4096 };
	const struct word recall = { .w_type = RECALL, .w_nr = 8 };
	struct foe        foe;
	void             *memory;
	int               fd = memory_make(4096, &memory);
	int               fds[2] = { fd, fd };
	int               i;

	(void)state;
	for (i = 0; i < 5; ++i) {
		fake_open("127.0.0.1", &near_cfg);
		foe_open(&foe);
		foe_lend(&foe, 7);
		switch (i) {
		case 0:
			word_send(&foe, &lend, fd);
			break;
		case 1:
			word_send(&foe, &recall, -1);
			break;
		case 2:
			/* A descriptor with a wake-up. */
			assert_int_equal(m0_os_fds_send(foe.f_sock, "", 1, fds,
							1, 0),
					 1);
			break;
		case 3:
			assert_int_equal(m0_os_fds_send(foe.f_sock, &lend,
							sizeof lend, fds, 2, 0),
					 sizeof lend);
			break;
		default:
			/* Two halves, each with a descriptor. */
			assert_int_equal(m0_os_fds_send(foe.f_sock, &lend, 8,
							fds, 1, 0),
					 8);
			assert_int_equal(m0_os_fds_send(foe.f_sock,
							(const char *)&lend + 8,
							8, fds, 1, 0),
					 8);
		}
		foe_is_dropped(&foe);
		fake_close();
	}
	(void)close(fd);
	m0_os_shm_unmap(memory, 4096);
}

/* A word that comes byte by byte, among wake-ups, is a word. */
static void words_may_come_in_pieces(void **state)
{
	const struct word lend = { .w_type = LEND,
				   .w_nr = 1023,
				   .w_bytes = 4096 };
	struct foe        foe;
	void             *memory;
	int               fd = memory_make(4096, &memory);
	size_t            i;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	foe_open(&foe);
	assert_int_equal(send(foe.f_sock, "\0\0\0", 3, 0), 3);
	for (i = 0; i < WORD_BYTES; ++i) {
		assert_int_equal(m0_os_fds_send(foe.f_sock,
						(const char *)&lend + i, 1, &fd,
						i == 0, 0),
				 1);
		(void)fake_step();
		fake_sleep();
	}
	assert_int_equal(send(foe.f_sock, "\0\0\0", 3, 0), 3);
	fake_until(state_of(&foe, 1023) ==
		   state_is(1023, M0_PIPE_REGION_MAPPED));
	assert_int_equal(foe.f_conn->fc_status, FAKE_OPEN);
	assert_int_equal(maps_nr(), 1);
	foe_leave(&foe);
	fake_until(foe.f_conn->fc_broken_nr == 1);
	assert_int_equal(maps_nr(), 0);
	(void)close(fd);
	m0_os_shm_unmap(memory, 4096);
	fake_close();
}

/* An offer lies within a region that is lent, or the stream ends; before it not a byte
 * beyond the region is read. */
static void wrong_offers_end_the_stream(void **state)
{
	static const struct {
		uint32_t nr;
		uint64_t place;
		uint32_t bytes;
	} offers[] = {
		{ 6, 0, 10 },
		{ 7 + M0_PIPE_REGIONS_MAX, 0, 10 },
		{ UINT32_MAX, 0, 10 },
		{ 7, MIB, 1 },
		{ 7, 0, MIB + 1 },
		{ 7, MIB - 9, 10 },
		{ 7, UINT64_MAX, 2 },
		{ 7, UINT64_MAX - MIB, 10 },
		{ 7, 0, M0_PIPE_OFFER_BYTES_MAX },
		{ 7, 0, 0 },
	};
	struct foe foe;
	size_t     i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(offers); ++i) {
		fake_open("127.0.0.1", &near_cfg);
		foe_open(&foe);
		foe_lend(&foe, 7);
		foe_offer(&foe, 7, 0, 1000);
		fake_until(foe.f_conn->fc_in == 1000);
		foe_offer(&foe, offers[i].nr, offers[i].place, offers[i].bytes);
		foe_is_dropped(&foe);
		assert_int_equal(foe.f_conn->fc_in, 1000);
		fake_close();
	}
}

/* A region that is recalled while an offer in it is taken is gone for the rest. */
static void recall_under_way_ends_the_stream(void **state)
{
	const struct word recall = { .w_type = RECALL, .w_nr = 7 };
	struct foe        foe;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	foe_open(&foe);
	foe_lend(&foe, 7);
	fake_in_max(foe.f_conn, 1000);
	foe_offer(&foe, 7, 0, MIB);
	fake_until(foe.f_conn->fc_in == 1000);
	word_send(&foe, &recall, -1);
	fake_until(maps_nr() == 0);
	assert_int_equal(state_of(&foe, 7),
			 state_is(7, M0_PIPE_REGION_DROPPED));
	fake_in_max(foe.f_conn, SIZE_MAX);
	foe_is_dropped(&foe);
	assert_int_equal(foe.f_conn->fc_in, 1000);
	fake_close();
}

/* Bytes that are copied after the end are not accepted. */
static void end_withdraws_offers(void **state)
{
	struct foe foe;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	foe_open(&foe);
	foe_lend(&foe, 7);
	fake_in_max(foe.f_conn, 1000);
	foe_offer(&foe, 7, 0, MIB);
	fake_until(foe.f_conn->fc_in == 1000);
	__atomic_store_n(&foe.f_own->pim_state, M0_PIPE_CLOSED,
			 __ATOMIC_SEQ_CST);
	fake_in_max(foe.f_conn, SIZE_MAX);
	fake_until(foe.f_conn->fc_broken_nr == 1);
	assert_int_equal(foe.f_conn->fc_in, 1000);
	foe_leave(&foe);
	fake_close();
}

/* One read may bring a recall and, behind it, what a descriptor belongs to. */
static void recall_may_stand_before_a_lend(void **state)
{
	const struct word recall = { .w_type = RECALL, .w_nr = 1 };
	const struct word lend = { .w_type = LEND, .w_nr = 2, .w_bytes = 4096 };
	struct foe        foe;
	void             *memory;
	int               fd = memory_make(4096, &memory);

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	foe_open(&foe);
	foe_lend(&foe, 1);
	word_send(&foe, &recall, -1);
	word_send(&foe, &lend, fd);
	fake_until(state_of(&foe, 2) == state_is(2, M0_PIPE_REGION_MAPPED));
	assert_int_equal(state_of(&foe, 1),
			 state_is(1, M0_PIPE_REGION_DROPPED));
	assert_int_equal(foe.f_conn->fc_status, FAKE_OPEN);
	foe_leave(&foe);
	fake_until(foe.f_conn->fc_broken_nr == 1);
	(void)close(fd);
	m0_os_shm_unmap(memory, 4096);
	fake_close();
}

/* A region beyond the bounds is refused, and that is no violation. */
static void too_much_is_refused(void **state)
{
	const uint64_t    bytes = M0_NEAR_MAPS_BYTES_MAX + MIB;
	const struct word lend = { .w_type = LEND,
				   .w_nr = 2,
				   .w_bytes = bytes };
	const struct word recall = { .w_type = RECALL, .w_nr = 2 };
	struct foe        foe;
	int               fd = m0_os_shm_open("foe", bytes);

	(void)state;
	assert_true(fd >= 0);
	fake_open("127.0.0.1", &near_cfg);
	foe_open(&foe);
	foe_lend(&foe, 1);
	word_send(&foe, &lend, fd);
	fake_until(state_of(&foe, 2) == state_is(2, M0_PIPE_REGION_REFUSED));
	assert_int_equal(maps_nr(), 1);
	word_send(&foe, &recall, -1);
	fake_until(state_of(&foe, 2) == state_is(2, M0_PIPE_REGION_DROPPED));
	assert_int_equal(foe.f_conn->fc_status, FAKE_OPEN);
	word_send(&foe, &lend, fd);
	fake_until(state_of(&foe, 2) == state_is(2, M0_PIPE_REGION_REFUSED));
	foe_offer(&foe, 2, 0, 10);
	foe_is_dropped(&foe);
	(void)close(fd);
	fake_close();
}

/* Takes the descriptor that the node lends. */
static int foe_borrow(struct foe *foe, struct word *ret)
{
	struct m0_os_fds fds;
	uint8_t          byte = 0;
	ssize_t          nr;

	fake_send(foe->f_conn, MIB);
	/* Wake-ups may come before it. */
	do {
		(void)fake_step();
		nr = m0_os_fds_recv(foe->f_sock, &byte, 1, &fds, MSG_DONTWAIT);
		assert_true(nr == 1 || nr == -EAGAIN);
	} while (byte == 0);
	assert_int_equal(fds.ofs_nr, 1);
	memcpy(ret, &byte, 1);
	assert_int_equal(recv(foe->f_sock, (char *)ret + 1, WORD_BYTES - 1, 0),
			 WORD_BYTES - 1);
	return fds.ofs_fds[0];
}

/* A neighbour cannot change a byte of what it was lent, nor its size. */
static void borrower_cannot_write(void **state)
{
	struct word word;
	struct foe  foe;
	uint8_t    *pattern;
	void       *seen;
	char        path[64];
	char        why[128];
	int         again;
	int         fd;

	(void)state;
	fake_open("127.0.0.1", &near_cfg);
	pattern = m0_alloc_aligned(PATTERN_BYTES, PAGE_SHIFT);
	fake_pattern_fill(pattern);
	fake_pattern = pattern;
	foe_open(&foe);
	fd = foe_borrow(&foe, &word);
	assert_int_equal(word.w_type, LEND);
	assert_true(word.w_bytes >= PATTERN_BYTES);
	assert_int_equal(m0_os_shm_map(fd, word.w_bytes, false, &seen, why,
				       sizeof why),
			 0);
	assert_memory_equal(seen, pattern, PATTERN_BYTES);
	assert_int_equal(mprotect(seen, word.w_bytes, PROT_READ | PROT_WRITE),
			 -1);
	m0_os_shm_unmap(seen, word.w_bytes);
	assert_int_equal(m0_os_shm_map(fd, word.w_bytes, true, &seen, why,
				       sizeof why),
			 -EPERM);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, (off_t)word.w_bytes * 2), -1);
	assert_int_equal(fallocate(fd,
				   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   0, 4096),
			 -1);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	if (again >= 0) {
		assert_int_equal(pwrite(again, "x", 1, 0), -1);
		assert_ptr_equal(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, again,
				      0),
				 MAP_FAILED);
		(void)close(again);
	}
	assert_int_equal(pattern[0], 0);
	/* The neighbour says that it has mapped a region that was not lent. */
	foe.f_own->pim_regions[5] = state_is(5, M0_PIPE_REGION_MAPPED);
	foe_leave(&foe);
	fake_until(foe.f_conn->fc_broken_nr == 1);
	(void)close(fd);
	pattern_free();
	fake_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lent_memory_is_copied_without_calls),
		cmocka_unit_test(not_all_is_offered_in_a_region),
		cmocka_unit_test(offers_do_not_wait_for_each_other),
		cmocka_unit_test(freed_memory_is_unmapped),
		cmocka_unit_test(end_unmaps_all),
		cmocka_unit_test(full_peer_refuses_regions),
		cmocka_unit_test(wrong_words_are_refused),
		cmocka_unit_test(words_out_of_turn_are_refused),
		cmocka_unit_test(words_may_come_in_pieces),
		cmocka_unit_test(wrong_offers_end_the_stream),
		cmocka_unit_test(recall_under_way_ends_the_stream),
		cmocka_unit_test(end_withdraws_offers),
		cmocka_unit_test(recall_may_stand_before_a_lend),
		cmocka_unit_test(too_much_is_refused),
		cmocka_unit_test(borrower_cannot_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
