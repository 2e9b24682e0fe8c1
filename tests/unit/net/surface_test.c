/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The interface that code was written for, name by name: each member of each
 * structure with its type, each constant, each function with its signature. What
 * differs from the reference is a superset (int for void) and is marked. Most of
 * it is checked by compiling; the values of constants when it runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <net/net.h>
#include <net/buffer_pool.h>
#include <net/bulk_mem.h>
#include <net/lnet/lnet.h>

/* A type may be an array or a function pointer: hence the brackets. */
#define MEMBER(str, member, ...)                                      \
	_Static_assert(__builtin_types_compatible_p(                  \
			       __typeof__(((struct str *)0)->member), \
			       __typeof__(__VA_ARGS__)),              \
		       #str "." #member)

/* -------------------------------------------------------------- members -- */

MEMBER(m0_net_xprt, nx_name, const char *);
MEMBER(m0_net_xprt, nx_ops, const struct m0_net_xprt_ops *);

MEMBER(m0_net_xprt_ops, xo_dom_init,
       int (*)(const struct m0_net_xprt *, struct m0_net_domain *));
MEMBER(m0_net_xprt_ops, xo_dom_fini, void (*)(struct m0_net_domain *));
MEMBER(m0_net_xprt_ops, xo_tm_init, int (*)(struct m0_net_transfer_mc *));
MEMBER(m0_net_xprt_ops, xo_tm_confine,
       int (*)(struct m0_net_transfer_mc *, const struct m0_bitmap *));
MEMBER(m0_net_xprt_ops, xo_tm_start,
       int (*)(struct m0_net_transfer_mc *, const char *));
MEMBER(m0_net_xprt_ops, xo_tm_stop, int (*)(struct m0_net_transfer_mc *, bool));
MEMBER(m0_net_xprt_ops, xo_tm_fini, void (*)(struct m0_net_transfer_mc *));
MEMBER(m0_net_xprt_ops, xo_end_point_create,
       int (*)(struct m0_net_end_point **, struct m0_net_transfer_mc *,
	       const char *));
MEMBER(m0_net_xprt_ops, xo_buf_register, int (*)(struct m0_net_buffer *));
MEMBER(m0_net_xprt_ops, xo_buf_deregister, void (*)(struct m0_net_buffer *));
MEMBER(m0_net_xprt_ops, xo_buf_add, int (*)(struct m0_net_buffer *));
MEMBER(m0_net_xprt_ops, xo_buf_del, void (*)(struct m0_net_buffer *));
MEMBER(m0_net_xprt_ops, xo_bev_deliver_sync,
       int (*)(struct m0_net_transfer_mc *));
MEMBER(m0_net_xprt_ops, xo_bev_deliver_all,
       void (*)(struct m0_net_transfer_mc *));
MEMBER(m0_net_xprt_ops, xo_bev_pending, bool (*)(struct m0_net_transfer_mc *));
MEMBER(m0_net_xprt_ops, xo_bev_notify,
       void (*)(struct m0_net_transfer_mc *, struct m0_chan *));
MEMBER(m0_net_xprt_ops, xo_get_max_buffer_size,
       m0_bcount_t (*)(const struct m0_net_domain *));
MEMBER(m0_net_xprt_ops, xo_get_max_buffer_segment_size,
       m0_bcount_t (*)(const struct m0_net_domain *));
MEMBER(m0_net_xprt_ops, xo_get_max_buffer_segments,
       int32_t (*)(const struct m0_net_domain *));
MEMBER(m0_net_xprt_ops, xo_get_max_buffer_desc_size,
       m0_bcount_t (*)(const struct m0_net_domain *));
MEMBER(m0_net_xprt_ops, xo_rpc_max_seg_size,
       m0_bcount_t (*)(struct m0_net_domain *));
MEMBER(m0_net_xprt_ops, xo_rpc_max_segs_nr,
       uint32_t (*)(struct m0_net_domain *));
MEMBER(m0_net_xprt_ops, xo_rpc_max_msg_size,
       m0_bcount_t (*)(struct m0_net_domain *, m0_bcount_t));
MEMBER(m0_net_xprt_ops, xo_rpc_max_recv_msgs,
       uint32_t (*)(struct m0_net_domain *, m0_bcount_t));

MEMBER(m0_net_domain, nd_mutex, struct m0_mutex);
MEMBER(m0_net_domain, nd_registered_bufs, struct m0_list);
MEMBER(m0_net_domain, nd_tms, struct m0_list);
MEMBER(m0_net_domain, nd_xprt_private, void *);
MEMBER(m0_net_domain, nd_xprt, const struct m0_net_xprt *);
MEMBER(m0_net_domain, nd_app_linkage, struct m0_tlink);
MEMBER(m0_net_domain, nd_get_max_buffer_segments, uint32_t);
MEMBER(m0_net_domain, nd_get_max_buffer_segment_size, m0_bcount_t);
MEMBER(m0_net_domain, nd_get_max_buffer_size, m0_bcount_t);
MEMBER(m0_net_domain, nd_get_max_buffer_desc_size, m0_bcount_t);
MEMBER(m0_net_domain, nd_magix, uint64_t);

MEMBER(m0_net_end_point, nep_magix, uint64_t);
MEMBER(m0_net_end_point, nep_ref, struct m0_ref);
MEMBER(m0_net_end_point, nep_tm, struct m0_net_transfer_mc *);
MEMBER(m0_net_end_point, nep_tm_linkage, struct m0_tlink);
MEMBER(m0_net_end_point, nep_addr, const char *);
MEMBER(m0_net_end_point, nep_xprt_pvt, void *);

MEMBER(m0_net_tm_callbacks, ntc_event_cb,
       void (*)(const struct m0_net_tm_event *));

MEMBER(m0_net_tm_event, nte_type, enum m0_net_tm_ev_type);
MEMBER(m0_net_tm_event, nte_tm, struct m0_net_transfer_mc *);
MEMBER(m0_net_tm_event, nte_time, m0_time_t);
MEMBER(m0_net_tm_event, nte_status, int32_t);
MEMBER(m0_net_tm_event, nte_next_state, enum m0_net_tm_state);
MEMBER(m0_net_tm_event, nte_ep, struct m0_net_end_point *);
MEMBER(m0_net_tm_event, nte_payload, void *);

MEMBER(m0_net_qstats, nqs_num_adds, uint64_t);
MEMBER(m0_net_qstats, nqs_num_dels, uint64_t);
MEMBER(m0_net_qstats, nqs_num_s_events, uint64_t);
MEMBER(m0_net_qstats, nqs_num_f_events, uint64_t);
MEMBER(m0_net_qstats, nqs_time_in_queue, m0_time_t);
MEMBER(m0_net_qstats, nqs_total_bytes, uint64_t);
MEMBER(m0_net_qstats, nqs_max_bytes, uint64_t);

MEMBER(m0_net_transfer_mc, ntm_callbacks, const struct m0_net_tm_callbacks *);
MEMBER(m0_net_transfer_mc, ntm_state, enum m0_net_tm_state);
MEMBER(m0_net_transfer_mc, ntm_group, struct m0_sm_group);
MEMBER(m0_net_transfer_mc, ntm_mutex, struct m0_mutex);
MEMBER(m0_net_transfer_mc, ntm_callback_counter, uint32_t);
MEMBER(m0_net_transfer_mc, ntm_dom, struct m0_net_domain *);
MEMBER(m0_net_transfer_mc, ntm_end_points, struct m0_tl);
MEMBER(m0_net_transfer_mc, ntm_ep, struct m0_net_end_point *);
MEMBER(m0_net_transfer_mc, ntm_chan, struct m0_chan);
MEMBER(m0_net_transfer_mc, ntm_q, struct m0_tl[M0_NET_QT_NR]);
MEMBER(m0_net_transfer_mc, ntm_qstats, struct m0_net_qstats[M0_NET_QT_NR]);
MEMBER(m0_net_transfer_mc, ntm_dom_linkage, struct m0_list_link);
MEMBER(m0_net_transfer_mc, ntm_xprt_private, void *);
MEMBER(m0_net_transfer_mc, ntm_bev_auto_deliver, bool);
MEMBER(m0_net_transfer_mc, ntm_recv_pool, struct m0_net_buffer_pool *);
MEMBER(m0_net_transfer_mc, ntm_recv_pool_callbacks,
       const struct m0_net_buffer_callbacks *);
MEMBER(m0_net_transfer_mc, ntm_recv_queue_min_length, uint32_t);
MEMBER(m0_net_transfer_mc, ntm_recv_queue_deficit, struct m0_atomic64);
MEMBER(m0_net_transfer_mc, ntm_pool_colour, uint32_t);
MEMBER(m0_net_transfer_mc, ntm_recv_queue_min_recv_size, m0_bcount_t);
MEMBER(m0_net_transfer_mc, ntm_recv_queue_max_recv_msgs, uint32_t);

MEMBER(m0_net_buffer_callbacks, nbc_cb, m0_net_buffer_cb_proc_t[M0_NET_QT_NR]);

MEMBER(m0_net_buffer_event, nbe_buffer, struct m0_net_buffer *);
MEMBER(m0_net_buffer_event, nbe_time, m0_time_t);
MEMBER(m0_net_buffer_event, nbe_status, int32_t);
MEMBER(m0_net_buffer_event, nbe_length, m0_bcount_t);
MEMBER(m0_net_buffer_event, nbe_offset, m0_bindex_t);
MEMBER(m0_net_buffer_event, nbe_ep, struct m0_net_end_point *);

MEMBER(m0_net_buf_desc, nbd_len, uint32_t);
MEMBER(m0_net_buf_desc, nbd_data, uint8_t *);
MEMBER(m0_net_buf_desc_data, bdd_desc, struct m0_net_buf_desc);
MEMBER(m0_net_buf_desc_data, bdd_used, uint64_t);

MEMBER(m0_net_buffer, nb_buffer, struct m0_bufvec);
MEMBER(m0_net_buffer, nb_length, m0_bcount_t);
MEMBER(m0_net_buffer, nb_offset, m0_bindex_t);
MEMBER(m0_net_buffer, nb_dom, struct m0_net_domain *);
MEMBER(m0_net_buffer, nb_tm, struct m0_net_transfer_mc *);
MEMBER(m0_net_buffer, nb_qtype, enum m0_net_queue_type);
MEMBER(m0_net_buffer, nb_callbacks, const struct m0_net_buffer_callbacks *);
MEMBER(m0_net_buffer, nb_timeout, m0_time_t);
MEMBER(m0_net_buffer, nb_add_time, m0_time_t);
MEMBER(m0_net_buffer, nb_desc, struct m0_net_buf_desc);
MEMBER(m0_net_buffer, nb_ep, struct m0_net_end_point *);
MEMBER(m0_net_buffer, nb_tm_linkage, struct m0_tlink);
MEMBER(m0_net_buffer, nb_lru, struct m0_tlink);
MEMBER(m0_net_buffer, nb_extern_linkage, struct m0_tlink);
MEMBER(m0_net_buffer, nb_magic, uint64_t);
MEMBER(m0_net_buffer, nb_dom_linkage, struct m0_list_link);
MEMBER(m0_net_buffer, nb_xprt_private, void *);
MEMBER(m0_net_buffer, nb_app_private, void *);
MEMBER(m0_net_buffer, nb_flags, uint64_t);
MEMBER(m0_net_buffer, nb_min_receive_size, m0_bcount_t);
MEMBER(m0_net_buffer, nb_max_receive_msgs, uint32_t);
MEMBER(m0_net_buffer, nb_pool, struct m0_net_buffer_pool *);
MEMBER(m0_net_buffer, nb_msgs_received, uint32_t);

MEMBER(m0_net_buffer_pool_ops, nbpo_not_empty,
       void (*)(struct m0_net_buffer_pool *));
MEMBER(m0_net_buffer_pool_ops, nbpo_below_threshold,
       void (*)(struct m0_net_buffer_pool *));

MEMBER(m0_net_buffer_pool, nbp_free, uint32_t);
MEMBER(m0_net_buffer_pool, nbp_threshold, uint32_t);
MEMBER(m0_net_buffer_pool, nbp_seg_nr, uint32_t);
MEMBER(m0_net_buffer_pool, nbp_buf_nr, uint32_t);
MEMBER(m0_net_buffer_pool, nbp_seg_size, m0_bcount_t);
MEMBER(m0_net_buffer_pool, nbp_mutex, struct m0_mutex);
MEMBER(m0_net_buffer_pool, nbp_ndom, struct m0_net_domain *);
MEMBER(m0_net_buffer_pool, nbp_ops, const struct m0_net_buffer_pool_ops *);
MEMBER(m0_net_buffer_pool, nbp_colours_nr, uint32_t);
MEMBER(m0_net_buffer_pool, nbp_colours, struct m0_tl *);
MEMBER(m0_net_buffer_pool, nbp_align, unsigned);
MEMBER(m0_net_buffer_pool, nbp_dont_dump, bool);
MEMBER(m0_net_buffer_pool, nbp_lru, struct m0_tl);

/* ------------------------------------------------------------ functions -- */

/* Each is given to a pointer of the signature it had. */
#define CALL(name, ret, ...) \
	static ret (*const sig_##name)(__VA_ARGS__) __attribute__((used)) = name

/* void in the reference: int, with -EBUSY for its assertions. */
CALL(m0_net_init, int, void);
CALL(m0_net_fini, int, void);
CALL(m0_net_xprt_init, int, const struct m0_net_xprt *);
CALL(m0_net_xprt_fini, int, const struct m0_net_xprt *);
CALL(m0_net_domain_fini, int, struct m0_net_domain *);
CALL(m0_net_end_point_get, int, struct m0_net_end_point *);
CALL(m0_net_end_point_put, int, struct m0_net_end_point *);
CALL(m0_net_tm_fini, int, struct m0_net_transfer_mc *);
CALL(m0_net_tm_pool_length_set, int, struct m0_net_transfer_mc *, uint32_t);
CALL(m0_net_buffer_deregister, int, struct m0_net_buffer *,
     struct m0_net_domain *);
CALL(m0_net_buffer_pool_fini, int, struct m0_net_buffer_pool *);

CALL(m0_net_xprt_register, void, const struct m0_net_xprt *);
CALL(m0_net_xprt_deregister, void, const struct m0_net_xprt *);
CALL(m0_net_xprt_default_set, void, const struct m0_net_xprt *);
CALL(m0_net_xprt_default_get, const struct m0_net_xprt *, void);
CALL(m0_net_all_xprt_get, struct m0_net_xprt **, void);
CALL(m0_net_xprt_nr, int, void);
CALL(m0_net_check_xprt, bool, const struct m0_net_xprt *);
CALL(m0_net_print_xprt, void, void);

CALL(m0_net_domain_init, int, struct m0_net_domain *,
     const struct m0_net_xprt *);
CALL(m0_net_domain_get_max_buffer_size, m0_bcount_t, struct m0_net_domain *);
CALL(m0_net_domain_get_max_buffer_segment_size, m0_bcount_t,
     struct m0_net_domain *);
CALL(m0_net_domain_get_max_buffer_segments, int32_t, struct m0_net_domain *);
CALL(m0_net_domain_get_max_buffer_desc_size, m0_bcount_t,
     struct m0_net_domain *);

CALL(m0_net_end_point_create, int, struct m0_net_end_point **,
     struct m0_net_transfer_mc *, const char *);
CALL(m0_net_endpoint_is_valid, bool, const char *);

CALL(m0_net_tm_init, int, struct m0_net_transfer_mc *, struct m0_net_domain *);
CALL(m0_net_tm_start, int, struct m0_net_transfer_mc *, const char *);
CALL(m0_net_tm_stop, int, struct m0_net_transfer_mc *, bool);
CALL(m0_net_tm_event_post, void, const struct m0_net_tm_event *);
CALL(m0_net_tm_stats_get, int, struct m0_net_transfer_mc *,
     enum m0_net_queue_type, struct m0_net_qstats *, bool);
CALL(m0_net_tm_confine, int, struct m0_net_transfer_mc *,
     const struct m0_bitmap *);
CALL(m0_net_tm_colour_set, void, struct m0_net_transfer_mc *, uint32_t);
CALL(m0_net_tm_colour_get, uint32_t, struct m0_net_transfer_mc *);
CALL(m0_net_tm_pool_attach, int, struct m0_net_transfer_mc *,
     struct m0_net_buffer_pool *, const struct m0_net_buffer_callbacks *,
     m0_bcount_t, uint32_t, uint32_t);

CALL(m0_net_buffer_register, int, struct m0_net_buffer *,
     struct m0_net_domain *);
CALL(m0_net_buffer_add, int, struct m0_net_buffer *,
     struct m0_net_transfer_mc *);
CALL(m0_net_buffer_del, bool, struct m0_net_buffer *,
     struct m0_net_transfer_mc *);
CALL(m0_net_buffer_event_post, void, const struct m0_net_buffer_event *);
CALL(m0_net_buffer_event_deliver_synchronously, int,
     struct m0_net_transfer_mc *);
CALL(m0_net_buffer_event_pending, bool, struct m0_net_transfer_mc *);
CALL(m0_net_buffer_event_notify, void, struct m0_net_transfer_mc *,
     struct m0_chan *);
CALL(m0_net_buffer_event_deliver_all, void, struct m0_net_transfer_mc *);
CALL(m0_net_desc_copy, int, const struct m0_net_buf_desc *,
     struct m0_net_buf_desc *);
CALL(m0_net_desc_free, void, struct m0_net_buf_desc *);

CALL(m0_net_buffer_pool_init, int, struct m0_net_buffer_pool *,
     struct m0_net_domain *, uint32_t, uint32_t, m0_bcount_t, uint32_t,
     unsigned, bool);
CALL(m0_net_buffer_pool_provision, int, struct m0_net_buffer_pool *, uint32_t);
CALL(m0_net_buffer_pool_get, struct m0_net_buffer *,
     struct m0_net_buffer_pool *, uint32_t);
CALL(m0_net_buffer_pool_put, void, struct m0_net_buffer_pool *,
     struct m0_net_buffer *, uint32_t);
CALL(m0_net_buffer_pool_prune, bool, struct m0_net_buffer_pool *);
CALL(m0_net_buffer_pool_lock, void, struct m0_net_buffer_pool *);
CALL(m0_net_buffer_pool_unlock, void, struct m0_net_buffer_pool *);
CALL(m0_net_buffer_pool_is_locked, bool, const struct m0_net_buffer_pool *);
CALL(m0_net_buffer_pool_is_not_locked, bool, const struct m0_net_buffer_pool *);
CALL(m0_net_buffer_pool_invariant, bool, const struct m0_net_buffer_pool *);
CALL(m0_net_domain_buffer_pool_not_empty, void, struct m0_net_buffer_pool *);

CALL(m0_net_bulk_mem_tm_set_num_threads, void, struct m0_net_transfer_mc *,
     size_t);
CALL(m0_net_bulk_mem_tm_get_num_threads, size_t,
     const struct m0_net_transfer_mc *);

CALL(m0_net_lnet_ep_addr_net_cmp, int, const char *, const char *);
CALL(m0_net_lnet_ifaces_get, int, struct m0_net_domain *, char ***);
CALL(m0_net_lnet_ifaces_put, void, struct m0_net_domain *, char ***);

/* ------------------------------------------------------------ constants -- */

static void constants_have_their_values(void **state)
{
	(void)state;
	assert_int_equal(M0_NET_TM_UNDEFINED, 0);
	assert_int_equal(M0_NET_TM_INITIALIZED, 1);
	assert_int_equal(M0_NET_TM_STARTING, 2);
	assert_int_equal(M0_NET_TM_STARTED, 3);
	assert_int_equal(M0_NET_TM_STOPPING, 4);
	assert_int_equal(M0_NET_TM_STOPPED, 5);
	assert_int_equal(M0_NET_TM_FAILED, 6);
	assert_int_equal(M0_NET_TEV_ERROR, 0);
	assert_int_equal(M0_NET_TEV_STATE_CHANGE, 1);
	assert_int_equal(M0_NET_TEV_DIAGNOSTIC, 2);
	assert_int_equal(M0_NET_QT_MSG_RECV, 0);
	assert_int_equal(M0_NET_QT_MSG_SEND, 1);
	assert_int_equal(M0_NET_QT_PASSIVE_BULK_RECV, 2);
	assert_int_equal(M0_NET_QT_PASSIVE_BULK_SEND, 3);
	assert_int_equal(M0_NET_QT_ACTIVE_BULK_RECV, 4);
	assert_int_equal(M0_NET_QT_ACTIVE_BULK_SEND, 5);
	assert_int_equal(M0_NET_QT_NR, 6);
	assert_int_equal(M0_NET_BUF_REGISTERED, 1);
	assert_int_equal(M0_NET_BUF_QUEUED, 2);
	assert_int_equal(M0_NET_BUF_IN_USE, 4);
	assert_int_equal(M0_NET_BUF_CANCELLED, 8);
	assert_int_equal(M0_NET_BUF_TIMED_OUT, 16);
	assert_int_equal(M0_NET_BUF_RETAIN, 32);
	assert_int_equal(M0_NET_BUFFER_POOL_THRESHOLD, 2);
	assert_int_equal(M0_NET_TM_RECV_QUEUE_DEF_LEN, 2);
	assert_true((uint32_t)M0_BUFFER_ANY_COLOUR == UINT32_MAX);
	assert_int_equal(M0_NET_LNET_PID, 12345);
	assert_int_equal(M0_NET_LNET_TMID_MAX, 4095);
	assert_int_equal(M0_NET_LNET_XEP_ADDR_LEN, 80);
	/* 32 there; NIDs of IPv6 are longer. */
	assert_true(M0_NET_LNET_NIDSTR_SIZE >= 32);
	assert_int_equal(M0_NET_BULK_MEM_XEP_ADDR_LEN, 36);
}

/* m0_net_xprt_find() and command lines know transports by these names. */
static void transports_have_their_names(void **state)
{
	(void)state;
	assert_string_equal(m0_net_bulk_mem_xprt.nx_name, "mem");
	assert_string_equal(m0_lnet_xprt.nx_name, "lnet");
	assert_ptr_equal(&m0_lnet_xprt, &m0_net_lnet_xprt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constants_have_their_values),
		cmocka_unit_test(transports_have_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
