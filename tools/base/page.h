/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A page of HTML with plots in SVG, complete in one file: no script, font or other
 * resource. It is readable on a light and on a dark background.
 */
#ifndef M0_TOOLS_PAGE_H
#define M0_TOOLS_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct page_point {
	double pgp_x;
	double pgp_y;
};

/** Points, by their x. */
struct page_series {
	const char              *pgs_name;
	const struct page_point *pgs_points;
	size_t                   pgs_nr;
	/** Below PAGE_SERIES_MAX: the same in all plots that show the same. */
	size_t pgs_colour;
};

/** How the numbers of an axis are written. */
enum page_unit {
	PAGE_NUMBER,
	/** 1K is 1024. */
	PAGE_BYTES,
	/** Nanoseconds, written as ns, us, ms or s. */
	PAGE_NS
};

struct page_axis {
	const char    *pxs_name;
	enum page_unit pxs_unit;
	/** Logarithmic: the numbers are above 0. */
	bool pxs_log;
};

struct page_plot {
	const char      *ppl_title;
	struct page_axis ppl_x;
	struct page_axis ppl_y;
	/** Bars instead of a line: their x are of page_bar(). */
	bool                      ppl_bars;
	const struct page_series *ppl_series;
	size_t                    ppl_series_nr;
};

enum {
	/** Most series of a plot: they have a colour each. */
	PAGE_SERIES_MAX = 8
};

void page_begin(FILE *file, const char *title);
/** A paragraph. */
void page_text(FILE *file, const char *text);
/** A paragraph with the date and the time. */
void page_time(FILE *file);
/** A table: rows of `columns` cells each, the first row is the heading. */
void page_table(FILE *file, const char *const *cells, size_t rows,
		size_t columns);
/** The colour of a cell. */
enum page_mark {
	PAGE_NONE,
	PAGE_GOOD,
	PAGE_DOUBTFUL,
	PAGE_BAD,
	/** No colour; a text of several words, which begins at the left. */
	PAGE_PROSE
};

/* A table whose cells have colours, cell by cell: a map if there are many. The text says
 * the same as the colour. */
void page_grid_begin(FILE *file);
/** The next row; its cells, or those of the heading, follow. */
void page_row(FILE *file);
void page_head(FILE *file, const char *text);
void page_cell(FILE *file, const char *text, enum page_mark mark);
void page_grid_end(FILE *file);
/** The bar of a value: the next of 1, 2, 5, 10, 20, ... Pre: value >= 1. */
double page_bar(double value);
/** The bar after `bar`. */
double page_bar_next(double bar);
/** A plot. Nothing is written if it has no points. */
void page_plot(FILE *file, const struct page_plot *plot);
void page_end(FILE *file);

#endif /* M0_TOOLS_PAGE_H */
