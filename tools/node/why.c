/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <string.h>

#include "why.h"

/** How long a reason explains failures. A driver tries once a minute to connect, and logs the reason
 * each time. */
#define KEEP_NS (90 * M0_TIME_ONE_SECOND)

/*
 * The socket driver says "sock: cannot connect to NID (ERROR): why", or "sock: NID
 * closed our connection before ...", once, when it tries; in the pause after it a
 * ping fails for the same reason. A connection that the peer closes fails as one that
 * was reset.
 */
static bool sock_parse(struct node_why *why, const char *text)
{
	int at = -1;

	M0_BASSERT(sizeof why->nwh_nid >= 64);
	if (sscanf(text, "sock: cannot connect to %63s (%23[A-Z0-9])",
		   why->nwh_nid, why->nwh_errname) == 2)
		return true;
	snprintf(why->nwh_errname, sizeof why->nwh_errname, "%s",
		 m0_errname(-ECONNRESET));
	return sscanf(text, "sock: %63s closed our connection before %n",
		      why->nwh_nid, &at) == 1 &&
	       at > 0;
}

/*
 * The driver of net o2ib says "o2ib: NID has rejected a connection: why", and its devices
 * "o2ib: no connection to ADDRESS: why".
 */
static bool o2ib_parse(struct node_why *why, const char *text)
{
	int at = -1;

	why->nwh_errname[0] = 0;
	if (sscanf(text, "o2ib: no connection to %63[0-9.]: %n", why->nwh_nid,
		   &at) == 1 &&
	    at > 0)
		return true;
	why->nwh_is_mismatch = true;
	at = -1;
	return sscanf(text, "o2ib: %63s has rejected a connection: %n",
		      why->nwh_nid, &at) == 1 &&
	       at > 0;
}

/** The driver of net o2ib says "o2ib: NID agrees with our limits now". */
static bool agreed(struct node_whys *whys, const char *text)
{
	char     nid[M0_LNET_NIDSTR_SIZE];
	int      at = -1;
	unsigned i;

	M0_BASSERT(sizeof nid >= 64);
	if (sscanf(text, "o2ib: %63s agrees with our limits %n", nid, &at) !=
		    1 ||
	    at < 0)
		return false;
	for (i = 0; i < NODE_WHYS_MAX; ++i)
		if (whys->nws_all[i].nwh_is_mismatch &&
		    strcmp(whys->nws_all[i].nwh_nid, nid) == 0)
			whys->nws_all[i] = (struct node_why){};
	return true;
}

void node_whys_note(struct node_whys *whys, const char *text, m0_time_t now)
{
	struct node_why why = { .nwh_at = now };
	unsigned        i;

	if (agreed(whys, text))
		return;
	if (!sock_parse(&why, text) && !o2ib_parse(&why, text))
		return;
	snprintf(why.nwh_text, sizeof why.nwh_text, "%s",
		 strchr(text, ' ') + 1);
	for (i = 0; i < NODE_WHYS_MAX; ++i) {
		if (strcmp(whys->nws_all[i].nwh_nid, why.nwh_nid) == 0)
			break;
	}
	if (i == NODE_WHYS_MAX) {
		i = whys->nws_at;
		whys->nws_at = (whys->nws_at + 1) % NODE_WHYS_MAX;
	}
	whys->nws_all[i] = why;
}

/* Is it about that NID? */
static bool is_of(const struct node_why *why, const char *nid)
{
	size_t nr = strlen(why->nwh_nid);

	return strcmp(why->nwh_nid, nid) == 0 ||
	       (nr > 0 && strncmp(why->nwh_nid, nid, nr) == 0 &&
		strncmp(nid + nr, "@o2ib", strlen("@o2ib")) == 0);
}

static bool explains(const struct node_why *why, int status, m0_time_t now)
{
	if (why->nwh_errname[0] != 0)
		return strcmp(why->nwh_errname, m0_errname(status)) == 0;
	return why->nwh_is_mismatch ||
	       (status != 0 && now <= m0_time_add(why->nwh_at, KEEP_NS));
}

const char *node_whys_get(const struct node_whys   *whys,
			  const struct m0_lnet_nid *nid, int status,
			  m0_time_t now)
{
	char     text[M0_LNET_NIDSTR_SIZE];
	unsigned i;

	(void)m0_lnet_nid_print(nid, text, sizeof text);
	for (i = 0; i < NODE_WHYS_MAX; ++i) {
		const struct node_why *why = &whys->nws_all[i];

		if (is_of(why, text) && explains(why, status, now))
			return why->nwh_text;
	}
	return NULL;
}
