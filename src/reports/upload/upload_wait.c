// SPDX-License-Identifier: Apache-2.0
/* Sources: RFC 9110; https://develop.sentry.dev/sdk/foundations/transport/rate-limiting/. */
#include "upload_wait.h"

#include <stddef.h>
#include <string.h>

#include "base_text.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Read up to `most` digits, and saturate far above all limits here. Moves *at past them. */
static bool take_number(const char **at, unsigned most, uint64_t *ret_value)
{
    uint64_t value = 0;
    unsigned count = 0;
    for (; is_digit(**at) && count < most; ++*at, count++) {
        value = value > UINT32_MAX ? value : value * 10 + (uint64_t)(**at - '0');
    }
    *ret_value = value;
    return count > 0 && !is_digit(**at);
}

static bool take_text(const char **at, const char *text)
{
    if (!sonde__base_starts_with(*at, text)) {
        return false;
    }
    *at += strlen(text);
    return true;
}

static bool take_month(const char **at, uint64_t *ret_month)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (uint64_t i = 0; i < 12; i++) {
        if (strncmp(*at, names + 3 * i, 3) == 0) {
            *at += 3;
            *ret_month = i + 1;
            return true;
        }
    }
    return false;
}

struct date {
    uint64_t year, month, day, hour, minute, second;
};

static bool take_clock(const char **at, struct date *date)
{
    return take_number(at, 2, &date->hour) && take_text(at, ":") &&
           take_number(at, 2, &date->minute) && take_text(at, ":") &&
           take_number(at, 2, &date->second);
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
static bool read_fixdate(const char *at, struct date *date)
{
    return take_number(&at, 2, &date->day) && take_text(&at, " ") &&
           take_month(&at, &date->month) && take_text(&at, " ") &&
           take_number(&at, 4, &date->year) && take_text(&at, " ") && take_clock(&at, date) &&
           strcmp(at, " GMT") == 0;
}

/* "Sunday, 06-Nov-94 08:49:37 GMT" */
static bool read_rfc850(const char *at, struct date *date)
{
    bool ok = take_number(&at, 2, &date->day) && take_text(&at, "-") &&
              take_month(&at, &date->month) && take_text(&at, "-") &&
              take_number(&at, 2, &date->year) && take_text(&at, " ") && take_clock(&at, date) &&
              strcmp(at, " GMT") == 0;
    date->year += date->year < 70 ? 2000 : 1900;
    return ok;
}

/* "Sun Nov  6 08:49:37 1994" */
static bool read_asctime(const char *at, struct date *date)
{
    bool ok = take_month(&at, &date->month) && take_text(&at, " ");
    (void)take_text(&at, " ");
    return ok && take_number(&at, 2, &date->day) && take_text(&at, " ") && take_clock(&at, date) &&
           take_text(&at, " ") && take_number(&at, 4, &date->year) && *at == '\0';
}

/* Days since 1970 of a Gregorian date, computed with years that begin on 1 March. */
static int64_t days_of(const struct date *date)
{
    int64_t year = (int64_t)date->year - (date->month <= 2);
    int64_t march_month = ((int64_t)date->month + 9) % 12;
    int64_t cycle = year / 400, of_cycle = year % 400;
    int64_t of_year = (153 * march_month + 2) / 5 + (int64_t)date->day - 1;
    return cycle * 146097 + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + of_year - 719468;
}

bool sonde__upload_date(const char *text, int64_t *ret_unix_s)
{
    struct date date = {0};
    const char *comma = strchr(text, ',');
    const char *space = strchr(text, ' ');
    bool ok = false;
    if (comma != NULL && comma[1] == ' ') {
        ok = comma - text == 3 ? read_fixdate(comma + 2, &date) : read_rfc850(comma + 2, &date);
    } else if (comma == NULL && space != NULL) {
        ok = read_asctime(space + 1, &date);
    }
    if (!ok || date.day < 1 || date.day > 31 || date.hour > 23 || date.minute > 59 ||
        date.second > 60) {
        return false;
    }
    *ret_unix_s =
        days_of(&date) * 86400 + (int64_t)(date.hour * 3600 + date.minute * 60 + date.second);
    return true;
}

static uint32_t cap(int64_t seconds)
{
    return seconds <= 0                                  ? 0
           : seconds > (int64_t)SONDE__UPLOAD_WAIT_MAX_S ? SONDE__UPLOAD_WAIT_MAX_S
                                                         : (uint32_t)seconds;
}

bool sonde__upload_retry_after(const char *text, const char *date, int64_t now_unix_s,
                               uint32_t *ret_s)
{
    const char *at = text;
    uint64_t seconds;
    int64_t when, from;
    if (take_number(&at, 64, &seconds) && (*at == '\0' || *at == '.')) { /* some servers send
                                                                          * fractions */
        *ret_s = cap((int64_t)seconds + (*at == '.'));
        return true;
    }
    if (!sonde__upload_date(text, &when)) {
        return false;
    }
    *ret_s = cap(when - (sonde__upload_date(date, &from) ? from : now_unix_s));
    return true;
}

/* Is "error" in the list of categories between `at` and `end`? An empty list means all. */
static bool concerns_errors(const char *at, const char *end)
{
    if (at == end) {
        return true;
    }
    while (at < end) {
        const char *next = memchr(at, ';', (size_t)(end - at));
        next = next != NULL ? next : end;
        if (next - at == 5 && memcmp(at, "error", 5) == 0) {
            return true;
        }
        at = next + (next < end);
    }
    return false;
}

bool sonde__upload_rate_limits(const char *text, uint32_t *ret_s)
{
    uint32_t longest = 0;
    bool found = false;
    while (*text != '\0') {
        const char *end = text + strcspn(text, ",");
        uint64_t seconds;
        text += strspn(text, " \t");
        if (take_number(&text, 64, &seconds)) {
            text += strcspn(text, ":,"); /* a fraction */
            const char *categories = *text == ':' ? text + 1 : text;
            if (concerns_errors(categories, categories + strcspn(categories, ":,"))) {
                uint32_t wait_s = cap((int64_t)seconds);
                longest = wait_s > longest ? wait_s : longest;
                found = true;
            }
        }
        text = end + (*end == ',');
    }
    *ret_s = longest;
    return found;
}
