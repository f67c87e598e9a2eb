// SPDX-License-Identifier: Apache-2.0
/* Line number programs: header (DWARF 5 §6.2.4) and state machine (§6.2.2, §6.2.5).
 *
 * Rows go to one array; sequences are appended whole and the array is sorted by address at the end,
 * stably, so that rows of one address keep their order and the last of them is the one that counts.
 */
#include "dwarf_line.h"

#include <stdlib.h>
#include <string.h>

#include "base_text.h"
#include "dwarf_constants.h"
#include "mem_heap.h"

/* A unit of libclang has about a million rows; a hostile one may not take more memory than this. */
#define ROWS_MAX    (1u << 24)
#define ENTRIES_MAX (1u << 20)
#define FORMATS_MAX 16

struct program {
    const struct sonde__dwarf_sections *sections;
    struct sonde__dwarf_unit unit; /* with the line table's own version and sizes */
    struct sonde__dwarf_lines *lines;
    struct sonde__bytes at;
    uint8_t min_instruction, max_operations, line_range, opcode_base;
    int8_t line_base;
    uint8_t lengths[256]; /* operands of standard opcodes */
    enum sonde_status status;
};

struct state {
    uint64_t address;
    uint32_t op_index, file, line, column;
    size_t first_row; /* of the sequence */
    bool discarded;
};

/* --- header --- */

static bool add_directory(struct program *p, const char *name)
{
    struct sonde__dwarf_lines *l = p->lines;
    if (l->directory_count >= ENTRIES_MAX ||
        !sonde__mem_grow(&l->directories, l->directory_count, &l->directory_capacity,
                         sizeof *l->directories)) {
        p->status = SONDE_MEMORY;
        return false;
    }
    l->directories[l->directory_count++] = name;
    return true;
}

static bool add_file(struct program *p, const char *name, uint64_t directory)
{
    struct sonde__dwarf_lines *l = p->lines;
    if (l->file_count >= ENTRIES_MAX ||
        !sonde__mem_grow(&l->files, l->file_count, &l->file_capacity, sizeof *l->files)) {
        p->status = SONDE_MEMORY;
        return false;
    }
    l->files[l->file_count++] = (struct sonde__dwarf_file){
        name, directory < l->directory_count ? l->directories[directory] : ""};
    return true;
}

/* Versions 2 to 4: lists that end with an empty name; directory 0 is the unit's own. */
static bool read_names_old(struct program *p)
{
    if (!add_directory(p, p->unit.comp_dir != NULL ? p->unit.comp_dir : "") ||
        !add_file(p, "", 0)) {
        return false;
    }
    for (;;) {
        const char *name = sonde__base_bytes_string(&p->at);
        if (name[0] == '\0' || p->at.failed) {
            break;
        }
        if (!add_directory(p, name)) {
            return false;
        }
    }
    for (;;) {
        const char *name = sonde__base_bytes_string(&p->at);
        if (name[0] == '\0' || p->at.failed) {
            return true;
        }
        uint64_t directory = sonde__base_bytes_uleb(&p->at);
        (void)sonde__base_bytes_uleb(&p->at); /* time */
        (void)sonde__base_bytes_uleb(&p->at); /* size */
        if (!add_file(p, name, directory)) {
            return false;
        }
    }
}

