/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The processes that are attached to one node by the device, for `colibri process show`. Every
 * process that has this node by the device may ask.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "kern/dev/kern_dev.h"

/* knv_lock is held. */
static void rows_of(const struct kern_device_node *node,
		    const struct list_head        *sessions,
		    struct m0_attach_proc *ret, struct m0_attach_procs *procs)
{
	const struct kern_session *ses;
	struct m0_attach_proc      row;

	list_for_each_entry(ses, sessions, kne_link)
	{
		if (ses->kne_node != node || !kern_session_tell(ses, &row))
			continue;
		procs->aes_bytes += row.aep_bytes;
		if (procs->aes_nr < procs->aes_max)
			ret[procs->aes_nr++] = row;
	}
	procs->aes_attached_nr =
		(uint64_t)atomic64_read(&node->kvn_attached_nr);
	procs->aes_refused_nr = (uint64_t)atomic64_read(&node->kvn_refused_nr);
}

/* A session that has ended has no node, and learns nothing. */
static void rows_fill(const struct kern_session *of, struct m0_attach_proc *ret,
		      struct m0_attach_procs *procs)
{
	struct kern_device *device = of->kne_device;

	spin_lock(&device->knv_lock);
	if (of->kne_node != NULL)
		rows_of(of->kne_node, &device->knv_sessions, ret, procs);
	spin_unlock(&device->knv_lock);
}

static int rows_give(const struct kern_session *of,
		     struct m0_attach_procs    *procs)
{
	struct m0_attach_proc *rows = kvcalloc(max_check(procs->aes_max, 1U),
					       sizeof *rows, GFP_KERNEL);
	int                    rc = 0;

	if (rows == NULL)
		return -ENOMEM;
	rows_fill(of, rows, procs);
	if (copy_to_user(u64_to_user_ptr(procs->aes_to), rows,
			 procs->aes_nr * sizeof *rows) != 0)
		rc = -EFAULT;
	kvfree(rows);
	return rc;
}

int kern_procs_tell(const struct kern_session     *of,
		    struct m0_attach_procs __user *arg)
{
	struct m0_attach_procs asked;
	struct m0_attach_procs procs;
	int                    rc;

	if (copy_from_user(&asked, arg, sizeof asked) != 0)
		return -EFAULT;
	if (asked.aes_max > M0_ATTACH_PROCS_MAX)
		return -EINVAL;
	procs = (struct m0_attach_procs){
		.aes_to = asked.aes_to,
		.aes_max = asked.aes_max,
	};
	rc = rows_give(of, &procs);
	if (rc != 0)
		return rc;
	return copy_to_user(arg, &procs, sizeof procs) == 0 ? 0 : -EFAULT;
}
