/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <string.h>

#include "m0/base.h"

#include "page.h"

enum {
	WIDTH = 720,
	HEIGHT = 280,
	LEFT = 76,
	RIGHT = 16,
	TOP = 12,
	BOTTOM = 44,
	TICKS = 5
};

static const char style[] =
	":root{color-scheme:light dark;--ink:#222;--paper:#fff;--line:#ccc;"
	"--s0:#1f6feb;--s1:#d1570a;--s2:#1a7f37;--s3:#8250df;--s4:#bf3989;"
	"--s5:#7d6a00}"
	"@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#161616;"
	"--line:#444;--s0:#6cb0ff;--s1:#ff9b5e;--s2:#5fd27a;--s3:#c49bff;"
	"--s4:#ff8ec7;--s5:#e0c940}}"
	"body{font:15px/1.5 sans-serif;color:var(--ink);background:var(--paper);"
	"max-width:760px;margin:2em auto;padding:0 1em}"
	"table{border-collapse:collapse}td,th{border:1px solid var(--line);"
	"padding:.2em .6em;text-align:right}td:first-child{text-align:left}"
	"svg{width:100%;height:auto}svg text{fill:var(--ink);font-size:12px}"
	".grid{stroke:var(--line)}.axis{stroke:var(--ink)}";

static void escape(FILE *file, const char *text)
{
	for (; *text != '\0'; ++text) {
		switch (*text) {
		case '<':
			fputs("&lt;", file);
			break;
		case '>':
			fputs("&gt;", file);
			break;
		case '&':
			fputs("&amp;", file);
			break;
		case '"':
			fputs("&quot;", file);
			break;
		default:
			fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
		}
	}
}

void page_begin(FILE *file, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
	      file);
	escape(file, title);
	fprintf(file, "</title>\n<style>%s</style></head>\n<body>\n<h1>",
		style);
	escape(file, title);
	fputs("</h1>\n", file);
}

void page_text(FILE *file, const char *text)
{
	fputs("<p>", file);
	escape(file, text);
	fputs("</p>\n", file);
}

void page_table(FILE *file, const char *const *cells, size_t rows,
		size_t columns)
{
	size_t i;
	size_t j;

	fputs("<table>\n", file);
	for (i = 0; i < rows; ++i) {
		fputs("<tr>", file);
		for (j = 0; j < columns; ++j) {
			fputs(i == 0 ? "<th>" : "<td>", file);
			escape(file, cells[i * columns + j]);
			fputs(i == 0 ? "</th>" : "</td>", file);
		}
		fputs("</tr>\n", file);
	}
	fputs("</table>\n", file);
}

/* -- plots ----------------------------------------------------------------- */

struct axes {
	double pax_x_min;
	double pax_x_max;
	double pax_y_max;
	double pax_y_step;
	bool   pax_log_x;
};

/** Logarithm of base 2, exact for powers of 2, straight lines between them. */
static double log2_of(double value)
{
	double power = 0;

	for (; value >= 2; value /= 2)
		++power;
	for (; value < 1 && value > 0; value *= 2)
		--power;
	return power + value - 1;
}

/** The next whole number. Pre: 0 <= value < 2^52. */
static double whole_up(double value)
{
	double whole = (double)(uint64_t)value;

	return whole < value ? whole + 1 : whole;
}

/** The next number of 1, 2, 5, 10, 20, ... */
static double round_up(double value)
{
	double unit = 1;

	while (unit * 10 <= value)
		unit *= 10;
	while (unit > value && unit > 1e-9)
		unit /= 10;
	return value <= unit       ? unit
	       : value <= 2 * unit ? 2 * unit
	       : value <= 5 * unit ? 5 * unit
				   : 10 * unit;
}

static double place_x(const struct axes *axes, double x)
{
	if (axes->pax_log_x)
		x = log2_of(x);
	return LEFT + (x - axes->pax_x_min) /
			      (axes->pax_x_max - axes->pax_x_min) *
			      (WIDTH - LEFT - RIGHT);
}

static double place_y(const struct axes *axes, double y)
{
	return HEIGHT - BOTTOM - y / axes->pax_y_max * (HEIGHT - TOP - BOTTOM);
}

static void axes_init(struct axes *axes, const struct page_plot *plot)
{
	bool   first = true;
	size_t i;
	size_t j;

	*axes = (struct axes){ .pax_log_x = plot->ppl_log_x };
	for (i = 0; i < plot->ppl_series_nr; ++i) {
		for (j = 0; j < plot->ppl_series[i].pgs_nr; ++j) {
			struct page_point point =
				plot->ppl_series[i].pgs_points[j];

			if (plot->ppl_log_x)
				point.pgp_x = log2_of(point.pgp_x);
			if (first || point.pgp_x < axes->pax_x_min)
				axes->pax_x_min = point.pgp_x;
			if (first || point.pgp_x > axes->pax_x_max)
				axes->pax_x_max = point.pgp_x;
			axes->pax_y_max =
				max_check(axes->pax_y_max, point.pgp_y);
			first = false;
		}
	}
	if (axes->pax_x_max <= axes->pax_x_min)
		axes->pax_x_max = axes->pax_x_min + 1;
	axes->pax_y_step =
		round_up(axes->pax_y_max > 0 ? axes->pax_y_max / TICKS : 1);
	axes->pax_y_max =
		axes->pax_y_step *
		whole_up(max_check(axes->pax_y_max / axes->pax_y_step, 1.0));
}

