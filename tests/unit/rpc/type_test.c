/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Item types, states and raw items, without a machine. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "m0/rpc.h"

static struct m0_rpc_item_type_ops ops;

static struct m0_rpc_item_type type_make(uint32_t opcode, uint64_t flags)
{
	return (struct m0_rpc_item_type){ .rit_opcode = opcode,
					  .rit_ops = &ops,
					  .rit_flags = flags,
					  .rit_name = "test" };
}

/* Opcodes of the library and flags that fit nothing are refused. */
static void type_wrong_is_refused(void **state)
{
	struct m0_rpc_item_type low = type_make(63, M0_RPC_ITEM_TYPE_REQUEST);
	struct m0_rpc_item_type two = type_make(
		64, M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_REPLY);
	struct m0_rpc_item_type none = type_make(64, 0);
	struct m0_rpc_item_type mutabo = type_make(
		64, M0_RPC_ITEM_TYPE_ONEWAY | M0_RPC_ITEM_TYPE_MUTABO);

	(void)state;
	assert_int_equal(m0_rpc_item_type_register(&low), -EINVAL);
	assert_int_equal(m0_rpc_item_type_register(&two), -EINVAL);
	assert_int_equal(m0_rpc_item_type_register(&none), -EINVAL);
	assert_int_equal(m0_rpc_item_type_register(&mutabo), -EINVAL);
	assert_null(m0_rpc_item_type_lookup(64));
}

/* Many are found by opcode, also when others before them have gone. */
static void type_many_are_found(void **state)
{
	static struct m0_rpc_item_type types[1000];
	struct m0_rpc_item_type        same;
	unsigned                       i;

	(void)state;
	for (i = 0; i < 1000; ++i) {
		types[i] = type_make(64 + 4096 * i, M0_RPC_ITEM_TYPE_REQUEST);
		assert_int_equal(m0_rpc_item_type_register(&types[i]), 0);
	}
	same = types[5];
	assert_int_equal(m0_rpc_item_type_register(&same), -EEXIST);
	for (i = 0; i < 1000; i += 2)
		m0_rpc_item_type_deregister(&types[i]);
	for (i = 0; i < 1000; ++i)
		assert_ptr_equal(m0_rpc_item_type_lookup(64 + 4096 * i),
				 i % 2 == 0 ? NULL : &types[i]);
	for (i = 1; i < 1000; i += 2)
		m0_rpc_item_type_deregister(&types[i]);
	assert_null(m0_rpc_item_type_lookup(64 + 4096));
}

static int freed_nr;

static void freed(struct m0_rpc_raw *raw)
{
	(void)raw;
	++freed_nr;
}

/* The last reference calls rr_free, once; a new item has the defaults. */
static void raw_last_reference_frees(void **state)
{
	struct m0_rpc_item_type type = type_make(70, M0_RPC_ITEM_TYPE_REQUEST);
	struct m0_rpc_raw       raw;

	(void)state;
	memset(&raw, 0xff, sizeof raw);
	ops = m0_rpc_raw_ops;
	freed_nr = 0;
	m0_rpc_raw_init(&raw, &type, "body", 4, freed);
	assert_int_equal(m0_rpc_item_state(&raw.rr_item),
			 M0_RPC_ITEM_INITIALISED);
	assert_int_equal(raw.rr_item.ri_stream, 0);
	assert_int_equal(raw.rr_item.ri_expires, 0);
	assert_int_equal(m0_rpc_item_error(&raw.rr_item), 0);
	assert_ptr_equal(m0_rpc_raw_of(&raw.rr_item), &raw);
	m0_rpc_item_get(&raw.rr_item);
	m0_rpc_item_put(&raw.rr_item);
	assert_int_equal(freed_nr, 0);
	m0_rpc_item_put(&raw.rr_item);
	assert_int_equal(freed_nr, 1);
}

/* A cancel and a wait before any post find nothing to do. */
static void item_not_posted_is_left_alone(void **state)
{
	struct m0_rpc_item_type type = type_make(71, M0_RPC_ITEM_TYPE_REQUEST);
	struct m0_rpc_item      item;

	(void)state;
	m0_rpc_item_init(&item, &type);
	m0_rpc_item_cancel(&item);
	assert_int_equal(m0_rpc_item_timedwait(&item,
					       1 << M0_RPC_ITEM_INITIALISED, 0),
			 0);
	assert_int_equal(m0_rpc_item_timedwait(&item, 1 << M0_RPC_ITEM_REPLIED,
					       0),
			 -ETIMEDOUT);
	m0_rpc_item_fini(&item);
	assert_string_equal(
		m0_rpc_item_state_name(M0_RPC_ITEM_WAITING_FOR_REPLY),
		"WAITING_FOR_REPLY");
	assert_string_equal(m0_rpc_item_state_name(M0_RPC_ITEM_STATE_NR), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(type_wrong_is_refused),
		cmocka_unit_test(type_many_are_found),
		cmocka_unit_test(raw_last_reference_frees),
		cmocka_unit_test(item_not_posted_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
