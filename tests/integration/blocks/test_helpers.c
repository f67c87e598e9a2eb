// SPDX-License-Identifier: Apache-2.0
/* The emulated helpers of the corpus, for five targets at five levels, against the captures in
 * their names: equal, or finer (parts of C++ objects). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary.h"
#include "block_helper.h"
#include "libraries.h"
#include "test.h"

enum { CLAIMS = 256, SIZE = 4096, PATH_BYTES = 600 };

static const char *spell(const struct sonde__block_claim *items, size_t count)
{
    static char text[2][2000];
    static unsigned turn;
    char *to = text[turn++ % 2];
    int used = 0;
    to[0] = '\0';
    for (size_t i = 0; i < count && used < 1900; i++) {
        used += snprintf(to + used, 2000 - (size_t)used, "%s%s%c%u", i ? " " : "",
                         items[i].inside ? "+" : "", "?SWUBRCD"[items[i].kind], items[i].offset);
    }
    return to;
}

/* The claim of a name that covers an offset: the last one that begins there or before. */
static const struct sonde__block_claim *covering(const struct sonde__block_claims *names,
                                                 uint32_t offset)
{
    const struct sonde__block_claim *found = NULL;
    for (size_t i = 0; i < names->count; i++) {
        if (!names->items[i].inside && names->items[i].offset <= offset &&
            (found == NULL || names->items[i].offset >= found->offset)) {
            found = &names->items[i];
        }
    }
    return found;
}

/* True if both agree. An object in the name may be its parts. */
static bool agree(const struct sonde__block_claims *names, const struct sonde__block_claims *code)
{
    for (size_t i = 0; i < names->count; i++) {
        const struct sonde__block_claim *name = &names->items[i];
        bool is_found = name->inside || name->kind == SONDE_BLOCK_DATA;
        for (size_t k = 0; k < code->count && !is_found; k++) {
            const struct sonde__block_claim *claim = &code->items[k];
            is_found = name->kind == SONDE_BLOCK_OBJECT
                           ? covering(names, claim->offset) == name
                           : claim->offset == name->offset && claim->kind == name->kind;
        }
        if (!is_found) {
            return false;
        }
    }
    for (size_t k = 0; k < code->count; k++) {
        const struct sonde__block_claim *claim = &code->items[k];
        const struct sonde__block_claim *name = covering(names, claim->offset);
        if (name == NULL || (name->kind != SONDE_BLOCK_OBJECT &&
                             (name->offset != claim->offset || name->kind != claim->kind))) {
            return false;
        }
    }
    return true;
}

/* Returns the number of helpers; all of them agree. */
static unsigned check(const struct library_target *target, const char *level)
{
    static struct sonde__block_work work;
    struct sonde__block_claim name_items[CLAIMS], code_items[CLAIMS];
    char path[PATH_BYTES];
    struct binary binary;
    unsigned count = 0;
    library_build(target, level);
    snprintf(path, sizeof path, "%s/lib", test_folder());
    binary_open(&binary, path);
    for (size_t i = 0; i < binary.symbol_count; i++) {
        struct sonde__block_claims names = {.items = name_items, .capacity = CLAIMS};
        struct sonde__block_claims code = {.items = code_items, .capacity = CLAIMS};
        struct sonde__block_name name;
        struct sonde__block_followed followed;
        if (sonde__block_name_read(binary.symbols[i].name, &names, &name) <
            SONDE__BLOCK_NAME_COPY) {
            continue;
        }
        count++;
        sonde__block_helper_claims(&binary.memory, binary.symbols[i].address,
                                   name.form == SONDE__BLOCK_NAME_COPY
                                       ? SONDE__BLOCK_HELPER_COPY
                                       : SONDE__BLOCK_HELPER_DISPOSE,
                                   SONDE__BLOCK_HEADER_BYTES, SIZE, &work, &code, &followed);
        if (followed.problem != NULL || !agree(&names, &code)) {
            FAIL("%s %s %s\n    name %s\n    code %s%s%s at %llx", target->triple, level,
                 binary.symbols[i].name, spell(names.items, names.count),
                 spell(code.items, code.count), followed.problem ? "; " : "",
                 followed.problem ? followed.problem : "", (unsigned long long)followed.at);
        }
    }
    binary_done(&binary);
    return count;
}

/* Each target at another level; all of them by --long. */
TEST_TIMEOUT(emulated_helpers_agree_with_their_names, 280)
{
    unsigned count = 0;
    for (unsigned t = 0; t < LIBRARY_TARGETS; t++) {
        for (unsigned l = 0; l < LIBRARY_LEVELS; l++) {
            if (test_long() || l == (t + 2) % LIBRARY_LEVELS) {
                count += check(&library_targets[t], library_levels[l]);
            }
        }
    }
    CHECK(count > 300);
}
