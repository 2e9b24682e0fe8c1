/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Small macros: bits, membership, quantifiers, containers, bounds. Nothing in
 * this file generates code of its own.
 */
#ifndef M0_MACRO_H
#define M0_MACRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define M0_CAT_(a, b) a##b
#define M0_CAT(a, b)  M0_CAT_(a, b)
#define M0_STR_(x)    #x
#define M0_STR(x)     M0_STR_(x)

#define M0_LIKELY(x)   __builtin_expect(!!(x), 1)
#define M0_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define M0_UNUSED      __attribute__((unused))
#define M0_PRINTF(fmt_at, args_at) \
	__attribute__((format(printf, fmt_at, args_at)))

/** Marks a function that only other files of the library call. */
#define M0_INTERNAL
/** Marks a function or object that programs using the library see. */
#define M0_EXTERN extern __attribute__((visibility("default")))

/**
 * Fails the compilation if `cond` is false. It is a declaration, allowed at any
 * scope.
 */
#ifdef __cplusplus
#define M0_BASSERT(cond) static_assert((cond), #cond)
#else
#define M0_BASSERT(cond) _Static_assert((cond), #cond)
#endif

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif

#ifndef container_of
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr)-offsetof(type, member)))
#endif

#define M0_SET0(obj)                ((void)memset((obj), 0, sizeof *(obj)))
#define M0_SET_ARR0(arr)            ((void)memset((arr), 0, sizeof(arr)))
#define M0_FIELD_VALUE(type, field) (((type *)NULL)->field)

/**
 * Implication: `a` is false or `b` is true. `b` is evaluated only if `a` is
 * true.
 */
#define ergo(a, b) (!(a) || (b))
/** Equivalence. */
#define equi(a, b) (!(a) == !(b))

/* clang-format off */

/* Smaller and greater of two values of one type; each is evaluated once. */
#define M0_MIN_(a, b, x, y) ({           \
	__typeof__(a) x = (a);           \
	__typeof__(b) y = (b);           \
	(void)(&x == &y);                \
	x < y ? x : y; })
#define M0_MAX_(a, b, x, y) ({           \
	__typeof__(a) x = (a);           \
	__typeof__(b) y = (b);           \
	(void)(&x == &y);                \
	x > y ? x : y; })
/* clang-format on */

/**
 * Smaller and greater of two values. The compiler warns if their types differ.
 */
#define min_check(a, b) \
	M0_MIN_(a, b, M0_CAT(m0_x_, __COUNTER__), M0_CAT(m0_y_, __COUNTER__))
#define max_check(a, b) \
	M0_MAX_(a, b, M0_CAT(m0_x_, __COUNTER__), M0_CAT(m0_y_, __COUNTER__))

static inline uint64_t min64u(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max64u(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/** Returns the value nearest to `x` in [lo, hi]. */
static inline uint64_t clip64u(uint64_t lo, uint64_t hi, uint64_t x)
{
	return x < lo ? lo : x > hi ? hi : x;
}

/** True if `x` is a power of two. */
static inline bool m0_is_po2(uint64_t x)
{
	return x != 0 && (x & (x - 1)) == 0;
}

/** Returns the least multiple of `a` (a power of two) that is not below `x`. */
static inline uint64_t m0_align(uint64_t x, uint64_t a)
{
	return (x + a - 1) & ~(a - 1);
}

static inline bool m0_is_aligned(uint64_t x, uint64_t a)
{
	return (x & (a - 1)) == 0;
}

/* clang-format off */

/*
 * Lists of arguments. M0_COUNT() is the number of commas, 2 for M0_COUNT(a, b,
 * c); there may be up to 16 arguments.
 */
#define M0_COUNT_(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, \
		  _14, _15, nr, ...) nr
#define M0_COUNT(...) M0_COUNT_(__VA_ARGS__, 15, 14, 13, 12, 11, 10, 9, 8, 7, \
				6, 5, 4, 3, 2, 1, 0, 0)
#define M0_UNPACK(...) __VA_ARGS__

