/* SPDX-License-Identifier: Apache-2.0 */
#include "m0/compat/net/lnet/lnet.h"
