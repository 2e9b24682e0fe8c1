/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Routes from text, in the grammar of the module parameter `routes`:
 *
 *	NET... [HOPS] GATEWAY[:PRIORITY]... ; ...
 *
 * Each word may have parts in brackets, which stand for several words.
 */
#include <stdio.h>

#include "base/options.h"
#include "m0/lnet_route.h"
#include "node/node_internal.h"

enum {
	TEXT_MAX = 4096,
	WORD_BYTES = 128,
	/** Most words that one word may stand for. */
	WORDS_MAX = M0_LNET_CFG_ROUTES_MAX
};

/** Words of one kind in an entry. */
struct words {
	char     wds_words[WORDS_MAX][WORD_BYTES];
	unsigned wds_nr;
};

/** The text, and what was read of the present entry. */
struct routes_text {
	struct m0_lnet_cfg *rtx_cfg;
	const char         *rtx_at;
	char               *rtx_why;
	uint32_t            rtx_hops;
	struct words       *rtx_nets;
	struct words       *rtx_gateways;
};

static int wrong(const struct routes_text *rt, const char *what,
		 const char *word)
{
	return m0_node_why(rt->rtx_why, -EINVAL,
			   "routes: \"%.100s\" %s; an entry is NET [HOPS] "
			   "GATEWAY[:PRIORITY], such as tcp1 10.0.0.1@tcp",
			   word, what);
}

/* -- brackets -------------------------------------------------------------- */

static int word_add(const struct routes_text *rt, struct words *words,
		    const char *word)
{
	if (words->wds_nr == WORDS_MAX)
		return m0_node_why(rt->rtx_why, -ENOSPC,
				   "routes: \"%.100s\" stands for more than "
				   "%d words",
				   word, WORDS_MAX);
	(void)snprintf(words->wds_words[words->wds_nr++], WORD_BYTES, "%s",
		       word);
	return 0;
}

static size_t digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* Reads a decimal number. @return false: there is none, or it is above `max`. */
static bool number_take(const char **at, uint32_t max, uint32_t *ret)
{
	size_t   nr = digits(*at);
	uint64_t value;

	if (!m0_options_number(*at, nr, &value) || value > max)
		return false;
	*ret = (uint32_t)value;
	*at += nr;
	return true;
}

/* Adds the words that `head`, a number of a range, and `tail` make. */
static int range_add(const struct routes_text *rt, struct words *words,
		     const char *head, const char **at, const char *tail);

static int brackets_add(const struct routes_text *rt, struct words *words,
			const char *word)
{
	const char *open = strchr(word, '[');
	const char *close = open == NULL ? NULL : strchr(open, ']');
	const char *at;
	char        head[WORD_BYTES];
	int         rc;

	M0_PRE(strlen(word) < WORD_BYTES);
	if (open == NULL)
		return word_add(rt, words, word);
	if (close == NULL)
		return wrong(rt, "has a [ without a ]", word);
	(void)snprintf(head, sizeof head, "%.*s", (int)(open - word), word);
	at = open + 1;
	do {
		rc = range_add(rt, words, head, &at, close + 1);
	} while (rc == 0 && *at == ',' && ++at < close);
	if (rc == 0 && at != close)
		rc = wrong(rt, "has brackets that are not [A-B/STEP] or [A,B]",
			   word);
	return rc;
}

static int range_add(const struct routes_text *rt, struct words *words,
		     const char *head, const char **at, const char *tail)
{
	char     word[WORD_BYTES];
	uint32_t from;
	uint32_t to;
	uint32_t step = 1;
	int      rc = 0;

	M0_PRE(tail != NULL);
	if (!number_take(at, UINT16_MAX, &from))
		return wrong(rt, "has brackets without a number up to 65535",
			     head);
	to = from;
	if (**at == '-') {
		++*at;
		if (!number_take(at, UINT16_MAX, &to) || to < from)
			return wrong(rt,
				     "has a range without an end above its "
				     "beginning",
				     head);
	}
	if (**at == '/') {
		++*at;
		if (!number_take(at, UINT16_MAX, &step) || step == 0 ||
		    (to - from) % step != 0)
			return wrong(rt,
				     "has a step that does not divide its "
				     "range",
				     head);
	}
	for (; rc == 0 && from <= to; from += step) {
		if ((size_t)snprintf(word, sizeof word, "%s%" PRIu32 "%s", head,
				     from, tail) >= sizeof word)
			return wrong(rt, "is too long", head);
		rc = brackets_add(rt, words, word);
	}
	return rc;
}

/* -- entries --------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_end(char c)
{
	return c == 0 || c == ';' || c == '\n';
}

/* Reads a word of the entry. @return false: the entry has ended. */
static bool word_take(struct routes_text *rt, char word[WORD_BYTES], int *rc)
{
	size_t nr = 0;

	*rc = 0;
	while (is_blank(*rt->rtx_at))
		++rt->rtx_at;
	if (is_end(*rt->rtx_at))
		return false;
	while (!is_end(rt->rtx_at[nr]) && !is_blank(rt->rtx_at[nr]))
		++nr;
	if (nr >= WORD_BYTES)
		*rc = wrong(rt, "is too long", rt->rtx_at);
	(void)snprintf(word, WORD_BYTES, "%.*s",
		       (int)min_check(nr, (size_t)WORD_BYTES - 1), rt->rtx_at);
	rt->rtx_at += nr;
	return true;
}

