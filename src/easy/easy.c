/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Opening and closing of services and clients. */
#include <stdio.h>

#include "easy/easy_internal.h"
#include "m0/log.h"
#include "m0/rpc_store_lmdb.h"

enum {
	/** Threads for handlers of queries, of all services of the process. */
	THREADS_NR = 8,
	/** Room that headers and alignment may take in an item. */
	ITEM_SLACK = 256,
	RESEND_MS = 500,
	/** Longest pause before a request or a handshake is sent again. */
	RESEND_MAX_MS = 2000,
	/** Pause after a refusal, before a client that opens asks again. */
	OPEN_PAUSE_MS = 200,
	/** Longest wait for the service when a client is closed. */
	GOODBYE_MS = 2000,
	/** Between looks at a list that is to be empty. */
	LOOK_MS = 10
};

#define MEMORY_STORE_BYTES (UINT64_C(4) << 30)

/* ------------------------------------------------------------------ types -- */

static struct m0_rpc_item_type_ops update_ops;
static struct m0_rpc_item_type_ops query_ops;

struct m0_rpc_item_type m0_easy__update = {
	.rit_opcode = EASY_OP_UPDATE,
	.rit_ops = &update_ops,
	.rit_flags = M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO,
	.rit_name = "easy update",
};
struct m0_rpc_item_type m0_easy__query = {
	.rit_opcode = EASY_OP_QUERY,
	.rit_ops = &query_ops,
	.rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	.rit_name = "easy query",
};
struct m0_rpc_item_type m0_easy__result = {
	.rit_opcode = EASY_OP_RESULT,
	.rit_ops = &m0_rpc_raw_ops,
	.rit_flags = M0_RPC_ITEM_TYPE_REPLY,
	.rit_name = "easy result",
};

/* The types are there as long as anything is open. */
static struct m0_mutex types_lock = M0_MUTEX_SINIT(&types_lock);
static uint32_t        types_users_nr;

static int types_begin(void)
{
	int rc = m0_rpc_pool_create(&m0_easy__query.rit_pool, THREADS_NR,
				    "easy-query");

	if (rc != 0)
		return rc;
	update_ops = m0_rpc_raw_ops;
	update_ops.rito_deliver = m0_easy__update_deliver;
	query_ops = m0_rpc_raw_ops;
	query_ops.rito_deliver = m0_easy__query_deliver;
	rc = m0_rpc_item_type_register(&m0_easy__update)
		     ?: m0_rpc_item_type_register(&m0_easy__query)
		     ?: m0_rpc_item_type_register(&m0_easy__result);
	M0_ASSERT_INFO(rc == 0, "opcodes from 0x%x on are this room's",
		       EASY_OP_UPDATE);
	return 0;
}

static int types_get(char *why)
{
	int rc = 0;

	m0_mutex_lock(&types_lock);
	if (types_users_nr == 0)
		rc = types_begin();
	if (rc == 0)
		++types_users_nr;
	m0_mutex_unlock(&types_lock);
	if (rc != 0)
		(void)snprintf(why, M0_EASY_WHY_BYTES,
			       "threads for queries cannot be started");
	return rc;
}

static void types_put(void)
{
	m0_mutex_lock(&types_lock);
	if (--types_users_nr == 0) {
		m0_rpc_item_type_deregister(&m0_easy__result);
		m0_rpc_item_type_deregister(&m0_easy__query);
		m0_rpc_item_type_deregister(&m0_easy__update);
		m0_rpc_pool_destroy(m0_easy__query.rit_pool);
		m0_easy__query.rit_pool = NULL;
	}
	m0_mutex_unlock(&types_lock);
}

/* ---------------------------------------------------------- configuration -- */

static bool is_service(const struct m0_easy *easy)
{
	return easy->eas_cfg.en_ops != NULL;
}

