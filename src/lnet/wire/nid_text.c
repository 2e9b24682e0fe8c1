/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "m0/lnet_nid.h"
#include "base/cursor.h"
#include "base/ip_text.h"
#include "lnet/wire/net_type.h"

/** Order in which names are tried as prefixes. */
static const struct m0_lnet__net_type net_types[] = {
	{ "lo", M0_LNET_TYPE_LO, M0_LNET__ADDR_LO },
	{ "tcp", M0_LNET_TYPE_TCP, M0_LNET__ADDR_IP },
	{ "o2ib", M0_LNET_TYPE_O2IB, M0_LNET__ADDR_IP },
	{ "gni", M0_LNET_TYPE_GNI, M0_LNET__ADDR_NUMBER },
	{ "gip", M0_LNET_TYPE_GIP, M0_LNET__ADDR_IP4 },
	{ "ptlf", M0_LNET_TYPE_PTLF, M0_LNET__ADDR_NUMBER },
	{ "kfi", M0_LNET_TYPE_KFI, M0_LNET__ADDR_NUMBER },
	{ "efa", M0_LNET_TYPE_EFA, M0_LNET__ADDR_IP },
	{ "bxi3f", M0_LNET_TYPE_BXI3F, M0_LNET__ADDR_NUMBER },
};

static const char any_text[] = "<?>";

const struct m0_lnet__net_type *m0_lnet__net_type_find(uint8_t type)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(net_types); ++i)
		if (net_types[i].lty_type == type)
			return &net_types[i];
	return NULL;
}

/* -- printing -------------------------------------------------------------- */

static uint32_t number_at(const uint8_t *addr)
{
	struct m0_cursor cur;

	m0_cursor_init_const(&cur, addr, sizeof(uint32_t));
	return m0_cursor_get_be32(&cur);
}

/** Prints an address of unknown form as words of 32 bits, in hex. */
static void words_print(const struct m0_lnet_nid *nid, char *buf, size_t size)
{
	size_t nr = min_check((size_t)nid->ln_size + 7,
			      (size_t)M0_LNET_NID_ADDR_BYTES) /
		    sizeof(uint32_t);
	size_t at = 0;
	size_t i;

	buf[0] = '\0';
	for (i = 0; i < nr; ++i) {
		(void)snprintf(buf + at, size - at, "%s%x", i == 0 ? "" : ":",
			       number_at(&nid->ln_addr[i * sizeof(uint32_t)]));
		at += strlen(buf + at);
	}
}

static void addr_print(const struct m0_lnet_nid       *nid,
		       const struct m0_lnet__net_type *type, char *buf,
		       size_t size)
{
	bool ip = type != NULL && type->lty_form <= M0_LNET__ADDR_IP;

	if (nid->ln_size == 0 && ip)
		m0_ip_print(nid->ln_addr, M0_IP4_BYTES, buf, size);
	else if (nid->ln_size == 0 && type != NULL)
		(void)snprintf(buf, size, "%u", number_at(nid->ln_addr));
	else if (nid->ln_size == M0_LNET_NID_SIZE_IPV6 && ip)
		m0_ip_print(nid->ln_addr, M0_IP6_BYTES, buf, size);
	else
		words_print(nid, buf, size);
}

char *m0_lnet_nid_print(const struct m0_lnet_nid *nid, char *buf, size_t size)
{
	char addr[M0_LNET_NIDSTR_SIZE];
	char net[M0_LNET_NIDSTR_SIZE];

	M0_PRE(size > 0);
	if (m0_lnet_nid_is_any(nid)) {
		(void)snprintf(buf, size, "%s", any_text);
		return buf;
	}
	addr_print(nid, m0_lnet__net_type_find(nid->ln_type), addr,
		   sizeof addr);
	(void)snprintf(buf, size, "%s@%s", addr,
		       m0_lnet_net_print(m0_lnet_nid_net(nid), net,
					 sizeof net));
	return buf;
}

char *m0_lnet_net_print(uint32_t net, char *buf, size_t size)
{
	const struct m0_lnet__net_type *type = NULL;

	M0_PRE(size > 0);
	if (net >> 24 == 0)
		type = m0_lnet__net_type_find(m0_lnet_net_type(net));
	if (net == M0_LNET_NET_ANY)
		(void)snprintf(buf, size, "%s", any_text);
	else if (type == NULL)
		(void)snprintf(buf, size, "<%u:%u>", net >> 16,
			       m0_lnet_net_num(net));
	else if (m0_lnet_net_num(net) == 0)
		(void)snprintf(buf, size, "%s", type->lty_name);
	else
		(void)snprintf(buf, size, "%s%u", type->lty_name,
			       m0_lnet_net_num(net));
	return buf;
}

