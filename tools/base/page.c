/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <string.h>
#include <time.h>

#include "m0/base.h"

#include "page.h"

enum {
	WIDTH = 720,
	HEIGHT = 280,
	LEFT = 76,
	RIGHT = 16,
	TOP = 12,
	BOTTOM = 48,
	TICKS = 5,
	/** Most numbers at a logarithmic axis. */
	LOG_TICKS_MAX = 9,
	/** Lines with more points have no marks. */
	MARKS_MAX = 64,
	LABEL_BYTES = 32
};

static const char style[] =
	":root{color-scheme:light dark;--ink:#222;--paper:#fff;--line:#ccc;"
	"--s0:#1f6feb;--s1:#d1570a;--s2:#1a7f37;--s3:#8250df;--s4:#bf3989;"
	"--s5:#7d6a00;--s6:#007a83;--s7:#6e5494;--bad:#b3261e}"
	"@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#161616;"
	"--line:#444;--s0:#6cb0ff;--s1:#ff9b5e;--s2:#5fd27a;--s3:#c49bff;"
	"--s4:#ff8ec7;--s5:#e0c940;--s6:#4fd6e0;--s7:#b9a8d9;--bad:#ff8a80}}"
	"body{font:15px/1.5 sans-serif;color:var(--ink);background:var(--paper);"
	"max-width:760px;margin:2em auto;padding:0 1em}"
	"table{border-collapse:collapse}td,th{border:1px solid var(--line);"
	"padding:.2em .6em;text-align:right}td:first-child,th:first-child{text-align:left}"
	".map{display:block;overflow-x:auto;font-size:13px}"
	".map td,.map th{padding:.2em .35em}.map td{text-align:center}"
	".map td.prose{text-align:left}.map td.good{color:var(--s2)}"
	".map td.doubtful{color:var(--s5)}.map td.bad{color:var(--bad);font-weight:bold}"
	"svg{width:100%;height:auto}svg text{fill:var(--ink);font-size:12px}"
	".grid{stroke:var(--line)}.axis{stroke:var(--ink)}"
	".legend span{white-space:nowrap;margin-right:1em}";

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

