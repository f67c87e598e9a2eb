// SPDX-License-Identifier: Apache-2.0
/* Decodes all code of an image once, and collects calls, and jumps out of their range.
 * tail_resolve.c interprets them afterwards. */
#include "tail_code.h"

#include <stdlib.h>

#include "arch_flow.h"
#include "arch_plt.h"
#include "arch_regs.h"
#include "image_cfi.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "tail_scan.h"
#include "unwind_program.h"

/* --- ranges --- */

static bool add_range(void *ctx, uint64_t start, uint64_t end)
{
    struct tail_scan *s = ctx;
    uint64_t base = s->code->base;
    if (start < base || end - base >= UINT32_MAX || tail_in_plt(&s->slots, start)) {
        return true;
    }
    if (!TAIL_ROOM(s, ranges, range_count, range_capacity)) {
        return false;
    }
    s->ranges[s->range_count++] =
        (struct tail_range){.start = (uint32_t)(start - base), .end = (uint32_t)(end - base)};
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct tail_range *x = a, *y = b;
    return SONDE__ORDER2(x, y, start, end);
}

/* Sort, and keep one range per start. Of two that overlap, the first is cut and neither is
 * trusted. */
void tail_order_ranges(struct tail_scan *s)
{
    size_t kept = 0;
    if (s->range_count != 0) {
        qsort(s->ranges, s->range_count, sizeof *s->ranges, by_start);
    }
    for (size_t i = 0; i < s->range_count; i++) {
        struct tail_range *last = kept != 0 ? &s->ranges[kept - 1] : NULL;
        if (last != NULL && last->start == s->ranges[i].start) {
            last->marks |= last->end != s->ranges[i].end ? TAIL_MARK_OPEN : 0;
            continue;
        }
        if (last != NULL && last->end > s->ranges[i].start) {
            last->end = s->ranges[i].start;
            last->marks |= TAIL_MARK_OPEN;
            s->ranges[i].marks |= TAIL_MARK_OPEN;
        }
        s->ranges[kept++] = s->ranges[i];
    }
    s->range_count = kept;
}

/* --- the stack, as call frame information describes it --- */

struct frame_reader {
    struct sonde__program program;
    uint8_t cell_of[SONDE__REG_COUNT];
    struct sonde__cell cells[SONDE__PROGRAM_STATES];
};

static void init_reader(struct frame_reader *reader, const struct sonde__cfi *cfi)
{
    for (unsigned i = 0; i < SONDE__REG_COUNT; i++) {
        reader->cell_of[i] = 0;
    }
    sonde__program_init(&reader->program, cfi, reader->cell_of, reader->cells, 1);
}

/* Limit of bytes of FDEs read for one image. Usually each is read about twice, but a long FDE with
 * many jumps, or a file without a search table, could take hours. */
#define RECORD_BYTES_MAX ((uint64_t)1 << 28)
/* Cost of finding an FDE in the search table, in bytes. */
#define SEARCH_COST 64u

static void set_limits(struct tail_scan *s)
{
    struct sonde__cfi_search search;
    s->work_left = RECORD_BYTES_MAX;
    s->record_cost = sonde__cfi_search_open(&s->cfi, &search)
                         ? SEARCH_COST
                         : SEARCH_COST + s->cfi.eh_frame_size + s->cfi.debug_frame_size;
}

/* Is the stack at a vaddr as it was when the function was entered? */
static bool is_at_entry_state(struct tail_scan *s, struct frame_reader *reader, uint64_t vaddr)
{
    struct sonde__cfi_fde fde;
    const struct sonde__cfa *cfa = &reader->program.cfas[0];
    uint64_t cost = s->record_cost;
    bool is_there = s->work_left > cost && sonde__cfi_fde_find(&s->cfi, s->arch, vaddr, &fde);
    cost += is_there ? fde.program_size + fde.cie.program_size : 0;
    s->work_left = s->work_left > cost ? s->work_left - cost : 0;
    return is_there && s->work_left != 0 && sonde__program_seek(&reader->program, &fde, vaddr) &&
           !cfa->is_expression && cfa->reg == sonde__arch_sp(s->arch) &&
           cfa->offset == (s->arch == SONDE_ARCH_X86_64 ? 8 : 0);
}

/* --- the code of one range --- */

struct sweep {
    struct tail_scan *s;
    struct frame_reader *reader;
    struct tail_range *range;
    uint64_t end;     /* vaddr */
    bool is_restored; /* the last change of the stack pointer freed stack */
    uint8_t sum_reg;  /* result of one of the last instructions */
    unsigned sum_age;
    uint64_t handover; /* return address of the indirect call just before; 0: none */
    bool handover_kept;
};

/* Maximum of instructions between the addition and the jump to its result. */
#define SUM_AGE_MAX 3

