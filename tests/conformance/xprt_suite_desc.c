/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Descriptors that are not what they should be: the active buffer completes
 * with an error, the passive buffer and its owner see nothing.
 */
#include "xprt_suite.h"

/* Generous: a limit against hanging. */
#define STALE_LIMIT_NS (20 * M0_TIME_ONE_SECOND)

static struct cf_tm *active;
static struct cf_tm *owner;

static void pair_up(void)
{
	active = cf_up(0);
	owner = cf_up(1);
}

struct trial {
	struct cf_buf *tr_buf;
	int            tr_rc;
};

/* An active receive with these bytes as its descriptor. */
static struct trial try_begin(const struct m0_net_buf_desc *desc)
{
	struct trial t = { .tr_buf = cf_buf(0, 100) };

	CF_EQ(m0_net_desc_copy(desc, &t.tr_buf->cb_nb.nb_desc), 0, "copy");
	t.tr_rc = cf_add(t.tr_buf, active, M0_NET_QT_ACTIVE_BULK_RECV);
	CF_TRUE(t.tr_rc == 0 || cf.c_row->r_desc_at_add,
		"a bad descriptor is %s, expected an event",
		m0_errname(t.tr_rc));
	return t;
}

/* Its status. */
static int try_end(struct trial *t)
{
	if (t->tr_rc == 0) {
		cf_wait_buf(t->tr_buf);
		t->tr_rc = t->tr_buf->cb_last.ce_status;
		cf_check_blank(t->tr_buf, 0, t->tr_rc == 0 ? 0 : 100);
	}
	cf_buf_free(t->tr_buf);
	return t->tr_rc;
}

static int try(const struct m0_net_buf_desc *desc)
{
	struct trial t = try_begin(desc);

	return try_end(&t);
}

static void passive_unharmed(struct cf_buf *p)
{
	CF_EQ(cf_get(&p->cb_events), 0, "the passive buffer sees nothing");
	CF_EQ(owner->ct_errors, 0, "its owner sees nothing");
	CF_EQ(try(&p->cb_nb.nb_desc), 0, "the true descriptor still works");
	cf_done_is(p, 0, "passive");
}

/* Every byte changed, in a way drawn from the seed. */
static void corrupted(void)
{
	struct m0_net_buf_desc d;
	struct cf_buf         *p;
	uint32_t               i;

	pair_up();
	p = cf_passive(owner, M0_NET_QT_PASSIVE_BULK_SEND, 100, NULL);
	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &d), 0, "copy");
	for (i = 0; i < d.nbd_len; ++i) {
		uint8_t was = d.nbd_data[i];

		d.nbd_data[i] = (uint8_t)(was ^ (1 + cf_rand(255)));
		CF_EQ(try(&d), -EINVAL, "byte %u was changed", i);
		d.nbd_data[i] = was;
	}
	m0_net_desc_free(&d);
	passive_unharmed(p);
}

static void truncated(void)
{
	struct m0_net_buf_desc d;
	struct cf_buf         *p;
	uint32_t               len;

	pair_up();
	p = cf_passive(owner, M0_NET_QT_PASSIVE_BULK_SEND, 100, NULL);
	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &d), 0, "copy");
	len = d.nbd_len;
	for (d.nbd_len = 1; d.nbd_len < len; ++d.nbd_len)
		CF_EQ(try(&d), -EINVAL, "%u bytes of %u", d.nbd_len, len);
	d.nbd_len = len;
	m0_net_desc_free(&d);
	passive_unharmed(p);
}

/* Bytes too many, and noise. */
static void too_long_and_noise(void)
{
	uint8_t                bytes[600];
	struct m0_net_buf_desc d = { .nbd_data = bytes };
	struct cf_buf         *p;
	unsigned               i, k;

	pair_up();
	p = cf_passive(owner, M0_NET_QT_PASSIVE_BULK_SEND, 100, NULL);
	memset(bytes, 0, sizeof bytes);
	memcpy(bytes, p->cb_nb.nb_desc.nbd_data, p->cb_nb.nb_desc.nbd_len);
	d.nbd_len = p->cb_nb.nb_desc.nbd_len + 4;
	CF_EQ(try(&d), -EINVAL, "four bytes too many");
	d.nbd_len = sizeof bytes;
	CF_EQ(try(&d), -EINVAL, "600 bytes");
	for (i = 0; i < 50; ++i) {
		d.nbd_len = 1 + (uint32_t)cf_rand(sizeof bytes);
		for (k = 0; k < d.nbd_len; ++k)
			bytes[k] = (uint8_t)cf_rand(256);
		CF_EQ(try(&d), -EINVAL, "%u random bytes", d.nbd_len);
	}
	passive_unharmed(p);
}

