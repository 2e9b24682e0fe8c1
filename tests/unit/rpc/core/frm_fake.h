/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An owner of formations for tests: items, packets that are kept to look at. */
#ifndef M0_TESTS_UNIT_RPC_CORE_FRM_FAKE_H
#define M0_TESTS_UNIT_RPC_CORE_FRM_FAKE_H

#include "../../base/panics.h"

#include "rpc/core/frm.h"
#include "rpc/core/rpc_wire.h"

enum {
	FAKE_ITEMS_MAX = 2048,
	FAKE_PACKETS_MAX = 2048,
	/** Bytes of most items. */
	FAKE_SIZE = 64
};

#define FAKE_TICK ((m0_time_t)1 << M0_TIMERQ_TICK_SHIFT)
/** When everything begins. */
#define FAKE_START (1000 * FAKE_TICK)

struct fake_item {
	struct m0_rpc_frm_item fki_item;
	struct m0_rpc_item_key fki_key;
	/** Merged into another. */
	struct fake_item *fki_into;
	/** In fake.packet, or refused; -1. */
	int fki_packet;
	int fki_rc;
};

struct fake {
	struct m0_rpc_frm_set    fk_set;
	struct m0_rpc_frm        fk_frm;
	struct fake_item         fk_item[FAKE_ITEMS_MAX];
	unsigned                 fk_items_nr;
	struct m0_rpc_frm_packet fk_packet[FAKE_PACKETS_MAX];
	/** Handed out, and of those how many are done. */
	unsigned fk_packets_nr;
	unsigned fk_done_nr;
	/** Hand none out. */
	bool fk_no_packet;
	bool fk_no_merge;
	/** Given out by fo_spare: so many, of this size. */
	unsigned    fk_spare_nr;
	m0_bcount_t fk_spare_size;
	m0_time_t   fk_now;
};

static struct fake fake;

static inline struct fake_item *fake_of(struct m0_rpc_frm_item *item)
{
	return container_of(item, struct fake_item, fki_item);
}

static inline struct m0_rpc_frm_packet *fake_packet_get(struct m0_rpc_frm *frm)
{
	(void)frm;
	if (fake.fk_no_packet)
		return NULL;
	assert_true(fake.fk_packets_nr < FAKE_PACKETS_MAX);
	return &fake.fk_packet[fake.fk_packets_nr];
}

/** Within the limits it was formed by, and what it says of itself is true. */
static inline void fake_packet_check(const struct m0_rpc_frm        *frm,
				     const struct m0_rpc_frm_packet *packet)
{
	const struct m0_rpc_frm_constraints *limit = &frm->f_constraints;
	struct m0_rpc_frm_item              *item;
	m0_bcount_t                          bytes = M0_RPC_WIRE_PACKET_BYTES;
	uint64_t                             segs = 1;
	uint32_t                             nr = 0;

	m0_list_for_each_entry(&packet->fpk_items, item, struct m0_rpc_frm_item,
			       fi_link) {
		bytes += item->fi_view.fv_size;
		segs += item->fi_segs_nr;
		++nr;
		assert_null(item->fi_frm);
		fake_of(item)->fki_packet = (int)fake.fk_packets_nr;
	}
	assert_true(nr > 0);
	assert_int_equal(packet->fpk_nr, nr);
	assert_true(packet->fpk_bytes == bytes);
	assert_true(packet->fpk_segs_nr == segs);
	assert_true(bytes <= limit->fc_max_packet_size);
	assert_true(segs <= limit->fc_max_nr_segments);
	assert_true(frm->f_packets_enqed <= limit->fc_max_nr_packets_enqed);
	assert_ptr_equal(packet->fpk_frm, frm);
}

static inline void fake_packet_ready(struct m0_rpc_frm        *frm,
				     struct m0_rpc_frm_packet *packet)
{
	assert_ptr_equal(packet, &fake.fk_packet[fake.fk_packets_nr]);
	fake_packet_check(frm, packet);
	++fake.fk_packets_nr;
}

static inline bool fake_merge(struct m0_rpc_frm      *frm,
			      struct m0_rpc_frm_item *item,
			      struct m0_rpc_frm_item *next)
{
	(void)frm;
	if (fake.fk_no_merge)
		return false;
	fake_of(item)->fki_key.rk_nr += fake_of(next)->fki_key.rk_nr;
	/* One header less. */
	item->fi_view.fv_size += next->fi_view.fv_size - M0_RPC_WIRE_ITEM_BYTES;
	item->fi_segs_nr += next->fi_segs_nr;
	fake_of(next)->fki_into = fake_of(item);
	return true;
}

static inline void fake_refused(struct m0_rpc_frm      *frm,
				struct m0_rpc_frm_item *item, int rc)
{
	(void)frm;
	assert_null(item->fi_frm);
	fake_of(item)->fki_rc = rc;
}