static void add_call(struct sweep *w, uint64_t back, uint64_t to)
{
    struct tail_scan *s = w->s;
    uint64_t base = s->code->base;
    if (to - base < UINT32_MAX && TAIL_ROOM(s, calls, call_count, call_capacity)) {
        s->calls[s->call_count++] =
            (struct tail_entry_call){(uint32_t)(back - base), (uint32_t)(to - base)};
    }
}

static void add_leaving_call(struct sweep *w, uint64_t back, uint64_t cell)
{
    struct tail_scan *s = w->s;
    uint64_t base = s->code->base;
    if (cell - base < UINT32_MAX &&
        TAIL_ROOM(s, leaving_calls, leaving_call_count, leaving_call_capacity)) {
        s->leaving_calls[s->leaving_call_count++] =
            (struct tail_leaving_call){(uint32_t)(back - base), (uint32_t)(cell - base)};
    }
}

static void add_exit(struct sweep *w, uint64_t pc, uint64_t to)
{
    struct tail_scan *s = w->s;
    uint64_t base = s->code->base;
    uint8_t kind = is_at_entry_state(s, w->reader, pc) ? TAIL_EXIT_CLEAN
                   : w->is_restored                    ? TAIL_EXIT_RESTORED
                                                       : TAIL_EXIT_INSIDE;
    if (to - base >= UINT32_MAX) {
        w->range->marks |= TAIL_MARK_OPEN;
    } else if (TAIL_ROOM(s, exits, exit_count, exit_capacity)) {
        s->exits[s->exit_count++] =
            (struct tail_exit){w->range->start, (uint32_t)(to - base), (uint32_t)(pc - base), kind};
    }
}

/* A jump to another image, through a word that is bound at run time. */
static void add_external(struct sweep *w, uint64_t pc, uint64_t cell)
{
    struct tail_scan *s = w->s;
    uint64_t base = s->code->base;
    w->range->marks |= TAIL_MARK_EXTERNAL;
    if (cell - base >= UINT32_MAX || (!w->is_restored && !is_at_entry_state(s, w->reader, pc))) {
        w->range->marks |= TAIL_MARK_OPEN;
    } else if (TAIL_ROOM(s, externals, external_count, external_capacity)) {
        s->externals[s->external_count++] = (struct tail_external_exit){
            w->range->start, (uint32_t)(cell - base), (uint32_t)(pc - base)};
    }
}

/* Handle a call or jump through a word. */
static void follow_slot(struct sweep *w, uint64_t pc, const struct sonde__flow *flow)
{
    uint64_t to = 0;
    enum tail_slot_kind kind = tail_slot(&w->s->slots, flow->target, &to);
    if (flow->kind == SONDE__FLOW_CALL_SLOT) {
        if (kind == TAIL_SLOT_OWN) {
            add_call(w, pc + flow->length, to);
        } else if (kind == TAIL_SLOT_EXTERNAL) {
            add_leaving_call(w, pc + flow->length, flow->target);
        }
    } else if (kind == TAIL_SLOT_OWN) {
        add_exit(w, pc, to);
    } else if (kind == TAIL_SLOT_EXTERNAL) {
        add_external(w, pc, flow->target);
    } else {
        bool is_clean = w->is_restored || is_at_entry_state(w->s, w->reader, pc);
        w->range->marks |= TAIL_MARK_OPEN | (is_clean ? TAIL_MARK_INDIRECT : 0);
    }
}

/* Handle a direct jump or branch; one to a linkage stub goes to the stub's target. */
static void follow_jump(struct sweep *w, uint64_t pc, uint64_t to)
{
    struct sonde__flow through = {.kind = SONDE__FLOW_JUMP_SLOT};
    if (to - w->s->code->base >= w->range->start && to < w->end) {
        return;
    }
    if (tail_stub(&w->s->slots, to, &through.target)) {
        follow_slot(w, pc, &through);
    } else {
        add_exit(w, pc, to);
    }
}

static void follow_indirect(struct sweep *w, uint64_t pc, const struct sonde__flow *flow)
{
    bool is_sum =
        flow->reg != SONDE__FLOW_NO_REG && flow->reg == w->sum_reg && w->sum_age <= SUM_AGE_MAX;
    bool has_frame = !w->is_restored && !is_at_entry_state(w->s, w->reader, pc);
    if (!is_sum && !has_frame) {
        w->range->marks |= TAIL_MARK_OPEN | TAIL_MARK_INDIRECT;
    }
}