static void stale(const struct m0_net_buf_desc *d, const char *why)
{
	m0_time_t begin = m0_time_now();

	CF_EQ(try(d), cf.c_row->r_stale, "%s", why);
	CF_TRUE(m0_time_now() - begin < STALE_LIMIT_NS,
		"within the transport's bound");
}

/* Replayed: used, deleted, added again. An identity never comes back. */
static void replayed(void)
{
	struct m0_net_buf_desc d1, d2;
	struct cf_buf         *p;

	pair_up();
	p = cf_passive(owner, M0_NET_QT_PASSIVE_BULK_SEND, 100, NULL);
	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &d1), 0, "copy");
	CF_EQ(try(&d1), 0, "first use");
	cf_done_is(p, 0, "passive");
	stale(&d1, "used");
	m0_net_desc_free(&p->cb_nb.nb_desc);
	p->cb_nb.nb_length = 100;
	cf_add_ok(p, owner, M0_NET_QT_PASSIVE_BULK_SEND);
	stale(&d1, "used, and the buffer was added again");
	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &d2), 0, "copy");
	CF_EQ(cf_get(&p->cb_events), 0, "the passive buffer sees nothing");
	CF_TRUE(cf_del(p), "queued");
	cf_done_is(p, -ECANCELED, "del");
	stale(&d2, "deleted");
	m0_net_desc_free(&p->cb_nb.nb_desc);
	cf_buf_free(p);
	stale(&d2, "deregistered");
	CF_EQ(owner->ct_errors, 0, "the owner sees nothing");
	m0_net_desc_free(&d1);
	m0_net_desc_free(&d2);
}

/* A buffer on the other passive queue makes its old descriptor stale. */
static void replayed_other_queue(void)
{
	struct m0_net_buf_desc d;
	struct cf_buf         *p;

	pair_up();
	p = cf_passive(owner, M0_NET_QT_PASSIVE_BULK_SEND, 100, NULL);
	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &d), 0, "copy");
	CF_EQ(try(&d), 0, "first use");
	cf_done_is(p, 0, "passive");
	m0_net_desc_free(&p->cb_nb.nb_desc);
	cf_add_ok(p, owner, M0_NET_QT_PASSIVE_BULK_RECV);
	CF_TRUE(try(&d) < 0, "an error");
	CF_EQ(cf_get(&p->cb_events), 0, "the passive buffer sees nothing");
	m0_net_desc_free(&d);
}

/* A descriptor of another incarnation of the process is stale, though all else
 * in it is right. */
static void foreign(void)
{
	struct m0_net_kit_desc kd;
	struct m0_net_buf_desc d;
	struct cf_buf         *p;

	pair_up();
	p = cf_passive(owner, M0_NET_QT_PASSIVE_BULK_SEND, 100, NULL);
	CF_EQ(m0_net_kit_desc_decode(&p->cb_nb.nb_desc, &kd), 0, "decode");
	kd.nks_incarnation ^= 0x5555;
	CF_EQ(m0_net_kit_desc_encode(&kd, &d), 0, "encode");
	stale(&d, "foreign");
	m0_net_desc_free(&d);
	passive_unharmed(p);
}

/* With a good checksum, but without the initiator that is permitted. */
static void forged(void)
{
	struct m0_net_kit_desc kd;
	struct m0_net_buf_desc d;
	struct cf_tm          *may;
	struct cf_buf         *p, *a;
	int                    rc;

	pair_up();
	may = cf_up(0);
	p = cf_passive(owner, M0_NET_QT_PASSIVE_BULK_SEND, 100, may);
	CF_EQ(m0_net_kit_desc_decode(&p->cb_nb.nb_desc, &kd), 0, "decode");
	kd.nks_active.nka_len = 0;
	CF_EQ(m0_net_kit_desc_encode(&kd, &d), 0, "encode");
	rc = try(&d);
	CF_TRUE(rc == -EACCES || rc == cf.c_row->r_stale,
		"forged: %s, expected EACCES or %s", m0_errname(rc),
		m0_errname(cf.c_row->r_stale));
	m0_net_desc_free(&d);
	CF_EQ(cf_get(&p->cb_events), 0, "the passive buffer sees nothing");
	a = cf_active(may, M0_NET_QT_ACTIVE_BULK_RECV, 100, &p->cb_nb.nb_desc);
	cf_done_is(a, 0, "the permitted initiator");
	cf_done_is(p, 0, "passive");
}