/* Version 5: a list of entries in a format that stands before it. */
static bool read_entries(struct program *p, bool files)
{
    struct sonde__dwarf_attr formats[FORMATS_MAX];
    unsigned format_count = sonde__base_bytes_u8(&p->at);
    if (format_count > FORMATS_MAX) {
        return sonde__base_bytes_fail(&p->at);
    }
    for (unsigned i = 0; i < format_count; i++) {
        formats[i].name = (uint16_t)sonde__base_bytes_uleb(&p->at);
        formats[i].form = (uint16_t)sonde__base_bytes_uleb(&p->at);
        formats[i].implicit = 0;
    }
    uint64_t count = sonde__base_bytes_uleb(&p->at);
    for (uint64_t n = 0; n < count && !p->at.failed; n++) {
        const char *path = "";
        uint64_t directory = 0;
        if (format_count == 0 && n >= ENTRIES_MAX) {
            return sonde__base_bytes_fail(&p->at);
        }
        for (unsigned i = 0; i < format_count; i++) {
            struct sonde__dwarf_value value =
                sonde__dwarf_read(p->sections, &p->unit, &formats[i], &p->at);
            if (formats[i].name == DW_LNCT_path && value.kind == SONDE__DWARF_STRING) {
                path = value.s;
            } else if (formats[i].name == DW_LNCT_directory_index) {
                directory = value.u;
            }
        }
        if (!(files ? add_file(p, path, directory) : add_directory(p, path))) {
            return false;
        }
    }
    return true;
}

static bool read_header(struct program *p)
{
    uint64_t length = sonde__base_bytes_u32(&p->at);
    uint64_t header_length;
    size_t program_at;
    p->unit.offset_size = 4;
    if (length == 0xffffffffu) {
        p->unit.offset_size = 8;
        length = sonde__base_bytes_u64(&p->at);
    }
    if (p->at.failed || length > sonde__base_bytes_left(&p->at)) {
        return sonde__base_bytes_fail(&p->at);
    }
    p->at.end = p->at.at + length;
    p->unit.version = sonde__base_bytes_u16(&p->at);
    if (p->unit.version < 2 || p->unit.version > 5) {
        return sonde__base_bytes_fail(&p->at);
    }
    if (p->unit.version >= 5) {
        p->unit.address_size = sonde__base_bytes_u8(&p->at);
        (void)sonde__base_bytes_u8(&p->at); /* segment selector size */
        if (p->unit.address_size != 4 && p->unit.address_size != 8) {
            return sonde__base_bytes_fail(&p->at);
        }
    }
    header_length = sonde__base_bytes_uint(&p->at, p->unit.offset_size);
    if (header_length > sonde__base_bytes_left(&p->at)) {
        return sonde__base_bytes_fail(&p->at);
    }
    program_at = sonde__base_bytes_offset(&p->at) + header_length;
    p->min_instruction = sonde__base_bytes_u8(&p->at);
    p->max_operations = p->unit.version >= 4 ? sonde__base_bytes_u8(&p->at) : 1;
    (void)sonde__base_bytes_u8(&p->at); /* default_is_stmt */
    p->line_base = (int8_t)sonde__base_bytes_u8(&p->at);
    p->line_range = sonde__base_bytes_u8(&p->at);
    p->opcode_base = sonde__base_bytes_u8(&p->at);
    for (unsigned i = 1; i < p->opcode_base; i++) {
        p->lengths[i] = sonde__base_bytes_u8(&p->at);
    }
    if (p->line_range == 0 || p->opcode_base == 0) {
        return sonde__base_bytes_fail(&p->at);
    }
    if (p->max_operations == 0) {
        p->max_operations = 1;
    }
    bool ok =
        p->unit.version >= 5 ? read_entries(p, false) && read_entries(p, true) : read_names_old(p);
    return ok && !p->at.failed && sonde__base_bytes_seek(&p->at, program_at);
}

/* --- state machine --- */

static void begin_sequence(const struct program *p, struct state *s)
{
    *s = (struct state){.file = 1, .line = 1, .first_row = p->lines->row_count};
}

static bool add_row(struct program *p, struct state *s, bool end)
{
    struct sonde__dwarf_lines *l = p->lines;
    if (l->row_count >= ROWS_MAX ||
        !sonde__mem_grow(&l->rows, l->row_count, &l->row_capacity, sizeof *l->rows)) {
        p->status = l->row_count >= ROWS_MAX ? SONDE_LIMIT : SONDE_MEMORY;
        return false;
    }
    l->rows[l->row_count++] =
        (struct sonde__dwarf_row){s->address, s->file, end ? 0 : s->line, s->column, end};
    return true;
}

