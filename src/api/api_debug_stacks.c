// SPDX-License-Identifier: Apache-2.0
/* Prints the stacks of a process that a debugger has stopped to stderr.
 *
 * A stopped thread is read like a blocked one: the kernel shows its stack pointer and pc. Otherwise
 * threads are read under the loader's lock, so that no library is unloaded meanwhile. Here a
 * stopped thread may hold that lock, so it is not taken; a stopped thread unloads nothing. */
#include <errno.h>

#include <sonde/text.h>

#include "api_debug.h"
#include "api_thread.h"
#include "arch_regs.h"
#include "base_status.h"
#include "capture_thread.h"
#include "capture_walk.h"
#include "os.h"
#include "unwind_walk.h"

void sonde__api_stacks_print(const struct sonde__regs *caller);

/* Words of the stack above a debugger's call that are tried as return addresses. */
enum { TRIED_BYTES = 16384, TRIED_PIECE = 512, CALL_BYTES = 8, RED_ZONE_BYTES = 128 };

/* A thread that the debugger resumed for this call goes back into the call that it was stopped in.
 * Such threads are read again, up to AGAIN_MAX times for all together. */
enum { AGAIN_NS = 1000000, AGAIN_MAX = 200, AGAIN_EACH = 20 };

struct work {
    struct debug_names names;
    uint64_t tids[SONDE_STACKS_PRINT_THREADS_MAX];
    uint64_t pcs[SONDE_STACKS_PRINT_FRAMES_MAX];
    uint8_t how[SONDE_STACKS_PRINT_FRAMES_MAX];
    char line[DEBUG_LINE_MAX];
    unsigned again; /* counts up to AGAIN_MAX */
};

static void put_stack(struct work *work, struct sonde__text *out, const struct sonde_stack *stack)
{
    for (uint32_t i = 0; i < stack->count; i++) {
        unsigned found = stack->how[i] & SONDE_HOW_FOUND_MASK;
        sonde__base_text_char(out, '#');
        sonde__base_text_dec(out, i);
        sonde__base_text_str(out, i < 10 ? "  0x" : " 0x");
        sonde__base_text_hex(out, stack->pcs[i], 16);
        sonde__base_text_str(out, "  ");
        debug_put_code(&work->names, out, stack->pcs[i], sonde_stack_lookup_pc(stack, i));
        if (found != SONDE_FOUND_REGISTERS && found != SONDE_FOUND_CFI) {
            sonde__base_text_str(out, "  by ");
            sonde__base_text_str(out, sonde_found_text(found));
        }
        debug_line(out);
    }
    if (stack->end != SONDE_END_ROOT) {
        sonde__base_text_str(out, "    ended: ");
        sonde__base_text_str(out, sonde_end_text(stack->end));
        debug_line(out);
    }
}

/* --- the stack before a debugger's call --- */

static bool is_behind_call(uint64_t pc)
{
    uint8_t code[CALL_BYTES];
    uint64_t target;
    return sonde__os_read(pc - CALL_BYTES, code, CALL_BYTES) == CALL_BYTES &&
           sonde__arch_is_call_before(SONDE__ARCH_HOST, pc, code, CALL_BYTES, &target);
}

/* Debuggers make the function return to a word on the stack (gdb), or to the program's entry,
 * directly or from code of their own (lldb). No call returns there. */
static bool is_from_debugger(struct work *work, const struct sonde_stack *stack)
{
    uint64_t pc = stack->count > 0 ? stack->pcs[stack->count - 1] : 0;
    struct debug_answer answer = debug_find(&work->names, pc, true);
    bool begins = answer.name != NULL || (answer.image != NULL && answer.image->has_symbols &&
                                          answer.image->elf.entry == pc - answer.image->bias);
    return (begins || answer.image == NULL) && !is_behind_call(pc);
}

/* Is the word a return address from which a walk reaches the root? */
static bool try_word(uint64_t word, uint64_t slot, const struct sonde__regs *caller,
                     struct sonde_stack *stack)
{
    struct sonde__regs regs = *caller;
    struct sonde__os_image image;
    if (!sonde__os_find_image(word, &image) || !is_behind_call(word)) {
        return false;
    }
    regs.pc = word;
    sonde__regs_set(&regs, sonde__arch_sp(SONDE__ARCH_HOST), slot + sizeof word);
    sonde__stack_reset(stack);
    sonde__capture_walk(stack, &regs, false, 0, SONDE__CAPTURE_DOUBT);
    return stack->end == SONDE_END_ROOT && stack->count > 1;
}

/* lldb puts code into the process for the call. Its frame record leads to the earlier registers. */
static void leave_made_code(const struct sonde_stack *stack, struct sonde__regs *regs)
{
    unsigned fp = sonde__arch_fp(SONDE__ARCH_HOST);
    uint64_t record[2];
    if (stack->count == 2 && sonde__os_read(regs->r[fp], record, sizeof record) == sizeof record &&
        record[1] == stack->pcs[1]) {
        sonde__regs_set(regs, sonde__arch_sp(SONDE__ARCH_HOST), regs->r[fp] + sizeof record);
        sonde__regs_set(regs, fp, record[0]);
    }
}

/* Only the debugger knows the thread's former pc. Search its stack above the call for the first
 * word that is a return address; callee-saved registers are unchanged. Below the red zone, which
 * debuggers skip, are only leftovers of earlier calls. */
