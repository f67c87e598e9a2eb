// SPDX-License-Identifier: Apache-2.0
/* Calls and jumps of a Mach-O's functions.
 *
 * There is no unwind information for each instruction, so each function is followed from its entry
 * over all branches, tracking how far the stack pointer is from its value at entry. A jump out of
 * the function is a tail call if that distance is 0. Code that no branch leads to (blocks of a jump
 * table, exception handlers) is followed afterwards, with the distance at the jump through the
 * table, or with an unknown one. Any uncertainty (an unknown distance at a jump out, undecodable
 * code) makes the function open. */

#include <string.h>

#include "arch_flow.h"
#include "arch_regs.h"
#include "arch_stack.h"
#include "base_search.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "tail_message.h"
#include "tail_scan.h"
#include "tail_selector.h"

/* Larger functions are open. The largest of Chromium and of interpreters have half this size. */
#define FUNCTION_BYTES_MAX ((uint32_t)1 << 20)
/* Sections of code; programs have three to six. */
#define SECTIONS_MAX 64u
/* Maximum of instructions between the addition and the jump to its result. */
#define SUM_AGE_MAX 3u
#define DEPTH_MAX   (1 << 28)

enum { PLACE_NEW = INT32_MIN, LOST = -1 };

/* State at an instruction: distance of sp and fp below the sp at entry, in bytes. */
struct place {
    int32_t depth, fp;
};

struct block {
    uint32_t at;
    struct place place;
    bool is_guess; /* no known path leads here */
};

struct data {
    uint64_t start, end;
};

struct macho_scan {
    struct tail_scan s;
    const struct sonde__tail_macho *code;
    struct tail_code_section {
        uint64_t start, end;
    } sections[SECTIONS_MAX];
    uint32_t section_count;
    struct stub_section {
        struct sonde__macho_section section;
    } stubs[SECTIONS_MAX];
    uint32_t stub_count;
    struct sonde__macho_symbols symbols; /* of the image, for stubs */
    bool has_symbols;
    struct data *data; /* sorted by start */
    size_t data_count, data_capacity;
    /* for one function */
    struct tail_range *range;
    const uint8_t *bytes;
    uint64_t vaddr;
    uint32_t size;
    struct place *places; /* FUNCTION_BYTES_MAX of them */
    struct block *blocks; /* not followed yet */
    size_t block_count, block_capacity;
    struct place table; /* state at a jump through a table; PLACE_NEW: none */
    /* bits for the function's bytes: instructions reached, targets of branches */
    uint8_t starts[FUNCTION_BYTES_MAX / 8 + 1], targets[FUNCTION_BYTES_MAX / 8 + 1];
};

static void open_range(struct macho_scan *m)
{
    m->range->marks |= TAIL_MARK_OPEN;
}

/* --- inputs --- */

static void find_sections(struct macho_scan *m)
{
    struct sonde__macho_section section;
    for (uint32_t i = 0; sonde__macho_section(m->code->image, i, &section); i++) {
        uint32_t kind = section.flags & SONDE__S_TYPE;
        if (section.data == NULL || section.size == 0 ||
            section.vaddr + section.size < section.vaddr) {
            continue;
        }
        if (kind == SONDE__S_SYMBOL_STUBS) {
            if (m->stub_count < SECTIONS_MAX) {
                m->stubs[m->stub_count++].section = section;
            }
        } else if ((section.flags & SONDE__S_ATTR_PURE_INSTRUCTIONS) != 0 &&
                   m->section_count < SECTIONS_MAX) {
            m->sections[m->section_count].start = section.vaddr;
            m->sections[m->section_count++].end = section.vaddr + section.size;
        }
    }
}

static void find_data(struct macho_scan *m)
{
    struct tail_scan *s = &m->s;
    uint64_t vaddr;
    uint32_t size;
    for (uint32_t i = 0; sonde__macho_data_in_code(m->code->image, i, &vaddr, &size); i++) {
        if (m->data_count >= m->data_capacity &&
            !sonde__mem_grow(&m->data, m->data_count, &m->data_capacity, sizeof *m->data)) {
            s->no_memory = true;
            return;
        }
        m->data[m->data_count++] = (struct data){vaddr, vaddr + size};
    }
    SONDE__SORT_BY(m->data, m->data_count, start);
}

