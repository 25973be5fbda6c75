/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * HTTP proxies. TensorFlow's servers use gRPC, which connects through the proxy that the
 * environment names unless the environment exempts the host.
 */
#ifndef TF_PROXY_H
#define TF_PROXY_H

#include <stdbool.h>

/* True if a variable of this environment is set from which gRPC or a common tool takes a proxy. */
bool proxy_is_set (char *const env[]);

/* The variables that exempt hosts. gRPC reads the first one that is set, other tools the last. */
#define PROXY_EXEMPTIONS 2
extern const char *const proxy_exemption[PROXY_EXEMPTIONS];

/*
 * The value that proxy_exemption[i] needs so that `hosts` ("10.0.0.1,10.0.0.2") are exempt too:
 * its present value, or that of the variable that is read instead if it is not set, and the hosts
 * that this does not have. To be freed; NULL if there is no memory.
 */
char *proxy_exempt (int i, const char *hosts, char *const env[]);

#endif
