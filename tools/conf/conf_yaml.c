/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#include "conf_yaml.h"
#include "../base/text.h"

struct builder {
	struct conf_node *bld_root;
	/** The list or map whose members come. */
	struct conf_node *bld_open;
	unsigned          bld_depth;
	unsigned          bld_nodes_nr;
	unsigned          bld_documents_nr;
	/** Key whose value comes next. */
	char             *bld_key;
	struct conf_place bld_key_place;
	struct conf_fail *bld_fail;
};

int conf_fail_set(struct conf_fail *fail, const struct conf_place *place,
		  const char *fmt, ...)
{
	va_list args;

	if (fail->cff_set)
		return -EINVAL;
	fail->cff_set = true;
	fail->cff_place = *place;
	va_start(args, fmt);
	(void)vsnprintf(fail->cff_text, sizeof fail->cff_text, fmt, args);
	va_end(args);
	text_make_printable(fail->cff_text);
	return -EINVAL;
}

static struct conf_place place_of(const yaml_mark_t *mark)
{
	return (struct conf_place){ (unsigned)mark->line + 1,
				    (unsigned)mark->column + 1 };
}

/* ------------------------------------------------------------ syntax errors */

static bool is_utf8_start(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

/* The place of a byte. */
static struct conf_place place_at(const char *text, size_t offset)
{
	struct conf_place place = { 1, 1 };
	size_t            i;

	for (i = 0; i < offset; ++i) {
		if (text[i] == '\n') {
			++place.cfp_line;
			place.cfp_column = 1;
		} else if (is_utf8_start(text[i])) {
			++place.cfp_column;
		}
	}
	return place;
}

/* The byte at a place; NUL behind the end. */
static char byte_at(const char *text, size_t nr, struct conf_place place)
{
	struct conf_place at = { 1, 1 };
	size_t            i;

	for (i = 0; i < nr; ++i) {
		if (at.cfp_line == place.cfp_line &&
		    at.cfp_column == place.cfp_column)
			return text[i];
		if (text[i] == '\n') {
			++at.cfp_line;
			at.cfp_column = 1;
		} else if (i + 1 < nr && is_utf8_start(text[i + 1])) {
			++at.cfp_column;
		}
	}
	return '\0';
}

static int syntax_fail(const yaml_parser_t *parser, const char *text, size_t nr,
		       struct conf_fail *fail)
{
	const char       *problem = parser->problem ?: "not understood";
	struct conf_place place;

	if (parser->error == YAML_MEMORY_ERROR) {
		place = (struct conf_place){ 0, 0 };
		(void)conf_fail_set(fail, &place, "not enough memory");
		return -ENOMEM;
	}
	if (parser->error == YAML_READER_ERROR) {
		place = place_at(text, min64u(parser->problem_offset, nr));
		return conf_fail_set(fail, &place,
				     "%s; accepted: text in UTF-8", problem);
	}
	place = place_of(&parser->problem_mark);
	if (byte_at(text, nr, place) == '\t')
		return conf_fail_set(fail, &place,
				     "a tab is not accepted; accepted: blanks");
	return conf_fail_set(fail, &place, "not YAML: %s%s%s",
			     parser->context ?: "",
			     parser->context != NULL ? ": " : "", problem);
}

/* ----------------------------------------------------------------- the tree */

void conf_yaml_free(struct conf_node *tree)
{
	struct conf_node *child;
	struct conf_node *next;

	if (tree == NULL)
		return;
	/* Not deeper than CONF_DEPTH_MAX. */
	for (child = tree->cfn_first; child != NULL; child = next) {
		next = child->cfn_next;
		conf_yaml_free(child);
	}
	free(tree->cfn_key);
	free(tree->cfn_text);
	free(tree);
}

static int no_memory(struct builder *bld)
{
	const struct conf_place nowhere = { 0, 0 };

	(void)conf_fail_set(bld->bld_fail, &nowhere, "not enough memory");
	return -ENOMEM;
}

static struct conf_node *node_add(struct builder *bld, enum conf_kind kind,
				  struct conf_place place)
{
	struct conf_node *parent = bld->bld_open;
	struct conf_node *node = calloc(1, sizeof *node);

	if (node == NULL)
		return NULL;
	node->cfn_kind = kind;
	node->cfn_place = place;
	node->cfn_parent = parent;
	node->cfn_key = bld->bld_key;
	node->cfn_key_place = bld->bld_key != NULL ? bld->bld_key_place : place;
	bld->bld_key = NULL;
	if (parent == NULL)
		bld->bld_root = node;
	else if (parent->cfn_last == NULL)
		parent->cfn_first = node;
	else
		parent->cfn_last->cfn_next = node;
	if (parent != NULL)
		parent->cfn_last = node;
	return node;
}

/* Is a key of a map awaited? */
static bool is_key_next(const struct builder *bld)
{
	return bld->bld_open != NULL && bld->bld_open->cfn_kind == CONF_MAP &&
	       bld->bld_key == NULL;
}

static int container_begin(struct builder *bld, enum conf_kind kind,
			   struct conf_place place)
{
	struct conf_node *node;

	if (is_key_next(bld))
		return conf_fail_set(bld->bld_fail, &place,
				     "a list or a map is not accepted as a "
				     "key; accepted: a word");
	if (bld->bld_depth == CONF_DEPTH_MAX)
		return conf_fail_set(bld->bld_fail, &place,
				     "lists and maps are nested too deeply; "
				     "accepted: at most %d levels",
				     (int)CONF_DEPTH_MAX);
	node = node_add(bld, kind, place);
	if (node == NULL)
		return no_memory(bld);
	bld->bld_open = node;
	++bld->bld_depth;
	return 0;
}

static int scalar(struct builder *bld, const yaml_event_t *event,
		  struct conf_place place)
{
	const char       *value = (const char *)event->data.scalar.value;
	size_t            nr = event->data.scalar.length;
	struct conf_node *node;
	char             *text;

	if (nr > CONF_TEXT_MAX)
		return conf_fail_set(bld->bld_fail, &place,
				     "text of %zu bytes is not accepted; "
				     "accepted: at most %d",
				     nr, (int)CONF_TEXT_MAX);
	if (memchr(value, '\0', nr) != NULL)
		return conf_fail_set(bld->bld_fail, &place,
				     "text with a NUL is not accepted");
	text = strdup(value);
	if (text == NULL)
		return no_memory(bld);
	if (is_key_next(bld)) {
		bld->bld_key = text;
		bld->bld_key_place = place;
		return 0;
	}
	node = node_add(bld, CONF_SCALAR, place);
	if (node == NULL) {
		free(text);
		return no_memory(bld);
	}
	node->cfn_text = text;
	return 0;
}

/* Anchors and tags mean nothing here, and make small files large trees. */
static int marks_check(struct builder *bld, const yaml_char_t *anchor,
		       const yaml_char_t *tag, struct conf_place place)
{
	if (anchor != NULL)
		return conf_fail_set(bld->bld_fail, &place,
				     "anchor '&%.60s' is not accepted",
				     (const char *)anchor);
	if (tag != NULL)
		return conf_fail_set(bld->bld_fail, &place,
				     "tag '%.60s' is not accepted",
				     (const char *)tag);
	return 0;
}

static void container_end(struct builder *bld)
{
	bld->bld_open = bld->bld_open->cfn_parent;
	--bld->bld_depth;
}

static int take(struct builder *bld, const yaml_event_t *event)
{
	struct conf_place place = place_of(&event->start_mark);

	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		return ++bld->bld_documents_nr == 1
			       ? 0
			       : conf_fail_set(bld->bld_fail, &place,
					       "a second document is not "
					       "accepted");
	case YAML_ALIAS_EVENT:
		return conf_fail_set(bld->bld_fail, &place,
				     "alias '*%.60s' is not accepted",
				     (const char *)event->data.alias.anchor);
	case YAML_SCALAR_EVENT:
		return marks_check(bld, event->data.scalar.anchor,
				   event->data.scalar.tag, place)
			       ?: scalar(bld, event, place);
	case YAML_SEQUENCE_START_EVENT:
		return marks_check(bld, event->data.sequence_start.anchor,
				   event->data.sequence_start.tag, place)
			       ?: container_begin(bld, CONF_LIST, place);
	case YAML_MAPPING_START_EVENT:
		return marks_check(bld, event->data.mapping_start.anchor,
				   event->data.mapping_start.tag, place)
			       ?: container_begin(bld, CONF_MAP, place);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		container_end(bld);
		return 0;
	default:
		return 0;
	}
}

