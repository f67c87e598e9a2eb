// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: a block with its descriptor, layout, names and helpers, all of hostile bytes. The
 * input is the memory (at 0x1000, readable up to its end); the names are texts in it. Results lie
 * inside the block, and the work is bounded. */
#include <string.h>

#include "arch_regs.h"
#include "base_text.h"
#include "block_captures.h"
#include "fuzz.h"

#define BASE     0x1000u
#define CAPTURES 64u
/* Limit of reads for one block: each instruction reads code once and a few words. */
#define READS_MAX (64u * SONDE__BLOCK_STEPS_MAX)

struct input {
    const uint8_t *data;
    size_t size;
    uint64_t reads;
    char name[256];
};

static bool read_input(void *ctx, uint64_t address, void *buffer, size_t size)
{
    struct input *input = ctx;
    FUZZ_MUST(++input->reads < READS_MAX);
    if (address < BASE || address - BASE > input->size ||
        size > input->size - (size_t)(address - BASE)) {
        return false;
    }
    memcpy(buffer, input->data + (address - BASE), size);
    return true;
}

/* Some addresses have the input itself as their name; others have a name that helpers call. */
static const char *name_of(void *ctx, uint64_t address)
{
    static const char *const names[] = {
        "objc_retain",
        "_Block_object_assign",
        "objc_copyWeak",
        "memcpy",
        "objc_storeStrong",
        "_ZN1AC1ERKS_",
        "OUTLINED_FUNCTION_1",
        "objc_release_x19",
        "_Znwm",
        "memset",
        "__copy_helper_block_e8_32s40w48n15_8_8_t0w8_s8_w16",
        "__block_descriptor_64_e8_32s40r_e5_v8\1?0lu48l8",
    };
    struct input *input = ctx;
    if (address >= BASE && address - BASE < input->size && address % 64 == 16) {
        size_t left = input->size - (size_t)(address - BASE);
        size_t size = left < sizeof input->name ? left : sizeof input->name - 1;
        memcpy(input->name, input->data + (address - BASE), size);
        input->name[size] = '\0';
        return input->name;
    }
    if (address > 0x7f0000000000 || (address >= BASE + 0x10000 && address < BASE + 0x20000)) {
        return names[address / 16 % (sizeof names / sizeof names[0])];
    }
    return NULL;
}

static void must_be_inside(const struct sonde__block_captures *captures, uint32_t begin,
                           uint32_t size)
{
    FUZZ_MUST(captures->count <= captures->capacity);
    for (size_t i = 0; i < captures->count; i++) {
        const struct sonde__block_capture *capture = &captures->items[i];
        FUZZ_MUST(capture->offset >= begin && capture->offset < size);
        FUZZ_MUST(capture->size <= size - capture->offset);
        FUZZ_MUST(capture->kind <= SONDE_BLOCK_DATA);
        FUZZ_MUST((capture->sources & capture->against) == 0);
        FUZZ_MUST(i == 0 || captures->items[i - 1].offset <= capture->offset);
    }
    FUZZ_MUST(captures->steps <= 2 * SONDE__BLOCK_STEPS_MAX);
}

static void one_arch(struct input *input, unsigned arch)
{
    static struct sonde__block_scratch scratch;
    struct sonde__block_memory memory = {
        .arch = arch, .read = read_input, .name = name_of, .ctx = input};
    struct sonde__block_capture items[CAPTURES];
    struct sonde__block_captures captures = {.items = items, .capacity = CAPTURES};
    struct sonde__block_literal literal;
    struct sonde__block_desc desc;
    struct sonde__block_byref box;
    struct sonde__block_wrapped wrapped;
    char text[SONDE__BLOCK_TEXT_MAX];
    size_t length;
    input->reads = 0;
    if (sonde__block_literal_read(&memory, BASE, &literal) == SONDE_OK &&
        sonde__block_desc_read(&memory, literal.descriptor, literal.flags, &desc) == SONDE_OK) {
        struct sonde__block_member members[] = {
            {.offset = 32, .size = 8, .form = SONDE__BLOCK_MEMBER_OBJECT, .name = "a"},
            {.offset = 40, .size = 24, .name = "b"},
        };
        sonde__block_captures(&memory, &desc, NULL, 0, &scratch, &captures);
        must_be_inside(&captures, 32, desc.size);
        if (desc.size >= 64) {
            input->reads = 0;
            sonde__block_captures(&memory, &desc, members, 2, &scratch, &captures);
            must_be_inside(&captures, 32, desc.size);
        }
        if (sonde__block_unwrap(&memory, &literal, desc.size, &wrapped)) {
            FUZZ_MUST(desc.size >= 48 && (wrapped.block == 0) != (wrapped.form == 0));
        }
        if (desc.signature != 0 &&
            sonde__block_read_text(&memory, desc.signature, text, sizeof text, &length)) {
            FUZZ_MUST(length < sizeof text && text[length] == '\0');
        }
    }
    input->reads = 0;
    if (sonde__block_byref_read(&memory, BASE, &box) == SONDE_OK) {
        sonde__block_byref_captures(&memory, &box, NULL, &scratch, &captures);
        must_be_inside(&captures, 24, box.size);
    }
}

/* Use the input as a name and as a signature. */
static void texts(const uint8_t *data, size_t size)
{
    char text[600], declared[400];
    struct sonde__text out;
    struct sonde__block_name name;
    struct sonde__block_claim items[CAPTURES];
    struct sonde__block_claims claims = {.items = items, .capacity = CAPTURES};
    size_t length = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, data, length);
    text[length] = '\0';
    if (sonde__block_name_read(text, &claims, &name) == SONDE__BLOCK_NAME_OTHER) {
        FUZZ_MUST(claims.count == 0);
    }
    FUZZ_MUST(claims.count <= CAPTURES);
    sonde__base_text_init(&out, declared, sizeof declared);
    if (!sonde__block_signature(text, length, "b", &out)) {
        FUZZ_MUST(out.length == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {.data = data, .size = size};
    one_arch(&input, SONDE_ARCH_X86_64);
    one_arch(&input, SONDE_ARCH_AARCH64);
    texts(data, size);
    return 0;
}
