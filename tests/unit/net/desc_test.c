/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The bytes of descriptors, against gold and against rpcgen's decoder. */
#include <stdlib.h>

#include "dummy.h"
#include "sim/sched/heap.h"

#include <desc_xdr.h>

static const struct m0_net_kit_desc sample = {
	.nks_qtype = M0_NET_QT_PASSIVE_BULK_SEND,
	.nks_id = 0x1122334455667788,
	.nks_size = 0x0000000000abcdef,
	.nks_incarnation = 0xa1a2a3a4a5a6a7a8,
	.nks_passive = { 6, { 127, 0, 0, 1, 0x1b, 0x58 } },
	.nks_active = { 5, { 1, 2, 3, 4, 5 } },
};

/* All but the checksum, which is the last four bytes. */
static const uint8_t golden[] = {
	0x4d, 0x30, 0x00, 0x01, 0x00, 0x00, 0x00, 0x03, 0x11, 0x22, 0x33, 0x44,
	0x55, 0x66, 0x77, 0x88, 0x00, 0x00, 0x00, 0x00, 0x00, 0xab, 0xcd, 0xef,
	0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0x00, 0x00, 0x00, 0x06,
	127,  0,    0,    1,    0x1b, 0x58, 0,    0,    0x00, 0x00, 0x00, 0x05,
	1,    2,    3,    4,    5,    0,    0,    0,
};

static bool desc_eq(const struct m0_net_kit_desc *a,
		    const struct m0_net_kit_desc *b)
{
	return a->nks_qtype == b->nks_qtype && a->nks_id == b->nks_id &&
	       a->nks_size == b->nks_size &&
	       a->nks_incarnation == b->nks_incarnation &&
	       m0_net_kit_addr_eq(&a->nks_passive, &b->nks_passive) &&
	       m0_net_kit_addr_eq(&a->nks_active, &b->nks_active);
}

