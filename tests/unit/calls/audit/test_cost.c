// SPDX-License-Identifier: Apache-2.0
/* What a run says of its own cost, and of what had no room. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "audit_run.h"
#include "record_page.h"
#include "report_model.h"
#include "test.h"

static char said[4096];

static void hear(void *ctx, const char *line)
{
    size_t used = strlen(said);
    (void)ctx;
    snprintf(said + used, sizeof said - used, "%s\n", line);
}

static const char *const functions[] = {"getenv"};
static const uint32_t arguments[] = {0};
static const struct sonde__audit_rule rule = {.name = "r",
                                              .pack = "",
                                              .category = "",
                                              .text = "",
                                              .severity = SONDE__REPORT_SEVERITY_NOTE,
                                              .functions = functions,
                                              .arguments = arguments,
                                              .function_count = 1};
static const struct sonde__audit_rules rules = {&rule, 1, NULL, 0};

enum { NODES = 4096 };
static struct sonde__audit *audit;

/* It lives as long as the process: before the test, whose heap is checked. */
__attribute__((constructor)) static void create(void)
{
    const struct sonde__audit_options options = {.list = "r.ini", .rules = &rules, .nodes = NODES};
    struct sonde_error error = {0};
    (void)!sonde__audit_create(&options, &audit, &error);
}

/* What is printed at the end of a run that measured this. */
static const char *say(uint64_t samples, uint64_t calls, uint64_t ns, uint64_t left_out)
{
    const struct sonde__report_lines lines = {hear, NULL};
    struct sonde__report *report;
    size_t size = sonde__audit_shared_size(NODES);
    CHECK(audit != NULL);
    CHECK_OK(sonde__report_create(&report));
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    sonde__audit_begin(audit, memory);
    struct sonde__record_page *page = memory;
    atomic_store(&page->state, SONDE__RECORD_RUNS);
    atomic_store(&page->cost_samples, samples);
    atomic_store(&page->cost_calls, calls);
    atomic_store(&page->cost_ns, ns);
    atomic_store(&page->cost_left_out, left_out);
    said[0] = '\0';
    sonde__audit_end(audit, memory, report, lines);
    sonde__report_destroy(report);
    CHECK_EQ(munmap(memory, size), 0);
    return said;
}

TEST(measurements_that_were_left_out_are_counted)
{
    CHECK_CONTAINS(
        say(20, 100, 25000, 3),
        "recording took about 250 ns a call, 25 us in all (20 calls measured; 3 over 50 us "
        "left out)\n");
    CHECK_CONTAINS(say(20, 100, 25000, 0),
                   "recording took about 250 ns a call, 25 us in all (20 calls measured)\n");
    CHECK(strstr(say(0, 0, 0, 0), "recording took") == NULL);
    CHECK(strstr(say(20, 10, 5, 0), "recording took") == NULL); /* damaged */
}
