/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Thread-local state of rooms above os (base/tls.h). */
#include "kern/os/kern_tls.h"
#include "kit/kit.h"
#include "net/net_desc.h"

struct kit_pass *kit_pass(void)
{
	M0_BASSERT(sizeof(struct kit_pass) <= KERN_ROOM_BYTES);
	return kern_room(KERN_ROOM_KIT);
}

struct m0_net__desc_pass *m0_net__desc_pass(void)
{
	M0_BASSERT(sizeof(struct m0_net__desc_pass) <= KERN_ROOM_BYTES);
	return kern_room(KERN_ROOM_NET);
}