static int ops_check(const struct m0_easy_cfg *cfg, char *why)
{
	uint32_t i;
	uint32_t k;

	if (cfg->en_ops_nr == 0 || cfg->en_ops_nr > M0_EASY_OPS_MAX) {
		(void)snprintf(why, M0_EASY_WHY_BYTES,
			       "en_ops_nr is %u; 1 to %u is accepted",
			       cfg->en_ops_nr, M0_EASY_OPS_MAX);
		return -EINVAL;
	}
	for (i = 0; i < cfg->en_ops_nr; ++i) {
		for (k = 0; k < i; ++k)
			if (cfg->en_ops[k].eo_opcode ==
			    cfg->en_ops[i].eo_opcode)
				break;
		if (k == i && cfg->en_ops[i].eo_handler != NULL)
			continue;
		(void)snprintf(why, M0_EASY_WHY_BYTES,
			       "en_ops[%u], opcode %u: %s", i,
			       cfg->en_ops[i].eo_opcode,
			       k == i ? "there is no handler"
				      : "another has this opcode");
		return -EINVAL;
	}
	return 0;
}

static int cfg_take(struct m0_easy *easy, const struct m0_easy_cfg *given,
		    char *why)
{
	struct m0_easy_cfg *cfg = &easy->eas_cfg;

	if (given != NULL)
		*cfg = *given;
	if (cfg->en_timeout_ns == 0)
		cfg->en_timeout_ns = EASY_TIMEOUT_NS;
	if (cfg->en_memory_max == 0)
		cfg->en_memory_max = EASY_MEMORY_BYTES;
	/* A client has no operations, which peers could call. */
	if (cfg->en_ops == NULL)
		cfg->en_ops_nr = 0;
	if (cfg->en_ops == NULL && cfg->en_dir == NULL && cfg->en_store == NULL)
		return 0;
	if (cfg->en_ops == NULL ||
	    (cfg->en_dir != NULL && cfg->en_store != NULL)) {
		(void)snprintf(
			why, M0_EASY_WHY_BYTES,
			"en_dir or en_store is for a service, with en_ops; one of them is accepted");
		return -EINVAL;
	}
	return ops_check(cfg, why);
}

/* ------------------------------------------------------------------ store -- */

static int lmdb_open(struct m0_easy *easy, char *why)
{
	struct m0_rpc_store_lmdb_cfg cfg;
	int                          rc;

	m0_rpc_store_lmdb_cfg_init(&cfg);
	cfg.rlc_bytes_max = easy->eas_cfg.en_store_bytes_max != 0
				    ? easy->eas_cfg.en_store_bytes_max
				    : EASY_STORE_BYTES;
	rc = m0_rpc_store_lmdb_open(&easy->eas_own_store, easy->eas_cfg.en_dir,
				    &cfg);
	if (rc != 0)
		(void)snprintf(why, M0_EASY_WHY_BYTES, "the store \"%s\": %s%s",
			       easy->eas_cfg.en_dir, m0_errname(rc),
			       rc == -EBUSY ? "; another process has it open"
					    : "; the log says more");
	easy->eas_is_lmdb = rc == 0;
	return rc;
}

static int store_open(struct m0_easy *easy, char *why)
{
	m0_bcount_t max = easy->eas_cfg.en_store_bytes_max;
	int         rc;

	if (easy->eas_cfg.en_store != NULL) {
		easy->eas_store = easy->eas_cfg.en_store;
		return 0;
	}
	if (easy->eas_cfg.en_dir != NULL)
		rc = lmdb_open(easy, why);
	else
		rc = m0_rpc_store_volatile_init(&easy->eas_own_store,
						max ?: MEMORY_STORE_BYTES);
	easy->eas_store = rc == 0 ? &easy->eas_own_store : NULL;
	return rc;
}

static void store_close(struct m0_easy *easy)
{
	if (easy->eas_store != &easy->eas_own_store)
		return;
	if (easy->eas_is_lmdb)
		m0_rpc_store_lmdb_close(easy->eas_store);
	else
		m0_rpc_store_volatile_fini(easy->eas_store);
}

