// SPDX-License-Identifier: Apache-2.0
#include "import_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"

#define NS_PER_S  ((uint64_t)1000000000)
#define NS_PER_MS ((uint64_t)1000000)

enum sonde_status import_fail(struct import *import, const char *what)
{
    snprintf(import->error->what, sizeof import->error->what, "%s", what);
    return SONDE_CORRUPT;
}

/* --- parts of a report --- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

struct sonde__build_id import_build_id(const char *text)
{
    struct sonde__build_id id = {0};
    unsigned digits = 0;
    bool is_zero = true;
    for (; *text != '\0'; text++) {
        int digit = digit_of(*text);
        if (*text == '-') {
            continue;
        }
        if (digit < 0 || digits == 2 * SONDE__BUILD_ID_MAX) {
            return (struct sonde__build_id){0};
        }
        id.bytes[digits / 2] = (uint8_t)(id.bytes[digits / 2] << 4 | digit);
        is_zero = is_zero && digit == 0;
        digits++;
    }
    id.size = (uint8_t)(digits / 2);
    return digits >= 32 && digits % 2 == 0 && !is_zero ? id : (struct sonde__build_id){0};
}

uint32_t import_string(struct import *import, const struct sonde__tape *tape, uint32_t at)
{
    char text[IMPORT_TEXT];
    return sonde__tape_string(tape, at, text, sizeof text) && text[0] != '\0'
               ? sonde__report_string(import->report, text)
               : 0;
}

uint32_t import_frame(struct import *import, uint32_t caller,
                      const struct sonde__report_frame *frame)
{
    if (import->frames >= IMPORT_FRAMES_MAX) {
        return caller;
    }
    import->frames++;
    return sonde__report_add_node(import->report, caller,
                                  sonde__report_add_frame(import->report, frame));
}

void import_stall(struct import *import, const struct import_stall *stall)
{
    const struct sonde__report_thread *thread = &stall->threads[stall->stalled];
    const struct sonde__report_sample sample = {.weight_ns = stall->duration_ns,
                                                .stack = thread->stack,
                                                .phase = SONDE__REPORT_PHASE_UNKNOWN};
    const struct sonde__report_stall value = {.begin_ns = stall->begin_ns,
                                              .duration_ns = stall->duration_ns,
                                              .tid = thread->tid,
                                              .thread_name = thread->name,
                                              .main = thread->main,
                                              .samples = &sample,
                                              .sample_count = thread->stack != 0,
                                              .threads = stall->threads,
                                              .thread_count = stall->thread_count,
                                              .kind = stall->kind,
                                              .fatal = stall->is_fatal};
    sonde__report_add_stall(import->report, &value);
}

uint32_t import_error_note(struct import *import, bool is_fatal, const char *what)
{
    char text[IMPORT_TEXT];
    snprintf(text, sizeof text, "%s%s", is_fatal ? IMPORT_CRASHED : IMPORT_ERROR, what);
    return sonde__report_string(import->report, text);
}

/* --- texts --- */

/* " +0100", "+01:00"; "Z" and nothing are 0. */
static int64_t zone_seconds(const char *text)
{
    unsigned hours, minutes;
    char sign;
    /* two digits each: no number is too large for its type */
    if (sscanf(text, " %c%2u:%2u", &sign, &hours, &minutes) != 3 && /* NOLINT(cert-err34-c) */
        sscanf(text, " %c%2u%2u", &sign, &hours, &minutes) != 3) {  /* NOLINT(cert-err34-c) */
        return 0;
    }
    int64_t seconds = (int64_t)hours * 3600 + (int64_t)minutes * 60;
    return sign == '-' ? -seconds : sign == '+' ? seconds : 0;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar; years begin in March, so that the
 * leap day is the last one. */
static int64_t days_since_1970(int64_t year, unsigned month, unsigned day)
{
    year -= month <= 2;
    unsigned of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719468;
}

uint64_t import_time(const char *text)
{
    unsigned year, month, day, hour, minute, second;
    int used = 0;
    /* at most four digits each: NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(text, "%4u-%2u-%2u%*1[ T]%2u:%2u:%2u%n", &year, &month, &day, &hour, &minute,
               &second, &used) != 6 ||
        year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
        second > 60) {
        return 0;
    }
    text += used;
    text += *text == '.' ? 1 + strspn(text + 1, "0123456789") : 0;
    int64_t seconds = days_since_1970(year, month, day) * 86400 + (int64_t)hour * 3600 +
                      (int64_t)minute * 60 + second - zone_seconds(text);
    return seconds > 0 && (uint64_t)seconds < UINT64_MAX / NS_PER_S ? (uint64_t)seconds * NS_PER_S
                                                                    : 0;
}

static uint64_t unit_ns(const char *word)
{
    static const struct {
        const char *word;
        uint64_t ns;
    } units[] = {{"ms", NS_PER_MS},
                 {"millis", NS_PER_MS},
                 {"sec", NS_PER_S},
                 {"min", 60 * NS_PER_S},
                 {"s", NS_PER_S}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strncmp(word, units[i].word, strlen(units[i].word)) == 0) {
            return units[i].ns;
        }
    }
    return 0;
}

/* The unit of a number, or, in "2.0 and 2.4 seconds", of the one after it. */
static uint64_t find_unit(const char *text)
{
    text += strspn(text, " ");
    uint64_t ns = unit_ns(text);
    if (ns == 0 && (strncmp(text, "and ", 4) == 0 || strncmp(text, "to ", 3) == 0)) {
        text += strcspn(text, "0123456789");
        text += strspn(text, "0123456789.");
        ns = unit_ns(text + strspn(text, " "));
    }
    return ns;
}

uint64_t import_duration(const char *text)
{
    char *end;
    for (text += strcspn(text, "0123456789"); *text != '\0'; text += strcspn(text, "0123456789")) {
        double number = strtod(text, &end);
        uint64_t ns = find_unit(end);
        if (ns != 0 && number >= 0 && number < 1e9) {
            return (uint64_t)(number * (double)ns);
        }
        text = end;
    }
    return 0;
}

void import_pseudonym(const char *text, char ret_text[17])
{
    char digits[IDS_HASH_TEXT];
    ret_text[0] = '\0';
    if (*text != '\0') {
        struct hash hash = ids_hash(text, strlen(text));
        ids_hash_text(&hash, digits);
        snprintf(ret_text, 17, "%.16s", digits);
    }
}
