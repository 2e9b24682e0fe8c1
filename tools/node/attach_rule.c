/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Rules of the policy: [user=NAME:|group=NAME:][portals=RANGES:][tms=RANGES:][copies=on|off].
 * A list that is not given admits all numbers.
 */
#include <stdio.h>
#include <string.h>

#include "attach_rule.h"
#include "lnet_opts.h"
#include "../base/text.h"

#define OPTION "--attach-rule"

enum {
	TEXT_BYTES = 512,
	PORTAL_MAX = 65535,
	TMID_MAX = 4095
};

static bool number_parse(const char *text, uint64_t max, uint32_t *ret)
{
	uint64_t nr;

	if (text_number_parse(text, &nr) != 0 || nr > max)
		return false;
	*ret = (uint32_t)nr;
	return true;
}

/* "7" or "30-34". Changes the text. */
static bool range_parse(char *text, uint64_t max,
			struct m0_lnet_daemon_range *ret)
{
	char *dash = strchr(text, '-');

	if (dash != NULL)
		*dash = '\0';
	return number_parse(text, max, &ret->ldg_first) &&
	       number_parse(dash == NULL ? text : dash + 1, max,
			    &ret->ldg_last) &&
	       ret->ldg_first <= ret->ldg_last;
}

/* @return how many ranges the list has; 0: it is not accepted. */
static unsigned ranges_parse(char *text, uint64_t max,
			     struct m0_lnet_daemon_range *ret)
{
	unsigned nr = 0;
	char    *next;

	for (; text != NULL; text = next) {
		next = strchr(text, ',');
		if (next != NULL)
			*next++ = '\0';
		if (nr == M0_LNET_DAEMON_RANGES_MAX ||
		    !range_parse(text, max, &ret[nr]))
			return 0;
		++nr;
	}
	return nr;
}

static void bad_value(struct attach_opts *opts, const char *word,
		      const char *value, const char *accepted)
{
	tool_fail_set(opts->ato_fail, TOOL_USAGE,
		      OPTION ": '%s' of %s is not accepted; accepted: %s",
		      value, word, accepted);
}

static void who_set(struct attach_opts *opts, struct m0_lnet_daemon_rule *rule,
		    const char *value, bool is_user)
{
	bool ok = is_user ? attach_user_parse(value, &rule->ldr_id)
			  : tool_group_parse(value, &rule->ldr_id);

	if (rule->ldr_who != M0_LNET_DAEMON_ANYBODY)
		bad_value(opts, is_user ? "user" : "group", value,
			  "one user or one group in a rule");
	if (!ok)
		bad_value(opts, is_user ? "user" : "group", value,
			  is_user ? "the name or number of a user"
				  : "the name or number of a group");
	rule->ldr_who = is_user ? M0_LNET_DAEMON_USER : M0_LNET_DAEMON_GROUP;
}

static void ranges_set(struct attach_opts *opts, const char *word, char *value,
		       uint64_t max, struct m0_lnet_daemon_range *ranges,
		       unsigned *nr)
{
	char shown[TEXT_BYTES];
	char accepted[128];

	(void)snprintf(shown, sizeof shown, "%s", value);
	(void)snprintf(accepted, sizeof accepted,
		       "up to %d numbers or ranges of 0 to %llu, separated by "
		       "commas, as 30-34; or none",
		       M0_LNET_DAEMON_RANGES_MAX, (unsigned long long)max);
	*nr = 0;
	if (strcmp(value, "none") == 0)
		return;
	*nr = ranges_parse(value, max, ranges);
	if (*nr == 0)
		bad_value(opts, word, shown, accepted);
}

static void copies_set(struct attach_opts         *opts,
		       struct m0_lnet_daemon_rule *rule, const char *value)
{
	rule->ldr_no_copies = strcmp(value, "off") == 0;
	if (!rule->ldr_no_copies && strcmp(value, "on") != 0)
		bad_value(opts, "copies", value, "on, off");
}

static void part_set(struct attach_opts *opts, struct m0_lnet_daemon_rule *rule,
		     char *part)
{
	char *value = strchr(part, '=');

	if (value != NULL)
		*value++ = '\0';
	if (value == NULL || *value == '\0')
		bad_value(opts, "RULE", part,
			  "user=NAME, group=NAME, portals=RANGES, tms=RANGES, "
			  "copies=on|off, separated by colons");
	else if (strcmp(part, "user") == 0)
		who_set(opts, rule, value, true);
	else if (strcmp(part, "group") == 0)
		who_set(opts, rule, value, false);
	else if (strcmp(part, "portals") == 0)
		ranges_set(opts, part, value, PORTAL_MAX, rule->ldr_portals,
			   &rule->ldr_portals_nr);
	else if (strcmp(part, "tms") == 0)
		ranges_set(opts, part, value, TMID_MAX, rule->ldr_tmids,
			   &rule->ldr_tmids_nr);
	else if (strcmp(part, "copies") == 0)
		copies_set(opts, rule, value);
	else
		bad_value(opts, "RULE", part,
			  "user, group, portals, tms, copies");
}

void attach_rule_option(struct attach_opts *opts, const char *text)
{
	struct m0_lnet_daemon_cfg *cfg = &opts->ato_cfg;
	struct m0_lnet_daemon_rule rule = {
		.ldr_portals = { { 0, PORTAL_MAX } },
		.ldr_portals_nr = 1,
		.ldr_tmids = { { 0, TMID_MAX } },
		.ldr_tmids_nr = 1,
	};
	char  copy[TEXT_BYTES];
	char *part = copy;
	char *next;

	if (strlen(text) >= sizeof copy ||
	    cfg->ldc_rules_nr == M0_LNET_DAEMON_RULES_MAX) {
		tool_bad_value(opts->ato_fail, OPTION, text,
			       "at most 16 rules of at most 511 bytes");
		return;
	}
	(void)snprintf(copy, sizeof copy, "%s", text);
	for (; part != NULL; part = next) {
		next = strchr(part, ':');
		if (next != NULL)
			*next++ = '\0';
		part_set(opts, &rule, part);
	}
	cfg->ldc_rules[cfg->ldc_rules_nr++] = rule;
}
