/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Typed lists: m0_list plus a descriptor that specifies which objects are in
 * the list, where their link is, and which magic numbers the object and the
 * head carry.
 *
 *	M0_TL_DESCR_DEFINE(buf, "buffers", static, struct buf, b_link, b_magic,
 *			   0x62756661, 0x62756668);
 *	M0_TL_DEFINE(buf, static, struct buf);
 *
 * defines buf_tlist_init(head), buf_tlist_add(head, obj) and so on, listed at
 * M0_TL_DEFINE. A wrong object or head, or one that was overwritten, fails an
 * assertion. If the descriptor is `static`, the compiler inlines everything to
 * the instructions of a plain list and one compare. A magic number of 0 is
 * neither set nor checked. Several links of one object share its magic field.
 */
#ifndef M0_TLIST_H
#define M0_TLIST_H

#include "m0/list.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Head of a typed list. */
struct m0_tl {
	uint64_t       td_magic;
	struct m0_list td_head;
};

struct m0_tlink {
	struct m0_list_link t_link;
};

struct m0_tl_descr {
	const char *td_name;
	size_t      td_link_offset;
	size_t      td_magic_offset;
	uint64_t    td_link_magic;
	uint64_t    td_head_magic;
};

/* clang-format off */
#define M0_TL_DESCR_DECLARE(name, scope) \
	scope const struct m0_tl_descr name##_tl

/**
 * Defines the descriptor of a typed list.
 * @param hname  name of the list in plain words.
 * @param scope  static, or empty (M0_INTERNAL).
 */
#define M0_TL_DESCR_DEFINE(name, hname, scope, amb_type, amb_link_field, \
			   amb_magic_field, amb_magic, head_magic)       \
	scope const struct m0_tl_descr name##_tl = {                     \
		.td_name = (hname),                                      \
		.td_link_offset = offsetof(amb_type, amb_link_field) +   \
			0 * sizeof(&((amb_type *)NULL)->amb_link_field == \
				   (struct m0_tlink *)NULL),             \
		.td_magic_offset = offsetof(amb_type, amb_magic_field) + \
			0 * sizeof(&((amb_type *)NULL)->amb_magic_field == \
				   (uint64_t *)NULL),                    \
		.td_link_magic = (amb_magic),                            \
		.td_head_magic = (head_magic)                            \
	}

/* clang-format on */

static inline struct m0_list_link *m0_tl__link(const struct m0_tl_descr *d,
					       const void               *obj)
{
	return &((struct m0_tlink *)((char *)(uintptr_t)obj +
				     d->td_link_offset))
			->t_link;
}

static inline void *m0_tl__obj(const struct m0_tl_descr *d,
			       struct m0_list_link      *link)
{
	return (char *)link - d->td_link_offset;
}

static inline uint64_t *m0_tl__magic(const struct m0_tl_descr *d,
				     const void               *obj)
{
	return (uint64_t *)((char *)(uintptr_t)obj + d->td_magic_offset);
}

static inline bool m0_tl__obj_ok(const struct m0_tl_descr *d, const void *obj)
{
	return d->td_link_magic == 0 ||
	       *m0_tl__magic(d, obj) == d->td_link_magic;
}

static inline bool m0_tl__head_ok(const struct m0_tl_descr *d,
				  const struct m0_tl       *head)
{
	return d->td_head_magic == 0 || head->td_magic == d->td_head_magic;
}

static inline void m0_tlist_init(const struct m0_tl_descr *d,
				 struct m0_tl             *head)
{
	head->td_magic = d->td_head_magic;
	m0_list_init(&head->td_head);
}

static inline void m0_tlist_fini(const struct m0_tl_descr *d,
				 struct m0_tl             *head)
{
	M0_PRE(m0_tl__head_ok(d, head));
	m0_list_fini(&head->td_head);
	head->td_magic = 0;
}

static inline void m0_tlink_init(const struct m0_tl_descr *d, void *obj)
{
	m0_list_link_init(m0_tl__link(d, obj));
	if (d->td_link_magic != 0)
		*m0_tl__magic(d, obj) = d->td_link_magic;
}

static inline void m0_tlink_fini(const struct m0_tl_descr *d, void *obj)
{
	M0_PRE(m0_tl__obj_ok(d, obj));
	m0_list_link_fini(m0_tl__link(d, obj));
}

static inline bool m0_tlink_is_in(const struct m0_tl_descr *d, const void *obj)
{
	M0_PRE(m0_tl__obj_ok(d, obj));
	return m0_list_link_is_in(m0_tl__link(d, obj));
}

static inline bool m0_tlist_is_empty(const struct m0_tl_descr *d,
				     const struct m0_tl       *head)
{
	M0_PRE(m0_tl__head_ok(d, head));
	return m0_list_is_empty(&head->td_head);
}