#define M0_IN_0(v, a) (v) == (a)
#define M0_IN_1(v, a, ...) (v) == (a) || M0_IN_0(v, __VA_ARGS__)
#define M0_IN_2(v, a, ...) (v) == (a) || M0_IN_1(v, __VA_ARGS__)
#define M0_IN_3(v, a, ...) (v) == (a) || M0_IN_2(v, __VA_ARGS__)
#define M0_IN_4(v, a, ...) (v) == (a) || M0_IN_3(v, __VA_ARGS__)
#define M0_IN_5(v, a, ...) (v) == (a) || M0_IN_4(v, __VA_ARGS__)
#define M0_IN_6(v, a, ...) (v) == (a) || M0_IN_5(v, __VA_ARGS__)
#define M0_IN_7(v, a, ...) (v) == (a) || M0_IN_6(v, __VA_ARGS__)
#define M0_IN_8(v, a, ...) (v) == (a) || M0_IN_7(v, __VA_ARGS__)
#define M0_IN_9(v, a, ...) (v) == (a) || M0_IN_8(v, __VA_ARGS__)
#define M0_IN_10(v, a, ...) (v) == (a) || M0_IN_9(v, __VA_ARGS__)
#define M0_IN_11(v, a, ...) (v) == (a) || M0_IN_10(v, __VA_ARGS__)
#define M0_IN_12(v, a, ...) (v) == (a) || M0_IN_11(v, __VA_ARGS__)
#define M0_IN_13(v, a, ...) (v) == (a) || M0_IN_12(v, __VA_ARGS__)
#define M0_IN_14(v, a, ...) (v) == (a) || M0_IN_13(v, __VA_ARGS__)
#define M0_IN_15(v, a, ...) (v) == (a) || M0_IN_14(v, __VA_ARGS__)
#define M0_IN_N_(nr, v, ...) M0_CAT(M0_IN_, nr)(v, __VA_ARGS__)
#define M0_IN_(x, v, ...) ({                                       \
	__typeof__(x) v = (x);                                     \
	M0_IN_N_(M0_COUNT(__VA_ARGS__), v, __VA_ARGS__); })
/**
 * M0_IN(x, (a, b, ...)) is true if `x`, evaluated once, equals one of the list.
 */
#define M0_IN(x, list) \
	M0_IN_(x, M0_CAT(m0_in_, __COUNTER__), M0_UNPACK list)

#define M0_BITS_0(a) (1ULL << (a))
#define M0_BITS_1(a, ...) (1ULL << (a)) | M0_BITS_0(__VA_ARGS__)
#define M0_BITS_2(a, ...) (1ULL << (a)) | M0_BITS_1(__VA_ARGS__)
#define M0_BITS_3(a, ...) (1ULL << (a)) | M0_BITS_2(__VA_ARGS__)
#define M0_BITS_4(a, ...) (1ULL << (a)) | M0_BITS_3(__VA_ARGS__)
#define M0_BITS_5(a, ...) (1ULL << (a)) | M0_BITS_4(__VA_ARGS__)
#define M0_BITS_6(a, ...) (1ULL << (a)) | M0_BITS_5(__VA_ARGS__)
#define M0_BITS_7(a, ...) (1ULL << (a)) | M0_BITS_6(__VA_ARGS__)
#define M0_BITS_8(a, ...) (1ULL << (a)) | M0_BITS_7(__VA_ARGS__)
#define M0_BITS_9(a, ...) (1ULL << (a)) | M0_BITS_8(__VA_ARGS__)
#define M0_BITS_10(a, ...) (1ULL << (a)) | M0_BITS_9(__VA_ARGS__)
#define M0_BITS_11(a, ...) (1ULL << (a)) | M0_BITS_10(__VA_ARGS__)
#define M0_BITS_12(a, ...) (1ULL << (a)) | M0_BITS_11(__VA_ARGS__)
#define M0_BITS_13(a, ...) (1ULL << (a)) | M0_BITS_12(__VA_ARGS__)
#define M0_BITS_14(a, ...) (1ULL << (a)) | M0_BITS_13(__VA_ARGS__)
#define M0_BITS_15(a, ...) (1ULL << (a)) | M0_BITS_14(__VA_ARGS__)
/** A set of bit numbers, as a constant expression: M0_BITS(0, 3) is 9. */
#define M0_BITS(...) \
	(M0_CAT(M0_BITS_, M0_COUNT(__VA_ARGS__))(__VA_ARGS__))

#define M0_FORALL_(var, nr, top, ...) ({                           \
	const unsigned top = (unsigned)(nr);                       \
	unsigned var;                                              \
	for (var = 0; var < top && ({ __VA_ARGS__; }); ++var)      \
		;                                                  \
	var == top; })
/** True if the expression holds for each `var` (declared here) in [0, nr). */
#define m0_forall(var, nr, ...) \
	M0_FORALL_(var, nr, M0_CAT(m0_top_, __COUNTER__), __VA_ARGS__)
/** True if the expression holds for some `var` (declared here) in [0, nr). */
#define m0_exists(var, nr, ...) \
	(!m0_forall(var, nr, !({ __VA_ARGS__; })))

/* clang-format on */

#endif /* M0_MACRO_H */
