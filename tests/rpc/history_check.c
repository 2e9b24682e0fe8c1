/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Compares the records of servers with the answers that clients got. */
#include "history.h"

/* Keys: 'L' client stream index -> number; 'N' client stream -> next index.
 * Clients' and streams' are one byte, the index is four in order of bytes. */
enum {
	KEY_NR = 7,
	COUNT_NR = 3
};

static uint32_t index_get(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

static void index_put(uint8_t *at, uint32_t index)
{
	at[0] = (uint8_t)(index >> 24);
	at[1] = (uint8_t)(index >> 16);
	at[2] = (uint8_t)(index >> 8);
	at[3] = (uint8_t)index;
}

int hi_append(struct hi_server *s, struct m0_rpc_tx *tx, unsigned op)
{
	struct hi_op       *o = &hi.hw_op[op];
	uint8_t             log[KEY_NR] = { 'L', (uint8_t)o->ho_client,
					    (uint8_t)o->ho_stream };
	uint8_t             count[COUNT_NR] = { 'N', (uint8_t)o->ho_client,
						(uint8_t)o->ho_stream };
	uint8_t             next[4] = {};
	uint64_t            number = op;
	struct m0_rpc_slice log_key = { log, KEY_NR };
	struct m0_rpc_slice count_key = { count, COUNT_NR };
	struct m0_rpc_slice value;
	int                 rc;

	++o->ho_runs;
	if (!hi.hw_durable) {
		CF_TRUE(s->hs_log_nr < ARRAY_SIZE(s->hs_log), "a full log");
		s->hs_log[s->hs_log_nr++] = op;
	}
	rc = m0_rpc_tx_get(tx, count_key, &value);
	if (rc == 0)
		memcpy(next, value.sl_data, sizeof next);
	memcpy(log + COUNT_NR, next, sizeof next);
	index_put(next, index_get(next) + 1);
	value = (struct m0_rpc_slice){ &number, sizeof number };
	rc = m0_rpc_tx_put(tx, log_key, value);
	value = (struct m0_rpc_slice){ next, sizeof next };
	return rc ?: m0_rpc_tx_put(tx, count_key, value);
}

/* -------------------------------------------------------- what is there -- */

/** The last number met, for one stream of one client at one server. */
struct at {
	bool     at_any;
	unsigned at_life;
	unsigned at_session;
	unsigned at_op;
};

static void met(struct hi_server *s, struct at *at, unsigned op)
{
	struct hi_op *o = &hi.hw_op[op];

	CF_TRUE(op < hi.hw_ops_nr && o->ho_posted, "%u was posted", op);
	CF_EQ(o->ho_server, s - hi.hw_server, "server of %u", op);
	CF_EQ(++o->ho_found, 1, "%u is there once", op);
	if (at->at_any) {
		CF_TRUE(o->ho_life >= at->at_life,
			"%u of life %u after %u of life %u: fenced", op,
			o->ho_life, at->at_op, at->at_life);
		CF_TRUE(o->ho_life != at->at_life ||
				o->ho_session != at->at_session ||
				op > at->at_op,
			"%u comes after %u: in the order of posts", op,
			at->at_op);
	}
	*at = (struct at){ true, o->ho_life, o->ho_session, op };
}

static void log_check(struct hi_server *s)
{
	struct at at[HI_CLIENTS][HI_STREAMS + 1] = {};
	unsigned  i;

	for (i = 0; i < s->hs_log_nr; ++i) {
		const struct hi_op *o = &hi.hw_op[s->hs_log[i]];

		met(s, &at[o->ho_client][o->ho_stream], s->hs_log[i]);
	}
}

static void store_check(struct hi_server *s)
{
	struct at           at[HI_CLIENTS][HI_STREAMS + 1] = {};
	struct m0_rpc_slice key = { "L", 1 };
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx;
	const uint8_t      *k;
	uint64_t            number;

	CF_EQ(s->hs_store.stc_kept.rst_ops->rso_begin(&s->hs_store.stc_kept,
						      &tx),
	      0, "begin");
	while (m0_rpc_tx_next(&tx, key, &key, &value) == 0) {
		k = key.sl_data;
		if (k[0] != 'L')
			continue;
		memcpy(&number, value.sl_data, sizeof number);
		CF_TRUE(k[1] < HI_CLIENTS && k[2] <= HI_STREAMS, "a key");
		CF_EQ(hi.hw_op[number].ho_client, k[1], "client");
		CF_EQ(hi.hw_op[number].ho_stream, k[2], "stream");
		met(s, &at[k[1]][k[2]], (unsigned)number);
	}
	s->hs_store.stc_kept.rst_ops->rso_abort(&tx);
}

/* -------------------------------------------------------- what was told -- */

static void append_check(const struct hi_op *o, unsigned nr)
{
	bool done = o->ho_rc == (hi_is_odd(nr) ? HI_ODD_RC : 0);

	if (o->ho_error == 0 && done)
		CF_EQ(o->ho_found, 1, "%u was acknowledged", nr);
	if (o->ho_error == 0 && !done)
		CF_EQ(o->ho_found, 0, "%u was answered with %s", nr,
		      m0_errname(o->ho_rc));
	/* An answer may overtake the event of the packet that asked. */
	if (o->ho_sent == 0 && o->ho_error != 0)
		CF_EQ(o->ho_runs, 0, "%u was never sent", nr);
	if (hi.hw_durable)
		CF_TRUE(o->ho_error != -ESTALE, "%u: nothing is forgotten", nr);
	else if (o->ho_error == -ESTALE)
		CF_TRUE(o->ho_sent > 0, "%u was never sent: it goes on", nr);
	if (!hi.hw_durable)
		CF_TRUE(o->ho_runs <= 1, "%u was executed once", nr);
}

static void op_check(const struct hi_op *o, unsigned nr)
{
	m0_time_t late_ms = HI_SLACK_MS + HI_LATE_MS;

	CF_EQ(o->ho_ended, o->ho_posted, "%u: one end", nr);
	if (!o->ho_posted)
		return;
	/* Inline: a server that dies in mid-bulk keeps all others waiting. */
	if (cf.c_mode == CF_INLINE)
		late_ms += 2000;
	CF_TRUE(o->ho_end <= o->ho_by + late_ms * M0_TIME_ONE_MSEC,
		"%u ended in its time, not %llu ms after it", nr,
		(unsigned long long)((o->ho_end - o->ho_by) /
				     M0_TIME_ONE_MSEC));
	hi_bulk_check(o, nr);
	if (o->ho_stream != 0)
		append_check(o, nr);
	else if (o->ho_error == 0 && o->ho_rc == 0)
		CF_TRUE(o->ho_runs > 0, "%u: answered, so executed", nr);
}

/* Show that a run is worth something: $HISTORY_TELL. */
static void tell(void)
{
	unsigned done = 0;
	unsigned refused = 0;
	unsigned stale = 0;
	unsigned unknown = 0;
	unsigned unknown_there = 0;
	unsigned again = 0;
	unsigned merged = 0;
	unsigned lives = 0;
	unsigned i;

	for (i = 0; i < hi.hw_ops_nr; ++i) {
		const struct hi_op *o = &hi.hw_op[i];

		if (!o->ho_posted || o->ho_stream == 0)
			continue;
		done += o->ho_error == 0 && o->ho_found > 0;
		refused += o->ho_error == 0 && o->ho_found == 0;
		stale += o->ho_error == -ESTALE;
		unknown += o->ho_error != 0;
		unknown_there += o->ho_error != 0 && o->ho_found > 0;
		again += o->ho_runs > 1;
		merged += o->ho_merged;
	}
	for (i = 0; i < hi.hw_servers_nr; ++i)
		lives += hi.hw_server[i].hs_lives;
	printf("# seed %llu: %u posted, %u appended, %u refused, %u unknown (%u "
	       "there, %u stale), %u run again, %u merged; %u lives of %u servers\n",
	       (unsigned long long)cf.c_seed, hi.hw_ops_nr, done, refused,
	       unknown, unknown_there, stale, again, merged, lives,
	       hi.hw_servers_nr);
}

void hi_check(void)
{
	unsigned i;

	for (i = 0; i < hi.hw_servers_nr; ++i) {
		if (hi.hw_durable)
			store_check(&hi.hw_server[i]);
		else
			log_check(&hi.hw_server[i]);
	}
	for (i = 0; i < hi.hw_ops_nr; ++i)
		op_check(&hi.hw_op[i], i);
	if (getenv("HISTORY_TELL") != NULL)
		tell();
}
