// SPDX-License-Identifier: Apache-2.0
/* sonde audit: work with rules of audits (sonde run --audit). */
#include <string.h>

#include "audit_compile.h"
#include "cmd.h"

struct request {
    const char *output;
};

static const struct sonde__cli_option options[] = {
    {"output", 'o', "FILE", "also write the compiled rules to FILE", sonde__cli_take_text,
     offsetof(struct request, output)},
    {0},
};

static int compile(const struct sonde__cli_command *command, const struct request *request,
                   const struct sonde__cli_operands *operands)
{
    if (operands->count < 2 || operands->count > 3) {
        return sonde__cli_usage_error(command, "compile takes a file of rules, and a program");
    }
    return sonde__cli_audit_compile(command, operands->list[1], operands->list[2], request->output);
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {0};
    struct sonde__cli_operands operands;
    if (argc > 1 && strcmp(argv[1], "diff") == 0) {
        return sonde__cmd_diff.run(&sonde__cmd_diff, argc - 1, argv + 1);
    }
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (operands.count > 0 && strcmp(operands.list[0], "compile") == 0) {
        return compile(command, &request, &operands);
    }
    return sonde__cli_usage_error(command, "compile or diff? not %s",
                                  operands.count > 0 ? operands.list[0] : "nothing");
}

const struct sonde__cli_command sonde__cmd_audit = {
    .name = "audit",
    .summary = "check the rules of an audit (sonde run --audit), compare audits",
    .usage = "compile RULES [PROGRAM] [-o FILE]\n"
             "diff OLD NEW",
    .about = "compile checks a file of rules and prints what an audit would record: each\n"
             "rule with its severity, pack, class and functions. With PROGRAM, patterns are\n"
             "replaced by the functions of its libraries that match, and other names of the\n"
             "same functions are added (open64, __open_2), as for a run of PROGRAM. Errors\n"
             "have the file, line and column, and what was expected there.\n"
             "\n"
             "With -o the rules and the packs that they use are also written to one file\n"
             "that sonde run --audit takes in place of RULES, and an app for\n"
             "sonde_audit_begin(). It fits every machine: it has names, no addresses.\n"
             "\n"
             "Packs that rules may use: linux-identity, linux-secrets, linux-network,\n"
             "linux-devices, linux-process, apple-required-reason, ios-privacy.\n"
             "docs/guide/audit.md describes the file.\n"
             "\n"
             "diff is sonde diff: the calls that are new or gone between the reports of two\n"
             "builds.",
    .options = options,
    .examples = "  sonde audit compile rules.ini\n"
                "  sonde audit compile rules.ini /usr/bin/curl\n"
                "  sonde audit compile rules.ini -o rules.audit\n"
                "  sonde audit diff --fail-on warning main.sonde branch.sonde\n",
    .run = run,
};