static inline void m0_tlist_add(const struct m0_tl_descr *d, struct m0_tl *head,
				void *obj)
{
	M0_PRE(m0_tl__head_ok(d, head));
	M0_PRE(m0_tl__obj_ok(d, obj));
	M0_PRE(!m0_list_link_is_in(m0_tl__link(d, obj)));
	m0_list_add(&head->td_head, m0_tl__link(d, obj));
}

static inline void m0_tlist_add_tail(const struct m0_tl_descr *d,
				     struct m0_tl *head, void *obj)
{
	M0_PRE(m0_tl__head_ok(d, head));
	M0_PRE(m0_tl__obj_ok(d, obj));
	M0_PRE(!m0_list_link_is_in(m0_tl__link(d, obj)));
	m0_list_add_tail(&head->td_head, m0_tl__link(d, obj));
}

static inline void m0_tlist_add_after(const struct m0_tl_descr *d, void *obj,
				      void *next)
{
	M0_PRE(m0_tl__obj_ok(d, obj) && m0_tl__obj_ok(d, next));
	M0_PRE(!m0_list_link_is_in(m0_tl__link(d, next)));
	m0_list_add_after(m0_tl__link(d, obj), m0_tl__link(d, next));
}

static inline void m0_tlist_add_before(const struct m0_tl_descr *d, void *obj,
				       void *prev)
{
	M0_PRE(m0_tl__obj_ok(d, obj) && m0_tl__obj_ok(d, prev));
	M0_PRE(!m0_list_link_is_in(m0_tl__link(d, prev)));
	m0_list_add_before(m0_tl__link(d, obj), m0_tl__link(d, prev));
}

static inline void m0_tlist_del(const struct m0_tl_descr *d, void *obj)
{
	M0_PRE(m0_tl__obj_ok(d, obj));
	M0_PRE(m0_list_link_is_in(m0_tl__link(d, obj)));
	m0_list_del(m0_tl__link(d, obj));
}

static inline void m0_tlist_remove(const struct m0_tl_descr *d, void *obj)
{
	M0_PRE(m0_tl__obj_ok(d, obj));
	m0_list_del(m0_tl__link(d, obj));
}

static inline void *m0_tlist_head(const struct m0_tl_descr *d,
				  const struct m0_tl       *head)
{
	struct m0_list_link *link = m0_list_first(&head->td_head);

	M0_PRE(m0_tl__head_ok(d, head));
	return link == NULL ? NULL : m0_tl__obj(d, link);
}

static inline void *m0_tlist_tail(const struct m0_tl_descr *d,
				  const struct m0_tl       *head)
{
	struct m0_list_link *link = m0_list_last(&head->td_head);

	M0_PRE(m0_tl__head_ok(d, head));
	return link == NULL ? NULL : m0_tl__obj(d, link);
}

static inline void *m0_tlist_next(const struct m0_tl_descr *d,
				  const struct m0_tl *head, const void *obj)
{
	struct m0_list_link *link = m0_tl__link(d, obj)->ll_next;

	M0_PRE(m0_tl__obj_ok(d, obj));
	return link == &head->td_head.l_head ? NULL : m0_tl__obj(d, link);
}

static inline void *m0_tlist_prev(const struct m0_tl_descr *d,
				  const struct m0_tl *head, const void *obj)
{
	struct m0_list_link *link = m0_tl__link(d, obj)->ll_prev;

	M0_PRE(m0_tl__obj_ok(d, obj));
	return link == &head->td_head.l_head ? NULL : m0_tl__obj(d, link);
}

static inline void *m0_tlist_pop(const struct m0_tl_descr *d,
				 struct m0_tl             *head)
{
	void *obj = m0_tlist_head(d, head);

	if (obj != NULL)
		m0_tlist_del(d, obj);
	return obj;
}

static inline void m0_tlist_move(const struct m0_tl_descr *d,
				 struct m0_tl *head, void *obj)
{
	m0_tlist_remove(d, obj);
	m0_tlist_add(d, head, obj);
}

static inline void m0_tlist_move_tail(const struct m0_tl_descr *d,
				      struct m0_tl *head, void *obj)
{
	m0_tlist_remove(d, obj);
	m0_tlist_add_tail(d, head, obj);
}

/** Returns the number of objects. O(n). */
static inline size_t m0_tlist_length(const struct m0_tl_descr *d,
				     const struct m0_tl       *head)
{
	M0_PRE(m0_tl__head_ok(d, head));
	return m0_list_length(&head->td_head);
}

/** Returns true if the object is in the list. O(n). */
M0_EXTERN bool m0_tlist_contains(const struct m0_tl_descr *d,
				 const struct m0_tl *head, const void *obj);
/** Checks the links and magic numbers of the whole list. O(n). */
M0_EXTERN bool m0_tlist_invariant(const struct m0_tl_descr *d,
				  const struct m0_tl       *head);

