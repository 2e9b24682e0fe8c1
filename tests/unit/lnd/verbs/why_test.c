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
	m0_verbs__channel_why(why, -ENODEV);
	assert_says("ENODEV");
	assert_says("no RDMA device");
	assert_says("rdma link add");
	m0_verbs__channel_why(why, -ENOENT);
	assert_says("no RDMA device");
	m0_verbs__channel_why(why, -EACCES);
	assert_says("no permission to read and write /dev/infiniband/rdma_cm");
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(channel_says_what_is_missing),
		cmocka_unit_test(port_says_what_is_wrong),
		cmocka_unit_test(memory_says_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