static void end_sequence(struct program *p, struct state *s)
{
    /* a lone end row covers nothing */
    if (s->discarded || p->lines->row_count == s->first_row + 1) {
        p->lines->row_count = s->first_row;
    }
    begin_sequence(p, s);
}

static void advance(const struct program *p, struct state *s, uint64_t operations)
{
    uint64_t index = s->op_index + operations;
    s->address += p->min_instruction * (index / p->max_operations);
    s->op_index = (uint32_t)(index % p->max_operations);
}

static bool extended(struct program *p, struct state *s)
{
    uint64_t size = sonde__base_bytes_uleb(&p->at);
    if (size == 0 || !sonde__base_bytes_need(&p->at, size)) {
        return size == 0 ? true : false;
    }
    const uint8_t *next = p->at.at + size;
    bool ok = true;
    switch (sonde__base_bytes_u8(&p->at)) {
    case DW_LNE_end_sequence:
        ok = add_row(p, s, true);
        if (ok) {
            end_sequence(p, s);
        }
        break;
    case DW_LNE_set_address:
        s->address = size - 1 <= 8 ? sonde__base_bytes_uint(&p->at, (unsigned)(size - 1)) : 0;
        s->op_index = 0;
        s->discarded = sonde__dwarf_discarded(&p->unit, s->address);
        break;
    case DW_LNE_define_file: {
        const char *name = sonde__base_bytes_string(&p->at);
        ok = add_file(p, name, sonde__base_bytes_uleb(&p->at));
        break;
    }
    default:
        break;
    }
    p->at.at = next;
    return ok;
}

