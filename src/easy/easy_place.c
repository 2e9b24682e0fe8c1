/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Places: the text of m0_easy_open(), and the nodes that it asks for. */
#include <stdarg.h>
#include <stdio.h>

#include "easy/easy_internal.h"
#include "m0/lnet.h"
#include "m0/lnet_info.h"
#include "m0/mem.h"
#include "m0/xlnet.h"
#include "xprt/lnet/xlnet_env.h"

enum {
	NETWORKS_MAX = 512,
	/** Between looks at a node that is being opened or closed. */
	BUSY_MS = 10,
	/** Time-outs of LNet of a node with several networks. */
	SEVERAL_TIMEOUT_MS = 10000
};

/** A node that places with equal networks and port share. Under nodes_lock. */
struct easy_node {
	struct m0_list_link eno_link;
	struct m0_lnet     *eno_lnet;
	/** m0_os_process(). */
	const void *eno_place;
	/** Somebody opens or closes it. */
	bool     eno_busy;
	uint32_t eno_users_nr;
	uint16_t eno_port;
	char     eno_networks[NETWORKS_MAX];
};

/** The parts of a text. */
struct text {
	bool     txt_is_mem;
	char     txt_networks[NETWORKS_MAX];
	uint16_t txt_port;
	/** "": not given. */
	char txt_addr[M0_RPC_LINKS_MAX * M0_RPC_ADDR_MAX];
};

static struct m0_mutex nodes_lock = M0_MUTEX_SINIT(&nodes_lock);
static struct m0_list  nodes = { { &nodes.l_head, &nodes.l_head } };

static __attribute__((__format__(printf, 3, 4))) int wrong(char *why, int rc,
							   const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, M0_EASY_WHY_BYTES, fmt, args);
	va_end(args);
	return rc;
}

/* --------------------------------------------------------------- the text -- */

static int addr_take(struct text *ret, const char *text, char *why)
{
	size_t nr = strlen(text);

	if (nr >= sizeof ret->txt_addr)
		return wrong(
			why, -EINVAL,
			"the addresses \"%.64s...\" are longer than %d bytes",
			text, (int)sizeof ret->txt_addr - 1);
	memcpy(ret->txt_addr, text, nr + 1);
	return 0;
}

/* The networks end at a '/' or ':' outside of parentheses. */
static size_t networks_nr(const char *text)
{
	int    depth = 0;
	size_t nr;

	for (nr = 0; text[nr] != 0; ++nr) {
		if (text[nr] == '(')
			++depth;
		else if (text[nr] == ')')
			--depth;
		else if (depth == 0 && M0_IN(text[nr], ('/', ':')))
			break;
	}
	return nr;
}

static int port_take(uint16_t *ret, const char **text, char *why)
{
	const char *at = *text;
	uint32_t    nr = 0;

	for (; *at >= '0' && *at <= '9' && nr <= UINT16_MAX; ++at)
		nr = nr * 10 + (uint32_t)(*at - '0');
	if (at == *text || nr == 0 || nr > UINT16_MAX ||
	    !M0_IN(*at, ('\0', ':')))
		return wrong(
			why, -EINVAL,
			"port \"%.64s\": a TCP port from 1 to 65535 is accepted",
			*text);
	*ret = (uint16_t)nr;
	*text = at;
	return 0;
}

/* Does an address stand where networks may stand, too? These begin with a letter,
 * and are no NID. */
static bool is_addr(const char *text)
{
	char               copy[M0_LNET_NIDSTR_SIZE];
	const char        *at = strchr(text, '@');
	size_t             nr = at == NULL ? 0 : (size_t)(at - text);
	struct m0_lnet_nid nid;

	if (*text >= '0' && *text <= '9')
		return true;
	nr += at == NULL ? 0 : strcspn(at, ":");
	if (nr == 0 || nr >= sizeof copy)
		return false;
	memcpy(copy, text, nr);
	copy[nr] = 0;
	return m0_lnet_nid_parse(&nid, copy) == 0;
}

static int lnet_take(struct text *ret, const char *text, char *why)
{
	size_t nr;
	int    rc = 0;

	if (*text == ':' && !is_addr(text + 1)) {
		++text;
		nr = networks_nr(text);
		if (nr >= sizeof ret->txt_networks)
			return wrong(why, -EINVAL,
				     "the networks are longer than %d bytes",
				     NETWORKS_MAX - 1);
		memcpy(ret->txt_networks, text, nr);
		text += nr;
	}
	if (*text == '/') {
		++text;
		rc = port_take(&ret->txt_port, &text, why);
	}
	if (rc == 0 && *text == ':')
		rc = addr_take(ret, text + 1, why);
	return rc;
}

