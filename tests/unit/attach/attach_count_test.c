/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Bytes that processes of a daemon and the daemon have copied, as the daemon counts them for
 * each process, and the rule that forbids copies by processes.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "m0/lnet_info.h"

#include "attach/server_internal.h"
#include "attach_fix.h"

enum {
	BYTES = 128 << 10,
	SOURCE_AT = 512 << 10,
	BITS = 5
};

static struct fix_proc to;
static struct fix_proc from;

static int setup(void **state)
{
	int rc = fix_setup(state);

	fix.fx_copies = true;
	fix.fx_bytes = BYTES;
	return rc;
}

static int teardown(void **state)
{
	fix.fx_copies = false;
	fix.fx_bytes = 0;
	return fix_teardown(state);
}

static void attach(struct fix_proc *proc)
{
	if (fix_attach(proc) != 0)
		fail_msg("%s", proc->fp_why);
}

/* Does not look at descriptors: those of the node's loop come when it first sleeps. */
static void detach(void)
{
	fix_detach(&to);
	fix_detach(&from);
	while (fix_procs() > 0)
		(void)m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
}

static struct m0_shared_report report(struct fix_proc    *proc,
				      enum m0_shared_kind kind)
{
	struct m0_shared_report rep = { .shp_kind = M0_SHARED_RESULT };

	if (!fix_get(proc, &rep))
		fail_msg("kind %d does not come", (int)kind);
	assert_int_equal(rep.shp_kind, kind);
	return rep;
}

/* A message that the process is asked to copy; it answers with a status. */
static void message(bool is_asked, int status)
{
	struct m0_shared_report rep;

	assert_true(fix_entry(&to, 0, BITS, 0));
	assert_true(fix_move(&from, 0, BITS, SOURCE_AT));
	if (is_asked) {
		struct m0_shared_request req = {
			.srq_opcode = M0_SHARED_COPY_DONE,
			.srq_number = (uint64_t)-status,
		};

		rep = report(&to, M0_SHARED_COPY);
		req.srq_nr = rep.shp_nr;
		req.srq_gen = rep.shp_gen;
		assert_true(fix_put(&to, &req));
	}
	rep = report(&to, M0_SHARED_EV_INCOMING);
	assert_int_equal(rep.shp_event.rev_status, 0);
	(void)report(&to, M0_SHARED_ME_GONE);
	(void)report(&from, M0_SHARED_EV_SEND);
}

/* Sums of both processes, since all of them have one number. */
static struct m0_attach_info counts(void)
{
	struct m0_attach_info info[2];
	unsigned nr = m0_attach_server_info(&fix.fx_server, info, 2);

	assert_int_equal(nr, 2);
	info[0].ain_copied_bytes += info[1].ain_copied_bytes;
	info[0].ain_daemon_bytes += info[1].ain_daemon_bytes;
	info[0].ain_fell_back_nr += info[1].ain_fell_back_nr;
	info[0].ain_shadow_bytes += info[1].ain_shadow_bytes;
	return info[0];
}

static void counts_are(uint64_t copied, uint64_t daemon, uint64_t fell_back)
{
	struct m0_attach_info sums = counts();

	assert_int_equal(sums.ain_copied_bytes, copied);
	assert_int_equal(sums.ain_daemon_bytes, daemon);
	assert_int_equal(sums.ain_fell_back_nr, fell_back);
	assert_int_equal(sums.ain_shadow_bytes, 0);
}

static void bytes_are_counted_by_who_copied_them(void **state)
{
	(void)state;
	attach(&to);
	attach(&from);
	counts_are(0, 0, 0);
	message(true, 0);
	counts_are(BYTES, 0, 0);
	message(true, -ESRCH);
	counts_are(BYTES, BYTES, 1);
	fix.fx_bytes = 1000;
	message(false, 0);
	counts_are(BYTES, BYTES + 1000, 1);
	fix.fx_bytes = BYTES;
	message(true, -EPERM);
	message(false, 0);
	counts_are(BYTES, 3 * BYTES + 1000, 2);
	detach();
}

