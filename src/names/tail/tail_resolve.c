// SPDX-License-Identifier: Apache-2.0
/* Ranges, jumps and calls -> functions and edges.
 *
 * Ranges of one function are joined: a part (it starts with a frame in place, or is one by name)
 * with the ranges that jump to it, and a range with one into whose middle it jumps. A group has one
 * range that is not a part: the function. With none or several, it is open. */
#include <string.h>

#include "arch_regs.h"
#include "base_search.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "tail_agree.h"
#include "tail_scan.h"

static size_t find(struct tail_scan *s, size_t range)
{
    while (s->ranges[range].group != range) {
        s->ranges[range].group = s->ranges[s->ranges[range].group].group; /* path halving */
        range = s->ranges[range].group;
    }
    return range;
}

static void join(struct tail_scan *s, size_t a, size_t b)
{
    a = find(s, a);
    b = find(s, b);
    s->ranges[a > b ? a : b].group = (uint32_t)(a > b ? b : a);
}

/* --- symbols --- */

/* "f.cold", "f.cold.1" (gcc, LLVM), "f.__part.1" (LLVM's basic-block sections) */
static bool is_part_name(const char *name)
{
    const char *cold = strstr(name, ".cold");
    return (cold != NULL && (cold[5] == '\0' || cold[5] == '.')) ||
           strstr(name, ".__part.") != NULL;
}

uint8_t tail_marks_of_name(const char *name)
{
    static const char outlined[] =
        "OUTLINED_FUNCTION_"; /* LLVM's name; Mach-O adds an underscore */
    name += name[0] == '_';
    if (strncmp(name, outlined, sizeof outlined - 1) == 0) {
        return TAIL_MARK_NAMED | TAIL_MARK_OUTLINED;
    }
    return is_part_name(name) ? TAIL_MARK_PART : TAIL_MARK_NAMED;
}

static void name_ranges(struct tail_scan *s)
{
    const struct sonde__symbol_index *symbols = s->code->symbols;
    struct sonde__symbol symbol;
    for (size_t i = 0; i < s->range_count && symbols != NULL; i++) {
        struct tail_range *range = &s->ranges[i];
        uint64_t start = s->code->base + range->start;
        if (sonde__symbol_find(symbols, start, &symbol) && symbol.start == start &&
            symbol.name[0] != '\0') {
            range->marks |= tail_marks_of_name(symbol.name);
        }
        /* several functions in one FDE: jumps between them were not seen */
        if (sonde__symbol_find(symbols, s->code->base + range->end - 1, &symbol) &&
            symbol.name[0] != '\0' && symbol.start > start) {
            range->marks |= TAIL_MARK_OPEN;
        }
    }
}

static bool add_symbol_range(struct tail_scan *s, uint32_t offset, size_t known)
{
    struct sonde__symbol symbol;
    uint64_t vaddr = s->code->base + offset;
    size_t here = s->range_count;
    bool is_covered;
    s->range_count = known; /* the sorted ones */
    is_covered = tail_range_at(s, offset) != TAIL_NO_RANGE;
    s->range_count = here;
    if (is_covered || !sonde__symbol_find(s->code->symbols, vaddr, &symbol) ||
        symbol.start != vaddr || symbol.name[0] == '\0' || symbol.source == SONDE__SYMBOL_PLT ||
        symbol.end - s->code->base >= UINT32_MAX) {
        return true;
    }
    if (!TAIL_ROOM(s, ranges, range_count, range_capacity)) {
        return false;
    }
    s->ranges[s->range_count++] =
        (struct tail_range){.start = offset,
                            .end = (uint32_t)(symbol.end - s->code->base),
                            .marks = TAIL_MARK_OPEN | TAIL_MARK_NO_RECORD};
    return true;
}

