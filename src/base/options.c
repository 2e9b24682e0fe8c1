/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "m0/base.h"
#include "m0/time.h"

enum {
	/** Most characters of an option that a message shows. */
	SHOWN_MAX = 48,
	NAMES_BYTES = 224
};

/** The text that is being read: the pair at the front, and what is wrong. */
struct options_text {
	const char *otx_name;
	size_t      otx_name_nr;
	const char *otx_value;
	size_t      otx_value_nr;
	char       *otx_why;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/** Takes the pair at `*at`, which is not blank. */
static int pair_take(struct options_text *ot, const char **at)
{
	const char *text = *at;
	size_t      nr = 0;
	const char *mark;

	while (text[nr] != 0 && !is_blank(text[nr]))
		++nr;
	*at = text + nr;
	mark = memchr(text, '=', nr);
	if (mark == NULL || mark == text) {
		snprintf(ot->otx_why, M0_OPTIONS_WHY_BYTES,
			 "\"%.*s\" is not an option; accepted: NAME=VALUE",
			 (int)min_check(nr, (size_t)SHOWN_MAX), text);
		return -EINVAL;
	}
	ot->otx_name = text;
	ot->otx_name_nr = (size_t)(mark - text);
	ot->otx_value = mark + 1;
	ot->otx_value_nr = nr - ot->otx_name_nr - 1;
	return 0;
}

bool m0_options_number(const char *text, size_t nr, uint64_t *ret)
{
	uint64_t value = 0;
	size_t   i;

	for (i = 0; i < nr; ++i) {
		unsigned digit = (unsigned)(text[i] - '0');

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret = value;
	return nr > 0;
}

static int unknown(const struct options_text *ot, const struct m0_option *table,
		   unsigned nr)
{
	char names[NAMES_BYTES];

	snprintf(ot->otx_why, M0_OPTIONS_WHY_BYTES,
		 "there is no option \"%.*s\"; accepted: %s",
		 (int)min_check(ot->otx_name_nr, (size_t)SHOWN_MAX),
		 ot->otx_name,
		 nr == 0 ? "none"
			 : m0_options_names(table, nr, names, sizeof names));
	return -ENOENT;
}

static void member_set(const struct m0_option *option, void *obj,
		       uint64_t value)
{
	char    *at = (char *)obj + option->opt_offset;
	unsigned count = (unsigned)value;

	if (option->opt_bytes == sizeof value) {
		memcpy(at, &value, sizeof value);
		return;
	}
	M0_ASSERT(option->opt_bytes == sizeof count && count == value);
	memcpy(at, &count, sizeof count);
}

/** Reads the pair into its member, if `obj` is not NULL. */
static int pair_read(const struct options_text *ot,
		     const struct m0_option *option, void *obj)
{
	uint64_t value;

	if (!m0_options_number(ot->otx_value, ot->otx_value_nr, &value) ||
	    value < option->opt_min || value > option->opt_max) {
		snprintf(ot->otx_why, M0_OPTIONS_WHY_BYTES,
			 "%s is \"%.*s\"; accepted: %" PRIu64 " to %" PRIu64
			 "%s%s",
			 option->opt_name,
			 (int)min_check(ot->otx_value_nr, (size_t)SHOWN_MAX),
			 ot->otx_value, option->opt_min, option->opt_max,
			 option->opt_unit[0] == 0 ? "" : " ", option->opt_unit);
		return -EINVAL;
	}
	if (obj != NULL)
		member_set(option, obj, value * option->opt_scale);
	return 0;
}

static unsigned find(const struct options_text *ot,
		     const struct m0_option *table, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; ++i)
		if (strlen(table[i].opt_name) == ot->otx_name_nr &&
		    memcmp(table[i].opt_name, ot->otx_name, ot->otx_name_nr) ==
			    0)
			break;
	return i;
}

/** Checks all pairs, and sets the members of `obj` if it is not NULL. */
static int pairs_read(const struct m0_option *table, unsigned nr, void *obj,
		      const char *text, char *why)
{
	struct options_text ot = { .otx_why = why };
	uint32_t            seen = 0;
	unsigned            i;
	int                 rc = 0;

	for (;;) {
		while (is_blank(*text))
			++text;
		if (*text == 0)
			return 0;
		rc = pair_take(&ot, &text);
		if (rc != 0)
			return rc;
		i = find(&ot, table, nr);
		if (i == nr)
			return unknown(&ot, table, nr);
		if ((seen & UINT32_C(1) << i) != 0) {
			snprintf(why, M0_OPTIONS_WHY_BYTES,
				 "%s is there twice; accepted: once",
				 table[i].opt_name);
			return -EINVAL;
		}
		seen |= UINT32_C(1) << i;
		rc = pair_read(&ot, &table[i], obj);
		if (rc != 0)
			return rc;
	}
}

int m0_options_read(const struct m0_option *table, unsigned nr, void *obj,
		    const char *text, char *why)
{
	int rc;

	M0_PRE(nr <= M0_OPTIONS_MAX && text != NULL && why != NULL);
	M0_PRE(ergo(nr > 0, table != NULL && obj != NULL));
	/* All of it, or nothing. */
	rc = pairs_read(table, nr, NULL, text, why);
	return rc == 0 ? pairs_read(table, nr, obj, text, why) : rc;
}

char *m0_options_names(const struct m0_option *table, unsigned nr, char *buf,
		       size_t size)
{
	size_t   at = 0;
	unsigned i;

	M0_PRE(size > 0);
	buf[0] = 0;
	for (i = 0; i < nr && at < size; ++i)
		at += (size_t)snprintf(buf + at, size - at, "%s%s",
				       i == 0 ? "" : ", ", table[i].opt_name);
	return buf;
}

static int reconnect_check(uint64_t min_ns, uint64_t max_ns, char *why)
{
	if (min_ns <= max_ns)
		return 0;
	snprintf(why, M0_OPTIONS_WHY_BYTES,
		 "min_reconnectms is %" PRIu64
		 "; accepted: up to max_reconnectms, which is %" PRIu64,
		 min_ns / M0_TIME_ONE_MSEC, max_ns / M0_TIME_ONE_MSEC);
	return -EINVAL;
}

int m0_options_net_read(const struct m0_option *table, unsigned nr,
			const struct m0_options_net *net, const char *text,
			char *why)
{
	int rc;

	if (text == NULL)
		return 0;
	memcpy(net->onn_own, net->onn_cfg, net->onn_bytes);
	rc = m0_options_read(table, nr, net->onn_own, text, why);
	if (rc == 0)
		rc = reconnect_check(*net->onn_reconnect_min_ns,
				     *net->onn_reconnect_max_ns, why);
	if (rc == 0)
		memcpy(net->onn_cfg, net->onn_own, net->onn_bytes);
	return rc;
}
