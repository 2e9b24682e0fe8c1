/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The area: its numbers, where its parts lie, and how each side opens it.
 */
#include <stdio.h>

#include "ring/shared.h"

_Static_assert(sizeof(struct m0_shared_head) <= M0_SHARED_WORDS_AT,
	       "the words follow the head");
_Static_assert(sizeof(struct m0_shared_head) % sizeof(uint64_t) == 0,
	       "the head is copied by words");
_Static_assert(sizeof(struct m0_shared_head) == 112,
	       "a change raises M0_SHARED_VERSION");
_Static_assert(sizeof(struct m0_shared_words) == 8 * M0_SHARED_LINE_BYTES,
	       "a change raises M0_SHARED_VERSION");
_Static_assert(sizeof(struct m0_shared_eq) == 2 * M0_SHARED_LINE_BYTES,
	       "each side writes lines of its own");

/* --------------------------------------------------------------- reasons -- */

int m0_shared_refuse(struct m0_shared_why *why, int rc, const char *field,
		     uint64_t value, uint64_t min, uint64_t max)
{
	M0_PRE(rc < 0 && field != NULL);
	if (why != NULL)
		*why = (struct m0_shared_why){ .shy_field = field,
					       .shy_value = value,
					       .shy_min = min,
					       .shy_max = max };
	return rc;
}

int m0_shared_refuse_signed(struct m0_shared_why *why, int rc,
			    const char *field, int64_t value, int64_t min,
			    int64_t max)
{
	(void)m0_shared_refuse(why, rc, field, (uint64_t)value, (uint64_t)min,
			       (uint64_t)max);
	if (why != NULL)
		why->shy_is_signed = true;
	return rc;
}

int m0_shared_refuse_as(struct m0_shared_why *why, int rc, const char *field,
			uint64_t value, const char *words)
{
	M0_PRE(words != NULL);
	(void)m0_shared_refuse(why, rc, field, value, 0, 0);
	if (why != NULL)
		why->shy_words = words;
	return rc;
}

char *m0_shared_why_print(const struct m0_shared_why *why, char *buf,
			  size_t size)
{
	if (why->shy_field == NULL)
		(void)snprintf(buf, size, "nothing is wrong");
	else if (why->shy_words != NULL)
		(void)snprintf(buf, size, "%s %" PRIu64 ": %s", why->shy_field,
			       why->shy_value, why->shy_words);
	else if (why->shy_is_signed)
		(void)snprintf(buf, size,
			       "%s %" PRId64 ": %" PRId64 " to %" PRId64
			       " is accepted",
			       why->shy_field, (int64_t)why->shy_value,
			       (int64_t)why->shy_min, (int64_t)why->shy_max);
	else
		(void)snprintf(buf, size,
			       "%s %" PRIu64 ": %" PRIu64 " to %" PRIu64
			       " is accepted",
			       why->shy_field, why->shy_value, why->shy_min,
			       why->shy_max);
	return buf;
}

/* --------------------------------------------------------- configuration -- */

struct number {
	const char *num_name;
	uint32_t    num_value;
	uint32_t    num_min;
	uint32_t    num_max;
	/** The value is a multiple of this number; 0: a power of two. */
	uint32_t num_step;
};

static int number_check(const struct number *num, struct m0_shared_why *why)
{
	uint32_t value = num->num_value;

	if (value < num->num_min || value > num->num_max)
		return m0_shared_refuse(why, -EINVAL, num->num_name, value,
					num->num_min, num->num_max);
	if (num->num_step == 0 && (value & (value - 1)) != 0)
		return m0_shared_refuse_as(why, -EINVAL, num->num_name, value,
					   "a power of two is accepted");
	if (num->num_step != 0 && value % num->num_step != 0)
		return m0_shared_refuse_as(why, -EINVAL, num->num_name, value,
					   "a multiple of 64 is accepted");
	return 0;
}