static bool standard(struct program *p, struct state *s, unsigned opcode)
{
    switch (opcode) {
    case DW_LNS_copy:
        return add_row(p, s, false);
    case DW_LNS_advance_pc:
        advance(p, s, sonde__base_bytes_uleb(&p->at));
        break;
    case DW_LNS_advance_line:
        s->line = (uint32_t)(s->line + (uint64_t)sonde__base_bytes_sleb(&p->at));
        break;
    case DW_LNS_set_file:
        s->file = (uint32_t)sonde__base_bytes_uleb(&p->at);
        break;
    case DW_LNS_set_column:
        s->column = (uint32_t)sonde__base_bytes_uleb(&p->at);
        break;
    case DW_LNS_const_add_pc:
        advance(p, s, (255u - p->opcode_base) / p->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        s->address += sonde__base_bytes_u16(&p->at);
        s->op_index = 0;
        break;
    default: /* known ones without effect here, and unknown ones */
        for (unsigned i = 0; i < p->lengths[opcode]; i++) {
            (void)sonde__base_bytes_uleb(&p->at);
        }
        break;
    }
    return true;
}

static void run(struct program *p)
{
    struct state s;
    begin_sequence(p, &s);
    while (sonde__base_bytes_left(&p->at) > 0 && !p->at.failed) {
        unsigned opcode = sonde__base_bytes_u8(&p->at);
        bool ok;
        if (opcode >= p->opcode_base) {
            unsigned adjusted = opcode - p->opcode_base;
            advance(p, &s, adjusted / p->line_range);
            s.line = (uint32_t)((int64_t)s.line + p->line_base + adjusted % p->line_range);
            ok = add_row(p, &s, false);
        } else if (opcode == 0) {
            ok = extended(p, &s);
        } else {
            ok = standard(p, &s, opcode);
        }
        if (!ok) {
            break;
        }
    }
    p->lines->row_count = s.first_row; /* a sequence without an end has no bounds */
}

/* --- sorting: sequences by their first address; inside, rows are in order already --- */

struct span {
    uint64_t low;
    size_t first, count;
};

static int by_low(const void *a, const void *b)
{
    const struct span *x = a;
    const struct span *y = b;
    if (x->low != y->low) {
        return x->low < y->low ? -1 : 1;
    }
    return x->first < y->first ? -1 : x->first > y->first;
}

static enum sonde_status sort_sequences(struct sonde__dwarf_lines *l)
{
    struct span *spans = NULL;
    size_t count = 0;
    size_t capacity = 0;
    bool sorted = true;
    for (size_t i = 0; i < l->row_count;) {
        size_t first = i;
        while (i < l->row_count && !l->rows[i].end) {
            i++;
        }
        i++;
        if (!sonde__mem_grow(&spans, count, &capacity, sizeof *spans)) {
            sonde__mem_free(spans);
            return SONDE_MEMORY;
        }
        spans[count] = (struct span){l->rows[first].address, first, i - first};
        sorted = sorted && (count == 0 || spans[count - 1].low <= spans[count].low);
        count++;
    }
    if (!sorted) {
        struct sonde__dwarf_row *rows = sonde__mem_alloc_array(l->row_count, sizeof *rows);
        size_t n = 0;
        if (rows == NULL) {
            sonde__mem_free(spans);
            return SONDE_MEMORY;
        }
        qsort(spans, count, sizeof *spans, by_low);
        for (size_t i = 0; i < count; i++) {
            memcpy(rows + n, l->rows + spans[i].first, spans[i].count * sizeof *rows);
            n += spans[i].count;
        }
        sonde__mem_free(l->rows);
        l->rows = rows;
        l->row_capacity = l->row_count;
    }
    sonde__mem_free(spans);
    return SONDE_OK;
}

enum sonde_status sonde__dwarf_lines_load(const struct sonde__dwarf_sections *sections,
                                          const struct sonde__dwarf_unit *unit,
                                          struct sonde__dwarf_lines *lines)
{
    struct program p = {.sections = sections, .unit = *unit, .lines = lines, .at = sections->line};
    p.at.failed = false;
    if (!unit->has_stmt_list || !sonde__base_bytes_seek(&p.at, unit->stmt_list) ||
        !read_header(&p)) {
        return p.status != SONDE_OK ? p.status : SONDE_CORRUPT;
    }
    run(&p);
    lines->damaged = p.at.failed;
    SONDE_TRY(p.status);
    return sort_sequences(lines);
}

void sonde__dwarf_lines_done(struct sonde__dwarf_lines *lines)
{
    sonde__mem_free(lines->rows);
    sonde__mem_free(lines->files);
    sonde__mem_free(lines->directories);
    memset(lines, 0, sizeof *lines);
}

const struct sonde__dwarf_row *sonde__dwarf_lines_find(const struct sonde__dwarf_lines *lines,
                                                       uint64_t address)
{
    size_t low = 0;
    size_t high = lines->row_count;
    while (low < high) { /* the first row above `address` */
        size_t middle = low + (high - low) / 2;
        if (lines->rows[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 || lines->rows[low - 1].end ? NULL : &lines->rows[low - 1];
}

bool sonde__dwarf_file_path(const struct sonde__dwarf_lines *lines,
                            const struct sonde__dwarf_unit *unit, uint32_t file, char *ret_text,
                            size_t size)
{
    struct sonde__text text;
    sonde__base_text_init(&text, ret_text, size);
    if (file >= lines->file_count || lines->files[file].name[0] == '\0') {
        return false;
    }
    const struct sonde__dwarf_file *f = &lines->files[file];
    if (f->name[0] != '/') {
        if (f->directory[0] != '/' && unit->comp_dir != NULL && unit->comp_dir != f->directory) {
            sonde__base_text_str(&text, unit->comp_dir);
            sonde__base_text_char(&text, '/');
        }
        if (f->directory[0] != '\0') {
            sonde__base_text_str(&text, f->directory);
            sonde__base_text_char(&text, '/');
        }
    }
    sonde__base_text_str(&text, f->name);
    return true;
}
