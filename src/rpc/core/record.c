/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "rpc/core/record.h"

#include <errno.h>

enum {
	CLIENT = 'c',
	SESSION = 's',
	REPLY = 'r',
	/** First word of every value: the layout's version. */
	VERSION = 1,
	KEY_CLIENT_BYTES = 2 + 16,
	KEY_SESSION_BYTES = KEY_CLIENT_BYTES + 8,
	KEY_REPLY_BYTES = KEY_SESSION_BYTES + 8,
	/** Record of an older library, without the last word. */
	CLIENT_BYTES_MIN = 16,
	CLIENT_BYTES = 24,
	SESSION_BYTES = 24
};

/** A key in the making, or the prefix of some. */
struct key {
	uint8_t rky_bytes[KEY_REPLY_BYTES];
	size_t  rky_nr;
};

/* Keys: the most significant byte first, so that they sort as the numbers do.
 * Values: the least significant first, as on the wire. */

static void key_add(struct key *key, uint64_t number, unsigned bytes)
{
	while (bytes-- > 0)
		key->rky_bytes[key->rky_nr++] = (uint8_t)(number >> 8 * bytes);
}

static void word_put(void *bytes, size_t at, uint64_t number, unsigned nr)
{
	uint8_t *to = (uint8_t *)bytes + at;
	unsigned i;

	for (i = 0; i < nr; ++i)
		to[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t word_get(const void *bytes, size_t at, unsigned nr)
{
	const uint8_t *from = (const uint8_t *)bytes + at;
	uint64_t       number = 0;

	while (nr-- > 0)
		number = number << 8 | from[nr];
	return number;
}

static struct key key_make(uint8_t kind, struct m0_uint128 uuid)
{
	struct key key = { .rky_nr = 0 };

	key_add(&key, kind, 2);
	key_add(&key, uuid.u_hi, 8);
	key_add(&key, uuid.u_lo, 8);
	return key;
}

static struct key key_session(uint8_t kind, struct m0_uint128 uuid,
			      uint64_t session)
{
	struct key key = key_make(kind, uuid);

	key_add(&key, session, 8);
	return key;
}

static struct m0_rpc_slice slice(const void *data, m0_bcount_t nr)
{
	return (struct m0_rpc_slice){ .sl_data = data, .sl_nr = nr };
}

static int value_put(struct m0_rpc_tx *tx, const struct key *key,
		     const void *value, m0_bcount_t nr)
{
	return tx->tx_store->rst_ops->rso_put(
		tx, slice(key->rky_bytes, key->rky_nr), slice(value, nr));
}

/** @retval -EPROTO  shorter than `nr`, or of a version not known. */
static int value_get(struct m0_rpc_tx *tx, const struct key *key,
		     m0_bcount_t nr, struct m0_rpc_slice *ret)
{
	int rc = tx->tx_store->rst_ops->rso_get(
		tx, slice(key->rky_bytes, key->rky_nr), ret);

	if (rc != 0)
		return rc;
	return ret->sl_nr < nr || word_get(ret->sl_data, 0, 4) != VERSION
		       ? -EPROTO
		       : 0;
}

static bool has_prefix(struct m0_rpc_slice key, const struct key *prefix)
{
	return key.sl_nr >= prefix->rky_nr &&
	       memcmp(key.sl_data, prefix->rky_bytes, prefix->rky_nr) == 0;
}

/** Deletes keys that begin so; takes what it deletes from *left.
 * @retval -EAGAIN  there are more. */
static int prefix_del_some(struct m0_rpc_tx *tx, const struct key *prefix,
			   uint32_t *left)
{
	const struct m0_rpc_store_ops *ops = tx->tx_store->rst_ops;
	struct m0_rpc_slice            key;
	struct m0_rpc_slice            value;
	uint8_t                        copy[M0_RPC_STORE_KEY_MAX];
	int                            rc;

	for (;;) {
		rc = ops->rso_next(tx, slice(prefix->rky_bytes, prefix->rky_nr),
				   &key, &value);
		if (rc == -ENOENT || (rc == 0 && !has_prefix(key, prefix)))
			return 0;
		if (rc != 0)
			return rc;
		if (key.sl_nr > sizeof copy)
			return -EPROTO;
		if (*left == 0)
			return -EAGAIN;
		--*left;
		memcpy(copy, key.sl_data, key.sl_nr);
		rc = ops->rso_del(tx, slice(copy, key.sl_nr));
		if (rc != 0)
			return rc;
	}
}

/** Deletes all. */
static int prefix_del(struct m0_rpc_tx *tx, const struct key *prefix)
{
	uint32_t left;
	int      rc;

	do {
		left = UINT32_MAX;
		rc = prefix_del_some(tx, prefix, &left);
	} while (rc == -EAGAIN);
	return rc;
}

static int key_del(struct m0_rpc_tx *tx, const struct key *key)
{
	int rc = tx->tx_store->rst_ops->rso_del(tx, slice(key->rky_bytes,
							  key->rky_nr));

	return rc == -ENOENT ? 0 : rc;
}

/* ---------------------------------------------------------- clients -- */

static void client_decode(struct m0_rpc_slice value, struct m0_uint128 uuid,
			  struct m0_rpc_record_client *ret)
{
	*ret = (struct m0_rpc_record_client){
		.rrc_uuid = uuid,
		.rrc_fences = word_get(value.sl_data, 4, 4) != 0,
		.rrc_incarnation = word_get(value.sl_data, 8, 8),
	};
	if (value.sl_nr >= CLIENT_BYTES)
		ret->rrc_lived_ns = word_get(value.sl_data, 16, 8);
}

int m0_rpc_record_client_get(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			     struct m0_rpc_record_client *ret)
{
	const struct key    key = key_make(CLIENT, uuid);
	struct m0_rpc_slice value;
	int                 rc = value_get(tx, &key, CLIENT_BYTES_MIN, &value);

	if (rc == 0)
		client_decode(value, uuid, ret);
	return rc;
}

int m0_rpc_record_client_put(struct m0_rpc_tx                  *tx,
			     const struct m0_rpc_record_client *rec)
{
	const struct key key = key_make(CLIENT, rec->rrc_uuid);
	uint8_t          value[CLIENT_BYTES] = { 0 };

	word_put(value, 0, VERSION, 4);
	word_put(value, 4, rec->rrc_fences, 4);
	word_put(value, 8, rec->rrc_incarnation, 8);
	word_put(value, 16, rec->rrc_lived_ns, 8);
	return value_put(tx, &key, value, sizeof value);
}

/** Eight bytes of a key, the most significant first. */
static uint64_t key_word(struct m0_rpc_slice key, size_t at)
{
	const uint8_t *from = (const uint8_t *)key.sl_data + at;
	uint64_t       number = 0;
	unsigned       i;

	for (i = 0; i < 8; ++i)
		number = number << 8 | from[i];
	return number;
}

int m0_rpc_record_client_next(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			      struct m0_rpc_record_client *ret)
{
	const struct key from = key_make(CLIENT, uuid);
	const struct key prefix = { .rky_bytes = { 0, CLIENT }, .rky_nr = 2 };
	struct m0_rpc_slice key;
	struct m0_rpc_slice value;
	int                 rc = tx->tx_store->rst_ops->rso_next(
				tx, slice(from.rky_bytes, from.rky_nr), &key, &value);

	if (rc != 0)
		return rc;
	if (!has_prefix(key, &prefix))
		return -ENOENT;
	if (key.sl_nr != KEY_CLIENT_BYTES || value.sl_nr < CLIENT_BYTES_MIN ||
	    word_get(value.sl_data, 0, 4) != VERSION)
		return -EPROTO;
	client_decode(value, M0_UINT128(key_word(key, 2), key_word(key, 10)),
		      ret);
	return 0;
}

int m0_rpc_record_client_del_some(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
				  uint32_t max)
{
	/* A session without its replies would have its requests done again. */
	const uint8_t kinds[] = { SESSION, REPLY };
	struct key    key;
	unsigned      i;
	int           rc;

	for (i = 0; i < ARRAY_SIZE(kinds); ++i) {
		key = key_make(kinds[i], uuid);
		rc = prefix_del_some(tx, &key, &max);
		if (rc != 0)
			return rc;
	}
	key = key_make(CLIENT, uuid);
	return key_del(tx, &key);
}

int m0_rpc_record_client_del(struct m0_rpc_tx *tx, struct m0_uint128 uuid)
{
	int rc;

	do {
		rc = m0_rpc_record_client_del_some(tx, uuid, UINT32_MAX);
	} while (rc == -EAGAIN);
	return rc;
}

/** Is there a key that begins so? Else -ENOENT. */
static int prefix_find(struct m0_rpc_tx *tx, const struct key *prefix)
{
	struct m0_rpc_slice key;
	struct m0_rpc_slice value;
	int                 rc = tx->tx_store->rst_ops->rso_next(
				tx, slice(prefix->rky_bytes, prefix->rky_nr), &key, &value);

	return rc == 0 && !has_prefix(key, prefix) ? -ENOENT : rc;
}

int m0_rpc_record_client_leave(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			       uint64_t incarnation)
{
	const struct key    key = key_make(CLIENT, uuid);
	const struct key    sessions = key_make(SESSION, uuid);
	struct m0_rpc_slice value;
	int                 rc = value_get(tx, &key, CLIENT_BYTES, &value);

	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	if (word_get(value.sl_data, 8, 8) != incarnation ||
	    word_get(value.sl_data, 4, 4) != 0)
		return 0;
	rc = prefix_find(tx, &sessions);
	return rc == -ENOENT ? m0_rpc_record_client_del(tx, uuid) : rc;
}

/* --------------------------------------------------------- sessions -- */

int m0_rpc_record_session_get(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			      uint64_t                      session,
			      struct m0_rpc_record_session *ret)
{
	const struct key    key = key_session(SESSION, uuid, session);
	struct m0_rpc_slice value;
	int                 rc = value_get(tx, &key, SESSION_BYTES, &value);

	if (rc != 0)
		return rc;
	ret->rrs_session = session;
	ret->rrs_streams = (uint32_t)word_get(value.sl_data, 4, 4);
	ret->rrs_window = (uint32_t)word_get(value.sl_data, 8, 4);
	ret->rrs_incarnation = word_get(value.sl_data, 16, 8);
	return ret->rrs_window == 0 ? -EPROTO : 0;
}

int m0_rpc_record_session_put(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			      const struct m0_rpc_record_session *rec)
{
	const struct key key = key_session(SESSION, uuid, rec->rrs_session);
	uint8_t          value[SESSION_BYTES] = { 0 };

	word_put(value, 0, VERSION, 4);
	word_put(value, 4, rec->rrs_streams, 4);
	word_put(value, 8, rec->rrs_window, 4);
	word_put(value, 16, rec->rrs_incarnation, 8);
	return value_put(tx, &key, value, sizeof value);
}

int m0_rpc_record_session_del(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			      uint64_t session)
{
	const struct key replies = key_session(REPLY, uuid, session);
	const struct key key = key_session(SESSION, uuid, session);
	int              rc = prefix_del(tx, &replies);

	return rc != 0 ? rc : key_del(tx, &key);
}

/* ---------------------------------------------------------- replies -- */

int m0_rpc_record_reply_put(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			    const struct m0_rpc_record_reply *rec, void *value,
			    m0_bcount_t nr)
{
	struct key key = key_session(REPLY, uuid, rec->rrr_session);

	M0_PRE(nr >= M0_RPC_RECORD_HEAD && rec->rrr_window > 0);
	key_add(&key, rec->rrr_stream, 4);
	key_add(&key, rec->rrr_xid % rec->rrr_window, 4);
	memset(value, 0, M0_RPC_RECORD_HEAD);
	word_put(value, 0, VERSION, 4);
	word_put(value, 4, (uint32_t)rec->rrr_rc, 4);
	word_put(value, 8, rec->rrr_xid, 8);
	word_put(value, 16, rec->rrr_ack, 8);
	return value_put(tx, &key, value, nr);
}

/** The stream in a reply's key. */
static uint32_t stream_of(struct m0_rpc_slice key)
{
	const uint8_t *at = (const uint8_t *)key.sl_data + KEY_SESSION_BYTES;

	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

static int reply_decode(struct m0_rpc_slice key, struct m0_rpc_slice value,
			uint64_t session, struct m0_rpc_record_reply *ret)
{
	if (key.sl_nr != KEY_REPLY_BYTES || value.sl_nr < M0_RPC_RECORD_HEAD ||
	    word_get(value.sl_data, 0, 4) != VERSION)
		return -EPROTO;
	M0_SET0(ret);
	ret->rrr_session = session;
	ret->rrr_stream = stream_of(key);
	ret->rrr_rc = (int32_t)(uint32_t)word_get(value.sl_data, 4, 4);
	ret->rrr_xid = word_get(value.sl_data, 8, 8);
	ret->rrr_ack = word_get(value.sl_data, 16, 8);
	ret->rrr_reply =
		slice((const uint8_t *)value.sl_data + M0_RPC_RECORD_HEAD,
		      value.sl_nr - M0_RPC_RECORD_HEAD);
	return 0;
}

int m0_rpc_record_replies(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			  uint64_t session,
			  int (*found)(const struct m0_rpc_record_reply *rec,
				       void                             *arg),
			  void *arg)
{
	const struct m0_rpc_store_ops *ops = tx->tx_store->rst_ops;
	const struct key           prefix = key_session(REPLY, uuid, session);
	struct m0_rpc_slice        key = slice(prefix.rky_bytes, prefix.rky_nr);
	struct m0_rpc_slice        value;
	struct m0_rpc_record_reply rec;
	int                        rc;

	for (;;) {
		rc = ops->rso_next(tx, key, &key, &value);
		if (rc == -ENOENT || (rc == 0 && !has_prefix(key, &prefix)))
			return 0;
		if (rc == 0)
			rc = reply_decode(key, value, session, &rec);
		if (rc == 0)
			rc = found(&rec, arg);
		if (rc != 0)
			return rc;
	}
}

/** The highest ack of a stream's keys, and the number that has it. */
struct acked {
	struct key acd_stream;
	uint64_t   acd_ack;
};

/** Is the key of the stream after this one? Then it becomes the one looked at. */
static int acked_look(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		      struct acked *at)
{
	const struct m0_rpc_store_ops *ops = tx->tx_store->rst_ops;
	struct m0_rpc_slice            value;
	int                            rc = 0;

	at->acd_ack = 0;
	at->acd_stream.rky_nr = KEY_REPLY_BYTES - 4;
	memcpy(at->acd_stream.rky_bytes, key.sl_data, at->acd_stream.rky_nr);
	key = slice(at->acd_stream.rky_bytes, at->acd_stream.rky_nr);
	for (;;) {
		rc = ops->rso_next(tx, key, &key, &value);
		if (rc == -ENOENT ||
		    (rc == 0 && !has_prefix(key, &at->acd_stream)))
			return 0;
		if (rc != 0)
			return rc;
		if (value.sl_nr >= M0_RPC_RECORD_HEAD)
			at->acd_ack = max64u(at->acd_ack,
					     word_get(value.sl_data, 16, 8));
	}
}

int m0_rpc_record_client_trim(struct m0_rpc_tx *tx, struct m0_uint128 uuid,
			      uint32_t max, uint32_t *ret_nr)
{
	const struct m0_rpc_store_ops *ops = tx->tx_store->rst_ops;
	const struct key               prefix = key_make(REPLY, uuid);
	struct acked                   at = { .acd_ack = 0 };
	struct key                     now = prefix;
	struct m0_rpc_slice            key;
	struct m0_rpc_slice            value;
	int                            rc;

	*ret_nr = 0;
	for (;;) {
		rc = ops->rso_next(tx, slice(now.rky_bytes, now.rky_nr), &key,
				   &value);
		if (rc == -ENOENT || (rc == 0 && !has_prefix(key, &prefix)))
			return 0;
		if (rc != 0)
			return rc;
		if (key.sl_nr != KEY_REPLY_BYTES ||
		    value.sl_nr < M0_RPC_RECORD_HEAD)
			return -EPROTO;
		now.rky_nr = key.sl_nr;
		memcpy(now.rky_bytes, key.sl_data, key.sl_nr);
		if (!has_prefix(key, &at.acd_stream) ||
		    at.acd_stream.rky_nr == 0) {
			rc = acked_look(tx, key, &at);
			if (rc == 0)
				rc = ops->rso_get(
					tx, slice(now.rky_bytes, now.rky_nr),
					&value);
			if (rc != 0)
				return rc;
		}
		if (word_get(value.sl_data, 8, 8) >= at.acd_ack)
			continue;
		if (*ret_nr == max)
			return -EAGAIN;
		++*ret_nr;
		rc = ops->rso_del(tx, slice(now.rky_bytes, now.rky_nr));
		if (rc != 0)
			return rc;
	}
}
