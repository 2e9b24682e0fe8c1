/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operations. The inbox reaches it through the node, so the files
 * below do not depend on each other because of it.
 */
#include "home/home_internal.h"

_Static_assert(sizeof(struct m0_home_entry) == 8 &&
		       sizeof(struct m0_home_op) ==
			       sizeof(struct m0_home_entry),
	       "entries are two numbers, without padding");

const m0_home_do_t m0_home__do[M0_HOME_OPS_NR] = {
	[M0_HOME_OP_ME_ATTACH] = m0_home__me_attach_do,
	[M0_HOME_OP_ME_UNLINK] = m0_home__me_unlink_do,
	[M0_HOME_OP_MD_ATTACH] = m0_home__md_attach_do,
	[M0_HOME_OP_MD_UNLINK] = m0_home__md_unlink_do,
	[M0_HOME_OP_QUEUE_ATTACH] = m0_home__queue_attach_do,
	[M0_HOME_OP_ENTRY_ATTACH] = m0_home__entry_attach_do,
	[M0_HOME_OP_PUT] = m0_home__put_do,
	[M0_HOME_OP_GET] = m0_home__get_do,
	[M0_HOME_OP_BIND_PUT] = m0_home__bind_put_do,
	[M0_HOME_OP_BIND_GET] = m0_home__bind_get_do,
	[M0_HOME_OP_LAZY] = m0_home__lazy_do,
	[M0_HOME_OP_STATS_RESET] = m0_home__reset_do,
	[M0_HOME_OP_CLOSE] = m0_home__close_do,
	[M0_HOME_OP_BARRIER] = m0_home__barrier_do,
	[M0_HOME_OP_INFO] = m0_home__info_do,
	[M0_HOME_OP_FAULT] = m0_home__fault_do,
	[M0_HOME_OP_MEM_ADD] = m0_home__mem_add_do,
	[M0_HOME_OP_MEM_DEL] = m0_home__mem_del_do,
};
