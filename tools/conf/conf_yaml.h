/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * YAML as a tree, each part with its line and column, and YAML that is printed.
 * conf_yaml.c is the one file that sees libyaml. Anchors, aliases, tags and a second document are refused,
 * and size, depth and number of parts are bounded, so a file costs what its length
 * says.
 */
#ifndef M0_TOOLS_CONF_YAML_H
#define M0_TOOLS_CONF_YAML_H

#include <stdio.h>

#include "m0/base.h"

enum {
	/** Most bytes of a file. */
	CONF_BYTES_MAX = 8 << 20,
	/** Most lists and maps within each other. */
	CONF_DEPTH_MAX = 16,
	/** Most parts of a tree. */
	CONF_NODES_MAX = 1 << 19,
	/** Most bytes of a scalar. */
	CONF_TEXT_MAX = 4096
};

/** Counted from 1, columns in characters; line 0: no place. */
struct conf_place {
	unsigned cfp_line;
	unsigned cfp_column;
};

/** The first thing that is wrong. */
struct conf_fail {
	bool              cff_set;
	struct conf_place cff_place;
	char              cff_text[1024];
};

enum conf_kind {
	CONF_SCALAR,
	CONF_LIST,
	CONF_MAP
};

struct conf_node {
	enum conf_kind    cfn_kind;
	struct conf_place cfn_place;
	/** Key of a member of a map; else NULL. */
	char             *cfn_key;
	struct conf_place cfn_key_place;
	/** Text of a scalar; else NULL. */
	char *cfn_text;
	/** Set by conf_schema_check(): which key it is, and its number. */
	unsigned          cfn_id;
	int64_t           cfn_number;
	struct conf_node *cfn_parent;
	struct conf_node *cfn_first;
	struct conf_node *cfn_last;
	struct conf_node *cfn_next;
};

/** Notes what is wrong, unless something is noted already. @return -EINVAL. */
int conf_fail_set(struct conf_fail *fail, const struct conf_place *place,
		  const char *fmt, ...) M0_PRINTF(3, 4);

/**
 * Reads one document.
 * @param ret  the tree; NULL for an empty document. The caller frees it.
 * @retval -EINVAL  and `fail` has the place.
 * @retval -ENOMEM  and `fail` says so.
 */
int  conf_yaml_parse(const char *text, size_t nr, struct conf_node **ret,
		     struct conf_fail *fail);
void conf_yaml_free(struct conf_node *tree);

/** A map that is being printed. Calls after one that failed do nothing. */
struct conf_out;

/** @return NULL: no memory. */
struct conf_out *conf_out_begin(FILE *file, int indent);
/** Ends the map. @retval -EIO, -ENOMEM  of this call or one before it. */
int conf_out_end(struct conf_out *out);

/** A key, or a value. */
void conf_out_word(struct conf_out *out, const char *text);
void conf_out_text(struct conf_out *out, const char *text, bool quoted);
/** A key and its value. */
void conf_out_pair(struct conf_out *out, const char *key, const char *value);
void conf_out_number(struct conf_out *out, const char *key, int64_t value);
/** A key, and the list that is its value. */
void conf_out_list(struct conf_out *out, const char *key);
void conf_out_list_end(struct conf_out *out);
/** A key, and the map that is its value. @param key  NULL: an item of a list. */
void conf_out_map(struct conf_out *out, const char *key);
void conf_out_map_end(struct conf_out *out);

#endif /* M0_TOOLS_CONF_YAML_H */
