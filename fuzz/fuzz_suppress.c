// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: a file of suppressions of any content. An error is in the file, what is read has all
 * its parts, and a search in it ends soon. */
#include <string.h>

#include "findings_suppress.h"
#include "fuzz.h"

static const char today[] = "2026-11-30";

static void check_error(const struct sonde__suppress_error *error, const uint8_t *data, size_t size)
{
    uint32_t lines = 1;
    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n';
    }
    FUZZ_MUST(error->line >= 1 && error->line <= lines);
    FUZZ_MUST(error->column >= 1 && error->column <= size + 1 && error->expected != NULL);
}

static void check_one(const struct sonde__suppression *s)
{
    FUZZ_MUST((s->fingerprint[0] == '\0') == (s->rule != NULL));
    FUZZ_MUST((s->rule != NULL) == (s->function != NULL));
    FUZZ_MUST(s->rule == NULL || (s->rule[0] != '\0' && s->function[0] != '\0'));
    FUZZ_MUST(s->reason[0] != '\0' && strlen(s->until) == 10);
    FUZZ_MUST(s->is_expired == (strcmp(s->until, today) < 0));
    FUZZ_MUST(s->line >= 1 && strlen(s->reason) < SONDE__SUPPRESS_LINE);
}

/* No function of the call has a name, and its fingerprint is 0. */
static void search(const struct sonde__suppressions *all)
{
    static const struct sonde__report_call call;
    static struct sonde__report_call_key key;
    struct sonde__report *report;
    if (sonde__report_create(&report) == SONDE_OK) {
        struct sonde__report_call named = call;
        char name[600];
        memset(name, 'a', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        named.function = sonde__report_string(report, name);
        const struct sonde__suppression *found =
            sonde__suppressions_find(all, report, &named, &key);
        FUZZ_MUST(found == NULL ||
                  (!found->is_expired && strspn(found->fingerprint + 2, "0") == 32));
        sonde__report_destroy(report);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde__suppressions all;
    struct sonde__suppress_error error;
    enum sonde_status status = sonde__suppressions_read(data, size, today, &all, &error);
    FUZZ_MUST(status == SONDE_OK || status == SONDE_CORRUPT || status == SONDE_MEMORY);
    if (status == SONDE_CORRUPT) {
        check_error(&error, data, size);
    }
    if (status == SONDE_OK) {
        for (uint32_t i = 0; i < all.count; i++) {
            check_one(&all.list[i]);
            FUZZ_MUST(i == 0 || all.list[i].line > all.list[i - 1].line);
        }
        search(&all);
        sonde__suppressions_done(&all);
    }
    return 0;
}