static int text_parse(struct text *ret, const char *text, char *why)
{
	M0_SET0(ret);
	if (text == NULL)
		text = "lnet";
	if (strncmp(text, "mem:", 4) == 0) {
		ret->txt_is_mem = true;
		return addr_take(ret, text + 4, why);
	}
	if (strncmp(text, "lnet", 4) == 0 && M0_IN(text[4], ('\0', ':', '/')))
		return lnet_take(ret, text + 4, why);
	return wrong(why, -EINVAL,
		     "the place \"%.64s\": lnet:NETWORKS[/PORT][:ADDRESS], "
		     "lnet[/PORT][:ADDRESS] and mem:ADDRESS are accepted",
		     text);
}

/* ------------------------------------------------------------------ nodes -- */

static int env_take(struct text *text, char *why)
{
	const char *nets = m0_os_env("M0_LNET");

	if (text->txt_networks[0] != 0 || nets == NULL)
		return 0;
	if (strlen(nets) >= sizeof text->txt_networks)
		return wrong(why, -EINVAL, "$M0_LNET is longer than %d bytes",
			     NETWORKS_MAX - 1);
	strcpy(text->txt_networks, nets);
	return 0;
}

/* From any port, unless the environment says otherwise: nobody needs a privilege. */
static int cfg_make(struct m0_lnet_cfg *cfg, const struct text *text, char *why)
{
	int rc;

	m0_xlnet__cfg_of_env(cfg, M0_LNET_ACCEPT_ALL);
	if (text->txt_port != 0)
		cfg->lc_port = text->txt_port;
	rc = m0_xlnet__cfg_networks(cfg, text->txt_networks, why);
	/* Transfers over a network that has died end, and begin anew over the
	 * others. */
	if (rc == 0 && cfg->lc_nets_nr > 1 &&
	    m0_os_env("M0_LNET_TIMEOUT_MS") == NULL) {
		cfg->lc_timeout_ms = SEVERAL_TIMEOUT_MS;
		cfg->lc_transaction_timeout_ms = SEVERAL_TIMEOUT_MS;
	}
	return rc;
}

static int node_open(struct easy_node *node, const struct text *text, char *why)
{
	struct m0_lnet_cfg *cfg;
	int                 rc;

	M0_ALLOC_PTR(cfg);
	if (cfg == NULL)
		return wrong(why, -ENOMEM, "no memory");
	rc = cfg_make(cfg, text, why)
		     ?: m0_lnet_open(&node->eno_lnet, cfg, why);
	m0_free(cfg);
	if (rc != 0)
		return rc;
	rc = m0_net_lnet_use(node->eno_lnet);
	if (rc != 0) {
		m0_lnet_close(node->eno_lnet);
		return wrong(why, rc, "no memory");
	}
	return 0;
}

static struct easy_node *node_find(const struct text *text)
{
	struct easy_node *node;

	m0_list_for_each_entry(&nodes, node, struct easy_node, eno_link) {
		if (node->eno_place == m0_os_process() &&
		    node->eno_port == text->txt_port &&
		    strcmp(node->eno_networks, text->txt_networks) == 0)
			return node;
	}
	return NULL;
}

/* Opening and closing take time, so the lock is not held then: a node that is busy is
 * waited for. Returns with the lock. */
static struct easy_node *node_find_idle(const struct text *text)
{
	struct easy_node *node;

	m0_mutex_lock(&nodes_lock);
	while ((node = node_find(text)) != NULL && node->eno_busy) {
		m0_mutex_unlock(&nodes_lock);
		m0_time_sleep(m0_time_from_now(0, BUSY_MS * M0_TIME_ONE_MSEC));
		m0_mutex_lock(&nodes_lock);
	}
	return node;
}

/* The lock is held. */
static void node_drop(struct easy_node *node)
{
	m0_list_del(&node->eno_link);
	m0_list_link_fini(&node->eno_link);
	m0_free(node);
}

static int node_take(struct easy_node **ret, const struct text *text, char *why)
{
	struct easy_node *node = node_find_idle(text);
	int               rc = 0;

	if (node != NULL) {
		++node->eno_users_nr;
	} else if (M0_ALLOC_PTR(node) == NULL) {
		rc = wrong(why, -ENOMEM, "no memory");
	} else {
		node->eno_place = m0_os_process();
		node->eno_port = text->txt_port;
		node->eno_users_nr = 1;
		node->eno_busy = true;
		m0_list_link_init(&node->eno_link);
		strcpy(node->eno_networks, text->txt_networks);
		m0_list_add(&nodes, &node->eno_link);
		m0_mutex_unlock(&nodes_lock);
		rc = node_open(node, text, why);
		m0_mutex_lock(&nodes_lock);
		node->eno_busy = false;
		if (rc != 0)
			node_drop(node);
	}
	m0_mutex_unlock(&nodes_lock);
	*ret = node;
	return rc;
}

