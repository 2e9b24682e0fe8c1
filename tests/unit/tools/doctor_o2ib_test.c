/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The words of `colibri doctor` about a NID on net o2ib, over a node that is played here. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "m0/lnet_info.h"

#include "../../../tools/base/log_pipe.h"
#include "../../../tools/node/doctor.h"

static struct doctor doctor;
/* Line that the library logs during a ping; NULL: none. */
static const char *logged;
static unsigned    hops;

int  __wrap_m0_lnet_dist(struct m0_lnet *lnet, const struct m0_lnet_nid *nid,
			 struct m0_lnet_nid *src, uint32_t *order);
int  __wrap_m0_lnet_probe_sync(struct m0_lnet       *lnet,
			       struct m0_lnet_probe *probe);
bool __wrap_log_pipe_get(enum m0_log_level *level,
			 char               text[LOG_PIPE_TEXT_BYTES]);
int  __wrap_bind(int fd, const struct sockaddr *addr, socklen_t size);

int __wrap_m0_lnet_dist(struct m0_lnet *lnet, const struct m0_lnet_nid *nid,
			struct m0_lnet_nid *src, uint32_t *order)
{
	(void)lnet;
	(void)nid;
	(void)src;
	(void)order;
	return (int)hops;
}

int __wrap_m0_lnet_probe_sync(struct m0_lnet *lnet, struct m0_lnet_probe *probe)
{
	(void)lnet;
	(void)probe;
	return -EHOSTUNREACH;
}

bool __wrap_log_pipe_get(enum m0_log_level *level,
			 char               text[LOG_PIPE_TEXT_BYTES])
{
	bool ret = logged != NULL;

	*level = M0_LOG_WARN;
	if (ret)
		snprintf(text, LOG_PIPE_TEXT_BYTES, "%s", logged);
	logged = NULL;
	return ret;
}

/* This user may have no privileged port. */
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t size)
{
	(void)fd;
	(void)addr;
	(void)size;
	errno = EACCES;
	return -1;
}

static void check(const char *nid, const char *log)
{
	M0_SET0(&doctor);
	m0_lnet_cfg_default(&doctor.dtr_opts.nop_cfg);
	doctor.dtr_opts.nop_cfg.lc_src_port_max = 1023;
	doctor.dtr_lnet = (struct m0_lnet *)&doctor;
	doctor.dtr_deadline =
		m0_time_add(m0_time_now(), 10 * M0_TIME_ONE_SECOND);
	assert_int_equal(m0_lnet_nid_parse(&doctor.dtr_nid, nid), 0);
	snprintf(doctor.dtr_nid_text, sizeof doctor.dtr_nid_text, "%s", nid);
	logged = log;
	doctor_port_check(&doctor);
	doctor_lnet_checks(&doctor);
}

static bool says(enum doctor_what what, const char *words)
{
	return strstr(doctor.dtr_checks[what].dch_text, words) != NULL;
}

static bool advises(enum doctor_what what, const char *words)
{
	return strstr(doctor.dtr_checks[what].dch_remedy, words) != NULL;
}

/* Kernels accept any source port there, unlike those of sockets. */
static void any_source_port_is_well(void **state)
{
	(void)state;
	hops = 0;
	check("10.0.0.1@o2ib", NULL);
	assert_int_equal(doctor.dtr_checks[DOCTOR_PORT].dch_verdict, DOCTOR_OK);
	check("10.0.0.1@tcp", NULL);
	assert_int_equal(doctor.dtr_checks[DOCTOR_PORT].dch_verdict,
			 DOCTOR_WARN);
	assert_true(says(DOCTOR_PORT, "Lustre nodes accept no other"));
}

/* The device logs the address alone. */
static void the_reason_of_the_device_is_said(void **state)
{
	(void)state;
	hops = 0;
	check("10.0.0.1@o2ib",
	      "o2ib: no connection to 10.0.0.1: nobody answers");
	assert_int_equal(doctor.dtr_checks[DOCTOR_PING].dch_verdict,
			 DOCTOR_FAIL);
	assert_true(
		says(DOCTOR_PING, "no connection to 10.0.0.1: nobody answers"));
	check("10.0.0.1@o2ib",
	      "o2ib: no connection to 10.0.0.11: nobody answers");
	assert_false(says(DOCTOR_PING, "nobody answers"));
	check("10.0.0.1@o2ib", "o2ib: 10.0.0.1@o2ib has rejected a connection: "
			       "its queue depth is 4, ours 8");
	assert_true(says(DOCTOR_PING, "its queue depth is 4, ours 8"));
}

/* All checks above were skipped, so that they are of no help. */
static void the_remedy_is_one_for_rdma(void **state)
{
	(void)state;
	hops = 0;
	check("10.0.0.1@o2ib", NULL);
	assert_true(advises(DOCTOR_PING, "ibv_devinfo"));
	assert_false(advises(DOCTOR_PING, "above"));
	hops = 2;
	check("10.0.0.1@o2ib", NULL);
	assert_false(advises(DOCTOR_PING, "ibv_devinfo"));
	assert_true(advises(DOCTOR_PING, "route show"));
	hops = 0;
	check("10.0.0.1@tcp", NULL);
	assert_true(advises(DOCTOR_PING, "see the checks above"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_source_port_is_well),
		cmocka_unit_test(the_reason_of_the_device_is_said),
		cmocka_unit_test(the_remedy_is_one_for_rdma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
