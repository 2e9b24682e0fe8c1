/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "obj_types.h"

enum {
	TYPES_NR = OBJ_OP_END - OBJ_OP_BASE
};

static const struct {
	const char *n_name;
	uint64_t    n_flags;
} names[TYPES_NR] = {
	{ "obj-put", M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO },
	{ "obj-begin", M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO },
	{ "obj-commit", M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO },
	{ "obj-abort", M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO },
	{ "obj-remove", M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO },
	{ "obj-write", M0_RPC_ITEM_TYPE_REQUEST },
	{ "obj-read", M0_RPC_ITEM_TYPE_REQUEST },
	{ "obj-stat", M0_RPC_ITEM_TYPE_REQUEST },
	{ "obj-list", M0_RPC_ITEM_TYPE_REQUEST },
	{ "obj-sums", M0_RPC_ITEM_TYPE_REQUEST },
	{ "obj-info", M0_RPC_ITEM_TYPE_REQUEST },
	{ "obj-reply", M0_RPC_ITEM_TYPE_REPLY },
};

static struct m0_rpc_item_type     types[TYPES_NR];
static struct m0_rpc_item_type_ops ops[TYPES_NR];

int obj_types_register(void (*const *deliver)(struct m0_rpc_machine *machine,
					      struct m0_rpc_item    *item))
{
	int rc = 0;
	int i;

	for (i = 0; rc == 0 && i < TYPES_NR; ++i) {
		ops[i] = m0_rpc_raw_ops;
		if (deliver != NULL && i < OBJ_REQUEST_END - OBJ_OP_BASE)
			ops[i].rito_deliver = deliver[i];
		types[i] = (struct m0_rpc_item_type){
			.rit_opcode = (uint32_t)(OBJ_OP_BASE + i),
			.rit_ops = &ops[i],
			.rit_flags = names[i].n_flags,
			.rit_name = names[i].n_name,
		};
		rc = m0_rpc_item_type_register(&types[i]);
	}
	for (--i; rc != 0 && i-- > 0;)
		m0_rpc_item_type_deregister(&types[i]);
	return rc;
}

void obj_types_deregister(void)
{
	int i;

	for (i = 0; i < TYPES_NR; ++i)
		m0_rpc_item_type_deregister(&types[i]);
}

struct m0_rpc_item_type *obj_type(enum obj_op op)
{
	return &types[op - OBJ_OP_BASE];
}

const char *obj_op_name(enum obj_op op)
{
	return names[op - OBJ_OP_BASE].n_name;
}

bool obj_op_is_update(enum obj_op op)
{
	return names[op - OBJ_OP_BASE].n_flags & M0_RPC_ITEM_TYPE_MUTABO;
}

static void raw_free(struct m0_rpc_raw *raw)
{
	m0_free(raw);
}

struct m0_rpc_raw *obj_raw_new(enum obj_op op, size_t nr, uint8_t **ret_body)
{
	struct m0_rpc_raw *raw = m0_alloc(sizeof *raw + nr);

	if (raw == NULL)
		return NULL;
	*ret_body = (uint8_t *)(raw + 1);
	m0_rpc_raw_init(raw, obj_type(op), *ret_body, nr, &raw_free);
	return raw;
}
