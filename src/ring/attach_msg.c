/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stdio.h>

#include "ring/attach_msg.h"

/** The form of messages of a type. */
struct form {
	size_t afm_bytes;
	/** Where its last reserved bytes are. */
	size_t afm_reserved_at;
};

static const struct form forms[] = {
	[M0_ATTACH_HELLO] = { sizeof(struct m0_attach_hello),
			      offsetof(struct m0_attach_hello, ahl_reserved) },
	[M0_ATTACH_WELCOME] = { sizeof(struct m0_attach_welcome),
				offsetof(struct m0_attach_welcome,
					 awl_reserved) },
	[M0_ATTACH_REFUSE] = { sizeof(struct m0_attach_word),
			       sizeof(struct m0_attach_word) },
	[M0_ATTACH_REGION] = { sizeof(struct m0_attach_region),
			       sizeof(struct m0_attach_region) },
	[M0_ATTACH_REGION_DONE] = { sizeof(struct m0_attach_word),
				    sizeof(struct m0_attach_word) },
	[M0_ATTACH_ENDED] = { sizeof(struct m0_attach_word),
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

void m0_attach__word(struct m0_attach_word *word, enum m0_attach_type type,
		     int rc, uint32_t nr, const char *why)
{
	M0_SET0(word);
	m0_attach__head(&word->awd_head, type, sizeof *word);
	word->awd_rc = rc;
	word->awd_nr = nr;
	(void)snprintf(word->awd_why, sizeof word->awd_why, "%s", why);
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

static int head_check(const struct m0_attach_head *head, size_t bytes,
		      char why[M0_ATTACH_WHY_BYTES])
{
	if (bytes < sizeof *head || head->ahd_magic != M0_ATTACH_MAGIC)
		return m0_attach__why(why, -EPROTO,
				      "%zu bytes that are no message of this "
				      "protocol",
				      bytes);
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

static bool reserved_is_zero(const union m0_attach_msg *msg,
			     const struct form         *form)
{
	return msg->amg_head.ahd_reserved == 0 &&
	       is_zero((const char *)msg + form->afm_reserved_at,
		       form->afm_bytes - form->afm_reserved_at) &&
	       (msg->amg_head.ahd_type != M0_ATTACH_REGION ||
		msg->amg_region.aer_reserved == 0);
}

int m0_attach__msg_check(const union m0_attach_msg *msg, size_t bytes,
			 char why[M0_ATTACH_WHY_BYTES])
{
	const struct m0_attach_head *head = &msg->amg_head;
	const struct form           *form;
	int                          rc = head_check(head, bytes, why);

	if (rc != 0)
		return rc;
	form = &forms[head->ahd_type];
	if (bytes != form->afm_bytes || head->ahd_bytes != form->afm_bytes)
		return m0_attach__why(why, -EPROTO,
				      "%zu bytes of a message of type %u that "
				      "says %u: %zu is accepted",
				      bytes, head->ahd_type, head->ahd_bytes,
				      form->afm_bytes);
	if (!reserved_is_zero(msg, form))
		return m0_attach__why(why, -EPROTO,
				      "reserved bytes of a message of type %u "
				      "are not 0",
				      head->ahd_type);
	return 0;
}
