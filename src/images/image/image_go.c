// SPDX-License-Identifier: Apache-2.0
#include "image_go.h"

#include "base_bytes.h"
#include "base_mem.h"
#include "base_search.h"

/* Far more changes than the largest function has; it limits the cost of a hostile table. */
#define VALUES_MAX (1u << 16)
/* Names of interest are short; a longer one is no name. */
#define NAME_MAX_BYTES (1u << 16)

#define HEADER_BYTES 8
#define WORD         8 /* 64-bit programs only */

/* Behind the entry in a function's record: the number of its tables of data by pc, and the index
 * of the table of inlined calls. */
#define PCDATA_COUNT   24
#define PCDATA_INLINED 2

/* Offsets of fields in a function's record, behind its entry. */
struct record_layout {
    uint8_t name, stack, file, line, unit, flags, size;
};

static const struct record_layout layouts[] = {
    /* without the entry's bytes; 0: no such field */
    [SONDE__GO_1_2] = {0, 12, 16, 20, 0, 0, 32},
    [SONDE__GO_1_16] = {0, 12, 16, 20, 28, 33, 36},
    [SONDE__GO_1_18] = {0, 12, 16, 20, 28, 33, 36},
    [SONDE__GO_1_20] = {0, 12, 16, 20, 28, 37, 40},
};

static uint64_t word_at(const struct sonde__go *go, uint64_t offset, unsigned size, bool *ret_ok)
{
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, go->data, go->size);
    sonde__base_bytes_seek(&b, offset);
    uint64_t value = sonde__base_bytes_uint(&b, size);
    *ret_ok = *ret_ok && !b.failed;
    return value;
}

static bool version_of(uint32_t magic, uint8_t *ret_version)
{
    static const uint32_t magics[] = {
        [SONDE__GO_1_2] = 0xfffffffb,
        [SONDE__GO_1_16] = 0xfffffffa,
        [SONDE__GO_1_18] = 0xfffffff0,
        [SONDE__GO_1_20] = 0xfffffff1,
    };
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if (magics[i] == magic) {
            *ret_version = (uint8_t)i;
            return true;
        }
    }
    return false;
}

/* Read the offsets in the header, behind the counts of functions and files. */
static bool read_offsets(struct sonde__go *go)
{
    bool ok = true;
    uint64_t at = HEADER_BYTES + 2 * WORD;
    if (go->version == SONDE__GO_1_2) {
        go->functions = HEADER_BYTES + WORD;
        return true;
    }
    if (go->version >= SONDE__GO_1_18) {
        uint64_t text = word_at(go, at, WORD, &ok);
        go->text = text != 0 ? text : go->text;
        if (go->text == 0) {
            return false; /* stored elsewhere (Go 1.26): image_elf_go.c */
        }
        at += WORD;
    } else {
        go->text = 0;
    }
    go->names = word_at(go, at, WORD, &ok);
    go->units = word_at(go, at + WORD, WORD, &ok);
    go->files = word_at(go, at + UINT64_C(2) * WORD, WORD, &ok);
    go->values = word_at(go, at + UINT64_C(3) * WORD, WORD, &ok);
    go->functions = word_at(go, at + UINT64_C(4) * WORD, WORD, &ok);
    go->records = go->functions;
    return ok && go->names < go->size && go->units < go->size && go->files < go->size &&
           go->values < go->size && go->functions < go->size;
}

/* Entry `index` of the table of functions; entry `count` is the end of the last function. */
static uint64_t entry_at(const struct sonde__go *go, uint32_t index, bool *ret_ok)
{
    uint64_t step = (uint64_t)go->entry_bytes * 2;
    return word_at(go, go->functions + index * step, go->entry_bytes, ret_ok) + go->text;
}

bool sonde__image_go_open(const uint8_t *data, size_t size, uint64_t text, uint64_t table_bias,
                          struct sonde__go *ret_go)
{
    struct sonde__go go = {.data = data, .size = size, .text = text};
    bool ok = true;
    uint64_t magic = word_at(&go, 0, 4, &ok);
    uint64_t pad = word_at(&go, 4, 2, &ok);
    uint64_t quantum = word_at(&go, 6, 1, &ok);
    uint64_t word = word_at(&go, 7, 1, &ok);
    uint64_t count = word_at(&go, 8, 8, &ok);
    if (!ok || !version_of((uint32_t)magic, &go.version) || pad != 0 || word != WORD ||
        (quantum != 1 && quantum != 2 && quantum != 4) || count == 0 || count > size / 8 ||
        !read_offsets(&go)) {
        return false;
    }
    go.quantum = (uint8_t)quantum;
    go.count = (uint32_t)count;
    go.entry_bytes = go.version >= SONDE__GO_1_18 ? 4 : 8;
    uint64_t first = entry_at(&go, 0, &ok);
    uint64_t last = entry_at(&go, go.count, &ok);
    if (go.version == SONDE__GO_1_2) {
        go.files = word_at(&go, go.functions + (uint64_t)go.count * 16 + 8, 4, &ok);
    }
    go.text += table_bias;
    struct sonde__go_function function;
    if (!ok || first >= last || !sonde__image_go_function(&go, 0, &function) ||
        !sonde__image_go_function(&go, go.count - 1, &function)) {
        return false;
    }
    *ret_go = go;
    return true;
}