/* `exit(main(...))`: the result of a register-indirect call is passed to a function. */
static void note_handover(struct sweep *w, uint64_t pc, const struct sonde__flow *flow)
{
    struct tail_scan *s = w->s;
    if (w->handover != 0 && flow->kind == SONDE__FLOW_CALL &&
        (w->handover_kept || s->arch == SONDE_ARCH_AARCH64) &&
        TAIL_ROOM(s, handovers, handover_count, handover_capacity)) {
        s->handovers[s->handover_count++] =
            (struct tail_handover){(uint32_t)(w->handover - s->code->base), flow->target};
    }
    if (flow->kind == SONDE__FLOW_CALL_INDIRECT) {
        w->handover = pc + flow->length;
        w->handover_kept = false;
    } else if (flow->keeps_result && w->handover == pc) {
        w->handover_kept = true;
    } else {
        w->handover = 0;
    }
}

static void note_state(struct sweep *w, const struct sonde__flow *flow)
{
    if (flow->gives_stack || flow->takes_stack) {
        w->is_restored = flow->gives_stack;
    } else if (flow->kind != SONDE__FLOW_ON && flow->kind != SONDE__FLOW_BRANCH) {
        w->is_restored = false;
    }
    if (flow->sum_reg != SONDE__FLOW_NO_REG) {
        w->sum_reg = flow->sum_reg;
        w->sum_age = 0;
    } else {
        w->sum_age += w->sum_age <= SUM_AGE_MAX;
    }
}

static void take_flow(struct sweep *w, uint64_t pc, const struct sonde__flow *flow)
{
    uint64_t cell;
    switch (flow->kind) {
    case SONDE__FLOW_CALL:
        if (tail_stub(&w->s->slots, flow->target, &cell)) {
            struct sonde__flow through = {
                .kind = SONDE__FLOW_CALL_SLOT, .length = flow->length, .target = cell};
            follow_slot(w, pc, &through);
        } else {
            add_call(w, pc + flow->length, flow->target);
        }
        break;
    case SONDE__FLOW_CALL_SLOT:
    case SONDE__FLOW_JUMP_SLOT:
        follow_slot(w, pc, flow);
        break;
    case SONDE__FLOW_JUMP:
    case SONDE__FLOW_BRANCH:
        follow_jump(w, pc, flow->target);
        break;
    case SONDE__FLOW_JUMP_INDIRECT:
        follow_indirect(w, pc, flow);
        break;
    default:
        break;
    }
}

static void sweep_range(struct sweep *w)
{
    struct tail_scan *s = w->s;
    uint64_t pc = s->code->base + w->range->start;
    uint64_t left = 0;
    const uint8_t *code = sonde__elf_from_vaddr(s->code->elf, pc, &left);
    struct sonde__flow flow = {.kind = SONDE__FLOW_ON};
    w->end = s->code->base + w->range->end;
    w->is_restored = false;
    w->sum_reg = SONDE__FLOW_NO_REG;
    w->sum_age = 0;
    w->handover = 0;
    if (code == NULL || left < w->end - pc) {
        w->range->marks |= TAIL_MARK_OPEN;
        return;
    }
    while (pc < w->end) {
        if (!sonde__arch_flow(s->arch, pc, code, (size_t)(w->end - pc), &flow)) {
            w->range->marks |= TAIL_MARK_OPEN; /* data, or an unknown instruction */
            return;
        }
        note_handover(w, pc, &flow);
        take_flow(w, pc, &flow);
        note_state(w, &flow);
        pc += flow.length;
        code += flow.length;
    }
    /* a call at the end of a function does not return */
    if (flow.kind == SONDE__FLOW_ON || flow.kind == SONDE__FLOW_BRANCH) {
        w->range->marks |= TAIL_MARK_OPEN;
    }
}

/* --- the whole image --- */

static bool has_code(const struct tail_scan *s)
{
    uint64_t left = 0;
    return s->range_count != 0 &&
           sonde__elf_from_vaddr(s->code->elf, s->code->base + s->ranges[0].start, &left) != NULL;
}

static void mark_parts(struct tail_scan *s, struct frame_reader *reader)
{
    for (size_t i = 0; i < s->range_count; i++) {
        struct tail_range *range = &s->ranges[i];
        if (!is_at_entry_state(s, reader, s->code->base + range->start)) {
            range->marks |= TAIL_MARK_PART;
        }
    }
}

static enum sonde_status scan(struct tail_scan *s, struct sonde__tail_bytes *ret_bytes)
{
    struct frame_reader reader;
    struct sweep sweep = {.s = s, .reader = &reader};
    uint64_t bytes = 0;
    sonde__cfi_each_fde(&s->cfi, s->arch, add_range, s);
    tail_order_ranges(s);
    if (!has_code(s)) {
        return s->no_memory ? SONDE_MEMORY : SONDE_ABSENT;
    }
    for (size_t i = 0; i < s->range_count; i++) {
        bytes += s->ranges[i].end - s->ranges[i].start;
    }
    if (bytes > SONDE__TAIL_CODE_MAX) {
        return SONDE_LIMIT;
    }
    init_reader(&reader, &s->cfi);
    set_limits(s);
    mark_parts(s, &reader);
    for (size_t i = 0; i < s->range_count && !s->no_memory && s->work_left != 0; i++) {
        sweep.range = &s->ranges[i];
        sweep_range(&sweep);
    }
    if (s->no_memory || s->work_left == 0) {
        return s->no_memory ? SONDE_MEMORY : SONDE_LIMIT;
    }
    return tail_resolve(s, ret_bytes);
}

