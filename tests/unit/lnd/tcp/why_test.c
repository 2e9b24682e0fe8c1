/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnd/tcp/fake_sock.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct m0_streams_cfg no_cfg;
static char                        why[M0_LND_WHY_BYTES];

static void why_has(const char *text)
{
	if (strstr(why, text) == NULL)
		fail_msg("\"%s\" is not in: %s", text, why);
}

static void listen_why(const struct m0_streams_cfg *cfg, const char *addr,
		       uint16_t port, int rc)
{
	struct m0_host_addr at = fake_addr(addr, port);

	memset(why, 'x', sizeof why);
	m0_tcp__why_listen(why, cfg, &at, rc);
	assert_true(strnlen(why, sizeof why) < sizeof why);
	why_has(m0_errname(rc));
	why_has(addr);
	assert_int_not_equal(why[strlen(why) - 1], '\n');
}

/* A port that needs a privilege: the capability, the sysctl, other ways. */
static void why_listen_eacces_names_remedies(void **state)
{
	(void)state;
	listen_why(&no_cfg, "10.0.0.1", 988, -EACCES);
	why_has("port 988");
	why_has("CAP_NET_BIND_SERVICE");
	why_has("setcap cap_net_bind_service=+ep /");
	why_has("why_test");
	why_has("net.ipv4.ip_unprivileged_port_start=512");
	why_has("(it is ");
	why_has("accept=all");
	why_has("lc_port");
}

/* An error of a port to connect from names the remedies, too. */
static void why_dial_eacces_names_remedies(void **state)
{
	struct m0_host_addr from = fake_addr("10.0.0.1", 0);
	struct m0_host_addr to = fake_addr("10.0.0.2", 988);

	(void)state;
	m0_tcp__why_dial(why, &no_cfg, &from, 512, 1023, &to, -EACCES);
	why_has("from 10.0.0.1 port 512-1023 to 10.0.0.2 port 988: EACCES");
	why_has("CAP_NET_BIND_SERVICE");
	why_has("net.ipv4.ip_unprivileged_port_start=512");
	why_has("accept=all");
	why_has("lc_src_port_min");
}

/* A port that is taken: how to find by whom. */
static void why_listen_eaddrinuse_tells_how_to_look(void **state)
{
	(void)state;
	m0_tcp__root = "/nowhere";
	listen_why(&no_cfg, "10.0.0.1", 988, -EADDRINUSE);
	m0_tcp__root = "";
	why_has("ss -ltnp 'sport = :988'");
	assert_null(strstr(why, "kernel"));
}

/* By the kernel's LNet, if that is loaded: another address, none, no kernel's.
 */
static void why_listen_eaddrinuse_names_kernel_lnet(void **state)
{
	static const char *const signs[] = { "/sys/module/lnet",
					     "/proc/sys/lnet",
					     "/sys/kernel/debug/lnet" };
	char                     root[] = "/tmp/why_test.XXXXXX";
	char                     command[256];
	size_t                   i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(signs); ++i) {
		strcpy(root + strlen(root) - 6, "XXXXXX");
		assert_non_null(mkdtemp(root));
		(void)snprintf(command, sizeof command, "mkdir -p %s%s", root,
			       signs[i]);
		assert_int_equal(system(command), 0);
		m0_tcp__root = root;
		listen_why(&no_cfg, "10.0.0.1", 988, -EADDRINUSE);
		m0_tcp__root = "";
		why_has("kernel's LNet");
		why_has("another address than 10.0.0.1");
		why_has("namespace");
		why_has("ipvlan");
		why_has("M0_LNET=attach");
		why_has("lustre_rmmod");
		why_has("lc_port");
		(void)snprintf(command, sizeof command, "rm -r %s", root);
		assert_int_equal(system(command), 0);
	}
}

