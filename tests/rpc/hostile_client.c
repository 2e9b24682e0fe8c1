/* SPDX-License-Identifier: Apache-2.0 */
#include "hostile.h"

const struct cf_case hostile_client[] = { { NULL, NULL } };
