// SPDX-License-Identifier: Apache-2.0
/* One pass over the instructions of a function, in the order of their addresses, that follows
 * the depth of the stack. Compilers emit a function as one piece, with its blocks in any order.
 * The state at the start of a block comes from an earlier jump to it, or from the block that
 * falls through to it. Blocks of a jump table get the state of the jump. A block reached only
 * from later code gets the state that most instructions have; callers compare the result with a
 * return address on the stack, so a wrong state proves nothing. The function ends where control
 * does not continue and no earlier jump leads further. The pass assumes no frame pointer.
 * Context: handler; about 2 KiB of stack. */
#include "unwind_sweep.h"

#include "arch_x86_insn.h"
#include "base_mem.h"

enum {
    SWEEP_BYTES = 16384,     /* of one function; musl's largest (vfprintf, regexec) have 6 KB */
    TARGETS_MAX = 64,        /* targets of forward jumps, ahead of the pass */
    BRANCH_BYTES_MAX = 2048, /* a longer conditional jump may be a tail call, too */
    TAILS_MAX = 6,           /* tail calls of one function */
    ENTRIES_MAX = 12,        /* functions reached by tail calls, directly or not */
    CODE_BYTES = 256,
    DEPTH_MAX = 1 << 30, /* bytes of a frame; a larger one is not code */
};

struct state {
    int32_t depth, fp_base, fp_saved;
    bool is_known;
};

struct target {
    uint32_t at; /* from the entry */
    struct state state;
};

struct pass {
    struct sonde__walker *walker;
    uint64_t entry;
    uint64_t code_at;
    size_t code_size;
    uint8_t code[CODE_BYTES];
    struct target targets[TARGETS_MAX];
    unsigned target_count;
    uint64_t tails[TAILS_MAX];
    unsigned tail_count;
    struct state table; /* at the last jump through a table */
    struct state usual; /* the state at most instructions: the function's body */
    uint32_t usual_votes;
    bool is_open;
};

/* Read code at `at`. Returns its size: less than CODE_BYTES at the end of a section or mapping. */
static size_t read_code(struct pass *pass, uint64_t at)
{
    for (size_t size = CODE_BYTES; size > 0; size = size > 16 ? size / 4 : size - 1) {
        if (sonde__walker_read(pass->walker, at, pass->code, size)) {
            return size;
        }
    }
    return 0;
}

static bool decode(struct pass *pass, uint64_t at, struct sonde__x86_insn *insn)
{
    size_t offset = (size_t)(at - pass->code_at);
    if (pass->walker->sweep_left == 0) {
        return false;
    }
    pass->walker->sweep_left--;
    if (pass->code_size == 0 || at < pass->code_at ||
        offset + SONDE__X86_INSN_BYTES_MAX > pass->code_size) {
        pass->code_at = at;
        pass->code_size = read_code(pass, at);
        offset = 0;
    }
    return sonde__arch_x86_insn(pass->code + offset, pass->code_size - offset, insn);
}

static void add_target(struct pass *pass, uint32_t at, const struct state *state)
{
    for (unsigned i = 0; i < pass->target_count; i++) {
        if (pass->targets[i].at == at) {
            return;
        }
    }
    if (pass->target_count < TARGETS_MAX) {
        pass->targets[pass->target_count].at = at;
        pass->targets[pass->target_count++].state = *state;
    }
}

/* Remove target `at`. *ret_state: the state of its jump. *ret_later: targets further on remain. */
static bool take_target(struct pass *pass, uint32_t at, struct state *ret_state, bool *ret_later)
{
    bool is_there = false;
    *ret_later = false;
    for (unsigned i = 0; i < pass->target_count;) {
        if (pass->targets[i].at == at) {
            *ret_state = pass->targets[i].state;
            is_there = true;
        }
        if (pass->targets[i].at <= at) {
            pass->targets[i] = pass->targets[--pass->target_count]; /* reached, or passed */
            continue;
        }
        *ret_later = true;
        i++;
    }
    return is_there;
}

