/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <sys/socket.h>
#include <unistd.h>

#include "attach/proto.h"
#include "os/shm.h"

M0_BASSERT((int)M0_ATTACH_FDS_MAX == (int)M0_OS_FDS_MAX);

int m0_attach__send(int sock, const struct m0_attach_head *head, const int *fds,
		    unsigned fds_nr, int flags)
{
	ssize_t rc =
		m0_os_fds_send(sock, head, head->ahd_bytes, fds, fds_nr, flags);

	return rc < 0 ? (int)rc : 0;
}

int m0_attach__say(int sock, enum m0_attach_type type, int rc, uint32_t nr,
		   const char *why)
{
	struct m0_attach_word word;

	m0_attach__word(&word, type, rc, nr, why);
	return m0_attach__send(sock, &word.awd_head, NULL, 0, MSG_DONTWAIT);
}

int m0_attach__recv(int sock, struct m0_attach_in *in, int flags)
{
	struct m0_os_fds fds;
	ssize_t          rc;

	M0_SET0(in);
	rc = m0_os_fds_recv(sock, &in->aim_u, sizeof in->aim_u, &fds, flags);
	if (rc < 0)
		return (int)rc;
	memcpy(in->aim_fds, fds.ofs_fds, sizeof in->aim_fds);
	in->aim_fds_nr = fds.ofs_nr;
	in->aim_bytes = (size_t)rc;
	in->aim_is_cut = fds.ofs_is_cut;
	return rc > 0;
}

void m0_attach__drop(struct m0_attach_in *in)
{
	while (in->aim_fds_nr > 0) {
		int fd = in->aim_fds[--in->aim_fds_nr];

		if (fd >= 0)
			(void)close(fd);
	}
}

/* Descriptors of messages of a type. */
static unsigned fds_nr_of(unsigned type)
{
	return type == M0_ATTACH_WELCOME ? 3 : type == M0_ATTACH_REGION;
}

int m0_attach__check(const struct m0_attach_in *in,
		     char                       why[M0_ATTACH_WHY_BYTES])
{
	unsigned type = in->aim_u.amg_head.ahd_type;
	int      rc = m0_attach__msg_check(&in->aim_u, in->aim_bytes, why);

	if (rc != 0)
		return rc;
	if (in->aim_is_cut || in->aim_fds_nr != fds_nr_of(type))
		return m0_attach__why(why, -EPROTO,
				      "%u%s descriptors with a message of type "
				      "%u: %u is accepted",
				      in->aim_fds_nr,
				      in->aim_is_cut ? " or more" : "", type,
				      fds_nr_of(type));
	return 0;
}