/* Add functions without an FDE that are targets of jumps or calls, by their symbols. */
static void add_symbol_ranges(struct tail_scan *s)
{
    size_t known = s->range_count, kept = 0;
    bool go_on = s->code->symbols != NULL;
    for (size_t i = 0; i < s->exit_count && go_on; i++) {
        go_on = add_symbol_range(s, s->exits[i].to, known);
    }
    for (size_t i = 0; i < s->call_count && go_on; i++) {
        go_on = add_symbol_range(s, s->calls[i].to, known);
    }
    if (s->range_count == known) {
        return;
    }
    SONDE__SORT_BY(s->ranges, s->range_count, start);
    for (size_t i = 0; i < s->range_count; i++) {
        if (kept != 0 && s->ranges[kept - 1].start == s->ranges[i].start) {
            continue;
        }
        if (kept != 0 && s->ranges[kept - 1].end > s->ranges[i].start) {
            s->ranges[kept - 1].end = s->ranges[i].start;
        }
        s->ranges[kept++] = s->ranges[i];
    }
    s->range_count = kept;
}

/* --- groups --- */

static size_t range_of_start(const struct tail_scan *s, uint32_t start)
{
    size_t range = tail_range_at(s, start);
    return range != TAIL_NO_RANGE && s->ranges[range].start == start ? range : TAIL_NO_RANGE;
}

static void mark_called(struct tail_scan *s)
{
    for (size_t i = 0; i < s->call_count; i++) {
        size_t to = range_of_start(s, s->calls[i].to);
        if (to != TAIL_NO_RANGE) {
            s->ranges[to].marks |= TAIL_MARK_CALLED;
        }
    }
}

static void join_parts(struct tail_scan *s)
{
    for (size_t i = 0; i < s->exit_count; i++) {
        const struct tail_exit *e = &s->exits[i];
        size_t from = range_of_start(s, e->from);
        size_t to = tail_range_at(s, e->to);
        if (from != TAIL_NO_RANGE && to != TAIL_NO_RANGE &&
            (s->ranges[to].start != e->to || (s->ranges[to].marks & TAIL_MARK_PART) != 0)) {
            join(s, from, to);
        }
    }
}

/* --- edges --- */

struct edges {
    struct tail_scan *s;
    struct sonde__tail_function *functions;
    uint32_t *owners; /* by group: the range that is the function; NONE: none, or several */
    struct sonde__tail_jump *jumps;
    size_t jump_count, jump_capacity;
    struct sonde__tail_call *calls;
    size_t call_count;
};