/* ------------------------------------------------------------ RPC machine -- */

/* The RPC machine serves before its init returns: nothing is kept after it. */
m0_bcount_t m0_easy__body_max(const struct m0_easy *easy)
{
	return easy->eas_machine.rm_min_recv_size - ITEM_SLACK;
}

static void machine_down(struct m0_easy *easy)
{
	m0_rpc_machine_fini(&easy->eas_machine);
	(void)m0_net_domain_fini(&easy->eas_dom);
}

/* The addresses after the first, and the text of all. */
static int machine_links(struct m0_easy *easy, const char **own)
{
	const struct easy_addrs *addrs = &easy->eas_place.epl_own;
	char                     addr[M0_RPC_ADDR_MAX];
	uint32_t                 i;
	int                      rc;

	for (i = 1; i < addrs->ead_nr; ++i) {
		*own = addrs->ead_addr[i];
		rc = m0_rpc_machine_link_add(&easy->eas_machine, *own);
		/* Another service may have begun where this one has grown. */
		if (M0_IN(rc, (-EADDRINUSE, -EPERM)))
			m0_log(M0_LOG_WARN, "not at \"%s\": %s", *own,
			       m0_errname(rc));
		else if (rc != 0)
			return rc;
	}
	for (i = 0; m0_rpc_machine_link_addr(&easy->eas_machine, i, addr) == 0;
	     ++i) {
		if (i > 0)
			strcat(easy->eas_addrs, ",");
		strcat(easy->eas_addrs, addr);
	}
	return 0;
}

static void machine_why(const struct easy_addrs *addrs, const char *own, int rc,
			char *why)
{
	int nr = snprintf(why, M0_EASY_WHY_BYTES, "cannot start at \"%s\": %s",
			  own, m0_errname(rc));

	if (rc != -EADDRINUSE || nr >= M0_EASY_WHY_BYTES)
		return;
	if (addrs->ead_nr > 1)
		(void)snprintf(
			why + nr, M0_EASY_WHY_BYTES - (size_t)nr,
			"; another service of the host is there, with its "
			"first or a further address: each takes as many "
			"numbers in a row as it has networks, here %u; "
			"choose a number beyond those",
			addrs->ead_nr);
	else
		(void)snprintf(why + nr, M0_EASY_WHY_BYTES - (size_t)nr,
			       "; another service of the host is there: choose "
			       "another number");
}

static int machine_up(struct m0_easy *easy, char *why)
{
	const struct easy_addrs *addrs = &easy->eas_place.epl_own;
	const char       *own = addrs->ead_nr == 0 ? "" : addrs->ead_addr[0];
	struct m0_rpc_cfg cfg;
	int               rc;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_store = easy->eas_store;
	cfg.rc_app_private = easy;
	cfg.rc_resend_ns = RESEND_MS * M0_TIME_ONE_MSEC;
	cfg.rc_resend_max_ns = RESEND_MAX_MS * M0_TIME_ONE_MSEC;
	cfg.rc_asks_again = true;
	rc = m0_net_domain_init(&easy->eas_dom, easy->eas_place.epl_xprt);
	if (rc == 0) {
		rc = m0_rpc_machine_init(&easy->eas_machine, &easy->eas_dom,
					 &cfg, *own == 0 ? NULL : own, NULL,
					 M0_BUFFER_ANY_COLOUR, 0, 0);
		if (rc != 0) {
			(void)m0_net_domain_fini(&easy->eas_dom);
		} else {
			rc = machine_links(easy, &own);
			if (rc != 0)
				machine_down(easy);
		}
	}
	if (rc != 0)
		machine_why(addrs, own, rc, why);
	return rc;
}

/* ----------------------------------------------------------------- client -- */

static const struct m0_strand_ops again_ops = { .so_step =
							m0_easy__again_step };

