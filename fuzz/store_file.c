/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A file of the durable store in which anything may have changed: it is refused,
 * or LMDB, which trusts what it maps, can be let at it. The input is a list of
 * changes to a good file: a byte of kind, where, what.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/fuzz.h"
#include "m0/log.h"
#include "store/store_internal.h"

enum {
	PAGE = 4096,
	FILE_MAX = 64 * PAGE,
	KEYS_NR = 60,
	ROUNDS_NR = 4
};

static const struct m0_rpc_store_lmdb_cfg cfg = {
	.rlc_bytes_max = 1 << 20,
	.rlc_sync = M0_RPC_STORE_SYNC_NEVER,
};

/* A good file, and the one that is looked at. */
static uint8_t good[FILE_MAX];
static size_t  good_nr;
static int     fd;
static char    path[64];

static struct m0_rpc_slice key_of(char ret[8], unsigned i)
{
	(void)snprintf(ret, 8, "k%03u", i);
	return (struct m0_rpc_slice){ ret, 4 };
}

/* Values in leaves and in pages of their own, one of them in more than it needs;
 * some are gone again, so that there are free pages. */
static void good_fill(struct m0_store__env *env, unsigned round)
{
	static const uint8_t  bytes[3 * PAGE];
	struct m0_store__txn *txn;
	char                  text[8];
	unsigned              i;
	int                   rc = m0_store__txn_begin(env, NULL, &txn);

	for (i = round; rc == 0 && i < KEYS_NR; i += ROUNDS_NR)
		rc = m0_store__put(
			txn, key_of(text, i),
			(struct m0_rpc_slice){ bytes, i % 20 == 7 ? sizeof bytes
								  : i * 8 });
	for (i = 0; rc == 0 && round > 1 && i < 20; i += 2 * round)
		rc = M0_IN(m0_store__del(txn, key_of(text, i)), (0, -ENOENT))
			     ? 0
			     : -EIO;
	if (rc == 0 && round == ROUNDS_NR - 1)
		rc = m0_store__put(txn, key_of(text, 47),
				   (struct m0_rpc_slice){ bytes, PAGE });
	M0_ASSERT(rc == 0 && m0_store__txn_commit(txn, NULL) == 0);
}

/* LMDB keeps its lock in a file beside the data. */
static char dir[32];

static void dir_end(void)
{
	char lock[80];

	(void)snprintf(lock, sizeof lock, "%s-lock", path);
	(void)unlink(lock);
	(void)unlink(path);
	(void)rmdir(dir);
}

static void dir_make(void)
{
	char data[32];

	strcpy(dir, "/tmp/store_file.XXXXXX");
	M0_ASSERT(mkdtemp(dir) != NULL);
	(void)snprintf(path, sizeof path, "%s/store.mdb", dir);
	(void)snprintf(data, sizeof data, "/proc/self/fd/%d", fd);
	M0_ASSERT(symlink(data, path) == 0);
	M0_ASSERT(atexit(dir_end) == 0);
}

static void good_make(void)
{
	struct m0_store__env *env;
	unsigned              i;
	ssize_t               nr;

	m0_log_level_set(M0_LOG_FATAL);
	fd = memfd_create("store", MFD_CLOEXEC);
	M0_ASSERT(fd >= 0);
	dir_make();
	M0_ASSERT(m0_store__env_open(&env, path, &cfg, true) == 0);
	for (i = 0; i < ROUNDS_NR; ++i)
		good_fill(env, i);
	m0_store__env_close(env);
	nr = pread(fd, good, sizeof good, 0);
	M0_ASSERT(nr > 8 * PAGE && (size_t)nr < sizeof good);
	good_nr = (size_t)nr;
	M0_ASSERT(m0_store__check(path) == 0);
}

/* One change; how many bytes the file has then. */
static size_t change(uint8_t *file, size_t nr, struct fuzz_in *in)
{
	unsigned kind = fuzz_byte(in) % 6;
	size_t   page = fuzz_byte(in) * (size_t)PAGE % nr;
	size_t   at = page + fuzz_number(in, 2) % PAGE;
	uint64_t what;

	switch (kind) {
	case 0:
		file[at] = fuzz_byte(in);
		break;
	case 1:
		file[at] ^= (uint8_t)(1 << fuzz_byte(in) % 8);
		break;
	case 2: /* an offset, flags, a length */
		what = fuzz_number(in, 2);
		memcpy(file + at, &what, 2);
		break;
	case 3: /* a page's number, a count */
		what = fuzz_number(in, 1);
		memcpy(file + at, &what, sizeof what);
		break;
	case 4: /* a write that went astray */
		memmove(file + page, file + fuzz_byte(in) * (size_t)PAGE % nr,
			PAGE);
		break;
	default: /* it was cut, at a page or within */
		nr = at % 2 == 0 ? page : at;
	}
	return nr > PAGE ? nr : PAGE;
}

/* All that is there is read, and something is changed. */
static void use(void)
{
	struct m0_store__env *env;
	struct m0_store__txn *txn;
	struct m0_rpc_slice   key = { "", 0 };
	struct m0_rpc_slice   value;
	char                  text[8];
	unsigned              i;
	int                   rc = m0_store__env_open(&env, path, &cfg, false);

	/* The file may be for a map of any size. */
	if (rc != 0)
		return;
	rc = m0_store__txn_begin(env, NULL, &txn);
	M0_ASSERT(rc == 0);
	while ((rc = m0_store__next(txn, key, &key, &value)) == 0)
		;
	M0_ASSERT(rc == -ENOENT);
	for (i = 0; i < KEYS_NR; i += 3)
		(void)m0_store__del(txn, key_of(text, i));
	(void)m0_store__put(txn, key_of(text, 1),
			    (struct m0_rpc_slice){ good, 2 * PAGE });
	rc = m0_store__txn_commit(txn, NULL);
	m0_store__env_close(env);
	M0_ASSERT(rc != 0 || m0_store__check(path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t file[FILE_MAX + 2 * PAGE];
	struct fuzz_in in = { data, size };
	size_t         nr;
	int            rc;

	if (good_nr == 0)
		good_make();
	memcpy(file, good, good_nr);
	nr = good_nr;
	while (in.fi_left > 0)
		nr = change(file, nr, &in);
	M0_ASSERT(ftruncate(fd, 0) == 0 &&
		  pwrite(fd, file, nr, 0) == (ssize_t)nr);
	rc = m0_store__check(path);
	M0_ASSERT(M0_IN(rc, (0, -EUCLEAN, -EMEDIUMTYPE, -EPROTONOSUPPORT)));
	if (rc == 0)
		use();
	return 0;
}
