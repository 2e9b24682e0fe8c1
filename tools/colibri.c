/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The `colibri` command: finds the sub-command and calls it.
 */
#include <argp.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cmd.h"
#include "shell/lctl.h"
#include "shell/lnetctl.h"

/** Commands of lnetctl that there are none of here. */
static const struct {
	const char *name;
	const char *instead;
} others[] = {
	{ "lnet", "`colibri node' is a node as long as it runs" },
	{ "import", "`colibri config import' makes a node what a file says" },
	{ "export", "`colibri config export' prints what a node has" },
};

static const char *instead_of(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); ++i) {
		if (strcmp(others[i].name, word) == 0)
			return others[i].instead;
	}
	return NULL;
}

static int command_run(const struct tool_cmd *cmd, int argc, char **argv)
{
	char name[64];

	snprintf(name, sizeof name, "colibri %s", cmd->tc_name);
	argv[0] = name;
	return cmd->tc_run(argc, argv);
}

/* Open descriptors 0 to 2 on /dev/null where they are closed. Otherwise a
 * file that is opened later gets one of these numbers, and results or
 * messages are written to it. Their access mode makes each use of them fail. */
static void std_open(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null",
				   fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

/*
 * All files that we may have: shells give 1,024, for select(), which we do not
 * call, and a node has three connections to each peer.
 */
static void files_raise(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

/* Last part of the path by which the program was called. */
static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/** Names of links to `colibri`, by which it is another tool. */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} links[] = {
	{ "lnetctl", lnetctl_main },
	{ "lctl", lctl_main },
	{ "lst", lst_main },
};

/* Runs the tool that the program was called as. @return false: it was no other. */
static bool link_run(int argc, char **argv, int *ret_code)
{
	char   name[64];
	size_t i;

	for (i = 0; argc > 0 && i < ARRAY_SIZE(links); ++i) {
		if (strcmp(name_of(argv[0]), links[i].name) != 0)
			continue;
		snprintf(name, sizeof name, "%s", links[i].name);
		argv[0] = name;
		*ret_code = links[i].run(argc, argv);
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	const struct tool_cmd *cmd;
	const char            *word = argc > 1 ? argv[1] : "";
	char                   names[256];
	int                    code;

	std_open();
	files_raise();
	/* argp says 64 by itself; and a closed pipe is an error of writing, as is a
	 * file that may not be so large: others are served, too. */
	argp_err_exit_status = TOOL_USAGE;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	if (link_run(argc, argv, &code))
		return code;
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
	    strcmp(word, "-?") == 0)
		word = "help";
	else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		word = "version";
	cmd = tool_cmd_find(word);
	if (cmd != NULL)
		return command_run(cmd, argc - 1, argv + 1);
	tool_cmd_names(names, sizeof names);
	if (argc < 2)
		fprintf(stderr,
			"colibri: a command is missing; there are: "
			"%s\n",
			names);
	else
		fprintf(stderr,
			"colibri: '%s' is not a command; there are: "
			"%s\n",
			word, names);
	if (instead_of(word) != NULL)
		fprintf(stderr, "Instead of lnetctl's `%s': %s.\n", word,
			instead_of(word));
	fprintf(stderr, "Try `colibri --help'.\n");
	return TOOL_USAGE;
}
