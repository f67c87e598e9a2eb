// SPDX-License-Identifier: Apache-2.0
/* Helpers for returning a status with its details. Context: handler. */
#ifndef SONDE_BASE_STATUS_H
#define SONDE_BASE_STATUS_H

#include <sonde/status.h>

/* Fill `ret_error` (which may be null) and return `status`.
 * what    one line of text; a second part `detail` (may be null) is appended after ": "
 * os_error  errno or 0, at  address or offset or 0 */
enum sonde_status sonde__base_fail(struct sonde_error *ret_error, enum sonde_status status,
                                   const char *what, const char *detail, int os_error, uint64_t at);

/* Return from the calling function unless `expr` is SONDE_OK. */
#define SONDE_TRY(expr)                                                                            \
    do {                                                                                           \
        enum sonde_status sonde_try_status_ = (expr);                                              \
        if (sonde_try_status_ != SONDE_OK) {                                                       \
            return sonde_try_status_;                                                              \
        }                                                                                          \
    } while (0)

#endif