static bool find_below(const struct sonde__regs *registers, struct sonde_stack *stack)
{
    struct sonde__regs regs = *registers;
    const struct sonde__regs *caller = &regs;
    leave_made_code(stack, &regs);
    uint64_t from = regs.r[sonde__arch_sp(SONDE__ARCH_HOST)] & ~(uint64_t)7;
    from += regs.arch == SONDE_ARCH_X86_64 ? RED_ZONE_BYTES : 0;
    for (uint64_t at = from; at < from + TRIED_BYTES; at += TRIED_PIECE) {
        uint64_t words[TRIED_PIECE / sizeof(uint64_t)];
        size_t got = sonde__os_read(at, words, sizeof words) / sizeof words[0];
        for (size_t i = 0; i < got; i++) {
            if (try_word(words[i], at + i * sizeof words[0], caller, stack)) {
                return true;
            }
        }
        if (got < sizeof words / sizeof words[0]) {
            break;
        }
    }
    sonde__stack_reset(stack);
    return false;
}

static void put_own(struct work *work, struct sonde__text *out, const struct sonde__regs *caller,
                    struct sonde_stack *stack)
{
    if (is_from_debugger(work, stack)) {
        sonde__base_text_str(out, "    called by a debugger, which has the innermost functions; ");
        sonde__base_text_str(out, find_below(caller, stack)
                                      ? "perhaps these, as found on the stack:"
                                      : "the others were not found on the stack");
        debug_line(out);
        if (stack->count == 0) {
            return;
        }
    }
    put_stack(work, out, stack);
}

/* --- threads --- */

static const char *why_not(enum sonde_status status)
{
    switch (status) {
    case SONDE_BUSY:
        return "it runs: not read (gdb: set scheduler-locking on)";
    case SONDE_TIMEOUT:
        return "it moved each time it was read";
    case SONDE_ABSENT:
        return "it has ended";
    case SONDE_DENIED:
        return "the system does not let this process read its own threads";
    default:
        return "the system does not show where this process' threads wait";
    }
}

static enum sonde_status read_other(struct work *work, uint64_t tid, struct sonde_stack *stack)
{
    static const uint32_t never = 0;
    struct sonde_captured captured;
    enum sonde_status status = sonde__capture_blocked(tid, stack, &captured);
    for (unsigned i = 0; status == SONDE_BUSY && i < AGAIN_EACH && work->again < AGAIN_MAX; i++) {
        enum sonde_status waited = sonde__os_sleep(&never, 0, AGAIN_NS, false);
        (void)waited; /* used only to wait */
        work->again++;
        sonde__stack_reset(stack);
        status = sonde__capture_blocked(tid, stack, &captured);
    }
    return status;
}

static void print_thread(struct work *work, struct sonde__text *out, uint64_t tid,
                         enum sonde_status passive, const struct sonde__regs *caller)
{
    struct sonde_thread thread;
    struct sonde_stack stack;
    enum sonde_status status = passive;
    if (sonde__api_thread_describe(&(struct sonde__os_stop){.tid = tid}, &thread) != SONDE_OK) {
        thread.name[0] = '\0';
    }
    sonde__base_text_str(out, "thread ");
    sonde__base_text_dec(out, (uint64_t)tid);
    sonde__base_text_str(out, thread.name[0] != '\0' ? " \"" : "");
    sonde__base_text_str(out, thread.name);
    sonde__base_text_str(out, thread.name[0] != '\0' ? "\"" : "");
    sonde__base_text_str(out, tid == sonde__os_tid() ? ", which prints this" : "");
    debug_line(out);
    sonde_stack_init(&stack, work->pcs, work->how, SONDE_STACKS_PRINT_FRAMES_MAX, 0);
    if (tid == sonde__os_tid()) {
        sonde__capture_walk(&stack, caller, false, 0, SONDE__CAPTURE_OWN);
        put_own(work, out, caller, &stack);
        debug_line(out);
        return;
    }
    if (passive == SONDE_OK) {
        status = read_other(work, tid, &stack);
    }
    if (status == SONDE_OK) {
        put_stack(work, out, &stack);
    } else {
        sonde__base_text_str(out, "    ");
        sonde__base_text_str(out, why_not(status));
        debug_line(out);
    }
    debug_line(out);
}

void sonde__api_stacks_print(const struct sonde__regs *caller)
{
    int error = errno;
    struct work *work = sonde__os_map(sizeof *work);
    enum sonde_status passive;
    struct sonde__text out;
    size_t total = 0;
    char refuse[96];
    if (work == NULL) {
        sonde__base_text_init(&out, refuse, sizeof refuse);
        sonde__base_text_str(&out, "sonde: cannot map memory");
        debug_line(&out);
        errno = error;
        return;
    }
    sonde__base_text_init(&out, work->line, sizeof work->line);
    passive = sonde__capture_passive_check();
    if (sonde__os_list_threads(0, work->tids, SONDE_STACKS_PRINT_THREADS_MAX, &total, NULL) !=
        SONDE_OK) {
        work->tids[0] = sonde__os_tid();
        total = 1;
    }
    for (size_t i = 0; i < total && i < SONDE_STACKS_PRINT_THREADS_MAX; i++) {
        print_thread(work, &out, work->tids[i], passive, caller);
    }
    if (total > SONDE_STACKS_PRINT_THREADS_MAX) {
        sonde__base_text_str(&out, "and more threads: ");
        sonde__base_text_dec(&out, total - SONDE_STACKS_PRINT_THREADS_MAX);
        debug_line(&out);
    }
    debug_names_done(&work->names);
    sonde__os_unmap(work, sizeof *work);
    errno = error;
}
