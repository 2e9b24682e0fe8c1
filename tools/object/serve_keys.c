/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <string.h>

#include "serve.h"

enum {
	/** Objects that are looked at, so that a start takes no longer than that:
	 * a second or two. */
	LOOK_MAX = 1 << 20
};

size_t serve_id_key(uint8_t ret[OBJ_KEY_MAX], enum serve_key letter,
		    const uint8_t *id)
{
	ret[0] = (uint8_t)letter;
	memcpy(ret + 1, id, OBJ_ID_BYTES);
	return 1 + OBJ_ID_BYTES;
}

int serve_key_get(struct m0_rpc_tx *tx, const uint8_t *key, size_t nr,
		  struct obj_rep *ret)
{
	struct m0_rpc_slice value;
	int rc = m0_rpc_tx_get(tx, (struct m0_rpc_slice){ key, nr }, &value);

	if (rc != 0)
		return rc;
	rc = obj_rep_decode(ret, value.sl_data, value.sl_nr);
	return rc == 0 ? 0 : -EIO;
}

int serve_key_put(struct m0_rpc_tx *tx, const uint8_t *key, size_t nr,
		  const struct obj_rep *rep)
{
	size_t   size = obj_rep_size(rep);
	uint8_t *value = m0_alloc(size);
	int      rc;

	if (value == NULL)
		return -ENOMEM;
	(void)obj_rep_encode(rep, value);
	rc = m0_rpc_tx_put(tx, (struct m0_rpc_slice){ key, nr },
			   (struct m0_rpc_slice){ value, size });
	m0_free(value);
	return rc;
}

int serve_key_del(struct m0_rpc_tx *tx, const uint8_t *key, size_t nr)
{
	return m0_rpc_tx_del(tx, (struct m0_rpc_slice){ key, nr });
}

int serve_garbage_put(struct m0_rpc_tx *tx, const uint8_t *file)
{
	uint8_t      key[OBJ_KEY_MAX];
	const size_t nr = serve_id_key(key, SERVE_KEY_GARBAGE, file);
	int          rc = m0_rpc_tx_put(tx, (struct m0_rpc_slice){ key, nr },
					(struct m0_rpc_slice){ NULL, 0 });

	if (rc == 0)
		serve_gc_due(serve_server);
	return rc;
}

int serve_garbage_del(struct m0_rpc_tx *tx, const uint8_t *file)
{
	uint8_t key[OBJ_KEY_MAX];

	return serve_key_del(tx, key,
			     serve_id_key(key, SERVE_KEY_GARBAGE, file));
}

int serve_object_get(struct m0_rpc_tx *tx, const char *name, size_t nr,
		     struct obj_rep *ret)
{
	uint8_t key[OBJ_KEY_MAX];
	int     rc = serve_key_get(tx, key, obj_name_key(key, name, nr), ret);

	/* Two long names with one sum. */
	if (rc == 0 &&
	    (ret->orp_name_nr != nr || memcmp(ret->orp_name, name, nr) != 0))
		rc = -EEXIST;
	return rc;
}

bool serve_store_has_files(struct m0_rpc_store *store)
{
	uint8_t             key[OBJ_KEY_MAX];
	uint8_t             letter;
	struct m0_rpc_slice at = { key, obj_name_key(key, "", 0) };
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx;
	struct obj_rep      object = { .orp_flags = OBJ_INLINE };
	unsigned            nr = 0;

	letter = key[0];
	if (store->rst_ops->rso_begin(store, &tx) != 0)
		return false;
	while ((object.orp_flags & OBJ_INLINE) && nr++ < LOOK_MAX &&
	       m0_rpc_tx_next(&tx, at, &at, &value) == 0 &&
	       *(const uint8_t *)at.sl_data == letter &&
	       obj_rep_decode(&object, value.sl_data, value.sl_nr) == 0)
		;
	store->rst_ops->rso_abort(&tx);
	return !(object.orp_flags & OBJ_INLINE);
}

void serve_info_get(struct m0_rpc_tx *tx, struct obj_info *ret)
{
	const uint8_t       key = SERVE_KEY_INFO;
	struct m0_rpc_slice value = { NULL, 0 };

	if (m0_rpc_tx_get(tx, (struct m0_rpc_slice){ &key, 1 }, &value) != 0)
		value.sl_nr = 0;
	obj_info_decode(ret, value.sl_data, value.sl_nr);
}

void serve_count(struct m0_rpc_tx *tx, const struct obj_info *more,
		 const struct obj_info *less)
{
	const uint8_t   key = SERVE_KEY_INFO;
	uint8_t         value[OBJ_INFO_BYTES];
	struct obj_info info;

	serve_info_get(tx, &info);
	info.oin_objects += more->oin_objects - less->oin_objects;
	info.oin_bytes += more->oin_bytes - less->oin_bytes;
	info.oin_puts += more->oin_puts;
	info.oin_removes += more->oin_removes;
	info.oin_uploads += more->oin_uploads - less->oin_uploads;
	obj_info_encode(&info, value);
	(void)m0_rpc_tx_put(tx, (struct m0_rpc_slice){ &key, 1 },
			    (struct m0_rpc_slice){ value, sizeof value });
}
