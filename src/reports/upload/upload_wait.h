// SPDX-License-Identifier: Apache-2.0
/* The wait that a server asks for in its headers, in seconds, at most SONDE__UPLOAD_WAIT_MAX_S.
 * Pure functions of the text. */
#ifndef SONDE_UPLOAD_WAIT_H
#define SONDE_UPLOAD_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* A limit for servers, because a wrong value would let reports grow too old. */
#define SONDE__UPLOAD_WAIT_MAX_S 86400u

/* An HTTP date in any of its three forms (RFC 9110 §5.6.7), in seconds since 1970. */
bool sonde__upload_date(const char *text, int64_t *ret_unix_s);

/* Retry-After (RFC 9110 §10.2.3): seconds or a date. A date is compared with the server's Date
 * header, because clocks differ; without that, with now_unix_s. False: neither. */
bool sonde__upload_retry_after(const char *text, const char *date, int64_t now_unix_s,
                               uint32_t *ret_s);

/* X-Sentry-Rate-Limits: "60:error;default:organization, 2700::key". The longest limit for events of
 * category error; false: none. */
bool sonde__upload_rate_limits(const char *text, uint32_t *ret_s);

#endif
