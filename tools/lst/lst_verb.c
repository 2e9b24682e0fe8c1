/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The verbs of a session, by their names. */
#include <string.h>

#include "lst.h"
#include "../base/jout.h"

static const struct verb {
	const char *vrb_name;
	int (*vrb_run)(struct lst_session *s, struct lst_args *a,
		       struct lst_out *o);
} verbs[] = {
	{ "show_session", lst_show_session },
	{ "end_session", lst_end_session },
	{ "add_group", lst_add_group },
	{ "del_group", lst_del_group },
	{ "update_group", lst_update_group },
	{ "list_group", lst_list_group },
	{ "ping", lst_ping },
	{ "add_batch", lst_add_batch },
	{ "add_test", lst_add_test },
	{ "run", lst_run },
	{ "stop", lst_stop },
	{ "query", lst_query },
	{ "list_batch", lst_list_batch },
	{ "stat", lst_stat },
	{ "show_error", lst_show_error },
};

static const struct verb *verb_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(verbs); ++i)
		if (strcmp(verbs[i].vrb_name, name) == 0)
			return &verbs[i];
	return NULL;
}

bool lst_verb_is_known(const char *verb)
{
	return verb_find(verb) != NULL || strcmp(verb, "new_session") == 0;
}

int lst_verb_run(struct lst_session *session, struct lst_args *args,
		 struct lst_out *out)
{
	const struct verb *verb = verb_find(args->lsa_verb ?: "");

	if (verb == NULL || session->lsn_ended) {
		fprintf(out->lso_err, "No session exists\n");
		return TOOL_FAILED;
	}
	return verb->vrb_run(session, args, out);
}

void lst_new_session_say(const struct lst_args *args, FILE *file)
{
	const char    *name = args->lsa_words_nr > 0 ? args->lsa_words[0]
						     : "session";
	struct json_t *tree;

	if (!args->lsa_json) {
		fprintf(file,
			"SESSION: %s FEATURES: %x TIMEOUT: %u FORCE: %s\n",
			name, M0_ST_FEAT_LEN, lst_idle_timeout(args),
			args->lsa_force ? "Yes" : "No");
		return;
	}
	tree = jout_alloc();
	jout_str(tree, "session", name);
	jout_num(tree, "timeout_s", lst_idle_timeout(args));
	jout_bool(tree, "force", args->lsa_force);
	jout_finish(tree, file);
}
