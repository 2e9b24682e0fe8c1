/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fault_words.h"
#include "../base/text.h"

enum {
	LIST_BYTES = 256,
	PORTALS_NR = 64
};

static const char *const kinds[] = {
	[M0_LNET_FAULT_DROP] = "drop",
	[M0_LNET_FAULT_DELAY] = "delay",
	[M0_LNET_FAULT_DUPLICATE] = "duplicate",
	[M0_LNET_FAULT_CORRUPT] = "corrupt",
	[M0_LNET_FAULT_CUT] = "cut",
	[M0_LNET_FAULT_ANY] = "all",
};

const char *fault_kind_name(enum m0_lnet_fault_kind kind)
{
	M0_PRE((unsigned)kind < ARRAY_SIZE(kinds));
	return kinds[kind];
}

int fault_kind_parse(const char *text, enum m0_lnet_fault_kind *ret)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); ++i) {
		if (strcmp(text, kinds[i]) == 0) {
			*ret = (enum m0_lnet_fault_kind)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Address of a NID that stands for its whole network. */
static const uint8_t net_addr[] = { 0xff, 0xff, 0xff, 0xff };

int fault_nid_parse(const char *text, struct m0_lnet_nid *ret)
{
	uint32_t net;

	if (strncmp(text, "*@", 2) != 0)
		return m0_lnet_nid_parse_any(ret, text);
	if (m0_lnet_net_parse(&net, text + 2) != 0)
		return -EINVAL;
	m0_lnet_nid_from_ip(ret, net, net_addr, sizeof net_addr);
	return 0;
}

static bool is_net(const struct m0_lnet_nid *nid)
{
	struct m0_lnet_nid all;

	m0_lnet_nid_from_ip(&all, m0_lnet_nid_net(nid), net_addr,
			    sizeof net_addr);
	return m0_lnet_nid_eq(nid, &all);
}

const char *fault_nid_print(const struct m0_lnet_nid *nid, char *ret)
{
	char net[M0_LNET_NIDSTR_SIZE - 2];

	if (m0_lnet_nid_is_any(nid))
		(void)snprintf(ret, M0_LNET_NIDSTR_SIZE, "*");
	else if (is_net(nid))
		(void)snprintf(ret, M0_LNET_NIDSTR_SIZE, "*@%s",
			       m0_lnet_net_print(m0_lnet_nid_net(nid), net,
						 sizeof net));
	else
		(void)m0_lnet_nid_print(nid, ret, M0_LNET_NIDSTR_SIZE);
	return ret;
}

/* ------------------------------------------------------------- lists, bits -- */

/* Reads "a,b" by `bit_of`, which says -1 of what it does not know. */
static int list_parse(const char *text, int (*bit_of)(const char *word),
		      uint64_t   *ret)
{
	char     copy[LIST_BYTES];
	char    *rest;
	char    *word;
	uint64_t bits = 0;
	int      bit;

	if (strlen(text) >= sizeof copy || text[0] == '\0' || text[0] == ',' ||
	    text[strlen(text) - 1] == ',' || strstr(text, ",,") != NULL)
		return -EINVAL;
	(void)snprintf(copy, sizeof copy, "%s", text);
	for (word = strtok_r(copy, ",", &rest); word != NULL;
	     word = strtok_r(NULL, ",", &rest)) {
		bit = bit_of(word);
		if (bit < 0)
			return -EINVAL;
		bits |= UINT64_C(1) << bit;
	}
	*ret = bits;
	return 0;
}

static int name_find(const char *const *names, size_t nr, const char *word)
{
	size_t i;

	for (i = 0; i < nr; ++i) {
		if (names[i] != NULL && strcasecmp(names[i], word) == 0)
			return (int)i;
	}
	return -1;
}

static int msg_bit(const char *word)
{
	/* In the order of enum m0_lnet_fault_msgs. */
	static const char *const names[] = { "ACK", "PUT", "GET", "REPLY" };

	return name_find(names, ARRAY_SIZE(names), word);
}

int fault_msgs_parse(const char *text, unsigned *ret)
{
	uint64_t bits;
	int      rc = list_parse(text, msg_bit, &bits);

	if (rc == 0)
		*ret = (unsigned)bits;
	return rc;
}

static int portal_bit(const char *word)
{
	uint64_t nr;

	return text_number_parse(word, &nr) == 0 && nr < PORTALS_NR ? (int)nr
								    : -1;
}

int fault_portals_parse(const char *text, uint64_t *ret)
{
	return list_parse(text, portal_bit, ret);
}

static const char *const health_names[] = {
	[M0_LND_LOCAL_INTERRUPT] = "local_interrupt",
	[M0_LND_LOCAL_DROPPED] = "local_dropped",
	[M0_LND_LOCAL_ABORTED] = "local_aborted",
	[M0_LND_LOCAL_NO_ROUTE] = "local_no_route",
	[M0_LND_LOCAL_ERROR] = "local_error",
	[M0_LND_LOCAL_TIMEOUT] = "local_timeout",
	[M0_LND_REMOTE_ERROR] = "remote_error",
	[M0_LND_REMOTE_DROPPED] = "remote_dropped",
	[M0_LND_REMOTE_TIMEOUT] = "remote_timeout",
	[M0_LND_NETWORK_TIMEOUT] = "network_timeout",
};

static int health_bit(const char *word)
{
	return name_find(health_names, ARRAY_SIZE(health_names), word);
}

int fault_health_parse(const char *text, unsigned *ret)
{
	uint64_t bits;
	int      rc;

	if (strcasecmp(text, "random") == 0) {
		*ret = M0_LNET_FAULT_HEALTH_ALL;
		return 0;
	}
	rc = list_parse(text, health_bit, &bits);
	if (rc == 0)
		*ret = (unsigned)bits;
	return rc;
}

const char *fault_health_print(unsigned health, char ret[FAULT_WORDS_BYTES])
{
	size_t used = 0;
	size_t i;

	ret[0] = '\0';
	if (health == M0_LNET_FAULT_HEALTH_ALL) {
		(void)snprintf(ret, FAULT_WORDS_BYTES, "random");
		return ret;
	}
	for (i = 1; i < ARRAY_SIZE(health_names); ++i) {
		if ((health & 1U << i) != 0 && used < FAULT_WORDS_BYTES)
			used += (size_t)snprintf(ret + used,
						 FAULT_WORDS_BYTES - used,
						 "%s%s", used == 0 ? "" : ",",
						 health_names[i]);
	}
	return ret;
}
