// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: a file of rules of any content. Every error has a place in the file, what was read
 * is complete, and a condition that compiles is safe to evaluate, and ends. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "audit_when.h"
#include "fuzz.h"
#include "report_model.h"
#include "rules.h"

static uint32_t lines;

static void print(void *ctx, const char *line)
{
    (void)ctx;
    lines++;
    FUZZ_MUST(strncmp(line, "f:", 2) == 0 || strcmp(line, "more errors are not shown") == 0);
}

static bool use(void *ctx, const char *name, const struct sonde__rule_place *place)
{
    (void)ctx;
    FUZZ_MUST(name[0] != '\0' && place->line > 0);
    return true;
}

static void check_place(const struct sonde__rule_place *place, size_t size)
{
    FUZZ_MUST(place->line >= 1 && place->line <= size && place->column >= 1 &&
              place->column <= size + 1);
}

static void check_condition(const struct sonde__rule *rule, size_t size)
{
    static struct sonde__when when;
    static const char path[] = "a/../b";
    static const struct sockaddr_in6 address = {.sin6_family = AF_INET6};
    static struct msghdr message = {.msg_name = (void *)(uintptr_t)&address,
                                    .msg_namelen = sizeof address};
    const uint64_t arguments[SONDE__WHEN_ARGUMENTS] = {
        (uint64_t)(uintptr_t)path,     (uint64_t)(uintptr_t)&address, sizeof address,
        (uint64_t)(uintptr_t)&message, (uint64_t)(uintptr_t)path,     8};
    struct sonde__audit_when to = {&when, 0};
    uint16_t node;
    size_t at;
    when.node_count = 0;
    if (rule->when.text == NULL || rule->api_count == 0) {
        return;
    }
    if (sonde__audit_when_compile(&to, rule->when.text, rule->apis[0].name, rule->apis[0].argument,
                                  &node, &at) == NULL) {
        FUZZ_MUST(sonde__when_check(&when, 1));
        FUZZ_MUST(sonde__when_holds(&when, node, arguments) <= SONDE__WHEN_UNREAD);
    } else {
        FUZZ_MUST(at <= strlen(rule->when.text));
        check_place(&rule->when.places[at], size);
    }
}

static void check_rule(const struct sonde__rule *rule, size_t size)
{
    check_place(&rule->place, size);
    FUZZ_MUST(rule->name[0] != '\0' && strcmp(rule->pack, "f") == 0);
    FUZZ_MUST(rule->severity >= SONDE__REPORT_SEVERITY_NOTE &&
              rule->severity <= SONDE__REPORT_SEVERITY_ERROR);
    for (size_t i = 0; i < rule->api_count; i++) {
        check_place(&rule->apis[i].place, size);
        FUZZ_MUST(rule->apis[i].name[0] != '\0' &&
                  rule->apis[i].argument <= SONDE__RULE_ARGUMENTS_MAX);
    }
    check_condition(rule, size);
    for (size_t i = 0; i < rule->from.count; i++) {
        FUZZ_MUST(rule->from.items[i].glob[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde__rules rules = {.print = print};
    const struct sonde__rules_use user = {use, NULL};
    lines = 0;
    FUZZ_MUST(sonde__rules_read(&rules, "f", (const char *)data, size, &user));
    sonde__rules_check(&rules);
    FUZZ_MUST((rules.errors != 0) == (lines != 0) && lines <= SONDE__RULES_ERRORS_MAX + 1);
    FUZZ_MUST(rules.rule_count <= SONDE__RULES_MAX);
    for (size_t i = 0; i < rules.rule_count; i++) {
        check_rule(&rules.rules[i], size);
    }
    sonde__rules_done(&rules);
    return 0;
}
