/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A server that takes any memory of its process, as the device of the kernel does.
 */
#include "os/os.h"
#include "pump_rig.h"

enum {
	PART_BYTES = 1 << 14,
	SHARES_MAX = 8
};

static struct {
	char    *sh_addr;
	uint64_t sh_bytes;
} shares[SHARES_MAX];
static unsigned shares_nr;

static int share(void *arg, uint32_t nr, void *addr, uint64_t bytes)
{
	(void)arg;
	assert_in_range(nr, 1, serve_cfg.svg_shared.shc_regions_max);
	assert_true(shares_nr < SHARES_MAX);
	shares[shares_nr].sh_addr = addr;
	shares[shares_nr++].sh_bytes = bytes;
	return 0;
}

static int memory_setup(void **state)
{
	shares_nr = 0;
	pump_host.puh_share = share;
	pump_host.puh_takes_any = true;
	return setup(state);
}

/* Memory of the program itself: as it is, without a shadow, so data appear in it. */
static void own_memory_is_given_as_it_is(void **state)
{
	struct m0_lnet_eq eq;
	struct memory     to;
	struct memory     from;

	(void)state;
	assert_int_equal(shares_nr, 1);
	assert_ptr_equal(shares[0].sh_addr, region);
	assert_int_equal(shares[0].sh_bytes, REGION_BYTES);
	m0_lnet_eq_init(&eq, lnet, called, 0);
	memset(region, 0, 64);
	memset(region + 64, 'm', 64);
	(void)attach(lnet, &eq, vec_of(&to, 1, region, 64, 0), 1,
		     M0_LNET_MD_OP_PUT, 1);
	progress(20);
	assert_int_equal(move(lnet, &eq, vec_of(&from, 1, region + 64, 64, 0),
			      1, false, false),
			 0);
	await(2);
	assert_memory_equal(region, region + 64, 64);
	m0_lnet_eq_fini(&eq);
}

/* Parts of a region of the library's allocator: the region, once. */
static void region_is_given_once(void **state)
{
	char  *parts[2];
	void  *base;
	size_t bytes;
	int    i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		parts[i] = m0_alloc_aligned(PART_BYTES, 12);
		assert_non_null(parts[i]);
	}
	/* Sanitizers have an allocator of their own. */
	if (m0_os_region_of(parts[0], &base, &bytes)) {
		for (i = 0; i < 2; ++i)
			assert_int_equal(m0_lnet_mem_register(lnet, parts[i],
							      PART_BYTES),
					 0);
		assert_int_equal(shares_nr, 2);
		assert_ptr_equal(shares[1].sh_addr, base);
		assert_int_equal(shares[1].sh_bytes, bytes);
		for (i = 0; i < 2; ++i)
			m0_lnet_mem_deregister(lnet, parts[i], PART_BYTES);
	}
	for (i = 0; i < 2; ++i)
		m0_free_aligned(parts[i], PART_BYTES, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(own_memory_is_given_as_it_is,
						memory_setup, teardown),
		cmocka_unit_test_setup_teardown(region_is_given_once,
						memory_setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
