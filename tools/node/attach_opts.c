/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Options that say who may attach to the node, and limit each process. */
#include <pwd.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "attach_opts.h"
#include "attach_rule.h"
#include "lnet_opts.h"
#include "../base/text.h"

enum {
	KEY_ATTACH = 0x1200,
	KEY_USERS,
	KEY_GROUPS,
	KEY_MODE,
	KEY_PROCESSES,
	KEY_MEMORY,
	KEY_TOTAL,
	KEY_RULE,
	PROCESSES_MAX = 65536,
	NAME_MAX_BYTES = 64
};

static const struct argp_option attach_options[] = {
	{ NULL, 0, NULL, 0, "Processes that use the node:", 5 },
	{ "attach", KEY_ATTACH, "PATH", OPTION_ARG_OPTIONAL,
	  "Let processes of this host use the node by a socket; default "
	  "/run/colibri/attach.sock",
	  0 },
	{ "attach-users", KEY_USERS, "LIST", 0,
	  "Users that may attach, names or numbers separated by commas; default "
	  "root and the user of the node",
	  0 },
	{ "attach-groups", KEY_GROUPS, "LIST", 0,
	  "Groups whose members may attach; the first is that of the socket, "
	  "whose default mode is then 660",
	  0 },
	{ "attach-mode", KEY_MODE, "OCTAL", 0,
	  "Mode of that socket, 600 (default) to 666", 0 },
	{ "attach-processes", KEY_PROCESSES, "N", 0,
	  "Most processes at a time; default 256", 0 },
	{ "attach-memory", KEY_MEMORY, "SIZE", 0,
	  "Most memory of a process that the node maps; default 1G", 0 },
	{ "attach-memory-total", KEY_TOTAL, "SIZE", 0,
	  "Most memory of all processes together; default no bound", 0 },
	{ "attach-rule", KEY_RULE, "RULE", 0,
	  "Portals and numbers of transfer machines that processes may use: "
	  "[user=NAME:|group=NAME:][portals=RANGES:][tms=RANGES:]"
	  "[copies=on|off], as user=ann:portals=40:tms=0-63; copies=off: "
	  "the node copies for processes with --same-host, too; the first "
	  "rule that is about a process applies; default all",
	  0 },
	{ 0 },
};

bool attach_user_parse(const char *text, uint32_t *ret)
{
	const struct passwd *user = getpwnam(text);
	uint64_t             nr = 0;

	if (user == NULL &&
	    (text_number_parse(text, &nr) != 0 || nr >= UINT32_MAX))
		return false;
	*ret = user != NULL ? user->pw_uid : (uint32_t)nr;
	return true;
}

/* @return how many ids the list has; 0: it is not accepted. */
static unsigned ids_parse(const char *text,
			  bool (*parse)(const char *, uint32_t *),
			  uint32_t ids[M0_LNET_DAEMON_IDS_MAX])
{
	char        name[NAME_MAX_BYTES];
	const char *comma;
	size_t      bytes;
	unsigned    nr = 0;

	for (;; text = comma + 1) {
		comma = strchr(text, ',');
		bytes = comma == NULL ? strlen(text) : (size_t)(comma - text);
		if (bytes == 0 || bytes >= sizeof name ||
		    nr == M0_LNET_DAEMON_IDS_MAX)
			return 0;
		(void)snprintf(name, sizeof name, "%.*s", (int)bytes, text);
		if (!parse(name, &ids[nr]))
			return 0;
		++nr;
		if (comma == NULL)
			return nr;
	}
}

static void users_option(struct attach_opts *opts, const char *text)
{
	struct m0_lnet_daemon_cfg *cfg = &opts->ato_cfg;

	cfg->ldc_uids_nr = ids_parse(text, attach_user_parse, cfg->ldc_uids);
	if (cfg->ldc_uids_nr == 0)
		tool_bad_value(
			opts->ato_fail, "--attach-users", text,
			"names or numbers of at most 16 users, separated "
			"by commas");
}

static void groups_option(struct attach_opts *opts, const char *text)
{
	struct m0_lnet_daemon_cfg *cfg = &opts->ato_cfg;

	cfg->ldc_gids_nr = ids_parse(text, tool_group_parse, cfg->ldc_gids);
	if (cfg->ldc_gids_nr == 0)
		tool_bad_value(opts->ato_fail, "--attach-groups", text,
			       "names or numbers of at most 16 groups, "
			       "separated by commas");
	else
		cfg->ldc_group = cfg->ldc_gids[0];
}

