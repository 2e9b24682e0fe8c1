/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef KV_H
#define KV_H
enum {
	KV_PUT,
	KV_GET,
	KV_DEL,
	KV_OPS_NR
};
#endif
