/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * `colibri top`: what a running node does, again and again. It reads the node's metrics
 * (top_data.c), makes lines of them (top_lines.c), and puts these on the screen
 * (top_screen.c) or prints them.
 */
#ifndef M0_TOOLS_TOP_H
#define M0_TOOLS_TOP_H

#include <stdbool.h>
#include <stdio.h>

#include "m0/base.h"
#include "m0/time.h"

/** Tables of things. */
enum top_kind {
	TOP_NODE,
	TOP_NI,
	TOP_PEER,
	TOP_ROUTE,
	TOP_POOL,
	TOP_PROCESS,
	TOP_KINDS_NR
};

enum {
	/** Values of a thing. */
	TOP_VALUES_MAX = 12,
	TOP_KEY_BYTES = 112,
	/** Most things of a kind that are shown. */
	TOP_ROWS_MAX = 4096,
	TOP_COLUMNS_MAX = 12,
	TOP_LINE_BYTES = 512
};

/** A thing: an interface, a peer NI. */
struct top_row {
	char   tpr_key[TOP_KEY_BYTES];
	double tpr_values[TOP_VALUES_MAX];
};

struct top_table {
	struct top_row *ttb_rows;
	size_t          ttb_nr;
	size_t          ttb_max;
	/** Things that are not in it, because it is full. */
	size_t ttb_omitted_nr;
};

/** The state of the node at one time. */
struct top_data {
	m0_time_t        tda_at;
	struct top_table tda_tables[TOP_KINDS_NR];
	char             tda_version[32];
};

/** How peers are sorted. */
enum top_sort {
	TOP_BY_TRAFFIC,
	TOP_BY_QUEUE,
	TOP_BY_NAME,
	TOP_SORTS_NR
};

/** The parts of the state that are shown, and how. */
struct top_view {
	/** The last state, and the one before; NULL: rates are not known yet. */
	const struct top_data *tpv_now;
	const struct top_data *tpv_before;
	enum top_sort          tpv_sort;
	/** Columns of the terminal. */
	unsigned tpv_width;
	/** Peers that are left out at the top; and most peers; UINT_MAX. */
	unsigned tpv_skip;
	unsigned tpv_peers_max;
	/** A message; NULL. */
	const char *tpv_message;
};

/* -- top_data.c ------------------------------------------------------------ */

/** Values of the kinds, by their place in tpr_values. */
enum top_value {
	TOP_V_UP = 0,
	TOP_V_HEALTH,
	TOP_V_TX,
	TOP_V_RX,
	TOP_V_FREE,
	TOP_V_LOW,
	TOP_V_MAX,
	TOP_V_LOST,
	/** Interfaces: connections, those dialled, dropped messages. */
	TOP_V_CONNS,
	TOP_V_DIALLED,
	TOP_V_DROPPED,
	/** Peers: queued bytes, down. */
	TOP_V_QUEUED = TOP_V_CONNS,
	TOP_V_DOWN,
	/** The node. */
	TOP_V_STARTED = 0,
	TOP_V_TX_BYTES,
	TOP_V_NODE_TX,
	TOP_V_NODE_RX,
	TOP_V_RX_BYTES,
	TOP_V_FORWARDED,
	TOP_V_DROPS,
	TOP_V_CPU,
	TOP_V_PEERS,
	TOP_V_OMITTED,
	/** Processes. */
	TOP_V_MEMORY = 0,
	TOP_V_OPERATIONS,
	TOP_V_EVENTS,
	TOP_V_DENIED,
	TOP_V_MDS,
	/** Pools. */
	TOP_V_BUFFERS = 0,
	TOP_V_USED
};

/**
 * Reads the text of `colibri metrics`, which is cut up.
 * @retval -ENOMEM
 */
int  top_data_read(struct top_data *data, char *text);
void top_data_fini(struct top_data *data);
/** Finds the row with the key; NULL: it was not there. */
const struct top_row *top_row_find(const struct top_data *data,
				   enum top_kind kind, const char *key);

/* -- top_lines.c ----------------------------------------------------------- */

/** Calls `put` for each line. `is_head`: the line is a heading. */
void top_lines(const struct top_view *view,
	       void (*put)(void *arg, const char *line, bool is_head),
	       void *arg);

/* -- top_screen.c ---------------------------------------------------------- */

enum top_key {
	TOP_KEY_NONE,
	TOP_KEY_QUIT,
	TOP_KEY_SORT,
	TOP_KEY_UP,
	TOP_KEY_DOWN
};

/** @retval -ENOTTY  there is no terminal that can be used. */
int  top_screen_open(void);
void top_screen_close(void);
/** Draws the view. Fills in its width and its number of peers. */
void top_screen_draw(struct top_view *view);
/** Waits for a key. */
enum top_key top_screen_key(unsigned ms);

#endif /* M0_TOOLS_TOP_H */
