/* SPDX-License-Identifier: Apache-2.0 OR MIT */
enum {
	KV_PUT,
	KV_GET,
	KV_DEL,
	KV_OPS_NR
};
