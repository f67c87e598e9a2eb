// SPDX-License-Identifier: Apache-2.0
/* The reader of extended layouts against clang's own listing (-print-ivar-layout), one by one:
 * layouts of the corpus's blocks in a linked library, and of the boxes of its __block variables as
 * the compiler fills them.
 *
 * The listing includes clang's mistakes: the reader must agree even if a layout is wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch_regs.h"
#include "binary.h"
#include "darwin.h"
#include "test.h"

#define CORPUS "tests/integration/blocks/corpus/"

enum { CLAIMS = 256, TEXT = 1024, LAYOUTS_MIN = 30, BOXES_MIN = 9 };

static const struct {
    const char *file, *flags;
} parts[] = {
    {"cases_arc.m", "-fobjc-arc"},
    {"cases_mrc.m", ""},
    {"cases_cxx.mm", "-std=c++17 -fobjc-arc"},
};

/* Apple's ABI; also on ELF with its runtime (slow, and the same code in clang). */
static const struct {
    const char *triple, *flags;
    bool is_long;
} targets[] = {
    {"arm64-apple-macos13", "", false},
    {"x86_64-apple-macos13", "", false},
    {"arm64e-apple-macos13", "", true},
    {"aarch64-linux-gnu", "-fobjc-runtime=macosx-10.15", true},
    {"x86_64-linux-gnu", "-fobjc-runtime=macosx-10.15", true},
};

/* --- clang's listing --- */

/* "BL_STRONG:2, BL_NON_OBJECT_WORD:1, BL_WEAK:1, BL_OPERATOR:0", of what begins at `at`, as
 * "S32 S40 W56". */
static void spell_account(const char *account, uint32_t at, char text[TEXT])
{
    static const struct {
        const char *name;
        char letter; /* '\0': ignored */
        uint32_t bytes;
    } codes[] = {
        {"BL_STRONG:", 'S', 8},
        {"BL_BYREF:", 'R', 8},
        {"BL_WEAK:", 'W', 8},
        {"BL_UNRETAINED:", 'U', 8},
        {"BL_NON_OBJECT_WORD:", '\0', 8},
        {"BL_NON_OBJECT_BYTES:", '\0', 1},
    };
    size_t used = 0;
    text[0] = '\0';
    CHECK(strstr(account, "BL_OPERATOR:0") != NULL);
    while ((account = strstr(account, "BL_")) != NULL && strncmp(account, "BL_OPERATOR", 11) != 0) {
        unsigned i = 0;
        while (i < 6 && strncmp(account, codes[i].name, strlen(codes[i].name)) != 0) {
            i++;
        }
        if (i == 6) {
            FAIL("clang has a word that is not known here: %s", account);
        }
        account += strlen(codes[i].name);
        for (unsigned long n = strtoul(account, NULL, 10); n > 0; n--, at += codes[i].bytes) {
            if (codes[i].letter != '\0') {
                CHECK(used + 16 < TEXT);
                used += (size_t)snprintf(text + used, TEXT - used, "%c%u ", codes[i].letter, at);
            }
        }
    }
}

/* Our result in the same form. All sizes are in words. */
static void spell_claims(const struct sonde__block_claims *claims, char text[TEXT])
{
    size_t used = 0;
    text[0] = '\0';
    CHECK_EQ(claims->lost, 0);
    for (size_t i = 0; i < claims->count; i++) {
        CHECK(used + 16 < TEXT && claims->items[i].size == 8);
        used += (size_t)snprintf(text + used, TEXT - used, "%c%u ",
                                 "?SWUBRCD"[claims->items[i].kind], claims -> items[i].offset);
    }
}

static void must_agree(const char *what, const char *account, const struct sonde__block_memory *m,
                       uint8_t form, uint64_t layout, uint32_t begin, uint32_t end)
{
    struct sonde__block_claim items[CLAIMS];
    struct sonde__block_claims claims = {.items = items, .capacity = CLAIMS};
    char its[TEXT], ours[TEXT];
    const char *problem =
        sonde__block_layout_claims(m, form, layout, begin, end, SONDE_BLOCK_BY_LAYOUT, &claims);
    spell_account(account, begin, its);
    spell_claims(&claims, ours);
    /* distinguished as in clang, too */
    bool is_inline = strstr(account, "Inline") != NULL;
    if (problem != NULL || strcmp(its, ours) != 0 ||
        is_inline != (form == SONDE__BLOCK_LAYOUT_INLINE)) {
        FAIL("%s: clang%s\n    that is %s\n    ours    %s%s%s", what, account, its, ours,
             problem != NULL ? "; " : "", problem != NULL ? problem : "");
    }
}

/* The next line of the listing with `word`, terminated; null: none. */
static char *next_line(char **rest, const char *word)
{
    for (char *line; (line = strsep(rest, "\n")) != NULL;) {
        if (strstr(line, word) != NULL) {
            return line;
        }
    }
    return NULL;
}

/* --- blocks --- */

/* The compiler's intermediate language, NUL-terminated; the caller frees. */
static char *read_code(void)
{
    char path[600];
    snprintf(path, sizeof path, "%s/code.ll", test_folder());
    return test_read_file(path, NULL);
}