/* The end of the data that contains a vaddr; 0: none. */
static uint64_t data_end(const struct macho_scan *m, uint64_t vaddr)
{
    size_t after = SONDE__SEARCH(0, m->data_count, i, m->data[i].start <= vaddr);
    return after != 0 && vaddr < m->data[after - 1].end ? m->data[after - 1].end : 0;
}

static const struct tail_code_section *section_at(const struct macho_scan *m, uint64_t vaddr)
{
    for (uint32_t i = 0; i < m->section_count; i++) {
        if (vaddr >= m->sections[i].start && vaddr < m->sections[i].end) {
            return &m->sections[i];
        }
    }
    return NULL;
}

static void add_range(struct macho_scan *m, uint64_t start, uint64_t end)
{
    struct tail_scan *s = &m->s;
    const struct tail_code_section *section = section_at(m, start);
    if (section == NULL || start < m->code->base) {
        return;
    }
    end = end < section->end ? end : section->end;
    if (end - m->code->base < UINT32_MAX && TAIL_ROOM(s, ranges, range_count, range_capacity)) {
        s->ranges[s->range_count++] =
            (struct tail_range){.start = (uint32_t)(start - m->code->base),
                                .end = (uint32_t)(end - m->code->base),
                                .marks = TAIL_MARK_NAMED};
    }
}

static void find_ranges(struct macho_scan *m)
{
    struct sonde__macho_starts starts;
    uint64_t start, next;
    bool is_there;
    sonde__macho_starts_begin(m->code->image, &starts);
    is_there = sonde__macho_starts_next(&starts, &start);
    while (is_there && !m->s.no_memory) {
        is_there = sonde__macho_starts_next(&starts, &next);
        add_range(m, start, is_there ? next : UINT64_MAX);
        start = next;
    }
    tail_add_senders(&m->s, m->code->image, m->code->base);
    tail_order_ranges(&m->s);
}

/* Names identify parts. A name inside a function may be a second entry. */
static void read_names(struct macho_scan *m, const struct sonde__macho *macho)
{
    struct sonde__macho_symbols symbols;
    struct sonde__macho_symbol symbol;
    struct sonde__macho_section section;
    if (macho == NULL || !sonde__macho_symbols(macho, &symbols)) {
        return;
    }
    for (uint32_t i = 0; sonde__macho_symbols_at(&symbols, i, &symbol); i++) {
        uint64_t offset = symbol.value - macho->base + m->code->image->base - m->code->base;
        size_t range;
        if (!sonde__macho_is_function(macho, &symbol, &section) || offset >= UINT32_MAX ||
            (range = tail_range_at(&m->s, (uint32_t)offset)) == TAIL_NO_RANGE) {
            continue;
        }
        if (m->s.ranges[range].start != offset) {
            m->s.ranges[range].marks |=
                (symbol.desc & SONDE__N_ALT_ENTRY) == 0 ? TAIL_MARK_OPEN : 0;
        } else {
            m->s.ranges[range].marks |= tail_marks_of_name(symbol.name);
        }
    }
}

enum stub_kind { STUB_NONE, STUB_EXTERNAL, STUB_MESSAGE, STUB_UNKNOWN };

/* Resolve a jump to a linkage stub, or through a pointer that the linker sets. A function of this
 * image called through a stub can be replaced by another image's. */
static enum stub_kind stub_at(const struct macho_scan *m,
                              const struct sonde__macho_section *section, uint64_t vaddr)
{
    struct sonde__macho_symbol symbol;
    uint32_t bytes = sonde__macho_indirect_bytes(m->code->image, section);
    if (bytes == 0 || vaddr < section->vaddr || vaddr - section->vaddr >= section->size) {
        return STUB_NONE;
    }
    if (!m->has_symbols ||
        !sonde__macho_indirect(m->code->image, &m->symbols, section,
                               (uint32_t)((vaddr - section->vaddr) / bytes), &symbol) ||
        (symbol.type & SONDE__N_TYPE) != SONDE__N_UNDF) {
        return STUB_UNKNOWN;
    }
    return tail_is_message(symbol.name) ? STUB_MESSAGE : STUB_EXTERNAL;
}