/* Does the word consist of digits? */
static bool is_number(const char *word)
{
	return word[0] != 0 && word[digits(word)] == 0;
}

static int hops_set(struct routes_text *rt, const char *word)
{
	const char *at = word;

	M0_PRE(is_number(word));
	return number_take(&at, M0_LNET_HOPS_MAX, &rt->rtx_hops) &&
			       rt->rtx_hops > 0
		       ? 0
		       : m0_node_why(rt->rtx_why, -EINVAL,
				     "routes: hops are %.20s; they may be 1 to "
				     "%d",
				     word, M0_LNET_HOPS_MAX);
}

static int words_take(struct routes_text *rt)
{
	char word[WORD_BYTES];
	bool any_hops = false;
	int  rc;

	rt->rtx_nets->wds_nr = 0;
	rt->rtx_gateways->wds_nr = 0;
	rt->rtx_hops = 0;
	while (word_take(rt, word, &rc) && rc == 0) {
		if (is_number(word) && !any_hops && rt->rtx_nets->wds_nr > 0 &&
		    rt->rtx_gateways->wds_nr == 0) {
			any_hops = true;
			rc = hops_set(rt, word);
		} else if (strchr(word, '@') != NULL) {
			rc = brackets_add(rt, rt->rtx_gateways, word);
		} else if (rt->rtx_gateways->wds_nr == 0 && !any_hops) {
			rc = brackets_add(rt, rt->rtx_nets, word);
		} else {
			rc = wrong(rt, "is no gateway", word);
		}
		if (rc != 0)
			return rc;
	}
	return rc;
}

static int gateway_parse(const struct routes_text *rt, char *word,
			 struct m0_lnet_route_attr *attr)
{
	char       *at = strchr(word, '@');
	char       *colon = at == NULL ? NULL : strchr(at, ':');
	const char *number = colon == NULL ? NULL : colon + 1;

	attr->lra_priority = 0;
	if (colon != NULL) {
		*colon = 0;
		if (!number_take(&number, INT32_MAX, &attr->lra_priority) ||
		    *number != 0)
			return wrong(rt, "has a priority that is no number",
				     word);
	}
	return m0_lnet_nid_parse(&attr->lra_gateway, word) == 0
		       ? 0
		       : wrong(rt, "is not a NID", word);
}

static int route_put(const struct routes_text *rt, const char *net,
		     const char *gateway)
{
	struct m0_lnet_routing_cfg *cfg = &rt->rtx_cfg->lc_routing;
	struct m0_lnet_route_attr   attr = { .lra_hops = rt->rtx_hops };
	char                        word[WORD_BYTES];
	int                         rc;

	if (m0_lnet_net_parse(&attr.lra_net, net) != 0)
		return wrong(rt, "is not a network", net);
	(void)snprintf(word, sizeof word, "%s", gateway);
	rc = gateway_parse(rt, word, &attr);
	if (rc != 0)
		return rc;
	if (m0_lnet_nid_net(&attr.lra_gateway) == attr.lra_net)
		return wrong(rt, "is a gateway on the network that it leads to",
			     gateway);
	if (cfg->lgc_routes_nr == M0_LNET_CFG_ROUTES_MAX)
		return m0_node_why(rt->rtx_why, -ENOSPC,
				   "routes: there are more than %d",
				   M0_LNET_CFG_ROUTES_MAX);
	cfg->lgc_routes[cfg->lgc_routes_nr++] = attr;
	return 0;
}

static int entry_take(struct routes_text *rt)
{
	unsigned i;
	unsigned j;
	int      rc = words_take(rt);

	if (rc != 0 ||
	    (rt->rtx_nets->wds_nr == 0 && rt->rtx_gateways->wds_nr == 0))
		return rc;
	if (rt->rtx_nets->wds_nr == 0)
		return wrong(rt, "stands for no network",
			     rt->rtx_gateways->wds_words[0]);
	if (rt->rtx_gateways->wds_nr == 0)
		return wrong(rt, "has no gateway", rt->rtx_nets->wds_words[0]);
	for (i = 0; rc == 0 && i < rt->rtx_nets->wds_nr; ++i)
		for (j = 0; rc == 0 && j < rt->rtx_gateways->wds_nr; ++j)
			rc = route_put(rt, rt->rtx_nets->wds_words[i],
				       rt->rtx_gateways->wds_words[j]);
	return rc;
}

int m0_lnet_cfg_routes(struct m0_lnet_cfg *cfg, const char *text, char *why)
{
	struct routes_text rt = { .rtx_cfg = cfg,
				  .rtx_at = text,
				  .rtx_why = why };
	unsigned           nr = cfg->lc_routing.lgc_routes_nr;
	struct words      *words;
	int                rc;

	if (strlen(text) > TEXT_MAX)
		return m0_node_why(why, -EINVAL,
				   "routes are %zu characters long; they may "
				   "have up to %d",
				   strlen(text), TEXT_MAX);
	M0_ALLOC_ARR(words, 2);
	if (words == NULL)
		return m0_node_why(why, -ENOMEM, "no memory for routes");
	rt.rtx_nets = &words[0];
	rt.rtx_gateways = &words[1];
	do {
		rc = entry_take(&rt);
	} while (rc == 0 && *rt.rtx_at++ != 0);
	m0_free(words);
	/* All of it, or nothing. */
	if (rc != 0)
		cfg->lc_routing.lgc_routes_nr = nr;
	return rc;
}