char *m0_lnet_id_print(const struct m0_lnet_process_id *id, char *buf,
		       size_t size)
{
	const uint32_t flag = UINT32_C(1) << 31;
	char           nid[M0_LNET_NIDSTR_SIZE];

	M0_PRE(size > 0);
	(void)m0_lnet_nid_print(&id->lp_nid, nid, sizeof nid);
	if (id->lp_pid == M0_LNET_PID_ANY)
		(void)snprintf(buf, size, "LNET_PID_ANY-%s", nid);
	else
		(void)snprintf(buf, size, "%s%u-%s",
			       (id->lp_pid & flag) != 0 ? "U" : "",
			       id->lp_pid & ~flag, nid);
	return buf;
}

/* -- parsing --------------------------------------------------------------- */

/** Returns 0 to 15, or 16 if `c` is not a digit. */
static unsigned digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 16;
}

/** Parses all of `text` as a number up to `max`. @retval -EINVAL */
static int number_parse(const char *text, unsigned base, uint32_t max,
			uint32_t *ret_number)
{
	uint64_t number = 0;

	M0_PRE(base == 10 || base == 16);
	if (*text == '\0')
		return -EINVAL;
	for (; *text != '\0'; ++text) {
		if (digit_of(*text) >= base)
			return -EINVAL;
		number = number * base + digit_of(*text);
		if (number > max)
			return -EINVAL;
	}
	*ret_number = (uint32_t)number;
	return 0;
}

const struct m0_lnet__net_type *m0_lnet__net_type_begins(const char *text)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(net_types); ++i)
		if (strncmp(text, net_types[i].lty_name,
			    strlen(net_types[i].lty_name)) == 0)
			return &net_types[i];
	return NULL;
}

/** @return the type that begins `text`, NULL if none does. */
static const struct m0_lnet__net_type *net_parse(const char *text,
						 uint16_t   *ret_num)
{
	const struct m0_lnet__net_type *type = m0_lnet__net_type_begins(text);
	uint32_t                        num = 0;
	size_t                          len;

	if (type == NULL)
		return NULL;
	len = strlen(type->lty_name);
	if (text[len] != '\0' &&
	    (type->lty_form == M0_LNET__ADDR_LO ||
	     number_parse(text + len, 10, UINT16_MAX, &num) != 0))
		return NULL;
	*ret_num = (uint16_t)num;
	return type;
}

int m0_lnet_net_parse(uint32_t *net, const char *text)
{
	uint16_t                        num;
	const struct m0_lnet__net_type *type = net_parse(text, &num);

	if (type == NULL)
		return -EINVAL;
	*net = m0_lnet_net(type->lty_type, num);
	return 0;
}

/** Fills in address and size. */
static int addr_parse(struct m0_lnet_nid *nid, enum m0_lnet__addr_form form,
		      const char *text)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	struct m0_cursor cur;
	uint32_t         number;

	switch (form) {
	case M0_LNET__ADDR_LO:
		return text[0] == '\0' ? -EINVAL : 0;
	case M0_LNET__ADDR_NUMBER:
		if (number_parse(hex ? text + 2 : text, hex ? 16 : 10,
				 UINT32_MAX, &number) != 0)
			return -EINVAL;
		m0_cursor_init(&cur, nid->ln_addr, sizeof number);
		m0_cursor_put_be32(&cur, number);
		return 0;
	case M0_LNET__ADDR_IP:
		if (m0_ip6_parse(text, nid->ln_addr)) {
			nid->ln_size = M0_LNET_NID_SIZE_IPV6;
			return 0;
		}
		__attribute__((__fallthrough__));
	case M0_LNET__ADDR_IP4:
		return m0_ip4_parse(text, nid->ln_addr) ? 0 : -EINVAL;
	}
	return -EINVAL;
}

int m0_lnet_nid_parse(struct m0_lnet_nid *nid, const char *text)
{
	const char *at = strchr(text, '@');
	size_t      len = at != NULL ? (size_t)(at - text) : strlen(text);
	char        addr[M0_LNET_NIDSTR_SIZE];
	struct m0_lnet_nid              found = {};
	const struct m0_lnet__net_type *type;

	if (len >= sizeof addr)
		return -EINVAL;
	memcpy(addr, text, len);
	addr[len] = '\0';
	type = net_parse(at != NULL ? at + 1 : "tcp", &found.ln_num);
	if (type == NULL || addr_parse(&found, type->lty_form, addr) != 0)
		return -EINVAL;
	found.ln_type = type->lty_type;
	*nid = found;
	return 0;
}

int m0_lnet_nid_parse_any(struct m0_lnet_nid *nid, const char *text)
{
	if (strcmp(text, "*") == 0 || strcmp(text, any_text) == 0) {
		*nid = m0_lnet_nid_any;
		return 0;
	}
	return m0_lnet_nid_parse(nid, text);
}
