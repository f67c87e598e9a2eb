// SPDX-License-Identifier: Apache-2.0
/* ELF program headers and #! lines, as far as loading the probe needs them. Sources: System V gABI
 * 4.1 chapter 5; execve(2), "Interpreter scripts". Only the headers of the file are read. */
#include "watch_program.h"

#include <string.h>

#include "base_bytes.h"
#include "base_text.h"
#include "host_process.h"
#include "host_run.h"
#include "os.h"

enum { PT_DYNAMIC_ = 2, PT_INTERP_ = 3, PT_LOAD_ = 1, PT_NOTE_ = 4 };
enum { DT_NEEDED_ = 1, DT_STRTAB_ = 5 };
/* More program headers than any linker writes. Further ones are ignored. */
#define HEADERS_MAX 128u
#define NEEDED_MAX  64u
#define DYNAMIC_MAX 512u
#define NOTES_MAX   1024u /* bytes of a segment of notes */

struct reader {
    sonde__watch_read read;
    void *ctx;
};

struct segment {
    uint32_t type;
    uint64_t offset, vaddr, filesz;
};

struct headers {
    struct segment at[HEADERS_MAX];
    uint32_t count;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Split "#!/usr/bin/env python3" into interpreter and argument as execve() does. */
static void parse_script(const char *line, struct sonde__watch_image *image)
{
    size_t n = 0;
    line += 2;
    while (is_space(*line)) {
        line++;
    }
    while (*line != '\0' && *line != '\n' && !is_space(*line) &&
           n + 1 < sizeof image->interpreter) {
        image->interpreter[n++] = *line++;
    }
    while (is_space(*line)) {
        line++;
    }
    for (n = 0; *line != '\0' && *line != '\n' && n + 1 < sizeof image->argument;) {
        image->argument[n++] = *line++;
    }
    while (n > 0 && is_space(image->argument[n - 1])) {
        n--;
    }
    image->argument[n] = '\0';
    image->script = image->interpreter[0] != '\0';
}

static void read_segments(const struct reader *r, struct sonde__watch_image *image, uint64_t phoff,
                          uint32_t count, struct headers *headers)
{
    size_t each = image->is64 ? 56 : 32;
    headers->count = 0;
    for (uint32_t i = 0; i < count && i < HEADERS_MAX; i++) {
        uint8_t raw[56];
        struct sonde__bytes b;
        struct segment *s = &headers->at[headers->count];
        if (r->read(r->ctx, phoff + i * each, raw, each) != each) {
            return;
        }
        sonde__base_bytes_init(&b, raw, each);
        s->type = sonde__base_bytes_u32(&b);
        if (image->is64) {
            (void)sonde__base_bytes_u32(&b); /* flags */
            s->offset = sonde__base_bytes_u64(&b);
            s->vaddr = sonde__base_bytes_u64(&b);
            (void)sonde__base_bytes_u64(&b); /* physical address */
            s->filesz = sonde__base_bytes_u64(&b);
        } else {
            s->offset = sonde__base_bytes_u32(&b);
            s->vaddr = sonde__base_bytes_u32(&b);
            (void)sonde__base_bytes_u32(&b);
            s->filesz = sonde__base_bytes_u32(&b);
        }
        headers->count++;
    }
}

static const struct segment *find_segment(const struct headers *headers, uint32_t type)
{
    for (uint32_t i = 0; i < headers->count; i++) {
        if (headers->at[i].type == type) {
            return &headers->at[i];
        }
    }
    return NULL;
}

static void read_interpreter(const struct reader *r, const struct headers *headers,
                             struct sonde__watch_image *image)
{
    const struct segment *s = find_segment(headers, PT_INTERP_);
    if (s == NULL) {
        return;
    }
    size_t size =
        s->filesz < sizeof image->interpreter ? (size_t)s->filesz : sizeof image->interpreter - 1;
    size_t n = r->read(r->ctx, s->offset, image->interpreter, size);
    image->interpreter[n < size ? n : size] = '\0';
}

static uint64_t file_offset(const struct headers *headers, uint64_t vaddr)
{
    for (uint32_t i = 0; i < headers->count; i++) {
        const struct segment *s = &headers->at[i];
        if (s->type == PT_LOAD_ && vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz) {
            return s->offset + (vaddr - s->vaddr);
        }
    }
    return UINT64_MAX;
}

/* Does a 64-bit program need libasan? */
static bool needs_sanitizer(const struct reader *r, const struct headers *headers)
{
    const struct segment *dynamic = find_segment(headers, PT_DYNAMIC_);
    uint64_t needed[NEEDED_MAX];
    uint64_t strings = UINT64_MAX;
    uint32_t count = 0;
    for (uint32_t i = 0; dynamic != NULL && i < DYNAMIC_MAX && i < dynamic->filesz / 16; i++) {
        uint8_t raw[16];
        struct sonde__bytes b;
        if (r->read(r->ctx, dynamic->offset + (uint64_t)i * 16, raw, sizeof raw) != sizeof raw) {
            break;
        }
        sonde__base_bytes_init(&b, raw, sizeof raw);
        uint64_t tag = sonde__base_bytes_u64(&b);
        uint64_t value = sonde__base_bytes_u64(&b);
        if (tag == 0) {
            break;
        }
        if (tag == DT_NEEDED_ && count < NEEDED_MAX) {
            needed[count++] = value;
        } else if (tag == DT_STRTAB_) {
            strings = file_offset(headers, value);
        }
    }
    for (uint32_t i = 0; strings != UINT64_MAX && i < count; i++) {
        char name[16] = {0};
        (void)r->read(r->ctx, strings + needed[i], name, sizeof name - 1);
        if (strncmp(name, "libasan.so", 10) == 0) {
            return true;
        }
    }
    return false;
}

/* Go's linker leaves its build id in a note (cmd/link, "note.go.buildid": owner "Go", type 4). */
static bool has_go_note(const struct reader *r, const struct segment *notes)
{
    static const uint8_t owner[] = {4, 0, 0, 0, 'G', 'o', 0, 0};
    uint8_t bytes[NOTES_MAX];
    size_t size = r->read(r->ctx, notes->offset, bytes,
                          notes->filesz < NOTES_MAX ? (size_t)notes->filesz : NOTES_MAX);
    for (size_t at = 0; size >= 16 && at <= size - 16;) { /* sizes of owner and text, type, owner */
        struct sonde__bytes b;
        sonde__base_bytes_init(&b, bytes + at, 8);
        uint64_t name = sonde__base_bytes_u32(&b), text = sonde__base_bytes_u32(&b);
        if (name == 4 && memcmp(bytes + at + 8, owner, sizeof owner) == 0) {
            return true;
        }
        at += (size_t)(12 + (name + 3) / 4 * 4 + (text + 3) / 4 * 4);
    }
    return false;
}

static void parse_elf(const struct reader *r, const uint8_t *head, size_t size,
                      struct sonde__watch_image *image)
{
    struct headers headers;
    struct sonde__bytes b;
    uint64_t phoff;
    sonde__base_bytes_init(&b, head, size);
    if (size < 52 || head[5] != 1 || (head[4] != 1 && head[4] != 2)) {
        return; /* big-endian, or an unknown class */
    }
    image->elf = true;
    image->is64 = head[4] == 2;
    (void)sonde__base_bytes_take(&b, 18);
    image->machine = sonde__base_bytes_u16(&b);
    (void)sonde__base_bytes_take(&b, image->is64 ? 12 : 8);
    phoff = image->is64 ? sonde__base_bytes_u64(&b) : sonde__base_bytes_u32(&b);
    (void)sonde__base_bytes_take(&b, image->is64 ? 16 : 12);
    uint32_t count = sonde__base_bytes_u16(&b);
    if (b.failed) {
        return;
    }
    read_segments(r, image, phoff, count, &headers);
    read_interpreter(r, &headers, image);
    image->sanitizer = image->is64 && needs_sanitizer(r, &headers);
    for (uint32_t i = 0; i < headers.count && !image->is_go; i++) {
        image->is_go = headers.at[i].type == PT_NOTE_ && has_go_note(r, &headers.at[i]);
    }
}

void sonde__watch_parse_image(sonde__watch_read read, void *ctx, struct sonde__watch_image *ret)
{
    const struct reader r = {read, ctx};
    uint8_t head[512] = {0};
    memset(ret, 0, sizeof *ret);
    size_t size = read(ctx, 0, head, sizeof head - 1);
    if (size >= 3 && head[0] == '#' && head[1] == '!') {
        parse_script((const char *)head, ret);
    } else if (size >= 20 && memcmp(head, "\177ELF", 4) == 0) {
        parse_elf(&r, head, size, ret);
    }
}

static size_t read_file(void *ctx, uint64_t offset, void *ret_bytes, size_t size)
{
    size_t n = 0;
    return sonde__os_pread(*(const int32_t *)ctx, ret_bytes, size, offset, &n, NULL) == SONDE_OK
               ? n
               : 0;
}

static bool parse_path(const char *path, struct sonde__watch_image *ret_image)
{
    int32_t fd;
    if (sonde__os_open(path, &fd, NULL) != SONDE_OK) {
        return false;
    }
    sonde__watch_parse_image(read_file, &fd, ret_image);
    sonde__os_close(fd);
    return true;
}

bool sonde__watch_names_by_env(const char *path, char *ret_name, size_t capacity)
{
    struct sonde__watch_image image;
    if (!parse_path(path, &image) || !image.script ||
        strcmp(sonde__base_file_name(image.interpreter), "env") != 0 || image.argument[0] == '\0' ||
        image.argument[0] == '-' || strpbrk(image.argument, "= \t") != NULL ||
        strlen(image.argument) >= capacity) {
        return false;
    }
    memcpy(ret_name, image.argument, strlen(image.argument) + 1);
    return true;
}

/* glibc's and musl's, which may be started with a program as an argument. */
static bool is_loader(const char *path)
{
    const char *name = sonde__base_file_name(path);
    return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-musl", 7) == 0;
}

static enum sonde__watch_carry judge(const char *path, const struct sonde__watch_image *image)
{
    struct sonde__watch_image own;
    char own_path[64];
    sonde__host_program_file(0, own_path, sizeof own_path);
    if (!image->elf) {
        return SONDE__WATCH_NOT_A_PROGRAM;
    }
    if (!parse_path(own_path, &own) || own.machine != image->machine || own.is64 != image->is64) {
        return SONDE__WATCH_OTHER_ARCH;
    }
    if (image->interpreter[0] == '\0') {
        return is_loader(path) ? SONDE__WATCH_LOADER : SONDE__WATCH_STATIC;
    }
    if (strncmp(sonde__base_file_name(image->interpreter), "ld-linux", 8) != 0) {
        return SONDE__WATCH_OTHER_LIBC;
    }
    if (sonde__host_is_privileged(path)) {
        return SONDE__WATCH_PRIVILEGED;
    }
    return image->sanitizer ? SONDE__WATCH_SANITIZER : SONDE__WATCH_CARRIES;
}

void sonde__watch_inspect(const char *path, struct sonde__watch_program *ret)
{
    struct sonde__watch_image image;
    ret->carry = SONDE__WATCH_NOT_A_PROGRAM;
    ret->is_go = false;
    strncpy(ret->binary, path, sizeof ret->binary - 1);
    ret->binary[sizeof ret->binary - 1] = '\0';
    for (int level = 0; level <= SONDE__WATCH_SCRIPT_LEVELS; level++) {
        if (!parse_path(ret->binary, &image)) {
            ret->carry = SONDE__WATCH_NOT_READABLE;
            return;
        }
        if (!image.script) {
            ret->carry = judge(ret->binary, &image);
            ret->is_go = image.is_go;
            return;
        }
        memcpy(ret->binary, image.interpreter, sizeof ret->binary);
    }
}

const char *sonde__watch_carry_text(enum sonde__watch_carry carry)
{
    static const char *const text[] = {
        [SONDE__WATCH_CARRIES] = "it can carry the probe",
        [SONDE__WATCH_STATIC] = "it is statically linked",
        [SONDE__WATCH_LOADER] =
            "it is the dynamic loader; start the program itself, or watch its process",
        [SONDE__WATCH_OTHER_LIBC] = "its C library is not glibc",
        [SONDE__WATCH_OTHER_ARCH] = "it is of another architecture or word size",
        [SONDE__WATCH_PRIVILEGED] = "it gains privileges when it starts",
        [SONDE__WATCH_SANITIZER] = "its AddressSanitizer must be its first library",
        [SONDE__WATCH_NOT_READABLE] = "its file cannot be read",
        [SONDE__WATCH_NOT_A_PROGRAM] = "it is not an ELF program",
    };
    return (size_t)carry < sizeof text / sizeof text[0] ? text[carry] : "";
}
