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
};

struct page_plot {
	const char *ppl_title;
	const char *ppl_x;
	const char *ppl_y;
	/** The axis of x is logarithmic, of base 2, and x is above 0. */
	bool ppl_log_x;
	/** Bars instead of a line. */
	bool                      ppl_bars;
	const struct page_series *ppl_series;
	size_t                    ppl_series_nr;
};

enum {
	/** Most series of a plot: they have a colour each. */
	PAGE_SERIES_MAX = 6
};

void page_begin(FILE *file, const char *title);
/** A paragraph. */
void page_text(FILE *file, const char *text);
/** A table: rows of `columns` cells each, the first row is the heading. */
void page_table(FILE *file, const char *const *cells, size_t rows,
		size_t columns);
void page_plot(FILE *file, const struct page_plot *plot);
void page_end(FILE *file);

#endif /* M0_TOOLS_PAGE_H */