/* Read one character of a quoted name or text; it may be written as \01. */
static char unquote(const char **at)
{
    char digits[3] = {(*at)[0], (*at)[1], '\0'};
    if (*digits != '\\') {
        ++*at;
        return *digits;
    }
    digits[0] = (*at)[1];
    digits[1] = (*at)[2];
    *at += 3;
    return (char)strtoul(digits, NULL, 16);
}

/* The symbol of the next descriptor that the code defines; null: none is left. The order is the
 * listing's: clang writes both when it makes a descriptor. */
static const struct binary_symbol *next_desc(const struct binary *binary, const char **at)
{
    char name[400];
    size_t size = 0;
    *at = strstr(*at, "\n@\"__block_descriptor_");
    if (*at == NULL) {
        return NULL;
    }
    for (*at += 3; **at != '"';) {
        CHECK(size + 1 < sizeof name);
        name[size++] = unquote(at);
    }
    name[size] = '\0';
    for (size_t i = 0; i < binary->symbol_count; i++) {
        const struct binary_symbol *symbol = &binary->symbols[i];
        if (strcmp(symbol->name + (binary->is_macho && symbol->name[0] == '_'), name) == 0) {
            return symbol;
        }
    }
    FAIL("the library has no %s", name);
}

static unsigned check_blocks(const char *what, char *account)
{
    char path[600], *code = read_code();
    const char *at = code;
    const struct binary_symbol *symbol;
    struct binary binary;
    unsigned count = 0;
    snprintf(path, sizeof path, "%s/lib", test_folder());
    binary_open(&binary, path);
    while ((symbol = next_desc(&binary, &at)) != NULL) {
        struct sonde__block_name name;
        struct sonde__block_desc desc;
        uint32_t flags = SONDE_BLOCK_HAS_SIGNATURE | SONDE_BLOCK_HAS_LAYOUT;
        CHECK_EQ(sonde__block_name_read(symbol->name, NULL, &name), SONDE__BLOCK_NAME_DESC);
        flags |= name.has_helpers ? SONDE_BLOCK_HAS_HELPERS : 0;
        CHECK_OK(sonde__block_desc_read(&binary.memory, symbol->address, flags, &desc));
        if (desc.layout_form == SONDE__BLOCK_LAYOUT_NONE) {
            continue; /* it captures nothing */
        }
        const char *line = next_line(&account, "lock variable layout:");
        if (line == NULL) {
            FAIL("%s: clang gives no account of %s", what, symbol->name);
        }
        snprintf(path, sizeof path, "%s %s", what, symbol->name);
        must_agree(path, line, &binary.memory, desc.layout_form, desc.layout,
                   SONDE__BLOCK_HEADER_BYTES, desc.size);
        count++;
    }
    if (next_line(&account, "lock variable layout:") != NULL) {
        FAIL("%s: clang made more layouts than the %u that were found", what, count);
    }
    binary_done(&binary);
    free(code);
    return count;
}

/* --- boxes --- */

/* The values that the compiler's code stores into a box, from its intermediate language. */
struct box {
    uint32_t flags, size;
    uint64_t layout; /* inline; 0: see below */
    uint8_t bytes[64];
    size_t byte_count; /* of a string; 0: none */
};

/* The bytes of a constant: [4 x i8] c"0 0\00", or [1 x i8] zeroinitializer. */
static void read_constant(const char *code, const char *name, struct box *box)
{
    char start[120];
    snprintf(start, sizeof start, "\n%s = private", name);
    const char *at = strstr(code, start);
    CHECK(at != NULL);
    at = strchr(at, '[');
    CHECK(at != NULL);
    box->byte_count = strtoul(at + 1, NULL, 10);
    CHECK(box->byte_count > 0 && box->byte_count <= sizeof box->bytes);
    memset(box->bytes, 0, sizeof box->bytes);
    at = strchr(at, ']') + 2;
    if (strncmp(at, "c\"", 2) != 0) {
        CHECK(strncmp(at, "zeroinitializer", 15) == 0);
        return;
    }
    at += 2;
    for (size_t i = 0; i < box->byte_count; i++) {
        box->bytes[i] = (uint8_t)unquote(&at);
    }
}

/* Get the next box that code fills. False: none is left. */
static bool next_box(const char *code, const char **at, struct box *ret_box)
{
    const char *store = strstr(*at, ", ptr %byref.flags"), *end;
    *ret_box = (struct box){0};
    if (store == NULL) {
        return false;
    }
    while (store[-1] != ' ') {
        store--;
    }
    ret_box->flags = (uint32_t)strtol(store, NULL, 10);
    *at = strstr(store, "%byref.flags") + 12;
    end = strstr(*at, ", ptr %byref.flags");
    store = strstr(*at, ", ptr %byref.size");
    CHECK(store != NULL);
    while (store[-1] != ' ') {
        store--;
    }
    ret_box->size = (uint32_t)strtoul(store, NULL, 10);
    store = strstr(*at, ", ptr %byref.layout");
    if (store != NULL && (end == NULL || store < end)) {
        char name[100];
        while (*store != '\n') {
            store--;
        }
        if (sscanf(store, " store ptr inttoptr (i64 %lu", &ret_box->layout) != 1) {
            CHECK_EQ(sscanf(store, " store ptr %99[^,]", name), 1);
            read_constant(code, name, ret_box);
        }
    }
    return true;
}

