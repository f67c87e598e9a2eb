// SPDX-License-Identifier: Apache-2.0
#include "audit_compile.h"

#include "audit_run.h"
#include "base_text.h"
#include "host_self.h"
#include "report_model.h"
#include "rules_file.h"
#include "rules_plan.h"
#include "run_record.h"

static void print_line(void *ctx, const char *line)
{
    sonde__cli_error(ctx, "%s", line);
}

static const char *severity_text(uint32_t severity)
{
    static const char *const texts[] = {[SONDE__REPORT_SEVERITY_NOTE] = "note",
                                        [SONDE__REPORT_SEVERITY_WARNING] = "warning",
                                        [SONDE__REPORT_SEVERITY_ERROR] = "error"};
    return texts[severity];
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
    printf("%s  %s  pack %s", severity_text(rule->severity), rule->name, rule->pack);
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
    print_patterns("  from ", &rule->from);
}

static void print_all(const struct sonde__audit *audit, const struct sonde__audit_rules *rules)
{
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

static int compile(const struct sonde__cli_command *command, const char *path, const char *program,
                   const struct sonde__audit_rules *rules)
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
                             const char *program)
{
    static struct sonde__rules rules;
    static struct sonde__rules_plan plan;
    const char *binary = program != NULL ? sonde__cli_find_binary(program) : NULL;
    if (program != NULL && binary == NULL) {
        sonde__cli_error(command, "%s: not a program whose libraries the loader lists", program);
        return SONDE__CLI_UNSUPPORTED;
    }
    int exit_code = SONDE__CLI_MALFORMED;
    if (sonde__rules_open(path, print_line, (void *)(uintptr_t)command, &rules)) {
        enum sonde_status status = sonde__rules_plan(&rules, &plan);
        exit_code = status == SONDE_OK            ? compile(command, path, binary, &plan.audit)
                    : status == SONDE_UNSUPPORTED ? SONDE__CLI_UNSUPPORTED
                                                  : sonde__cli_fail(command, path, status, NULL);
    }
    sonde__rules_plan_done(&plan);
    sonde__rules_done(&rules);
    return exit_code;
}