/* After all that the node's thread has done so far. */
static void node_pass(void)
{
	struct m0_lnet_info *info;

	assert_int_equal(m0_lnet_info_get(fix.fx_lnet, &info), 0);
	m0_lnet_info_free(info);
}

/* Regions with a home, after all that the node's thread has done so far. It may change the
 * number behind that, of which TSan is not to say anything. */
static uint32_t __attribute__((__no_sanitize__("thread"))) homes_nr(void)
{
	node_pass();
	return fix.fx_server.asv_copies.vcs_nr;
}

/* A process has copied, but gave up its MD before: what the daemon copies later counts. */
static void copies_of_an_aborted_message_are_not_due(void **state)
{
	struct m0_shared_request unlink = { .srq_opcode = M0_SHARED_MD_UNLINK };
	struct m0_shared_request done = { .srq_opcode = M0_SHARED_COPY_DONE };
	struct m0_shared_report  rep;

	(void)state;
	attach(&to);
	attach(&from);
	assert_true(fix_entry(&to, 0, BITS, 0));
	assert_true(fix_move(&from, 0, BITS, SOURCE_AT));
	rep = report(&to, M0_SHARED_COPY);
	unlink.srq_gen = to.fp_gen;
	assert_true(fix_put(&to, &unlink));
	node_pass();
	done.srq_nr = rep.shp_nr;
	done.srq_gen = rep.shp_gen;
	assert_true(fix_put(&to, &done));
	rep = report(&to, M0_SHARED_EV_INCOMING);
	assert_true(rep.shp_event.rev_status < 0);
	(void)report(&to, M0_SHARED_ME_GONE);
	(void)report(&from, M0_SHARED_EV_SEND);
	counts_are(BYTES, 0, 0);
	message(true, -ESRCH);
	counts_are(BYTES, BYTES, 1);
	detach();
}

/* The process that has attached first. */
static const struct m0_serve *first_serve(void)
{
	const struct m0_serve *ret;

	m0_mutex_lock(&fix.fx_server.asv_lock);
	ret = &fix.fx_server.asv_procs[0]->apr_serve;
	m0_mutex_unlock(&fix.fx_server.asv_lock);
	return ret;
}

/* The daemon has the region of the process, and no address in it. */
static void first_home_is_not_kept(void)
{
	static const struct m0_serve_home none;
	struct m0_serve_home              home = { .vhm_addr = 1 };
	struct m0_serve_maps             *maps;

	m0_mutex_lock(&fix.fx_server.asv_lock);
	maps = &fix.fx_server.asv_procs[0]->apr_maps;
	m0_mutex_lock(&maps->vms_lock);
	if (maps->vms_maps[0] != NULL)
		home = maps->vms_maps[0]->vmp_home;
	m0_mutex_unlock(&maps->vms_lock);
	m0_mutex_unlock(&fix.fx_server.asv_lock);
	assert_memory_equal(&home, &none, sizeof none);
}

/* Either end may be a process that the rule is about. */
static void rule_forbids_copies(void **state)
{
	(void)state;
	fix.fx_policy.apo_rules_nr = 1;
	fix.fx_policy.apo_rules[0] =
		(struct m0_attach_rule){ M0_ATTACH_USER, geteuid(),
					 M0_SERVE_RANGES_ALL,
					 M0_SERVE_RANGES_ALL, true };
	fix_restart();
	attach(&to);
	attach(&from);
	message(false, 0);
	counts_are(0, BYTES, 0);
	assert_int_equal(homes_nr(), 0);
	first_home_is_not_kept();
	detach();
}

/* The daemon forgets where a process had memory that it has given up. */
static void removed_regions_are_forgotten(void **state)
{
	const struct m0_shared_request del = {
		.srq_opcode = M0_SHARED_REGION_DEL,
		.srq_nr = 1,
		.srq_gen = 1,
	};
	struct m0_shared_report rep;

	(void)state;
	attach(&to);
	attach(&from);
	assert_int_equal(homes_nr(), 2);
	assert_true(fix_put(&to, &del));
	rep = report(&to, M0_SHARED_RESULT);
	assert_int_equal(rep.shp_result.srt_status, 0);
	assert_int_equal(homes_nr(), 1);
	assert_ptr_not_equal(fix.fx_server.asv_copies.vcs_spans[0].vsp_serve,
			     first_serve());
	assert_true(fix_put(&from, &del));
	rep = report(&from, M0_SHARED_RESULT);
	assert_int_equal(rep.shp_result.srt_status, 0);
	assert_int_equal(homes_nr(), 0);
	detach();
}

