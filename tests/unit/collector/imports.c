// SPDX-License-Identifier: Apache-2.0
#include "imports.h"

#include <string.h>

#include "foreign.h"
#include "mem_heap.h"
#include "test.h"

struct imported imports_read(enum import_form form, const void *bytes, size_t size)
{
    struct imported i;
    struct sonde_error error = {0};
    if (import_read(form, bytes, size, IMPORTS_ID, &i.bytes, &i.size, &error) != SONDE_OK) {
        FAIL("not read: %s", error.what);
    }
    CHECK_OK(digest_read(i.bytes, i.size, NULL, &i.digest, &error));
    CHECK_OK(sonde__report_read(i.bytes, i.size, &i.report, NULL, &error));
    return i;
}

struct imported imports_read_text(enum import_form form, const char *text)
{
    CHECK_EQ(foreign_form(text, strlen(text)), form);
    return imports_read(form, text, strlen(text));
}

void imports_done(struct imported *imported)
{
    digest_done(&imported->digest);
    sonde__report_destroy(imported->report);
    sonde__mem_free(imported->bytes);
}