int m0_shared_cfg_check(const struct m0_shared_cfg *cfg,
			struct m0_shared_why       *why)
{
	const struct number numbers[] = {
		{ "down_nr", cfg->shc_down_nr, M0_SHARED_ENTRIES_MIN,
		  M0_SHARED_ENTRIES_MAX, 0 },
		{ "up_nr", cfg->shc_up_nr, M0_SHARED_ENTRIES_MIN,
		  M0_SHARED_ENTRIES_MAX, 0 },
		{ "reserved_nr", cfg->shc_reserved_nr, 8, M0_SHARED_ENTRIES_MAX,
		  1 },
		{ "incoming_nr", cfg->shc_incoming_nr, 1, M0_SHARED_ENTRIES_MAX,
		  1 },
		{ "portals_nr", cfg->shc_portals_nr, 2, M0_SHARED_PORTALS_MAX,
		  1 },
		{ "mes_max", cfg->shc_mes_max, 1, M0_SHARED_OBJECTS_MAX, 1 },
		{ "mds_max", cfg->shc_mds_max, 1, M0_SHARED_OBJECTS_MAX, 1 },
		{ "ops_max", cfg->shc_ops_max, 1, M0_SHARED_OBJECTS_MAX, 1 },
		{ "eqs_max", cfg->shc_eqs_max, 1, M0_SHARED_EQS_MAX, 1 },
		{ "regions_max", cfg->shc_regions_max, 1, M0_SHARED_OBJECTS_MAX,
		  1 },
		{ "controls_nr", cfg->shc_controls_nr, 1,
		  M0_SHARED_CONTROLS_MAX, 1 },
		{ "control_bytes", cfg->shc_control_bytes, 64,
		  M0_SHARED_CONTROL_BYTES_MAX, 64 },
	};
	unsigned i;
	int      rc = 0;

	for (i = 0; rc == 0 && i < ARRAY_SIZE(numbers); ++i)
		rc = number_check(&numbers[i], why);
	if (rc == 0 &&
	    cfg->shc_reserved_nr + cfg->shc_incoming_nr > cfg->shc_up_nr)
		return m0_shared_refuse_as(
			why, -EINVAL, "reserved_nr", cfg->shc_reserved_nr,
			"with incoming_nr it is at most up_nr");
	return rc;
}

/* Sets the numbers that follow from the configuration. */
static void head_fill(struct m0_shared_head      *head,
		      const struct m0_shared_cfg *cfg)
{
	*head = (struct m0_shared_head){
		.shd_magic = M0_SHARED_MAGIC,
		.shd_version = M0_SHARED_VERSION,
		.shd_head_bytes = sizeof *head,
		.shd_down_bytes = M0_SHARED_DOWN_BYTES,
		.shd_up_bytes = M0_SHARED_UP_BYTES,
		.shd_cfg = *cfg,
	};
	head->shd_down_at = M0_SHARED_WORDS_AT + sizeof(struct m0_shared_words);
	head->shd_up_at = head->shd_down_at +
			  (uint64_t)cfg->shc_down_nr * M0_SHARED_DOWN_BYTES;
	head->shd_eqs_at = head->shd_up_at +
			   (uint64_t)cfg->shc_up_nr * M0_SHARED_UP_BYTES;
	head->shd_controls_at = head->shd_eqs_at +
				(uint64_t)cfg->shc_eqs_max *
					sizeof(struct m0_shared_eq);
	head->shd_bytes = head->shd_controls_at +
			  (uint64_t)cfg->shc_controls_nr *
				  cfg->shc_control_bytes;
}

uint64_t m0_shared_bytes(const struct m0_shared_cfg *cfg)
{
	struct m0_shared_head head;

	M0_PRE(m0_shared_cfg_check(cfg, NULL) == 0);
	head_fill(&head, cfg);
	return head.shd_bytes;
}

/* ------------------------------------------------------------- both sides -- */

static void out_init(struct m0_shared_out *out, char *entries,
		     struct m0_shared_line *put, struct m0_shared_line *taken,
		     uint32_t nr, uint32_t bytes)
{
	*out = (struct m0_shared_out){ .sot_entries = entries,
				       .sot_put = &put->shl_word,
				       .sot_taken = &taken->shl_word,
				       .sot_nr = nr,
				       .sot_bytes = bytes };
}

static void in_init(struct m0_shared_in *in, const char *entries,
		    struct m0_shared_line *put, struct m0_shared_line *taken,
		    uint32_t nr, uint32_t bytes)
{
	*in = (struct m0_shared_in){ .shi_entries = entries,
				     .shi_put = &put->shl_word,
				     .shi_taken = &taken->shl_word,
				     .shi_nr = nr,
				     .shi_bytes = bytes };
}

