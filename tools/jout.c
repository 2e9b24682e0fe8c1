/* SPDX-License-Identifier: Apache-2.0 */
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

int jout_print(const struct json_t *tree, FILE *file)
{
	const size_t flags = JSON_INDENT(2) | JSON_PRESERVE_ORDER |
			     JSON_REAL_PRECISION(9);

	if (tree == NULL || json_dumpf(tree, file, flags) != 0 ||
	    fputc('\n', file) == EOF)
		return -EIO;
	return 0;
}