/* CRC-32C by its definition, bit by bit. */
static uint32_t crc_slow(const uint8_t *p, size_t nr)
{
	uint32_t crc = ~0u;
	int      k;

	while (nr-- > 0) {
		crc ^= *p++;
		for (k = 0; k < 8; ++k)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* The format is for ever: these bytes. */
static void encode_golden_bytes(void **state)
{
	struct m0_net_buf_desc d;

	(void)state;
	assert_int_equal(m0_net_kit_desc_encode(&sample, &d), 0);
	assert_int_equal(d.nbd_len, sizeof golden + 4);
	assert_memory_equal(d.nbd_data, golden, sizeof golden);
	assert_int_equal(be32(d.nbd_data + sizeof golden),
			 crc_slow(golden, sizeof golden));
	m0_net_desc_free(&d);
}

static struct m0_net_kit_desc random_desc(uint64_t *seed)
{
	struct m0_net_kit_desc d = {
		.nks_qtype = M0_NET_QT_PASSIVE_BULK_RECV +
			     (uint32_t)m0_rnd(2, seed),
		.nks_id = m0_rnd64(seed),
		.nks_size = 1 + m0_rnd(1ULL << 40, seed),
		.nks_incarnation = m0_rnd64(seed),
	};
	uint32_t i;

	d.nks_passive.nka_len = 1 + (uint32_t)m0_rnd(M0_NET_KIT_ADDR_MAX, seed);
	d.nks_active.nka_len = (uint32_t)m0_rnd(M0_NET_KIT_ADDR_MAX + 1, seed);
	for (i = 0; i < d.nks_passive.nka_len; ++i)
		d.nks_passive.nka_bytes[i] = (uint8_t)m0_rnd(256, seed);
	for (i = 0; i < d.nks_active.nka_len; ++i)
		d.nks_active.nka_bytes[i] = (uint8_t)m0_rnd(256, seed);
	return d;
}

/* Decoding inverts encoding, within the bound and without an allocation. */
static void round_trip_random_equal(void **state)
{
	uint64_t       seed = 7;
	struct m0_heap heap;
	int            i;

	(void)state;
	for (i = 0; i < 2000; ++i) {
		struct m0_net_kit_desc in = random_desc(&seed);
		struct m0_net_kit_desc out;
		struct m0_net_buf_desc d;

		if (i == 1)
			m0_heap_init(&heap);
		assert_int_equal(m0_net_kit_desc_encode(&in, &d), 0);
		assert_true(d.nbd_len <= M0_NET_KIT_DESC_MAX);
		assert_int_equal(m0_net_kit_desc_decode(&d, &out), 0);
		assert_true(desc_eq(&in, &out));
		m0_net_desc_free(&d);
		assert_null(d.nbd_data);
	}
	assert_int_equal(m0_heap_allocs_nr(&heap), 0);
	m0_heap_fini(&heap);
}

/* Every bit that is flipped is noticed. */
static void decode_bit_flipped_refused(void **state)
{
	struct m0_net_kit_desc out;
	struct m0_net_buf_desc d;
	uint32_t               bit;

	(void)state;
	assert_int_equal(m0_net_kit_desc_encode(&sample, &d), 0);
	for (bit = 0; bit < d.nbd_len * 8; ++bit) {
		d.nbd_data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(m0_net_kit_desc_decode(&d, &out), -EINVAL);
		d.nbd_data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(m0_net_kit_desc_decode(&d, &out), 0);
	m0_net_desc_free(&d);
}

/* Cut anywhere, or longer: refused. Memory beyond is not read (ASan). */
static void decode_other_length_refused(void **state)
{
	struct m0_net_kit_desc out;
	struct m0_net_buf_desc d, cut;

	(void)state;
	assert_int_equal(m0_net_kit_desc_encode(&sample, &d), 0);
	for (cut.nbd_len = 0; cut.nbd_len < d.nbd_len; ++cut.nbd_len) {
		cut.nbd_data = malloc(cut.nbd_len + 1);
		memcpy(cut.nbd_data, d.nbd_data, cut.nbd_len);
		cut.nbd_data = realloc(cut.nbd_data, cut.nbd_len ?: 1);
		assert_int_equal(m0_net_kit_desc_decode(&cut, &out), -EINVAL);
		free(cut.nbd_data);
	}
	m0_net_desc_free(&d);
}

static void crc_again(struct m0_net_buf_desc *d)
{
	uint32_t crc = crc_slow(d->nbd_data, d->nbd_len - 4);
	int      i;

	for (i = 0; i < 4; ++i)
		d->nbd_data[d->nbd_len - 4 + (uint32_t)i] =
			(uint8_t)(crc >> (24 - 8 * i));
}

/* The checksum is right, a field is not. */
static void decode_bad_field_refused(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t  value;
	} bad[] = {
		{ 3, 2 }, /* version */
		{ 7, M0_NET_QT_MSG_RECV },
		{ 7, M0_NET_QT_MSG_SEND },
		{ 7, M0_NET_QT_ACTIVE_BULK_RECV },
		{ 7, 99 },
		{ 4, 1 },
		{ 35, 65 },
		{ 35, 0 },
		{ 32, 0x80 },
		{ 47, 65 },
		{ 44, 0xff },
	};
	struct m0_net_kit_desc out;
	struct m0_net_buf_desc d;
	size_t                 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); ++i) {
		assert_int_equal(m0_net_kit_desc_encode(&sample, &d), 0);
		d.nbd_data[bad[i].at] = bad[i].value;
		crc_again(&d);
		if (m0_net_kit_desc_decode(&d, &out) != -EINVAL)
			fail_msg("byte %u as %u is accepted", bad[i].at,
				 bad[i].value);
		m0_net_desc_free(&d);
	}
}

