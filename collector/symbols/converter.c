// SPDX-License-Identifier: Apache-2.0
#include "converter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base_status.h"
#include "host_file.h"
#include "image_macho.h"
#include "inflate.h"
#include "jail.h"
#include "mem_heap.h"
#include "symfile_index_file.h"
#include "symfile_kept.h"
#include "symindex_convert.h"
#include "zip.h"

/* The largest debug files of today have a few gigabytes; their indexes a thirtieth of that. */
#define INPUT_MAX     ((uint64_t)64 << 30)
#define OUTPUT_MAX    ((uint64_t)2 << 30)
#define CPU_SECONDS   600
#define ZIP_TOTAL_MAX ((uint64_t)8 << 30)

struct converter {
    uint64_t at; /* in the output */
    unsigned parts;
    bool failed; /* to write */
};

/* --- what it says --- */

/* Text of a line: no tab, newline or other control character. */
static void clean(char *text)
{
    for (; *text != '\0'; text++) {
        *text = (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text;
    }
}

static void say_line(struct converter *c, const char *line, int size)
{
    c->failed = c->failed || size < 0 || size >= CONVERTER_LINE_MAX ||
                write(STDOUT_FILENO, line, (size_t)size) != size;
}

static void leave(struct converter *c, const char *name, const char *why)
{
    char line[CONVERTER_LINE_MAX], reason[400], short_name[400];
    snprintf(reason, sizeof reason, "%s", why);
    snprintf(short_name, sizeof short_name, "%s", name);
    clean(reason);
    clean(short_name);
    say_line(c, line, snprintf(line, sizeof line, "left\t%s\t%s\n", reason, short_name));
}

static bool write_all(const uint8_t *bytes, size_t size, uint64_t at)
{
    while (size > 0) {
        ssize_t done = pwrite(CONVERTER_OUTPUT_FD, bytes, size, (off_t)at);
        if (done < 0 && errno != EINTR) {
            return false;
        }
        bytes += done > 0 ? done : 0;
        at += done > 0 ? (uint64_t)done : 0;
        size -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static const char *arch_text(uint32_t arch)
{
    return arch == 1 ? "x86_64" : arch == 2 ? "aarch64" : "other";
}

/* Give an index whose header was read. */
static void give(struct converter *c, const struct sonde__symindex *index, bool is_debug,
                 const char *name)
{
    char line[CONVERTER_LINE_MAX], id[SONDE__SYMFILE_ID_TEXT], short_name[400];
    if (index->build_id.size == 0) {
        leave(c, name, "it has no build-id or UUID, so no report can refer to it");
        return;
    }
    if (!write_all(index->file, index->size, c->at)) {
        leave(c, name, "its index is too large, or the disk is full");
        return;
    }
    sonde__symfile_id_text(&index->build_id, id);
    snprintf(short_name, sizeof short_name, "%s", name);
    clean(short_name);
    say_line(c, line,
             snprintf(line, sizeof line, "made\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%u\t%u\t%d\t%s\n",
                      id, arch_text(index->arch), c->at, index->size, index->units,
                      index->bad_units, is_debug, short_name));
    c->at = (c->at + index->size + CONVERTER_ALIGN - 1) & ~(CONVERTER_ALIGN - 1);
}

static void fail(struct converter *c, const char *name, enum sonde_status status,
                 const struct sonde_error *error)
{
    char text[300];
    snprintf(text, sizeof text, "%s",
             error->what[0] != '\0' ? error->what : sonde_status_text(status));
    leave(c, name, text);
}

/* --- kinds of files --- */

static void take_index(struct converter *c, const void *bytes, size_t size, const char *name)
{
    struct sonde__symindex index;
    struct sonde_error error = {0};
    enum sonde_status status = sonde__symindex_open(bytes, size, &index, &error);
    if (status != SONDE_OK) {
        fail(c, name, status, &error);
    } else if (!sonde__symindex_intact(&index)) {
        leave(c, name, "a damaged index: the checksum of a section is wrong");
    } else {
        give(c, &index, false, name);
    }
}

static void take_elf(struct converter *c, const void *bytes, size_t size, const char *name)
{
    static char nowhere[] = "/";
    static const struct sonde__symfile_making making = {.threads = 1};
    const struct sonde__symfile_options options = {.making = &making};
    struct sonde__symfile_index_file made;
    struct sonde__symfile_pair pair = {.own_path = nowhere, .debug_path = nowhere};
    struct sonde_error error = {0};
    enum sonde_status status = sonde__elf_open(bytes, size, &pair.own, &error);
    if (status == SONDE_OK) {
        pair.debug = pair.own;
        status = sonde__symfile_index_make(&options, &pair, &made, &error);
    }
    if (status != SONDE_OK) {
        fail(c, name, status, &error);
        return;
    }
    give(c, &made.index, symfile_has_debug_information(&pair.debug), name);
    sonde__symfile_index_file_close(&made);
}

struct slices {
    struct converter *converter;
    const char *name;
};

static bool take_slice(void *ctx, const struct sonde__macho_member *member)
{
    const struct slices *slices = ctx;
    struct sonde__macho macho;
    struct sonde__symindex_made made;
    struct sonde__symindex index;
    struct sonde_error error = {0};
    if (member->name != NULL) {
        leave(slices->converter, slices->name, "an archive of object files, which have no UUIDs");
        return false;
    }
    enum sonde_status status = sonde__macho_open(member->data, member->size, &macho, &error);
    if (status == SONDE_OK) {
        const struct sonde__symindex_source source = {.macho_debug = &macho, .threads = 1};
        status = sonde__symindex_convert(&source, &made, &error);
    }
    if (status != SONDE_OK) {
        fail(slices->converter, slices->name, status, &error);
        return true;
    }
    status = sonde__symindex_open(made.data, made.size, &index, &error);
    if (status == SONDE_OK) {
        give(slices->converter, &index, false, slices->name);
    } else {
        fail(slices->converter, slices->name, status, &error);
    }
    sonde__mem_free(made.data);
    return ++slices->converter->parts < CONVERTER_PARTS_MAX;
}

static void take_macho(struct converter *c, const void *bytes, size_t size, const char *name)
{
    struct slices slices = {c, name};
    struct sonde_error error = {0};
    enum sonde_status status = sonde__macho_each(bytes, size, take_slice, &slices, &error);
    if (status != SONDE_OK) {
        fail(c, name, status, &error);
    }
}

static void take(struct converter *c, const void *bytes, size_t size, const char *name);

static void take_breakpad(struct converter *c, const void *bytes, size_t size, const char *name)
{
    struct sonde__breakpad file;
    struct sonde__symindex_made made;
    struct sonde__symindex index;
    struct sonde_error error = {0};
    enum sonde_status status = sonde__breakpad_open(bytes, size, &file, &error);
    if (status == SONDE_OK) {
        const struct sonde__symindex_source source = {.breakpad = &file, .threads = 1};
        status = sonde__symindex_convert(&source, &made, &error);
    }
    if (status == SONDE_OK) {
        status = sonde__symindex_open(made.data, made.size, &index, &error);
        if (status == SONDE_OK) {
            give(c, &index, false, name);
        }
        sonde__mem_free(made.data);
    }
    if (status != SONDE_OK) {
        fail(c, name, status, &error);
    }
}

/* --- archives --- */

enum kind { KIND_NONE, KIND_INDEX, KIND_ELF, KIND_MACHO, KIND_BREAKPAD, KIND_ZIP };

static enum kind kind_of(const void *bytes, size_t size)
{
    if (size >= SYMINDEX_MAGIC_BYTES && memcmp(bytes, SYMINDEX_MAGIC, SYMINDEX_MAGIC_BYTES) == 0) {
        return KIND_INDEX;
    }
    if (size >= 4 && memcmp(bytes, "\177ELF", 4) == 0) {
        return KIND_ELF;
    }
    return sonde__macho_begins(bytes, size)      ? KIND_MACHO
           : sonde__breakpad_begins(bytes, size) ? KIND_BREAKPAD
           : zip_begins(bytes, size)             ? KIND_ZIP
                                                 : KIND_NONE;
}

/* What is beside the symbols of a bundle needs no word; an archive in an archive does. */
static bool wants_file(void *ctx, const char *name, const void *head, size_t size)
{
    enum kind kind = kind_of(head, size);
    if (kind == KIND_ZIP) {
        leave(ctx, name, "an archive in an archive is not read");
    }
    return kind != KIND_NONE && kind != KIND_ZIP;
}

static bool take_file(void *ctx, const char *name, const void *bytes, size_t size)
{
    struct converter *c = ctx;
    take(c, bytes, size, name);
    return c->parts < CONVERTER_PARTS_MAX;
}

static void leave_file(void *ctx, const char *name, const char *why)
{
    leave(ctx, name, why);
}

static void take_zip(struct converter *c, const void *bytes, size_t size)
{
    const struct zip_reader reader = {ZIP_TOTAL_MAX, wants_file, take_file, leave_file, c};
    const char *why = zip_each(bytes, size, &reader);
    if (why != NULL) {
        leave(c, "", why);
    }
}

/* A file, or a part of an archive. */
static void take(struct converter *c, const void *bytes, size_t size, const char *name)
{
    c->parts++;
    switch (kind_of(bytes, size)) {
    case KIND_INDEX:
        take_index(c, bytes, size, name);
        break;
    case KIND_ELF:
        take_elf(c, bytes, size, name);
        break;
    case KIND_MACHO:
        take_macho(c, bytes, size, name);
        break;
    case KIND_BREAKPAD:
        take_breakpad(c, bytes, size, name);
        break;
    case KIND_ZIP:
        take_zip(c, bytes, size);
        break;
    case KIND_NONE:
        leave(c, name,
              "not a symbol file: an ELF, a Mach-O, a Breakpad .sym, an index of sonde, or a zip "
              "of such files is expected");
    }
}

/* --- the process --- */

/* Load the libraries of compressed sections, which cannot be opened later. */
static void load_libraries(void)
{
    static const enum sonde__inflate_kind kinds[] = {SONDE__INFLATE_ZLIB, SONDE__INFLATE_ZSTD,
                                                     SONDE__INFLATE_XZ};
    char to[8] = "";
    size_t size;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        (void)!sonde__inflate(kinds[i], "none", 4, to, sizeof to, &size, NULL);
    }
}

int converter_main(const char *memory_mb)
{
    struct converter converter = {0};
    struct sonde__host_file file;
    struct sonde_error error = {0};
    const struct jail jail = {.memory_bytes = strtoull(memory_mb, NULL, 10) << 20,
                              .output_bytes = OUTPUT_MAX,
                              .cpu_seconds = CPU_SECONDS};
    (void)syscall(SYS_close_range, CONVERTER_OUTPUT_FD + 1, ~0u, 0);
    load_libraries();
    enum sonde_status status =
        sonde__host_file_map(NULL, "/proc/self/fd/0", INPUT_MAX, &file, &error);
    int os_error = status == SONDE_OK ? jail_enter(&jail) : EIO;
    if (os_error != 0) {
        snprintf(error.what, sizeof error.what, "the converter cannot begin: error %d", os_error);
        fail(&converter, "", SONDE_OS, &error);
        return 1;
    }
    take(&converter, file.data, file.size, "");
    return converter.failed;
}
