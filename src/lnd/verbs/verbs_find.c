/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The provider of libcolibri.so: loads libcolibri-verbs.so when the first node asks for
 * net o2ib, so that programs without it need none of the libraries of RDMA.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "lnd/verbs/verbs.h"
#include "m0/lnd.h"

#define NAME "libcolibri-verbs.so.1"

static pthread_once_t find_once = PTHREAD_ONCE_INIT;
static char           find_why[M0_LND_WHY_BYTES];

static void why_set(const char *reason)
{
	(void)snprintf(find_why, sizeof find_why,
		       "net o2ib needs " NAME
		       " (Debian package libcolibri-verbs): %s",
		       reason);
}

/*
 * Writes the path of NAME in the folder of this library, which may be in none of the
 * loader's. The path must be absolute: since the loader found this library by a relative
 * one, the process may have changed its working directory.
 */
static bool path_beside(char *path, size_t path_nr)
{
	const char *slash;
	Dl_info     info;

	if (dladdr((void *)&find_once, &info) == 0 || *info.dli_fname != '/')
		return false;
	slash = strrchr(info.dli_fname, '/');
	return snprintf(path, path_nr, "%.*s/" NAME,
			(int)(slash - info.dli_fname),
			info.dli_fname) < (int)path_nr;
}

/* The constructor of the module sets its provider. */
static void load(void)
{
	char  path[4096];
	bool  beside = path_beside(path, sizeof path);
	void *module = beside ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	/* A file that cannot be loaded is the reason, whatever the loader says of
	 * its own folders: it may lack librdmacm. */
	if (beside && module == NULL && access(path, F_OK) == 0)
		why_set(dlerror());
	if (module == NULL)
		module = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
	if (module != NULL)
		*find_why = 0;
	else if (*find_why == 0)
		why_set(dlerror());
}

static const struct m0_o2ib_provider finder;

static int find_create(struct m0_o2ib_dev **ret, struct m0_reactor *reactor,
		       const struct m0_o2ib_dev_cfg *cfg, char *why)
{
	M0_PRE(ret != NULL && reactor != NULL && cfg != NULL && why != NULL);
	(void)pthread_once(&find_once, load);
	if (*find_why != 0) {
		(void)snprintf(why, M0_LND_WHY_BYTES, "%s", find_why);
		return -EOPNOTSUPP;
	}
	M0_ASSERT(m0_o2ib_provider_get() != &finder);
	return m0_o2ib_provider_get()->opr_create(ret, reactor, cfg, why);
}

static const struct m0_o2ib_provider finder = { .opr_name = "verbs",
						.opr_create = find_create };

__attribute__((__constructor__)) static void find_start(void)
{
	m0_o2ib_provider_set(&finder);
}