/* An identity that never was, on a machine that is. */
static void made_up(void)
{
	struct m0_net_kit_desc kd;
	struct m0_net_buf_desc d;
	struct trial           t[8];
	struct cf_buf         *p;
	m0_time_t              begin;
	size_t                 i;

	pair_up();
	p = cf_passive(owner, M0_NET_QT_PASSIVE_BULK_SEND, 100, NULL);
	CF_EQ(m0_net_kit_desc_decode(&p->cb_nb.nb_desc, &kd), 0, "decode");
	begin = m0_time_now();
	for (i = 0; i < ARRAY_SIZE(t); ++i) {
		kd.nks_id = m0_rnd64(&cf.c_rnd);
		CF_EQ(m0_net_kit_desc_encode(&kd, &d), 0, "encode");
		t[i] = try_begin(&d);
		m0_net_desc_free(&d);
	}
	for (i = 0; i < ARRAY_SIZE(t); ++i)
		CF_EQ(try_end(&t[i]), cf.c_row->r_stale,
		      "an identity that never was");
	CF_TRUE(m0_time_now() - begin < STALE_LIMIT_NS,
		"within the transport's bound");
	passive_unharmed(p);
}

/* The owner has stopped: an error, whichever it is. */
static void owner_stopped(void)
{
	struct m0_net_buf_desc d;
	struct cf_buf         *p;
	int                    rc;

	pair_up();
	p = cf_passive(owner, M0_NET_QT_PASSIVE_BULK_SEND, 100, NULL);
	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &d), 0, "copy");
	cf_stop_wait(owner, true);
	rc = try(&d);
	CF_TRUE(rc == (cf.c_row->r_nobody ?: -ETIMEDOUT),
		"owner stopped: %s, expected %s", m0_errname(rc),
		m0_errname(cf.c_row->r_nobody ?: -ETIMEDOUT));
	m0_net_desc_free(&d);
}

/* Copies are deep, free clears and may be repeated. */
static void copy_and_free(void)
{
	struct m0_net_buf_desc d = { 0, NULL };
	struct cf_buf         *p;

	pair_up();
	p = cf_passive(owner, M0_NET_QT_PASSIVE_BULK_SEND, 100, NULL);
	m0_net_desc_free(&d);
	CF_EQ(m0_net_desc_copy(&p->cb_nb.nb_desc, &d), 0, "copy");
	CF_EQ(d.nbd_len, p->cb_nb.nb_desc.nbd_len, "length of the copy");
	CF_TRUE(d.nbd_data != p->cb_nb.nb_desc.nbd_data, "a copy, not a link");
	CF_EQ(memcmp(d.nbd_data, p->cb_nb.nb_desc.nbd_data, d.nbd_len), 0,
	      "the same bytes");
	m0_net_desc_free(&p->cb_nb.nb_desc);
	CF_EQ(p->cb_nb.nb_desc.nbd_len, 0, "cleared");
	CF_TRUE(p->cb_nb.nb_desc.nbd_data == NULL, "cleared");
	CF_EQ(try(&d), 0, "the copy works when the original is freed");
	cf_done_is(p, 0, "passive");
	m0_net_desc_free(&d);
	m0_net_desc_free(&d);
}

const struct cf_case xprt_suite_desc[] = {
	{ "corrupted", corrupted },
	{ "truncated", truncated },
	{ "too long, and noise", too_long_and_noise },
	{ "replayed", replayed },
	{ "replayed on the other queue", replayed_other_queue },
	{ "foreign", foreign },
	{ "forged", forged },
	{ "made up", made_up },
	{ "owner stopped", owner_stopped },
	{ "copy and free", copy_and_free },
	{ NULL, NULL }
};
