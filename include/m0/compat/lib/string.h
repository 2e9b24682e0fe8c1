/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "m0/compat/helpers.h"
