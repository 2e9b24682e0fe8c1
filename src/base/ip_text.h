/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * IPv4 and IPv6 addresses as text. The library has its own parser because those of
 * the C library and of the Linux kernel differ: the kernel's takes "01.2.3.4". Both
 * directions agree with inet_pton(3) and inet_ntop(3) of glibc.
 */
#ifndef M0_BASE_IP_TEXT_H
#define M0_BASE_IP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	M0_IP4_BYTES = 4,
	M0_IP6_BYTES = 16,
	/** Room for the longest text of an address, with its NUL. */
	M0_IP_TEXT_BYTES = 46
};

/**
 * Parses "a.b.c.d", four decimal numbers without leading zeros.
 * @param ret_addr  receives 4 bytes in network order; unchanged on failure
 * @return true if all of `text` is an IPv4 address
 */
bool m0_ip4_parse(const char *text, uint8_t *ret_addr);

/**
 * Parses the text forms of RFC 4291, 2.2, without a zone.
 * @param ret_addr  receives 16 bytes in network order; unchanged on failure
 * @return true if all of `text` is an IPv6 address
 */
bool m0_ip6_parse(const char *text, uint8_t *ret_addr);

/**
 * Prints an address: four numbers if `addr_nr` is M0_IP4_BYTES; if it is M0_IP6_BYTES,
 * the form of RFC 5952, with the last 32 bits as IPv4 in ::a.b.c.d and ::ffff:a.b.c.d.
 * @param size  bytes of `buf`, at least M0_IP_TEXT_BYTES
 * @return `buf`
 */
char *m0_ip_print(const uint8_t *addr, size_t addr_nr, char *buf, size_t size);

#endif /* M0_BASE_IP_TEXT_H */
