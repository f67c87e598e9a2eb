// SPDX-License-Identifier: Apache-2.0
/* A unit's line program, run into rows sorted by address (DWARF 5 §6.2).
 *
 * Only what an index needs is kept: a row with the file and line of the one before is dropped, and
 * of several rows at one address the last one counts. Sequences that the linker discarded, that lie
 * outside the image's code, or whose addresses decrease are dropped. */
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "dwarf_constants.h"
#include "mem_heap.h"
#include "mem_sort.h"

struct machine {
    struct convert *c;
    struct sonde__dwarf_program *program;
    uint64_t address;
    uint32_t op_index, file, line;
    size_t first_row; /* of the sequence */
    bool discarded;
    uint32_t address_step[256], line_step[256]; /* of special opcodes */
};

static void begin_sequence(struct machine *m)
{
    m->address = 0;
    m->op_index = 0;
    m->file = 1;
    m->line = 1;
    m->first_row = m->c->row_count;
    m->discarded = false;
}

static inline void add_row(struct machine *m)
{
    struct convert *c = m->c;
    uint64_t start = m->address - c->base;
    if (start >= c->size) {
        m->discarded = true;
        return;
    }
    if (c->row_count > m->first_row) {
        struct row *last = &c->rows[c->row_count - 1];
        if (last->file == m->file && last->line == m->line) {
            return;
        }
        if (last->start >= (uint32_t)start) {
            if (last->start == (uint32_t)start) {
                last->file = m->file;
                last->line = m->line;
            } else {
                m->discarded = true; /* backwards */
            }
            return;
        }
    }
    if (!CONVERT_ROOM(c, rows, row_count, row_capacity)) {
        return;
    }
    c->rows[c->row_count++] = (struct row){(uint32_t)start, m->file, m->line};
}

static void end_sequence(struct machine *m)
{
    struct convert *c = m->c;
    uint64_t end = m->address - c->base;
    size_t count = c->row_count - m->first_row;
    if (m->discarded || count == 0 || end > c->size || end <= c->rows[c->row_count - 1].start ||
        !CONVERT_ROOM(c, rows, row_count, row_capacity) ||
        !CONVERT_ROOM(c, spans, span_count, span_capacity)) {
        c->row_count = m->first_row;
    } else {
        c->spans[c->span_count++] =
            (struct row_span){c->rows[m->first_row].start, (uint32_t)count + 1, m->first_row};
        c->rows[c->row_count++] =
            (struct row){end > UINT32_MAX ? UINT32_MAX : (uint32_t)end, CONVERT_NONE, 0};
    }
    begin_sequence(m);
}

static void advance(struct machine *m, uint64_t operations)
{
    const struct sonde__dwarf_program *p = m->program;
    uint64_t index = m->op_index + operations;
    m->address += p->min_instruction * (index / p->max_operations);
    m->op_index = (uint32_t)(index % p->max_operations);
}

static void extended(struct machine *m, struct sonde__bytes *at)
{
    uint64_t size = sonde__base_bytes_uleb(at);
    if (size == 0 || !sonde__base_bytes_need(at, size)) {
        return;
    }
    const uint8_t *next = at->at + size;
    switch (sonde__base_bytes_u8(at)) {
    case DW_LNE_end_sequence:
        end_sequence(m);
        break;
    case DW_LNE_set_address:
        m->address = size - 1 <= 8 ? sonde__base_bytes_uint(at, (unsigned)(size - 1)) : 0;
        m->op_index = 0;
        m->discarded = sonde__dwarf_discarded(&m->program->unit, m->address);
        break;
    case DW_LNE_define_file: {
        const char *name = sonde__base_bytes_string(at);
        if (!sonde__dwarf_program_add_file(m->program, name, sonde__base_bytes_uleb(at))) {
            m->c->status = m->program->status;
        }
        break;
    }
    default:
        break;
    }
    at->at = next;
}