/* The addresses of a box, and of its layout's string. */
enum { BOX = 0x10000, STRING = 0x20000 };

static bool read_box(void *ctx, uint64_t address, void *buffer, size_t size)
{
    const struct box *box = ctx;
    bool has_helpers = (box->flags >> 25 & 1) != 0;
    uint64_t words[6] = {0, BOX, box->flags | (uint64_t)box->size << 32};
    words[has_helpers ? 5 : 3] = box->byte_count != 0 ? STRING : box->layout;
    if (address >= BOX && address - BOX + size <= sizeof words) {
        memcpy(buffer, (const char *)words + (address - BOX), size);
        return true;
    }
    if (address >= STRING && address - STRING + size <= box->byte_count) {
        memcpy(buffer, box->bytes + (address - STRING), size);
        return true;
    }
    return false;
}

static unsigned check_boxes(const char *what, char *account)
{
    static const char *const kinds[] = {"",        "_EXTENDED", "_NON_OBJECT",
                                        "_STRONG", "_WEAK",     "_UNRETAINED"};
    char expected[60], *code = read_code();
    unsigned count = 0;
    struct box box;
    for (const char *at = code; next_box(code, &at, &box);) {
        struct sonde__block_memory memory = {
            .arch = SONDE_ARCH_AARCH64, .read = read_box, .ctx = &box};
        struct sonde__block_byref byref;
        char *line = next_line(&account, "BYREF variable layout (");
        CHECK(line != NULL);
        CHECK_OK(sonde__block_byref_read(&memory, BOX, &byref));
        CHECK_EQ(strtoul(strchr(line, '(') + 1, NULL, 10), byref.flags);
        CHECK(byref.kind > 0 && byref.kind < 6);
        snprintf(expected, sizeof expected, "BLOCK_BYREF_LAYOUT%s", kinds[byref.kind]);
        CHECK_CONTAINS(line, expected);
        if (byref.kind == SONDE__BLOCK_BYREF_LAYOUT) {
            line = next_line(&account, "variable layout: ");
            CHECK(line != NULL && (strstr(line, "yref") != NULL || strstr(line, "BYREF") != NULL));
            must_agree(what, line, &memory,
                       byref.layout < 0x1000 ? SONDE__BLOCK_LAYOUT_INLINE
                                             : SONDE__BLOCK_LAYOUT_STRING,
                       byref.layout, byref.variable, byref.size);
        }
        count++;
    }
    CHECK(next_line(&account, "BYREF variable layout (") == NULL);
    free(code);
    return count;
}

/* --- */

static void link_part(const char *triple)
{
    const char *dash = strchr(triple, '-');
    if (strstr(triple, "apple") == NULL) {
        /* a reader of layouts takes an address below 0x1000 for an inline layout */
        darwin_shell("ld.lld-19 -shared --image-base=0x100000 -o lib part.o");
        return;
    }
    if (strncmp(triple, "arm64e", 6) == 0) { /* the linker does not support arm64e */
        darwin_shell("printf '\\0\\0\\0\\0' | dd of=part.o bs=1 seek=8 conv=notrunc 2>/dev/null");
        dash = triple + 5;
    }
    darwin_shell("ld64.lld-19 -arch %.*s -platform_version macos 13 13 -dylib "
                 "-undefined dynamic_lookup -o lib part.o",
                 (int)(dash - triple), triple);
}

TEST_TIMEOUT(reads_layouts_as_clang_prints_them, 280)
{
    for (unsigned t = 0; t < sizeof targets / sizeof targets[0]; t++) {
        unsigned blocks = 0, boxes = 0;
        if (targets[t].is_long && !test_long()) {
            continue;
        }
        for (unsigned p = 0; p < sizeof parts / sizeof parts[0]; p++) {
            char what[100];
            char *account = darwin_output(
                "clang-19 -target %s %s %s -O0 -fPIC -w -fblocks -ffreestanding "
                "-fno-discard-value-names -Xclang -print-ivar-layout -S -emit-llvm "
                "'%s/" CORPUS "%s' -o code.ll && clang-19 -target %s -fPIC -w -c code.ll -o part.o",
                targets[t].triple, targets[t].flags, parts[p].flags, test_source_dir(),
                parts[p].file, targets[t].triple);
            char *again = strdup(account);
            CHECK(again != NULL);
            link_part(targets[t].triple);
            snprintf(what, sizeof what, "%s %s", targets[t].triple, parts[p].file);
            blocks += check_blocks(what, account);
            boxes += check_boxes(what, again);
            free(account);
            free(again);
        }
        dprintf(STDOUT_FILENO, "    %s: %u layouts of blocks, %u boxes\n", targets[t].triple,
                blocks, boxes);
        CHECK(blocks >= LAYOUTS_MIN && boxes >= BOXES_MIN);
    }
}
