/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Lines of text, as wide as the terminal. */
#include <limits.h>
#include <stdlib.h>

#include "top.h"

enum top_form {
	TOP_COUNT,
	/** Per second. */
	TOP_RATE,
	/** "up", "down", "-". */
	TOP_STATE,
	TOP_PER_CENT,
	TOP_BYTES
};

enum {
	CELL_BYTES = 16,
	/** Columns of a value, with the blank before it. */
	CELL_WIDTH = 8,
	KEY_WIDTH_MIN = 12
};

/** A column; those on the right are left out first. */
struct top_column {
	const char    *tpc_title;
	enum top_form  tpc_form;
	enum top_value tpc_value;
};

/** A table as it is shown. */
struct top_sheet {
	const char       *tps_title;
	unsigned          tps_key_width;
	struct top_column tps_columns[TOP_COLUMNS_MAX];
};

static const struct top_sheet sheets[TOP_KINDS_NR] = {
	[TOP_NI] = { "INTERFACE",
		     24,
		     { { "STATE", TOP_STATE, TOP_V_UP },
		       { "TX/s", TOP_RATE, TOP_V_TX },
		       { "RX/s", TOP_RATE, TOP_V_RX },
		       { "FREE", TOP_COUNT, TOP_V_FREE },
		       { "LOW", TOP_COUNT, TOP_V_LOW },
		       { "CONNS", TOP_COUNT, TOP_V_CONNS },
		       { "DIALS", TOP_COUNT, TOP_V_DIALLED },
		       { "LOST", TOP_COUNT, TOP_V_LOST },
		       { "DROPS", TOP_COUNT, TOP_V_DROPPED },
		       { "CREDITS", TOP_COUNT, TOP_V_MAX },
		       { "HEALTH", TOP_PER_CENT, TOP_V_HEALTH } } },
	[TOP_PEER] = { "PEER",
		       24,
		       { { "STATE", TOP_STATE, TOP_V_UP },
			 { "TX/s", TOP_RATE, TOP_V_TX },
			 { "RX/s", TOP_RATE, TOP_V_RX },
			 { "FREE", TOP_COUNT, TOP_V_FREE },
			 { "LOW", TOP_COUNT, TOP_V_LOW },
			 { "QUEUED", TOP_BYTES, TOP_V_QUEUED },
			 { "LOST", TOP_COUNT, TOP_V_LOST },
			 { "CREDITS", TOP_COUNT, TOP_V_MAX },
			 { "HEALTH", TOP_PER_CENT, TOP_V_HEALTH } } },
	[TOP_ROUTE] = { "ROUTE",
			32,
			{ { "STATE", TOP_STATE, TOP_V_UP },
			  { "TX/s", TOP_RATE, TOP_V_TX } } },
	[TOP_POOL] = { "ROUTER BUFFERS",
		       24,
		       { { "USED", TOP_COUNT, TOP_V_USED },
			 { "FREE", TOP_COUNT, TOP_V_FREE },
			 { "LOW", TOP_COUNT, TOP_V_LOW },
			 { "ALL", TOP_COUNT, TOP_V_BUFFERS } } },
	[TOP_PROCESS] = { "PROCESS, USER",
			  24,
			  { { "OPS/s", TOP_RATE, TOP_V_OPERATIONS },
			    { "EVTS/s", TOP_RATE, TOP_V_EVENTS },
			    { "MDS", TOP_COUNT, TOP_V_MDS },
			    { "MEMORY", TOP_BYTES, TOP_V_MEMORY },
			    { "DENIED", TOP_COUNT, TOP_V_DENIED } } },
};

/* ----------------------------------------------------------------- numbers */

/* Three to four digits: "0", "12.3k", "-5". */
static const char *number(char ret[CELL_BYTES], double value)
{
	static const char units[] = " kMGTP";
	size_t            unit = 0;
	double            left = value < 0 ? -value : value;

	while (left >= 1000 && unit + 2 < sizeof units) {
		left /= 1000;
		++unit;
	}
	if (value < 0)
		left = -left;
	if (unit == 0)
		snprintf(ret, CELL_BYTES, "%.0f", left);
	else
		snprintf(ret, CELL_BYTES, "%.*f%c", left < 100 ? 1 : 0, left,
			 units[unit]);
	return ret;
}

