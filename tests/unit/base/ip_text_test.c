/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Text of addresses, compared with that of the C library. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/ip_text.h"
#include "base/rand.h"
#include "m0/base.h"

enum {
	ROUNDS = 200000
};

/** Both parsers take and refuse what inet_pton() does, and find the same bytes. */
static void parse_as_libc(const char *text)
{
	uint8_t ours[M0_IP6_BYTES];
	uint8_t libc[M0_IP6_BYTES];
	bool    took;

	took = m0_ip4_parse(text, ours);
	if (took != (inet_pton(AF_INET, text, libc) == 1))
		fail_msg("IPv4 \"%s\": %d", text, took);
	if (took)
		assert_memory_equal(ours, libc, M0_IP4_BYTES);

	took = m0_ip6_parse(text, ours);
	if (took != (inet_pton(AF_INET6, text, libc) == 1))
		fail_msg("IPv6 \"%s\": %d", text, took);
	if (took && memcmp(ours, libc, M0_IP6_BYTES) != 0)
		fail_msg("IPv6 \"%s\": other bytes", text);
}

static void print_as_libc(const uint8_t *addr)
{
	char ours[M0_IP_TEXT_BYTES];
	char libc[INET6_ADDRSTRLEN];

	M0_BASSERT(M0_IP_TEXT_BYTES == INET6_ADDRSTRLEN);
	m0_ip_print(addr, M0_IP4_BYTES, ours, sizeof ours);
	assert_non_null(inet_ntop(AF_INET, addr, libc, sizeof libc));
	assert_string_equal(ours, libc);
	m0_ip_print(addr, M0_IP6_BYTES, ours, sizeof ours);
	assert_non_null(inet_ntop(AF_INET6, addr, libc, sizeof libc));
	assert_string_equal(ours, libc);
	parse_as_libc(libc);
}

static void known_texts(void **state)
{
	static const char *const texts[] = { "",
					     ":",
					     "::",
					     ":::",
					     "1",
					     "1:",
					     ":1",
					     "::1",
					     "1::",
					     "1::1",
					     "1:2:3:4:5:6:7:8",
					     "1:2:3:4:5:6:7",
					     "1:2:3:4:5:6:7:8:9",
					     "1:2:3:4:5:6:7::",
					     "::2:3:4:5:6:7:8",
					     "1:2:3:4::5:6:7:8",
					     "1::2::3",
					     "12345::",
					     "abcd:EF01::",
					     "g::",
					     "1:2:3:4:5:6:1.2.3.4",
					     "1:2:3:4:5:6:7:1.2.3.4",
					     "::1.2.3.4",
					     "::ffff:1.2.3.4",
					     "::1.2.3.4:5",
					     "1.2.3.4::",
					     "::1.2.3",
					     "::01.2.3.4",
					     "1.2.3.4",
					     "01.2.3.4",
					     "0.0.0.0",
					     "00.0.0.0",
					     "1.2.3",
					     "1.2.3.4.5",
					     "256.1.1.1",
					     "1.1.1.255",
					     "1.1.1.1 ",
					     " 1.1.1.1",
					     "1..1.1",
					     ".1.1.1",
					     "1.1.1.",
					     "-1.1.1.1",
					     "fe80::1%eth0",
					     "::%",
					     "1::2:",
					     "0000::00000",
					     "0:0:0:0:0:0:0:0",
					     "::1.2.3.256",
					     "1.2.3.4:",
					     "99999999999.1.1.1" };
	unsigned                 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(texts); ++i)
		parse_as_libc(texts[i]);
}

/** A failed parse leaves the caller's bytes alone. */
static void refused_leaves_alone(void **state)
{
	uint8_t addr[M0_IP6_BYTES] = { 1, 2, 3 };

	(void)state;
	assert_false(m0_ip4_parse("9.9.9.x", addr));
	assert_false(m0_ip6_parse("9:9::x", addr));
	assert_int_equal(addr[0], 1);
	assert_int_equal(addr[2], 3);
}

static void random_texts(void **state)
{
	static const char chars[] = "0123456789abF::::....";
	struct m0_rand    rand;
	char              text[24];
	unsigned          i;

	(void)state;
	m0_rand_init(&rand, 26);
	for (i = 0; i < ROUNDS; ++i) {
		size_t nr = (size_t)m0_rand_below(&rand, sizeof text);
		size_t k;

		for (k = 0; k < nr; ++k)
			text[k] = chars[m0_rand_below(&rand, sizeof chars - 1)];
		text[nr] = '\0';
		parse_as_libc(text);
	}
}

/** Words are zero in all patterns, so that each run of zeros is there. */
static void random_addresses(void **state)
{
	struct m0_rand rand;
	uint8_t        addr[M0_IP6_BYTES];
	unsigned       i;
	unsigned       k;

	(void)state;
	m0_rand_init(&rand, 27);
	for (i = 0; i < 256 * 64; ++i) {
		m0_rand_fill(&rand, addr, sizeof addr);
		for (k = 0; k < 8; ++k)
			if ((i >> k & 1) != 0)
				addr[2 * k] = addr[2 * k + 1] = 0;
		if (m0_rand_chance(&rand, 300))
			memset(&addr[10], 0xff, 2);
		print_as_libc(addr);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_texts),
		cmocka_unit_test(refused_leaves_alone),
		cmocka_unit_test(random_texts),
		cmocka_unit_test(random_addresses)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
