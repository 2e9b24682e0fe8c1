/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One engine with 10,000 peers: a selection looks at as many paths as with 10, and the
 * memory of a peer is bounded. The time of a selection is printed, for it depends on the
 * machine; the number of paths does not.
 */
#include <malloc.h>

#include "unit/lnet/routed.h"

enum {
	FEW = 10,
	MANY = 10000,
	ROUTERS_NR = 16,
	SELECTIONS = 20000,
	/** Bytes of a peer with one NID, and of its places in tables. */
	PEER_BYTES_MAX = 2048
};

static struct m0_lnet_lpni *lpnis[MANY];
static size_t               bytes_nr;

/* -- memory ---------------------------------------------------------------- */

static void *count_alloc(size_t size, unsigned shift)
{
	void  *data = NULL;
	size_t align = (size_t)1 << shift;

	if (posix_memalign(&data, max64u(align, sizeof(void *)), size) != 0)
		return NULL;
	memset(data, 0, size);
	bytes_nr += malloc_usable_size(data);
	return data;
}

static void count_free(void *data, size_t size, unsigned shift)
{
	(void)size;
	(void)shift;
	bytes_nr -= malloc_usable_size(data);
	free(data);
}

static const struct m0_alloc_ops counting = { .ao_alloc = count_alloc,
					      .ao_free = count_free };

/* -- cost ------------------------------------------------------------------ */

/** Number of paths that the selection of a peer compares. */
static unsigned paths_nr(const struct m0_lnet_peer *peer)
{
	struct m0_lnet__trial  trial[2 * ROUTERS_NR];
	struct m0_lnet__trials trials = { .tls_trials = trial,
					  .tls_max = ARRAY_SIZE(trial) };

	(void)m0_lnet__select(one->pno_engine,
			      &(struct m0_lnet__want){ .wnt_peer = peer,
						       .wnt_trials = &trials });
	return trials.tls_nr;
}

/** Selects paths to `nr` peers in turn, all on network `net`. */
static unsigned selections(unsigned nr, unsigned net)
{
	unsigned                   paths = paths_nr(lpnis[net]->lpn_peer);
	m0_time_t                  begin = m0_time_now();
	const struct m0_lnet_peer *peer;
	struct m0_lnet__path       path;
	unsigned                   i;

	for (i = 0; i < SELECTIONS; ++i) {
		peer = lpnis[(2 * i + net) % nr]->lpn_peer;
		path = m0_lnet__select(
			one->pno_engine,
			&(struct m0_lnet__want){ .wnt_peer = peer });
		assert_true(path.pth_ni != NULL);
	}
	print_message("%u peers, %s: %u paths, %" PRIu64
		      " ns for a selection\n",
		      nr, net == 0 ? "a direct path" : "a route", paths,
		      (m0_time_now() - begin) / SELECTIONS);
	return paths;
}

/** Makes peers up to number `nr`; odd ones are behind the routers. */
static void peers_make(unsigned from, unsigned nr)
{
	struct m0_lnet_nid nid;
	char               text[M0_LNET_NIDSTR_SIZE];
	unsigned           i;

	for (i = from; i < nr; ++i) {
		(void)snprintf(text, sizeof text, "10.%u.%u.%u@tcp%u", i % 2,
			       1 + i / 250, 1 + i % 250, i % 2);
		nid = pair_nid(text);
		lpnis[i] = m0_lnet__lpni_get(one->pno_engine, &nid);
		assert_non_null(lpnis[i]);
	}
}

static void engine_open(void)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	char                      text[M0_LNET_NIDSTR_SIZE];
	unsigned                  i;

	cfg.lec_peers_max = 2 * MANY;
	routed_open(1, &cfg);
	nids(0, "10.0.0.1@tcp");
	for (i = 0; i < ROUTERS_NR; ++i) {
		(void)snprintf(text, sizeof text, "10.0.0.%u@tcp", 100 + i);
		route(0, "tcp1", text);
	}
}

static void peers_put(void)
{
	unsigned i;

	for (i = 0; i < MANY; ++i)
		m0_lnet__lpni_put(one->pno_engine, lpnis[i]);
}

static void selection_does_not_depend_on_number_of_peers(void **state)
{
	unsigned direct;
	unsigned far;

	(void)state;
	engine_open();
	peers_make(0, FEW);
	direct = selections(FEW, 0);
	far = selections(FEW, 1);
	peers_make(FEW, MANY);
	assert_int_equal(direct, 1);
	assert_int_equal(far, ROUTERS_NR);
	assert_int_equal(selections(MANY, 0), direct);
	assert_int_equal(selections(MANY, 1), far);
	peers_put();
}

static void memory_of_many_peers_is_bounded(void **state)
{
	const struct m0_alloc_ops *ops = m0_alloc_hook_set(&counting);
	size_t                     before;

	(void)state;
	bytes_nr = 0;
	engine_open();
	before = bytes_nr;
	peers_make(0, MANY);
	print_message("%d peers: %zu KiB, %zu bytes for each\n", MANY,
		      (bytes_nr - before) / 1024, (bytes_nr - before) / MANY);
	assert_true((bytes_nr - before) / MANY <= PEER_BYTES_MAX);
	assert_true((bytes_nr - before) / MANY >= sizeof(struct m0_lnet_lpni));
	peers_put();
	pair_close(pair);
	pair = NULL;
	assert_int_equal(bytes_nr, 0);
	(void)m0_alloc_hook_set(ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(selection_does_not_depend_on_number_of_peers),
		STORY_BARE(memory_of_many_peers_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