static void standard(struct machine *m, struct sonde__bytes *at, unsigned opcode)
{
    const struct sonde__dwarf_program *p = m->program;
    switch (opcode) {
    case DW_LNS_copy:
        add_row(m);
        break;
    case DW_LNS_advance_pc:
        advance(m, sonde__base_bytes_uleb(at));
        break;
    case DW_LNS_advance_line:
        m->line = (uint32_t)(m->line + (uint64_t)sonde__base_bytes_sleb(at));
        break;
    case DW_LNS_set_file:
        m->file = (uint32_t)sonde__base_bytes_uleb(at);
        break;
    case DW_LNS_const_add_pc:
        advance(m, (255u - p->opcode_base) / p->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        m->address += sonde__base_bytes_u16(at);
        m->op_index = 0;
        break;
    default: /* opcodes without effect here, and unknown ones */
        for (unsigned i = 0; i < p->lengths[opcode]; i++) {
            (void)sonde__base_bytes_uleb(at);
        }
        break;
    }
}

/* Nearly all operands are one byte long. `at` has at least one byte. True: the opcode was executed.
 */
static inline bool short_opcode(struct machine *m, struct sonde__bytes *at, unsigned opcode)
{
    const struct sonde__dwarf_program *p = m->program;
    uint8_t operand = *at->at;
    if (opcode >= DW_LNS_copy && p->lengths[opcode] != (opcode != DW_LNS_copy)) {
        return false; /* the table redefines the operands of standard opcodes */
    }
    switch (opcode) {
    case DW_LNS_copy:
        add_row(m);
        return true;
    case DW_LNS_advance_line:
        if (operand >= 0x80) {
            return false;
        }
        m->line += (uint32_t)(((int32_t)operand ^ 0x40) - 0x40);
        at->at++;
        return true;
    case DW_LNS_set_file:
        if (operand >= 0x80) {
            return false;
        }
        m->file = operand;
        at->at++;
        return true;
    case DW_LNS_set_column:
        if (operand >= 0x80) {
            return false;
        }
        at->at++;
        return true;
    case DW_LNS_negate_stmt:
        return false;
    default:
        return false;
    }
}

static void run(struct machine *m)
{
    struct sonde__dwarf_program *p = m->program;
    struct sonde__bytes at = p->at;
    bool simple = p->max_operations == 1;
    for (unsigned opcode = p->opcode_base; opcode < 256; opcode++) {
        unsigned adjusted = opcode - p->opcode_base;
        m->address_step[opcode] = p->min_instruction * (adjusted / p->line_range);
        m->line_step[opcode] = (uint32_t)(p->line_base + (int)(adjusted % p->line_range));
    }
    begin_sequence(m);
    while (at.at < at.end && m->c->status == SONDE_OK) {
        unsigned opcode = *at.at++;
        if (opcode >= p->opcode_base) {
            if (simple) {
                m->address += m->address_step[opcode];
            } else {
                advance(m, (opcode - p->opcode_base) / p->line_range);
            }
            m->line += m->line_step[opcode];
            add_row(m);
        } else if (opcode == 0) {
            extended(m, &at);
        } else if (at.at == at.end || !short_opcode(m, &at, opcode)) {
            standard(m, &at, opcode);
        }
    }
    m->c->row_count = m->first_row; /* a sequence without an end has no bounds */
    if (at.failed) {
        convert_damage(m->c, "a malformed line program");
    }
}

static int by_low(const void *a, const void *b)
{
    const struct row_span *x = a, *y = b;
    return SONDE__ORDER2(x, y, low, first);
}

/* Rows of all sequences in the order of addresses. Of sequences that overlap the one that starts
 * later wins, as in a look-up by the last row at or before an address. */
static void sort_rows(struct convert *c)
{
    bool sorted = true;
    size_t n = 0;
    for (size_t i = 1; i < c->span_count; i++) {
        const struct row_span *before = &c->spans[i - 1];
        sorted = sorted && c->rows[before->first + before->count - 1].start <= c->spans[i].low;
    }
    if (sorted) {
        return;
    }
    qsort(c->spans, c->span_count, sizeof *c->spans, by_low);
    if (!convert_reserve(c, &c->row_scratch, c->row_count, &c->row_scratch_capacity,
                         sizeof *c->row_scratch)) {
        return;
    }
    for (size_t i = 0; i < c->span_count; i++) {
        const struct row_span *span = &c->spans[i];
        while (n > 0 && c->row_scratch[n - 1].start >= span->low) {
            n--; /* cut what overlaps */
        }
        memcpy(c->row_scratch + n, c->rows + span->first, span->count * sizeof *c->rows);
        n += span->count;
    }
    struct row *rows = c->rows;
    size_t capacity = c->row_capacity;
    c->rows = c->row_scratch;
    c->row_capacity = c->row_scratch_capacity;
    c->row_count = n;
    c->row_scratch = rows;
    c->row_scratch_capacity = capacity;
}

static bool open_program(struct convert *c, struct sonde__dwarf_program *program)
{
    enum sonde_status status = sonde__dwarf_program_open(c->sections, &c->unit, &c->lines, program);
    if (status != SONDE_OK) {
        if (status == SONDE_MEMORY) {
            c->status = status;
        } else {
            convert_damage(c, "a malformed line table");
        }
        return false;
    }
    return convert_work(c, c->lines.file_count + c->lines.directory_count +
                               sonde__base_bytes_left(&program->at));
}

/* The header first: the walk asks for the files of inlined calls. */
bool convert_lines_open(struct convert *c, struct sonde__dwarf_program *program)
{
    c->lines.file_count = 0;
    c->lines.directory_count = 0;
    c->row_count = 0;
    c->span_count = 0;
    if (!c->unit.has_stmt_list || !open_program(c, program)) {
        c->lines.file_count = 0;
        return false;
    }
    if (!convert_reserve(c, &c->unit_files, c->lines.file_count + 1, &c->unit_file_capacity,
                         sizeof *c->unit_files)) {
        return false;
    }
    memset(c->unit_files, 0xff, c->lines.file_count * sizeof *c->unit_files);
    return true;
}

void convert_lines_run(struct convert *c, struct sonde__dwarf_program *program)
{
    struct machine m = {.c = c, .program = program};
    size_t files = c->lines.file_count;
    run(&m);
    if (c->lines.file_count != files) { /* defined in the program */
        if (!convert_reserve(c, &c->unit_files, c->lines.file_count + 1, &c->unit_file_capacity,
                             sizeof *c->unit_files)) {
            return;
        }
        memset(c->unit_files, 0xff, c->lines.file_count * sizeof *c->unit_files);
    }
    sort_rows(c);
}