enum { LOST = -1, BROKEN = -2 };

/* Change a depth by `bytes`. BROKEN: sp above the return address, or too large a frame. */
static int32_t moved(int32_t depth, int64_t bytes)
{
    int64_t to = depth + bytes;
    return to >= 0 && to <= DEPTH_MAX ? (int32_t)to : BROKEN;
}

static void apply(struct state *state, const struct sonde__x86_insn *insn)
{
    bool has_depth = state->depth >= 0, has_base = state->fp_base >= 0;
    switch (insn->kind) {
    case SONDE__X86_PUSH:
        state->depth = has_depth ? moved(state->depth, 8) : state->depth;
        if (insn->reg == 5 && state->fp_saved < 0 && !has_base) {
            state->fp_saved = state->depth;
        }
        break;
    case SONDE__X86_POP:
        state->depth = has_depth ? moved(state->depth, -8) : state->depth;
        if (insn->reg == 5) {
            state->fp_saved = state->fp_base = -1;
        }
        break;
    case SONDE__X86_SP_ADD:
        state->depth = has_depth ? moved(state->depth, -(int64_t)insn->value) : state->depth;
        break;
    case SONDE__X86_SP_FROM_FP:
        state->depth = has_base ? moved(state->fp_base, -(int64_t)insn->value) : LOST;
        break;
    case SONDE__X86_LEAVE:
        state->depth = has_base ? moved(state->fp_base, -8) : LOST;
        state->fp_saved = state->fp_base = -1;
        break;
    case SONDE__X86_FP_FROM_SP:
        state->fp_base = has_depth ? moved(state->depth, -(int64_t)insn->value) : LOST;
        break;
    case SONDE__X86_SP_LOST:
        state->depth = LOST;
        break;
    default:
        break;
    }
}

/* Boyer–Moore majority vote by depth. */
static void vote(struct pass *pass, const struct state *state)
{
    if (pass->usual_votes == 0) {
        pass->usual = *state;
    }
    if (state->depth == pass->usual.depth) {
        pass->usual_votes++;
    } else {
        pass->usual_votes--;
    }
}

static bool ends_flow(unsigned kind)
{
    return kind == SONDE__X86_JUMP || kind == SONDE__X86_JUMP_INDIRECT ||
           kind == SONDE__X86_RETURN || kind == SONDE__X86_STOP;
}

static void add_tail(struct pass *pass, uint64_t entry)
{
    if (pass->tail_count < TAILS_MAX) {
        pass->tails[pass->tail_count++] = entry;
    }
}

/* Follow a jump through a word of the image's data (the GOT). */
static void follow_slot(struct pass *pass, uint64_t slot)
{
    uint64_t to = 0;
    if (sonde__walker_read(pass->walker, slot, &to, sizeof to)) {
        add_tail(pass, to);
    }
}

/* Add the target of a jump. `at`: the offset from the entry to the end of the jump. */
static void follow(struct pass *pass, uint32_t at, const struct sonde__x86_insn *insn,
                   const struct state *state)
{
    int64_t to = (int64_t)at + insn->value;
    bool is_jump = insn->kind == SONDE__X86_JUMP;
    if (insn->kind == SONDE__X86_JUMP_INDIRECT && insn->reg == SONDE__X86_REG_NEXT &&
        state->is_known && state->depth == 0) {
        follow_slot(pass, pass->entry + at + (uint64_t)(int64_t)insn->value);
        return;
    }
    if (insn->kind == SONDE__X86_JUMP_INDIRECT) {
        if (state->is_known && state->depth != 0) {
            pass->table = *state;
        } else {
            pass->is_open = true;
        }
        return;
    }
    if (!is_jump && insn->kind != SONDE__X86_BRANCH) {
        return;
    }
    if (!state->is_known) {
        return;
    }
    /* At the entry's depth, a jump may be a tail call. Follow its target as a function of its
     * own: that gives the same result if it is not one. */
    if (state->depth == 0 && (is_jump || to < 0 || to > BRANCH_BYTES_MAX + (int64_t)at)) {
        add_tail(pass, pass->entry + (uint64_t)to);
    } else if (to >= (int64_t)at && to < SWEEP_BYTES) {
        add_target(pass, (uint32_t)to, state);
    }
}

