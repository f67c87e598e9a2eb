// SPDX-License-Identifier: Apache-2.0
#include "base_status.h"

#include <sonde/stack.h>

#include "base_text.h"

const char *sonde_status_name(enum sonde_status status)
{
    switch (status) {
#define CASE(name, text)                                                                           \
    case SONDE_##name:                                                                             \
        return #name;
        SONDE_STATUS_MAP(CASE)
#undef CASE
    }
    return "UNKNOWN";
}

const char *sonde_status_text(enum sonde_status status)
{
    switch (status) {
#define CASE(name, text)                                                                           \
    case SONDE_##name:                                                                             \
        return text;
        SONDE_STATUS_MAP(CASE)
#undef CASE
    }
    return "unknown status";
}

const char *sonde_found_text(unsigned found)
{
    switch ((enum sonde_found_by)found) {
#define CASE(name, text)                                                                           \
    case SONDE_FOUND_##name:                                                                       \
        return text;
        SONDE_FOUND_MAP(CASE)
#undef CASE
    }
    return "unknown";
}

const char *sonde_end_text(unsigned end)
{
    switch ((enum sonde_end_reason)end) {
#define CASE(name, text)                                                                           \
    case SONDE_END_##name:                                                                         \
        return text;
        SONDE_END_MAP(CASE)
#undef CASE
    }
    return "unknown";
}

enum sonde_status sonde__base_fail(struct sonde_error *ret_error, enum sonde_status status,
                                   const char *what, const char *detail, int os_error, uint64_t at)
{
    if (ret_error != NULL) {
        struct sonde__text text;
        ret_error->status = status;
        ret_error->os_error = os_error;
        ret_error->at = at;
        sonde__base_text_init(&text, ret_error->what, sizeof ret_error->what);
        sonde__base_text_str(&text, what);
        if (detail != NULL) {
            sonde__base_text_str(&text, ": ");
            sonde__base_text_str(&text, detail);
        }
    }
    return status;
}
