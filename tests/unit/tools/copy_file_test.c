/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../../tools/copy/copy_file.h"

enum {
	SIZE = 10000
};

/* A directory with one file of SIZE bytes, opened as a source. */
struct fixture {
	char             f_dir[32];
	char             f_src_path[64];
	char             f_dst_path[64];
	struct src_file  f_src;
	struct dst_file  f_dst;
	struct m0_bufvec f_buf;
	struct tool_fail f_fail;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	int             fd;

	strcpy(f->f_dir, "/tmp/colibri-unit-XXXXXX");
	assert_non_null(mkdtemp(f->f_dir));
	sprintf(f->f_src_path, "%s/src", f->f_dir);
	sprintf(f->f_dst_path, "%s/dst", f->f_dir);
	fd = open(f->f_src_path, O_WRONLY | O_CREAT, 0644);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	close(fd);
	/* Two segments: reads and writes go by vectors. */
	assert_int_equal(m0_bufvec_alloc(&f->f_buf, 2, SIZE / 2), 0);
	assert_int_equal(src_file_open(&f->f_src, f->f_src_path, &f->f_fail),
			 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	src_file_close(&f->f_src);
	m0_bufvec_free(&f->f_buf);
	(void)unlink(f->f_src_path);
	(void)unlink(f->f_dst_path);
	/* Fails if something else was left. */
	assert_int_equal(rmdir(f->f_dir), 0);
	free(f);
	return 0;
}

/* A source that becomes shorter is noticed by the read that misses bytes. */
static void source_truncated_read_fails(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(src_file_read(&f->f_src, &f->f_buf, 0, SIZE), 0);
	assert_int_equal(src_file_check(&f->f_src), 0);
	assert_int_equal(truncate(f->f_src_path, SIZE / 3), 0);
	assert_int_equal(src_file_read(&f->f_src, &f->f_buf, 0, SIZE),
			 -ENODATA);
	assert_int_equal(src_file_check(&f->f_src), -ESTALE);
}

/* One that is written to at the same length is noticed at the end. */
static void source_written_check_fails(void **state)
{
	struct fixture *f = *state;
	int             fd = open(f->f_src_path, O_WRONLY);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = 1, .tv_nsec = 1 } };

	assert_int_equal(pwrite(fd, "x", 1, 5), 1);
	/* Clocks of file systems are coarse. */
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
	assert_int_equal(src_file_check(&f->f_src), -ESTALE);
}

/* So is one that was written to within the second. */
static void source_written_soon_check_fails(void **state)
{
	struct fixture *f = *state;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     f->f_src.sf_stat.st_mtim };

	times[1].tv_nsec = (times[1].tv_nsec + 1) % 1000000000;
	assert_int_equal(utimensat(AT_FDCWD, f->f_src_path, times, 0), 0);
	assert_int_equal(src_file_check(&f->f_src), -ESTALE);
}

/* A file of /proc says that it is empty, and has more. */
static void source_with_more_than_its_size_check_fails(void **state)
{
	struct fixture *f = *state;
	struct src_file src;

	assert_int_equal(src_file_open(&src, "/proc/self/status", &f->f_fail),
			 0);
	assert_int_equal(src_file_check(&src), -ESTALE);
	src_file_close(&src);
}

/* Before it is committed the destination is not to be seen, and may vanish. */
static void destination_closed_early_leaves_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(dst_file_open(&f->f_dst, f->f_dst_path, &f->f_src,
				       &f->f_fail),
			 0);
	assert_int_equal(dst_file_write(&f->f_dst, &f->f_buf, 0, SIZE), 0);
	assert_int_equal(access(f->f_dst_path, F_OK), -1);
	dst_file_close(&f->f_dst);
	assert_int_equal(access(f->f_dst_path, F_OK), -1);
}

/* In a process without standard input the new file may be descriptor 0. */
static void destination_closes_descriptor_0(void **state)
{
	struct fixture *f = *state;
	int             input = dup(0);

	assert_int_equal(dst_file_open(&f->f_dst, f->f_dst_path, &f->f_src,
				       &f->f_fail),
			 0);
	assert_int_equal(dup2(f->f_dst.df_fd, 0), 0);
	(void)close(f->f_dst.df_fd);
	f->f_dst.df_fd = 0;
	dst_file_close(&f->f_dst);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	if (input >= 0) {
		assert_int_equal(dup2(input, 0), 0);
		(void)close(input);
	}
}

/* Committed, it has its name, its mode and its bytes; the old one is gone. */
static void destination_committed_replaces_the_old(void **state)
{
	struct fixture *f = *state;
	struct stat     st;
	int             fd = open(f->f_dst_path, O_WRONLY | O_CREAT, 0600);

	close(fd);
	assert_int_equal(dst_file_open(&f->f_dst, f->f_dst_path, &f->f_src,
				       &f->f_fail),
			 0);
	assert_int_equal(dst_file_write(&f->f_dst, &f->f_buf, 0, SIZE), 0);
	assert_int_equal(dst_file_sync(&f->f_dst, 0640), 0);
	assert_int_equal(stat(f->f_dst_path, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(dst_file_commit(&f->f_dst), 0);
	dst_file_close(&f->f_dst);
	assert_int_equal(stat(f->f_dst_path, &st), 0);
	assert_int_equal(st.st_size, SIZE);
	assert_int_equal(st.st_mode & 07777, 0640);
}

/* Reading back sees a byte that is not the one written, and a wrong length. */
static void destination_damaged_reads_back_otherwise(void **state)
{
	struct fixture *f = *state;
	uint8_t         good[HASH_BYTES];
	uint8_t         bad[HASH_BYTES];

	assert_int_equal(dst_file_open(&f->f_dst, f->f_dst_path, &f->f_src,
				       &f->f_fail),
			 0);
	assert_int_equal(dst_file_write(&f->f_dst, &f->f_buf, 0, SIZE), 0);
	assert_int_equal(dst_file_hash(&f->f_dst, SIZE, NULL, good), 0);
	assert_int_equal(pwrite(f->f_dst.df_fd, "x", 1, SIZE - 1), 1);
	assert_int_equal(dst_file_hash(&f->f_dst, SIZE, NULL, bad), 0);
	assert_memory_not_equal(good, bad, HASH_BYTES);
	assert_int_equal(dst_file_hash(&f->f_dst, SIZE + 1, NULL, bad), -EIO);
	dst_file_close(&f->f_dst);
}

/* A long reading back can be called off. */
static void destination_reading_back_stops_when_told(void **state)
{
	struct fixture *f = *state;
	uint8_t         sum[HASH_BYTES];
	bool            stop = true;

	assert_int_equal(dst_file_open(&f->f_dst, f->f_dst_path, &f->f_src,
				       &f->f_fail),
			 0);
	assert_int_equal(dst_file_write(&f->f_dst, &f->f_buf, 0, SIZE), 0);
	assert_int_equal(dst_file_hash(&f->f_dst, SIZE, &stop, sum),
			 -ECANCELED);
	dst_file_close(&f->f_dst);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(source_truncated_read_fails),
		CASE(source_written_check_fails),
		CASE(source_written_soon_check_fails),
		CASE(source_with_more_than_its_size_check_fails),
		CASE(destination_closed_early_leaves_nothing),
		CASE(destination_closes_descriptor_0),
		CASE(destination_committed_replaces_the_old),
		CASE(destination_damaged_reads_back_otherwise),
		CASE(destination_reading_back_stops_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