static enum stub_kind find_stub(const struct macho_scan *m, uint64_t vaddr)
{
    enum stub_kind kind = STUB_NONE;
    for (uint32_t i = 0; i < m->stub_count && kind == STUB_NONE; i++) {
        kind = stub_at(m, &m->stubs[i].section, vaddr);
    }
    return kind;
}

/* --- stack depth in one function --- */

static int32_t moved(int32_t from, int64_t by)
{
    int64_t to = from + by;
    return from >= 0 && to >= 0 && to <= DEPTH_MAX ? (int32_t)to : LOST;
}

static void apply(struct place *place, const struct sonde__stack_effect *effect)
{
    switch (effect->kind) {
    case SONDE__STACK_MOVED:
        place->depth = moved(place->depth, -(int64_t)effect->value);
        break;
    case SONDE__STACK_FROM_FP:
        place->depth = moved(place->fp, -(int64_t)effect->value);
        break;
    case SONDE__STACK_TO_FP:
        place->fp = moved(place->depth, -(int64_t)effect->value);
        break;
    case SONDE__STACK_LOST:
        place->depth = LOST;
        break;
    default:
        break;
    }
    place->fp = effect->loses_fp ? LOST : place->fp;
}

static void add_block(struct macho_scan *m, uint32_t at, const struct place *place, bool is_guess)
{
    struct tail_scan *s = &m->s;
    if (m->block_count >= m->block_capacity &&
        !sonde__mem_grow(&m->blocks, m->block_count, &m->block_capacity, sizeof *m->blocks)) {
        s->no_memory = true;
        return;
    }
    m->blocks[m->block_count++] = (struct block){at, *place, is_guess};
}

/* Record the state at a place. False: already known. */
static bool arrive(struct place *there, struct place *coming, bool is_guess)
{
    bool changed = false;
    if (there->depth == PLACE_NEW) {
        *there = *coming;
        return true;
    }
    if (is_guess) {
        return false;
    }
    if (there->depth != coming->depth && there->depth != LOST) {
        there->depth = LOST;
        changed = true;
    }
    if (there->fp != coming->fp && there->fp != LOST) {
        there->fp = LOST;
        changed = true;
    }
    *coming = *there;
    return changed;
}

static void set_bit(uint8_t *map, uint32_t at)
{
    map[at >> 3] |= (uint8_t)(1u << (at & 7));
}

/* Follow instructions from a block until control leaves or known code is reached. */
static void follow_block(struct macho_scan *m, struct block *block)
{
    uint32_t at = block->at;
    struct place place = block->place;
    struct sonde__flow flow = {.kind = SONDE__FLOW_ON};
    while (!m->s.no_memory) {
        struct sonde__stack_effect effect;
        if (at >= m->size) { /* a call at the end of a function does not return */
            if (flow.kind != SONDE__FLOW_CALL && flow.kind != SONDE__FLOW_CALL_SLOT &&
                flow.kind != SONDE__FLOW_CALL_INDIRECT) {
                open_range(m);
            }
            return;
        }
        if (!arrive(&m->places[at], &place, block->is_guess)) {
            return;
        }
        if (data_end(m, m->vaddr + at) != 0 ||
            !sonde__arch_flow(m->s.arch, m->vaddr + at, m->bytes + at, m->size - at, &flow) ||
            !sonde__arch_stack_effect(m->s.arch, m->bytes + at, m->size - at, &effect)) {
            open_range(m);
            return;
        }
        apply(&place, &effect);
        set_bit(m->starts, at);
        if ((flow.kind == SONDE__FLOW_JUMP || flow.kind == SONDE__FLOW_BRANCH) &&
            flow.target >= m->vaddr && flow.target < m->vaddr + m->size) {
            set_bit(m->targets, (uint32_t)(flow.target - m->vaddr));
            add_block(m, (uint32_t)(flow.target - m->vaddr), &place, block->is_guess);
        }
        if (flow.kind == SONDE__FLOW_JUMP_INDIRECT || flow.kind == SONDE__FLOW_JUMP_TABLE) {
            bool is_same = m->table.depth == place.depth && m->table.fp == place.fp;
            m->table = m->table.depth == PLACE_NEW || is_same ? place : (struct place){LOST, LOST};
        }
        if (flow.kind == SONDE__FLOW_JUMP || flow.kind == SONDE__FLOW_JUMP_SLOT ||
            flow.kind == SONDE__FLOW_JUMP_INDIRECT || flow.kind == SONDE__FLOW_JUMP_TABLE ||
            flow.kind == SONDE__FLOW_RETURN || flow.kind == SONDE__FLOW_STOP) {
            return;
        }
        at += flow.length;
    }
}

