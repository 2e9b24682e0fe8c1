/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <string.h>

#include "base/ip_text.h"
#include "m0/base.h"

enum {
	WORDS = M0_IP6_BYTES / 2,
	WORD_DIGITS = 4,
	/** The first word of an embedded IPv4 address. */
	WORDS_BEFORE_IP4 = WORDS - M0_IP4_BYTES / 2
};

/** Reads one number of an IPv4 address. @return where it ends, or NULL */
static const char *octet_parse(const char *at, uint8_t *ret)
{
	unsigned value = 0;
	unsigned nr;

	for (nr = 0; at[nr] >= '0' && at[nr] <= '9'; ++nr) {
		value = value * 10 + (unsigned)(at[nr] - '0');
		if (value > UINT8_MAX || (nr > 0 && at[0] == '0'))
			return NULL;
	}
	*ret = (uint8_t)value;
	return nr > 0 ? at + nr : NULL;
}

bool m0_ip4_parse(const char *text, uint8_t *ret_addr)
{
	uint8_t  addr[M0_IP4_BYTES];
	unsigned i;

	M0_PRE(text != NULL && ret_addr != NULL);

	for (i = 0; i < M0_IP4_BYTES; ++i) {
		text = octet_parse(text, &addr[i]);
		if (text == NULL ||
		    *text != (i < M0_IP4_BYTES - 1 ? '.' : '\0'))
			return false;
		++text;
	}
	memcpy(ret_addr, addr, sizeof addr);
	return true;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/** Reads one word of an IPv6 address. @return where it ends, or NULL */
static const char *word_parse(const char *at, uint8_t *ret)
{
	unsigned value = 0;
	unsigned nr;

	for (nr = 0; digit_of(at[nr]) >= 0; ++nr) {
		if (nr == WORD_DIGITS)
			return NULL;
		value = value << 4 | (unsigned)digit_of(at[nr]);
	}
	ret[0] = (uint8_t)(value >> 8);
	ret[1] = (uint8_t)value;
	return nr > 0 ? at + nr : NULL;
}

/**
 * Reads the words of an IPv6 address.
 * @param ret_gap  receives how many words stand before "::", or WORDS without one
 * @return how many words were read, or a negative number
 */
static int words_parse(const char *at, uint8_t addr[M0_IP6_BYTES], int *ret_gap)
{
	const char *end;
	int         nr = 0;

	*ret_gap = WORDS;
	if (at[0] == ':' && *++at != ':')
		return -1;
	for (;;) {
		if (*at == ':') {
			if (*ret_gap != WORDS)
				return -1;
			*ret_gap = nr;
			if (*++at == '\0')
				return nr;
		}
		if (nr <= WORDS_BEFORE_IP4 && m0_ip4_parse(at, &addr[nr * 2]))
			return nr + M0_IP4_BYTES / 2;
		if (nr == WORDS)
			return -1;
		end = word_parse(at, &addr[nr * 2]);
		if (end == NULL)
			return -1;
		++nr;
		if (*end == '\0')
			return nr;
		if (*end != ':' || end[1] == '\0')
			return -1;
		at = end + 1;
	}
}

bool m0_ip6_parse(const char *text, uint8_t *ret_addr)
{
	uint8_t addr[M0_IP6_BYTES] = {};
	int     gap;
	int     nr;
	size_t  behind;

	M0_PRE(text != NULL && ret_addr != NULL);

	nr = words_parse(text, addr, &gap);
	/* "::" stands for one word or more. */
	if (nr < 0 || (gap == WORDS) != (nr == WORDS))
		return false;
	if (gap < WORDS) {
		behind = (size_t)(nr - gap) * 2;
		memmove(&addr[M0_IP6_BYTES - behind], &addr[gap * 2], behind);
		memset(&addr[gap * 2], 0,
		       M0_IP6_BYTES - behind - (size_t)gap * 2);
	}
	memcpy(ret_addr, addr, sizeof addr);
	return true;
}

static unsigned word_at(const uint8_t *addr, unsigned i)
{
	return (unsigned)addr[2 * i] << 8 | addr[2 * i + 1];
}

/** Finds the first of the longest runs of zeros. @return its length, 0 or at least 2 */
static unsigned zeros_find(const uint8_t *addr, unsigned *ret_at)
{
	unsigned best = 0;
	unsigned nr = 0;
	unsigned i;

	*ret_at = WORDS;
	for (i = 0; i < WORDS; ++i) {
		nr = word_at(addr, i) == 0 ? nr + 1 : 0;
		if (nr > best && nr >= 2) {
			best = nr;
			*ret_at = i + 1 - nr;
		}
	}
	return best;
}

static void ip6_print(const uint8_t *addr, char *buf, size_t size)
{
	unsigned zeros_at;
	unsigned zeros = zeros_find(addr, &zeros_at);
	bool     ip4 = zeros_at == 0 &&
		   (zeros == WORDS_BEFORE_IP4 ||
		    (zeros == WORDS_BEFORE_IP4 - 1 &&
		     word_at(addr, WORDS_BEFORE_IP4 - 1) == 0xffff));
	size_t   at = 0;
	unsigned i;

	for (i = 0; i < WORDS;) {
		if (i == zeros_at) {
			at += (size_t)snprintf(buf + at, size - at, "::");
			i += zeros;
		} else if (ip4 && i == WORDS_BEFORE_IP4) {
			m0_ip_print(&addr[2 * i], M0_IP4_BYTES, buf + at,
				    size - at);
			return;
		} else {
			at += (size_t)snprintf(buf + at, size - at, "%x",
					       word_at(addr, i));
			if (++i < WORDS && i != zeros_at)
				at += (size_t)snprintf(buf + at, size - at,
						       ":");
		}
	}
}

char *m0_ip_print(const uint8_t *addr, size_t addr_nr, char *buf, size_t size)
{
	M0_PRE(addr_nr == M0_IP4_BYTES || addr_nr == M0_IP6_BYTES);

	if (addr_nr == M0_IP4_BYTES)
		(void)snprintf(buf, size, "%u.%u.%u.%u", addr[0], addr[1],
			       addr[2], addr[3]);
	else
		ip6_print(addr, buf, size);
	return buf;
}