static int session_up(struct m0_easy *easy, m0_time_t until)
{
	int rc = m0_rpc_session_init(&easy->eas_session, &easy->eas_conn);

	if (rc != 0)
		return rc;
	easy->eas_session.s_streams_nr = EASY_STREAMS_NR;
	rc = m0_rpc_session_establish_sync(&easy->eas_session, until);
	if (rc != 0)
		m0_rpc_session_fini(&easy->eas_session);
	return rc;
}

static int connect_once(struct m0_easy *easy, m0_time_t until)
{
	const struct easy_addrs *addrs = &easy->eas_place.epl_service;
	/* The only service of this RPC machine. */
	static const struct m0_uint128 name = { 1, 1 };
	const char                    *texts[M0_RPC_LINKS_MAX];
	uint32_t                       i;
	int                            rc;

	for (i = 0; i < addrs->ead_nr; ++i)
		texts[i] = addrs->ead_addr[i];
	rc = m0_rpc_machine_map_links(&easy->eas_machine, name, texts,
				      addrs->ead_nr)
		     ?: m0_rpc_conn_create(&easy->eas_conn, name, NULL,
					   &easy->eas_machine, 0, until);
	if (rc != 0)
		return rc;
	rc = session_up(easy, until);
	if (rc != 0)
		(void)m0_rpc_conn_destroy(&easy->eas_conn, until);
	return rc;
}

/* The service may come, or have room for another client, a little later. */
static int connect_to(struct m0_easy *easy, char *why)
{
	const char *to = easy->eas_place.epl_text;
	m0_time_t   until =
		m0_time_add(m0_time_now(), easy->eas_cfg.en_timeout_ns);
	m0_time_t next;
	int       rc;

	while ((rc = connect_once(easy, until)) != 0) {
		next = m0_time_add(m0_time_now(),
				   OPEN_PAUSE_MS * M0_TIME_ONE_MSEC);
		if (next >= until ||
		    M0_IN(rc, (-EINVAL, -ETIMEDOUT, -ENOMEM, -ESHUTDOWN)))
			break;
		(void)m0_semaphore_timeddown(&easy->eas_idle, next);
	}
	if (rc != 0)
		(void)snprintf(
			why, M0_EASY_WHY_BYTES,
			rc == -EINVAL
				? "\"%.256s\" is not the address of a service"
				: "the service at \"%.256s\" does not answer: %s",
			to, m0_errname(rc));
	return rc;
}

/* The service answers when it has ended what was asked; it may be gone, too. */
static void disconnect(struct m0_easy *easy)
{
	m0_time_t until =
		m0_time_add(m0_time_now(), GOODBYE_MS * M0_TIME_ONE_MSEC);

	(void)m0_rpc_session_destroy(&easy->eas_session, until);
	(void)m0_rpc_conn_destroy(&easy->eas_conn, until);
}

static int client_up(struct m0_easy *easy, char *why)
{
	int rc = connect_to(easy, why);

	if (rc != 0)
		return rc;
	m0_strand_init(&easy->eas_strand, &again_ops, "easy-again");
	rc = m0_strand_start(&easy->eas_strand, NULL);
	if (rc == 0)
		return 0;
	(void)snprintf(why, M0_EASY_WHY_BYTES, "a thread cannot be started");
	m0_strand_fini(&easy->eas_strand);
	disconnect(easy);
	return rc;
}

static void client_down(struct m0_easy *easy)
{
	m0_easy__calls_end(easy);
	m0_strand_stop(&easy->eas_strand);
	m0_strand_fini(&easy->eas_strand);
	disconnect(easy);
}

/* ------------------------------------------------------------------- both -- */

static int parts_open(struct m0_easy *easy, char *why)
{
	int rc = 0;

	if (is_service(easy))
		rc = store_open(easy, why);
	if (rc != 0)
		return rc;
	rc = machine_up(easy, why);
	if (rc == 0 && !is_service(easy)) {
		rc = client_up(easy, why);
		if (rc != 0)
			machine_down(easy);
	}
	if (rc != 0)
		store_close(easy);
	return rc;
}

