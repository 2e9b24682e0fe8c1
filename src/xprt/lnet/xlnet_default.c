/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The default node: opened for the first domain if the process has no node, as
 * the environment configures it.
 */
#include "xprt/lnet/xlnet_env.h"
#include "xprt/lnet/xlnet_internal.h"
#include "os/os.h"

enum {
	/** Credits of the default node for each peer. */
	PEER_CREDITS = 64
};

/** Time between looks at another domain that opens or closes the node. */
#define LOOK_NS 1000000

static uint32_t domains_nr;
/* The default node is being opened, or closed. */
static bool default_changes;

static void number_of_env(const char *name, uint64_t max, uint64_t *ret)
{
	const char *text = m0_os_env(name);
	uint64_t    v = 0;

	if (text == NULL || *text == 0)
		return;
	for (; *text >= '0' && *text <= '9' && v <= max; ++text)
		v = v * 10 + (uint64_t)(*text - '0');
	if (*text == 0 && v > 0 && v <= max)
		*ret = v;
	else
		m0_log(M0_LOG_WARN,
		       "lnet: $%s is no number from 1 to %" PRIu64
		       "; it is not used",
		       name, max);
}

static void accept_of_env(struct m0_lnet_cfg *cfg)
{
	static const char *const names[] = { [M0_LNET_ACCEPT_SECURE] = "secure",
					     [M0_LNET_ACCEPT_ALL] = "all",
					     [M0_LNET_ACCEPT_NONE] = "none" };
	const char              *text = m0_os_env("M0_LNET_ACCEPT");
	unsigned                 i;

	for (i = 0; text != NULL && i < ARRAY_SIZE(names); ++i) {
		if (strcmp(text, names[i]) == 0)
			cfg->lc_accept = (enum m0_lnet_accept)i;
	}
}

void m0_xlnet__cfg_of_env(struct m0_lnet_cfg *cfg, enum m0_lnet_accept accept)
{
	const char *cpus = m0_os_env("M0_LNET_CPUS");
	uint64_t    port;
	uint64_t    timeout = 0;

	m0_lnet_cfg_default(cfg);
	port = cfg->lc_port;
	/* A thread comes with the first machine that needs one. */
	cfg->lc_inline = true;
	/* So many messages may leave in one call. */
	cfg->lc_peer_credits = PEER_CREDITS;
	number_of_env("M0_LNET_PORT", UINT16_MAX, &port);
	cfg->lc_port = (uint16_t)port;
	cfg->lc_accept = accept;
	accept_of_env(cfg);
	/* From any port: those of old need a privilege. */
	if (cfg->lc_accept != M0_LNET_ACCEPT_SECURE) {
		cfg->lc_src_port_max = 0;
		cfg->lc_src_port_min = 0;
	}
	number_of_env("M0_LNET_TIMEOUT_MS", UINT32_MAX, &timeout);
	if (timeout > 0) {
		cfg->lc_transaction_timeout_ms = timeout;
		cfg->lc_timeout_ms = timeout;
	}
	/* Too long, it has no end, which the node's check finds. */
	if (cpus != NULL)
		memcpy(cfg->lc_cpus, cpus,
		       min64u(strlen(cpus) + 1, sizeof cfg->lc_cpus));
}

int m0_xlnet__cfg_networks(struct m0_lnet_cfg *cfg, const char *networks,
			   char *why)
{
	if (*networks == 0 || strcmp(networks, "attach") == 0 ||
	    strncmp(networks, "attach:", sizeof "attach:" - 1) == 0)
		return 0;
	return m0_lnet_cfg_networks(cfg, networks, why);
}

/* Fills the configuration as the environment says. */
static int default_cfg(struct m0_lnet_cfg *cfg, char *why)
{
	const char *nets = m0_os_env("M0_LNET");

	m0_xlnet__cfg_of_env(cfg, M0_LNET_ACCEPT_SECURE);
	return nets == NULL ? 0 : m0_xlnet__cfg_networks(cfg, nets, why);
}

static int default_open(void)
{
	char                why[M0_LNET_WHY_BYTES] = "";
	struct m0_lnet_cfg *cfg;
	struct xlnet_node  *node;
	struct m0_lnet     *lnet;
	int                 rc;

	M0_ALLOC_PTR(cfg);
	if (cfg == NULL)
		return -ENOMEM;
	rc = default_cfg(cfg, why);
	if (rc == 0)
		rc = m0_lnet_open(&lnet, cfg, why);
	m0_free(cfg);
	if (rc != 0) {
		m0_log(M0_LOG_ERROR, "lnet: %s", why);
		return rc;
	}
	node = m0_xlnet__node_make(lnet);
	if (node == NULL) {
		m0_lnet_close(lnet);
		return -ENOMEM;
	}
	node->xn_is_default = true;
	rc = m0_xlnet__node_add(node);
	if (rc != 0) {
		m0_xlnet__node_free(node);
		m0_lnet_close(lnet);
	}
	return rc;
}

/* Another domain's node is being opened or closed: waits. */
static void default_lock(void)
{
	m0_mutex_lock(&m0_xlnet__lock);
	while (default_changes) {
		m0_mutex_unlock(&m0_xlnet__lock);
		m0_time_sleep(m0_time_from_now(0, LOOK_NS));
		m0_mutex_lock(&m0_xlnet__lock);
	}
}

int m0_xlnet__nodes_get(void)
{
	bool opens;
	int  rc = 0;

	default_lock();
	opens = m0_xlnet__nodes_are_empty();
	default_changes = opens;
	++domains_nr;
	m0_mutex_unlock(&m0_xlnet__lock);
	if (!opens)
		return 0;
	rc = default_open();
	m0_mutex_lock(&m0_xlnet__lock);
	default_changes = false;
	if (rc != 0)
		--domains_nr;
	m0_mutex_unlock(&m0_xlnet__lock);
	return rc;
}

void m0_xlnet__nodes_put(void)
{
	struct xlnet_node *node = NULL;
	struct m0_lnet    *lnet;

	default_lock();
	if (--domains_nr == 0)
		node = m0_xlnet__node_take_default();
	default_changes = node != NULL;
	m0_mutex_unlock(&m0_xlnet__lock);
	if (node == NULL)
		return;
	lnet = node->xn_lnet;
	m0_xlnet__node_free(node);
	m0_lnet_close(lnet);
	m0_mutex_lock(&m0_xlnet__lock);
	default_changes = false;
	m0_mutex_unlock(&m0_xlnet__lock);
}
