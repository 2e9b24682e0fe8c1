/* SPDX-License-Identifier: Apache-2.0 */
#include "scenarios.h"

const struct cf_case scenarios_loop[] = { { NULL, NULL } };