static const char *name_at(const struct sonde__go *go, uint64_t offset)
{
    struct sonde__bytes b;
    uint64_t left = offset < go->size ? go->size - offset : 0;
    sonde__base_bytes_init(&b, go->data, go->size);
    b = sonde__base_bytes_part(&b, offset, left < NAME_MAX_BYTES ? left : NAME_MAX_BYTES);
    const char *name = sonde__base_bytes_string(&b);
    return b.failed ? NULL : name;
}

bool sonde__image_go_function(const struct sonde__go *go, uint32_t index,
                              struct sonde__go_function *ret_function)
{
    const struct record_layout *layout = &layouts[go->version];
    struct sonde__go_function f = {0};
    bool ok = index < go->count;
    if (!ok) {
        return false;
    }
    uint64_t at = go->functions + (uint64_t)index * 2 * go->entry_bytes + go->entry_bytes;
    uint64_t record = word_at(go, at, go->entry_bytes, &ok);
    if (!ok || record >= go->size) {
        return false;
    }
    record += go->records;
    f.start = entry_at(go, index, &ok);
    f.end = entry_at(go, index + 1, &ok);
    if (word_at(go, record, go->entry_bytes, &ok) + go->text != f.start) {
        return false; /* a record repeats its function's entry */
    }
    record += go->entry_bytes;
    uint64_t values[] = {word_at(go, record + layout->stack, 4, &ok),
                         word_at(go, record + layout->file, 4, &ok),
                         word_at(go, record + layout->line, 4, &ok)};
    f.stack_values = values[0] != 0 ? go->values + values[0] : 0;
    f.file_values = values[1] != 0 ? go->values + values[1] : 0;
    f.line_values = values[2] != 0 ? go->values + values[2] : 0;
    f.unit = layout->unit != 0 ? (uint32_t)word_at(go, record + layout->unit, 4, &ok) : 0;
    f.knows_inlined = go->version != SONDE__GO_1_2;
    uint64_t tables = word_at(go, record + PCDATA_COUNT, 4, &ok);
    if (f.knows_inlined && tables > PCDATA_INLINED) {
        uint64_t table = word_at(go, record + layout->size + UINT64_C(4) * PCDATA_INLINED, 4, &ok);
        f.inlined_values = table != 0 ? go->values + table : 0;
    }
    f.flags = layout->flags != 0 ? (uint8_t)word_at(go, record + layout->flags, 1, &ok) : 0;
    uint64_t name = word_at(go, record + layout->name, 4, &ok);
    f.name = ok && name < go->size ? name_at(go, go->names + name) : NULL;
    if (!ok || f.name == NULL || f.start >= f.end) {
        return false;
    }
    *ret_function = f;
    return true;
}

bool sonde__image_go_find(const struct sonde__go *go, uint64_t vaddr,
                          struct sonde__go_function *ret_function)
{
    bool ok = true;
    uint32_t after = SONDE__SEARCH(0, go->count, i, entry_at(go, i, &ok) <= vaddr);
    return after > 0 && ok && sonde__image_go_function(go, after - 1, ret_function) &&
           vaddr < ret_function->end;
}

bool sonde__image_go_value(const struct sonde__go *go, const struct sonde__go_function *function,
                           uint64_t values, uint64_t vaddr, struct sonde__go_value *ret_value)
{
    struct sonde__go_value v = {.start = function->start, .end = function->start, .value = -1};
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, go->data, go->size);
    if (values == 0 || vaddr < function->start || vaddr >= function->end ||
        !sonde__base_bytes_seek(&b, values)) {
        return false;
    }
    for (uint32_t i = 0; i < VALUES_MAX; i++) {
        uint32_t zigzag = (uint32_t)sonde__base_bytes_uleb(&b);
        uint64_t step = sonde__base_bytes_uleb(&b) * go->quantum;
        if (b.failed || (zigzag == 0 && i > 0) || step > function->end - v.end) {
            return false;
        }
        uint32_t delta = (zigzag & 1) != 0 ? ~(zigzag >> 1) : zigzag >> 1;
        v.value = (int32_t)((uint32_t)v.value + delta);
        v.start = v.end;
        v.end += step;
        v.first = i == 0 ? v.end : v.first;
        v.second = i == 1 ? v.value : v.second;
        if (vaddr < v.end) {
            *ret_value = v;
            return true;
        }
    }
    return false;
}

static const char *file_at(const struct sonde__go *go, uint32_t unit, int32_t number)
{
    bool ok = number >= 0;
    uint64_t at = (uint64_t)unit + (uint32_t)number;
    if (go->version == SONDE__GO_1_2) {
        uint64_t offset = word_at(go, go->files + at * 4, 4, &ok);
        return ok ? name_at(go, offset) : NULL;
    }
    uint64_t offset = word_at(go, go->units + at * 4, 4, &ok);
    return ok && offset != UINT32_MAX ? name_at(go, go->files + offset) : NULL;
}

bool sonde__image_go_line(const struct sonde__go *go, const struct sonde__go_function *function,
                          uint64_t vaddr, const char **ret_file, uint32_t *ret_line)
{
    struct sonde__go_value file, line, inlined = {.value = -1};
    if (!function->knows_inlined ||
        (function->inlined_values != 0 &&
         !sonde__image_go_value(go, function, function->inlined_values, vaddr, &inlined)) ||
        inlined.value != -1 ||
        !sonde__image_go_value(go, function, function->file_values, vaddr, &file) ||
        !sonde__image_go_value(go, function, function->line_values, vaddr, &line) ||
        line.value <= 0) {
        return false;
    }
    const char *name = file_at(go, function->unit, file.value);
    if (name == NULL) {
        return false;
    }
    *ret_file = name;
    *ret_line = (uint32_t)line.value;
    return true;
}
