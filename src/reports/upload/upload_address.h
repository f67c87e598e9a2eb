// SPDX-License-Identifier: Apache-2.0
/* The destination of reports: the URL of a collector, or a Sentry DSN, which is a URL with a user.
 * Messages and files never contain the key. Context: any thread. */
#ifndef SONDE_UPLOAD_ADDRESS_H
#define SONDE_UPLOAD_ADDRESS_H

#include <stdbool.h>

#include <sonde/status.h>

enum sonde__upload_protocol {
    SONDE__UPLOAD_COLLECTOR, /* docs/protocol.md */
    SONDE__UPLOAD_SENTRY,    /* envelopes */
};

/* Far longer than real URLs. */
#define SONDE__UPLOAD_URL_MAX 1024u
#define SONDE__UPLOAD_KEY_MAX 256u

struct sonde__upload_address {
    enum sonde__upload_protocol protocol;
    char url[SONDE__UPLOAD_URL_MAX + 64]; /* URL for POST */
    char shown[SONDE__UPLOAD_URL_MAX];    /* as given, without the user */
    char key[SONDE__UPLOAD_KEY_MAX];      /* "": none */
    bool is_plain;                        /* http, not https */
    bool is_here;                         /* localhost, 127.0.0.0/8 or ::1 */
};

/* key: for a collector; may be null. Returns OK | USAGE. */
SONDE_NODISCARD enum sonde_status
sonde__upload_address_read(const char *text, const char *key,
                           struct sonde__upload_address *ret_address,
                           struct sonde_error *ret_error);

#endif
