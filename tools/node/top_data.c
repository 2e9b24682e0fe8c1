/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The state of the node, from its metrics. */
#include <stdlib.h>

#include "top.h"

/** A sample, and the value that it adds to. */
struct top_sample {
	const char    *tsm_name;
	enum top_kind  tsm_kind;
	enum top_value tsm_value;
};

static const struct top_sample samples[] = {
	{ "colibri_node_start_time_seconds", TOP_NODE, TOP_V_STARTED },
	{ "colibri_node_sent_bytes_total", TOP_NODE, TOP_V_TX_BYTES },
	{ "colibri_node_received_bytes_total", TOP_NODE, TOP_V_RX_BYTES },
	{ "colibri_node_sent_messages_total", TOP_NODE, TOP_V_NODE_TX },
	{ "colibri_node_received_messages_total", TOP_NODE, TOP_V_NODE_RX },
	{ "colibri_node_forwarded_messages_total", TOP_NODE, TOP_V_FORWARDED },
	{ "colibri_node_dropped_messages_total", TOP_NODE, TOP_V_DROPS },
	{ "colibri_node_cpu_seconds_total", TOP_NODE, TOP_V_CPU },
	{ "colibri_node_peer_nis", TOP_NODE, TOP_V_PEERS },
	{ "colibri_metrics_omitted_peer_nis", TOP_NODE, TOP_V_OMITTED },
	{ "colibri_ni_up", TOP_NI, TOP_V_UP },
	{ "colibri_ni_health_ratio", TOP_NI, TOP_V_HEALTH },
	{ "colibri_ni_sent_messages_total", TOP_NI, TOP_V_TX },
	{ "colibri_ni_received_messages_total", TOP_NI, TOP_V_RX },
	{ "colibri_ni_dropped_messages_total", TOP_NI, TOP_V_DROPPED },
	{ "colibri_ni_credits", TOP_NI, TOP_V_MAX },
	{ "colibri_ni_credits_free", TOP_NI, TOP_V_FREE },
	{ "colibri_ni_credits_low", TOP_NI, TOP_V_LOW },
	{ "colibri_ni_connections", TOP_NI, TOP_V_CONNS },
	{ "colibri_ni_dialled_connections_total", TOP_NI, TOP_V_DIALLED },
	{ "colibri_ni_lost_connections_total", TOP_NI, TOP_V_LOST },
	{ "colibri_peer_up", TOP_PEER, TOP_V_UP },
	{ "colibri_peer_down", TOP_PEER, TOP_V_DOWN },
	{ "colibri_peer_health_ratio", TOP_PEER, TOP_V_HEALTH },
	{ "colibri_peer_sent_messages_total", TOP_PEER, TOP_V_TX },
	{ "colibri_peer_received_messages_total", TOP_PEER, TOP_V_RX },
	{ "colibri_peer_credits", TOP_PEER, TOP_V_MAX },
	{ "colibri_peer_credits_free", TOP_PEER, TOP_V_FREE },
	{ "colibri_peer_credits_low", TOP_PEER, TOP_V_LOW },
	{ "colibri_peer_queued_bytes", TOP_PEER, TOP_V_QUEUED },
	{ "colibri_peer_losses_total", TOP_PEER, TOP_V_LOST },
	{ "colibri_route_up", TOP_ROUTE, TOP_V_UP },
	{ "colibri_route_sent_messages_total", TOP_ROUTE, TOP_V_TX },
	{ "colibri_pool_buffers", TOP_POOL, TOP_V_BUFFERS },
	{ "colibri_pool_buffers_used", TOP_POOL, TOP_V_USED },
	{ "colibri_pool_credits", TOP_POOL, TOP_V_FREE },
	{ "colibri_pool_credits_low", TOP_POOL, TOP_V_LOW },
	{ "colibri_process_memory_bytes", TOP_PROCESS, TOP_V_MEMORY },
	{ "colibri_process_memory_descriptors", TOP_PROCESS, TOP_V_MDS },
	{ "colibri_process_operations_total", TOP_PROCESS, TOP_V_OPERATIONS },
	{ "colibri_process_events_total", TOP_PROCESS, TOP_V_EVENTS },
	{ "colibri_process_denied_total", TOP_PROCESS, TOP_V_DENIED },
};

/* Appends the value of a label, behind a blank if something is there. */
static void key_add(char key[TOP_KEY_BYTES], const char *labels,
		    const char *name)
{
	const char *at = strstr(labels, name);
	size_t      nr = strlen(key);

	if (at == NULL)
		return;
	at += strlen(name);
	snprintf(key + nr, TOP_KEY_BYTES - nr, "%s%.*s", nr == 0 ? "" : " ",
		 (int)strcspn(at, "\""), at);
}

static void key_make(char key[TOP_KEY_BYTES], enum top_kind kind,
		     const char *labels)
{
	key[0] = '\0';
	switch (kind) {
	case TOP_NI:
	case TOP_PEER:
		key_add(key, labels, "nid=\"");
		break;
	case TOP_ROUTE:
		key_add(key, labels, "net=\"");
		key_add(key, labels, "gateway=\"");
		break;
	case TOP_POOL:
		key_add(key, labels, "pool=\"");
		break;
	case TOP_PROCESS:
		key_add(key, labels, "pid=\"");
		key_add(key, labels, "uid=\"");
		key_add(key, labels, "attachment=\"");
		break;
	default:
		break;
	}
}

