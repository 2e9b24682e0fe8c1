/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory of processes. Its pages are pinned and mapped a second time, so data go between
 * them and sockets without a copy in between, on any thread, and it does not matter what
 * the process does with its own mapping.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>

#include "kern/dev/kern_dev.h"

enum {
	/** Pages that are pinned by one call, between looks for a signal. */
	TURN_NR = 1 << 12
};

/* Counts pages for RLIMIT_MEMLOCK. */
static int pages_charge(struct mm_struct *mm, unsigned long nr,
			char why[M0_ATTACH_WHY_BYTES])
{
	unsigned long most = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	uint64_t      locked =
		(uint64_t)atomic64_add_return((int64_t)nr, &mm->pinned_vm);

	if (locked <= most || capable(CAP_IPC_LOCK))
		return 0;
	atomic64_sub((int64_t)nr, &mm->pinned_vm);
	return m0_attach__why(
		why, -EDQUOT,
		"%lu pages of memory: the process may have %lu locked, and has "
		"%llu; raise its limit (RLIMIT_MEMLOCK, ulimit -l)",
		nr, most, (unsigned long long)(locked - nr));
}

static int pages_pin(struct kern_pin *pin, unsigned long from, unsigned long nr)
{
	unsigned flags = FOLL_WRITE | FOLL_LONGTERM;
	int      rc;

	while (pin->kni_nr < nr) {
		if (fatal_signal_pending(current))
			return -EINTR;
		rc = pin_user_pages_fast(from + pin->kni_nr * PAGE_SIZE,
					 (int)min64u(nr - pin->kni_nr, TURN_NR),
					 flags, pin->kni_pages + pin->kni_nr);
		if (rc <= 0)
			return rc == 0 ? -EFAULT : rc;
		pin->kni_nr += (unsigned long)rc;
	}
	return 0;
}

static int pages_take(struct kern_pin *pin, uint64_t addr, unsigned long nr,
		      char why[M0_ATTACH_WHY_BYTES])
{
	int rc;

	pin->kni_pages = kern_alloc(nr * sizeof pin->kni_pages[0], 3);
	rc = pin->kni_pages == NULL
		     ? -ENOMEM
		     : pages_pin(pin, (unsigned long)addr & PAGE_MASK, nr);
	if (rc == 0) {
		pin->kni_at =
			vmap(pin->kni_pages, (unsigned)nr, VM_MAP, PAGE_KERNEL);
		rc = pin->kni_at == NULL ? -ENOMEM : 0;
	}
	return rc == 0 ? 0
		       : m0_attach__why(why, rc,
					"memory of the process cannot be "
					"used: %s",
					m0_errname(rc));
}

int kern_pin_make(uint64_t addr, uint64_t bytes, struct kern_pin **ret,
		  char why[M0_ATTACH_WHY_BYTES])
{
	unsigned long    offset = offset_in_page(addr);
	unsigned long    nr;
	struct kern_pin *pin;
	int              rc;

	if (bytes == 0 || bytes > TASK_SIZE || addr > TASK_SIZE - bytes)
		return m0_attach__why(why, -EFAULT,
				      "%llu bytes at %llx are no memory of a "
				      "process",
				      (unsigned long long)bytes,
				      (unsigned long long)addr);
	nr = DIV_ROUND_UP(offset + bytes, PAGE_SIZE);
	pin = kern_alloc(sizeof *pin, 3);
	if (pin == NULL)
		return m0_attach__why(why, -ENOMEM, "no memory");
	rc = pages_charge(current->mm, nr, why);
	if (rc != 0) {
		kern_free(pin, sizeof *pin, 3);
		return rc;
	}
	pin->kni_mm = current->mm;
	mmgrab(pin->kni_mm);
	rc = pages_take(pin, addr, nr, why);
	if (rc != 0) {
		/* Pages that were not pinned are counted, too. */
		atomic64_sub((int64_t)(nr - pin->kni_nr),
			     &pin->kni_mm->pinned_vm);
		kern_pin_free(pin);
		return rc;
	}
	pin->kni_map.vmp_addr = (char *)pin->kni_at + offset;
	pin->kni_map.vmp_bytes = bytes;
	*ret = pin;
	return 0;
}

void kern_pin_free(struct kern_pin *pin)
{
	if (pin->kni_at != NULL)
		vunmap(pin->kni_at);
	if (pin->kni_nr > 0)
		unpin_user_pages_dirty_lock(pin->kni_pages, pin->kni_nr, true);
	kern_free(pin->kni_pages, 0, 3);
	atomic64_sub((int64_t)pin->kni_nr, &pin->kni_mm->pinned_vm);
	mmdrop(pin->kni_mm);
	kern_free(pin, sizeof *pin, 3);
}
