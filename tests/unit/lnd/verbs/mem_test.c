/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Registrations that have the key of a transfer, and room in the completion queue, over a libibverbs
 * of the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lnd/verbs/verbs_internal.h"

#undef ibv_reg_mr

enum {
	MRS_MAX = 64,
	BYTES = 4096
};

static struct ibv_mr        mrs[MRS_MAX];
static unsigned             mrs_nr;
static uint8_t              memory[BYTES];
static struct m0_verbs_hca  hca;
static struct m0_verbs_dev  dev;
static struct m0_verbs_port vbp = { .vbp_dev = &dev, .vbp_hca = &hca };
static struct m0_o2ib_port  port = { .ort_priv = &vbp };

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t bytes,
			  int access)
{
	(void)pd;
	(void)access;
	assert_true(mrs_nr < MRS_MAX);
	mrs[mrs_nr] = (struct ibv_mr){ .addr = addr,
				       .length = bytes,
				       .lkey = mrs_nr + 1,
				       .rkey = mrs_nr + 1 };
	return &mrs[mrs_nr++];
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t bytes,
				uint64_t iova, unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, addr, bytes, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	*mr = (struct ibv_mr){};
	return 0;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	cq->cqe = cqe;
	return 0;
}

static int begin(void **state)
{
	(void)state;
	mrs_nr = 0;
	hca = (struct m0_verbs_hca){ .vhc_dev = &dev };
	dev = (struct m0_verbs_dev){ .vdv_hcas = { &hca }, .vdv_hcas_nr = 1 };
	return 0;
}

static struct m0_o2ib_mem region(unsigned from, unsigned bytes)
{
	return (struct m0_o2ib_mem){ .ome_addr = memory + from,
				     .ome_bytes = bytes };
}

static struct m0_o2ib_seg seg(unsigned from, unsigned bytes)
{
	return (struct m0_o2ib_seg){ .osg_addr = memory + from,
				     .osg_bytes = bytes };
}

/* Is all of an access within the registration of this key? */
static bool has(uint32_t key, const struct m0_o2ib_seg *one)
{
	const struct ibv_mr *mr = &mrs[key - 1];

	return key > 0 && key <= mrs_nr &&
	       (uint8_t *)one->osg_addr >= (uint8_t *)mr->addr &&
	       (uint8_t *)one->osg_addr + one->osg_bytes <=
		       (uint8_t *)mr->addr + mr->length;
}

static void end(struct m0_o2ib_mem *mems, unsigned nr)
{
	while (nr-- > 0)
		m0_verbs__mem_del(&dev.vdv_dev, &mems[nr]);
	m0_free(dev.vdv_mems);
}

/* Regions that lie in one another, cross, and begin or end at one place: each access within one
 * has a key of one that has all of it, and no registration is made. */
static void each_access_has_a_key_that_fits(void **state)
{
	struct m0_o2ib_mem mems[] = { region(0, 400),   region(100, 400),
				      region(100, 50),  region(300, 100),
				      region(390, 200), region(100, 400) };
	unsigned           regs_nr;
	unsigned           from;
	unsigned           bytes;
	unsigned           i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(mems); ++i)
		assert_int_equal(m0_verbs__mem_add(&dev.vdv_dev, &mems[i]), 0);
	regs_nr = mrs_nr;
	for (from = 0; from < 590; from += 5)
		for (bytes = 1; from + bytes <= 590; bytes += 7) {
			struct m0_o2ib_seg one = seg(from, bytes);
			struct m0_o2ib_map map;
			bool               is_in = false;

			for (i = 0; i < ARRAY_SIZE(mems); ++i)
				is_in |= has(i + 1, &one);
			if (!is_in)
				continue;
			assert_int_equal(m0_verbs__map(&port, &one, 1,
						       M0_O2IB_MAP_SOURCE,
						       &map),
					 0);
			assert_true(has(one.osg_lkey, &one));
			m0_verbs__unmap(&port, &map);
			assert_int_equal(m0_verbs__map(&port, &one, 1,
						       M0_O2IB_MAP_SINK, &map),
					 0);
			assert_true(has(map.omp_rkey, &one));
			m0_verbs__unmap(&port, &map);
		}
	assert_int_equal(mrs_nr, regs_nr);
	end(mems, ARRAY_SIZE(mems));
}

/* A peer has one key: that of a region which has all pieces, though a smaller one has the first. */
static void a_sink_has_one_key(void **state)
{
	struct m0_o2ib_mem mems[] = { region(0, 1000), region(100, 50) };
	struct m0_o2ib_seg segs[] = { seg(110, 10), seg(500, 10) };
	struct m0_o2ib_map map;
	unsigned           i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(mems); ++i)
		assert_int_equal(m0_verbs__mem_add(&dev.vdv_dev, &mems[i]), 0);
	assert_int_equal(m0_verbs__map(&port, segs, 2, M0_O2IB_MAP_SINK, &map),
			 0);
	assert_true(has(map.omp_rkey, &segs[0]) && has(map.omp_rkey, &segs[1]));
	segs[1] = seg(2000, 10);
	assert_int_equal(m0_verbs__map(&port, segs, 2, M0_O2IB_MAP_SINK, &map),
			 -EXDEV);
	end(mems, ARRAY_SIZE(mems));
}

/* The smallest is the driver's own; one that leaves has no new transfer. */
static void one_that_leaves_is_not_taken(void **state)
{
	struct m0_o2ib_mem mems[] = { region(0, 1000), region(100, 50) };
	struct m0_o2ib_seg one = seg(110, 10);
	struct m0_o2ib_map map;
	unsigned           i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(mems); ++i)
		assert_int_equal(m0_verbs__mem_add(&dev.vdv_dev, &mems[i]), 0);
	assert_int_equal(m0_verbs__map(&port, &one, 1, M0_O2IB_MAP_SINK, &map),
			 0);
	assert_int_equal(map.omp_rkey, 2);
	mems[1].ome_is_left = true;
	assert_int_equal(m0_verbs__map(&port, &one, 1, M0_O2IB_MAP_SINK, &map),
			 0);
	assert_int_equal(map.omp_rkey, 1);
	end(mems, ARRAY_SIZE(mems));
}

/* T31: the completion queue has room for all that connections may have posted, before it is; one
 * for which the device has none is not made. */
static void the_queue_has_room_for_all_that_is_posted(void **state)
{
	struct ibv_cq cq = { .cqe = 64 };
	unsigned      posted = 0;
	unsigned      i;

	(void)state;
	hca.vhc_cq = &cq;
	hca.vhc_attr.max_cqe = 1000;
	for (i = 0; m0_verbs__hca_reserve(&hca, 70) == 0; ++i) {
		posted += 70;
		assert_true((unsigned)cq.cqe >= posted && cq.cqe <= 1000);
		assert_int_equal(hca.vhc_used_nr, posted);
	}
	assert_int_equal(i, 1000 / 70);
	assert_int_equal(hca.vhc_used_nr, posted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_access_has_a_key_that_fits, begin),
		cmocka_unit_test_setup(a_sink_has_one_key, begin),
		cmocka_unit_test_setup(one_that_leaves_is_not_taken, begin),
		cmocka_unit_test_setup(
			the_queue_has_room_for_all_that_is_posted, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
