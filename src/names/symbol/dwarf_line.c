// SPDX-License-Identifier: Apache-2.0
/* Line number programs: the state machine (DWARF 5 §6.2.2, §6.2.5).
 *
 * Rows go to one array; sequences are appended whole and the array is sorted by address at the end,
 * stably, so that rows of one address keep their order and the last of them is the one that counts.
 */
#include "dwarf_line.h"

#include <stdlib.h>
#include <string.h>

#include "base_search.h"
#include "base_text.h"
#include "dwarf_constants.h"
#include "dwarf_line_program.h"
#include "mem_heap.h"

/* A unit of libclang has about a million rows; a hostile one may not take more memory than this. */
#define ROWS_MAX (1u << 24)

struct state {
    uint64_t address;
    uint32_t op_index, file, line, column;
    size_t first_row; /* of the sequence */
    bool discarded;
};

static void begin_sequence(const struct sonde__dwarf_program *p, struct state *s)
{
    *s = (struct state){.file = 1, .line = 1, .first_row = p->lines->row_count};
}

static bool add_row(struct sonde__dwarf_program *p, struct state *s, bool end)
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

static void end_sequence(struct sonde__dwarf_program *p, struct state *s)
{
    /* a lone end row covers nothing */
    if (s->discarded || p->lines->row_count == s->first_row + 1) {
        p->lines->row_count = s->first_row;
    }
    begin_sequence(p, s);
}

static void advance(const struct sonde__dwarf_program *p, struct state *s, uint64_t operations)
{
    uint64_t index = s->op_index + operations;
    s->address += p->min_instruction * (index / p->max_operations);
    s->op_index = (uint32_t)(index % p->max_operations);
}

static bool extended(struct sonde__dwarf_program *p, struct state *s)
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
        ok = sonde__dwarf_program_add_file(p, name, sonde__base_bytes_uleb(&p->at));
        break;
    }
    default:
        break;
    }
    p->at.at = next;
    return ok;
}

static bool standard(struct sonde__dwarf_program *p, struct state *s, unsigned opcode)
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

static void run(struct sonde__dwarf_program *p)
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
    struct sonde__dwarf_program p;
    SONDE_TRY(sonde__dwarf_program_open(sections, unit, lines, &p));
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
    /* the first row above `address` */
    size_t after = SONDE__SEARCH(0, lines->row_count, i, lines->rows[i].address <= address);
    return after == 0 || lines->rows[after - 1].end ? NULL : &lines->rows[after - 1];
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
