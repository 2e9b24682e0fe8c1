/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "m0/compat/helpers.h"