static void lists_init(struct m0_easy *easy)
{
	m0_mutex_init(&easy->eas_lock);
	(void)m0_semaphore_init(&easy->eas_idle, 0);
	m0_list_init(&easy->eas_offers);
	m0_list_init(&easy->eas_calls);
	m0_list_init(&easy->eas_waits);
	m0_list_init(&easy->eas_ended);
}

static void lists_fini(struct m0_easy *easy)
{
	m0_list_fini(&easy->eas_ended);
	m0_list_fini(&easy->eas_waits);
	m0_list_fini(&easy->eas_calls);
	m0_list_fini(&easy->eas_offers);
	m0_semaphore_fini(&easy->eas_idle);
	m0_mutex_fini(&easy->eas_lock);
}

static bool is_empty(struct m0_easy *easy, const struct m0_list *list)
{
	bool ret;

	m0_mutex_lock(&easy->eas_lock);
	ret = m0_list_is_empty(list);
	m0_mutex_unlock(&easy->eas_lock);
	return ret;
}

void m0_easy__drain(struct m0_easy *easy, const struct m0_list *list)
{
	while (!is_empty(easy, list))
		(void)m0_semaphore_timeddown(
			&easy->eas_idle,
			m0_time_add(m0_time_now(), LOOK_MS * M0_TIME_ONE_MSEC));
}

static int all_open(struct m0_easy *easy, const char *place,
		    const struct m0_easy_cfg *cfg, char *why)
{
	int rc = cfg_take(easy, cfg, why);

	if (rc != 0)
		return rc;
	rc = m0_easy__place_open(&easy->eas_place, place, is_service(easy),
				 why);
	if (rc != 0)
		return rc;
	rc = types_get(why);
	if (rc == 0) {
		rc = parts_open(easy, why);
		if (rc != 0)
			types_put();
	}
	if (rc != 0)
		m0_easy__place_close(&easy->eas_place);
	return rc;
}

int m0_easy_open(struct m0_easy **ret, const char *place,
		 const struct m0_easy_cfg *cfg, char *why)
{
	char           *own_why = NULL;
	struct m0_easy *easy;
	int             rc;

	M0_ALLOC_PTR(easy);
	if (why == NULL)
		why = own_why = m0_alloc(M0_EASY_WHY_BYTES);
	if (easy == NULL || why == NULL) {
		m0_free(own_why);
		m0_free(easy);
		return -ENOMEM;
	}
	*why = 0;
	(void)m0_net_init();
	easy->eas_magic = EASY_MAGIC;
	lists_init(easy);
	rc = all_open(easy, place, cfg, why);
	if (rc == 0) {
		*ret = easy;
	} else {
		if (*why == 0)
			(void)snprintf(why, M0_EASY_WHY_BYTES, "%s",
				       m0_errname(rc));
		lists_fini(easy);
		m0_free(easy);
		(void)m0_net_fini();
	}
	m0_free(own_why);
	return rc;
}

void m0_easy_close(struct m0_easy *easy)
{
	if (is_service(easy)) {
		m0_easy__offers_end(easy);
		m0_rpc_machine_stop(&easy->eas_machine, false);
	} else {
		client_down(easy);
	}
	machine_down(easy);
	store_close(easy);
	if (easy->eas_has_fd)
		m0_os_fd_close(&easy->eas_fd);
	types_put();
	m0_easy__place_close(&easy->eas_place);
	lists_fini(easy);
	m0_free(easy);
	(void)m0_net_fini();
}

const char *m0_easy_addr(const struct m0_easy *easy)
{
	return easy->eas_addrs;
}

struct m0_rpc_machine *m0_easy_machine(struct m0_easy *easy)
{
	return &easy->eas_machine;
}