/* Follow the function from its entry. True: the walker's pc is in it, with *ret_state. A return
 * address gets the state behind its call, even if jumps lead there. */
static bool run_pass(struct pass *pass, struct state *ret_state)
{
    const struct sonde__frame *frame = &pass->walker->frame;
    const uint64_t pc = frame->pc;
    struct state state = {.depth = 0, .fp_base = -1, .fp_saved = -1, .is_known = true};
    struct sonde__x86_insn insn = {.kind = SONDE__X86_OTHER};
    bool is_guess = false;
    uint32_t at = 0;
    while (at < SWEEP_BYTES) {
        struct state brought = state;
        bool is_later = false, is_end = ends_flow(insn.kind);
        bool is_target = take_target(pass, at, &brought, &is_later);
        bool is_return = !frame->exact && pass->entry + at == pc;
        /* a new block may begin behind a call that never returns */
        bool is_block = insn.kind == SONDE__X86_CALL && !is_return;
        if (is_target && (is_end || is_guess || is_block)) {
            state = brought;
            is_guess = false;
        } else if (is_end) {
            if (!is_later && !pass->table.is_known) {
                return false;
            }
            /* reached only from later code: take the state of the body */
            state = pass->table.is_known ? pass->table : pass->usual;
            is_guess = true;
        }
        if (pass->entry + at == pc) {
            *ret_state = state;
            return state.is_known && (at > 0 || frame->exact);
        }
        if (pass->entry + at > pc && pc >= pass->entry) {
            return false; /* the pc is inside an instruction: not its function */
        }
        if (!decode(pass, pass->entry + at, &insn)) {
            return false;
        }
        at += insn.length;
        apply(&state, &insn);
        if (state.depth == BROKEN) {
            state.is_known = false;
            is_guess = true;
        }
        vote(pass, &state);
        follow(pass, at, &insn, &state);
    }
    return false;
}

static void start_pass(struct pass *pass, uint64_t entry)
{
    pass->entry = entry;
    pass->code_size = 0;
    pass->code_at = 0;
    pass->target_count = 0;
    pass->tail_count = 0;
    pass->table.is_known = false;
    pass->usual.is_known = false;
    pass->usual_votes = 0;
}

/* Entries to follow: the function's own, then those of its tail calls. */
struct queue {
    uint64_t entries[ENTRIES_MAX];
    unsigned count;
};

static void enqueue(struct queue *queue, uint64_t entry)
{
    for (unsigned i = 0; i < queue->count; i++) {
        if (queue->entries[i] == entry) {
            return;
        }
    }
    if (queue->count < ENTRIES_MAX) {
        queue->entries[queue->count++] = entry;
    }
}

enum sonde__sweep_result sonde__sweep_to(struct sonde__walker *walker, uint64_t entry,
                                         bool with_tails, struct sonde__sweep *ret_sweep)
{
    struct pass pass;
    struct queue queue;
    struct state state;
    queue.count = 0;
    enqueue(&queue, entry);
    pass.walker = walker;
    pass.is_open = false;
    for (unsigned i = 0; i < queue.count; i++) {
        start_pass(&pass, queue.entries[i]);
        if (run_pass(&pass, &state)) {
            ret_sweep->entry = queue.entries[i];
            ret_sweep->depth = state.depth;
            ret_sweep->fp_base = state.fp_base;
            ret_sweep->fp_saved = state.fp_saved;
            return SONDE__SWEEP_FOUND;
        }
        for (unsigned tail = 0; with_tails && tail < pass.tail_count; tail++) {
            enqueue(&queue, pass.tails[tail]);
        }
    }
    return pass.is_open ? SONDE__SWEEP_OPEN : SONDE__SWEEP_ELSEWHERE;
}
