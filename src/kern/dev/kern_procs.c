/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The processes that are attached to one node by the device, for `colibri process show`. Every
 * process that has this node by the device may ask.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "kern/dev/kern_dev.h"

enum {
	PROCS_MAX = 4096
};

/* @return how many there are. */
static uint32_t rows_fill(const struct kern_session *of,
			  struct m0_attach_proc *ret, uint32_t max)
{
	struct kern_device        *device = of->kne_device;
	const struct kern_session *ses;
	uint32_t                   nr = 0;

	spin_lock(&device->knv_lock);
	list_for_each_entry(ses, &device->knv_sessions, kne_link)
	{
		if (nr < max && ses->kne_node == of->kne_node &&
		    kern_session_tell(ses, &ret[nr]))
			++nr;
	}
	spin_unlock(&device->knv_lock);
	return nr;
}

static int rows_give(const struct kern_session *of,
		     struct m0_attach_procs    *procs)
{
	struct m0_attach_proc *rows;
	int                    rc = 0;

	procs->aes_nr = 0;
	if (procs->aes_max == 0)
		return 0;
	rows = kvcalloc(procs->aes_max, sizeof *rows, GFP_KERNEL);
	if (rows == NULL)
		return -ENOMEM;
	procs->aes_nr = rows_fill(of, rows, procs->aes_max);
	if (copy_to_user(u64_to_user_ptr(procs->aes_to), rows,
			 procs->aes_nr * sizeof *rows) != 0)
		rc = -EFAULT;
	kvfree(rows);
	return rc;
}

int kern_procs_tell(const struct kern_session     *of,
		    struct m0_attach_procs __user *arg)
{
	const struct kern_device *device = of->kne_device;
	struct m0_attach_procs    procs;
	int                       rc;

	if (copy_from_user(&procs, arg, sizeof procs) != 0)
		return -EFAULT;
	if (procs.aes_max > PROCS_MAX)
		return -EINVAL;
	rc = rows_give(of, &procs);
	if (rc != 0)
		return rc;
	procs.aes_attached_nr =
		(uint64_t)atomic64_read(&device->knv_attached_nr);
	procs.aes_refused_nr = (uint64_t)atomic64_read(&device->knv_refused_nr);
	procs.aes_bytes = READ_ONCE(device->knv_bytes);
	return copy_to_user(arg, &procs, sizeof procs) == 0 ? 0 : -EFAULT;
}
