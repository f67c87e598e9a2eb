// SPDX-License-Identifier: Apache-2.0
#include "cli_upload.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_library.h"
#include "host_file.h"
#include "host_folder.h"
#include "host_library.h"
#include "host_process.h"
#include "host_run.h"
#include "host_self.h"
#include "upload_folder.h"
#include "upload_sender.h"

const char *const sonde__cli_upload_policies[] = {"unmetered", "always", "never", NULL};

static const char *find_library(void)
{
    const char *name = sonde__host_library_names[SONDE__HOST_UPLOAD].names[0];
    return name != NULL ? sonde__cli_find_library(name, "../upload/") : NULL;
}

/* libcurl and its dependencies are loaded only to send. */
static const struct sonde_upload_transport *load_transport(const struct sonde__cli_command *command)
{
    const struct sonde_upload_transport *(*get)(void) = NULL;
    const struct sonde__host_library_name *upload = &sonde__host_library_names[SONDE__HOST_UPLOAD];
    const char *path = find_library();
    if (upload->names[0] == NULL) {
        sonde__cli_error(command, "there is no network without %s", upload->text);
        return NULL;
    }
    void *library = dlopen(path != NULL ? path : upload->names[0], RTLD_NOW | RTLD_LOCAL);
    void *function = library != NULL ? dlsym(library, "sonde_upload_curl") : NULL;
    if (function == NULL) {
        sonde__cli_error(command, "there is no network without %s: %s", upload->text, dlerror());
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
        options.key = NULL; /* a DSN has its own key; the environment's is for collectors */
    }
    options.transport = load_transport(command);
    if (options.transport == NULL) {
        return SONDE__CLI_UNSUPPORTED;
    }
    *ret_options = options;
    return SONDE__CLI_GO_ON;
}

/* Report why earlier background senders failed: nobody saw their output. */
static void print_state(const struct sonde__cli_command *command, const char *path,
                        const struct sonde__upload_address *address)
{
    struct sonde__upload_state state;
    int32_t folder;
    if (sonde__host_folder_open(path, false, &folder, NULL) != SONDE_OK) {
        return;
    }
    sonde__upload_load(folder, SONDE__UPLOAD_STATE, &state);
    sonde__host_close(folder);
    if (state.tries > 0 && strcmp(state.to, address->shown) == 0) {
        sonde__cli_error(command, "%s: reports wait there to be sent: %s (%u tries)", path,
                         state.why, (unsigned)state.tries);
    }
}

static bool check_address(const struct sonde__cli_command *command, const char *text,
                          struct sonde__upload_address *ret_address)
{
    struct sonde_error error = {0};
    enum sonde_status status = sonde__upload_address_read(text, NULL, ret_address, &error);
    if (status != SONDE_OK) {
        (void)sonde__cli_fail(command, "--upload", status, &error);
        return false;
    }
    if (ret_address->is_plain && !ret_address->is_here) {
        sonde__cli_error(command,
                         "%s: http:// to another machine can be read on the way: use "
                         "https://",
                         ret_address->shown);
        return false;
    }
    return true;
}

bool sonde__cli_upload_later(const struct sonde__cli_command *command,
                             const struct sonde__cli_upload *upload, const char *folder,
                             const char *const **ret_argv)
{
    static char self[4096], to[SONDE__UPLOAD_URL_MAX + 8], policy[32], key[PATH_MAX + 16];
    static const char *argv[9] = {self, "upload", "--background", to, policy};
    char key_file[PATH_MAX];
    unsigned count = 5;
    struct sonde__upload_address address;
    if (!check_address(command, upload->to, &address)) {
        return false;
    }
    if (upload->key_file != NULL && realpath(upload->key_file, key_file) == NULL) {
        (void)sonde__cli_fail_os(command, upload->key_file, errno);
        return false;
    }
    if (find_library() == NULL && load_transport(command) == NULL) {
        return false;
    }
    if (!sonde__host_executable(getpid(), self, sizeof self)) {
        sonde__cli_error(command, "the path of this program is not known");
        return false;
    }
    snprintf(to, sizeof to, "--to=%s", upload->to);
    snprintf(policy, sizeof policy, "--policy=%s", sonde__cli_upload_policies[upload->policy]);
    if (upload->key_file != NULL) {
        snprintf(key, sizeof key, "--key-file=%s", key_file);
        argv[count++] = key;
    }
    argv[count++] = "--";
    argv[count] = folder;
    print_state(command, folder, &address);
    *ret_argv = argv;
    return true;
}
