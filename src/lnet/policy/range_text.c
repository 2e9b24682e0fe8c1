/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ranges of NIDs as text. */
#include <stdio.h>

#include "base/ip_text.h"
#include "lnet/policy/range.h"
#include "lnet/wire/net_type.h"

/** A text that is read, with the first flaw in it. */
struct scan {
	const char *scn_text;
	/** Where it is read, and where it ends. */
	size_t scn_at;
	size_t scn_end;
	char  *scn_why;
};

enum {
	/** Characters of a text that a message repeats. */
	SHOWN_MAX = 64
};

/** Notes what is wrong at a place. @return -EINVAL. */
static int wrong_at(const struct scan *scan, size_t at, const char *what)
{
	size_t len = strlen(scan->scn_text);

	return m0_lnet__range_why(scan->scn_why, -EINVAL,
				  "`%.*s%s`, character %zu: %s", SHOWN_MAX,
				  scan->scn_text, len > SHOWN_MAX ? "..." : "",
				  at + 1, what);
}

static int wrong(const struct scan *scan, const char *what)
{
	return wrong_at(scan, scan->scn_at, what);
}

/** Returns the next character; NUL: none. */
static char peek(const struct scan *scan)
{
	return scan->scn_at < scan->scn_end ? scan->scn_text[scan->scn_at]
					    : '\0';
}

static bool skip(struct scan *scan, char c)
{
	if (c == '\0' || peek(scan) != c)
		return false;
	++scan->scn_at;
	return true;
}

static void blanks_skip(struct scan *scan)
{
	while (skip(scan, ' ') || skip(scan, '\t'))
		;
}

