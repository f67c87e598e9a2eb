// SPDX-License-Identifier: Apache-2.0
/* sonde-collector key: make, list, revoke and rotate keys. */
#include <inttypes.h>
#include <string.h>

#include "cmd.h"
#include "collector.h"

struct request {
    struct collector_where where;
    const char *project, *label;
    unsigned role;
};

static const struct sonde__cli_option options[] = {
    COLLECTOR_OPTION_CONFIG,
    COLLECTOR_OPTION_DATA(struct request, where.data),
    COLLECTOR_OPTION_DATABASE(struct request, where.database),
    {"project", 'p', "NAME", "with add: of this project only; needed for ingest",
     sonde__cli_take_text, offsetof(struct request, project)},
    {"role", 'r', "ROLE", "with add: ingest, read (the default), write or admin",
     sonde__cli_take_word, offsetof(struct request, role), 0, 0, store_roles},
    {"label", 'l', "TEXT", "with add: what it is for", sonde__cli_take_text,
     offsetof(struct request, label)},
    {0}};

static void print_key(void *ctx, const struct store_key *key, const char *project)
{
    (void)ctx;
    printf("%-5" PRId64 "%-8s%-9s%s%s%s\n", key->number, store_roles[key->role],
           key->revoked_ns != 0 ? "revoked" : "valid", key->project == 0 ? "*" : project,
           key->label[0] != '\0' ? "  " : "", key->label);
}

/* It is printed in lines of lists. */
static bool is_label(const char *text)
{
    size_t size = 0;
    while (size <= STORE_NAME_MAX && (unsigned char)text[size] >= ' ' && text[size] != 0x7f) {
        size++;
    }
    return size <= STORE_NAME_MAX && text[size] == '\0';
}

static int add(const struct sonde__cli_command *command, struct store *store,
               const struct request *request)
{
    char secret[IDS_SECRET_TEXT];
    uint32_t project = 0;
    int exit_code = request->project != NULL
                        ? collector_find_project(command, store, request->project, &project)
                        : SONDE__CLI_GO_ON;
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (request->label != NULL && !is_label(request->label)) {
        return sonde__cli_usage_error(
            command, "--label: not at most %d bytes without control characters", STORE_NAME_MAX);
    }
    if (project == 0 && request->role == STORE_INGEST) {
        return sonde__cli_usage_error(command, "an ingest key is for one --project");
    }
    exit_code = collector_make_key(command, store, project, (enum store_role)request->role,
                                   request->label != NULL ? request->label : "", secret);
    if (exit_code == SONDE__CLI_OK) {
        puts(secret);
    }
    return exit_code;
}

static int revoke(const struct sonde__cli_command *command, struct store *store, uint64_t number,
                  const char *what)
{
    enum store_status status = store_revoke_key(store, (int64_t)number, collector_now_ns());
    return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, what, status);
}

struct finding {
    int64_t number;
    enum store_role role; /* 0: there is no such key */
};

static void find_role(void *ctx, const struct store_key *key, const char *project)
{
    struct finding *finding = ctx;
    (void)project;
    if (key->number == finding->number && key->revoked_ns == 0) {
        finding->role = key->role;
    }
}

static int rotate(const struct sonde__cli_command *command, struct store *store, uint64_t number,
                  const char *what)
{
    char secret[IDS_SECRET_TEXT];
    int64_t made;
    struct finding finding = {.number = (int64_t)number};
    enum store_status status = store_keys(store, find_role, &finding);
    if (status == STORE_OK && finding.role == 0) {
        status = STORE_ABSENT;
    }
    if (status != STORE_OK) {
        return collector_fail(command, what, status);
    }
    int exit_code = collector_make_secret(command, finding.role, secret);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    const struct hash hash = ids_hash(secret, strlen(secret));
    status = store_rotate_key(store, finding.number, &hash, collector_now_ns(), &made);
    if (status != STORE_OK) {
        return collector_fail(command, what, status);
    }
    puts(secret);
    return SONDE__CLI_OK;
}

/* revoke NUMBER, or rotate NUMBER. */
static int change(const struct sonde__cli_command *command, struct store *store, const char *verb,
                  const char *text)
{
    uint64_t number;
    char what[64];
    if (!sonde__cli_parse_uint(text, INT64_MAX, &number)) {
        return sonde__cli_usage_error(command, "not the number of a key: %s", text);
    }
    snprintf(what, sizeof what, "valid key %" PRIu64, number);
    return strcmp(verb, "revoke") == 0 ? revoke(command, store, number, what)
                                       : rotate(command, store, number, what);
}

static int act(const struct sonde__cli_command *command, struct store *store, const void *ctx,
               const struct sonde__cli_operands *operands)
{
    const struct request *request = ctx;
    const char *verb = operands->count > 0 ? operands->list[0] : "list";
    if (strcmp(verb, "add") == 0 && operands->count == 1) {
        return add(command, store, request);
    }
    bool is_change = strcmp(verb, "revoke") == 0 || strcmp(verb, "rotate") == 0;
    if (is_change && operands->count == 2) {
        return change(command, store, verb, operands->list[1]);
    }
    if (strcmp(verb, "list") == 0 && operands->count <= 1) {
        enum store_status status = store_keys(store, print_key, NULL);
        return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, "list", status);
    }
    return sonde__cli_usage_error(command, "takes add, list, revoke NUMBER, or rotate NUMBER");
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.where.data = COLLECTOR_DATA, .role = STORE_READ};
    return collector_run(command, argc, argv, &request.where, act);
}

const struct sonde__cli_command collector_cmd_key = {
    .name = "key",
    .summary = "make, list, revoke and rotate keys",
    .usage = "[OPTION...] add\n[--data=DIR] [list]\n[--data=DIR] revoke NUMBER\n[--data=DIR] "
             "rotate NUMBER",
    .about = "A key says who may do what: ingest (send reports to one project), read, write\n"
             "(also change the state of groups), admin (also keys and projects). Keys with\n"
             "--project are for that project only. The secret is printed once; the collector\n"
             "keeps its hash. A revoked key is refused from then on, also by a server that\n"
             "runs (within a second). rotate revokes a key and makes another one for the same\n"
             "project, with the same role and label, whose secret it prints; to have both for a\n"
             "while, add one first, and revoke later.\n",
    .options = options,
    .examples = "  sonde-collector key add --project web --role ingest --label phones\n"
                "  sonde-collector key revoke 3\n"
                "  sonde-collector key rotate 2\n",
    .environment = "SONDE_COLLECTOR_",
    .run = run,
};