void page_time(FILE *file)
{
	time_t    now = time(NULL);
	struct tm tm;
	char      text[40] = "";

	if (localtime_r(&now, &tm) != NULL)
		(void)strftime(text, sizeof text, "%Y-%m-%d %H:%M %Z", &tm);
	page_text(file, text);
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

void page_grid_begin(FILE *file)
{
	fputs("<table class=\"map\">", file);
}

void page_row(FILE *file)
{
	fputs("\n<tr>", file);
}

void page_head(FILE *file, const char *text)
{
	fputs("<th>", file);
	escape(file, text);
	fputs("</th>", file);
}

void page_cell(FILE *file, const char *text, enum page_mark mark)
{
	static const char *const classes[] = {
		[PAGE_NONE] = "",
		[PAGE_GOOD] = " class=\"good\"",
		[PAGE_DOUBTFUL] = " class=\"doubtful\"",
		[PAGE_BAD] = " class=\"bad\"",
		[PAGE_PROSE] = " class=\"prose\"",
	};

	fprintf(file, "<td%s>", classes[mark]);
	escape(file, text);
	fputs("</td>", file);
}

void page_grid_end(FILE *file)
{
	fputs("\n</table>\n", file);
}

/* -- axes ------------------------------------------------------------------ */

/** An axis of a plot, and the pixels that it takes. */
struct scale {
	const struct page_axis *pgx_axis;
	double                  pgx_min;
	double                  pgx_max;
	/** Distance of the numbers, or their quotient if it is logarithmic; 0: they
	 * are 1, 2, 5, 10, 20, ... */
	double pgx_step;
	int    pgx_from;
	int    pgx_to;
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

static double power10_below(double value)
{
	double unit = 1;

	while (unit * 10 <= value)
		unit *= 10;
	while (unit > value && unit > 1e-9)
		unit /= 10;
	return unit;
}

/** The next number of 1, 2, 5, 10, 20, ... that is not below. */
static double round_up(double value)
{
	double unit = power10_below(value);

	return value <= unit       ? unit
	       : value <= 2 * unit ? 2 * unit
	       : value <= 5 * unit ? 5 * unit
				   : 10 * unit;
}

/** The last that is not above. */
static double round_down(double value)
{
	double unit = power10_below(value);

	return value >= 5 * unit   ? 5 * unit
	       : value >= 2 * unit ? 2 * unit
				   : unit;
}

/** The next one. Pre: value is one of them. */
static double round_next(double value)
{
	return round_up(value * 1.5);
}

double page_bar(double value)
{
	return round_up(value);
}

double page_bar_next(double bar)
{
	return round_next(bar);
}

static double place(const struct scale *scale, double value)
{
	double min = scale->pgx_min;
	double max = scale->pgx_max;

	value = max_check(value, min);
	if (scale->pgx_axis->pxs_log) {
		value = log2_of(value);
		min = log2_of(min);
		max = log2_of(max);
	}
	return scale->pgx_from +
	       (value - min) / (max - min) * (scale->pgx_to - scale->pgx_from);
}

static double point_of(const struct page_point *point, bool x)
{
	return x ? point->pgp_x : point->pgp_y;
}

/** @return false: there are no points. */
static bool extent(const struct page_plot *plot, bool x, double *ret_min,
		   double *ret_max)
{
	bool   found = false;
	bool   log = x ? plot->ppl_x.pxs_log : plot->ppl_y.pxs_log;
	size_t i;
	size_t j;

	for (i = 0; i < plot->ppl_series_nr; ++i) {
		for (j = 0; j < plot->ppl_series[i].pgs_nr; ++j) {
			double value =
				point_of(&plot->ppl_series[i].pgs_points[j], x);

			if (log && value <= 0)
				continue;
			if (!found || value < *ret_min)
				*ret_min = value;
			if (!found || value > *ret_max)
				*ret_max = value;
			found = true;
		}
	}
	return found;
}

/** Powers of 2. */
static void scale_bytes(struct scale *scale)
{
	double powers = log2_of(scale->pgx_max) - log2_of(scale->pgx_min);
	double step;

	scale->pgx_step = 2;
	for (step = 1; powers / step >= LOG_TICKS_MAX; ++step)
		scale->pgx_step *= 2;
}

/** 1, 2, 5, ... or, if those are too many, 1, 10, 100, ... */
static void scale_decimal(struct scale *scale, bool widens)
{
	double   tick;
	unsigned nr = 0;

	if (widens) {
		scale->pgx_min = round_down(scale->pgx_min);
		scale->pgx_max = round_up(scale->pgx_max);
	}
	for (tick = round_up(scale->pgx_min); tick <= scale->pgx_max;
	     tick = round_next(tick))
		++nr;
	scale->pgx_step = nr > LOG_TICKS_MAX ? 10 : 0;
}

/** From 0. @param widens  the axis ends at a number. */
static void scale_linear(struct scale *scale, bool widens)
{
	double max = scale->pgx_max > 0 ? scale->pgx_max : 1;

	scale->pgx_min = 0;
	scale->pgx_step = round_up(max / TICKS);
	scale->pgx_max = widens ? scale->pgx_step *
					  whole_up(max / scale->pgx_step)
				: max;
}

static bool scale_init(struct scale *scale, const struct page_plot *plot,
		       bool x)
{
	*scale = (struct scale){ .pgx_axis = x ? &plot->ppl_x : &plot->ppl_y };
	if (!extent(plot, x, &scale->pgx_min, &scale->pgx_max))
		return false;
	scale->pgx_from = x ? LEFT : HEIGHT - BOTTOM;
	scale->pgx_to = x ? WIDTH - RIGHT : TOP;
	if (!scale->pgx_axis->pxs_log) {
		scale_linear(scale, !x);
		return true;
	}
	if (scale->pgx_max <= scale->pgx_min || (x && plot->ppl_bars)) {
		/* Half a bar. */
		scale->pgx_min /= 1.5;
		scale->pgx_max *= 1.5;
	}
	if (scale->pgx_axis->pxs_unit == PAGE_BYTES)
		scale_bytes(scale);
	else
		scale_decimal(scale, !x);
	return true;
}

/** "1M", "20 us", "0.5". */
static void label(char ret[LABEL_BYTES], enum page_unit unit, double value)
{
	static const char *const names[][5] = {
		[PAGE_NUMBER] = { "", "k", "M", "G", "T" },
		[PAGE_BYTES] = { "", "K", "M", "G", "T" },
		[PAGE_NS] = { " ns", " us", " ms", " s", "000 s" },
	};
	double   base = unit == PAGE_BYTES ? 1024 : 1000;
	unsigned i = 0;

	/* Numbers up to 9,999 are written out. */
	if (unit != PAGE_NUMBER || value >= 1e4)
		for (; value >= base && i < 4; ++i)
			value /= base;
	snprintf(ret, LABEL_BYTES, "%.4g%s", value, names[unit][i]);
}

static double tick_first(const struct scale *scale)
{
	double power = 1;

	if (!scale->pgx_axis->pxs_log)
		return whole_up(scale->pgx_min / scale->pgx_step) *
		       scale->pgx_step;
	if (scale->pgx_axis->pxs_unit != PAGE_BYTES) {
		power = round_up(scale->pgx_min);
		while (scale->pgx_step > 0 && power10_below(power) < power)
			power = round_next(power);
		return power;
	}
	while (power < scale->pgx_min)
		power *= 2;
	return power;
}

static double tick_next(const struct scale *scale, double tick)
{
	if (!scale->pgx_axis->pxs_log)
		return tick + scale->pgx_step;
	return scale->pgx_step > 0 ? tick * scale->pgx_step : round_next(tick);
}

static void tick_x(FILE *file, double at, const char *text)
{
	fprintf(file,
		"<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" "
		"y2=\"%d\"/><text x=\"%.1f\" y=\"%d\" "
		"text-anchor=\"middle\">%s</text>\n",
		at, at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 19, text);
}

static void tick_y(FILE *file, double at, const char *text)
{
	fprintf(file,
		"<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" "
		"y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" "
		"text-anchor=\"end\">%s</text>\n",
		LEFT, WIDTH - RIGHT, at, at, LEFT - 6, at + 4, text);
}

static void ticks_print(FILE *file, const struct scale *scale, bool x)
{
	char   text[LABEL_BYTES];
	double tick;

	for (tick = tick_first(scale); tick <= scale->pgx_max * 1.0001;
	     tick = tick_next(scale, tick)) {
		label(text, scale->pgx_axis->pxs_unit, tick);
		(x ? tick_x : tick_y)(file, place(scale, tick), text);
	}
}

static void axes_print(FILE *file, const struct scale *x, const struct scale *y)
{
	ticks_print(file, y, false);
	ticks_print(file, x, true);
	fprintf(file,
		"<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n",
		LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, HEIGHT - BOTTOM);
	fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8);
	escape(file, x->pgx_axis->pxs_name);
	fprintf(file,
		"</text>\n<text transform=\"translate(14,%d) rotate(-90)\" "
		"text-anchor=\"middle\">",
		(TOP + HEIGHT - BOTTOM) / 2);
	escape(file, y->pgx_axis->pxs_name);
	fputs("</text>\n", file);
}

/* -- plots ----------------------------------------------------------------- */

static void line_print(FILE *file, const struct scale *x, const struct scale *y,
		       const struct page_series *series)
{
	size_t i;

	if (series->pgs_nr > 1) {
		fprintf(file,
			"<polyline fill=\"none\" stroke-width=\"2\" "
			"stroke=\"var(--s%zu)\" points=\"",
			series->pgs_colour);
		for (i = 0; i < series->pgs_nr; ++i)
			fprintf(file, "%.1f,%.1f ",
				place(x, series->pgs_points[i].pgp_x),
				place(y, series->pgs_points[i].pgp_y));
		fputs("\"/>\n", file);
	}
	for (i = 0; i < series->pgs_nr && series->pgs_nr <= MARKS_MAX; ++i)
		fprintf(file,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" "
			"fill=\"var(--s%zu)\"/>\n",
			place(x, series->pgs_points[i].pgp_x),
			place(y, series->pgs_points[i].pgp_y),
			series->pgs_colour);
}

static void bars_print(FILE *file, const struct scale *x, const struct scale *y,
		       const struct page_series *series)
{
	/* No bar has another within a factor of 2. */
	double width = place(x, x->pgx_min * 2) - place(x, x->pgx_min);
	size_t i;

	for (i = 0; i < series->pgs_nr; ++i) {
		double at = place(x, series->pgs_points[i].pgp_x);
		double top = place(y, series->pgs_points[i].pgp_y);

		fprintf(file,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			"height=\"%.1f\" fill=\"var(--s%zu)\"/>\n",
			at - width / 3, top, width * 2 / 3,
			HEIGHT - BOTTOM - top, series->pgs_colour);
	}
}

static void legend_print(FILE *file, const struct page_plot *plot)
{
	size_t i;

	fputs("<p class=\"legend\">", file);
	for (i = 0; i < plot->ppl_series_nr; ++i) {
		fprintf(file,
			"<span><b style=\"color:var(--s%zu)\">&#9632;</b> ",
			plot->ppl_series[i].pgs_colour);
		escape(file, plot->ppl_series[i].pgs_name);
		fputs("</span> ", file);
	}
	fputs("</p>\n", file);
}

void page_plot(FILE *file, const struct page_plot *plot)
{
	struct scale x;
	struct scale y;
	size_t       i;

	M0_PRE(plot->ppl_series_nr <= PAGE_SERIES_MAX);
	if (!scale_init(&x, plot, true) || !scale_init(&y, plot, false))
		return;
	fputs("<h2>", file);
	escape(file, plot->ppl_title);
	fprintf(file, "</h2>\n<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>",
		WIDTH, HEIGHT);
	escape(file, plot->ppl_title);
	fputs("</title>\n", file);
	axes_print(file, &x, &y);
	for (i = 0; i < plot->ppl_series_nr; ++i)
		(plot->ppl_bars ? bars_print : line_print)(
			file, &x, &y, &plot->ppl_series[i]);
	fputs("</svg>\n", file);
	if (plot->ppl_series_nr > 1)
		legend_print(file, plot);
}

void page_end(FILE *file)
{
	fputs("</body></html>\n", file);
}
