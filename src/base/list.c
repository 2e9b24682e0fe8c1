/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "m0/base.h"

size_t m0_list_length(const struct m0_list *list)
{
	const struct m0_list_link *link;
	size_t                     nr = 0;

	m0_list_for_each(list, link)
		++nr;
	return nr;
}

bool m0_list_contains(const struct m0_list      *list,
		      const struct m0_list_link *link)
{
	const struct m0_list_link *pos;

	m0_list_for_each(list, pos) {
		if (pos == link)
			return true;
	}
	return false;
}

bool m0_list_invariant(const struct m0_list *list)
{
	const struct m0_list_link *pos = &list->l_head;

	do {
		if (!_0C(pos->ll_next != NULL) ||
		    !_0C(pos->ll_next->ll_prev == pos))
			return false;
		pos = pos->ll_next;
	} while (pos != &list->l_head);
	return true;
}

bool m0_tlist_contains(const struct m0_tl_descr *d, const struct m0_tl *head,
		       const void *obj)
{
	return m0_list_contains(&head->td_head, m0_tl__link(d, obj));
}

bool m0_tlist_invariant(const struct m0_tl_descr *d, const struct m0_tl *head)
{
	struct m0_list_link *pos;

	if (!_0C(m0_tl__head_ok(d, head)) ||
	    !_0C(m0_list_invariant(&head->td_head)))
		return false;
	m0_list_for_each(&head->td_head, pos) {
		if (!_0C(m0_tl__obj_ok(d, m0_tl__obj(d, pos))))
			return false;
	}
	return true;
}
