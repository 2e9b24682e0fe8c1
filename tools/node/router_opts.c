/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Options of `colibri node` for routes and routing. */
#include "lnet_opts.h"
#include "../base/text.h"

enum {
	KEY_ROUTING = 0x1100,
	KEY_ROUTER_MEMORY,
	KEY_TINY,
	KEY_SMALL,
	KEY_LARGE,
	KEY_CHECK_INTERVAL,
	KEY_PING_TIMEOUT,
	KEY_CHECK_FIRST,
	KEY_USE_ASYM,
	KEY_DROP_ASYM,
	KEY_USE_DOWN,
	KEY_CUT_THROUGH,
	KEY_SPLICE
};

static const struct argp_option router_options[] = {
	{ NULL, 0, NULL, 0, "Routers:", 4 },
	{ "routing", KEY_ROUTING, NULL, 0,
	  "Forward messages between the networks of the node", 0 },
	{ "router-memory", KEY_ROUTER_MEMORY, "SIZE", 0,
	  "Most memory of the router buffers; default 256M", 0 },
	{ "tiny-buffers", KEY_TINY, "N", 0,
	  "Most router buffers for messages without payload; default 512", 0 },
	{ "small-buffers", KEY_SMALL, "N", 0,
	  "Most router buffers of 4 KiB; default 4096", 0 },
	{ "large-buffers", KEY_LARGE, "N", 0,
	  "Most router buffers of 1 MiB; default 256", 0 },
	{ "router-check-interval", KEY_CHECK_INTERVAL, "TIME", 0,
	  "Time between two checks of a gateway; default 60; 0: one check when "
	  "its first route is added",
	  0 },
	{ "router-ping-timeout", KEY_PING_TIMEOUT, "TIME", 0,
	  "A gateway that has not answered for this long is down; default 50",
	  0 },
	{ "check-routers-before-use", KEY_CHECK_FIRST, NULL, 0,
	  "Use a route only after a check of its gateway, and start when those "
	  "of --routes were checked",
	  0 },
	{ "use-asym-routes", KEY_USE_ASYM, NULL, 0,
	  "Use a single-hop route also while its gateway reports no interface "
	  "on the remote network that is up",
	  0 },
	{ "drop-asym-route", KEY_DROP_ASYM, NULL, 0,
	  "Drop messages from a gateway by which there is no route back", 0 },
	{ "cut-through", KEY_CUT_THROUGH, NULL, 0,
	  "Send a large message on when half of it is there, to Colibri nodes "
	  "only",
	  0 },
	{ "splice", KEY_SPLICE, NULL, 0,
	  "Pass payloads of 64 KiB and more from socket to socket by splice(2)",
	  0 },
	{ "use-down-routes", KEY_USE_DOWN, NULL, 0,
	  "Use routes that are down; for tests of networks only", 0 },
	{ 0 },
};

static void memory_option(struct lnet_opts *opts, const char *text)
{
	if (text_size_parse(text, &opts->nop_cfg.lc_routing.lgc_bytes) != 0)
		tool_bad_value(opts->nop_fail, "--router-memory", text,
			       TEXT_SIZE_FORMS);
}

static void buffers_option(struct lnet_opts *opts, const char *option,
			   unsigned i, const char *text)
{
	opts->nop_cfg.lc_routing.lgc_buffers[i] = (unsigned)tool_number_option(
		opts->nop_fail, option, text, 1, ROUTER_BUFFERS_MAX);
}

static error_t router_option(int key, char *arg, struct argp_state *state)
{
	struct lnet_opts           *opts = state->input;
	struct m0_lnet_routing_cfg *cfg = &opts->nop_cfg.lc_routing;

	switch (key) {
	case KEY_ROUTING:
		cfg->lgc_on = true;
		break;
	case KEY_ROUTER_MEMORY:
		opts->nop_starts |= 1U << CONF_START_ROUTER_MEMORY;
		memory_option(opts, arg);
		break;
	case KEY_TINY:
		buffers_option(opts, "--tiny-buffers", 0, arg);
		break;
	case KEY_SMALL:
		buffers_option(opts, "--small-buffers", 1, arg);
		break;
	case KEY_LARGE:
		buffers_option(opts, "--large-buffers", 2, arg);
		break;
	case KEY_CHECK_INTERVAL:
		opts->nop_starts |= 1U << CONF_START_CHECK_INTERVAL;
		cfg->lgc_check_ms = tool_ms_option(
			opts->nop_fail, "--router-check-interval", arg, 0);
		break;
	case KEY_PING_TIMEOUT:
		opts->nop_starts |= 1U << CONF_START_PING_TIMEOUT;
		cfg->lgc_ping_ms = tool_ms_option(
			opts->nop_fail, "--router-ping-timeout", arg, 1);
		break;
	case KEY_CHECK_FIRST:
		opts->nop_starts |= 1U << CONF_START_CHECK_FIRST;
		cfg->lgc_check_first = true;
		break;
	case KEY_USE_ASYM:
		opts->nop_starts |= 1U << CONF_START_AVOID_ASYM;
		cfg->lgc_avoid_asym = false;
		break;
	case KEY_DROP_ASYM:
		cfg->lgc_drop_asym = true;
		break;
	case KEY_CUT_THROUGH:
		cfg->lgc_cut_through = true;
		break;
	case KEY_SPLICE:
		cfg->lgc_splice = true;
		break;
	case KEY_USE_DOWN:
		opts->nop_starts |= 1U << CONF_START_USE_DOWN;
		cfg->lgc_use_down = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp router_opts_argp = {
	router_options, router_option, NULL, NULL, NULL, NULL, NULL,
};
