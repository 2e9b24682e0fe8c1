/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bulk transfer between two inline machines, beside a bare copy. */
#include <stdlib.h>

#include "bulk.h"

enum {
	ACTIVE,
	PASSIVE,
	DESC_MAX = 192,
	/** The library begins no more bytes than these together. */
	BATCH_BYTES = 1 << 20
};

struct bench_bulk {
	struct bench_side *k_pair;
	size_t             k_bytes;
	size_t             k_area;
	/** Where all the cases go on, so that they find memory equally cold. */
	size_t k_cursor;
	char  *k_src;
	char  *k_dst;
	int    k_nr;
	/** Transfers at a time. */
	uint64_t k_flight;
	/** Still to be begun; completions still to come, two for each. */
	uint64_t k_left;
	uint64_t k_due;
	bool     k_is_put;
	/** Put: side ACTIVE has the source; get: side PASSIVE has. */
	struct bench_buf *k_put[2];
	struct bench_buf *k_get[2];
	/** The descriptors on their way, in turn: messages recycle memory. */
	uint8_t (*k_desc)[DESC_MAX];
	uint64_t k_begun;
};

static void begin(struct bench_bulk *k);

static void moved(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct bench_bulk    *k = nb->nb_app_private;

	if (!bench_ok(ev))
		return;
	if ((nb->nb_qtype == M0_NET_QT_PASSIVE_BULK_RECV ||
	     nb->nb_qtype == M0_NET_QT_ACTIVE_BULK_RECV) &&
	    ev->nbe_length != k->k_bytes)
		bench_die("%llu bytes", (unsigned long long)ev->nbe_length);
	k->k_due--;
	/* The other completion of the pair has come before. */
	if (nb->nb_qtype == M0_NET_QT_PASSIVE_BULK_RECV ||
	    nb->nb_qtype == M0_NET_QT_PASSIVE_BULK_SEND) {
		m0_net_desc_free(&nb->nb_desc);
		if (k->k_left > 0)
			begin(k);
	}
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { [M0_NET_QT_PASSIVE_BULK_RECV] = &moved,
		    [M0_NET_QT_PASSIVE_BULK_SEND] = &moved,
		    [M0_NET_QT_ACTIVE_BULK_RECV] = &moved,
		    [M0_NET_QT_ACTIVE_BULK_SEND] = &moved }
};

struct bench_bulk *bench_bulk_start(size_t bytes, size_t area, int flight)
{
	struct bench_bulk *k = bench_huge(sizeof(*k));

	memset(k, 0, sizeof(*k));
	k->k_bytes = bytes;
	k->k_area = area;
	k->k_nr = (int)(area / bytes);
	k->k_flight = (uint64_t)flight;
	k->k_desc = bench_huge((size_t)flight * DESC_MAX);
	k->k_src = bench_huge(area);
	k->k_dst = bench_huge(area);
	k->k_pair = bench_pair_start(BENCH_INLINE);
	if (m0_net_domain_get_max_buffer_desc_size(&k->k_pair->s_dom) >
	    DESC_MAX)
		bench_die("a descriptor may be longer than %d", DESC_MAX);
	for (int i = 0; i < 2; i++) {
		char *put = i == ACTIVE ? k->k_src : k->k_dst;
		char *get = i == ACTIVE ? k->k_dst : k->k_src;

		k->k_put[i] = bench_bufs_make(&k->k_pair[i], k->k_nr, put,
					      bytes, bytes, &callbacks, k);
		k->k_get[i] = bench_bufs_make(&k->k_pair[i], k->k_nr, get,
					      bytes, bytes, &callbacks, k);
	}
	return k;
}

void bench_bulk_stop(struct bench_bulk *k)
{
	if (memcmp(k->k_src, k->k_dst, k->k_area) != 0)
		bench_die("the bytes that came are not those that were sent");
	bench_pair_stop(k->k_pair);
	for (int i = 0; i < 2; i++) {
		bench_bufs_free(&k->k_pair[i], k->k_put[i], k->k_nr);
		bench_bufs_free(&k->k_pair[i], k->k_get[i], k->k_nr);
	}
	bench_pair_free(k->k_pair);
}

static size_t next(struct bench_bulk *k)
{
	size_t at = k->k_cursor / k->k_bytes;

	k->k_cursor += k->k_bytes;
	if (k->k_cursor + k->k_bytes > k->k_area)
		k->k_cursor = 0;
	return at;
}

/* The next transfer, in a callback or outside of any. */
static void begin(struct bench_bulk *k)
{
	size_t                at = next(k);
	uint8_t              *desc = k->k_desc[k->k_begun++ % k->k_flight];
	struct bench_buf    **b = k->k_is_put ? k->k_put : k->k_get;
	struct m0_net_buffer *passive = &b[PASSIVE][at].b_nb;
	struct m0_net_buffer *active = &b[ACTIVE][at].b_nb;

	k->k_left--;
	bench_add(passive, &k->k_pair[PASSIVE],
		  k->k_is_put ? M0_NET_QT_PASSIVE_BULK_RECV
			      : M0_NET_QT_PASSIVE_BULK_SEND);
	/* as out of a message: into memory of the application's own */
	active->nb_desc.nbd_len = passive->nb_desc.nbd_len;
	active->nb_desc.nbd_data = desc;
	memcpy(desc, passive->nb_desc.nbd_data, passive->nb_desc.nbd_len);
	bench_add(active, &k->k_pair[ACTIVE],
		  k->k_is_put ? M0_NET_QT_ACTIVE_BULK_SEND
			      : M0_NET_QT_ACTIVE_BULK_RECV);
}

static uint64_t run(struct bench_bulk *k, bool is_put, uint64_t nr)
{
	k->k_is_put = is_put;
	k->k_left = nr;
	k->k_due = 2 * nr;
	for (uint64_t i = 0; i < k->k_flight && k->k_left > 0; i++)
		begin(k);
	while (k->k_due > 0) {
		bench_poll(&k->k_pair[ACTIVE]);
		bench_poll(&k->k_pair[PASSIVE]);
	}
	return nr;
}

static uint64_t run_put(void *arg, uint64_t nr)
{
	return run(arg, true, nr);
}

static uint64_t run_get(void *arg, uint64_t nr)
{
	return run(arg, false, nr);
}

/** How many of the transfers in flight the library copies together. */
static unsigned batch_nr(const struct bench_bulk *k)
{
	uint64_t nr = BATCH_BYTES / k->k_bytes;

	nr = nr < k->k_flight ? nr : k->k_flight;
	nr = nr < BENCH_BATCH_MAX ? nr : BENCH_BATCH_MAX;
	return nr > 0 ? (unsigned)nr : 1;
}

struct bench_case bench_bulk_copy(struct bench_bulk *k)
{
	return bench_ref_copy(k->k_dst, k->k_src, k->k_bytes, k->k_area,
			      &k->k_cursor, batch_nr(k));
}

struct bench_case bench_bulk_put(struct bench_bulk *k)
{
	return (struct bench_case){ .c_name = "put",
				    .c_run = &run_put,
				    .c_arg = k };
}

struct bench_case bench_bulk_get(struct bench_bulk *k)
{
	return (struct bench_case){ .c_name = "get",
				    .c_run = &run_get,
				    .c_arg = k };
}