static void memory_option(struct attach_opts *opts, const char *text,
			  uint64_t *bytes)
{
	if (text_size_parse(text, bytes) != 0 || *bytes < 4096 ||
	    *bytes > UINT64_C(1) << 48)
		tool_bad_value(opts->ato_fail, opts->ato_needs, text,
			       TEXT_SIZE_FORMS "; 4K to 256T");
}

static error_t attach_option(int key, char *arg, struct argp_state *state)
{
	struct attach_opts *opts = state->input;

	switch (key) {
	case KEY_ATTACH:
		opts->ato_given = true;
		opts->ato_path = arg;
		return 0;
	case KEY_USERS:
		opts->ato_needs = "--attach-users";
		users_option(opts, arg);
		return 0;
	case KEY_GROUPS:
		opts->ato_needs = "--attach-groups";
		groups_option(opts, arg);
		return 0;
	case KEY_MODE:
		opts->ato_needs = "--attach-mode";
		opts->ato_has_mode = true;
		opts->ato_cfg.ldc_mode =
			tool_mode_option(opts->ato_fail, opts->ato_needs, arg);
		return 0;
	case KEY_PROCESSES:
		opts->ato_needs = "--attach-processes";
		opts->ato_cfg.ldc_procs_max = (unsigned)tool_number_option(
			opts->ato_fail, opts->ato_needs, arg, 1, PROCESSES_MAX);
		opts->ato_cfg.ldc_procs_of_uid_max =
			opts->ato_cfg.ldc_procs_max;
		return 0;
	case KEY_MEMORY:
		opts->ato_needs = "--attach-memory";
		memory_option(opts, arg, &opts->ato_cfg.ldc_bytes_max);
		return 0;
	case KEY_TOTAL:
		opts->ato_needs = "--attach-memory-total";
		memory_option(opts, arg, &opts->ato_cfg.ldc_bytes_total);
		return 0;
	case KEY_RULE:
		opts->ato_needs = "--attach-rule";
		attach_rule_option(opts, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp attach_opts_argp = {
	attach_options, attach_option, NULL, NULL, NULL, NULL, NULL,
};

void attach_opts_init(struct attach_opts *opts, struct tool_fail *fail)
{
	M0_SET0(opts);
	m0_lnet_daemon_cfg_default(&opts->ato_cfg);
	opts->ato_fail = fail;
}

/* A service manager has made the socket: what the socket is, is not this process's to say. */
static void socket_check(struct attach_opts *opts)
{
	struct sockaddr_un sa = { .sun_family = AF_UNSPEC };
	socklen_t          bytes = sizeof sa;
	int                fd;

	if (listen_fds_take(&opts->ato_fds, opts->ato_fail) != TOOL_OK)
		return;
	fd = opts->ato_fds.lfs_attach;
	if (fd < 0)
		return;
	opts->ato_given = true;
	opts->ato_cfg.ldc_listen_fd = fd;
	(void)getsockname(fd, (struct sockaddr *)&sa, &bytes);
	if (opts->ato_path != NULL &&
	    strncmp(opts->ato_path, sa.sun_path, sizeof sa.sun_path) != 0)
		tool_fail_set(opts->ato_fail, TOOL_USAGE,
			      "--attach=%s is not accepted with the socket "
			      "%.107s of the service manager; accepted: "
			      "--attach",
			      opts->ato_path, sa.sun_path);
	if (opts->ato_has_mode)
		tool_fail_set(opts->ato_fail, TOOL_USAGE,
			      "--attach-mode is not accepted with a socket of "
			      "the service manager, which sets its mode "
			      "(SocketMode=)");
}

int attach_opts_check(struct attach_opts *opts)
{
	socket_check(opts);
	if (opts->ato_needs != NULL && !opts->ato_given)
		tool_fail_set(opts->ato_fail, TOOL_USAGE,
			      "%s is accepted with --attach only",
			      opts->ato_needs);
	if (opts->ato_given && opts->ato_path != NULL &&
	    (opts->ato_path[0] == '\0' ||
	     strlen(opts->ato_path) >=
		     sizeof((struct m0_lnet_cfg *)0)->lc_attach))
		tool_bad_value(opts->ato_fail, "--attach", opts->ato_path,
			       "a path of at most 107 bytes");
	/* A group is given to let its members in. */
	if (!opts->ato_has_mode && opts->ato_cfg.ldc_gids_nr > 0)
		opts->ato_cfg.ldc_mode = 0660;
	return opts->ato_fail->tf_exit;
}
