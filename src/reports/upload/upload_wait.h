// SPDX-License-Identifier: Apache-2.0
/* How long a server asks to wait, from its headers. Durations are in seconds and at most
 * SONDE__UPLOAD_WAIT_MAX_S. Pure functions of the text. */
#ifndef SONDE_UPLOAD_WAIT_H
#define SONDE_UPLOAD_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* A server may not silence a sender for longer: a wrong value would lose reports to their age. */
#define SONDE__UPLOAD_WAIT_MAX_S 86400u

/* A date of HTTP in any of its three forms (RFC 9110 §5.6.7), since 1970. */
bool sonde__upload_date(const char *text, int64_t *ret_unix_s);

/* Retry-After (RFC 9110 §10.2.3): seconds, or a date, which is compared with the server's own Date
 * header, because clocks differ; without one with now_unix_s. False: neither. */
bool sonde__upload_retry_after(const char *text, const char *date, int64_t now_unix_s,
                               uint32_t *ret_s);

/* X-Sentry-Rate-Limits: "60:error;default:organization, 2700::key". The longest one that concerns
 * events of kind error. False: none does. */
bool sonde__upload_rate_limits(const char *text, uint32_t *ret_s);

#endif
