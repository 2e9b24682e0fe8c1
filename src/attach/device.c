/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A device of the kernel in place of a daemon: the same messages, by write() and read(),
 * and the same area, by mmap(). Bells are ioctl() and poll().
 *
 * Networks, routes and rules are those that an administrator has given the module, or has set
 * by the control verbs. [r.lnet.preconfigured]
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/attach.h"
#include "m0/lnet_daemon.h"

bool m0_attach__is_device(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISCHR(st.st_mode);
}

static int refused(const char *path, int rc, char why[M0_ATTACH_WHY_BYTES])
{
	if (M0_IN(rc, (-EACCES, -EPERM)))
		return m0_attach__why(why, rc,
				      "user %u may not open %s: its owner and "
				      "its group may",
				      (unsigned)geteuid(), path);
	if (rc == -EUSERS)
		return m0_attach__why(why, rc,
				      "too many processes are attached to %s: "
				      "device_procs of the module bounds them",
				      path);
	return m0_attach__why(why, rc, "%s: %s", path, m0_errname(rc));
}

int m0_attach__device_open(struct m0_attach *att, const char *path,
			   char why[M0_ATTACH_WHY_BYTES])
{
	att->att_is_device = true;
	att->att_sock = open(path, O_RDWR | O_CLOEXEC);
	if (att->att_sock < 0)
		return refused(path, -errno, why);
	/* epoll takes a file once for each descriptor. */
	att->att_bell = fcntl(att->att_sock, F_DUPFD_CLOEXEC, 0);
	return att->att_bell >= 0 ? 0
				  : m0_attach__why(why, -errno,
						   "no descriptor is left: %s",
						   m0_errname(errno));
}

int m0_attach__device_send(const struct m0_attach      *att,
			   const struct m0_attach_head *head)
{
	ssize_t rc;

	do {
		rc = write(att->att_sock, head, head->ahd_bytes);
	} while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : 0;
}

int m0_attach__device_recv(const struct m0_attach *att, struct m0_attach_in *in)
{
	ssize_t rc;

	M0_SET0(in);
	do {
		rc = read(att->att_sock, &in->aim_u, sizeof in->aim_u);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return -errno;
	in->aim_bytes = (size_t)rc;
	return rc > 0;
}

void m0_attach__device_ring(const struct m0_attach *att)
{
	/* Fails only if the session has ended, which poll() reports. */
	(void)ioctl(att->att_sock, M0_ATTACH_DEVICE_RING, 0);
}

void m0_attach__device_calm(const struct m0_attach *att)
{
	(void)ioctl(att->att_sock, M0_ATTACH_DEVICE_CALM, 0);
}

int m0_attach__device_map(struct m0_attach *att, uint64_t bytes, void **ret,
			  char why[M0_ATTACH_WHY_BYTES])
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			att->att_sock, 0);

	if (at == MAP_FAILED)
		return m0_attach__why(why, -errno,
				      "the area of the device cannot be "
				      "mapped: %s",
				      m0_errname(errno));
	*ret = at;
	return 0;
}

static void proc_get(const struct m0_attach_proc *row, m0_time_t now,
		     struct m0_lnet_attached *ret)
{
	*ret = (struct m0_lnet_attached){
		.lax_pid = row->aep_pid,
		.lax_uid = row->aep_uid,
		.lax_gid = row->aep_gid,
		.lax_is_ending = row->aep_is_ending != 0,
		.lax_since = m0_time_sub(now, min_check(now, row->aep_age_ns)),
		.lax_mds_nr = row->aep_mds_nr,
		.lax_regions_nr = row->aep_regions_nr,
		.lax_bytes = row->aep_bytes,
		.lax_ops_nr = row->aep_ops_nr,
		.lax_events_nr = row->aep_events_nr,
		.lax_denied_nr = row->aep_denied_nr,
	};
}

static int procs_ask(const char *path, struct m0_attach_procs *procs)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, M0_ATTACH_DEVICE_PROCS, procs) != 0)
		rc = -errno;
	(void)close(fd);
	return rc;
}

int m0_lnet_daemon_device_procs(const char                 *path,
				struct m0_lnet_daemon_info *info,
				struct m0_lnet_attached *ret, unsigned max)
{
	struct m0_attach_procs procs = { .aes_max = max };
	struct m0_attach_proc *rows;
	m0_time_t              now;
	unsigned               i;
	int                    rc;

	M0_BASSERT((int)M0_LNET_DAEMON_DEVICE_PROCS_MAX ==
		   (int)M0_ATTACH_PROCS_MAX);
	if (max > M0_LNET_DAEMON_DEVICE_PROCS_MAX)
		return -EINVAL;
	M0_ALLOC_ARR(rows, max_check(max, 1U));
	if (rows == NULL)
		return -ENOMEM;
	procs.aes_to = (uintptr_t)rows;
	rc = procs_ask(path, &procs);
	now = m0_time_now();
	if (rc == 0)
		*info = (struct m0_lnet_daemon_info){
			.ldf_attached_nr = procs.aes_attached_nr,
			.ldf_refused_nr = procs.aes_refused_nr,
			.ldf_procs_nr = min_check(procs.aes_nr, max),
			.ldf_bytes = procs.aes_bytes,
		};
	for (i = 0; rc == 0 && i < info->ldf_procs_nr; ++i)
		proc_get(&rows[i], now, &ret[i]);
	m0_free(rows);
	return rc;
}