static void tick_x(FILE *file, const struct axes *axes, double x,
		   const char *text)
{
	double at = place_x(axes, x);

	fprintf(file,
		"<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" "
		"y2=\"%d\"/><text x=\"%.1f\" y=\"%d\" "
		"text-anchor=\"middle\">%s</text>\n",
		at, at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 16, text);
}

static void ticks_x(FILE *file, const struct axes *axes)
{
	static const char *const units[] = { "", "K", "M", "G", "T" };
	char                     text[64];
	double                   step;
	double                   x;

	if (axes->pax_log_x) {
		step = whole_up((axes->pax_x_max - axes->pax_x_min) / 8);
		for (x = whole_up(axes->pax_x_min); x <= axes->pax_x_max;
		     x += step) {
			unsigned power = min_check((unsigned)x, 49U);

			snprintf(text, sizeof text, "%u%s", 1U << power % 10,
				 units[power / 10]);
			tick_x(file, axes, (double)(UINT64_C(1) << power),
			       text);
		}
		return;
	}
	step = round_up((axes->pax_x_max - axes->pax_x_min) / TICKS);
	for (x = whole_up(axes->pax_x_min / step) * step; x <= axes->pax_x_max;
	     x += step) {
		snprintf(text, sizeof text, "%g", x);
		tick_x(file, axes, x, text);
	}
}

static void axes_print(FILE *file, const struct axes *axes,
		       const struct page_plot *plot)
{
	double y;

	for (y = 0; y <= axes->pax_y_max * 1.0001; y += axes->pax_y_step)
		fprintf(file,
			"<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" "
			"y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" "
			"text-anchor=\"end\">%g</text>\n",
			LEFT, WIDTH - RIGHT, place_y(axes, y), place_y(axes, y),
			LEFT - 6, place_y(axes, y) + 4, y);
	ticks_x(file, axes);
	fprintf(file,
		"<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n",
		LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, HEIGHT - BOTTOM);
	fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8);
	escape(file, plot->ppl_x);
	fprintf(file,
		"</text>\n<text transform=\"translate(14,%d) rotate(-90)\" "
		"text-anchor=\"middle\">",
		(TOP + HEIGHT - BOTTOM) / 2);
	escape(file, plot->ppl_y);
	fputs("</text>\n", file);
}

static void series_print(FILE *file, const struct axes *axes,
			 const struct page_plot *plot, size_t nr)
{
	const struct page_series *series = &plot->ppl_series[nr];
	double                    width = (double)(WIDTH - LEFT - RIGHT) /
		       (double)max_check(series->pgs_nr, (size_t)1);
	size_t j;

	if (!plot->ppl_bars && series->pgs_nr > 1) {
		fprintf(file,
			"<polyline fill=\"none\" stroke-width=\"2\" "
			"stroke=\"var(--s%zu)\" points=\"",
			nr);
		for (j = 0; j < series->pgs_nr; ++j)
			fprintf(file, "%.1f,%.1f ",
				place_x(axes, series->pgs_points[j].pgp_x),
				place_y(axes, series->pgs_points[j].pgp_y));
		fputs("\"/>\n", file);
	}
	for (j = 0; j < series->pgs_nr; ++j) {
		double x = place_x(axes, series->pgs_points[j].pgp_x);
		double y = place_y(axes, series->pgs_points[j].pgp_y);

		if (plot->ppl_bars)
			fprintf(file,
				"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
				"height=\"%.1f\" fill=\"var(--s%zu)\"/>\n",
				x - width / 3, y, width * 2 / 3,
				HEIGHT - BOTTOM - y, nr);
		else
			fprintf(file,
				"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" "
				"fill=\"var(--s%zu)\"/>\n",
				x, y, nr);
	}
}

void page_plot(FILE *file, const struct page_plot *plot)
{
	struct axes axes;
	size_t      i;

	M0_PRE(plot->ppl_series_nr <= PAGE_SERIES_MAX);
	axes_init(&axes, plot);
	fputs("<h2>", file);
	escape(file, plot->ppl_title);
	fprintf(file, "</h2>\n<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>",
		WIDTH, HEIGHT);
	escape(file, plot->ppl_title);
	fputs("</title>\n", file);
	axes_print(file, &axes, plot);
	for (i = 0; i < plot->ppl_series_nr; ++i)
		series_print(file, &axes, plot, i);
	fputs("</svg>\n<p>", file);
	for (i = 0; i < plot->ppl_series_nr; ++i) {
		fprintf(file,
			"<span style=\"color:var(--s%zu)\">&#9632;</span> ", i);
		escape(file, plot->ppl_series[i].pgs_name);
		fputs("&ensp;", file);
	}
	fputs("</p>\n", file);
}

void page_end(FILE *file)
{
	fputs("</body></html>\n", file);
}
