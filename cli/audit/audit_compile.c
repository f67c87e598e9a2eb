// SPDX-License-Identifier: Apache-2.0
#include "audit_compile.h"

#include <inttypes.h>

#include "audit_run.h"
#include "base_text.h"
#include "cli_file.h"
#include "cli_fit.h"
#include "host_self.h"
#include "report_new.h"
#include "report_out.h"
#include "rules_load.h"
#include "run_record.h"

static void print_line(void *ctx, const char *line)
{
    sonde__cli_error(ctx, "%s", line);
}

static void print_patterns(const char *before, const struct sonde__audit_patterns *patterns)
{
    for (size_t i = 0; i < patterns->count; i++) {
        const struct sonde__audit_pattern *pattern = &patterns->items[i];
        printf("%s%s%s:%s", i == 0 ? before : ", ", pattern->is_not ? "!" : "",
               pattern->is_symbol ? "symbol" : "module", pattern->glob);
    }
    fputs(patterns->count != 0 ? "\n" : "", stdout);
}

static void print_rule(const struct sonde__audit *audit, const struct sonde__audit_rules *rules,
                       size_t index)
{
    const struct sonde__audit_rule *rule = &rules->rules[index];
    const char *before = "  ";
    printf("%s  %s  pack %s", sonde__report_severity_text(rule->severity), rule->name, rule->pack);
    printf("%s%s%s%s\n", rule->category[0] != '\0' ? "  " : "", rule->category,
           rule->text[0] != '\0' ? "  " : "", rule->text);
    for (uint32_t i = 0; sonde__audit_function(audit, i) != NULL; i++) {
        if (sonde__audit_means(audit, index, i)) {
            printf("%s%s", before, sonde__audit_function(audit, i));
            before = ", ";
        }
    }
    fputs(before[0] == ',' ? "\n" : "  no function\n", stdout);
    if (rule->when != NULL) {
        printf("  when %s\n", rule->when);
    }
    if (rule->phase != NULL) {
        printf("  phase %s%s\n", rule->is_before_phase ? "before " : "", rule->phase);
    }
    if (rule->limit_count != 0) {
        printf("  limit %" PRIu64 " in %s\n", rule->limit_count,
               sonde__report_duration(rule->limit_ns).text);
    }
    for (size_t i = 0; i < rule->keep_count; i++) {
        printf("%s%s%s", i == 0 ? "  keep " : ", ", rule->keeps[i],
               i + 1 == rule->keep_count ? "\n" : "");
    }
    print_patterns("  from ", &rule->from);
}

static void print_all(const struct sonde__audit *audit, const struct sonde__audit_rules *rules)
{
    sonde__cli_fit_output();
    for (size_t i = 0; i < rules->count; i++) {
        print_rule(audit, rules, i);
    }
    for (size_t i = 0; i < rules->sdk_count; i++) {
        printf("sdk  %s\n", rules->sdks[i].name);
        print_patterns("  match ", &rules->sdks[i].match);
    }
    unsigned functions = 0;
    while (sonde__audit_function(audit, functions) != NULL) {
        functions++;
    }
    printf("%zu rule%s, %u function%s\n", rules->count, sonde__base_plural(rules->count), functions,
           sonde__base_plural(functions));
}

static int print_compiled(const struct sonde__cli_command *command, const char *path,
                          const char *program, const struct sonde__audit_rules *rules)
{
    struct sonde_error error = {0};
    struct sonde__audit *audit;
    const struct sonde__audit_options options = {
        .list = path,
        .rules = rules,
        .program = program,
        .envp = sonde__host_environ(),
        .lines = {program != NULL ? print_line : NULL, (void *)(uintptr_t)command}};
    enum sonde_status status = sonde__audit_create(&options, &audit, &error);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, path, status, &error);
    }
    print_all(audit, rules);
    return SONDE__CLI_OK;
}

int sonde__cli_audit_compile(const struct sonde__cli_command *command, const char *path,
                             const char *program, const char *output)
{
    struct sonde__rules_loaded loaded;
    const char *binary = program != NULL ? sonde__cli_find_binary(program) : NULL;
    if (program != NULL && binary == NULL) {
        sonde__cli_error(command, "%s: not a program whose libraries the loader lists", program);
        return SONDE__CLI_UNSUPPORTED;
    }
    int exit_code = sonde__rules_load(command, path, &loaded);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    exit_code = print_compiled(command, path, binary, &loaded.blob.rules);
    if (exit_code == SONDE__CLI_OK && output != NULL) {
        exit_code = sonde__cli_write_file(command, output, loaded.bytes, loaded.size);
    }
    sonde__rules_unload(&loaded);
    return exit_code;
}
