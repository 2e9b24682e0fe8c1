/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The provider of libcolibri.so: loads libcolibri-verbs.so when the first node asks for
 * net o2ib, so that programs without it need none of the libraries of RDMA.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "lnd/verbs/verbs.h"
#include "m0/lnd.h"

#define NAME "libcolibri-verbs.so.1"

static pthread_once_t find_once = PTHREAD_ONCE_INIT;
static char           find_why[M0_LND_WHY_BYTES];

/* Constructor of the module sets its provider. */
static void load(void)
{
	char    path[4096];
	Dl_info info;
	void   *module = NULL;
	int     length;

	/* First the folder of this library, which may be in none of the loader's. */
	if (dladdr((void *)&find_once, &info) != 0 &&
	    strrchr(info.dli_fname, '/') != NULL) {
		length = (int)(strrchr(info.dli_fname, '/') - info.dli_fname);
		if (snprintf(path, sizeof path, "%.*s/" NAME, length,
			     info.dli_fname) < (int)sizeof path)
			module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	if (module == NULL)
		module = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
	if (module == NULL)
		(void)snprintf(find_why, sizeof find_why,
			       "net o2ib needs " NAME
			       " (Debian package libcolibri-verbs): %s",
			       dlerror());
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
