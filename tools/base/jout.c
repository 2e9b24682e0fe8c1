/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <jansson.h>

#include "m0/base.h"
#include "jout.h"

struct json_t *jout_alloc(void)
{
	return json_object();
}

void jout_free(struct json_t *tree)
{
	json_decref(tree);
}

/* Not UTF-8: what is not ASCII is replaced. */
static json_t *string_plain(const char *value)
{
	char   *copy = strdup(value);
	json_t *ret;
	char   *c;

	if (copy == NULL)
		return NULL;
	for (c = copy; *c != '\0'; ++c) {
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	}
	ret = json_string(copy);
	free(copy);
	return ret;
}

void jout_str(struct json_t *object, const char *key, const char *value)
{
	json_t *string = json_string(value);

	if (string == NULL)
		string = string_plain(value);
	(void)json_object_set_new(object, key, string);
}

void jout_num(struct json_t *object, const char *key, uint64_t value)
{
	(void)json_object_set_new(object, key, json_integer((json_int_t)value));
}

void jout_int(struct json_t *object, const char *key, int64_t value)
{
	(void)json_object_set_new(object, key, json_integer(value));
}

void jout_real(struct json_t *object, const char *key, double value)
{
	(void)json_object_set_new(object, key, json_real(value));
}

void jout_bool(struct json_t *object, const char *key, bool value)
{
	(void)json_object_set_new(object, key, json_boolean(value));
}

void jout_null(struct json_t *object, const char *key)
{
	(void)json_object_set_new(object, key, json_null());
}

struct json_t *jout_object(struct json_t *object, const char *key)
{
	json_t *member = json_object();

	return json_object_set_new(object, key, member) == 0 ? member : NULL;
}

struct json_t *jout_array(struct json_t *object, const char *key)
{
	json_t *member = json_array();

	return json_object_set_new(object, key, member) == 0 ? member : NULL;
}

struct json_t *jout_append(struct json_t *array)
{
	json_t *element = json_object();

	return json_array_append_new(array, element) == 0 ? element : NULL;
}

void jout_append_num(struct json_t *array, uint64_t value)
{
	(void)json_array_append_new(array, json_integer((json_int_t)value));
}

void jout_append_str(struct json_t *array, const char *value)
{
	(void)json_array_append_new(array, json_string(value));
}

static struct json_t *tree_read(struct json_t *tree, const json_error_t *error,
				char why[JOUT_WHY_BYTES])
{
	if (tree == NULL)
		snprintf(why, JOUT_WHY_BYTES, "line %d: %.160s", error->line,
			 error->text);
	return tree;
}

struct json_t *jout_read(FILE *file, char why[JOUT_WHY_BYTES])
{
	json_error_t error;
	json_t      *tree = json_loadf(file, 0, &error);

	return tree_read(tree, &error, why);
}

struct json_t *jout_read_text(const char *text, char why[JOUT_WHY_BYTES])
{
	json_error_t error;
	json_t      *tree = json_loads(text, 0, &error);

	return tree_read(tree, &error, why);
}

struct json_t *jout_get(const struct json_t *object, const char *key)
{
	return json_object_get(object, key);
}

const char *jout_get_str(const struct json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

bool jout_get_real(const struct json_t *object, const char *key, double *ret)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_number(value))
		return false;
	*ret = json_number_value(value);
	return true;
}

double jout_get_number(const struct json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

struct json_t *jout_at(const struct json_t *array, size_t i)
{
	return json_array_get(array, i);
}

bool jout_is_empty(const struct json_t *tree)
{
	return json_array_size(tree) == 0 && json_object_size(tree) == 0;
}

static int print(const struct json_t *tree, size_t flags, FILE *file)
{
	flags |= JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9);
	if (tree == NULL || json_dumpf(tree, file, flags) != 0 ||
	    fputc('\n', file) == EOF)
		return -EIO;
	return 0;
}

int jout_print(const struct json_t *tree, FILE *file)
{
	return print(tree, JSON_INDENT(2), file);
}

int jout_print_line(const struct json_t *tree, FILE *file)
{
	return print(tree, JSON_COMPACT, file);
}

void jout_finish(struct json_t *tree, FILE *file)
{
	(void)jout_print(tree, file);
	jout_free(tree);
}

void jout_finish_line(struct json_t *tree, FILE *file)
{
	(void)jout_print_line(tree, file);
	jout_free(tree);
}