static void ends_init(struct m0_shared_side       *side,
		      const struct m0_shared_head *head)
{
	const struct m0_shared_cfg *cfg = &side->shs_cfg;
	struct m0_shared_words     *words = side->shs_words;
	char                       *down = side->shs_area + head->shd_down_at;
	char                       *up = side->shs_area + head->shd_up_at;

	if (side->shs_role == M0_SHARED_CLIENT) {
		out_init(&side->shs_out, down, &words->shw_down_put,
			 &words->shw_down_taken, cfg->shc_down_nr,
			 M0_SHARED_DOWN_BYTES);
		in_init(&side->shs_in, up, &words->shw_up_put,
			&words->shw_up_taken, cfg->shc_up_nr,
			M0_SHARED_UP_BYTES);
		side->shs_sleeps = &words->shw_client_sleeps.shl_word;
		side->shs_other_sleeps = &words->shw_server_sleeps.shl_word;
	} else {
		out_init(&side->shs_out, up, &words->shw_up_put,
			 &words->shw_up_taken, cfg->shc_up_nr,
			 M0_SHARED_UP_BYTES);
		in_init(&side->shs_in, down, &words->shw_down_put,
			&words->shw_down_taken, cfg->shc_down_nr,
			M0_SHARED_DOWN_BYTES);
		side->shs_sleeps = &words->shw_server_sleeps.shl_word;
		side->shs_other_sleeps = &words->shw_client_sleeps.shl_word;
	}
}

static void side_init(struct m0_shared_side *side, enum m0_shared_role role,
		      void *area, const struct m0_shared_head *head,
		      const struct m0_shared_host *host, void *arg)
{
	M0_PRE(host != NULL);
	M0_SET0(side);
	side->shs_role = role;
	side->shs_host = host;
	side->shs_host_arg = arg;
	side->shs_cfg = head->shd_cfg;
	side->shs_area = area;
	side->shs_words =
		(struct m0_shared_words *)(void *)(side->shs_area +
						   M0_SHARED_WORDS_AT);
	side->shs_eqs = (struct m0_shared_eq *)(void *)(side->shs_area +
							head->shd_eqs_at);
	side->shs_controls = side->shs_area + head->shd_controls_at;
	ends_init(side, head);
}

int m0_shared_make(struct m0_shared_side *side, void *area, uint64_t bytes,
		   const struct m0_shared_cfg  *cfg,
		   const struct m0_shared_host *host, void *arg,
		   struct m0_shared_why *why)
{
	struct m0_shared_head head;
	int                   rc = m0_shared_cfg_check(cfg, why);

	M0_PRE((uintptr_t)area % M0_SHARED_LINE_BYTES == 0);
	if (rc != 0)
		return rc;
	head_fill(&head, cfg);
	if (bytes < head.shd_bytes)
		return m0_shared_refuse(why, -EINVAL, "bytes", bytes,
					head.shd_bytes, UINT64_MAX);
	memcpy(area, &head, sizeof head);
	side_init(side, M0_SHARED_SERVER, area, &head, host, arg);
	return 0;
}

/* `got` is a copy of what a server has written. */
static int head_check(const struct m0_shared_head *got, uint64_t bytes,
		      struct m0_shared_why *why)
{
	struct m0_shared_head want;
	int                   rc;

	if (got->shd_magic != M0_SHARED_MAGIC)
		return m0_shared_refuse_as(why, -EPROTO, "magic",
					   got->shd_magic,
					   "this is no area of a node, or one "
					   "of another byte order");
	if (got->shd_version != M0_SHARED_VERSION)
		return m0_shared_refuse(why, -EPROTO, "version",
					got->shd_version, M0_SHARED_VERSION,
					M0_SHARED_VERSION);
	rc = m0_shared_cfg_check(&got->shd_cfg, why);
	if (rc != 0)
		return -EPROTO;
	head_fill(&want, &got->shd_cfg);
	if (got->shd_bytes != want.shd_bytes || got->shd_bytes > bytes)
		return m0_shared_refuse(why, -EPROTO, "bytes", got->shd_bytes,
					want.shd_bytes,
					min64u(want.shd_bytes, bytes));
	want.shd_bytes = got->shd_bytes;
	/* All other numbers follow from these. */
	if (memcmp(got, &want, sizeof want) != 0)
		return m0_shared_refuse_as(
			why, -EPROTO, "head_bytes", got->shd_head_bytes,
			"the sizes and offsets do not follow from the "
			"configuration");
	return 0;
}

int m0_shared_join(struct m0_shared_side *side, void *area, uint64_t bytes,
		   const struct m0_shared_host *host, void *arg,
		   struct m0_shared_why *why)
{
	struct m0_shared_head head;
	int                   rc;

	M0_PRE((uintptr_t)area % M0_SHARED_LINE_BYTES == 0);
	if (bytes < M0_SHARED_WORDS_AT)
		return m0_shared_refuse(why, -EPROTO, "bytes", bytes,
					M0_SHARED_WORDS_AT, UINT64_MAX);
	m0_shared_copy(&head, area, sizeof head);
	rc = head_check(&head, bytes, why);
	if (rc == 0)
		side_init(side, M0_SHARED_CLIENT, area, &head, host, arg);
	return rc;
}
