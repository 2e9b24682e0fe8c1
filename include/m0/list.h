/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Doubly-linked lists whose links are embedded in the objects: plain lists
 * here, typed lists with magic numbers in m0/tlist.h (included at the end).
 *
 * A link is in one list at most. Before a call of m0_list_link_is_in(), _del(),
 * _move() or _fini(), the link must be initialised, or have been added to a
 * list; an add takes any link, as in the reference. Lists have no lock. Every
 * operation takes a few instructions unless its comment says O(n).
 */
#ifndef M0_LIST_H
#define M0_LIST_H

#include "m0/assert.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_list_link {
	struct m0_list_link *ll_next;
	struct m0_list_link *ll_prev;
};

/** A circular list: the head is a link that belongs to no object. */
struct m0_list {
	struct m0_list_link l_head;
};

static inline void m0_list_link_init(struct m0_list_link *link)
{
	link->ll_next = link;
	link->ll_prev = link;
}

/** True if the link is in some list. */
static inline bool m0_list_link_is_in(const struct m0_list_link *link)
{
	return link->ll_next != link;
}

/** Finalises a link. Pre: the link is in no list. */
static inline void m0_list_link_fini(struct m0_list_link *link)
{
	M0_PRE(!m0_list_link_is_in(link));
}

static inline void m0_list_init(struct m0_list *list)
{
	m0_list_link_init(&list->l_head);
}

static inline bool m0_list_is_empty(const struct m0_list *list)
{
	return list->l_head.ll_next == &list->l_head;
}

/** Finalises a list. Pre: the list is empty. */
static inline void m0_list_fini(struct m0_list *list)
{
	M0_PRE(m0_list_is_empty(list));
}

/** Returns the first link; NULL if the list is empty. */
static inline struct m0_list_link *m0_list_first(const struct m0_list *list)
{
	struct m0_list_link *first = list->l_head.ll_next;

	return first == &list->l_head ? NULL : first;
}

/** Returns the last link; NULL if the list is empty. */
static inline struct m0_list_link *m0_list_last(const struct m0_list *list)
{
	return m0_list_is_empty(list) ? NULL : list->l_head.ll_prev;
}

/**
 * Returns the link behind `link`, which is in `list`; NULL if it is the last.
 */
static inline struct m0_list_link *m0_list_next(const struct m0_list      *list,
						const struct m0_list_link *link)
{
	return link->ll_next == &list->l_head ? NULL : link->ll_next;
}

/**
 * Puts `link`, which is in no list, right behind `prev`, which is in a list (or
 * is the head of one).
 */
static inline void m0_list_add_after(struct m0_list_link *prev,
				     struct m0_list_link *link)
{
	M0_PRE_EX(!m0_list_link_is_in(link));
	link->ll_prev = prev;
	link->ll_next = prev->ll_next;
	prev->ll_next->ll_prev = link;
	prev->ll_next = link;
}

/**
 * Puts `link`, which is in no list, right before `next`, which is in a list (or
 * is the head of one).
 */
static inline void m0_list_add_before(struct m0_list_link *next,
				      struct m0_list_link *link)
{
	m0_list_add_after(next->ll_prev, link);
}

/** Makes `link` the first of `list`. */
static inline void m0_list_add(struct m0_list *list, struct m0_list_link *link)
{
	m0_list_add_after(&list->l_head, link);
}

/** Makes `link` the last of `list`. */
static inline void m0_list_add_tail(struct m0_list      *list,
				    struct m0_list_link *link)
{
	struct m0_list_link *last = list->l_head.ll_prev;

	M0_PRE_EX(!m0_list_link_is_in(link));
	link->ll_prev = last;
	link->ll_next = &list->l_head;
	last->ll_next = link;
	list->l_head.ll_prev = link;
}

/** Takes the link out of its list; does nothing if it is in none. */
static inline void m0_list_del(struct m0_list_link *link)
{
	link->ll_prev->ll_next = link->ll_next;
	link->ll_next->ll_prev = link->ll_prev;
	link->ll_next = link;
	link->ll_prev = link;
}

/** Takes the link out of its list and makes it the first of `list`. */
static inline void m0_list_move(struct m0_list *list, struct m0_list_link *link)
{
	m0_list_del(link);
	m0_list_add(list, link);
}

/** Takes the link out of its list and makes it the last of `list`. */
static inline void m0_list_move_tail(struct m0_list      *list,
				     struct m0_list_link *link)
{
	m0_list_del(link);
	m0_list_add_tail(list, link);
}

/** Appends all of `src`, which becomes empty, to `dst`. O(1). */
static inline void m0_list_splice_tail(struct m0_list *dst, struct m0_list *src)
{
	struct m0_list_link *first = src->l_head.ll_next;
	struct m0_list_link *last = src->l_head.ll_prev;

	if (m0_list_is_empty(src))
		return;
	first->ll_prev = dst->l_head.ll_prev;
	dst->l_head.ll_prev->ll_next = first;
	last->ll_next = &dst->l_head;
	dst->l_head.ll_prev = last;
	m0_list_init(src);
}

/** True if `link`, which is in `list`, is its last. */
static inline bool m0_list_link_is_last(const struct m0_list_link *link,
					const struct m0_list      *list)
{
	return link->ll_next == &list->l_head;
}

/** Returns the number of links. O(n). */
M0_EXTERN size_t m0_list_length(const struct m0_list *list);
/** Returns true if `link` is in `list`. O(n). */
M0_EXTERN bool m0_list_contains(const struct m0_list      *list,
				const struct m0_list_link *link);
/** Returns true if all links of the list point at each other. O(n). */
M0_EXTERN bool m0_list_invariant(const struct m0_list *list);

#define m0_list_entry(link, type, member) container_of(link, type, member)

/* clang-format off */

/** Visits every link; the one visited must stay in the list. */
#define m0_list_for_each(list, pos)                                      \
	for ((pos) = (list)->l_head.ll_next; (pos) != &(list)->l_head;   \
	     (pos) = (pos)->ll_next)

/** Visits every link; the one visited may be deleted. */
#define m0_list_for_each_safe(list, pos, next)                           \
	for ((pos) = (list)->l_head.ll_next, (next) = (pos)->ll_next;    \
	     (pos) != &(list)->l_head;                                   \
	     (pos) = (next), (next) = (pos)->ll_next)

/** Visits every object; the one visited must stay in the list. */
#define m0_list_for_each_entry(list, pos, type, member)                  \
	for ((pos) = m0_list_entry((list)->l_head.ll_next, type, member);\
	     &(pos)->member != &(list)->l_head;                          \
	     (pos) = m0_list_entry((pos)->member.ll_next, type, member))

/** Visits every object; the one visited may be deleted and freed. */
#define m0_list_for_each_entry_safe(list, pos, next, type, member)       \
	for ((pos) = m0_list_entry((list)->l_head.ll_next, type, member),\
	     (next) = m0_list_entry((pos)->member.ll_next, type, member);\
	     &(pos)->member != &(list)->l_head;                          \
	     (pos) = (next),                                             \
	     (next) = m0_list_entry((pos)->member.ll_next, type, member))

/* clang-format on */

#ifdef __cplusplus
}
#endif

#include "m0/tlist.h"

#endif /* M0_LIST_H */
