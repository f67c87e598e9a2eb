// SPDX-License-Identifier: Apache-2.0
/* sonde-collector key: make, list and revoke keys. */
#include <inttypes.h>
#include <string.h>

#include "cmd.h"
#include "collector.h"

struct request {
    const char *data, *database, *project, *label;
    unsigned role;
};

static const struct sonde__cli_option options[] = {
    COLLECTOR_OPTION_CONFIG,
    COLLECTOR_OPTION_DATA(struct request, data),
    COLLECTOR_OPTION_DATABASE(struct request, database),
    {"project", 'p', "NAME", "with add: of this project only; needed for ingest",
     sonde__cli_take_text, offsetof(struct request, project)},
    {"role", 'r', "ROLE", "with add: ingest, read (the default), write or admin",
     sonde__cli_take_word, offsetof(struct request, role), 0, 0, collector_roles},
    {"label", 'l', "TEXT", "with add: what it is for", sonde__cli_take_text,
     offsetof(struct request, label)},
    {0}};

static void print_key(void *ctx, const struct store_key *key)
{
    (void)ctx;
    printf("%-5" PRId64 "%-8s%-10s%-9s%s\n", key->number, collector_roles[key->role],
           key->project == 0 ? "all" : "one", key->revoked_ns != 0 ? "revoked" : "valid",
           key->label);
}

static int add(const struct sonde__cli_command *command, struct store *store,
               const struct request *request)
{
    char what[STORE_NAME_MAX + 16], secret[IDS_SECRET_TEXT];
    uint32_t project = 0;
    if (request->project != NULL) {
        enum store_status status = store_find_project(store, request->project, &project);
        snprintf(what, sizeof what, "project %.*s", STORE_NAME_MAX, request->project);
        if (status != STORE_OK) {
            return collector_fail(command, what, status);
        }
    }
    if (project == 0 && request->role == STORE_INGEST) {
        return sonde__cli_usage_error(command, "an ingest key is for one --project");
    }
    int exit_code = collector_make_key(command, store, project, (enum store_role)request->role,
                                       request->label != NULL ? request->label : "", secret);
    if (exit_code == SONDE__CLI_OK) {
        puts(secret);
    }
    return exit_code;
}

static int revoke(const struct sonde__cli_command *command, struct store *store, const char *text)
{
    uint64_t number;
    char what[64];
    if (!sonde__cli_parse_uint(text, INT64_MAX, &number)) {
        return sonde__cli_usage_error(command, "not the number of a key: %s", text);
    }
    snprintf(what, sizeof what, "valid key %" PRIu64, number);
    enum store_status status = store_revoke_key(store, (int64_t)number, collector_now_ns());
    return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, what, status);
}

static int act(const struct sonde__cli_command *command, struct store *store,
               const struct request *request, const struct sonde__cli_operands *operands)
{
    const char *verb = operands->count > 0 ? operands->list[0] : "list";
    if (strcmp(verb, "add") == 0 && operands->count == 1) {
        return add(command, store, request);
    }
    if (strcmp(verb, "revoke") == 0 && operands->count == 2) {
        return revoke(command, store, operands->list[1]);
    }
    if (strcmp(verb, "list") == 0 && operands->count <= 1) {
        enum store_status status = store_keys(store, print_key, NULL);
        return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, "list", status);
    }
    return sonde__cli_usage_error(command, "takes add, list, or revoke NUMBER");
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.data = COLLECTOR_DATA, .role = STORE_READ};
    struct sonde__cli_operands operands;
    struct store *store;
    int exit_code = collector_parse(command, argc, argv, &request, &operands);
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = collector_open_store(command, request.data, request.database, &store);
    }
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    exit_code = act(command, store, &request, &operands);
    store_close(store);
    return exit_code;
}

const struct sonde__cli_command collector_cmd_key = {
    .name = "key",
    .summary = "make, list and revoke keys",
    .usage = "[OPTION...] add\n[--data=DIR] [list]\n[--data=DIR] revoke NUMBER",
    .about = "A key says who may do what: ingest (send reports to one project), read, write\n"
             "(also change the state of groups), admin (also keys and projects). Keys with\n"
             "--project are for that project only. The secret is printed once; the collector\n"
             "keeps its hash. A revoked key is refused from then on, also by a server that\n"
             "runs (within a second).\n",
    .options = options,
    .examples = "  sonde-collector key add --project web --role ingest --label phones\n"
                "  sonde-collector key revoke 3\n",
    .environment = "SONDE_COLLECTOR_",
    .run = run,
};
