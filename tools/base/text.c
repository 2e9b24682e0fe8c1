/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m0/base.h"
#include "text.h"

/* Reads digits; `*ret_rest` is what follows them. */
static int digits_parse(const char *text, uint64_t *ret, const char **ret_rest)
{
	uint64_t value = 0;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	for (; isdigit((unsigned char)*text); ++text) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'),
					   &value))
			return -ERANGE;
	}
	*ret = value;
	*ret_rest = text;
	return 0;
}

struct unit {
	const char *un_name;
	uint64_t    un_factor;
};

static int scaled_parse(const char *text, const struct unit *units, size_t nr,
			uint64_t *ret)
{
	const char *rest;
	uint64_t    value;
	size_t      i;
	int         rc = digits_parse(text, &value, &rest);

	if (rc != 0)
		return rc;
	for (i = 0; i < nr; ++i) {
		if (strcasecmp(rest, units[i].un_name) != 0)
			continue;
		return __builtin_mul_overflow(value, units[i].un_factor, ret)
			       ? -ERANGE
			       : 0;
	}
	return -EINVAL;
}

int text_number_parse(const char *text, uint64_t *ret)
{
	static const struct unit units[] = { { "", 1 } };

	return scaled_parse(text, units, ARRAY_SIZE(units), ret);
}

int text_size_parse(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "K", 1ULL << 10 },
		{ "KiB", 1ULL << 10 },
		{ "M", 1ULL << 20 },
		{ "MiB", 1ULL << 20 },
		{ "G", 1ULL << 30 },
		{ "GiB", 1ULL << 30 },
		{ "T", 1ULL << 40 },
		{ "TiB", 1ULL << 40 },
	};

	return scaled_parse(text, units, ARRAY_SIZE(units), ret);
}

int text_time_parse(const char *text, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000 * 1000 },
		{ "s", 1000 * 1000 * 1000 },
	};

	return scaled_parse(text, units, ARRAY_SIZE(units), ret_ns);
}

int text_seconds_parse(const char *text, double *ret)
{
	char  *end;
	double value;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return -EINVAL;
	value = strtod(text, &end);
	if (*end != '\0' || !isfinite(value) || value <= 0)
		return -EINVAL;
	*ret = value;
	return 0;
}

int text_duration_parse(const char *text, uint64_t *ret_ns)
{
	char  *end;
	double value;

	if (text[strspn(text, "0123456789.")] != '\0')
		return text_time_parse(text, ret_ns);
	value = strtod(text, &end);
	if (end == text || *end != '\0')
		return -EINVAL;
	if (value > 1e9)
		return -ERANGE;
	*ret_ns = (uint64_t)(value * 1e9);
	return 0;
}

int text_list_parse(const char *text, int (*parse)(const char *, uint64_t *),
		    uint64_t *ret, size_t max, size_t *ret_nr)
{
	size_t nr = 0;

	for (;;) {
		size_t   len = strcspn(text, ",");
		char     word[TEXT_MAX];
		uint64_t value;
		int      rc;

		if (len >= sizeof word)
			return -EINVAL;
		memcpy(word, text, len);
		word[len] = '\0';
		rc = parse(word, &value);
		if (rc != 0)
			return rc;
		if (nr == max)
			return -E2BIG;
		ret[nr++] = value;
		if (text[len] == '\0')
			break;
		text += len + 1;
	}
	*ret_nr = nr;
	return 0;
}

const char *text_size(char ret[TEXT_MAX], uint64_t bytes)
{
	static const char *const names[] = { "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	double                   value = (double)bytes / 1024;
	size_t                   i = 0;

	if (bytes < 1024) {
		snprintf(ret, TEXT_MAX, "%u byte%s", (unsigned)bytes,
			 bytes == 1 ? "" : "s");
		return ret;
	}
	while (value >= 1024 && i + 1 < ARRAY_SIZE(names)) {
		value /= 1024;
		++i;
	}
	snprintf(ret, TEXT_MAX, "%.1f %s", value, names[i]);
	return ret;
}

const char *text_size_short(char ret[TEXT_MAX], uint64_t bytes)
{
	static const char names[] = "KMGT";
	size_t            i = 0;

	while (i < sizeof names - 1 && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		++i;
	}
	if (i == 0)
		snprintf(ret, TEXT_MAX, "%" PRIu64, bytes);
	else
		snprintf(ret, TEXT_MAX, "%" PRIu64 "%c", bytes, names[i - 1]);
	return ret;
}

const char *text_time(char ret[TEXT_MAX], double ns)
{
	static const char *const names[] = { "ns", "us", "ms", "s" };
	size_t                   i = 0;

	while (ns >= 999.5 && i + 1 < ARRAY_SIZE(names)) {
		ns /= 1000;
		++i;
	}
	snprintf(ret, TEXT_MAX, "%.*f %s",
		 ns == 0      ? 0
		 : ns < 9.995 ? 2
		 : ns < 99.95 ? 1
			      : 0,
		 ns, names[i]);
	return ret;
}

const char *text_hex(char *ret, const uint8_t *bytes, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; ++i)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	ret[2 * nr] = '\0';
	return ret;
}

/* How many bytes of a control character begin here? C1 has two in UTF-8, and a
 * terminal obeys U+009B as it does ESC [. */
static size_t control_bytes(const char *at)
{
	const uint8_t *byte = (const uint8_t *)at;

	if (byte[0] == 0xc2 && byte[1] >= 0x80 && byte[1] < 0xa0)
		return 2;
	return byte[0] < ' ' || byte[0] == 0x7f;
}

bool text_is_printable(const char *text)
{
	while (*text != '\0' && control_bytes(text) == 0)
		++text;
	return *text == '\0';
}

void text_make_printable(char *text)
{
	size_t nr;

	for (; *text != '\0'; ++text) {
		nr = control_bytes(text);
		if (nr > 0)
			memset(text, '?', nr);
	}
}
