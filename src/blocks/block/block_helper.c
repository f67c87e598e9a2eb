// SPDX-License-Identifier: Apache-2.0
/* Runs the emulation: executes instructions, enters called functions, and returns from those that
 * cannot be followed. */
#include "block_helper.h"

#include <string.h>

#include "arch_insn.h"
#include "arch_regs.h"
#include "block_emulate.h"

#define X86_SP   4u
#define LINK     30u /* aarch64's x30 */
#define STACK_AT ((uint64_t)1 << 20)
#define INSN_MAX 15u

/* Run until the pc is `until`. False: failed. */
static bool emulate_function(struct emulation *f, uint64_t until);

static bool is_x86(const struct emulation *f)
{
    return f->memory->arch == SONDE_ARCH_X86_64;
}

/* --- code --- */

/* A window of code at the pc; 0: unreadable. */
static size_t code_at(struct emulation *f, const uint8_t **ret_code)
{
    struct sonde__block_work *work = f->work;
    uint64_t pc = f->cpu.pc;
    for (unsigned i = 0; i < SONDE__BLOCK_CODE_WINDOWS; i++) {
        uint64_t at = pc - work->windows[i].address;
        /* read a truncated instruction again, from its beginning */
        if (at < work->windows[i].size && (work->windows[i].size - at >= INSN_MAX || at == 0)) {
            *ret_code = work->windows[i].code + at;
            return (size_t)(work->windows[i].size - at);
        }
    }
    unsigned window = work->next_window++ % SONDE__BLOCK_CODE_WINDOWS;
    uint32_t size = SONDE__BLOCK_CODE_BYTES;
    work->windows[window].address = pc;
    work->windows[window].size = 0;
    while (size > 0 && !f->memory->read(f->memory->ctx, pc, work->windows[window].code, size)) {
        size /= 2; /* near the end of readable memory */
    }
    while (size > 0 && size < SONDE__BLOCK_CODE_BYTES &&
           f->memory->read(f->memory->ctx, pc + size, work->windows[window].code + size, 1)) {
        size++;
    }
    work->windows[window].size = size;
    *ret_code = work->windows[window].code;
    return size;
}

static bool decode(struct emulation *f, struct sonde__insn *ret_insn)
{
    const uint8_t *code;
    size_t size = code_at(f, &code);
    if (size == 0) {
        return emulate_fail(f, "unreadable code");
    }
    return sonde__arch_insn(f->memory->arch, f->cpu.pc, code, size, ret_insn) ||
           emulate_fail(f, "unknown instruction");
}

/* --- calls --- */

static uint64_t strip(const struct emulation *f, uint64_t address)
{
    return emulate_is_made_up(address) ? address : sonde__arch_strip_pac(f->memory->arch, address);
}

static const char *name_of(const struct emulation *f, uint64_t address)
{
    return f->memory->name != NULL ? f->memory->name(f->memory->ctx, address) : NULL;
}

/* Is it the name of a function that copies or destroys an object: a C++ constructor or destructor,
 * or one of clang's functions for C structs? */
static bool is_of_object(const char *name)
{
    const char *at = name;
    while (*at == '_') {
        at++;
    }
    if (strncmp(at, "copy_constructor_", 17) == 0 || strncmp(at, "destructor_", 11) == 0 ||
        strncmp(at, "move_constructor_", 17) == 0) {
        return true;
    }
    if (*at != 'Z') {
        return false;
    }
    /* _ZN...C1E..., D2Ev: the variant of the constructor follows the name of the class */
    for (; *at != '\0'; at++) {
        if ((at[0] == 'C' || at[0] == 'D') && at[1] >= '0' && at[1] <= '5' && at[2] == 'E') {
            return true;
        }
    }
    return false;
}

/* Is an argument of the call an address in the block or its copy, after the header? */
static bool is_about(const struct emulation *f, uint64_t *ret_offset)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t value = emulate_argument(f, i);
        if ((emulate_in(value, EMULATE_TO, ret_offset) ||
             emulate_in(value, EMULATE_FROM, ret_offset)) &&
            *ret_offset >= f->begin && *ret_offset < f->size) {
            return true;
        }
    }
    return false;
}

static void return_from(struct emulation *f, uint64_t to)
{
    if (is_x86(f)) {
        f->cpu.r[X86_SP] += 8;
    }
    f->cpu.pc = to;
}

