/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Results as JSON or YAML. jout.c is the one file that sees jansson. A tree is
 * built, printed and freed; running out of memory on the way ends in -ENOMEM there.
 */
#ifndef M0_TOOLS_JOUT_H
#define M0_TOOLS_JOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_t;

enum {
	/** Space for why a tree cannot be read. */
	JOUT_WHY_BYTES = 200
};

/** A new tree: an object. */
struct json_t *jout_alloc(void);
void           jout_free(struct json_t *tree);

/* Members of an object. The value belongs to the tree. */

/** Bytes that are not UTF-8 become '?': file names may be anything. */
void jout_str(struct json_t *object, const char *key, const char *value);
void jout_num(struct json_t *object, const char *key, uint64_t value);
void jout_int(struct json_t *object, const char *key, int64_t value);
void jout_real(struct json_t *object, const char *key, double value);
void jout_bool(struct json_t *object, const char *key, bool value);
void jout_null(struct json_t *object, const char *key);
struct json_t *jout_object(struct json_t *object, const char *key);
struct json_t *jout_array(struct json_t *object, const char *key);

/** A new object at the end of an array. */
struct json_t *jout_append(struct json_t *array);
/** A number at the end of an array. */
void jout_append_num(struct json_t *array, uint64_t value);
/** A text at the end of an array. */
void jout_append_str(struct json_t *array, const char *value);

/** Reads a tree. @return NULL: it is not JSON, and `why` says where. */
struct json_t *jout_read(FILE *file, char why[JOUT_WHY_BYTES]);
struct json_t *jout_read_text(const char *text, char why[JOUT_WHY_BYTES]);
/* Members of an object, elements of an array; NULL or false: there is none, or it
 * has another type. */
struct json_t *jout_get(const struct json_t *object, const char *key);
const char    *jout_get_str(const struct json_t *object, const char *key);
bool jout_get_real(const struct json_t *object, const char *key, double *ret);
/** 0 if there is none. */
double         jout_get_number(const struct json_t *object, const char *key);
struct json_t *jout_at(const struct json_t *array, size_t i);

/** An array or object without members. */
bool jout_is_empty(const struct json_t *tree);

/** @retval -EIO  it could not be written, or memory was short. */
int jout_print(const struct json_t *tree, FILE *file);
/** Prints the tree in one line. */
int jout_print_line(const struct json_t *tree, FILE *file);
/* Print the tree and free it. An error stays in `file`. */
void jout_finish(struct json_t *tree, FILE *file);
void jout_finish_line(struct json_t *tree, FILE *file);
/**
 * Prints the tree as YAML, in lnetctl's form: an array stands in the column of
 * its key, and members stand `indent` columns further right (2 for the answers
 * of ping, 4 for numbers of the node, 6 for lists of interfaces and peers).
 */
int jout_print_yaml(const struct json_t *tree, unsigned indent, FILE *file);

#endif /* M0_TOOLS_JOUT_H */