/* --------------------------------------------------------------- shadows -- */

/** A process whose buffer is not memory of the library. */
struct front {
	struct m0_lnet   *fr_lnet;
	struct m0_lnet_eq fr_eq;
	void             *fr_buf;
	m0_bcount_t       fr_bytes;
	struct m0_bufvec  fr_vec;
};

static void front_open(struct front *front)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];

	m0_lnet_cfg_default(&cfg);
	(void)snprintf(cfg.lc_attach, sizeof cfg.lc_attach, "%s", fix.fx_path);
	if (m0_lnet_open(&front->fr_lnet, &cfg, why) != 0)
		fail_msg("%s", why);
	front->fr_bytes = BYTES;
	front->fr_buf = calloc(1, BYTES);
	assert_non_null(front->fr_buf);
	front->fr_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&front->fr_buf,
							     &front->fr_bytes);
	assert_int_equal(
		m0_lnet_mem_register(front->fr_lnet, front->fr_buf, BYTES), 0);
	m0_lnet_eq_init(&front->fr_eq, front->fr_lnet, NULL, 16);
}

static void front_close(struct front *front)
{
	m0_lnet_mem_deregister(front->fr_lnet, front->fr_buf, BYTES);
	m0_lnet_eq_fini(&front->fr_eq);
	m0_lnet_close(front->fr_lnet);
	free(front->fr_buf);
}

static void front_await(struct front *front, enum m0_lnet_event_type type)
{
	struct m0_lnet_event ev;

	assert_int_equal(m0_lnet_eq_wait(&front->fr_eq, &ev,
					 m0_time_from_now(10, 0)),
			 0);
	assert_int_equal(ev.ev_type, type);
	assert_int_equal(ev.ev_status, 0);
}

/* A PUT passes by a shadow at each end. */
static void bytes_by_shadows_are_counted(void **state)
{
	const struct m0_lnet_me_attr me = {
		.mea_portal = FIX_PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_match_bits = BITS,
		.mea_flags = M0_LNET_ME_UNLINK,
	};
	const struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		.lo_portal = FIX_PORTAL,
		.lo_match_bits = BITS,
	};
	struct m0_lnet_md_attr md = {
		.mda_length = BYTES,
		.mda_threshold = 1,
		.mda_auto_unlink = true,
	};
	struct m0_lnet_handle handle;
	struct m0_attach_info sums;
	struct front          one;
	struct front          two;

	(void)state;
	front_open(&one);
	front_open(&two);
	md.mda_vec = &two.fr_vec;
	md.mda_options = M0_LNET_MD_OP_PUT;
	md.mda_eq = &two.fr_eq;
	assert_int_equal(m0_lnet_entry_attach(two.fr_lnet, &me, &md, &handle),
			 0);
	md.mda_vec = &one.fr_vec;
	md.mda_options = 0;
	md.mda_eq = &one.fr_eq;
	memset(one.fr_buf, 's', BYTES);
	assert_int_equal(m0_lnet_bind_put(one.fr_lnet, &md, &op, &handle), 0);
	front_await(&one, M0_LNET_EV_SEND);
	front_await(&two, M0_LNET_EV_PUT);
	assert_memory_equal(one.fr_buf, two.fr_buf, BYTES);
	sums = counts();
	assert_int_equal(sums.ain_shadow_bytes, 2 * BYTES);
	assert_int_equal(sums.ain_daemon_bytes, BYTES);
	front_close(&one);
	front_close(&two);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(bytes_are_counted_by_who_copied_them),
		CASE(copies_of_an_aborted_message_are_not_due),
		CASE(rule_forbids_copies),
		CASE(removed_regions_are_forgotten),
		CASE(bytes_by_shadows_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