/* Do a call's arguments involve captures? */
static bool is_telling(const struct emulation *f)
{
    uint64_t first = emulate_argument(f, 0), offset;
    return is_about(f, &offset) || emulate_in(first, EMULATE_HELD, &offset) ||
           emulate_in(first, EMULATE_BEHIND, &offset);
}

/* Follow the function at `target`. If that fails, roll back and derive claims from the arguments.
 * until: the return address, which is the pc afterwards. */
static bool emulate_call(struct emulation *f, uint64_t target, uint64_t until, const char *name)
{
    struct emulate_cpu before = f->cpu;
    size_t claims = f->claims->count;
    uint64_t lost = f->claims->lost, heap = f->heap_used, offset;
    uint32_t undo = f->work->undo_count, inside = f->inside_from, limit = f->step_limit;
    bool is_object = name != NULL && is_of_object(name) && is_about(f, &offset);
    bool is_done;
    if (f->depth >= SONDE__BLOCK_CALLS_MAX) {
        return emulate_fail(f, "calls nested too deeply");
    }
    if (is_object) {
        emulate_claim(f, SONDE_BLOCK_OBJECT, offset, 0, name);
        f->inside_from = inside != 0 ? inside : (uint32_t)offset;
    }
    f->depth++;
    f->cpu.pc = target;
    if (limit - f->steps > SONDE__BLOCK_CALL_STEPS_MAX) {
        f->step_limit = f->steps + SONDE__BLOCK_CALL_STEPS_MAX;
    }
    is_done = emulate_function(f, until);
    f->depth--;
    f->step_limit = limit;
    f->inside_from = inside;
    if (is_done) {
        if (f->depth == 0) {
            f->work->undo_count = 0;
        }
        return true;
    }
    f->cpu = before;
    /* without the effect of outlined code all later results are wrong */
    if (!is_telling(f) && (name == NULL || strstr(name, "OUTLINED_FUNCTION") != NULL)) {
        return false;
    }
    f->claims->count = claims;
    f->claims->lost = lost;
    f->heap_used = heap;
    emulate_undo(f, undo);
    f->problem = NULL;
    emulate_opaque(f, name);
    return_from(f, until);
    return true;
}

/* A call or a jump to another function. */
static bool enter(struct emulation *f, uint64_t target, uint64_t until)
{
    const char *name;
    unsigned reg;
    enum sonde__block_entry entry;
    uint8_t byte;
    target = strip(f, target);
    name = name_of(f, target);
    entry = sonde__block_entry_of(name, &reg);
    if (entry != SONDE__BLOCK_ENTRY_NONE) {
        if (!emulate_entry(f, entry, reg)) {
            return false;
        }
        return_from(f, until);
        return true;
    }
    if (!f->memory->read(f->memory->ctx, target, &byte, 1)) {
        emulate_opaque(f, name);
        return_from(f, until);
        return true;
    }
    return emulate_call(f, target, until, name);
}

/* The return address of the current function. */
static bool return_address(struct emulation *f, uint64_t *ret_address)
{
    if (!is_x86(f)) {
        *ret_address = strip(f, f->cpu.r[LINK]);
        return true;
    }
    return emulate_read(f, f->cpu.r[X86_SP], 8, ret_address);
}

/* A jump leaves the function if the target has a name or cannot be read. */
static bool jump(struct emulation *f, uint64_t target, uint64_t function)
{
    uint64_t until;
    uint8_t byte;
    target = strip(f, target);
    if (target == function ||
        (name_of(f, target) == NULL && f->memory->read(f->memory->ctx, target, &byte, 1))) {
        f->cpu.pc = target;
        return true;
    }
    return return_address(f, &until) && enter(f, target, until);
}

static bool call(struct emulation *f, uint64_t target)
{
    uint64_t until = f->cpu.pc;
    if (is_x86(f)) {
        f->cpu.r[X86_SP] -= 8;
        if (!emulate_write(f, f->cpu.r[X86_SP], 8, &until)) {
            return false;
        }
    } else {
        f->cpu.r[LINK] = until;
    }
    return enter(f, target, until);
}

/* --- instructions --- */

static bool branch(struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t value;
    bool is_taken;
    if (insn->op == SONDE__INSN_BRANCH) {
        is_taken = emulate_condition(&f->cpu, insn->cond);
    } else {
        if (!emulate_operand(f, insn, insn->a.kind, insn->a.reg, &value)) {
            return false;
        }
        if (insn->bits == 32) {
            value &= 0xffffffff;
        }
        is_taken = insn->op == SONDE__INSN_BRANCH_ZERO
                       ? (value == 0) == (insn->variant == 0)
                       : (value >> insn->bit_low & 1) == insn->variant;
    }
    if (is_taken) {
        f->cpu.pc = insn->imm;
    }
    return true;
}