static int events_read(yaml_parser_t *parser, const char *text, size_t nr,
		       struct builder *bld)
{
	yaml_event_t event;
	bool         end = false;
	int          rc = 0;

	while (rc == 0 && !end) {
		if (!yaml_parser_parse(parser, &event))
			return syntax_fail(parser, text, nr, bld->bld_fail);
		end = event.type == YAML_STREAM_END_EVENT;
		rc = take(bld, &event);
		if (rc == 0 && ++bld->bld_nodes_nr > CONF_NODES_MAX) {
			struct conf_place place = place_of(&event.start_mark);

			rc = conf_fail_set(bld->bld_fail, &place,
					   "the file has too many parts; "
					   "accepted: at most %d",
					   (int)CONF_NODES_MAX);
		}
		yaml_event_delete(&event);
	}
	return rc;
}

int conf_yaml_parse(const char *text, size_t nr, struct conf_node **ret,
		    struct conf_fail *fail)
{
	const struct conf_place nowhere = { 0, 0 };
	struct builder          bld = { .bld_fail = fail };
	yaml_parser_t           parser;
	int                     rc;

	*ret = NULL;
	if (nr > CONF_BYTES_MAX)
		return conf_fail_set(fail, &nowhere,
				     "%zu bytes are not accepted; accepted: at "
				     "most %d",
				     nr, (int)CONF_BYTES_MAX);
	if (!yaml_parser_initialize(&parser))
		return no_memory(&bld);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, nr);
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	rc = events_read(&parser, text, nr, &bld);
	yaml_parser_delete(&parser);
	free(bld.bld_key);
	if (rc == 0)
		*ret = bld.bld_root;
	else
		conf_yaml_free(bld.bld_root);
	return rc;
}

