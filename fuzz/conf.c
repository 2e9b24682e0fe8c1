/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Configuration files, YAML or of modprobe.d. What is accepted is printed, and what is
 * printed says the same. */
#include <stdio.h>

#include "../tools/conf/conf_diff.h"
#include "lib/fuzz.h"

static char *printed(const struct conf_model *model, size_t *nr)
{
	char *text = NULL;
	FILE *file = open_memstream(&text, nr);

	M0_ASSERT(file != NULL);
	M0_ASSERT(conf_print(model, true, file) == 0);
	M0_ASSERT(fclose(file) == 0);
	return text;
}

static void again(const struct conf_model *model)
{
	static const struct conf_locals locals;
	struct conf_fail                fail = { .cff_set = false };
	struct conf_model               other;
	struct conf_plan                plan;
	size_t                          nr;
	size_t                          other_nr;
	char                           *text = printed(model, &nr);
	char                           *other_text;

	M0_ASSERT(conf_read(&other, text, nr, &locals, &fail) == 0);
	other_text = printed(&other, &other_nr);
	M0_ASSERT(nr == other_nr && memcmp(text, other_text, nr) == 0);
	if (conf_plan_make(&plan, &other, model, &other, &fail) == 0)
		conf_plan_fini(&plan);
	conf_model_fini(&other);
	free(text);
	free(other_text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct conf_locals locals;
	struct conf_fail                fail = { .cff_set = false };
	struct conf_model               model;
	int                             rc;

	rc = conf_read(&model, (const char *)data, size, &locals, &fail);
	M0_ASSERT(rc == 0 || (rc == -EINVAL && fail.cff_set));
	if (rc == 0)
		again(&model);
	conf_model_fini(&model);
	return 0;
}
