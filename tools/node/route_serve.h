/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The node's side of `colibri route` and `colibri routing`. */
#ifndef M0_TOOLS_ROUTE_SERVE_H
#define M0_TOOLS_ROUTE_SERVE_H

#include <stdio.h>

#include "ctl.h"

struct json_t;

/** Serves a request of these commands. @return the exit code. */
int route_serve(const struct ctl_request *req, struct m0_lnet *lnet, FILE *out,
		FILE *err);
/** Prints a route as lnetctl does. @param all  with hops and priority. */
void route_attr_print(struct json_t                   *item,
		      const struct m0_lnet_route_attr *attr, bool all);
/** Returns the name of the router buffers that a message of so many bytes takes. */
const char *route_pool_name(uint64_t bytes);
/**
 * Says why a NID behind routers is not reached: the state of each route to its
 * network now.
 * @return false: the node has no route to it, or cannot say.
 */
bool route_why_not(struct m0_lnet *lnet, const struct m0_lnet_nid *nid,
		   char *ret, size_t size);

#endif /* M0_TOOLS_ROUTE_SERVE_H */
