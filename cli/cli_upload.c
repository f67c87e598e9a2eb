// SPDX-License-Identifier: Apache-2.0
#include "cli_upload.h"

#include <dlfcn.h>
#include <string.h>

#include "cli_library.h"
#include "host_file.h"
#include "host_self.h"
#include "upload_address.h"

#define LIBRARY "libsonde-upload.so.0"

const char *const sonde__cli_upload_policies[] = {"unmetered", "always", "never", NULL};

/* libcurl and what it needs are loaded only by who sends. */
static const struct sonde_upload_transport *load_transport(const struct sonde__cli_command *command)
{
    const struct sonde_upload_transport *(*get)(void) = NULL;
    const char *path = sonde__cli_find_library(LIBRARY, "../upload/");
    void *library = dlopen(path != NULL ? path : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *function = library != NULL ? dlsym(library, "sonde_upload_curl") : NULL;
    if (function == NULL) {
        sonde__cli_error(command, "there is no network without " LIBRARY ": %s", dlerror());
        return NULL;
    }
    memcpy(&get, &function, sizeof get);
    return get();
}

static int read_key(const struct sonde__cli_command *command, const char *file,
                    const char **ret_key)
{
    static char text[SONDE__UPLOAD_KEY_MAX + 64];
    struct sonde_error error = {0};
    size_t size;
    if (file == NULL) {
        *ret_key = sonde__host_environment("SONDE_UPLOAD_KEY");
        return SONDE__CLI_GO_ON;
    }
    enum sonde_status status = sonde__host_file_read(file, text, sizeof text, &size, &error);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, file, status, &error);
    }
    text[strcspn(text, " \t\r\n")] = '\0';
    if (text[0] == '\0') {
        sonde__cli_error(command, "%s: its first line is empty, so there is no key", file);
        return SONDE__CLI_MALFORMED;
    }
    *ret_key = text;
    return SONDE__CLI_GO_ON;
}

int sonde__cli_upload_options(const struct sonde__cli_command *command,
                              const struct sonde__cli_upload *upload,
                              struct sonde_upload_options *ret_options)
{
    struct sonde_upload_options options = {
        .struct_bytes = sizeof options,
        .to = upload->to != NULL ? upload->to : sonde__host_environment("SONDE_UPLOAD_TO"),
        .policy = upload->policy,
        .plain_http = upload->plain_http,
        .timeout_ns = upload->timeout_ns,
    };
    if (options.to == NULL) {
        return sonde__cli_usage_error(command, "no address: --to URL or DSN");
    }
    int exit_code = read_key(command, upload->key_file, &options.key);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (upload->key_file == NULL && strchr(options.to, '@') != NULL) {
        options.key = NULL; /* a DSN has its own; that of the environment is the collector's */
    }
    options.transport = load_transport(command);
    if (options.transport == NULL) {
        return SONDE__CLI_UNSUPPORTED;
    }
    *ret_options = options;
    return SONDE__CLI_GO_ON;
}