static void node_put(struct easy_node *node)
{
	m0_mutex_lock(&nodes_lock);
	if (--node->eno_users_nr == 0) {
		node->eno_busy = true;
		m0_mutex_unlock(&nodes_lock);
		(void)m0_net_lnet_unuse(node->eno_lnet);
		m0_lnet_close(node->eno_lnet);
		m0_mutex_lock(&nodes_lock);
		node_drop(node);
	}
	m0_mutex_unlock(&nodes_lock);
}

/* -------------------------------------------------------------- addresses -- */

/*
 * The part of an address after the NID, for the NID with this index: the last
 * number is higher by the index, as a node has each number once.
 */
static void tail_make(char *ret, const char *text, uint32_t index)
{
	const char *last = strrchr(text, ':');
	uint32_t    nr = 0;
	const char *at = last == NULL ? text : last + 1;

	if (index == 0 || *at < '0' || *at > '9') {
		(void)snprintf(ret, M0_RPC_ADDR_MAX, "%s", text);
		return;
	}
	for (; *at >= '0' && *at <= '9' && nr <= UINT16_MAX; ++at)
		nr = nr * 10 + (uint32_t)(*at - '0');
	(void)snprintf(ret, M0_RPC_ADDR_MAX, "%.*s:%u%s",
		       (int)(last == NULL ? 0 : last - text), text, nr + index,
		       at);
}

static int own_add(struct easy_place *place, const struct m0_lnet_nid *nid,
		   const char *text, char *why)
{
	struct easy_addrs *own = &place->epl_own;
	char               nid_text[M0_LNET_NIDSTR_SIZE];
	char               tail[M0_RPC_ADDR_MAX];

	(void)m0_lnet_nid_print(nid, nid_text, sizeof nid_text);
	tail_make(tail, text, own->ead_nr);
	if (snprintf(own->ead_addr[own->ead_nr], M0_RPC_ADDR_MAX, "%s:%s",
		     nid_text, tail) >= M0_RPC_ADDR_MAX)
		return wrong(why, -EINVAL, "the address is too long");
	++own->ead_nr;
	return 0;
}

/* A service is at each NID, up to the limit. */
static int own_all(struct easy_place *place, const struct m0_lnet_info *info,
		   const char *tail, char *why)
{
	unsigned i;
	int      rc = 0;

	for (i = 0; rc == 0 && i < info->li_nis_nr &&
		    place->epl_own.ead_nr < M0_RPC_LINKS_MAX;
	     ++i)
		if (!m0_lnet_nid_is_lo(&info->li_nis[i].nii_nid))
			rc = own_add(place, &info->li_nis[i].nii_nid, tail,
				     why);
	return rc;
}

/* Our NID on the network of an address; `first` if there is none: then routers lead
 * there. */
static unsigned ni_for(const struct m0_lnet_info *info, const char *addr,
		       unsigned first)
{
	char               copy[M0_RPC_ADDR_MAX];
	struct m0_lnet_nid nid;
	unsigned           i;

	(void)snprintf(copy, sizeof copy, "%s", addr);
	copy[strcspn(copy, "@") + strcspn(copy + strcspn(copy, "@"), ":")] = 0;
	if (m0_lnet_nid_parse(&nid, copy) != 0)
		return first;
	for (i = first; i < info->li_nis_nr; ++i)
		if (info->li_nis[i].nii_nid.ln_type == nid.ln_type &&
		    info->li_nis[i].nii_nid.ln_num == nid.ln_num)
			return i;
	return first;
}

/* A client has an address of its own on the network of each of the service's, in
 * their order, as its links leave from them by turns. */
static int own_match(struct easy_place *place, const struct m0_lnet_info *info,
		     unsigned first, char *why)
{
	uint64_t taken = 0;
	unsigned ni;
	uint32_t i;
	int      rc = 0;

	for (i = 0; rc == 0 && i < place->epl_service.ead_nr; ++i) {
		ni = ni_for(info, place->epl_service.ead_addr[i], first);
		if (ni >= 64 || (taken & UINT64_C(1) << ni))
			continue;
		taken |= UINT64_C(1) << ni;
		rc = own_add(place, &info->li_nis[ni].nii_nid, "12345:40:*",
			     why);
	}
	return rc;
}