/* ------------------------------------------------------------------ printing */

struct conf_out {
	yaml_emitter_t cot_emitter;
	FILE          *cot_file;
	int            cot_rc;
};

static int bytes_out(void *data, unsigned char *buffer, size_t size)
{
	struct conf_out *out = data;

	return fwrite(buffer, 1, size, out->cot_file) == size ? 1 : 0;
}

/* The emitter frees the event, whatever happens. */
static void emit(struct conf_out *out, yaml_event_t *event, int made)
{
	if (out->cot_rc != 0 || !made ||
	    !yaml_emitter_emit(&out->cot_emitter, event))
		out->cot_rc = out->cot_rc ?: (made ? -EIO : -ENOMEM);
}

void conf_out_text(struct conf_out *out, const char *text, bool quoted)
{
	yaml_event_t event;

	if (out->cot_rc != 0)
		return;
	emit(out, &event,
	     yaml_scalar_event_initialize(
		     &event, NULL, NULL, (const yaml_char_t *)text,
		     (int)strlen(text), 1, 1,
		     quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
			    : YAML_ANY_SCALAR_STYLE));
}

void conf_out_word(struct conf_out *out, const char *text)
{
	conf_out_text(out, text, false);
}

void conf_out_pair(struct conf_out *out, const char *key, const char *value)
{
	conf_out_word(out, key);
	conf_out_word(out, value);
}

void conf_out_number(struct conf_out *out, const char *key, int64_t value)
{
	char text[32];

	snprintf(text, sizeof text, "%" PRId64, value);
	conf_out_pair(out, key, text);
}

void conf_out_list(struct conf_out *out, const char *key)
{
	yaml_event_t event;

	conf_out_word(out, key);
	if (out->cot_rc != 0)
		return;
	emit(out, &event,
	     yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
						  YAML_BLOCK_SEQUENCE_STYLE));
}

void conf_out_list_end(struct conf_out *out)
{
	yaml_event_t event;

	if (out->cot_rc == 0)
		emit(out, &event, yaml_sequence_end_event_initialize(&event));
}

void conf_out_map(struct conf_out *out, const char *key)
{
	yaml_event_t event;

	if (key != NULL)
		conf_out_word(out, key);
	if (out->cot_rc != 0)
		return;
	emit(out, &event,
	     yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
						 YAML_BLOCK_MAPPING_STYLE));
}

void conf_out_map_end(struct conf_out *out)
{
	yaml_event_t event;

	if (out->cot_rc == 0)
		emit(out, &event, yaml_mapping_end_event_initialize(&event));
}

struct conf_out *conf_out_begin(FILE *file, int indent)
{
	struct conf_out *out = calloc(1, sizeof *out);
	yaml_event_t     event;

	if (out == NULL || !yaml_emitter_initialize(&out->cot_emitter)) {
		free(out);
		return NULL;
	}
	out->cot_file = file;
	yaml_emitter_set_output(&out->cot_emitter, bytes_out, out);
	yaml_emitter_set_indent(&out->cot_emitter, indent);
	yaml_emitter_set_width(&out->cot_emitter, -1);
	emit(out, &event,
	     yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
	if (out->cot_rc == 0)
		emit(out, &event,
		     yaml_document_start_event_initialize(&event, NULL, NULL,
							  NULL, 1));
	conf_out_map(out, NULL);
	return out;
}

int conf_out_end(struct conf_out *out)
{
	yaml_event_t event;
	int          rc;

	conf_out_map_end(out);
	if (out->cot_rc == 0)
		emit(out, &event,
		     yaml_document_end_event_initialize(&event, 1));
	if (out->cot_rc == 0)
		emit(out, &event, yaml_stream_end_event_initialize(&event));
	rc = out->cot_rc;
	yaml_emitter_delete(&out->cot_emitter);
	free(out);
	return rc;
}