/* clang-format off */

/** Declares what M0_TL_DEFINE defines, for use in other files. */
#define M0_TL_DECLARE(name, scope, amb_type)                                   \
scope void name##_tlist_init(struct m0_tl *head);                              \
scope void name##_tlist_fini(struct m0_tl *head);                              \
scope void name##_tlink_init(amb_type *amb);                                   \
scope void name##_tlink_init_at(amb_type *amb, struct m0_tl *head);            \
scope void name##_tlink_init_at_tail(amb_type *amb, struct m0_tl *head);       \
scope void name##_tlink_fini(amb_type *amb);                                   \
scope void name##_tlink_del_fini(amb_type *amb);                               \
scope bool name##_tlink_is_in(const amb_type *amb);                            \
scope bool name##_tlist_invariant(const struct m0_tl *head);                   \
scope bool name##_tlist_is_empty(const struct m0_tl *head);                    \
scope size_t name##_tlist_length(const struct m0_tl *head);                    \
scope bool name##_tlist_contains(const struct m0_tl *head,                     \
				 const amb_type *amb);                         \
scope void name##_tlist_add(struct m0_tl *head, amb_type *amb);                \
scope void name##_tlist_add_tail(struct m0_tl *head, amb_type *amb);           \
scope void name##_tlist_add_after(amb_type *amb, amb_type *next);              \
scope void name##_tlist_add_before(amb_type *amb, amb_type *prev);             \
scope void name##_tlist_del(amb_type *amb);                                    \
scope void name##_tlist_remove(amb_type *amb);                                 \
scope void name##_tlist_move(struct m0_tl *head, amb_type *amb);               \
scope void name##_tlist_move_tail(struct m0_tl *head, amb_type *amb);          \
scope amb_type *name##_tlist_head(const struct m0_tl *head);                   \
scope amb_type *name##_tlist_tail(const struct m0_tl *head);                   \
scope amb_type *name##_tlist_pop(struct m0_tl *head);                          \
scope amb_type *name##_tlist_next(const struct m0_tl *head,                    \
				  const amb_type *amb);                        \
scope amb_type *name##_tlist_prev(const struct m0_tl *head,                    \
				  const amb_type *amb)

/**
 * Defines the functions of a typed list, after its descriptor.
 *
 * head, tail, next, prev and pop return NULL at the end; pop deletes the first
 * object; del asserts that the object is in a list, remove does not; move and
 * move_tail take the object from its current list; add_after(a, b) puts b
 * behind a, add_before(a, b) puts it before a; length and contains are O(n).
 */