static void follow_blocks(struct macho_scan *m)
{
    while (m->block_count != 0 && !m->s.no_memory) {
        struct block block = m->blocks[--m->block_count];
        follow_block(m, &block);
    }
}

/* Size of a nop or of padding between functions; 0: another instruction. */
static uint32_t padding(const struct macho_scan *m, uint32_t at)
{
    const uint8_t *p = m->bytes + at;
    uint32_t left = m->size - at, prefixes = 0;
    struct sonde__flow flow;
    if (m->s.arch == SONDE_ARCH_AARCH64) {
        bool is_nop =
            left >= 4 && ((p[0] == 0x1f && p[1] == 0x20 && p[2] == 0x03 && p[3] == 0xd5) ||
                          (p[0] | p[1] | p[2] | p[3]) == 0);
        return is_nop ? 4 : 0;
    }
    if (p[0] == 0x90 || p[0] == 0xcc || p[0] == 0) {
        return 1;
    }
    while (prefixes < left && (p[prefixes] == 0x66 || p[prefixes] == 0x2e)) {
        prefixes++;
    }
    if (prefixes < left && p[prefixes] == 0x90) {
        return prefixes + 1;
    }
    return prefixes + 1 < left && p[prefixes] == 0x0f && p[prefixes + 1] == 0x1f &&
                   sonde__arch_flow(m->s.arch, m->vaddr + at, p, left, &flow)
               ? flow.length
               : 0;
}

/* Find the first code at or after `at` that was not reached. False: none. */
static bool find_rest(struct macho_scan *m, uint32_t *ret_at)
{
    uint32_t at = *ret_at;
    while (at < m->size) {
        uint64_t end = data_end(m, m->vaddr + at);
        struct sonde__flow flow;
        if (end != 0) {
            at = end - m->vaddr < m->size ? (uint32_t)(end - m->vaddr) : m->size;
        } else if (m->places[at].depth != PLACE_NEW) {
            if (!sonde__arch_flow(m->s.arch, m->vaddr + at, m->bytes + at, m->size - at, &flow)) {
                return false; /* open */
            }
            at += flow.length;
        } else {
            uint32_t nop = padding(m, at);
            if (nop == 0) {
                *ret_at = at;
                return true;
            }
            at += nop;
        }
    }
    return false;
}

/* --- jumps out of the function --- */

/* What a message enters that the instruction at `at` sends: the word of its selector. 0: unknown,
 * or no method of the image has the selector. */
static uint64_t entry_of_message(const struct macho_scan *m, uint32_t at)
{
    const struct tail_flow flow = {m->s.arch, m->bytes, m->vaddr, m->starts, m->targets};
    uint64_t word = tail_selector(&flow, at), offset = word - m->code->base;
    size_t range =
        word != 0 && offset < UINT32_MAX ? tail_range_at(&m->s, (uint32_t)offset) : TAIL_NO_RANGE;
    return range != TAIL_NO_RANGE && m->s.ranges[range].start == offset ? word : 0;
}

