/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Item types by opcode: an open hash table of the process, changed under a lock
 * and read without one. A type that goes leaves a tombstone.
 */
#include "rpc/rpc_internal.h"

static struct m0_rpc_item_type  tombstone;
static struct m0_rpc_item_type *types[M0_RPC__TYPES_MAX];
static uint32_t                 types_nr;
static uint32_t                 types_seq;
static struct m0_mutex          types_lock;
static uint32_t                 types_lock_is_up;

static void types_lock_get(void)
{
	uint32_t none = 0;

	/* 1: a thread initialises the lock. */
	if (__atomic_compare_exchange_n(&types_lock_is_up, &none, 1, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		m0_mutex_init(&types_lock);
		__atomic_store_n(&types_lock_is_up, 2, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(&types_lock_is_up, __ATOMIC_ACQUIRE) != 2)
		;
	m0_mutex_lock(&types_lock);
}

static uint32_t place_of(uint32_t opcode)
{
	return opcode * 2654435761u >> 20;
}

_Static_assert(M0_RPC__TYPES_MAX == 1 << 12, "place_of() gives 12 bits");

static struct m0_rpc_item_type *type_at(uint32_t i)
{
	M0_PRE(i < M0_RPC__TYPES_MAX);
	return __atomic_load_n(&types[i], __ATOMIC_ACQUIRE);
}

struct m0_rpc_item_type *m0_rpc_item_type_lookup(uint32_t opcode)
{
	uint32_t                 i = place_of(opcode);
	struct m0_rpc_item_type *type;
	uint32_t                 nr;

	for (nr = 0; nr < M0_RPC__TYPES_MAX; ++nr) {
		type = type_at(i);
		if (type == NULL)
			return NULL;
		if (type != &tombstone && type->rit_opcode == opcode)
			return type;
		i = (i + 1) % M0_RPC__TYPES_MAX;
	}
	return NULL;
}

static bool type_is_right(const struct m0_rpc_item_type *type)
{
	uint64_t kind = type->rit_flags &
			(M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_REPLY |
			 M0_RPC_ITEM_TYPE_ONEWAY);

	return type->rit_opcode >= M0_RPC_OP_USER &&
	       M0_IN(kind, (M0_RPC_ITEM_TYPE_REQUEST, M0_RPC_ITEM_TYPE_REPLY,
			    M0_RPC_ITEM_TYPE_ONEWAY)) &&
	       (type->rit_flags & ~(kind | M0_RPC_ITEM_TYPE_MUTABO)) == 0 &&
	       (!(type->rit_flags & M0_RPC_ITEM_TYPE_MUTABO) ||
		kind == M0_RPC_ITEM_TYPE_REQUEST);
}

int m0_rpc_item_type_register(struct m0_rpc_item_type *type)
{
	uint32_t i;
	int      rc = 0;

	M0_PRE(type != NULL);
	if (!type_is_right(type))
		return -EINVAL;
	types_lock_get();
	if (m0_rpc_item_type_lookup(type->rit_opcode) != NULL)
		rc = -EEXIST;
	else if (types_nr == M0_RPC__TYPES_MAX / 2)
		rc = -ENOMEM;
	if (rc == 0) {
		i = place_of(type->rit_opcode);
		while (types[i] != NULL && types[i] != &tombstone)
			i = (i + 1) % M0_RPC__TYPES_MAX;
		/* Not that of one which had its place before. */
		type->rit_index = ++types_seq * M0_RPC__TYPES_MAX + i;
		++types_nr;
		__atomic_store_n(&types[i], type, __ATOMIC_RELEASE);
	}
	m0_mutex_unlock(&types_lock);
	return rc;
}

void m0_rpc_item_type_deregister(struct m0_rpc_item_type *type)
{
	uint32_t i = m0_rpc__type_place(type);

	M0_PRE(type->rit_index != 0);
	types_lock_get();
	M0_PRE(types[i] == type);
	__atomic_store_n(&types[i], &tombstone, __ATOMIC_RELEASE);
	--types_nr;
	m0_mutex_unlock(&types_lock);
}
