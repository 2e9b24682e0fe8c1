/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "m0/base.h"

enum {
	WORD_BITS = 64
};

static size_t words_nr(size_t nr)
{
	return nr / WORD_BITS + (nr % WORD_BITS != 0);
}

int m0_bitmap_init(struct m0_bitmap *map, size_t nr)
{
	uint64_t *words;

	M0_ALLOC_ARR(words, words_nr(max64u(nr, 1)));
	if (words == NULL)
		return -ENOMEM;
	map->b_nr = nr;
	map->b_words = words;
	return 0;
}

void m0_bitmap_fini(struct m0_bitmap *map)
{
	m0_free0(&map->b_words);
	map->b_nr = 0;
}

void m0_bitmap_copy(struct m0_bitmap *dst, const struct m0_bitmap *src)
{
	size_t nr = words_nr(src->b_nr);
	size_t i;

	M0_PRE(dst->b_nr >= src->b_nr);
	for (i = 0; i < nr; ++i)
		dst->b_words[i] = src->b_words[i];
	/* Bits beyond b_nr of a word may hold anything. */
	if (src->b_nr % WORD_BITS != 0)
		dst->b_words[nr - 1] &= (1ULL << (src->b_nr % WORD_BITS)) - 1;
	for (; i < words_nr(dst->b_nr); ++i)
		dst->b_words[i] = 0;
}

void m0_bitmap_reset(struct m0_bitmap *map)
{
	size_t i;

	for (i = 0; i < words_nr(map->b_nr); ++i)
		map->b_words[i] = 0;
}

size_t m0_bitmap_next(const struct m0_bitmap *map, size_t idx)
{
	while (idx < map->b_nr) {
		uint64_t word = map->b_words[idx / WORD_BITS] >>
				(idx % WORD_BITS);

		if (word != 0)
			return min64u(idx + (size_t)__builtin_ctzll(word),
				      map->b_nr);
		idx = (idx / WORD_BITS + 1) * WORD_BITS;
	}
	return map->b_nr;
}

size_t m0_bitmap_set_nr(const struct m0_bitmap *map)
{
	size_t nr = 0;
	size_t i;

	for (i = m0_bitmap_next(map, 0); i < map->b_nr;
	     i = m0_bitmap_next(map, i + 1))
		++nr;
	return nr;
}

/* @return false: there is no number, or one that is no bit of the map. */
static bool bit_take(const struct m0_bitmap *map, const char **at, size_t *ret)
{
	size_t nr = 0;

	if (**at < '0' || **at > '9')
		return false;
	for (; **at >= '0' && **at <= '9' && nr < map->b_nr; ++*at)
		nr = nr * 10 + (size_t)(**at - '0');
	*ret = nr;
	return nr < map->b_nr;
}

static bool range_take(struct m0_bitmap *map, const char **at)
{
	size_t first;
	size_t last;

	if (!bit_take(map, at, &first))
		return false;
	last = first;
	if (**at == '-') {
		++*at;
		if (!bit_take(map, at, &last) || last < first)
			return false;
	}
	for (; first <= last; ++first)
		m0_bitmap_set(map, first, true);
	return true;
}

int m0_bitmap_parse(struct m0_bitmap *map, const char *text)
{
	m0_bitmap_reset(map);
	while (range_take(map, &text)) {
		if (*text == 0)
			return 0;
		if (*text++ != ',')
			break;
	}
	m0_bitmap_reset(map);
	return -EINVAL;
}