static void kernel_tables_write(const char *root, const char *nis)
{
	char  path[256];
	FILE *file;

	(void)snprintf(path, sizeof path, "mkdir -p %s/proc/sys/lnet", root);
	assert_int_equal(system(path), 0);
	(void)snprintf(path, sizeof path, "%s/proc/sys/lnet/nis", root);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(nis, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static bool kernel_has(const char *text)
{
	memset(why, 'x', sizeof why);
	return m0_tcp__kernel_has_nid(text, why);
}

/* The NID is the kernel's, whatever the port: that, and ways out. No other NID is
 * taken for it. */
static void why_nid_of_the_kernel_is_named(void **state)
{
	char root[] = "/tmp/why_test.XXXXXX";
	char command[64];

	(void)state;
	assert_non_null(mkdtemp(root));
	m0_tcp__root = root;
	assert_false(kernel_has("10.0.0.1@tcp"));
	kernel_tables_write(
		root, "nid                      status alive refs peer\n"
		      "0@lo                         up     0    2    0\n"
		      "10.0.0.1@tcp                 up    -1    1    8\n"
		      "2001:db8::7@tcp1             up    -1    1    8\n");
	assert_true(kernel_has("10.0.0.1@tcp"));
	why_has("kernel's LNet of this machine is 10.0.0.1@tcp");
	why_has("another address");
	why_has("namespace");
	why_has("lnetctl net del");
	why_has("lustre_rmmod");
	why_has("lnetctl ping");
	assert_true(kernel_has("2001:db8::7@tcp1"));
	assert_false(kernel_has("10.0.0.1@tcp1"));
	assert_false(kernel_has("10.0.0.11@tcp"));
	assert_false(kernel_has("0.0.0.1@tcp"));
	assert_false(kernel_has("2001:db8::7@tcp"));
	m0_tcp__root = "";
	(void)snprintf(command, sizeof command, "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

/* An address that is not here: what is here. */
static void why_eaddrnotavail_lists_addresses(void **state)
{
	(void)state;
	listen_why(&no_cfg, "192.0.2.1", 988, -EADDRNOTAVAIL);
	why_has("127.0.0.1 (lo)");
}

/* Congestion control that is not there, or not for everybody. */
static void why_congestion_is_named(void **state)
{
	static const struct m0_streams_cfg cfg = { .sic_congestion = "nosuch" };

	(void)state;
	listen_why(&cfg, "10.0.0.1", 988, -ENOENT);
	why_has("\"nosuch\"");
	why_has("tcp_available_congestion_control");
	listen_why(&cfg, "10.0.0.1", 988, -EPERM);
	why_has("tcp_allowed_congestion_control");
}

/* The text is complete and terminated for every error number. */
static void why_is_text_for_every_error(void **state)
{
	int rc;

	(void)state;
	for (rc = 1; rc < 140; ++rc) {
		listen_why(&no_cfg, "10.0.0.1", 988, -rc);
		listen_why(&no_cfg, "2001:db8::1234:5678:9abc:def0", 65535,
			   -rc);
	}
}

/* Takes a capability out of the effective ones of this thread, or puts it in.
 */
static bool capability_set(bool on)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];
	uint32_t                      bit = 1U << CAP_NET_BIND_SERVICE;

	if (syscall(SYS_capget, &head, data) != 0)
		return false;
	if (on && !(data[0].permitted & bit))
		return true;
	if (on)
		data[0].effective |= bit;
	else
		data[0].effective &= ~bit;
	return syscall(SYS_capset, &head, data) == 0;
}

/* Without the privilege both calls fail with the remedy, and leave nothing. */
static void why_without_privilege_is_told(void **state)
{
	struct m0_stream_listener listener = { .slr_addr = fake_addr(
						       "127.0.0.1", 602) };
	struct m0_host_addr       from = fake_addr("127.0.0.1", 0);
	struct m0_sock_conn      *conn;
	int                       rc;

	(void)state;
	fake_open("127.0.0.1", NULL);
	conn = fake_conn();
	assert_true(capability_set(false));
	rc = m0_tcp__listen(fake.fs_io, &listener, why);
	if (rc == 0) {
		/* This machine leaves such ports to everybody. */
		m0_tcp__unlisten(fake.fs_io, &listener);
	} else {
		assert_int_equal(rc, -EACCES);
		why_has("setcap");
		rc = m0_tcp__dial(fake.fs_io, conn, &from, 600, 603,
				  &fake.fs_listener.slr_addr, &conn->fc_stream,
				  why);
		assert_int_equal(rc, -EACCES);
		why_has("setcap");
		why_has("=512 (it is ");
	}
	assert_true(capability_set(true));
	fake_close();
	fake_free(conn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(why_listen_eacces_names_remedies),
		cmocka_unit_test(why_dial_eacces_names_remedies),
		cmocka_unit_test(why_listen_eaddrinuse_tells_how_to_look),
		cmocka_unit_test(why_listen_eaddrinuse_names_kernel_lnet),
		cmocka_unit_test(why_nid_of_the_kernel_is_named),
		cmocka_unit_test(why_eaddrnotavail_lists_addresses),
		cmocka_unit_test(why_congestion_is_named),
		cmocka_unit_test(why_is_text_for_every_error),
		cmocka_unit_test(why_without_privilege_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
