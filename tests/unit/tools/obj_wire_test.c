/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/base.h"

#include "../../../tools/object/obj_wire.h"

enum {
	ROOM = 4096,
	TRIES = 200000
};

static const struct obj_req request = {
	.orq_flags = OBJ_FORCE,
	.orq_mode = 0640,
	.orq_id = "0123456789abcde",
	.orq_sum = "abcdefghijklmno",
	.orq_offset = 1ULL << 40,
	.orq_count = OBJ_BLOCK,
	.orq_mtime_ns = 12345,
	.orq_name = "name",
	.orq_name_nr = 4,
	.orq_after = "after",
	.orq_after_nr = 5,
	.orq_data = "data!!",
	.orq_data_nr = 6,
};

static size_t request_encode(uint8_t bytes[ROOM])
{
	struct obj_req req = request;
	size_t         nr;

	req.orq_desc.bdd_used = 77;
	req.orq_desc.bdd_desc.nbd_len = 3;
	req.orq_desc.bdd_desc.nbd_data = (uint8_t *)(uintptr_t) "xyz";
	nr = obj_req_size(&req);
	assert_true(nr <= ROOM);
	assert_int_equal(obj_req_encode(&req, bytes), nr);
	return nr;
}

/* Every field of a request comes back. */
static void request_encoded_is_decoded(void **state)
{
	uint8_t        bytes[ROOM];
	struct obj_req got;
	size_t         nr = request_encode(bytes);

	(void)state;
	assert_int_equal(obj_req_decode(&got, bytes, nr), 0);
	assert_int_equal(got.orq_flags, request.orq_flags);
	assert_int_equal(got.orq_mode, request.orq_mode);
	assert_memory_equal(got.orq_id, request.orq_id, OBJ_ID_BYTES);
	assert_memory_equal(got.orq_sum, request.orq_sum, HASH_BYTES);
	assert_true(got.orq_offset == request.orq_offset);
	assert_true(got.orq_count == request.orq_count);
	assert_true(got.orq_mtime_ns == request.orq_mtime_ns);
	assert_int_equal(got.orq_name_nr, 4);
	assert_memory_equal(got.orq_name, "name", 4);
	assert_int_equal(got.orq_after_nr, 5);
	assert_memory_equal(got.orq_after, "after", 5);
	assert_int_equal(got.orq_data_nr, 6);
	assert_memory_equal(got.orq_data, "data!!", 6);
	assert_int_equal(got.orq_desc.bdd_used, 77);
	assert_int_equal(got.orq_desc.bdd_desc.nbd_len, 3);
	assert_memory_equal(got.orq_desc.bdd_desc.nbd_data, "xyz", 3);
}

/* A body that is cut, at any byte, or longer than it says, is none. */
static void request_of_another_length_is_refused(void **state)
{
	uint8_t        bytes[ROOM];
	struct obj_req got;
	size_t         nr = request_encode(bytes);
	size_t         i;

	(void)state;
	for (i = 0; i < nr; ++i)
		assert_int_equal(obj_req_decode(&got, bytes, i), -EPROTO);
	assert_int_equal(obj_req_decode(&got, bytes, nr + 8), -EPROTO);
}

/* A newer version is told from noise. */
static void request_of_another_version_is_told(void **state)
{
	uint8_t        bytes[ROOM];
	struct obj_req got;
	size_t         nr = request_encode(bytes);

	(void)state;
	bytes[2] = 2;
	assert_int_equal(obj_req_decode(&got, bytes, nr), -EPROTONOSUPPORT);
	bytes[0] ^= 1;
	assert_int_equal(obj_req_decode(&got, bytes, nr), -EPROTO);
}

/* Pointers of a decoded request lie within its bytes, whatever these are. */
static void request_damaged_stays_within_its_bytes(void **state)
{
	uint8_t        good[ROOM];
	uint8_t        bytes[ROOM];
	struct obj_req got;
	size_t         nr = request_encode(good);
	uint64_t       seed = 1;
	int            i;

	(void)state;
	for (i = 0; i < TRIES; ++i) {
		memcpy(bytes, good, nr);
		bytes[m0_rnd(nr, &seed)] = (uint8_t)m0_rnd(256, &seed);
		bytes[m0_rnd(OBJ_HEAD_BYTES, &seed)] =
			(uint8_t)m0_rnd(256, &seed);
		if (obj_req_decode(&got, bytes, nr) != 0)
			continue;
		assert_true((uint8_t *)got.orq_name >= bytes);
		assert_true((uint8_t *)got.orq_data + got.orq_data_nr +
				    got.orq_desc.bdd_desc.nbd_len <=
			    bytes + nr);
	}
}

/* Decoding inverts the encoding of a reply, with the same bounds. */
static void reply_encoded_is_decoded(void **state)
{
	const struct obj_rep rep = {
		.orp_flags = OBJ_INLINE,
		.orp_mode = 0600,
		.orp_size = 4,
		.orp_mtime_ns = 99,
		.orp_source = "source",
		.orp_name = "n",
		.orp_name_nr = 1,
		.orp_data = "data",
		.orp_data_nr = 4,
	};
	uint8_t        bytes[ROOM];
	struct obj_rep got;
	size_t         nr = obj_rep_encode(&rep, bytes);
	size_t         i;

	(void)state;
	assert_int_equal(nr, obj_rep_size(&rep));
	assert_int_equal(obj_rep_decode(&got, bytes, nr), 0);
	assert_int_equal(got.orp_flags, OBJ_INLINE);
	assert_int_equal(got.orp_mode, 0600);
	assert_true(got.orp_size == 4 && got.orp_mtime_ns == 99);
	assert_memory_equal(got.orp_source, "source", 7);
	assert_memory_equal(got.orp_name, "n", 1);
	assert_memory_equal(got.orp_data, "data", 4);
	for (i = 0; i < nr; ++i)
		assert_int_equal(obj_rep_decode(&got, bytes, i), -EPROTO);
}

/* The sum of one block is the object's; of more it is that of the sums. */
static void sum_of_blocks_is_made_of_theirs(void **state)
{
	uint8_t sums[2 * HASH_BYTES] = "0123456789abcdefghijklmnopqrstu";
	uint8_t sum[HASH_BYTES];
	uint8_t want[HASH_BYTES];

	(void)state;
	obj_sum_of(sums, 1, sum);
	assert_memory_equal(sum, sums, HASH_BYTES);
	obj_sum_of(sums, 2, sum);
	hash_bytes(sums, sizeof sums, want);
	assert_memory_equal(sum, want, HASH_BYTES);
	assert_int_equal(obj_blocks_nr(0), 0);
	assert_int_equal(obj_blocks_nr(1), 1);
	assert_int_equal(obj_blocks_nr(OBJ_BLOCK), 1);
	assert_int_equal(obj_blocks_nr(OBJ_BLOCK + 1), 2);
	assert_int_equal(obj_block_bytes(OBJ_BLOCK + 5, OBJ_BLOCK), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_encoded_is_decoded),
		cmocka_unit_test(request_of_another_length_is_refused),
		cmocka_unit_test(request_of_another_version_is_told),
		cmocka_unit_test(request_damaged_stays_within_its_bytes),
		cmocka_unit_test(reply_encoded_is_decoded),
		cmocka_unit_test(sum_of_blocks_is_made_of_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
