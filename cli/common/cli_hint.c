// SPDX-License-Identifier: Apache-2.0
#include "cli_hint.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_file.h"
#include "mem_heap.h"

enum { PATH_BYTES = 4096, PACKAGE_BYTES = 256, IMAGES_MAX = 4 };

/* Limit for a package's list of files; Debian's largest has 2 MB. */
#define LIST_BYTES_MAX ((uint64_t)64 << 20)

/* --- Debian's packages --- */

/* Is this line in the list? */
static bool has_line(const struct sonde__host_file *list, const char *line)
{
    const char *at = list->data;
    size_t left = list->size;
    size_t size = strlen(line);
    while (at != NULL && left >= size) {
        const char *found = memmem(at, left, line, size);
        if (found == NULL) {
            return false;
        }
        const char *end = (const char *)list->data + list->size;
        bool begins = found == list->data || found[-1] == '\n';
        if (begins && (found + size == end || found[size] == '\n')) {
            return true;
        }
        at = found + 1;
        left = (size_t)(end - at);
    }
    return false;
}

/* "zlib1g:amd64.list" -> "zlib1g". False: not a list. */
static bool package_of_list(const char *name, char *ret_package)
{
    size_t size = strlen(name);
    if (size < 6 || strcmp(name + size - 5, ".list") != 0) {
        return false;
    }
    size = strcspn(name, ":");
    size = name[size] != '\0' ? size : strlen(name) - 5;
    if (size >= PACKAGE_BYTES) {
        return false;
    }
    memcpy(ret_package, name, size);
    ret_package[size] = '\0';
    return true;
}

/* The package of a file, as `dpkg -S` finds it. /lib is /usr/lib now, but lists may have either. */
static bool find_package(const char *root, const char *path, char *ret_package)
{
    char folder_path[PATH_BYTES];
    const struct dirent *item;
    const char *other = strncmp(path, "/usr/", 5) == 0 ? path + 4 : path;
    bool found = false;
    DIR *folder;
    snprintf(folder_path, sizeof folder_path, "%s/var/lib/dpkg/info", root);
    folder = opendir(folder_path);
    while (folder != NULL && !found && (item = readdir(folder)) != NULL) {
        char list_path[PATH_BYTES];
        struct sonde__host_file list;
        int size = snprintf(list_path, sizeof list_path, "/var/lib/dpkg/info/%s", item->d_name);
        if (!package_of_list(item->d_name, ret_package) || size >= PATH_BYTES ||
            sonde__host_file_map(root, list_path, LIST_BYTES_MAX, &list, NULL) != SONDE_OK) {
            continue;
        }
        found = has_line(&list, path) || has_line(&list, other);
        sonde__host_file_unmap(&list);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

/* Some packages keep their older, handmade debug packages instead of automatic ones. */
static void name_debug_package(const char *package, char *ret_name, size_t size)
{
    static const char *const begins[] = {"libpython3.", "python3.", "openjdk-"};
    if (strcmp(package, "libc6") == 0 || strcmp(package, "libc-bin") == 0) {
        snprintf(ret_name, size, "libc6-dbg");
        return;
    }
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        size_t length = strlen(begins[i]);
        if (strncmp(package, begins[i], length) == 0) {
            length += strspn(package + length, "0123456789");
            snprintf(ret_name, size, "%.*s-dbg", (int)length, package);
            return;
        }
    }
    if (strncmp(package, "ceph", 4) == 0) {
        snprintf(ret_name, size, "%s-dbg", package);
        return;
    }
    snprintf(ret_name, size, "%s-dbgsym", package);
}

/* --- servers --- */

static const char *server_of_system(void)
{
    static const char *const known[][2] = {
        {"\nID=debian\n", "https://debuginfod.debian.net"},
        {"\nID=ubuntu\n", "https://debuginfod.ubuntu.com"},
        {"\nID=fedora\n", "https://debuginfod.fedoraproject.org"}};
    char text[4096] = "\n";
    size_t size;
    if (sonde__host_file_read("/etc/os-release", text + 1, sizeof text - 1, &size, NULL) ==
        SONDE_OK) {
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (strstr(text, known[i][0]) != NULL) {
                return known[i][1];
            }
        }
    }
    return "https://debuginfod.elfutils.org";
}

void sonde__cli_hint(const char *root, const char *path, bool network,
                     char ret_text[SONDE__CLI_HINT_BYTES])
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    char package[PACKAGE_BYTES], name[PACKAGE_BYTES + 16];
    int size;
    root = root != NULL && strcmp(root, "/") != 0 ? root : "";
    if (path != NULL && path[0] == '/' && find_package(root, path, package)) {
        name_debug_package(package, name, sizeof name);
        size = snprintf(ret_text, SONDE__CLI_HINT_BYTES, "package %s has them", name);
    } else {
        size = snprintf(ret_text, SONDE__CLI_HINT_BYTES,
                        "--symbols names a folder with its debug file or index");
    }
    if ((urls == NULL || urls[strspn(urls, " \t")] == '\0') && network) {
        snprintf(ret_text + size, SONDE__CLI_HINT_BYTES - (size_t)size,
                 ", or DEBUGINFOD_URLS=%s a server", server_of_system());
    } else if (!network) {
        snprintf(ret_text + size, SONDE__CLI_HINT_BYTES - (size_t)size,
                 "; --no-network: no server was asked");
    }
}

/* --- images of a report --- */

static bool is_nameless(const struct sonde__report_frame *frame)
{
    return frame->image != 0 && frame->name == 0 && frame->lost_count == 0 &&
           frame->kind == SONDE__REPORT_FRAME_PHYSICAL;
}

void sonde__cli_hint_images(const struct sonde__cli_command *command, const char *root,
                            bool network, const struct sonde__report *report)
{
    uint32_t images = sonde__report_image_count(report);
    uint32_t frames = sonde__report_frame_count(report);
    uint32_t *counts = sonde__mem_alloc_zeroed(((size_t)images + 1) * sizeof *counts);
    unsigned said = 0, more = 0;
    if (isatty(STDERR_FILENO) != 1 || counts == NULL) {
        sonde__mem_free(counts);
        return;
    }
    for (uint32_t i = 1; i <= frames; i++) {
        const struct sonde__report_frame *frame = sonde__report_frame(report, i);
        counts[is_nameless(frame) && frame->image <= images ? frame->image : 0]++;
    }
    for (uint32_t i = 1; i <= images; i++) {
        const struct sonde__report_image *image = sonde__report_image(report, i);
        const char *path = sonde__report_text(report, image->path);
        char hint[SONDE__CLI_HINT_BYTES];
        if (counts[i] == 0 || path[0] != '/') {
            continue;
        }
        if (said == IMAGES_MAX) {
            more++;
            continue;
        }
        said++;
        sonde__cli_hint(root, path, network, hint);
        sonde__cli_error(command, "%s: functions without names: %s", path, hint);
    }
    if (more != 0) {
        sonde__cli_error(command, "%u more image%s functions without names", more,
                         more == 1 ? " has" : "s have");
    }
    sonde__mem_free(counts);
}