static int digit(char c, bool hex)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (hex && c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (hex && c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* -- numbers and lists ----------------------------------------------------- */

static int number_parse(struct scan *scan, uint32_t max, uint32_t *ret)
{
	size_t   from = scan->scn_at;
	uint64_t number = 0;
	bool     hex = false;
	bool     zero = skip(scan, '0');
	size_t   digits = scan->scn_at;

	if (zero && max != UINT8_MAX && (skip(scan, 'x') || skip(scan, 'X'))) {
		hex = true;
		digits = scan->scn_at;
	}
	if (zero && !hex && digit(peek(scan), false) >= 0)
		return wrong_at(scan, from, "a number has no leading zero");
	for (; digit(peek(scan), hex) >= 0; ++scan->scn_at) {
		number = number * (hex ? 16 : 10) +
			 (unsigned)digit(peek(scan), hex);
		if (number > max)
			return wrong_at(scan, from,
					max == UINT8_MAX
						? "the number is above 255"
					: max == UINT16_MAX
						? "the number is above 65535"
						: "the number is above "
						  "4294967295");
	}
	if (scan->scn_at == digits && (hex || !zero))
		return wrong(scan, "a number is expected");
	*ret = (uint32_t)number;
	return 0;
}

static int range_add(const struct scan *scan, struct m0_lnet_nid_range *range,
		     uint8_t *nr, const struct m0_lnet_range *one)
{
	unsigned used = m0_lnet__ranges_nr(range);

	if (used == M0_LNET_RANGES_MAX)
		return wrong(scan, "there are more than 32 ranges of numbers");
	range->lnr_ranges[used] = *one;
	++*nr;
	return 0;
}

/** Parses what stands between commas. */
static int item_parse(struct scan *scan, uint32_t max,
		      struct m0_lnet_range *ret)
{
	size_t from;
	int    rc;

	blanks_skip(scan);
	from = scan->scn_at;
	*ret = (struct m0_lnet_range){ 0, max, 1 };
	if (!skip(scan, '*')) {
		rc = number_parse(scan, max, &ret->lrg_lo);
		if (rc != 0)
			return rc;
		ret->lrg_hi = ret->lrg_lo;
		if (skip(scan, '-'))
			rc = number_parse(scan, max, &ret->lrg_hi);
		else if (peek(scan) == '/')
			rc = wrong(scan,
				   "a stride is accepted after LO-HI only");
		if (rc == 0 && skip(scan, '/'))
			rc = number_parse(scan, UINT32_MAX, &ret->lrg_stride);
		if (rc != 0)
			return rc;
		if (ret->lrg_lo > ret->lrg_hi)
			return wrong_at(scan, from,
					"the range ends before it begins");
		if (ret->lrg_stride == 0)
			return wrong_at(scan, from, "the stride is 0");
	}
	blanks_skip(scan);
	return 0;
}

/** Parses a number, `*`, or a list in brackets, as ranges counted in *nr. */
static int part_parse(struct scan *scan, struct m0_lnet_nid_range *range,
		      uint8_t *nr, uint32_t max)
{
	struct m0_lnet_range one = { 0, max, 1 };
	int                  rc;

	if (skip(scan, '*'))
		return range_add(scan, range, nr, &one);
	if (!skip(scan, '[')) {
		rc = number_parse(scan, max, &one.lrg_lo);
		one.lrg_hi = one.lrg_lo;
		if (rc == 0 && peek(scan) == '-')
			rc = wrong(scan, "LO-HI is accepted in brackets only");
		return rc == 0 ? range_add(scan, range, nr, &one) : rc;
	}
	do {
		rc = item_parse(scan, max, &one);
		if (rc == 0)
			rc = range_add(scan, range, nr, &one);
	} while (rc == 0 && skip(scan, ','));
	if (rc == 0 && !skip(scan, ']'))
		rc = wrong(scan, "`,` or `]` is expected");
	return rc;
}

/* -- networks -------------------------------------------------------------- */

/** Parses the network that begins at `at`. */
static int net_parse(struct scan *scan, struct m0_lnet_nid_range *range,
		     size_t at)
{
	const struct m0_lnet__net_type *type =
		m0_lnet__net_type_begins(scan->scn_text + at);
	int rc;

	scan->scn_at = at;
	scan->scn_end = strlen(scan->scn_text);
	if (type == NULL)
		return wrong(scan, "the type of network is unknown; accepted: "
				   "tcp, o2ib, gni, gip, ptlf, kfi, efa or "
				   "bxi3f");
	if (type->lty_form == M0_LNET__ADDR_LO)
		return wrong(scan, "rules do not apply to lo");
	range->lnr_type = type->lty_type;
	scan->scn_at += strlen(type->lty_name);
	if (scan->scn_at == scan->scn_end)
		return 0;
	rc = part_parse(scan, range, &range->lnr_nets_nr, UINT16_MAX);
	if (rc == 0 && scan->scn_at < scan->scn_end)
		rc = wrong(scan, "there is more text after the network");
	/* `tcp0` is `tcp`. */
	if (rc == 0 && range->lnr_nets_nr == 1 &&
	    range->lnr_ranges[0].lrg_hi == 0) {
		range->lnr_nets_nr = 0;
		M0_SET0(&range->lnr_ranges[0]);
	}
	return rc;
}

/* -- addresses ------------------------------------------------------------- */

/** An IPv6 address, or any with a length, is a prefix: a `/` in brackets is a
 * stride. */
static bool is_prefix(const char *addr)
{
	const char *slash = strrchr(addr, '/');

	return strchr(addr, ':') != NULL ||
	       (slash != NULL && strchr(slash, ']') == NULL);
}

/** Makes the prefix of an IPv4 address four parts, which say the same. */
static void ip4_prefix(struct m0_lnet_nid_range *range, uint8_t *addr,
		       uint32_t bits)
{
	uint8_t  mask[M0_LNET_NID_ADDR_BYTES];
	unsigned i;

	memset(mask, 0xff, sizeof mask);
	m0_lnet__prefix_cut(mask, bits);
	range->lnr_form = M0_LNET_NID_RANGE_PARTS;
	range->lnr_parts_nr = M0_LNET__IP4_PARTS_NR;
	for (i = 0; i < M0_LNET__IP4_PARTS_NR; ++i) {
		range->lnr_ranges[m0_lnet__ranges_nr(range)] =
			(struct m0_lnet_range){
				.lrg_lo = addr[i] & mask[i],
				.lrg_hi = addr[i] | (uint8_t)~mask[i],
				.lrg_stride = 1,
			};
		range->lnr_part_nr[i] = 1;
	}
}

static int prefix_parse(struct scan *scan, struct m0_lnet_nid_range *range,
			const char *addr, bool ip6)
{
	char     text[M0_IP_TEXT_BYTES];
	size_t   len = strcspn(addr, "/");
	bool     has_bits = addr[len] == '/';
	uint8_t  bytes[M0_LNET_NID_ADDR_BYTES] = {};
	uint32_t bits = M0_LNET__PREFIX_BITS_MAX;
	bool     is_ip6;
	int      rc = 0;

	scan->scn_at = 0;
	if (len >= sizeof text)
		return wrong(scan, "this is not an IPv6 address");
	memcpy(text, addr, len);
	text[len] = '\0';
	is_ip6 = m0_ip6_parse(text, bytes);
	if (!is_ip6 && !m0_ip4_parse(text, bytes))
		return wrong(scan, "this is not an IPv4 or IPv6 address");
	if (is_ip6 && !ip6)
		return wrong(scan, "the network has no IPv6 addresses");
	if (!is_ip6 && m0_lnet__ranges_nr(range) + M0_LNET__IP4_PARTS_NR >
			       M0_LNET_RANGES_MAX)
		return wrong(scan, "there are more than 32 ranges of numbers");
	if (has_bits) {
		scan->scn_at = len + 1;
		rc = number_parse(scan, UINT8_MAX, &bits);
		if (rc == 0 && (scan->scn_at < scan->scn_end || bits == 0 ||
				bits > (is_ip6 ? 128U : 32U)))
			rc = wrong_at(scan, len + 1,
				      is_ip6 ? "the length is not 1 to 128"
					     : "the length is not 1 to 32");
	}
	if (rc != 0)
		return rc;
	if (!is_ip6) {
		ip4_prefix(range, bytes, bits);
		return 0;
	}
	m0_lnet__prefix_cut(bytes, bits);
	range->lnr_form = M0_LNET_NID_RANGE_PREFIX;
	memcpy(range->lnr_prefix, bytes, sizeof bytes);
	range->lnr_prefix_bits = bits;
	return 0;
}

static int parts_parse(struct scan *scan, struct m0_lnet_nid_range *range,
		       unsigned nr)
{
	uint32_t max = m0_lnet__part_max(range->lnr_type);
	unsigned i;
	int      rc = 0;

	range->lnr_form = M0_LNET_NID_RANGE_PARTS;
	range->lnr_parts_nr = (uint8_t)nr;
	for (i = 0; rc == 0 && i < nr; ++i) {
		if (i > 0 && !skip(scan, '.'))
			return wrong(scan, "`.` is expected");
		rc = part_parse(scan, range, &range->lnr_part_nr[i], max);
	}
	if (rc == 0 && scan->scn_at < scan->scn_end)
		rc = wrong(
			scan,
			"there is more text after the last part of the address");
	return rc;
}

/** Parses the first `len` characters. */
static int addr_parse(struct scan *scan, struct m0_lnet_nid_range *range,
		      size_t len)
{
	const struct m0_lnet__net_type *type =
		m0_lnet__net_type_find(range->lnr_type);
	bool ip = type->lty_form <= M0_LNET__ADDR_IP;
	char addr[256];

	scan->scn_at = 0;
	scan->scn_end = len;
	if (len >= sizeof addr)
		return wrong(scan, "the address has more than 255 characters");
	memcpy(addr, scan->scn_text, len);
	addr[len] = '\0';
	if (ip && strcmp(addr, "*") == 0) {
		range->lnr_form = M0_LNET_NID_RANGE_ALL;
		return 0;
	}
	if (ip && is_prefix(addr))
		return prefix_parse(scan, range, addr,
				    type->lty_form == M0_LNET__ADDR_IP);
	return parts_parse(scan, range, ip ? M0_LNET__IP4_PARTS_NR : 1);
}

int m0_lnet_nid_range_parse(struct m0_lnet_nid_range *range, const char *text,
			    char *why)
{
	struct scan scan = { .scn_text = text, .scn_why = why };
	const char *at = strchr(text, '@');
	int         rc;

	M0_SET0(range);
	if (text[0] == '\0')
		return wrong(&scan, "`ADDR@NET` or `NET` is expected");
	if (at != NULL && strchr(at + 1, '@') != NULL)
		return wrong_at(&scan, (size_t)(strchr(at + 1, '@') - text),
				"there is more than one `@`");
	rc = net_parse(&scan, range, at == NULL ? 0 : (size_t)(at - text) + 1);
	if (rc != 0)
		return rc;
	range->lnr_form = M0_LNET_NID_RANGE_NET;
	if (at != NULL)
		rc = addr_parse(&scan, range, (size_t)(at - text));
	M0_POST(rc != 0 || m0_lnet__range_malformed(range) == NULL);
	return rc;
}

/* -- printing -------------------------------------------------------------- */

/** A text that grows, and is cut at the end of its buffer. */
struct print {
	char  *prt_buf;
	size_t prt_size;
	size_t prt_at;
};

static void M0_PRINTF(2, 3) print(struct print *to, const char *fmt, ...)
{
	va_list args;
	int     nr;

	if (to->prt_at + 1 >= to->prt_size)
		return;
	va_start(args, fmt);
	nr = vsnprintf(to->prt_buf + to->prt_at, to->prt_size - to->prt_at, fmt,
		       args);
	va_end(args);
	to->prt_at += (size_t)max_check(nr, 0);
}

static void ranges_print(struct print *to, const struct m0_lnet_range *ranges,
			 unsigned nr)
{
	bool list = nr > 1 || ranges->lrg_lo != ranges->lrg_hi ||
		    ranges->lrg_stride != 1;
	unsigned i;

	for (i = 0; i < nr; ++i) {
		const struct m0_lnet_range *one = &ranges[i];

		print(to, "%s%" PRIu32,
		      !list    ? ""
		      : i == 0 ? "["
			       : ",",
		      one->lrg_lo);
		if (one->lrg_lo != one->lrg_hi || one->lrg_stride != 1)
			print(to, "-%" PRIu32, one->lrg_hi);
		if (one->lrg_stride != 1)
			print(to, "/%" PRIu32, one->lrg_stride);
	}
	if (list)
		print(to, "]");
}

static void parts_print(struct print *to, const struct m0_lnet_nid_range *range)
{
	const struct m0_lnet_range *at = range->lnr_ranges + range->lnr_nets_nr;
	unsigned                    i;

	if (range->lnr_parts_nr == 1 && range->lnr_part_nr[0] == 1 &&
	    at->lrg_lo == 0 && at->lrg_hi == UINT32_MAX &&
	    at->lrg_stride == 1) {
		print(to, "*");
		return;
	}
	for (i = 0; i < range->lnr_parts_nr; ++i) {
		if (i > 0)
			print(to, ".");
		ranges_print(to, at, range->lnr_part_nr[i]);
		at += range->lnr_part_nr[i];
	}
}

static void addr_print(struct print *to, const struct m0_lnet_nid_range *range)
{
	char addr[M0_IP_TEXT_BYTES];

	switch ((enum m0_lnet_nid_range_form)range->lnr_form) {
	case M0_LNET_NID_RANGE_ALL:
		print(to, "*@");
		break;
	case M0_LNET_NID_RANGE_PARTS:
		parts_print(to, range);
		print(to, "@");
		break;
	case M0_LNET_NID_RANGE_PREFIX:
		print(to, "%s/%" PRIu32 "@",
		      m0_ip_print(range->lnr_prefix, M0_IP6_BYTES, addr,
				  sizeof addr),
		      range->lnr_prefix_bits);
		break;
	default:
		break;
	}
}

char *m0_lnet_nid_range_print(const struct m0_lnet_nid_range *range, char *buf,
			      size_t size)
{
	struct print to = { .prt_buf = buf, .prt_size = size };

	M0_PRE(size > 0);
	M0_PRE(m0_lnet__range_malformed(range) == NULL);
	buf[0] = '\0';
	if (range->lnr_form == M0_LNET_NID_RANGE_NONE)
		return buf;
	addr_print(&to, range);
	print(&to, "%s", m0_lnet__net_type_find(range->lnr_type)->lty_name);
	/* A list that begins with 0 alone is not the number 0. */
	if (range->lnr_nets_nr > 0)
		ranges_print(&to, range->lnr_ranges, range->lnr_nets_nr);
	return buf;
}
