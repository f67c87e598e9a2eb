// SPDX-License-Identifier: Apache-2.0
#include "cmd.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "collector.h"

static int open_shared(const struct sonde__cli_command *command, const char *database,
                       struct store **ret_store)
{
    struct sonde_error error = {0};
    if (store_open(NULL, database, ret_store, &error) != STORE_OK) {
        sonde__cli_error(command, "--database: %s", error.what);
        return SONDE__CLI_FAILED;
    }
    return SONDE__CLI_GO_ON;
}

static int open_store(const struct sonde__cli_command *command, const struct collector_where *where,
                      struct store **ret_store)
{
    if (where->database != NULL) {
        return open_shared(command, where->database, ret_store);
    }
    char path[4096];
    struct stat file;
    struct sonde_error error = {0};
    snprintf(path, sizeof path, "%s/collector.db", where->data);
    if (stat(path, &file) != 0) {
        sonde__cli_error(command,
                         "%s: %s (sonde-collector serve makes it; --data names the folder)", path,
                         strerror(errno));
        return SONDE__CLI_ABSENT;
    }
    if (store_open(where->data, NULL, ret_store, &error) != STORE_OK) {
        sonde__cli_error(command, "%s: %s", path, error.what);
        return SONDE__CLI_FAILED;
    }
    return SONDE__CLI_GO_ON;
}

int collector_run(const struct sonde__cli_command *command, int argc, char **argv,
                  struct collector_where *where, collector_act *act)
{
    struct sonde__cli_operands operands;
    struct store *store;
    int exit_code = collector_parse(command, argc, argv, where, &operands);
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = open_store(command, where, &store);
    }
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    exit_code = act(command, store, where, &operands);
    store_close(store);
    return exit_code;
}

int collector_find_project(const struct sonde__cli_command *command, struct store *store,
                           const char *name, uint32_t *ret_project)
{
    char what[STORE_NAME_MAX + 16];
    enum store_status status = store_find_project(store, name, ret_project);
    snprintf(what, sizeof what, "project %.*s", STORE_NAME_MAX, name);
    return status == STORE_OK ? SONDE__CLI_GO_ON : collector_fail(command, what, status);
}

int collector_fail(const struct sonde__cli_command *command, const char *what,
                   enum store_status status)
{
    static const char *const texts[] = {
        [STORE_ABSENT] = "there is none", [STORE_KNOWN] = "it is there already"};
    bool has_text = status == STORE_ABSENT || status == STORE_KNOWN;
    sonde__cli_error(command, "%s: %s", what, has_text ? texts[status] : store_error());
    return status == STORE_ABSENT ? SONDE__CLI_ABSENT : SONDE__CLI_FAILED;
}

int collector_make_secret(const struct sonde__cli_command *command, enum store_role role,
                          char ret_secret[IDS_SECRET_TEXT])
{
    if (!ids_make_secret(role == STORE_INGEST ? "sni_" : "snt_", ret_secret)) {
        sonde__cli_error(command, "the system gives no random numbers");
        return SONDE__CLI_FAILED;
    }
    return SONDE__CLI_OK;
}

int collector_make_key(const struct sonde__cli_command *command, struct store *store,
                       uint32_t project, enum store_role role, const char *label,
                       char ret_secret[IDS_SECRET_TEXT])
{
    struct store_key key = {.project = project, .role = role, .made_ns = collector_now_ns()};
    int64_t number;
    int exit_code = collector_make_secret(command, role, ret_secret);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    key.hash = ids_hash(ret_secret, strlen(ret_secret));
    snprintf(key.label, sizeof key.label, "%s", label);
    enum store_status status = store_add_key(store, &key, &number);
    return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, "key", status);
}
