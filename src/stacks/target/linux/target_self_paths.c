// SPDX-License-Identifier: Apache-2.0
/* Finds the paths of images' files in the kernel. The loader keeps the path that dlopen() was
 * given: it may be relative to an earlier working directory, and does not show that the file was
 * deleted or replaced. Images without a build-id are looked up, too: only this shows whether their
 * path still leads to their file. Sources: proc(5), /proc/PID/maps.
 *
 * Allocates nothing. Context: where self_snapshot_build() may be called. */
#include <fcntl.h>
#include <unistd.h>

#include "base_mem.h"
#include "base_text.h"
#include "target_self_elf.h"

/* A line: less than 100 bytes for its numbers, at most PATH_MAX for its path. */
enum { LINE_BYTES = SELF_PATH_MAX + 128 };

bool self_path_is_asked(const struct sonde__image *image, const char *path)
{
    return (image->flags & SONDE__IMAGE_VDSO) == 0 && (path[0] != '/' || image->build_id.size == 0);
}

static uint64_t read_hex(const char **at, const char *end)
{
    uint64_t value = 0;
    for (; *at < end && sonde__base_hex_digit(**at) < 16; (*at)++) {
        value = value << 4 | sonde__base_hex_digit(**at);
    }
    return value;
}

static bool ends_with(const char *text, size_t size, const char *suffix, size_t suffix_size)
{
    return size >= suffix_size &&
           sonde__base_mem_compare(text + size - suffix_size, suffix, suffix_size) == 0;
}

size_t self_path_undeleted(const char *path, size_t size)
{
    static const char mark[] = " (deleted)";
    return ends_with(path, size, mark, sizeof mark - 1) ? size - (sizeof mark - 1) : size;
}

/* "7f52a81c4000-7f52a81c5000 r--p 00000000 fd:01 1234    /usr/lib/x.so" */
static void take_line(struct self_snapshot *snapshot, const char *line, const char *end)
{
    const char *at = line;
    uint64_t start = read_hex(&at, end);
    size_t size, kept;
    uint64_t stop;
    if (at == end || *at++ != '-') {
        return;
    }
    stop = read_hex(&at, end);
    while (at < end && *at != '/') { /* no field before the path has a slash */
        at++;
    }
    size = (size_t)(end - at);
    if (size == 0 || size >= SELF_PATH_MAX) {
        return;
    }
    kept = self_path_undeleted(at, size);
    for (uint32_t i = 0; i < snapshot->set.image_count; i++) {
        struct sonde__image *image = &snapshot->images[i];
        char *path = snapshot->paths[i];
        if (path != NULL && image->start >= start && image->start < stop) {
            sonde__base_mem_copy(path, at, kept);
            path[kept] = '\0';
            image->path = path;
            image->flags |= kept != size ? (uint32_t)SONDE__IMAGE_DELETED : 0;
        }
    }
}

static bool any_asked(const struct self_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->set.image_count; i++) {
        if (snapshot->paths[i] != NULL) {
            return true;
        }
    }
    return false;
}

void self_snapshot_ask_paths(struct self_snapshot *snapshot)
{
    char text[LINE_BYTES];
    size_t held = 0;
    ssize_t got;
    int fd = !any_asked(snapshot) ? -1 : open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return; /* the loader's paths stay */
    }
    while ((got = read(fd, text + held, sizeof text - held)) > 0) {
        size_t begin = 0, size = held + (size_t)got;
        for (size_t i = held; i < size; i++) {
            if (text[i] == '\n') {
                take_line(snapshot, text + begin, text + i);
                begin = i + 1;
            }
        }
        held = size - begin;
        if (held == sizeof text) {
            held = 0; /* no line is that long: ignore its rest */
        }
        sonde__base_mem_move(text, text + begin, held);
    }
    close(fd);
}