static inline struct fake_item *fake_item_new(m0_bcount_t size)
{
	struct fake_item *it = &fake.fk_item[fake.fk_items_nr++];

	assert_true(fake.fk_items_nr <= FAKE_ITEMS_MAX);
	memset(it, 0, sizeof *it);
	m0_rpc__frm_item_init(&it->fki_item);
	it->fki_item.fi_view.fv_key = &it->fki_key;
	it->fki_item.fi_view.fv_size = size;
	it->fki_packet = -1;
	return it;
}

static inline struct m0_rpc_frm_item *fake_spare(struct m0_rpc_frm *frm,
						 m0_bcount_t        bytes,
						 uint64_t           segs)
{
	struct fake_item *it;

	(void)frm;
	(void)segs;
	assert_true(bytes >= M0_RPC_WIRE_ITEM_BYTES);
	if (fake.fk_spare_nr == 0)
		return NULL;
	--fake.fk_spare_nr;
	it = fake_item_new(fake.fk_spare_size);
	it->fki_item.fi_deadline = M0_TIME_NEVER;
	return &it->fki_item;
}

static const struct m0_rpc_frm_ops fake_ops = {
	.fo_packet_get = fake_packet_get,
	.fo_packet_ready = fake_packet_ready,
	.fo_merge = fake_merge,
	.fo_spare = fake_spare,
	.fo_refused = fake_refused,
};

/** Limits that only packets of `nr` items of FAKE_SIZE reach. */
static inline struct m0_rpc_frm_constraints fake_limits(unsigned nr)
{
	return (struct m0_rpc_frm_constraints){
		.fc_max_nr_packets_enqed = 1000,
		.fc_max_packet_size = M0_RPC_WIRE_PACKET_BYTES + nr * FAKE_SIZE,
		.fc_max_nr_segments = 1000,
		.fc_max_nr_bytes_accumulated = M0_BCOUNT_MAX,
	};
}

static inline void fake_start(const struct m0_rpc_frm_constraints *limits,
			      const struct m0_rpc_frm_policy *policy, bool off)
{
	memset(&fake, 0, sizeof fake);
	fake.fk_now = FAKE_START;
	m0_rpc__frm_set_init(&fake.fk_set, fake.fk_now, off);
	m0_rpc__frm_init(&fake.fk_frm, &fake.fk_set, limits, policy, &fake_ops);
}

static inline void fake_run(void)
{
	m0_rpc__frm_set_run(&fake.fk_set, fake.fk_now);
}

/** Time goes by, in ticks, and is seen. */
static inline void fake_ticks(unsigned nr)
{
	fake.fk_now += nr * FAKE_TICK;
	fake_run();
}

static inline void fake_enq(struct fake_item *it)
{
	assert_int_equal(m0_rpc__frm_enq(&fake.fk_frm, &it->fki_item,
					 fake.fk_now, 10 * FAKE_TICK),
			 0);
}

/** A new item with a deadline, cached. */
static inline struct fake_item *fake_post(m0_time_t                 deadline,
					  enum m0_rpc_item_priority prio)
{
	struct fake_item *it = fake_item_new(FAKE_SIZE);

	it->fki_item.fi_deadline = deadline;
	it->fki_item.fi_view.fv_prio = prio;
	fake_enq(it);
	return it;
}

/** The oldest packet under way has left. */
static inline void fake_done(void)
{
	assert_true(fake.fk_done_nr < fake.fk_packets_nr);
	m0_rpc__frm_packet_done(&fake.fk_packet[fake.fk_done_nr++]);
}

static inline void fake_all_done(void)
{
	while (fake.fk_done_nr < fake.fk_packets_nr) {
		fake_done();
		fake_run();
	}
}

static inline void fake_end(void)
{
	fake_all_done();
	assert_true(m0_rpc__frm_is_idle(&fake.fk_frm));
	m0_rpc__frm_fini(&fake.fk_frm);
	m0_rpc__frm_set_fini(&fake.fk_set);
}

/** Names that the reference's tests use for the state. */
static inline void fake_check(unsigned cached, unsigned flying)
{
	assert_int_equal(fake.fk_frm.f_items_nr, cached);
	assert_int_equal(fake.fk_frm.f_packets_enqed, flying);
	assert_int_equal(m0_rpc__frm_is_idle(&fake.fk_frm),
			 cached == 0 && flying == 0);
}

/** Item number `nr` of packet `packet`; NULL. */
static inline struct fake_item *fake_in(unsigned packet, unsigned nr)
{
	struct m0_list_link *link;

	assert_true(packet < fake.fk_packets_nr);
	m0_list_for_each(&fake.fk_packet[packet].fpk_items, link) {
		if (nr-- == 0)
			return fake_of(container_of(
				link, struct m0_rpc_frm_item, fi_link));
	}
	return NULL;
}

#endif /* M0_TESTS_UNIT_RPC_CORE_FRM_FAKE_H */
