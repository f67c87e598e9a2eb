// SPDX-License-Identifier: Apache-2.0
#include "watch_watchdog.h"

#include <string.h>

#include "host_process.h"
#include "mem_heap.h"

#define NS_PER_US 1000u
/* Periods of more than a day are ignored, so no sum of nanoseconds overflows. */
#define PERIOD_MAX_US 86400000000u
/* Most environments have some KiB; the default limit is 2 MiB. */
#define ENVIRONMENT_MAX ((size_t)2 << 20)

/* A decimal number that fills the value; 0: not a number. */
static uint64_t number_of(const char *text, const char *end)
{
    uint64_t value = 0;
    if (text == end) {
        return 0;
    }
    for (; text < end; text++) {
        if (*text < '0' || *text > '9' || value > PERIOD_MAX_US) {
            return 0;
        }
        value = value * 10 + (uint64_t)(*text - '0');
    }
    return value;
}

static const char *value_of(const char *entry, size_t size, const char *name)
{
    size_t length = strlen(name);
    return size >= length && memcmp(entry, name, length) == 0 ? entry + length : NULL;
}

uint64_t sonde__watch_watchdog_parse(const char *text, size_t size, int32_t pid)
{
    uint64_t period_us = 0, whom = (uint64_t)pid;
    const char *end = text + size;
    while (text < end) {
        const char *zero = memchr(text, '\0', (size_t)(end - text));
        const char *stop = zero != NULL ? zero : end;
        const char *usec = value_of(text, (size_t)(stop - text), "WATCHDOG_USEC=");
        const char *of = value_of(text, (size_t)(stop - text), "WATCHDOG_PID=");
        period_us = usec != NULL ? number_of(usec, stop) : period_us;
        whom = of != NULL ? number_of(of, stop) : whom;
        text = stop + 1;
    }
    return whom == (uint64_t)pid && period_us <= PERIOD_MAX_US ? period_us * NS_PER_US : 0;
}

uint64_t sonde__watch_watchdog_of(int32_t pid)
{
    size_t size = 0;
    char *text = sonde__mem_alloc(ENVIRONMENT_MAX);
    uint64_t period_ns = 0;
    if (text == NULL) {
        return 0;
    }
    enum sonde_status status = sonde__host_environ_read(pid, text, ENVIRONMENT_MAX, &size);
    if (status == SONDE_OK || status == SONDE_LIMIT) {
        period_ns = sonde__watch_watchdog_parse(text, size, pid);
    }
    sonde__mem_free(text);
    return period_ns;
}
