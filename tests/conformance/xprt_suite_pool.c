#include "xprt_suite.h"
const struct cf_case xprt_suite_pool[] = { { NULL, NULL } };
