/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Records that a server finds in its store at start: keys and values, which may
 * be anything after a disk has failed. The input is a list of them: a byte of
 * kind, lengths, bytes.
 */
#include "lib/fuzz.h"
#include "rpc/core/record.h"

static const struct m0_uint128 uuid = { .u_hi = 1, .u_lo = 2 };
/* Head of the key of the client with this uuid; the input's own bytes
 * follow. */
static const uint8_t key_head[] = { 0, 'c', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
				    0, 0,   0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3 };

static int found(const struct m0_rpc_record_reply *rec, void *arg)
{
	unsigned *nr = arg;
	uint8_t   last;

	M0_ASSERT(rec->rrr_session == 3);
	/* Its bytes are there. */
	if (rec->rrr_reply.sl_nr > 0) {
		last = ((const uint8_t *)rec->rrr_reply
				.sl_data)[rec->rrr_reply.sl_nr - 1];
		*nr += last & 1;
	}
	return 0;
}

/* One key and value of the input. */
static void one_put(struct m0_rpc_tx *tx, struct fuzz_in *in)
{
	static const char   kinds[] = { 'c', 's', 'r', 'x' };
	static const size_t heads[] = { 18, 26, 26, 2 };
	uint8_t             key[64];
	unsigned            kind = fuzz_byte(in) % 4;
	size_t              nr = heads[kind];
	size_t              more = fuzz_byte(in) % 16;
	struct m0_rpc_slice value;

	memcpy(key, key_head, sizeof key_head);
	key[1] = (uint8_t)kinds[kind];
	while (more-- > 0)
		key[nr++] = fuzz_byte(in);
	value.sl_nr = fuzz_byte(in) % 80;
	value.sl_nr = min64u(value.sl_nr, in->fi_left);
	value.sl_data = in->fi_at;
	in->fi_at += value.sl_nr;
	in->fi_left -= value.sl_nr;
	(void)tx->tx_store->rst_ops->rso_put(
		tx, (struct m0_rpc_slice){ key, nr }, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in               in = { data, size };
	struct m0_rpc_store          store;
	struct m0_rpc_tx             tx;
	struct m0_rpc_record_session ses;
	struct m0_rpc_record_client  client;
	struct m0_uint128            at = { 0 };
	unsigned                     nr = 0;
	uint32_t                     gone;
	int                          rc;

	M0_ASSERT(m0_rpc_store_volatile_init(&store, 1 << 20) == 0);
	M0_ASSERT(store.rst_ops->rso_begin(&store, &tx) == 0);
	while (in.fi_left > 0)
		one_put(&tx, &in);
	rc = m0_rpc_record_client_get(&tx, uuid, &client);
	M0_ASSERT(M0_IN(rc, (0, -ENOENT, -EPROTO)));
	while ((rc = m0_rpc_record_client_next(&tx, at, &client)) == 0)
		at = client.rrc_uuid;
	M0_ASSERT(M0_IN(rc, (-ENOENT, -EPROTO)));
	do {
		rc = m0_rpc_record_client_trim(&tx, uuid, 3, &gone);
		M0_ASSERT(gone <= 3);
	} while (rc == -EAGAIN);
	M0_ASSERT(M0_IN(rc, (0, -EPROTO)));
	rc = m0_rpc_record_session_get(&tx, uuid, 3, &ses);
	M0_ASSERT(M0_IN(rc, (0, -ENOENT, -EPROTO)));
	rc = m0_rpc_record_replies(&tx, uuid, 3, found, &nr);
	M0_ASSERT(M0_IN(rc, (0, -EPROTO)));
	/* However it looked, it can be made away with. */
	M0_ASSERT(m0_rpc_record_client_del(&tx, uuid) == 0);
	M0_ASSERT(m0_rpc_record_client_get(&tx, uuid, &client) == -ENOENT);
	nr = 0;
	M0_ASSERT(m0_rpc_record_replies(&tx, uuid, 3, found, &nr) == 0);
	M0_ASSERT(nr == 0);
	store.rst_ops->rso_abort(&tx);
	m0_rpc_store_volatile_fini(&store);
	return 0;
}