void tail_scan_done(struct tail_scan *s)
{
    tail_slots_done(&s->slots);
    sonde__mem_free(s->ranges);
    sonde__mem_free(s->exits);
    sonde__mem_free(s->externals);
    sonde__mem_free(s->calls);
    sonde__mem_free(s->leaving_calls);
    sonde__mem_free(s->handovers);
}

enum sonde_status sonde__tail_code_make(const struct sonde__tail_code *code,
                                        struct sonde__tail_bytes *ret_bytes)
{
    struct tail_scan s = {.code = code};
    enum sonde_status status;
    if (!code->elf->is64 || code->elf->arch == SONDE_ARCH_OTHER) {
        return SONDE_UNSUPPORTED;
    }
    s.arch = code->elf->arch;
    if (!sonde__elf_cfi(code->elf, &s.cfi)) {
        return SONDE_ABSENT;
    }
    status = tail_slots_read(code->elf, s.arch, &s.slots);
    if (status == SONDE_OK) {
        status = scan(&s, ret_bytes);
    }
    if (status == SONDE_OK) {
        status = tail_link(&s, ret_bytes);
    }
    tail_scan_done(&s);
    return status;
}

/* --- one call --- */

/* The word that the stub at a vaddr jumps through. */
static bool stub_cell(const struct sonde__elf *elf, unsigned arch, uint64_t vaddr,
                      uint64_t *ret_cell)
{
    struct sonde__plt_slot slot;
    uint64_t left = 0;
    size_t next;
    const uint8_t *code = sonde__elf_from_vaddr(elf, vaddr, &left);
    size_t size = left < 24 ? (size_t)left : 24;
    if (code == NULL || !sonde__arch_plt_next(arch, code, size, vaddr, 0, 0, &slot, &next) ||
        slot.start != vaddr) {
        return false;
    }
    *ret_cell = slot.cell;
    return true;
}

enum sonde__tail_callee_kind sonde__tail_callee(const struct sonde__elf *elf, unsigned arch,
                                                uint64_t back_vaddr, uint64_t *ret_vaddr)
{
    const unsigned direct = arch == SONDE_ARCH_X86_64 ? 5 : 4;
    const uint8_t *code;
    struct sonde__flow flow;
    if (arch == SONDE_ARCH_X86_64) { /* call *word(%rip) is a byte longer */
        code = sonde__elf_at_vaddr(elf, back_vaddr - 6, 6);
        if (code != NULL && code[0] == 0xff && code[1] == 0x15 &&
            sonde__arch_flow(arch, back_vaddr - 6, code, 6, &flow)) {
            *ret_vaddr = flow.target;
            return SONDE__TAIL_CALLEE_SLOT;
        }
    }
    code = sonde__elf_at_vaddr(elf, back_vaddr - direct, direct);
    if (code == NULL || !sonde__arch_flow(arch, back_vaddr - direct, code, direct, &flow) ||
        flow.kind != SONDE__FLOW_CALL || flow.length != direct) {
        return SONDE__TAIL_CALLEE_UNKNOWN;
    }
    *ret_vaddr = flow.target;
    return stub_cell(elf, arch, flow.target, ret_vaddr) ? SONDE__TAIL_CALLEE_SLOT
                                                        : SONDE__TAIL_CALLEE_DIRECT;
}

bool sonde__tail_hands_over(const struct sonde__elf *elf, unsigned arch, uint64_t back_vaddr,
                            uint64_t *ret_vaddr)
{
    const unsigned before = arch == SONDE_ARCH_X86_64 ? 2 : 4;
    const uint8_t *code = sonde__elf_at_vaddr(elf, back_vaddr - before, before + 8);
    struct sonde__flow call, next;
    if (code == NULL || !sonde__arch_flow(arch, back_vaddr - before, code, before, &call) ||
        call.kind != SONDE__FLOW_CALL_INDIRECT || call.length != before) {
        return false;
    }
    code += before;
    if (!sonde__arch_flow(arch, back_vaddr, code, 8, &next)) {
        return false;
    }
    if (arch == SONDE_ARCH_X86_64) { /* on aarch64 the result is already in the argument register */
        unsigned length = next.length;
        if (!next.keeps_result ||
            !sonde__arch_flow(arch, back_vaddr + length, code + length, 8u - length, &next)) {
            return false;
        }
    }
    *ret_vaddr = next.target;
    return next.kind == SONDE__FLOW_CALL;
}