#define M0_TL_DEFINE(name, scope, amb_type)                                    \
scope M0_UNUSED void name##_tlist_init(struct m0_tl *head)                     \
{ m0_tlist_init(&name##_tl, head); }                                           \
scope M0_UNUSED void name##_tlist_fini(struct m0_tl *head)                     \
{ m0_tlist_fini(&name##_tl, head); }                                           \
scope M0_UNUSED void name##_tlink_init(amb_type *amb)                          \
{ m0_tlink_init(&name##_tl, amb); }                                            \
scope M0_UNUSED void name##_tlink_init_at(amb_type *amb, struct m0_tl *head)   \
{ m0_tlink_init(&name##_tl, amb); m0_tlist_add(&name##_tl, head, amb); }       \
scope M0_UNUSED void name##_tlink_init_at_tail(amb_type *amb,                  \
					       struct m0_tl *head)             \
{ m0_tlink_init(&name##_tl, amb); m0_tlist_add_tail(&name##_tl, head, amb); }  \
scope M0_UNUSED void name##_tlink_fini(amb_type *amb)                          \
{ m0_tlink_fini(&name##_tl, amb); }                                            \
scope M0_UNUSED void name##_tlink_del_fini(amb_type *amb)                      \
{ m0_tlist_del(&name##_tl, amb); m0_tlink_fini(&name##_tl, amb); }             \
scope M0_UNUSED bool name##_tlink_is_in(const amb_type *amb)                   \
{ return m0_tlink_is_in(&name##_tl, amb); }                                    \
scope M0_UNUSED bool name##_tlist_invariant(const struct m0_tl *head)          \
{ return m0_tlist_invariant(&name##_tl, head); }                               \
scope M0_UNUSED bool name##_tlist_is_empty(const struct m0_tl *head)           \
{ return m0_tlist_is_empty(&name##_tl, head); }                                \
scope M0_UNUSED size_t name##_tlist_length(const struct m0_tl *head)           \
{ return m0_tlist_length(&name##_tl, head); }                                  \
scope M0_UNUSED bool name##_tlist_contains(const struct m0_tl *head,           \
					   const amb_type *amb)                \
{ return m0_tlist_contains(&name##_tl, head, amb); }                           \
scope M0_UNUSED void name##_tlist_add(struct m0_tl *head, amb_type *amb)       \
{ m0_tlist_add(&name##_tl, head, amb); }                                       \
scope M0_UNUSED void name##_tlist_add_tail(struct m0_tl *head, amb_type *amb)  \
{ m0_tlist_add_tail(&name##_tl, head, amb); }                                  \
scope M0_UNUSED void name##_tlist_add_after(amb_type *amb, amb_type *next)     \
{ m0_tlist_add_after(&name##_tl, amb, next); }                                 \
scope M0_UNUSED void name##_tlist_add_before(amb_type *amb, amb_type *prev)    \
{ m0_tlist_add_before(&name##_tl, amb, prev); }                                \
scope M0_UNUSED void name##_tlist_del(amb_type *amb)                           \
{ m0_tlist_del(&name##_tl, amb); }                                             \
scope M0_UNUSED void name##_tlist_remove(amb_type *amb)                        \
{ m0_tlist_remove(&name##_tl, amb); }                                          \
scope M0_UNUSED void name##_tlist_move(struct m0_tl *head, amb_type *amb)      \
{ m0_tlist_move(&name##_tl, head, amb); }                                      \
scope M0_UNUSED void name##_tlist_move_tail(struct m0_tl *head, amb_type *amb) \
{ m0_tlist_move_tail(&name##_tl, head, amb); }                                 \
scope M0_UNUSED amb_type *name##_tlist_head(const struct m0_tl *head)          \
{ return (amb_type *)m0_tlist_head(&name##_tl, head); }                        \
scope M0_UNUSED amb_type *name##_tlist_tail(const struct m0_tl *head)          \
{ return (amb_type *)m0_tlist_tail(&name##_tl, head); }                        \
scope M0_UNUSED amb_type *name##_tlist_pop(struct m0_tl *head)                 \
{ return (amb_type *)m0_tlist_pop(&name##_tl, head); }                         \
scope M0_UNUSED amb_type *name##_tlist_next(const struct m0_tl *head,          \
					    const amb_type *amb)               \
{ return (amb_type *)m0_tlist_next(&name##_tl, head, amb); }                   \
scope M0_UNUSED amb_type *name##_tlist_prev(const struct m0_tl *head,          \
					    const amb_type *amb)               \
{ return (amb_type *)m0_tlist_prev(&name##_tl, head, amb); }                   \
struct name##_tl_semicolon__

/**
 * Visits the objects of a list. The body may delete and free `obj`.
 *	m0_tl_for (buf, &head, obj) { ... } m0_tl_endfor;
 */
#define m0_tl_for(name, head, obj)                                             \
do {                                                                           \
	__typeof__(obj) m0_tl_next_;                                           \
	const struct m0_tl *m0_tl_head_ = (head);                              \
	for ((obj) = name##_tlist_head(m0_tl_head_);                           \
	     (obj) != NULL &&                                                  \
	     ((void)(m0_tl_next_ = name##_tlist_next(m0_tl_head_, (obj))), 1); \
	     (obj) = m0_tl_next_)

#define m0_tl_endfor \
	; (void)m0_tl_next_; } while (0)

#define M0_TL_FOREACH_(name, head, obj, next)                                  \
	for (__typeof__(obj) next = ((obj) = name##_tlist_head(head));         \
	     (obj) != NULL && ((void)(next = name##_tlist_next(head, (obj))),  \
			       1);                                             \
	     (obj) = next)
/** m0_tl_for() as an ordinary loop, without m0_tl_endfor. */
#define m0_tl_foreach(name, head, obj)                                         \
	M0_TL_FOREACH_(name, head, obj, M0_CAT(m0_tl_next_, __COUNTER__))

/** Deletes the objects one by one. The body frees or keeps `obj`. */
#define m0_tl_teardown(name, head, obj) \
	while (((obj) = name##_tlist_pop(head)) != NULL)

/**
 * Returns the first object (`var` in the expression) for which the expression
 * is true, or NULL.
 */
#define m0_tl_find(name, var, head, ...) ({                                    \
	__typeof__(name##_tlist_head(NULL)) var;                               \
	for (var = name##_tlist_head(head);                                    \
	     var != NULL && !({ __VA_ARGS__; });                               \
	     var = name##_tlist_next(head, var))                               \
		;                                                              \
	var; })
/** True if the expression is true for each object, called `var` in it. */
#define m0_tl_forall(name, var, head, ...) \
	(m0_tl_find(name, var, head, !({ __VA_ARGS__; })) == NULL)
/** True if the expression is true for some object, called `var` in it. */
#define m0_tl_exists(name, var, head, ...) \
	(m0_tl_find(name, var, head, __VA_ARGS__) != NULL)

/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif /* M0_TLIST_H */
