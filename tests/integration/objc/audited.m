// SPDX-License-Identifier: Apache-2.0
/* The program of calls.m, which audits itself: audited RULES REPORT. */
#define LIBRARY 1
#include "calls.m"

#include <stdio.h>

#include <sonde/audit.h>

int main(int argc, char **argv)
{
    static unsigned char rules[1 << 16];
    FILE *file = argc > 2 ? fopen(argv[1], "rb") : NULL;
    size_t size = file != NULL ? fread(rules, 1, sizeof rules, file) : 0;
    const struct sonde_audit_options options = {.struct_bytes = sizeof options, .report = argv[2]};
    struct sonde_audit_run *run;
    struct sonde_error error;
    double before = run_calls(); /* not counted */
    if (sonde_audit_begin(rules, size, &options, &run, &error) != SONDE_OK) {
        printf("%s\n", error.what);
        return 1;
    }
    double during = run_calls();
    if (sonde_audit_finish(run, &error) != SONDE_OK) {
        printf("%s\n", error.what);
        return 1;
    }
    return before == during && run_calls() == before ? 0 : 1;
}