static double rate(const struct top_view *view, const struct top_row *now,
		   const struct top_row *before, enum top_value value)
{
	double seconds;

	if (before == NULL || view->tpv_before == NULL)
		return 0;
	seconds = (double)m0_time_sub(view->tpv_now->tda_at,
				      view->tpv_before->tda_at) /
		  1e9;
	/* A counter that was reset begins anew. */
	if (seconds <= 0 || now->tpr_values[value] < before->tpr_values[value])
		return 0;
	return (now->tpr_values[value] - before->tpr_values[value]) / seconds;
}

static const char *cell(const struct top_view   *view,
			const struct top_column *column, enum top_kind kind,
			const struct top_row *row, const struct top_row *before,
			char ret[CELL_BYTES])
{
	double value = row->tpr_values[column->tpc_value];

	switch (column->tpc_form) {
	case TOP_RATE:
		return number(ret, rate(view, row, before, column->tpc_value));
	case TOP_PER_CENT:
		snprintf(ret, CELL_BYTES, "%.0f%%", 100 * value);
		return ret;
	case TOP_STATE:
		if (value > 0)
			return "up";
		return kind == TOP_PEER && row->tpr_values[TOP_V_DOWN] <= 0
			       ? "-"
			       : "down";
	default:
		return number(ret, value);
	}
}

/* ------------------------------------------------------------------- tables */

/** Lines that are being made. */
struct top_out {
	const struct top_view *tot_view;
	void (*tot_put)(void *arg, const char *line, bool is_head);
	void *tot_arg;
};

static unsigned key_width(const struct top_out   *out,
			  const struct top_sheet *sheet)
{
	unsigned width = out->tot_view->tpv_width;

	if (width >= sheet->tps_key_width + CELL_WIDTH)
		return sheet->tps_key_width;
	return width > KEY_WIDTH_MIN + CELL_WIDTH ? KEY_WIDTH_MIN
						  : min_check(width, 12U);
}

/* Puts the key, and as many cells behind it as the line has room for. */
static void line_put(const struct top_out *out, enum top_kind kind,
		     const struct top_row *row, const struct top_row *before)
{
	const struct top_sheet *sheet = &sheets[kind];
	unsigned                width = key_width(out, sheet);
	const char *key = row == NULL ? sheet->tps_title : row->tpr_key;
	char        line[TOP_LINE_BYTES];
	char        text[CELL_BYTES];
	size_t      nr;
	size_t      i;

	nr = (size_t)snprintf(line, sizeof line, "%-*.*s", (int)width,
			      (int)width, key);
	for (i = 0; i < TOP_COLUMNS_MAX; ++i) {
		const struct top_column *column = &sheet->tps_columns[i];

		if (column->tpc_title == NULL ||
		    nr + CELL_WIDTH > out->tot_view->tpv_width ||
		    nr + CELL_WIDTH >= sizeof line)
			break;
		nr += (size_t)snprintf(line + nr, sizeof line - nr, " %*.*s",
				       CELL_WIDTH - 1, CELL_WIDTH - 1,
				       row == NULL
					       ? column->tpc_title
					       : cell(out->tot_view, column,
						      kind, row, before, text));
	}
	out->tot_put(out->tot_arg, line, row == NULL);
}

static void table_put(const struct top_out *out, enum top_kind kind,
		      const struct top_row *const *rows, size_t nr)
{
	const struct top_data *before = out->tot_view->tpv_before;
	size_t                 i;

	if (nr == 0)
		return;
	line_put(out, kind, NULL, NULL);
	for (i = 0; i < nr; ++i)
		line_put(out, kind, rows[i],
			 before == NULL ? NULL
					: top_row_find(before, kind,
						       rows[i]->tpr_key));
}

/** A peer, and what it is sorted by. */
struct top_order {
	const struct top_row *tod_row;
	double                tod_by;
};

static int by_order(const void *a, const void *b)
{
	const struct top_order *one = a;
	const struct top_order *two = b;

	if (one->tod_by < two->tod_by || one->tod_by > two->tod_by)
		return one->tod_by < two->tod_by ? 1 : -1;
	return strcmp(one->tod_row->tpr_key, two->tod_row->tpr_key);
}

static double order_of(const struct top_view *view, const struct top_row *row)
{
	const struct top_row *before;

	switch (view->tpv_sort) {
	case TOP_BY_TRAFFIC:
		before = view->tpv_before == NULL
				 ? NULL
				 : top_row_find(view->tpv_before, TOP_PEER,
						row->tpr_key);
		return rate(view, row, before, TOP_V_TX) +
		       rate(view, row, before, TOP_V_RX);
	case TOP_BY_QUEUE:
		return row->tpr_values[TOP_V_QUEUED];
	default:
		return 0;
	}
}

