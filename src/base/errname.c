/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "m0/base.h"

/* clang-format off */
#define NAME(number) case number: return #number

/* Not an array: numbers differ between machines and have gaps. */
static const char *name_of(int number)
{
	switch (number) {
	case 0:
		return "0";
	NAME(EPERM);
	NAME(ENOENT);
	NAME(EINTR);
	NAME(EIO);
	NAME(ENXIO);
	NAME(E2BIG);
	NAME(EBADF);
	NAME(ECHILD);
	NAME(EAGAIN);
	NAME(ENOMEM);
	NAME(EACCES);
	NAME(EFAULT);
	NAME(EBUSY);
	NAME(EEXIST);
	NAME(EXDEV);
	NAME(ENODEV);
	NAME(ENOTDIR);
	NAME(EISDIR);
	NAME(EINVAL);
	NAME(ENFILE);
	NAME(EMFILE);
	NAME(EFBIG);
	NAME(ENOSPC);
	NAME(ESPIPE);
	NAME(EROFS);
	NAME(EPIPE);
	NAME(EDOM);
	NAME(ERANGE);
	default:
		return NULL;
	}
}

static const char *name_of_net(int number)
{
	switch (number) {
	NAME(EDEADLK);
	NAME(ENAMETOOLONG);
	NAME(ENOSYS);
	NAME(ENOTEMPTY);
	NAME(ELOOP);
	NAME(ENODATA);
	NAME(ETIME);
	NAME(EPROTO);
	NAME(EBADMSG);
	NAME(EOVERFLOW);
	NAME(EILSEQ);
	NAME(EDESTADDRREQ);
	NAME(EMSGSIZE);
	NAME(EPROTOTYPE);
	NAME(EPROTONOSUPPORT);
	NAME(EOPNOTSUPP);
	NAME(EAFNOSUPPORT);
	NAME(EADDRINUSE);
	NAME(EADDRNOTAVAIL);
	NAME(ENETDOWN);
	NAME(ENETUNREACH);
	NAME(ECONNABORTED);
	NAME(ECONNRESET);
	NAME(ENOBUFS);
	NAME(EISCONN);
	NAME(ENOTCONN);
	NAME(ESHUTDOWN);
	NAME(ETIMEDOUT);
	NAME(ECONNREFUSED);
	NAME(EHOSTDOWN);
	NAME(EHOSTUNREACH);
	NAME(EALREADY);
	NAME(EINPROGRESS);
	NAME(ESTALE);
	NAME(EDQUOT);
	NAME(ECANCELED);
	NAME(ETXTBSY);
	NAME(EBADR);
	NAME(EUSERS);
	NAME(EUCLEAN);
	NAME(EREMOTEIO);
	NAME(EMEDIUMTYPE);
	default:
		return NULL;
	}
}
/* clang-format on */

const char *m0_errname(int rc)
{
	/* Not `-rc`: the least number has no opposite. */
	int         number = rc > 0 || rc == INT32_MIN ? rc : -rc;
	const char *name = name_of(number);

	if (name == NULL)
		name = name_of_net(number);
	return name != NULL ? name : "unknown error";
}
