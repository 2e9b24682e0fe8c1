/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bodies of the RPC layer's own items: each of them is what its encoder puts,
 * to the byte, or is refused. */
#include "lib/fuzz.h"
#include "rpc/bulk/bulk.h"

static uint8_t buf[M0_RPC_WIRE_BODY_MAX];

static void same_check(size_t put, const uint8_t *bytes, size_t size)
{
	M0_ASSERT(put == size);
	M0_ASSERT(memcmp(buf, bytes, size) == 0);
}

static void conn_check(const uint8_t *bytes, size_t size)
{
	struct m0_rpc_conn_est est;
	struct m0_rpc_conn_rep rep;
	uint64_t               number;

	if (m0_rpc__conn_est_get(&est, bytes, size) == 0)
		same_check(m0_rpc__conn_est_put(buf, &est), bytes, size);
	if (m0_rpc__conn_rep_get(&rep, bytes, size) == 0)
		same_check(m0_rpc__conn_rep_put(buf, &rep), bytes, size);
	if (m0_rpc__number_get(&number, bytes, size) == 0)
		same_check(m0_rpc__number_put(buf, number), bytes, size);
}

static void session_check(const uint8_t *bytes, size_t size)
{
	static struct m0_rpc_session_est est;
	static struct m0_rpc_session_rep rep;

	if (m0_rpc__session_est_get(&est, bytes, size) == 0)
		same_check(m0_rpc__session_est_put(buf, &est), bytes, size);
	if (m0_rpc__session_rep_get(&rep, bytes, size) == 0)
		same_check(m0_rpc__session_rep_put(buf, &rep), bytes, size);
}

/* One that names several ways is what the encoder makes of them. */
static void ways_check(const struct m0_net_buf_desc *desc)
{
	struct m0_rpc__bulk_way way[M0_RPC_BULK_WAYS_MAX];
	struct m0_net_buf_desc  again;
	int                     nr;

	nr = m0_rpc__bulk_desc_part(desc, 256, way);
	M0_ASSERT(nr >= -EPROTO && nr <= M0_RPC_BULK_WAYS_MAX);
	/* The library accepts one way, but writes none alone. */
	if (nr <= 1)
		return;
	M0_ASSERT(m0_rpc__bulk_desc_join(way, (uint32_t)nr, &again) == 0);
	M0_ASSERT(again.nbd_len == desc->nbd_len);
	M0_ASSERT(memcmp(again.nbd_data, desc->nbd_data, again.nbd_len) == 0);
	m0_net_desc_free(&again);
}

/* A list of descriptors, as a handler reads it from a request. */
static void bulk_check(const uint8_t *bytes, size_t size)
{
	struct m0_net_buf_desc_data desc;
	uint8_t                    *again;
	size_t                      at = 0;
	int64_t                     nr;

	while (at < size) {
		nr = m0_rpc_bulk_desc_get(bytes + at, size - at, &desc);
		if (nr < 0) {
			M0_ASSERT(nr == -EPROTO);
			M0_ASSERT(desc.bdd_desc.nbd_data == NULL);
			return;
		}
		M0_ASSERT(nr > 0 && (size_t)nr <= size - at);
		M0_ASSERT((size_t)nr == m0_rpc_bulk_desc_size(&desc));
		again = malloc((size_t)nr);
		M0_ASSERT(again != NULL);
		M0_ASSERT((int64_t)m0_rpc_bulk_desc_put(again, &desc) == nr);
		M0_ASSERT(memcmp(again, bytes + at, (size_t)nr) == 0);
		free(again);
		ways_check(&desc.bdd_desc);
		at += (size_t)nr;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = fuzz_copy(data, size);

	conn_check(bytes, size);
	session_check(bytes, size);
	bulk_check(bytes, size);
	free(bytes);
	return 0;
}
