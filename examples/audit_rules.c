// SPDX-License-Identifier: Apache-2.0
/* An app that audits itself: which rules does it break, from where, and before consent or after?
 *
 *   sonde audit compile rules.ini -o rules.audit
 *   ./audit_rules rules.audit audit.sonde && sonde show audit.sonde */
#include <stdio.h>
#include <stdlib.h>

#include <sonde/audit.h>
#include <sonde/note.h>

enum { RULES_MAX = 1 << 20 };

static void print_found(void *ctx, const struct sonde_audit_found *found)
{
    (void)ctx;
    printf("%s: %s by %s%s%s\n", found->rule, found->function, found->callers,
           found->phase[0] != '\0' ? " in phase " : "", found->phase);
}

__attribute__((noinline)) static void load_settings(void)
{
    for (int i = 0; i < 100; i++) {
        (void)getenv("HOME");
    }
}

__attribute__((noinline)) static void send_statistics(void)
{
    const char *user = getenv("USER");
    printf("user %s\n", user != NULL ? "known" : "not known");
}

static size_t read_file(const char *path, void *bytes, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    size_t size = file != NULL ? fread(bytes, 1, capacity, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return size;
}

int main(int argc, char **argv)
{
    static unsigned char rules[RULES_MAX];
    static const struct sonde_watch_tag tags[] = {{"tester", "ann"}};
    struct sonde_audit_run *run;
    struct sonde_error error;
    struct sonde_audit_options options = {.struct_bytes = sizeof options,
                                          .report = argc > 2 ? argv[2] : NULL,
                                          .build = "1.2.3",
                                          .tags = tags,
                                          .tag_count = 1,
                                          .phase = "start",
                                          .on_found = print_found};
    size_t size = argc > 1 ? read_file(argv[1], rules, sizeof rules) : 0;
    if (sonde_audit_begin(rules, size, &options, &run, &error) != SONDE_OK) {
        fprintf(stderr, "%s\n", error.what);
        return 1;
    }
    load_settings();
    sonde_watch_phase("consent", SONDE_CONSENT_GIVEN);
    send_statistics();
    if (sonde_audit_finish(run, &error) != SONDE_OK) {
        fprintf(stderr, "%s\n", error.what);
        return 1;
    }
    load_settings(); /* not counted */
    return 0;
}
