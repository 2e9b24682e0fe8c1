/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The addresses of the sunrpc transport's row. */
#ifndef M0_TESTS_CONFORMANCE_SUNRPC_ROWS_H
#define M0_TESTS_CONFORMANCE_SUNRPC_ROWS_H

/** All machines of a process have one port. */
unsigned sunrpc_port(void);
void     sunrpc_addr(char *ret, unsigned nr);
void     sunrpc_spelling(char *ret, unsigned nr);

extern const char *const sunrpc_bad[];

#endif /* M0_TESTS_CONFORMANCE_SUNRPC_ROWS_H */
