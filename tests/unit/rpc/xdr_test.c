/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An item type whose bodies are XDR, by rpcgen's functions: the example of
 * docs/rpc.md, whole. Between two machines, and against bodies that are none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <place_xdr.h>

#include "m0/mem.h"
#include "m0/rpc.h"

enum {
	OP_PLACE = 70,
	BODY_MAX = 1024
};

struct place_item {
	struct m0_rpc_item pi_item;
	struct place       pi_place;
	struct m0_ref      pi_ref;
	/** Out of a decoder: XDR has allocated what the place points to. */
	bool pi_decoded;
};

/* ---------------------------------------------------------------- the type -- */

static struct place_item *place_item_of(const struct m0_rpc_item *item)
{
	return container_of((struct m0_rpc_item *)(uintptr_t)item,
			    struct place_item, pi_item);
}

static struct place *place_of(const struct m0_rpc_item *item)
{
	return &place_item_of(item)->pi_place;
}

static m0_bcount_t place_size(const struct m0_rpc_item *item)
{
	return xdr_sizeof((xdrproc_t)xdr_place, place_of(item));
}

static int place_encode(const struct m0_rpc_item *item, void *bytes,
			m0_bcount_t nr)
{
	XDR xdr;

	xdrmem_create(&xdr, bytes, (unsigned)nr, XDR_ENCODE);
	return xdr_place(&xdr, place_of(item)) ? 0 : -EINVAL;
}

static void place_release(struct m0_ref *ref)
{
	struct place_item *pi = container_of(ref, struct place_item, pi_ref);

	m0_rpc_item_fini(&pi->pi_item);
	if (pi->pi_decoded)
		xdr_free((xdrproc_t)xdr_place, (char *)&pi->pi_place);
	m0_free(pi);
}

static int place_decode(const struct m0_rpc_item_type *type,
			struct m0_rpc_item **ret_item, const void *bytes,
			m0_bcount_t nr)
{
	struct place_item *pi = m0_alloc(sizeof *pi);
	XDR                xdr;

	if (pi == NULL)
		return -ENOMEM;
	xdrmem_create(&xdr, (char *)(uintptr_t)bytes, (unsigned)nr, XDR_DECODE);
	/* The encoder has left behind what it could not finish, and so it must
	 * end. */
	if (!xdr_place(&xdr, &pi->pi_place) || xdr_getpos(&xdr) != nr) {
		xdr_free((xdrproc_t)xdr_place, (char *)&pi->pi_place);
		m0_free(pi);
		return -EPROTO;
	}
	pi->pi_decoded = true;
	m0_ref_init(&pi->pi_ref, 1, place_release);
	m0_rpc_item_init(&pi->pi_item, type);
	*ret_item = &pi->pi_item;
	return 0;
}

static void place_get(struct m0_rpc_item *item)
{
	m0_ref_get(&place_item_of(item)->pi_ref);
}

static void place_put(struct m0_rpc_item *item)
{
	m0_ref_put(&place_item_of(item)->pi_ref);
}

/* Answers whether the place is the one that the test asked about. */
static void place_deliver(struct m0_rpc_machine *machine,
			  struct m0_rpc_item    *item)
{
	const struct place *at = place_of(item);

	(void)machine;
	m0_rpc_reply_rc(item,
			at->pl_fid == 77 && strcmp(at->pl_name, "here") == 0 &&
					at->pl_stripes.pl_stripes_len == 3
				? -EEXIST
				: -ENOENT);
}

static const struct m0_rpc_item_type_ops place_ops = {
	.rito_payload_size = place_size,
	.rito_encode = place_encode,
	.rito_decode = place_decode,
	.rito_item_get = place_get,
	.rito_item_put = place_put,
	.rito_deliver = place_deliver
};

static struct m0_rpc_item_type place_type = { .rit_opcode = OP_PLACE,
					      .rit_ops = &place_ops,
					      .rit_flags =
						      M0_RPC_ITEM_TYPE_REQUEST,
					      .rit_name = "place" };

static struct place_item *place_new(char *name, unsigned *stripes)
{
	struct place_item *pi = m0_alloc(sizeof *pi);