/* A range joined with a function, and not known to be a function itself, is a part. */
static void mark_unknown_parts(struct edges *e)
{
    struct tail_scan *s = e->s;
    const uint8_t known = TAIL_MARK_NAMED | TAIL_MARK_CALLED | TAIL_MARK_NO_RECORD;
    for (size_t i = 0; i < s->range_count; i++) {
        e->owners[i] = SONDE__TAIL_NONE;
    }
    for (size_t i = 0; i < s->range_count; i++) {
        if ((s->ranges[i].marks & known) != 0 && (s->ranges[i].marks & TAIL_MARK_PART) == 0) {
            e->owners[find(s, i)] = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < s->range_count; i++) {
        if ((s->ranges[i].marks & known) == 0 && e->owners[find(s, i)] != SONDE__TAIL_NONE) {
            s->ranges[i].marks |= TAIL_MARK_PART;
        }
    }
}

static void choose_owners(struct edges *e)
{
    struct tail_scan *s = e->s;
    mark_unknown_parts(e);
    for (size_t i = 0; i < s->range_count; i++) {
        e->owners[i] = SONDE__TAIL_NONE;
    }
    for (size_t i = 0; i < s->range_count; i++) {
        size_t group = find(s, i);
        if ((s->ranges[i].marks & TAIL_MARK_PART) == 0) {
            if (e->owners[group] != SONDE__TAIL_NONE) {
                s->ranges[group].marks |= TAIL_MARK_OPEN; /* two entries: ambiguous */
            } else {
                e->owners[group] = (uint32_t)i;
            }
        }
    }
    for (size_t i = 0; i < s->range_count; i++) { /* marks of parts apply to the function */
        size_t group = find(s, i);
        s->ranges[group].marks |=
            s->ranges[i].marks & (TAIL_MARK_OPEN | TAIL_MARK_EXTERNAL | TAIL_MARK_INDIRECT);
    }
    for (size_t i = 0; i < s->range_count; i++) {
        size_t group = find(s, i);
        bool is_part = (s->ranges[i].marks & TAIL_MARK_PART) != 0;
        uint32_t owner = e->owners[group];
        e->functions[i] = (struct sonde__tail_function){
            .start = s->ranges[i].start,
            .end = s->ranges[i].end,
            .owner = is_part && owner != SONDE__TAIL_NONE ? owner : (uint32_t)i};
    }
}

/* Can a jump to this range be a tail call? */
static bool is_function(const struct tail_range *range)
{
    return (range->marks & (TAIL_MARK_NAMED | TAIL_MARK_CALLED | TAIL_MARK_NO_RECORD)) != 0 &&
           (range->marks & TAIL_MARK_PART) == 0;
}

static void add_jumps(struct edges *e)
{
    struct tail_scan *s = e->s;
    for (size_t i = 0; i < s->exit_count; i++) {
        const struct tail_exit *exit = &s->exits[i];
        size_t from = range_of_start(s, exit->from);
        size_t to = tail_range_at(s, exit->to);
        if (from == TAIL_NO_RANGE) {
            continue; /* cut by another FDE: open */
        }
        struct tail_range *group = &s->ranges[find(s, from)];
        if (to == TAIL_NO_RANGE) {
            group->marks |= TAIL_MARK_OPEN;
        } else if (find(s, from) != find(s, to)) {
            if (s->ranges[to].start == exit->to && is_function(&s->ranges[to]) &&
                exit->kind != TAIL_EXIT_INSIDE) {
                e->jumps[e->jump_count++] =
                    (struct sonde__tail_jump){(uint32_t)from, (uint32_t)to, exit->place};
            } else {
                group->marks |= TAIL_MARK_OPEN;
            }
        }
    }
}

/* --- outlined code --- */

/* Jumps added by following outlined code, at most. */
#define PASSED_MAX ((size_t)1 << 20)

static bool is_outlined(const struct edges *e, uint32_t range)
{
    return (e->s->ranges[range].marks & TAIL_MARK_OUTLINED) != 0;
}

/* A message with one selector; calls of it have a meaning. */
static bool is_message(const struct edges *e, uint32_t range)
{
    return (e->s->ranges[range].marks & TAIL_MARK_MESSAGE) == TAIL_MARK_MESSAGE;
}

/* The first jump of a range; jumps are sorted by source. */
static size_t first_jump(const struct edges *e, size_t count, uint32_t from)
{
    return SONDE__SEARCH(0, count, i, e->jumps[i].from < from);
}

/* Replace a jump to outlined code by one to where that code continues, because outlined code is no
 * function of the source and not shown on stacks. The function gets the marks of the outlined
 * code. */
static void pass_over_outlined(struct edges *e)
{
    struct tail_scan *s = e->s;
    size_t sorted = e->jump_count, kept = 0;
    SONDE__SORT_BY(e->jumps, sorted, from);
    for (size_t i = 0; i < e->jump_count && !s->no_memory; i++) {
        struct sonde__tail_jump jump = e->jumps[i];
        uint8_t *marks = &s->ranges[find(s, jump.from)].marks;
        if (!is_outlined(e, jump.to) || is_outlined(e, jump.from)) {
            continue;
        }
        if ((s->ranges[find(s, jump.to)].marks & (TAIL_MARK_OPEN | TAIL_MARK_EXTERNAL)) != 0) {
            *marks |=
                TAIL_MARK_OPEN | (s->ranges[find(s, jump.to)].marks & (uint8_t)TAIL_MARK_INDIRECT);
        }
        for (size_t k = first_jump(e, sorted, jump.to); k < sorted && e->jumps[k].from == jump.to;
             k++) {
            if (e->jump_count >= sorted + PASSED_MAX) { /* there may be cycles */
                *marks |= TAIL_MARK_OPEN;
            } else if (e->jump_count < e->jump_capacity ||
                       sonde__mem_grow(&e->jumps, e->jump_count, &e->jump_capacity,
                                       sizeof *e->jumps)) {
                e->jumps[e->jump_count++] =
                    (struct sonde__tail_jump){jump.from, e->jumps[k].to, jump.place};
            } else {
                s->no_memory = true;
            }
        }
    }
    for (size_t i = 0; i < e->jump_count; i++) {
        if (!is_outlined(e, e->jumps[i].to) &&
            (!is_outlined(e, e->jumps[i].from) || is_message(e, e->jumps[i].from))) {
            e->jumps[kept++] = e->jumps[i];
        }
    }
    e->jump_count = kept;
}

static void set_flags(struct edges *e)
{
    struct tail_scan *s = e->s;
    for (size_t i = 0; i < s->range_count; i++) {
        uint8_t marks = s->ranges[find(s, i)].marks;
        e->functions[i].flags =
            ((marks & TAIL_MARK_OPEN) != 0 ? (uint32_t)SONDE__TAIL_OPEN : 0) |
            ((marks & TAIL_MARK_EXTERNAL) != 0 ? (uint32_t)SONDE__TAIL_EXTERNAL : 0) |
            /* outlined code is not shown on stacks */
            ((marks & TAIL_MARK_INDIRECT) != 0 && !is_outlined(e, (uint32_t)i)
                 ? (uint32_t)SONDE__TAIL_INDIRECT
                 : 0);
        if (is_message(e, (uint32_t)i)) {
            e->functions[i].flags = SONDE__TAIL_MESSAGE;
        }
    }
}

static void add_calls(struct edges *e)
{
    struct tail_scan *s = e->s;
    struct sonde__symbol symbol;
    for (size_t i = 0; i < s->call_count; i++) {
        size_t to = range_of_start(s, s->calls[i].to);
        if (to != TAIL_NO_RANGE) {
            e->calls[e->call_count++] = (struct sonde__tail_call){s->calls[i].back, (uint32_t)to};
        }
    }
    for (size_t i = 0; i < s->handover_count && s->code->symbols != NULL; i++) {
        if (sonde__symbol_find(s->code->symbols, s->handovers[i].to, &symbol) &&
            symbol.start == s->handovers[i].to && strcmp(symbol.name, "exit") == 0) {
            e->calls[e->call_count++] =
                (struct sonde__tail_call){s->handovers[i].back, SONDE__TAIL_MAIN};
        }
    }
}

/* Jumps of functions to other images; functions with cut ranges are open. */
static size_t take_externals(struct edges *e, struct sonde__tail_external *externals)
{
    struct tail_scan *s = e->s;
    size_t count = 0;
    for (size_t i = 0; i < s->external_count; i++) {
        size_t from = range_of_start(s, s->externals[i].from);
        if (from != TAIL_NO_RANGE) {
            externals[count++] = (struct sonde__tail_external){
                .from = e->functions[from].owner,
                .cell = s->externals[i].cell,
                .place = s->externals[i].place,
            };
        }
    }
    return count;
}

/* --- the program's main function --- */

static bool main_of_table(const struct sonde__elf_symbols *table, uint64_t *ret_vaddr)
{
    struct sonde__elf_symbol symbol;
    for (uint32_t i = 0; sonde__elf_symbols_at(table, i, &symbol); i++) {
        if (symbol.type == SONDE__STT_FUNC && symbol.section != SONDE__SHN_UNDEF &&
            symbol.name[0] == 'm' && strcmp(symbol.name, "main") == 0) {
            *ret_vaddr = symbol.value;
            return true;
        }
    }
    return false;
}

/* The first argument of __libc_start_main in start-up code: lea main(%rip), %rdi or mov $main, %rdi
 * before the call (glibc's start.S). */
static bool main_of_start(const struct tail_scan *s, uint64_t *ret_vaddr)
{
    enum { START_BYTES = 64 };
    const struct sonde__elf *elf = s->code->elf;
    const uint8_t *code = sonde__elf_at_vaddr(elf, elf->entry, START_BYTES);
    if (code == NULL || s->arch != SONDE_ARCH_X86_64) {
        return false;
    }
    for (unsigned i = 0; i + 7 <= START_BYTES && code[i] != 0xe8; i++) {
        uint32_t value;
        memcpy(&value, code + i + 3, 4);
        if (code[i] == 0x48 && code[i + 1] == 0x8d && code[i + 2] == 0x3d) {
            *ret_vaddr = elf->entry + i + 7 + (uint64_t)(int64_t)(int32_t)value;
            return true;
        }
        if (code[i] == 0x48 && code[i + 1] == 0xc7 && code[i + 2] == 0xc7) {
            *ret_vaddr = value;
            return true;
        }
    }
    return false;
}

static uint32_t find_main(const struct tail_scan *s)
{
    struct sonde__elf_section section;
    struct sonde__elf_symbols table;
    uint64_t vaddr = 0;
    size_t range;
    if (s->code->elf == NULL) {
        return SONDE__TAIL_NONE; /* a Mach-O: dyld calls its main() */
    }
    bool is_known = sonde__elf_section_by_type(s->code->elf, SONDE__SHT_SYMTAB, &section) &&
                    sonde__elf_symbols(s->code->elf, &section, &table) &&
                    main_of_table(&table, &vaddr);
    is_known = is_known || main_of_start(s, &vaddr) ||
               (sonde__elf_dynamic_symbols(s->code->elf, &table) && main_of_table(&table, &vaddr));
    if (!is_known || vaddr - s->code->base >= UINT32_MAX) {
        return SONDE__TAIL_NONE;
    }
    range = range_of_start(s, (uint32_t)(vaddr - s->code->base));
    return range != TAIL_NO_RANGE ? (uint32_t)range : SONDE__TAIL_NONE;
}

/* --- everything --- */

static enum sonde_status make(struct edges *e, struct sonde__tail_bytes *ret_bytes)
{
    struct tail_scan *s = e->s;
    choose_owners(e);
    add_jumps(e);
    pass_over_outlined(e);
    if (s->no_memory) {
        return SONDE_MEMORY;
    }
    set_flags(e);
    add_calls(e);
    struct sonde__tail_external *externals =
        sonde__mem_alloc_array(s->external_count, sizeof *externals);
    if (externals == NULL) {
        return SONDE_MEMORY;
    }
    struct sonde__tail_input input = {.functions = e->functions,
                                      .function_count = s->range_count,
                                      .jumps = e->jumps,
                                      .jump_count = e->jump_count,
                                      .calls = e->calls,
                                      .call_count = e->call_count,
                                      .externals = externals,
                                      .external_count = take_externals(e, externals),
                                      .main = find_main(s)};
    struct sonde__tail_origin origin = {.sources = SONDE__TAIL_FROM_CODE};
    struct tail_agreement agreement = {0};
    enum sonde_status status = SONDE_OK;
    if (s->code->described != NULL) {
        status = tail_agree(&input, e->functions, s->code->described, &agreement, &origin);
    }
    if (status == SONDE_OK) {
        status = sonde__tail_make(&input, ret_bytes);
    }
    if (status == SONDE_OK) {
        ret_bytes->origin = origin;
    }
    tail_agreement_done(&agreement);
    sonde__mem_free(externals);
    return status;
}

enum sonde_status tail_resolve(struct tail_scan *s, struct sonde__tail_bytes *ret_bytes)
{
    struct edges e = {.s = s};
    enum sonde_status status = SONDE_MEMORY;
    add_symbol_ranges(s);
    for (size_t i = 0; i < s->range_count; i++) {
        s->ranges[i].group = (uint32_t)i;
    }
    name_ranges(s);
    mark_called(s);
    join_parts(s);
    e.functions = sonde__mem_alloc_array(s->range_count, sizeof *e.functions);
    e.owners = sonde__mem_alloc_array(s->range_count, sizeof *e.owners);
    e.jumps = sonde__mem_alloc_array(s->exit_count, sizeof *e.jumps);
    e.jump_capacity = s->exit_count;
    e.calls = sonde__mem_alloc_array(s->call_count + s->handover_count, sizeof *e.calls);
    if (!s->no_memory && e.functions != NULL && e.owners != NULL && e.jumps != NULL &&
        e.calls != NULL) {
        status = make(&e, ret_bytes);
    }
    sonde__mem_free(e.functions);
    sonde__mem_free(e.owners);
    sonde__mem_free(e.jumps);
    sonde__mem_free(e.calls);
    return status;
}
