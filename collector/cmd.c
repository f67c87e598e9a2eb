// SPDX-License-Identifier: Apache-2.0
#include "cmd.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "collector.h"

const char *const collector_roles[] = {"", "ingest", "read", "write", "admin", NULL};

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

int collector_open_store(const struct sonde__cli_command *command, const char *data,
                         const char *database, struct store **ret_store)
{
    if (database != NULL) {
        return open_shared(command, database, ret_store);
    }
    char path[4096];
    struct stat file;
    struct sonde_error error = {0};
    snprintf(path, sizeof path, "%s/collector.db", data);
    if (stat(path, &file) != 0) {
        sonde__cli_error(command,
                         "%s: %s (sonde-collector serve makes it; --data names the folder)", path,
                         strerror(errno));
        return SONDE__CLI_ABSENT;
    }
    if (store_open(data, NULL, ret_store, &error) != STORE_OK) {
        sonde__cli_error(command, "%s: %s", path, error.what);
        return SONDE__CLI_FAILED;
    }
    return SONDE__CLI_GO_ON;
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

int collector_make_key(const struct sonde__cli_command *command, struct store *store,
                       uint32_t project, enum store_role role, const char *label,
                       char ret_secret[IDS_SECRET_TEXT])
{
    struct store_key key = {.project = project, .role = role, .made_ns = collector_now_ns()};
    int64_t number;
    if (!ids_make_secret(role == STORE_INGEST ? "sni_" : "snt_", ret_secret)) {
        sonde__cli_error(command, "the system gives no random numbers");
        return SONDE__CLI_FAILED;
    }
    key.hash = ids_hash(ret_secret, strlen(ret_secret));
    snprintf(key.label, sizeof key.label, "%s", label);
    enum store_status status = store_add_key(store, &key, &number);
    return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, "key", status);
}
