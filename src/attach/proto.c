/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/proto.h"
#include "os/shm.h"

M0_BASSERT((int)M0_ATTACH_FDS_MAX == (int)M0_OS_FDS_MAX);

/** The form of messages of a type. */
struct form {
	size_t   afm_bytes;
	unsigned afm_fds_nr;
	/** Where its last reserved bytes are. */
	size_t afm_reserved_at;
};

static const struct form forms[] = {
	[M0_ATTACH_HELLO] = { sizeof(struct m0_attach_hello), 0,
			      offsetof(struct m0_attach_hello, ahl_reserved) },
	[M0_ATTACH_WELCOME] = { sizeof(struct m0_attach_welcome), 3,
				offsetof(struct m0_attach_welcome,
					 awl_reserved) },
	[M0_ATTACH_REFUSE] = { sizeof(struct m0_attach_word), 0,
			       sizeof(struct m0_attach_word) },
	[M0_ATTACH_REGION] = { sizeof(struct m0_attach_region), 1,
			       sizeof(struct m0_attach_region) },
	[M0_ATTACH_REGION_DONE] = { sizeof(struct m0_attach_word), 0,
				    sizeof(struct m0_attach_word) },
	[M0_ATTACH_ENDED] = { sizeof(struct m0_attach_word), 0,
			      sizeof(struct m0_attach_word) },
};

int m0_attach__why(char why[M0_ATTACH_WHY_BYTES], int rc, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, M0_ATTACH_WHY_BYTES, fmt, args);
	va_end(args);
	return rc;
}

void m0_attach__head(struct m0_attach_head *head, enum m0_attach_type type,
		     size_t bytes)
{
	*head = (struct m0_attach_head){
		.ahd_magic = M0_ATTACH_MAGIC,
		.ahd_version = M0_ATTACH_VERSION,
		.ahd_type = (uint16_t)type,
		.ahd_bytes = (uint32_t)bytes,
	};
}

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

	M0_SET0(&word);
	m0_attach__head(&word.awd_head, type, sizeof word);
	word.awd_rc = rc;
	word.awd_nr = nr;
	(void)snprintf(word.awd_why, sizeof word.awd_why, "%s", why);
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

static bool is_zero(const void *at, size_t bytes)
{
	const uint8_t *byte = at;

	while (bytes > 0 && *byte == 0) {
		++byte;
		--bytes;
	}
	return bytes == 0;
}

static int head_check(const struct m0_attach_in *in,
		      char                       why[M0_ATTACH_WHY_BYTES])
{
	const struct m0_attach_head *head = &in->aim_u.amg_head;

	if (in->aim_bytes < sizeof *head || head->ahd_magic != M0_ATTACH_MAGIC)
		return m0_attach__why(why, -EPROTO,
				      "%zu bytes that are no message of this "
				      "protocol",
				      in->aim_bytes);
	if (head->ahd_version != M0_ATTACH_VERSION)
		return m0_attach__why(
			why, -EPROTONOSUPPORT,
			"version %u of the protocol: %u is accepted; process "
			"and daemon need the same version of Colibri",
			head->ahd_version, (unsigned)M0_ATTACH_VERSION);
	if (head->ahd_type == 0 || head->ahd_type >= ARRAY_SIZE(forms))
		return m0_attach__why(why, -EPROTO,
				      "type %u of a message: 1 to %zu is "
				      "accepted",
				      head->ahd_type, ARRAY_SIZE(forms) - 1);
	return 0;
}

static bool reserved_is_zero(const struct m0_attach_in *in,
			     const struct form         *form)
{
	const char *all = (const char *)&in->aim_u;

	return in->aim_u.amg_head.ahd_reserved == 0 &&
	       is_zero(all + form->afm_reserved_at,
		       form->afm_bytes - form->afm_reserved_at) &&
	       (in->aim_u.amg_head.ahd_type != M0_ATTACH_REGION ||
		in->aim_u.amg_region.aer_reserved == 0);
}

int m0_attach__check(const struct m0_attach_in *in,
		     char                       why[M0_ATTACH_WHY_BYTES])
{
	const struct m0_attach_head *head = &in->aim_u.amg_head;
	const struct form           *form;
	int                          rc = head_check(in, why);

	if (rc != 0)
		return rc;
	form = &forms[head->ahd_type];
	if (in->aim_bytes != form->afm_bytes ||
	    head->ahd_bytes != form->afm_bytes)
		return m0_attach__why(why, -EPROTO,
				      "%zu bytes of a message of type %u that "
				      "says %u: %zu is accepted",
				      in->aim_bytes, head->ahd_type,
				      head->ahd_bytes, form->afm_bytes);
	if (in->aim_is_cut || in->aim_fds_nr != form->afm_fds_nr)
		return m0_attach__why(why, -EPROTO,
				      "%u%s descriptors with a message of type "
				      "%u: %u is accepted",
				      in->aim_fds_nr,
				      in->aim_is_cut ? " or more" : "",
				      head->ahd_type, form->afm_fds_nr);
	if (!reserved_is_zero(in, form))
		return m0_attach__why(why, -EPROTO,
				      "reserved bytes of a message of type %u "
				      "are not 0",
				      head->ahd_type);
	return 0;
}