/* All rows of a kind, sorted. @return NULL: no memory. */
static const struct top_row **rows_sort(const struct top_view *view,
					enum top_kind          kind)
{
	const struct top_table *table = &view->tpv_now->tda_tables[kind];
	struct top_order      *order = calloc(table->ttb_nr + 1, sizeof *order);
	const struct top_row **rows = calloc(table->ttb_nr + 1, sizeof *rows);
	size_t                 i;

	for (i = 0; order != NULL && i < table->ttb_nr; ++i) {
		order[i].tod_row = &table->ttb_rows[i];
		order[i].tod_by = kind == TOP_PEER
					  ? order_of(view, &table->ttb_rows[i])
					  : 0;
	}
	if (order != NULL && kind == TOP_PEER)
		qsort(order, table->ttb_nr, sizeof *order, by_order);
	for (i = 0; order != NULL && rows != NULL && i < table->ttb_nr; ++i)
		rows[i] = order[i].tod_row;
	if (order == NULL) {
		free(rows);
		rows = NULL;
	}
	free(order);
	return rows;
}

static void head_put(const struct top_out *out)
{
	const struct top_view  *view = out->tot_view;
	const struct top_table *table = &view->tpv_now->tda_tables[TOP_NODE];
	const struct top_row   *now = &table->ttb_rows[0];
	const struct top_row   *before =
                view->tpv_before == NULL
			  ? NULL
			  : top_row_find(view->tpv_before, TOP_NODE, "");
	char line[TOP_LINE_BYTES];
	char text[6][CELL_BYTES];

	snprintf(line, sizeof line,
		 "colibri %s  tx %s/s %sB/s  rx %s/s %sB/s  fwd %s/s  drop "
		 "%s/s  cpu %.0f%%",
		 view->tpv_now->tda_version,
		 number(text[0], rate(view, now, before, TOP_V_NODE_TX)),
		 number(text[1], rate(view, now, before, TOP_V_TX_BYTES)),
		 number(text[2], rate(view, now, before, TOP_V_NODE_RX)),
		 number(text[3], rate(view, now, before, TOP_V_RX_BYTES)),
		 number(text[4], rate(view, now, before, TOP_V_FORWARDED)),
		 number(text[5], rate(view, now, before, TOP_V_DROPS)),
		 100 * rate(view, now, before, TOP_V_CPU));
	out->tot_put(out->tot_arg, line, false);
}

static void peers_put(const struct top_out *out)
{
	const struct top_view *view = out->tot_view;
	size_t                 all = view->tpv_now->tda_tables[TOP_PEER].ttb_nr;
	size_t                 skip = min_check((size_t)view->tpv_skip, all);
	size_t nr = min_check(all - skip, (size_t)view->tpv_peers_max);
	double omitted =
		view->tpv_now->tda_tables[TOP_NODE]
			.ttb_rows[0]
			.tpr_values[TOP_V_OMITTED] +
		(double)view->tpv_now->tda_tables[TOP_PEER].ttb_omitted_nr;
	const struct top_row **rows = rows_sort(view, TOP_PEER);
	char                   line[TOP_LINE_BYTES];

	if (rows != NULL)
		table_put(out, TOP_PEER, rows + skip, nr);
	free(rows);
	if (nr < all || omitted > 0) {
		snprintf(line, sizeof line, "%zu of %.0f peers", nr,
			 (double)all + omitted);
		out->tot_put(out->tot_arg, line, false);
	}
}

void top_lines(const struct top_view *view,
	       void (*put)(void *arg, const char *line, bool is_head),
	       void *arg)
{
	static const enum top_kind before[] = { TOP_NI, TOP_ROUTE, TOP_POOL,
						TOP_PROCESS };
	const struct top_out       out = { view, put, arg };
	size_t                     i;

	head_put(&out);
	if (view->tpv_message != NULL)
		put(arg, view->tpv_message, false);
	for (i = 0; i < ARRAY_SIZE(before); ++i) {
		size_t nr = view->tpv_now->tda_tables[before[i]].ttb_nr;
		const struct top_row **rows = rows_sort(view, before[i]);

		/* A node that is no router has pools without buffers. */
		if (before[i] == TOP_POOL && rows != NULL && nr > 0 &&
		    rows[0]->tpr_values[TOP_V_BUFFERS] <= 0)
			nr = 0;
		if (rows != NULL)
			table_put(&out, before[i], rows, nr);
		free(rows);
	}
	peers_put(&out);
}
