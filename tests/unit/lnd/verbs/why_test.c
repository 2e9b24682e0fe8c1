/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Texts of the driver where a device, a permission or memory is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "lnd/verbs/verbs_internal.h"

static char why[M0_LND_WHY_BYTES];

/* Fails unless this word is in the text, which has to be whole. */
static void assert_says(const char *word)
{
	assert_true(strlen(why) < sizeof why - 1);
	if (strstr(why, word) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", word, why);
}

static void channel_says_what_is_missing(void **state)
{
	(void)state;
	assert_int_equal(m0_verbs__channel_why(why, -ENODEV), -ENODEV);
	assert_says("ENODEV");
	assert_says("no RDMA device");
	assert_says("rdma link add");
	/* A node that starts with --wait waits for a device. */
	assert_int_equal(m0_verbs__channel_why(why, -ENOENT), -ENODEV);
	assert_says("no RDMA device");
	assert_int_equal(m0_verbs__channel_why(why, -EACCES), -EACCES);
	assert_says("no permission to read and write /dev/infiniband/rdma_cm");
}

/* T26: the kernel's node and ours cannot have one address. */
static void port_says_what_is_wrong(void **state)
{
	static const struct {
		int         rc;
		uint16_t    port;
		const char *word;
	} rows[] = {
		{ -EADDRNOTAVAIL, 987, "no interface has this IPv4 address" },
		{ -ENODEV, 987, "no RDMA device is behind the interface" },
		{ -EACCES, 987, "CAP_NET_BIND_SERVICE" },
		{ -EACCES, 1987, "/dev/infiniband" },
		{ -EADDRINUSE, 987, "another node of this host" },
		{ -EIO, 987, "EIO" },
	};
	struct m0_o2ib_port port = { .ort_addr = {
					     .sa_bytes = { 255, 255, 255, 255 },
					     .sa_bytes_nr = 4 } };
	size_t              i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		port.ort_addr.sa_port = rows[i].port;
		assert_int_equal(m0_verbs__port_why(&port, why, rows[i].rc),
				 rows[i].rc);
		assert_says("255.255.255.255");
		assert_says(rows[i].word);
	}
}

/* An interface that had no link when it got its address. */
static void gid_says_what_to_do(void **state)
{
	(void)state;
	assert_int_equal(m0_verbs__gid_why("rxe0", why), -EADDRNOTAVAIL);
	assert_says("device rxe0 has no GID");
	assert_says("set the interface up, then give it the address again");
}

/* T30. */
static void memory_says_the_limit(void **state)
{
	struct rlimit before;
	struct rlimit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
	limit = before;
	limit.rlim_cur = 65536;
	if (before.rlim_max != RLIM_INFINITY && before.rlim_max < 65536)
		skip();
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	m0_verbs__why(why, "receive buffers", 1 << 20, -ENOMEM);
	assert_says("receive buffers of 1048576 bytes");
	assert_says("locked memory is 64 KiB");
	assert_says("ulimit -l");
	m0_verbs__why(why, "a port", 0, -EIO);
	assert_says("cannot make a port (EIO)");
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

/* T20, T21: a mismatch of GID or MTU is named with both values. */
static void way_says_what_does_not_fit(void **state)
{
	struct m0_verbs_way way = { .vwy_path_mtu = IBV_MTU_4096,
				    .vwy_port_mtu = IBV_MTU_1024 };
	static const int    gids[] = { 12, 18 };
	unsigned            i;

	(void)state;
	memcpy(way.vwy_src.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
	memcpy(way.vwy_dst.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\2", 16);
	assert_true(m0_verbs__way_why(&way, why));
	assert_says("nobody answers at the GID ::ffff:10.0.0.2");
	assert_says("ours is ::ffff:10.0.0.1");
	assert_says("RoCE");
	for (i = 0; i < ARRAY_SIZE(gids); ++i) {
		way.vwy_reason = gids[i];
		assert_true(m0_verbs__way_why(&way, why));
		assert_says("does not have the GID ::ffff:10.0.0.2");
	}
	way.vwy_reason = 26;
	assert_true(m0_verbs__way_why(&way, why));
	assert_says("MTU of the path, 4096");
	assert_says("our port is 1024");
	/* A time-out of the manager has reasons of its own. */
	way.vwy_reason = 4;
	assert_false(m0_verbs__way_why(&way, why));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(channel_says_what_is_missing),
		cmocka_unit_test(port_says_what_is_wrong),
		cmocka_unit_test(gid_says_what_to_do),
		cmocka_unit_test(memory_says_the_limit),
		cmocka_unit_test(way_says_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
