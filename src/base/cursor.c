/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/cursor.h"

void m0_cursor_get_bytes(struct m0_cursor *cur, void *ret_bytes, size_t nr)
{
	const void *at = m0_cursor_skip(cur, nr);

	if (nr == 0)
		return;
	if (at != NULL)
		memcpy(ret_bytes, at, nr);
	else
		memset(ret_bytes, 0, nr);
}

void m0_cursor_put_bytes(struct m0_cursor *cur, const void *bytes, size_t nr)
{
	void *at = m0_cursor_skip(cur, nr);

	if (at != NULL && nr > 0)
		memcpy(at, bytes, nr);
}
