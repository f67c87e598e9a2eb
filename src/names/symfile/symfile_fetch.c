// SPDX-License-Identifier: Apache-2.0
/* Source: debuginfod.h of elfutils 0.179 and later; debuginfod_find_debuginfo(3). */
#include "symfile_fetch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_clock.h"
#include "host_library.h"
#include "symfile_kept.h"

/* Shorter ids were set by hand instead of computed from the contents. */
enum { BUILD_ID_BYTES_MIN = 8 };
enum { SAY_BYTES = 1024 };

struct debuginfod_client; /* the library's */

static struct {
    struct debuginfod_client *(*begin)(void);
    void (*end)(struct debuginfod_client *client);
    int (*find)(struct debuginfod_client *client, const unsigned char *id, int id_bytes,
                char **ret_path);
    void (*set_progress)(struct debuginfod_client *client,
                         int (*progress)(struct debuginfod_client *client, long a, long b));
    void (*set_user_data)(struct debuginfod_client *client, void *data);
    void *(*user_data)(struct debuginfod_client *client);
} library;

static void print(struct sonde__symfile_fetch *fetch, const char *what)
{
    if (fetch->print != NULL) {
        fetch->print(fetch->ctx, what);
    }
}

static bool load(const char *name, void *ret_function)
{
    return sonde__host_library_find != NULL &&
           sonde__host_library_find(SONDE__HOST_DEBUGINFOD, name, ret_function);
}

static bool load_library(void)
{
    return load("debuginfod_begin", &library.begin) && load("debuginfod_end", &library.end) &&
           load("debuginfod_find_debuginfo", &library.find) &&
           load("debuginfod_set_progressfn", &library.set_progress) &&
           load("debuginfod_set_user_data", &library.set_user_data) &&
           load("debuginfod_get_user_data", &library.user_data);
}

bool symfile_fetched_path(const struct sonde__build_id *id, unsigned i, char *ret_path)
{
    const char *folder = getenv("DEBUGINFOD_CACHE_PATH");
    const char *home = getenv("HOME");
    char text[SONDE__SYMFILE_ID_TEXT];
    char name[sizeof text + 64];
    int size;
    if (id->size < BUILD_ID_BYTES_MIN) {
        return false;
    }
    sonde__symfile_id_text(id, text);
    if (folder != NULL && folder[0] == '/') {
        size = snprintf(ret_path, SONDE__SYMFILE_KEPT_PATH, "%s/%s/debuginfo", folder, text);
        return i == 0 && size > 0 && size < SONDE__SYMFILE_KEPT_PATH;
    }
    if (i == 0) {
        snprintf(name, sizeof name, "debuginfod_client/%s/debuginfo", text);
        return symfile_cache_file(name, ret_path);
    }
    if (home == NULL || home[0] != '/') { /* elfutils before 0.182 */
        return false;
    }
    size = snprintf(ret_path, SONDE__SYMFILE_KEPT_PATH, "%s/.debuginfod_client_cache/%s/debuginfo",
                    home, text);
    return size > 0 && size < SONDE__SYMFILE_KEPT_PATH;
}

/* done, total: bytes, once a server answers. While the size is unknown, `total` is 0 and `done` may
 * be a count of calls, at least one per second. Returns != 0 to stop. */
static int progress(struct debuginfod_client *client, long done, long total)
{
    struct sonde__symfile_fetch *fetch = library.user_data(client);
    uint64_t now = sonde__host_monotonic_ns();
    uint64_t bytes = done > 0 ? (uint64_t)done : 0;
    uint64_t most = total > done ? (uint64_t)total : bytes;
    if (bytes != fetch->done && (total > 0 || bytes > fetch->done + 1)) {
        fetch->moved_ns = now; /* more than a count of calls */
    }
    fetch->done = bytes;
    if (fetch->step != NULL) {
        fetch->step(fetch->ctx, bytes, total > 0 ? (uint64_t)total : 0);
    }
    fetch->too_large = fetch->bytes_max != 0 && most > fetch->bytes_max;
    fetch->silent = now - fetch->moved_ns > fetch->idle_ns;
    return fetch->too_large || fetch->silent;
}

/* Fetch a file with the library and wait for it. */
static bool ask(struct sonde__symfile_fetch *fetch, const struct sonde__build_id *id,
                char *ret_path)
{
    struct debuginfod_client *client = library.begin();
    char *path = NULL;
    int fd, size = 0;
    if (client == NULL) {
        return false;
    }
    fetch->moved_ns = sonde__host_monotonic_ns();
    fetch->done = 0;
    fetch->too_large = fetch->silent = false;
    library.set_user_data(client, fetch);
    library.set_progress(client, progress);
    fd = library.find(client, id->bytes, id->size, &path);
    if (fetch->end != NULL) {
        fetch->end(fetch->ctx);
    }
    fetch->failure = fd < 0 ? -fd : 0;
    if (fd >= 0) {
        close(fd);
        size = path != NULL ? snprintf(ret_path, SONDE__SYMFILE_KEPT_PATH, "%s", path) : 0;
        free(path);
    }
    library.end(client);
    return fd >= 0 && size > 0 && size < SONDE__SYMFILE_KEPT_PATH;
}

bool symfile_fetch(struct sonde__symfile_fetch *fetch, const struct sonde__build_id *id,
                   char *ret_path)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (!fetch->network || fetch->gave_up || urls == NULL || urls[strspn(urls, " \t")] == '\0' ||
        id->size < BUILD_ID_BYTES_MIN) {
        return false;
    }
    if (!fetch->loaded && !load_library()) {
        char text[SAY_BYTES];
        fetch->gave_up = true;
        snprintf(text, sizeof text, "DEBUGINFOD_URLS names servers, but %s is not here to ask them",
                 sonde__host_library_names[SONDE__HOST_DEBUGINFOD].text);
        print(fetch, text);
        return false;
    }
    fetch->loaded = true;
    if (ask(fetch, id, ret_path)) {
        return true;
    }
    if (fetch->silent) {
        fetch->gave_up = true;
        print(fetch, "the servers of DEBUGINFOD_URLS do not answer: none is asked any more");
    } else if (fetch->too_large) {
        print(fetch, "a debug file of the servers of DEBUGINFOD_URLS is too large: it is left out");
    } else if (fetch->failure != ENOENT &&
               !fetch->printed_failure) { /* these mean that the servers do not have it */
        char text[SAY_BYTES];
        fetch->printed_failure = true;
        snprintf(text, sizeof text,
                 "DEBUGINFOD_URLS=%s: %s: debug files that it may have are missing", urls,
                 strerror(fetch->failure));
        print(fetch, text);
    }
    return false;
}

void symfile_fetch_refuse(struct sonde__symfile_fetch *fetch, const char *path)
{
    (void)unlink(path);
    print(fetch,
          "a server of DEBUGINFOD_URLS sent another file than it was asked for, or a damaged "
          "one: it is not used");
}
