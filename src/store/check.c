/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file must be before LMDB is let at it, which trusts what it maps.
 *
 * LMDB keeps two roots, of the last transaction and of the one before, in the
 * first two pages; neither has a checksum. Both must be of transactions that
 * follow one another, and the tree of each must bear the mark of its own.
 */
#include "store_internal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PAGE_MIN = 512,
	PAGE_MAX = 1 << 16,
	PAGE_HEAD = 16,
	FLAG_LEAF = 2,
	FLAG_META = 8,
	NODE_HEAD = 8
};

static const uint64_t NO_PAGE = ~UINT64_C(0);

/* As in LMDB's file, of version 1. */
struct tree {
	uint32_t tre_page_bytes;
	uint16_t tre_flags;
	uint16_t tre_depth;
	uint64_t tre_branches_nr;
	uint64_t tre_leaves_nr;
	uint64_t tre_overflow_nr;
	uint64_t tre_keys_nr;
	uint64_t tre_root;
};

struct meta {
	uint64_t    met_page;
	uint16_t    met_pad;
	uint16_t    met_page_flags;
	uint32_t    met_page_rest;
	uint32_t    met_magic;
	uint32_t    met_version;
	uint64_t    met_address;
	uint64_t    met_map_bytes;
	struct tree met_free;
	struct tree met_main;
	uint64_t    met_last_page;
	uint64_t    met_tx;
};

struct file {
	int         fil_fd;
	m0_bcount_t fil_bytes;
	uint32_t    fil_page_bytes;
	struct meta fil_meta[2];
	uint8_t    *fil_page;
};

static int bytes_get(const struct file *file, uint64_t at, void *to, size_t nr)
{
	ssize_t got = pread(file->fil_fd, to, nr, (off_t)at);

	if (got < 0)
		return -errno;
	return (size_t)got == nr ? 0 : -EUCLEAN;
}

/* --------------------------------------------------------------- metas -- */

static bool is_page_size(uint32_t nr)
{
	return nr >= PAGE_MIN && nr <= PAGE_MAX && (nr & (nr - 1)) == 0;
}

static int meta_get(struct file *file, unsigned i)
{
	struct meta *meta = &file->fil_meta[i];
	int rc = bytes_get(file, (uint64_t)i * file->fil_page_bytes, meta,
			   sizeof *meta);

	if (rc != 0)
		return rc;
	if (meta->met_magic != 0xbeefc0de)
		return i == 0 ? -EMEDIUMTYPE : -EUCLEAN;
	if (meta->met_version != 1)
		return -EPROTONOSUPPORT;
	return meta->met_page == i && meta->met_page_flags == FLAG_META &&
			       is_page_size(meta->met_free.tre_page_bytes) &&
			       (i == 0 || meta->met_free.tre_page_bytes ==
						  file->fil_page_bytes)
		       ? 0
		       : -EUCLEAN;
}

static int metas_get(struct file *file)
{
	const struct meta *m = file->fil_meta;
	int                rc = meta_get(file, 0);

	if (rc != 0)
		return rc;
	file->fil_page_bytes = m[0].met_free.tre_page_bytes;
	rc = meta_get(file, 1);
	if (rc != 0)
		return rc;
	/* Even ones are in the first, odd ones in the second. */
	return (m[0].met_tx & 1) == 0 && (m[1].met_tx & 1) == 1 &&
			       (m[0].met_tx + 1 == m[1].met_tx ||
				m[1].met_tx + 1 == m[0].met_tx)
		       ? 0
		       : -EUCLEAN;
}

/* --------------------------------------------------------------- marks -- */

static uint16_t u16_at(const uint8_t *at)
{
	uint16_t ret;

	memcpy(&ret, at, sizeof ret);
	return ret;
}

/** A node of a leaf: its key and its value, which lies within the page. */
static int node_get(const struct file *file, unsigned i, const uint8_t **key,
		    size_t *key_nr, const uint8_t **value, size_t *value_nr)
{
	const uint8_t *page = file->fil_page;
	size_t         at = u16_at(page + PAGE_HEAD + 2 * i);
	size_t         left;

	if (at < PAGE_HEAD || at + NODE_HEAD > file->fil_page_bytes)
		return -EUCLEAN;
	left = file->fil_page_bytes - at - NODE_HEAD;
	*key_nr = u16_at(page + at + 6);
	*value_nr = u16_at(page + at) | (size_t)u16_at(page + at + 2) << 16;
	if (*key_nr > left || *value_nr > left - *key_nr)
		return -EUCLEAN;
	*key = page + at + NODE_HEAD;
	*value = *key + *key_nr;
	return 0;
}