/* kind: of the stub or word that the call goes through. */
static void add_call(struct macho_scan *m, uint32_t at, uint64_t back, uint64_t to,
                     enum stub_kind kind)
{
    struct tail_scan *s = &m->s;
    uint64_t base = m->code->base;
    to = kind == STUB_MESSAGE ? entry_of_message(m, at) : kind == STUB_NONE ? to : 0;
    if (to != 0 && to - base < UINT32_MAX && TAIL_ROOM(s, calls, call_count, call_capacity)) {
        s->calls[s->call_count++] =
            (struct tail_entry_call){(uint32_t)(back - base), (uint32_t)(to - base)};
    }
}

/* Marks of a function that jumps out through a stub or a word. A message can continue in any
 * method. */
static uint8_t marks_of_stub(enum stub_kind kind, bool is_clean)
{
    return kind == STUB_EXTERNAL && is_clean  ? TAIL_MARK_EXTERNAL
           : kind == STUB_MESSAGE && is_clean ? TAIL_MARK_OPEN | TAIL_MARK_INDIRECT
                                              : TAIL_MARK_OPEN;
}

/* stub: of the jump's target, or of the word that it goes through */
static void add_exit(struct macho_scan *m, uint32_t at, uint64_t to, enum stub_kind stub)
{
    struct tail_scan *s = &m->s;
    uint64_t base = m->code->base, pc = m->vaddr + at;
    bool is_clean = m->places[at].depth == 0;
    if (stub != STUB_NONE || to - base >= UINT32_MAX) {
        m->range->marks |= marks_of_stub(stub, is_clean);
        to = stub == STUB_MESSAGE && is_clean ? entry_of_message(m, at) : 0;
    }
    if (to == 0) {
        return;
    }
    if (TAIL_ROOM(s, exits, exit_count, exit_capacity)) {
        s->exits[s->exit_count++] =
            (struct tail_exit){m->range->start, (uint32_t)(to - base), (uint32_t)(pc - base),
                               is_clean ? TAIL_EXIT_CLEAN : TAIL_EXIT_INSIDE};
    }
}

/* Of the word that a call or jump goes through: never NONE. */
static enum stub_kind kind_of_word(const struct macho_scan *m, uint64_t cell)
{
    struct sonde__macho_section section;
    enum stub_kind kind = STUB_NONE;
    for (uint32_t i = 0;
         kind == STUB_NONE && i < SECTIONS_MAX && sonde__macho_section(m->code->image, i, &section);
         i++) {
        kind = stub_at(m, &section, cell);
    }
    return kind != STUB_NONE ? kind : STUB_UNKNOWN;
}

static void take_flow(struct macho_scan *m, uint32_t at, const struct sonde__flow *flow,
                      bool is_sum)
{
    switch (flow->kind) {
    case SONDE__FLOW_CALL:
        add_call(m, at, m->vaddr + at + flow->length, flow->target, find_stub(m, flow->target));
        break;
    case SONDE__FLOW_CALL_SLOT:
        add_call(m, at, m->vaddr + at + flow->length, 0, kind_of_word(m, flow->target));
        break;
    case SONDE__FLOW_JUMP:
    case SONDE__FLOW_BRANCH:
        if (flow->target < m->vaddr || flow->target >= m->vaddr + m->size) {
            add_exit(m, at, flow->target, find_stub(m, flow->target));
        }
        break;
    case SONDE__FLOW_JUMP_SLOT:
        add_exit(m, at, 0, kind_of_word(m, flow->target));
        break;
    case SONDE__FLOW_JUMP_INDIRECT:
        if (!is_sum && m->places[at].depth <= 0) {
            open_range(m);
            m->range->marks |= TAIL_MARK_INDIRECT;
        }
        break;
    default:
        break;
    }
}

static void take_all(struct macho_scan *m)
{
    uint8_t sum_reg = SONDE__FLOW_NO_REG;
    unsigned sum_age = 0;
    for (uint32_t at = 0; at < m->size && !m->s.no_memory;) {
        struct sonde__flow flow;
        if (m->places[at].depth == PLACE_NEW ||
            !sonde__arch_flow(m->s.arch, m->vaddr + at, m->bytes + at, m->size - at, &flow)) {
            at += m->s.arch == SONDE_ARCH_AARCH64 ? 4 : 1;
            continue;
        }
        take_flow(m, at, &flow,
                  flow.reg != SONDE__FLOW_NO_REG && flow.reg == sum_reg && sum_age <= SUM_AGE_MAX);
        if (flow.sum_reg != SONDE__FLOW_NO_REG) {
            sum_reg = flow.sum_reg;
            sum_age = 0;
        } else {
            sum_age += sum_age <= SUM_AGE_MAX;
        }
        at += flow.length;
    }
}

