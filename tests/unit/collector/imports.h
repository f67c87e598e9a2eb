// SPDX-License-Identifier: Apache-2.0
/* What another tool sent, as the report and the digest that it becomes. */
#ifndef TEST_COLLECTOR_IMPORTS_H
#define TEST_COLLECTOR_IMPORTS_H

#include "digest.h"
#include "import.h"
#include "report_read.h"

#define IMPORTS_ID "0123456789abcdef0123456789abcdef"

struct imported {
    void *bytes;
    size_t size;
    struct digest digest;
    struct sonde__report *report;
};

/* Read it; the test fails if that fails. Ownership: imports_done(). */
struct imported imports_read(enum import_form form, const void *bytes, size_t size);
/* The same for a text that is known by its content. */
struct imported imports_read_text(enum import_form form, const char *text);
void imports_done(struct imported *imported);

#endif