	assert_non_null(pi);
	pi->pi_place = (struct place){ .pl_fid = 77,
				       .pl_mode = -1,
				       .pl_name = name,
				       .pl_stripes = { 3, stripes } };
	m0_ref_init(&pi->pi_ref, 1, place_release);
	m0_rpc_item_init(&pi->pi_item, &place_type);
	return pi;
}

/* ------------------------------------------------------------------- cases -- */

/* An encoded body is decoded, and no part of it is taken for the whole. */
static void body_encoded_decodes_whole(void **state)
{
	char                name[] = "here";
	unsigned            stripes[] = { 1, 2, 3 };
	struct place_item  *pi = place_new(name, stripes);
	m0_bcount_t         nr = place_size(&pi->pi_item);
	struct m0_rpc_item *got;
	char                bytes[BODY_MAX];
	m0_bcount_t         i;

	(void)state;
	assert_int_equal(nr, 8 + 4 + 8 + 16);
	assert_int_equal(place_encode(&pi->pi_item, bytes, nr), 0);
	assert_int_equal(place_encode(&pi->pi_item, bytes, nr - 4), -EINVAL);
	assert_int_equal(place_encode(&pi->pi_item, bytes, nr), 0);
	assert_int_equal(place_decode(&place_type, &got, bytes, nr), 0);
	assert_string_equal(place_of(got)->pl_name, "here");
	assert_int_equal(place_of(got)->pl_stripes.pl_stripes_val[2], 3);
	place_put(got);
	for (i = 0; i < nr; ++i)
		assert_int_equal(place_decode(&place_type, &got, bytes, i),
				 -EPROTO);
	assert_int_equal(place_decode(&place_type, &got, bytes, nr + 4),
			 -EPROTO);
	/* Longer than the language allows. */
	memset(bytes + 12, 0x7f, 4);
	assert_int_equal(place_decode(&place_type, &got, bytes, nr), -EPROTO);
	place_put(&pi->pi_item);
}

/* The body travels between machines as any item does. */
static void body_posted_arrives(void **state)
{
	static struct m0_net_domain  dom[2];
	static struct m0_rpc_machine machine[2];
	struct m0_uint128            none = { 0 };
	struct m0_rpc_conn           conn = { 0 };
	struct m0_rpc_session        session = { 0 };
	char                         name[] = "here";
	unsigned                     stripes[] = { 1, 2, 3 };
	struct place_item           *pi = place_new(name, stripes);
	int                          i;

	(void)state;
	assert_int_equal(m0_net_init(), 0);
	assert_int_equal(m0_rpc_item_type_register(&place_type), 0);
	for (i = 0; i < 2; ++i) {
		assert_int_equal(
			m0_net_domain_init(&dom[i], &m0_net_bulk_mem_xprt), 0);
		assert_int_equal(
			m0_rpc_machine_init(&machine[i], &dom[i], NULL, NULL,
					    NULL, M0_BUFFER_ANY_COLOUR, 0, 0),
			0);
	}
	assert_int_equal(m0_rpc_conn_create(&conn, none,
					    m0_rpc_machine_addr(&machine[0]),
					    &machine[1], 0, M0_TIME_NEVER),
			 0);
	assert_int_equal(m0_rpc_session_create(&session, &conn, M0_TIME_NEVER),
			 0);
	pi->pi_item.ri_session = &session;
	assert_int_equal(m0_rpc_post_sync(&pi->pi_item), -EEXIST);
	place_put(&pi->pi_item);
	assert_int_equal(m0_rpc_session_destroy(&session, M0_TIME_NEVER), 0);
	assert_int_equal(m0_rpc_conn_destroy(&conn, M0_TIME_NEVER), 0);
	for (i = 1; i >= 0; --i) {
		m0_rpc_machine_fini(&machine[i]);
		assert_int_equal(m0_net_domain_fini(&dom[i]), 0);
	}
	m0_rpc_item_type_deregister(&place_type);
	assert_int_equal(m0_net_fini(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(body_encoded_decodes_whole),
		cmocka_unit_test(body_posted_arrives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