static int own_set(struct easy_place *place, const struct text *text,
		   bool is_service, char *why)
{
	const char          *tail = "12345:40:1";
	struct m0_lnet_info *info;
	unsigned             first = 0;
	int rc = m0_lnet_info_head_get(place->epl_node->eno_lnet, &info);

	if (rc != 0)
		return wrong(why, rc, "the node has ended");
	while (first < info->li_nis_nr &&
	       m0_lnet_nid_is_lo(&info->li_nis[first].nii_nid))
		++first;
	if (text->txt_addr[0] != 0)
		tail = text->txt_addr;
	if (first == info->li_nis_nr)
		rc = wrong(why, -EADDRNOTAVAIL,
			   "the node has no network but lo");
	else if (is_service)
		rc = own_all(place, info, tail, why);
	else
		rc = own_match(place, info, first, why);
	m0_lnet_info_free(info);
	return rc;
}

/* One of several, which commas separate. */
static int addr_add(struct easy_addrs *ret, const char *addr, size_t nr,
		    const char *tail, char *why)
{
	if (nr == 0 || ret->ead_nr == M0_RPC_LINKS_MAX ||
	    nr + strlen(tail) >= M0_RPC_ADDR_MAX)
		return wrong(why, -EINVAL,
			     "the address \"%.*s\": up to %d addresses of up "
			     "to %d bytes are accepted, with commas between",
			     (int)min64u(nr, M0_RPC_ADDR_MAX), addr,
			     M0_RPC_LINKS_MAX, M0_RPC_ADDR_MAX - 1);
	memcpy(ret->ead_addr[ret->ead_nr], addr, nr);
	strcpy(ret->ead_addr[ret->ead_nr++] + nr, tail);
	return 0;
}

/* Stores what follows a NID alone: the first stands for the default service, and others have
 * the number after that of the address before. */
static void nid_tail(char *ret, const struct easy_addrs *addrs)
{
	const char *before =
		addrs->ead_nr == 0 ? NULL : addrs->ead_addr[addrs->ead_nr - 1];

	if (before != NULL)
		before = strchr(before + strcspn(before, "@"), ':');
	if (before == NULL)
		tail_make(ret, ":12345:40:1", addrs->ead_nr);
	else
		tail_make(ret, before, 1);
}

static bool is_nid(const char *addr, size_t nr)
{
	char               copy[M0_LNET_NIDSTR_SIZE];
	struct m0_lnet_nid nid;

	if (nr >= sizeof copy)
		return false;
	memcpy(copy, addr, nr);
	copy[nr] = 0;
	return m0_lnet_nid_parse(&nid, copy) == 0;
}

static int addrs_set(struct easy_addrs *ret, const struct text *text, char *why)
{
	const char *at = text->txt_addr;
	char        tail[M0_RPC_ADDR_MAX];
	size_t      nr;
	int         rc = 0;

	for (; rc == 0; at += nr + 1) {
		nr = strcspn(at, ",");
		*tail = 0;
		if (!text->txt_is_mem && is_nid(at, nr))
			nid_tail(tail, ret);
		rc = addr_add(ret, at, nr, tail, why);
		if (at[nr] == 0)
			break;
	}
	return rc;
}

static int service_set(struct easy_place *place, const struct text *text,
		       char *why)
{
	if (text->txt_addr[0] == 0)
		return wrong(why, -EINVAL,
			     "a client's place has the address of its service, "
			     "for example lnet:tcp(eth0):10.0.0.1@tcp");
	strcpy(place->epl_text, text->txt_addr);
	return addrs_set(&place->epl_service, text, why);
}

static int text_open(struct easy_place *place, struct text *text,
		     bool is_service, char *why)
{
	int rc = 0;

	if (!is_service)
		rc = service_set(place, text, why);
	else if (text->txt_is_mem && text->txt_addr[0] != 0)
		rc = addrs_set(&place->epl_own, text, why);
	if (rc == 0 && text->txt_is_mem) {
		place->epl_xprt = &m0_net_bulk_mem_xprt;
		return 0;
	}
	rc = rc ?: env_take(text, why);
	rc = rc ?: node_take(&place->epl_node, text, why);
	if (rc != 0)
		return rc;
	place->epl_xprt = &m0_net_lnet_xprt;
	rc = own_set(place, text, is_service, why);
	if (rc != 0)
		m0_easy__place_close(place);
	return rc;
}

int m0_easy__place_open(struct easy_place *place, const char *place_text,
			bool is_service, char *why)
{
	struct text *text;
	int          rc;

	M0_SET0(place);
	if (M0_ALLOC_PTR(text) == NULL)
		return wrong(why, -ENOMEM, "no memory");
	rc = text_parse(text, place_text, why);
	rc = rc ?: text_open(place, text, is_service, why);
	m0_free(text);
	return rc;
}

void m0_easy__place_close(struct easy_place *place)
{
	if (place->epl_node != NULL)
		node_put(place->epl_node);
	place->epl_node = NULL;
}