static bool give_back(struct emulation *f, const struct sonde__insn *insn)
{
    uint64_t to;
    if (is_x86(f)) {
        if (!emulate_read(f, f->cpu.r[X86_SP], 8, &to)) {
            return false;
        }
        f->cpu.r[X86_SP] += 8;
    } else {
        to = strip(f, f->cpu.r[insn->a.reg == SONDE__INSN_ZR ? LINK : insn->a.reg]);
    }
    f->cpu.pc = to;
    return true;
}

static bool step(struct emulation *f, uint64_t function)
{
    struct sonde__insn insn;
    uint64_t target, at = f->cpu.pc;
    bool is_done;
    if (!decode(f, &insn)) {
        return false;
    }
    f->cpu.pc += insn.length;
    switch (insn.op) {
    case SONDE__INSN_CALL:
    case SONDE__INSN_JUMP:
        is_done = emulate_operand(f, &insn, insn.a.kind, insn.a.reg, &target) &&
                  (insn.op == SONDE__INSN_CALL ? call(f, target) : jump(f, target, function));
        break;
    case SONDE__INSN_RETURN:
        is_done = give_back(f, &insn);
        break;
    case SONDE__INSN_BRANCH:
    case SONDE__INSN_BRANCH_ZERO:
    case SONDE__INSN_BRANCH_BIT:
        is_done = branch(f, &insn);
        break;
    default:
        is_done = emulate_execute(f, &insn);
        break;
    }
    if (!is_done && f->problem_at == f->cpu.pc) {
        f->problem_at = at;
    }
    return is_done;
}

static bool emulate_function(struct emulation *f, uint64_t until)
{
    uint64_t function = f->cpu.pc;
    do {
        if (f->steps >= f->step_limit) {
            (void)emulate_fail(f, "too many instructions");
            return false;
        }
        f->steps++;
        if (!step(f, function)) {
            return false;
        }
    } while (f->cpu.pc != until);
    return true;
}

static void begin(struct emulation *f)
{
    for (unsigned i = 0; i < EMULATE_REGS; i++) {
        f->cpu.r[i] = EMULATE_UNKNOWN;
    }
    bool is_copy = f->form == SONDE__BLOCK_HELPER_COPY;
    if (is_x86(f)) {
        f->cpu.r[7] = is_copy ? EMULATE_TO : EMULATE_FROM;
        f->cpu.r[6] = EMULATE_FROM;
        f->cpu.r[X86_SP] = EMULATE_STACK + STACK_AT - 8;
    } else {
        f->cpu.r[0] = is_copy ? EMULATE_TO : EMULATE_FROM;
        f->cpu.r[1] = EMULATE_FROM;
        f->cpu.r[SONDE__INSN_SP] = EMULATE_STACK + STACK_AT;
        f->cpu.r[LINK] = EMULATE_RETURN;
    }
}

void sonde__block_helper_claims(const struct sonde__block_memory *memory, uint64_t helper,
                                enum sonde__block_helper_form form, uint32_t first, uint32_t size,
                                struct sonde__block_work *work, struct sonde__block_claims *claims,
                                struct sonde__block_followed *ret_followed)
{
    struct emulation f = {.memory = memory,
                          .work = work,
                          .claims = claims,
                          .first_claim = claims->count,
                          .form = form,
                          .begin = first,
                          .size = size,
                          .step_limit = SONDE__BLOCK_STEPS_MAX};
    uint64_t until = EMULATE_RETURN;
    memset(work->words, 0, sizeof work->words);
    work->word_count = work->undo_count = 0;
    for (unsigned i = 0; i < SONDE__BLOCK_CODE_WINDOWS; i++) {
        work->windows[i].size = 0;
    }
    begin(&f);
    if (is_x86(&f)) {
        (void)emulate_write(&f, f.cpu.r[X86_SP], 8, &until);
    }
    f.cpu.pc = sonde__arch_strip_pac(memory->arch, helper);
    (void)emulate_function(&f, until);
    *ret_followed =
        (struct sonde__block_followed){.problem = f.problem, .at = f.problem_at, .steps = f.steps};
}