static struct top_row *row_new(struct top_table *table)
{
	struct top_row *rows;
	size_t          max;

	if (table->ttb_nr == table->ttb_max) {
		max = table->ttb_max == 0 ? 16 : 2 * table->ttb_max;
		rows = realloc(table->ttb_rows, max * sizeof *rows);
		if (rows == NULL)
			return NULL;
		table->ttb_rows = rows;
		table->ttb_max = max;
	}
	rows = &table->ttb_rows[table->ttb_nr++];
	M0_SET0(rows);
	return rows;
}

/*
 * The row with the key. The rows of each metric come in the same order: the next one is
 * nearly always behind the last one, `*hint`. A full table is searched no further: most
 * keys would not be there, and each of them cost a walk over all rows.
 */
static struct top_row *row_of(struct top_table *table, const char *key,
			      size_t *hint)
{
	bool            is_full = table->ttb_nr == TOP_ROWS_MAX;
	size_t          nr = is_full ? 2 : table->ttb_nr;
	struct top_row *row;
	size_t          i;

	for (i = 0; i < nr; ++i) {
		row = &table->ttb_rows[(*hint + i) % table->ttb_nr];
		if (strcmp(row->tpr_key, key) != 0)
			continue;
		*hint = (size_t)(row - table->ttb_rows);
		return row;
	}
	if (is_full)
		return NULL;
	row = row_new(table);
	if (row != NULL) {
		snprintf(row->tpr_key, sizeof row->tpr_key, "%s", key);
		*hint = table->ttb_nr - 1;
	}
	return row;
}

static const struct top_sample *sample_find(const char *name, size_t nr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(samples); ++i)
		if (strncmp(samples[i].tsm_name, name, nr) == 0 &&
		    samples[i].tsm_name[nr] == '\0')
			return &samples[i];
	return NULL;
}

/** Where the text is read. */
struct top_reader {
	struct top_data         *tre_data;
	const struct top_sample *tre_sample;
	/** Name of that sample, and its length. */
	const char *tre_name;
	size_t      tre_name_nr;
	size_t      tre_hint;
};

static void sample_read(struct top_reader *reader, char *line)
{
	size_t            nr = strcspn(line, "{ ");
	char             *value = strrchr(line, ' ');
	struct top_table *table;
	struct top_row   *row;
	char              key[TOP_KEY_BYTES];

	if (value == NULL)
		return;
	*value = '\0';
	if (nr != reader->tre_name_nr ||
	    strncmp(line, reader->tre_name, nr) != 0) {
		reader->tre_name = line;
		reader->tre_name_nr = nr;
		reader->tre_sample = sample_find(line, nr);
		reader->tre_hint = 0;
	}
	if (reader->tre_sample == NULL)
		return;
	key_make(key, reader->tre_sample->tsm_kind, line + nr);
	table = &reader->tre_data->tda_tables[reader->tre_sample->tsm_kind];
	row = row_of(table, key, &reader->tre_hint);
	/* Each thing has one sample of the first value. */
	if (row == NULL)
		table->ttb_omitted_nr += reader->tre_sample->tsm_value == 0 ? 1
									    : 0;
	else
		row->tpr_values[reader->tre_sample->tsm_value] +=
			strtod(value + 1, NULL);
}

static int by_key(const void *a, const void *b)
{
	const struct top_row *one = a;
	const struct top_row *two = b;

	return strcmp(one->tpr_key, two->tpr_key);
}

int top_data_read(struct top_data *data, char *text)
{
	static const char version[] = "colibri_build_info{version=\"";
	struct top_reader reader = { .tre_data = data, .tre_name = "" };
	char             *line;
	size_t            i;

	data->tda_at = m0_time_now();
	while ((line = strsep(&text, "\n")) != NULL) {
		if (strncmp(line, version, sizeof version - 1) == 0)
			snprintf(data->tda_version, sizeof data->tda_version,
				 "%.*s",
				 (int)strcspn(line + sizeof version - 1, "\""),
				 line + sizeof version - 1);
		else if (line[0] != '#' && line[0] != '\0')
			sample_read(&reader, line);
	}
	for (i = 0; i < TOP_KINDS_NR; ++i)
		if (data->tda_tables[i].ttb_nr > 0)
			qsort(data->tda_tables[i].ttb_rows,
			      data->tda_tables[i].ttb_nr,
			      sizeof *data->tda_tables[i].ttb_rows, by_key);
	return data->tda_tables[TOP_NODE].ttb_nr == 0 ? -ENOMEM : 0;
}

void top_data_fini(struct top_data *data)
{
	size_t i;

	for (i = 0; i < TOP_KINDS_NR; ++i)
		free(data->tda_tables[i].ttb_rows);
	M0_SET0(data);
}

const struct top_row *top_row_find(const struct top_data *data,
				   enum top_kind kind, const char *key)
{
	const struct top_table *table = &data->tda_tables[kind];
	struct top_row          like = { .tpr_values = { 0 } };

	if (table->ttb_nr == 0)
		return NULL;
	snprintf(like.tpr_key, sizeof like.tpr_key, "%s", key);
	return bsearch(&like, table->ttb_rows, table->ttb_nr,
		       sizeof *table->ttb_rows, by_key);
}