/* rpcgen's decoder of desc.x reads the same values out of the bytes. */
static void xdr_decoder_agrees(void **state)
{
	uint64_t seed = 11;
	int      i;

	(void)state;
	for (i = 0; i < 500; ++i) {
		struct m0_net_kit_desc in = random_desc(&seed);
		struct m0_net_buf_desc d;
		m0_net_desc_xdr        x;
		XDR                    xdr;

		memset(&x, 0, sizeof x);
		assert_int_equal(m0_net_kit_desc_encode(&in, &d), 0);
		xdrmem_create(&xdr, (char *)d.nbd_data, d.nbd_len, XDR_DECODE);
		assert_true(xdr_m0_net_desc_xdr(&xdr, &x));
		assert_int_equal(xdr_getpos(&xdr), d.nbd_len);
		assert_int_equal(x.nds_version, M0_NET_DESC_VERSION);
		assert_int_equal(x.nds_qtype, in.nks_qtype);
		assert_true(x.nds_id == in.nks_id);
		assert_true(x.nds_size == in.nks_size);
		assert_true(x.nds_incarnation == in.nks_incarnation);
		assert_int_equal(x.nds_passive.nds_passive_len,
				 in.nks_passive.nka_len);
		assert_memory_equal(x.nds_passive.nds_passive_val,
				    in.nks_passive.nka_bytes,
				    in.nks_passive.nka_len);
		assert_int_equal(x.nds_active.nds_active_len,
				 in.nks_active.nka_len);
		assert_int_equal(x.nds_crc, be32(d.nbd_data + d.nbd_len - 4));
		xdr_free((xdrproc_t)xdr_m0_net_desc_xdr, (char *)&x);
		xdr_destroy(&xdr);
		m0_net_desc_free(&d);
	}
}

/* And its encoder makes the bytes that ours makes. */
static void xdr_encoder_agrees(void **state)
{
	char                   bytes[256];
	struct m0_net_buf_desc d;
	m0_net_desc_xdr        x = {
		       .nds_version = M0_NET_DESC_VERSION,
		       .nds_qtype = sample.nks_qtype,
		       .nds_id = sample.nks_id,
		       .nds_size = sample.nks_size,
		       .nds_incarnation = sample.nks_incarnation,
		       .nds_passive = { 6, (char *)sample.nks_passive.nka_bytes },
		       .nds_active = { 5, (char *)sample.nks_active.nka_bytes },
		       .nds_crc = crc_slow(golden, sizeof golden),
	};
	XDR xdr;

	(void)state;
	xdrmem_create(&xdr, bytes, sizeof bytes, XDR_ENCODE);
	assert_true(xdr_m0_net_desc_xdr(&xdr, &x));
	assert_int_equal(m0_net_kit_desc_encode(&sample, &d), 0);
	assert_int_equal(xdr_getpos(&xdr), d.nbd_len);
	assert_memory_equal(bytes, d.nbd_data, d.nbd_len);
	xdr_destroy(&xdr);
	m0_net_desc_free(&d);
}

/* Memory that the application filled in itself is freed all the same. */
static void free_foreign_memory_freed(void **state)
{
	struct m0_net_buf_desc d = { 900, m0_alloc(900) };
	struct m0_net_buf_desc copy = { 0, NULL };

	(void)state;
	assert_int_equal(m0_net_desc_copy(&d, &copy), 0);
	m0_net_desc_free(&d);
	m0_net_desc_free(&copy);
	m0_net_desc_free(&copy);
	assert_null(copy.nbd_data);
}

static int net_up(void **state)
{
	(void)state;
	return m0_net_init();
}

static int net_down(void **state)
{
	(void)state;
	return m0_net_fini();
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, net_up, net_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(encode_golden_bytes),
		CASE(round_trip_random_equal),
		CASE(decode_bit_flipped_refused),
		CASE(decode_other_length_refused),
		CASE(decode_bad_field_refused),
		CASE(xdr_decoder_agrees),
		CASE(xdr_encoder_agrees),
		CASE(free_foreign_memory_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
