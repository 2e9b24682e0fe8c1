/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Networks as text:
 *
 *	text  = entry { "," entry }
 *	entry = net [ "(" iface { "," iface } ")" ] [ cpt ] { blank pair }
 *	iface = name [ cpt ]
 *	cpt   = "[" digits, commas and dashes "]"
 *	pair  = name "=" value
 *
 * with blanks between. What stands in brackets binds to processors, which a node
 * in a process has no use for: it is read and left alone. So is the network lo,
 * which every node is on.
 */
#include <stdio.h>

#include "node/node_internal.h"

enum {
	TEXT_MAX = 4096
};

struct nets_text {
	struct m0_lnet_cfg *ntx_cfg;
	const char         *ntx_text;
	const char         *ntx_at;
	char               *ntx_why;
};

/* Reports the error and its position. */
static int syntax(const struct nets_text *nt, const char *what)
{
	return m0_node_why(nt->ntx_why, -EINVAL,
			   "networks \"%.200s\": %s at character %zu "
			   "(\"%.20s\")",
			   nt->ntx_text, what,
			   (size_t)(nt->ntx_at - nt->ntx_text) + 1, nt->ntx_at);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static bool is_mark(char c)
{
	return c == 0 || c == ',' || c == '(' || c == ')' || c == '[' ||
	       c == ']' || is_blank(c);
}

static char look(struct nets_text *nt)
{
	while (is_blank(*nt->ntx_at))
		++nt->ntx_at;
	return *nt->ntx_at;
}

static bool take(struct nets_text *nt, char c)
{
	if (look(nt) != c)
		return false;
	++nt->ntx_at;
	return true;
}

/* Copies a name of at least one character. */
static int name_take(struct nets_text *nt, char *name, size_t size,
		     const char *what)
{
	size_t nr = 0;

	if (is_mark(look(nt)))
		return syntax(nt, what);
	while (!is_mark(nt->ntx_at[nr]))
		++nr;
	if (nr >= size)
		return syntax(nt, "a name that is too long");
	memcpy(name, nt->ntx_at, nr);
	name[nr] = 0;
	nt->ntx_at += nr;
	return 0;
}

static int cpt_take(struct nets_text *nt)
{
	if (!take(nt, '['))
		return 0;
	if (look(nt) == ']')
		return syntax(nt, "an empty set of processors");
	while (look(nt) != 0 && strchr("0123456789,-/", *nt->ntx_at) != NULL)
		++nt->ntx_at;
	return take(nt, ']') ? 0 : syntax(nt, "no \"]\"");
}

/* @param net  NULL: the interface is read and left alone. */
static int iface_take(struct nets_text *nt, struct m0_lnet_net_cfg *net)
{
	char name[M0_LNET_CFG_NAME_BYTES];
	int  rc;

	rc = name_take(nt, name, sizeof name, "no name of an interface");
	if (rc == 0)
		rc = cpt_take(nt);
	if (rc != 0 || net == NULL)
		return rc;
	if (net->lnc_ifaces_nr == M0_LNET_CFG_IFACES_MAX)
		return m0_node_why(nt->ntx_why, -ENOSPC,
				   "networks \"%.200s\": more than %d "
				   "interfaces on one network",
				   nt->ntx_text, M0_LNET_CFG_IFACES_MAX);
	memcpy(net->lnc_ifaces[net->lnc_ifaces_nr++], name, sizeof name);
	return 0;
}

static int ifaces_take(struct nets_text *nt, struct m0_lnet_net_cfg *net)
{
	int rc;

	do {
		rc = iface_take(nt, net);
	} while (rc == 0 && take(nt, ','));
	if (rc == 0 && !take(nt, ')'))
		rc = syntax(nt, "neither \",\" nor \")\"");
	return rc;
}

static int net_unknown(const struct nets_text *nt)
{
	char nets[M0_NODE_NETS_TEXT_BYTES];
	char text[M0_NODE_NETS_TEXT_BYTES + 32];

	snprintf(text, sizeof text, "not a network of ours (%s)",
		 m0_node__nets_text(nets));
	return syntax(nt, text);
}

/* The network's name. */
static int net_take(struct nets_text *nt, uint32_t *net)
{
	char        name[M0_LNET_NIDSTR_SIZE];
	const char *at;
	int         rc;

	(void)look(nt);
	at = nt->ntx_at;
	rc = name_take(nt, name, sizeof name, "no name of a network");
	if (rc != 0)
		return rc;
	if (m0_lnet_net_parse(net, name) != 0 ||
	    m0_lnd_row_of(m0_lnet_net_type(*net)) == NULL) {
		nt->ntx_at = at;
		return net_unknown(nt);
	}
	if (m0_node__net_find(nt->ntx_cfg, *net) != NULL) {
		nt->ntx_at = at;
		return syntax(nt, "a network that was named before");
	}
	return 0;
}

/* Copies a pair, up to the next blank or comma. */
static int pair_take(struct nets_text *nt, char pair[M0_LNET_CFG_NAME_BYTES])
{
	size_t nr = 0;

	while (nt->ntx_at[nr] != 0 && nt->ntx_at[nr] != ',' &&
	       !is_blank(nt->ntx_at[nr]))
		++nr;
	if (memchr(nt->ntx_at, '=', nr) == NULL)
		return syntax(nt, "neither \",\" nor NAME=VALUE");
	if (nr >= M0_LNET_CFG_NAME_BYTES)
		return syntax(nt, "an option that is too long");
	memcpy(pair, nt->ntx_at, nr);
	pair[nr] = 0;
	nt->ntx_at += nr;
	return 0;
}

static int tunables_take(struct nets_text *nt, struct m0_lnet_net_cfg *net)
{
	char own[M0_LNET_CFG_OPTIONS_BYTES] = "";
	char pair[M0_LNET_CFG_NAME_BYTES];
	int  rc = 0;

	while (rc == 0 && !is_mark(look(nt))) {
		if (net == NULL)
			return syntax(nt, "an option, but lo has none");
		rc = pair_take(nt, pair);
		if (rc == 0)
			rc = m0_node__tunable_add(net, own, pair, nt->ntx_why);
	}
	if (rc == 0 && net != NULL)
		rc = m0_node__tunables_check(nt->ntx_cfg, net, nt->ntx_why);
	return rc;
}

static int entry_take(struct nets_text *nt)
{
	struct m0_lnet_cfg     *cfg = nt->ntx_cfg;
	struct m0_lnet_net_cfg *net = NULL;
	uint32_t                nr;
	int                     rc;

	rc = net_take(nt, &nr);
	if (rc != 0)
		return rc;
	if (m0_lnet_net_type(nr) != M0_LNET_TYPE_LO) {
		if (cfg->lc_nets_nr == M0_LNET_CFG_NETS_MAX)
			return m0_node_why(nt->ntx_why, -ENOSPC,
					   "networks \"%.200s\": more than %d "
					   "networks",
					   nt->ntx_text, M0_LNET_CFG_NETS_MAX);
		net = &cfg->lc_nets[cfg->lc_nets_nr];
		M0_SET0(net);
		net->lnc_net = nr;
	}
	if (take(nt, '('))
		rc = ifaces_take(nt, net);
	if (rc == 0)
		rc = cpt_take(nt);
	if (rc == 0)
		rc = tunables_take(nt, net);
	if (rc == 0 && net != NULL)
		++cfg->lc_nets_nr;
	return rc;
}

int m0_lnet_cfg_networks(struct m0_lnet_cfg *cfg, const char *text, char *why)
{
	struct nets_text nt = {
		.ntx_cfg = cfg, .ntx_text = text, .ntx_at = text, .ntx_why = why
	};
	unsigned nr = cfg->lc_nets_nr;
	int      rc;

	if (strlen(text) > TEXT_MAX)
		return m0_node_why(why, -EINVAL,
				   "networks are %zu characters long; they "
				   "may have up to %d",
				   strlen(text), TEXT_MAX);
	do {
		rc = entry_take(&nt);
	} while (rc == 0 && take(&nt, ','));
	if (rc == 0 && look(&nt) != 0)
		rc = syntax(&nt, "something else than \",\"");
	/* All of it, or nothing. */
	if (rc != 0)
		cfg->lc_nets_nr = nr;
	return rc;
}
