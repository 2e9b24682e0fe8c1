/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copies from the memory of another process of the same daemon. Nothing is mapped, so nothing
 * of that process can be changed.
 */
#include <sys/uio.h>
#include <unistd.h>

#include "attach/attach.h"

/*
 * The daemon names a process and addresses of it, which this process may be able to read
 * though the daemon is not. A socket that the first process of the system has made, a service
 * manager, does not say who serves it; nor does a
 * user that this process's user namespace does not map, since all of them have one number.
 */
bool m0_attach_may_copy(const struct m0_attach *att)
{
	const struct m0_shared_creds *creds = &att->att_creds;

	return creds->scr_pid > 1 && att->att_pid == (uint32_t)getpid() &&
	       creds->scr_uid != m0_attach__unmapped_uid() &&
	       (creds->scr_uid == 0 || creds->scr_uid == geteuid());
}

int m0_attach_copy(const struct m0_attach      *att,
		   const struct m0_shared_copy *copy, void *const *to)
{
	uint64_t     cookie[2] = { 0, 0 };
	struct iovec here[1 + M0_SHARED_PIECES_MAX] = { { cookie,
							  sizeof cookie } };
	struct iovec there[1 + M0_SHARED_PIECES_MAX] = {
		{ (void *)(uintptr_t)copy->scp_cookie_at, sizeof cookie }
	};
	size_t   bytes = sizeof cookie;
	ssize_t  got;
	unsigned i;

	M0_PRE(copy->scp_pieces_nr <= M0_SHARED_PIECES_MAX);
	if (!att->att_copies)
		return -EPERM;
	for (i = 0; i < copy->scp_pieces_nr; ++i) {
		const struct m0_shared_piece *piece = &copy->scp_pieces[i];

		here[1 + i] = (struct iovec){ to[i], piece->spe_bytes };
		there[1 + i] =
			(struct iovec){ (void *)(uintptr_t)piece->spe_from,
					piece->spe_bytes };
		bytes += piece->spe_bytes;
	}
	got = process_vm_readv((pid_t)copy->scp_pid, here, 1 + i, there, 1 + i,
			       0);
	if (got < 0)
		return -errno;
	/* The number may be that of another process by now. */
	if (memcmp(cookie, copy->scp_cookie, sizeof cookie) != 0)
		return -ESRCH;
	return (size_t)got == bytes ? 0 : -EFAULT;
}