static void scan_range(struct macho_scan *m, struct tail_range *range)
{
    const struct place entry = {.depth = 0, .fp = LOST};
    uint64_t left = 0;
    uint32_t rest = 0;
    m->range = range;
    m->vaddr = m->code->base + range->start;
    m->size = range->end - range->start;
    m->bytes = sonde__macho_from_vaddr(m->code->image, m->vaddr, &left);
    m->table = (struct place){PLACE_NEW, LOST};
    if (m->bytes == NULL || left < m->size || m->size > FUNCTION_BYTES_MAX) {
        open_range(m);
        return;
    }
    for (uint32_t i = 0; i < m->size; i++) {
        m->places[i].depth = PLACE_NEW;
    }
    memset(m->starts, 0, m->size / 8 + 1);
    memset(m->targets, 0, m->size / 8 + 1);
    add_block(m, 0, &entry, false);
    follow_blocks(m);
    while (!m->s.no_memory && find_rest(m, &rest)) {
        const struct place unknown = {LOST, LOST};
        add_block(m, rest, m->table.depth != PLACE_NEW ? &m->table : &unknown, true);
        follow_blocks(m);
    }
    take_all(m);
}

static enum sonde_status scan(struct macho_scan *m, struct sonde__tail_bytes *ret_bytes)
{
    struct tail_scan *s = &m->s;
    uint64_t bytes = 0;
    find_sections(m);
    find_data(m);
    find_ranges(m);
    for (size_t i = 0; i < s->range_count; i++) {
        bytes += s->ranges[i].end - s->ranges[i].start;
    }
    if (s->range_count == 0 || s->no_memory || bytes > SONDE__TAIL_CODE_MAX) {
        return s->no_memory ? SONDE_MEMORY : bytes == 0 ? SONDE_ABSENT : SONDE_LIMIT;
    }
    m->places = sonde__mem_alloc_array(FUNCTION_BYTES_MAX, sizeof *m->places);
    if (m->places == NULL) {
        return SONDE_MEMORY;
    }
    m->has_symbols = sonde__macho_symbols(m->code->image, &m->symbols);
    read_names(m, m->code->image);
    read_names(m, m->code->debug);
    for (size_t i = 0; i < s->range_count && !s->no_memory; i++) {
        if ((s->ranges[i].marks & TAIL_MARK_NO_RECORD) == 0) {
            scan_range(m, &s->ranges[i]);
        }
    }
    return s->no_memory ? SONDE_MEMORY : tail_resolve(s, ret_bytes);
}

enum sonde_status sonde__tail_macho_make(const struct sonde__tail_macho *code,
                                         struct sonde__tail_bytes *ret_bytes)
{
    const struct sonde__tail_code rest = {.base = code->base, .described = code->described};
    struct macho_scan *m;
    enum sonde_status status;
    uint32_t cpu = code->image->cpu;
    if (cpu != SONDE__CPU_X86_64 && cpu != SONDE__CPU_ARM64 && cpu != SONDE__CPU_ARM64_32) {
        return SONDE_UNSUPPORTED;
    }
    m = sonde__mem_alloc_zeroed(sizeof *m);
    if (m == NULL) {
        return SONDE_MEMORY;
    }
    m->code = code;
    m->s.code = &rest;
    m->s.arch = cpu == SONDE__CPU_X86_64 ? SONDE_ARCH_X86_64 : SONDE_ARCH_AARCH64;
    status = scan(m, ret_bytes);
    tail_scan_done(&m->s);
    sonde__mem_free(m->data);
    sonde__mem_free(m->places);
    sonde__mem_free(m->blocks);
    sonde__mem_free(m);
    return status;
}
