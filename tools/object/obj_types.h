/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Types of the items of obj_wire.h, known to the RPC layer. */
#ifndef M0_TOOLS_OBJ_TYPES_H
#define M0_TOOLS_OBJ_TYPES_H

#include "m0/rpc.h"

#include "obj_wire.h"

/**
 * Makes them known; once in a process.
 * @param deliver  handlers by opcode - OBJ_OP_BASE; NULL: of a client.
 * @retval -EEXIST
 */
int  obj_types_register(void (*const *deliver)(struct m0_rpc_machine *machine,
                                              struct m0_rpc_item    *item));
void obj_types_deregister(void);
struct m0_rpc_item_type *obj_type(enum obj_op op);
const char              *obj_op_name(enum obj_op op);
/** Does it go in an update stream? */
bool obj_op_is_update(enum obj_op op);

/** An item of its own memory with a body of `nr` bytes, which the caller
 * fills; one reference. NULL: no memory. */
struct m0_rpc_raw *obj_raw_new(enum obj_op op, size_t nr, uint8_t **ret_body);

#endif /* M0_TOOLS_OBJ_TYPES_H */
