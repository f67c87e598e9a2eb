// SPDX-License-Identifier: Apache-2.0
/* Recognises blocks that only run another block or closure. Sources: swift-corelibs-libdispatch
 * src/block.cpp and src/queue_internal.h (struct dispatch_block_private_data_s); Swift's
 * docs/ABI/Mangling.rst (impl-function-type, TR) and lib/IRGen/GenFunc.cpp. */
#include <string.h>

#include "arch_regs.h"
#include "block.h"

/* "DISPatch BLOCk", as a word: the first captured field. */
#define DISPATCH_MAGIC 0xD159B10Cu

/* Offsets in the block. In the first versions the struct contains the group itself, so it is larger
 * and has the queue elsewhere. */
enum {
    DISPATCH_BLOCK = 72,
    DISPATCH_GROUP = 80,
    DISPATCH_QUEUE = 88,
    DISPATCH_SIZE = 104,
    SWIFT_FUNCTION = SONDE__BLOCK_THUNK_FUNCTION,
    SWIFT_CONTEXT = 40,
    SWIFT_SIZE = 48,
    CAPTURED_WORDS = (DISPATCH_SIZE - 32) / 8,
};

static uint64_t word_at(const uint64_t *words, uint32_t offset)
{
    return words[(offset - SONDE__BLOCK_HEADER_BYTES) / 8];
}

/* A reabstraction thunk whose result is a block: "_TR" after two function types, the second one
 * with the convention of blocks ("IeyB", or "IyB" if it does not escape). */
bool sonde__block_is_thunk(const char *name)
{
    const char *end = NULL, *type = NULL;
    if (name == NULL) {
        return false;
    }
    if (name[0] == '_' && (name[1] == '$' || name[1] == '_')) { /* Mach-O */
        name++;
    }
    if (strncmp(name, "$s", 2) != 0 && strncmp(name, "$S", 2) != 0 &&
        strncmp(name, "_T0", 3) != 0) {
        return false;
    }
    for (const char *at = name; (at = strstr(at, "_TR")) != NULL; at++) {
        end = at;
    }
    for (const char *at = name; end != NULL && at < end; at++) {
        type = *at == 'I' ? at + 1 : type;
    }
    if (type == NULL) {
        return false;
    }
    type += *type == 'e';
    return type[0] == 'y' && type[1] == 'B';
}

bool sonde__block_unwrap(const struct sonde__block_memory *memory,
                         const struct sonde__block_literal *literal, uint32_t size,
                         struct sonde__block_wrapped *ret_wrapped)
{
    struct sonde__block_wrapped wrapped = {.form = SONDE__BLOCK_WRAPPED_DISPATCH};
    struct sonde__block_literal inner;
    uint64_t words[CAPTURED_WORDS];
    uint32_t wanted = size >= DISPATCH_SIZE ? DISPATCH_SIZE : SWIFT_SIZE;
    if (size < SWIFT_SIZE ||
        !memory->read(memory->ctx, literal->address + SONDE__BLOCK_HEADER_BYTES, words,
                      wanted - SONDE__BLOCK_HEADER_BYTES)) {
        return false;
    }
    if (size >= DISPATCH_SIZE && words[0] == DISPATCH_MAGIC) {
        wrapped.block = sonde__arch_strip_pac(memory->arch, word_at(words, DISPATCH_BLOCK));
        if (sonde__block_literal_read(memory, wrapped.block, &inner) != SONDE_OK) {
            return false;
        }
        wrapped.function = inner.invoke;
        if (size == DISPATCH_SIZE) {
            wrapped.group = word_at(words, DISPATCH_GROUP);
            wrapped.queue = word_at(words, DISPATCH_QUEUE);
        }
    } else if (memory->name != NULL &&
               sonde__block_is_thunk(memory->name(memory->ctx, literal->invoke)) &&
               word_at(words, SWIFT_FUNCTION) != 0) {
        wrapped.form = SONDE__BLOCK_WRAPPED_SWIFT;
        wrapped.function = sonde__arch_strip_pac(memory->arch, word_at(words, SWIFT_FUNCTION));
        wrapped.context = word_at(words, SWIFT_CONTEXT);
    } else {
        return false;
    }
    *ret_wrapped = wrapped;
    return true;
}