/** The mark in the main tree, which is one leaf. */
static int mark_get(const struct file *file, struct m0_store__mark *ret)
{
	const char     name[] = M0_STORE__MARK_KEY;
	const uint8_t *key;
	const uint8_t *value;
	size_t         key_nr;
	size_t         value_nr;
	unsigned       nr = u16_at(file->fil_page + 12);
	unsigned       i;
	int            rc;

	if (nr < PAGE_HEAD || nr > file->fil_page_bytes)
		return -EUCLEAN;
	for (i = 0; i < (nr - PAGE_HEAD) / 2; ++i) {
		rc = node_get(file, i, &key, &key_nr, &value, &value_nr);
		if (rc != 0)
			return rc;
		if (key_nr == sizeof name - 1 && memcmp(key, name, key_nr) == 0)
			return m0_store__mark_decode(value, value_nr, ret);
	}
	return -EMEDIUMTYPE;
}

static int root_check(struct file *file, const struct meta *meta)
{
	struct m0_store__mark mark;
	uint64_t              root = meta->met_main.tre_root;
	int                   rc;

	/* Made, and never committed to. */
	if (meta->met_tx == 0)
		return root == NO_PAGE ? 0 : -EUCLEAN;
	if (root == NO_PAGE || meta->met_main.tre_depth != 1)
		return -EMEDIUMTYPE;
	if (root > meta->met_last_page)
		return -EUCLEAN;
	rc = bytes_get(file, root * file->fil_page_bytes, file->fil_page,
		       file->fil_page_bytes);
	if (rc != 0)
		return rc;
	if (u16_at(file->fil_page + 10) != FLAG_LEAF ||
	    memcmp(file->fil_page, &root, sizeof root) != 0)
		return -EUCLEAN;
	rc = mark_get(file, &mark);
	if (rc != 0)
		return rc;
	if (mark.smk_version > M0_STORE__VERSION)
		return -EPROTONOSUPPORT;
	return mark.smk_version == M0_STORE__VERSION &&
			       mark.smk_tx == meta->met_tx
		       ? 0
		       : -EUCLEAN;
}

static int file_check(struct file *file)
{
	int rc = metas_get(file);

	if (rc != 0)
		return rc;
	file->fil_page = m0_alloc(file->fil_page_bytes);
	if (file->fil_page == NULL)
		return -ENOMEM;
	rc = root_check(file, &file->fil_meta[0])
		     ?: root_check(file, &file->fil_meta[1]);
	m0_free(file->fil_page);
	return rc;
}

static int refuse(int rc, const char *path)
{
	switch (rc) {
	case -EUCLEAN:
		return m0_store__refuse(rc, path, "is damaged",
					"Nothing was changed. Move the file "
					"away and put back a copy that was "
					"made while no server had it open; "
					"without one, what it kept is lost.");
	case -EMEDIUMTYPE:
		return m0_store__refuse(rc, path, "is not a store",
					"Give the server another directory, "
					"or move the file away.");
	case -EPROTONOSUPPORT:
		return m0_store__refuse(rc, path, "is of a newer format",
					"Use the version that wrote it, or a "
					"later one.");
	default:
		return m0_store__refuse(rc, path, "cannot be read",
					"See what the system says of the "
					"file and its disk.");
	}
}

int m0_store__check(const char *path)
{
	struct file file = { .fil_fd = -1 };
	struct stat st;
	int         rc;

	file.fil_fd = open(path, O_RDWR | O_CLOEXEC);
	if (file.fil_fd < 0)
		return errno == ENOENT ? -ENOENT : refuse(-errno, path);
	rc = fstat(file.fil_fd, &st) == 0 ? 0 : -errno;
	if (rc == 0 && !S_ISREG(st.st_mode))
		rc = -EMEDIUMTYPE;
	if (rc == 0) {
		file.fil_bytes = (m0_bcount_t)st.st_size;
		rc = file_check(&file);
	}
	(void)close(file.fil_fd);
	return rc == 0 ? 0 : refuse(rc, path);
}