/* ------------------------------------------------------------------ YAML -- */

struct yaml {
	FILE    *ya_file;
	unsigned ya_indent;
};

/* Would a reader take it for something else than a string? */
static bool is_ambiguous(const char *text)
{
	static const char *const words[] = {
		"true", "false", "yes", "no", "on", "off", "null", "y", "n", "~"
	};
	char  *end;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); ++i) {
		if (strcasecmp(text, words[i]) == 0)
			return true;
	}
	(void)strtod(text, &end);
	return *end == '\0';
}

static bool is_printable(const char *text)
{
	for (; *text != '\0'; ++text) {
		if (*text < 0x20 || *text > 0x7e)
			return false;
	}
	return true;
}

/* A colon or hash that would end a plain string. */
static bool is_cut(const char *text)
{
	size_t len = strlen(text);

	return strstr(text, ": ") != NULL || strstr(text, " #") != NULL ||
	       (len > 0 && (text[len - 1] == ':' || text[len - 1] == ' '));
}

/*
 * Quotes only where they are needed, as lnetctl has them: single ones with the
 * mark of a string around a sentence with a colon; else double ones.
 */
static void yaml_string(struct yaml *yaml, const json_t *value)
{
	const char *text = json_string_value(value);
	bool        word = strchr("/._:<(", text[0]) != NULL ||
		    (text[0] & 0x80) != 0 ||
		    (text[0] >= '0' && text[0] <= '9') ||
		    ((text[0] | 0x20) >= 'a' && (text[0] | 0x20) <= 'z');
	const char *c;

	if (text[0] == '\0' || !word || !is_printable(text) ||
	    is_ambiguous(text)) {
		(void)json_dumpf(value, yaml->ya_file, JSON_ENCODE_ANY);
	} else if (is_cut(text)) {
		fputs("! '", yaml->ya_file);
		for (c = text; *c != '\0'; ++c)
			fputs(*c == '\'' ? "''" : (char[]){ *c, '\0' },
			      yaml->ya_file);
		fputc('\'', yaml->ya_file);
	} else {
		fputs(text, yaml->ya_file);
	}
}

static void yaml_scalar(struct yaml *yaml, const json_t *value)
{
	if (json_is_string(value))
		yaml_string(yaml, value);
	else
		(void)json_dumpf(value, yaml->ya_file,
				 JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
	fputc('\n', yaml->ya_file);
}

static bool yaml_is_block(const json_t *value)
{
	return (json_is_object(value) || json_is_array(value)) &&
	       !jout_is_empty(value);
}

/* In a sequence, the first line is in its column already. */
static void yaml_object(struct yaml *yaml, const json_t *object,
			unsigned column, bool begun);

static void yaml_array(struct yaml *yaml, const json_t *array, unsigned column)
{
	unsigned inner = yaml->ya_indent;
	size_t   i;

	for (i = 0; i < json_array_size(array); ++i) {
		const json_t *value = json_array_get(array, i);

		fprintf(yaml->ya_file, "%*s-%*s", (int)column, "",
			(int)inner - 1, "");
		if (json_is_object(value) && yaml_is_block(value))
			yaml_object(yaml, value, column + inner, true);
		else
			yaml_scalar(yaml, value);
	}
}

static void yaml_object(struct yaml *yaml, const json_t *object,
			unsigned column, bool begun)
{
	const char *key;
	json_t     *value;

	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		bool empty = json_is_null(value) || yaml_is_block(value);

		fprintf(yaml->ya_file, "%*s%s:%s", begun ? 0 : (int)column, "",
			key, empty ? "\n" : " ");
		begun = false;
		if (json_is_null(value))
			continue;
		if (!yaml_is_block(value))
			yaml_scalar(yaml, value);
		else if (json_is_array(value))
			yaml_array(yaml, value, column);
		else
			yaml_object(yaml, value, column + yaml->ya_indent,
				    false);
	}
}

int jout_print_yaml(const struct json_t *tree, unsigned indent, FILE *file)
{
	struct yaml yaml = { .ya_file = file, .ya_indent = indent };

	M0_PRE(indent >= 2);
	if (tree == NULL)
		return -EIO;
	yaml_object(&yaml, tree, 0, false);
	return ferror(file) ? -EIO : 0;
}
