/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The terminal: the one file that sees curses. */
#include <limits.h>
#include <ncurses.h>
#include <poll.h>
#include <unistd.h>

#include "top.h"

enum {
	WIDTH_MIN = 8
};

static SCREEN *screen;

int top_screen_open(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return -ENOTTY;
	screen = newterm(NULL, stdout, stdin);
	if (screen == NULL)
		return -ENOTTY;
	(void)set_term(screen);
	(void)cbreak();
	(void)noecho();
	(void)curs_set(0);
	(void)keypad(stdscr, TRUE);
	return 0;
}

void top_screen_close(void)
{
	if (screen == NULL)
		return;
	(void)endwin();
	delscreen(screen);
	screen = NULL;
}

/** Line that is written next. */
struct top_pen {
	int tpn_row;
};

static void line_draw(void *arg, const char *line, bool is_head)
{
	struct top_pen *pen = arg;

	if (pen->tpn_row >= LINES)
		return;
	if (is_head)
		(void)attron(A_REVERSE);
	(void)mvaddnstr(pen->tpn_row++, 0, line, COLS);
	if (is_head)
		(void)attroff(A_REVERSE);
}

static void line_count(void *arg, const char *line, bool is_head)
{
	(void)line;
	(void)is_head;
	++*(int *)arg;
}

void top_screen_draw(struct top_view *view)
{
	struct top_pen pen = { 0 };
	int            others = 0;

	view->tpv_width = (unsigned)(COLS < WIDTH_MIN ? WIDTH_MIN : COLS);
	view->tpv_peers_max = 0;
	top_lines(view, line_count, &others);
	/* The heading of the peers takes one more. */
	view->tpv_peers_max =
		LINES > others + 1 ? (unsigned)(LINES - others - 1) : 1;
	(void)erase();
	top_lines(view, line_draw, &pen);
	(void)refresh();
}

/* Has the terminal gone? No key comes then, and nothing waits for one. */
static bool is_gone(void)
{
	struct pollfd in = { STDIN_FILENO, POLLIN, 0 };

	return poll(&in, 1, 0) > 0 &&
	       (in.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

enum top_key top_screen_key(unsigned ms)
{
	timeout((int)ms);
	switch (getch()) {
	case 'q':
	case 'Q':
		return TOP_KEY_QUIT;
	case 's':
		return TOP_KEY_SORT;
	case KEY_UP:
	case 'k':
		return TOP_KEY_UP;
	case KEY_DOWN:
	case 'j':
		return TOP_KEY_DOWN;
	case ERR:
		return is_gone() ? TOP_KEY_QUIT : TOP_KEY_NONE;
	default:
		return TOP_KEY_NONE;
	}
}
