// SPDX-License-Identifier: Apache-2.0
#include "record_v8.h"

#include "base_bytes.h"
#include "capture_memo.h"
#include "capture_record.h"
#include "capture_walk.h"
#include "os.h"
#include "record_v8_name.h"

/* Words of a function's description (SharedFunctionInfo) that are compared: all behind its map. The
 * last two are behind the script, in all versions: numbers, among them that of the function. */
enum { DESCRIPTION_MAX = 12, BEHIND_SCRIPT = 2 };

/* A frame of V8's code. */
struct known {
    uint64_t pc, fp;
    uint32_t place;          /* frames further out on the native stack */
    uint32_t node;           /* of the functions up to this frame */
    uint32_t last;           /* the place of the last one, + 1 */
    uint64_t shared, script; /* 0: as in struct sonde__v8_named */
    uint64_t function;       /* as in the frame */
    uint64_t words[DESCRIPTION_MAX];
    uint64_t offset; /* as in the frame, if it is interpreted */
    bool is_interpreted;
};

/* The last frames of a thread, outermost first. */
struct memo {
    _Atomic bool is_busy;
    bool is_used;
    uint32_t age, root, count;
    uint32_t native, node, link; /* the last result */
    struct known frames[SONDE__MEMO_FRAMES];
    struct sonde__v8_namer namer;
};

static struct v8_layout layout;
static int32_t description; /* words of one */
static struct memo *memos;  /* of SONDE__CAPTURE_MEMOS */
static _Atomic uint32_t age;
static _Atomic bool is_begun;

bool sonde__record_v8_begin(const struct v8_layout *from)
{
    layout = *from;
    description = layout.of[V8_SHARED_SCRIPT] / 8 + BEHIND_SCRIPT;
    if (description > DESCRIPTION_MAX) {
        return false;
    }
    memos = sonde__os_map(SONDE__CAPTURE_MEMOS * sizeof *memos);
    if (memos == NULL || !sonde__record_v8_numbers_begin()) {
        return false;
    }
    atomic_store_explicit(&is_begun, true, memory_order_release);
    return true;
}

void sonde__record_v8_restart(void)
{
    atomic_fetch_add(&age, 1);
    sonde__record_v8_numbers_restart();
}

/* --- frames --- */

/* Memory that this thread's frames of JavaScript lead to. */
static uint64_t word_at(uint64_t address, int32_t offset)
{
    return *(const uint64_t *)(uintptr_t)(address + (uint64_t)(int64_t)offset);
}

static void read_words(const struct known *known, uint64_t *ret_words)
{
    for (int32_t i = 0; i < description; i++) {
        ret_words[i] = word_at(known->shared - 1, 8 * (i + 1));
    }
}

/* Is it the same call, of the same function? Its pc and fp are the same. Where V8 has moved the
 * function, that is found out by reads that do not fault. */
static bool is_same_call(const struct known *known)
{
    if (known->shared == 0) {
        return !v8_is_object(word_at(known->fp, layout.of[V8_FP_CONTEXT]));
    }
    uint64_t function = word_at(known->fp, layout.of[V8_FP_FUNCTION]);
    if (function != known->function ||
        !v8_is_object(word_at(known->fp, layout.of[V8_FP_CONTEXT])) ||
        word_at(function - 1, layout.of[V8_FUNCTION_SHARED]) != known->shared ||
        (known->is_interpreted && word_at(known->fp, layout.of[V8_FP_OFFSET]) != known->offset)) {
        return false;
    }
    uint64_t different = 0;
    for (int32_t i = 0; i < description; i++) {
        different |= word_at(known->shared - 1, 8 * (i + 1)) ^ known->words[i];
    }
    uint64_t script = word_at(known->shared - 1, layout.of[V8_SHARED_SCRIPT]);
    return different == 0 &&
           (known->script == 0 || word_at(script - 1, layout.script_id) == known->script);
}

/* The place of a frame of V8's code on the native stack counts from the last one further out. */
enum { AT_BITS = 24, CODE_BITS = 17, DELTA_SHIFT = AT_BITS + CODE_BITS };
_Static_assert(SONDE__MEMO_FRAMES <= SONDE__SCRIPT_DELTA_MAX, "a frame's place has DELTA bits");

static uint64_t word_of(uint32_t number, uint32_t line, uint32_t delta)
{
    return SONDE__DEPOT_SCRIPT | (uint64_t)delta << DELTA_SHIFT | (uint64_t)number << AT_BITS |
           (line >> AT_BITS == 0 ? line : 0);
}

struct walk {
    struct sonde__depot *depot;
    struct sonde__script_page *page;
    struct memo *memo;
    uint64_t sp;
    uint32_t at;    /* frames of V8's code so far */
    uint32_t node;  /* of the functions so far */
    uint32_t place; /* of the last one, + 1 */
    bool is_same;   /* all frames so far are those of the last call */
};

/* Name a frame that is not that of the last call. Returns READ or a reason. */
static unsigned add_frame(struct walk *walk, uint64_t pc, uint64_t fp, uint32_t place)
{
    struct memo *memo = walk->memo;
    struct v8_frame frame = {.fp = fp};
    struct sonde__v8_named named;
    uint32_t number = 0;
    if (fp - V8_FRAME_BELOW * sizeof(uint64_t) < walk->sp) {
        return SONDE__SCRIPT_UNREADABLE;
    }
    for (int32_t i = 0; i < V8_FRAME_WORDS; i++) {
        frame.words[i] = word_at(fp, 8 * (i - V8_FRAME_BELOW));
    }
    if (!sonde__record_v8_name(&memo->namer, &frame, pc, &named)) {
        return SONDE__SCRIPT_UNREADABLE;
    }
    if (named.function != NULL) {
        if (!sonde__record_v8_number(walk->page, named.function, named.file, &number)) {
            return SONDE__SCRIPT_FULL;
        }
        walk->node = sonde__depot_child(walk->depot, walk->node,
                                        word_of(number, named.line, place + 1 - walk->place));
        walk->place = place + 1;
    }
    if (walk->node == SONDE__DEPOT_NONE) {
        return SONDE__SCRIPT_FULL;
    }
    struct known *known = &memo->frames[walk->at++];
    *known = (struct known){
        .pc = pc,
        .fp = fp,
        .place = place,
        .node = walk->node,
        .shared = named.shared,
        .script = named.script,
        .function = v8_below(&memo->namer.v8, &frame, V8_FP_FUNCTION),
        .offset = v8_below(&memo->namer.v8, &frame, V8_FP_OFFSET),
        .is_interpreted = named.is_interpreted,
    };
    known->last = walk->place;
    if (known->shared != 0) {
        read_words(known, known->words);
    }
    memo->count = walk->at;
    return PYTHON_OWN_READ;
}

static unsigned put_frame(struct walk *walk, uint64_t pc, uint64_t fp, uint32_t place)
{
    struct memo *memo = walk->memo;
    const struct known *known = &memo->frames[walk->at];
    walk->is_same = walk->is_same && walk->at < memo->count && known->pc == pc && known->fp == fp &&
                    known->place == place && is_same_call(known);
    if (walk->is_same) {
        walk->at++;
        walk->node = known->node;
        walk->place = known->last;
        return PYTHON_OWN_READ;
    }
    memo->count = walk->at;
    return add_frame(walk, pc, fp, place);
}

/* Find the frames of V8's code, from the outermost one inward. */
static unsigned put_frames(struct walk *walk, const struct sonde__memo *stack, uint32_t first)
{
    for (uint32_t i = SONDE__MEMO_FRAMES; i-- > first;) {
        const struct sonde__memo_frame *frame = &stack->frames[i];
        if ((frame->fp_home & SONDE__MEMO_USES) == 0 || frame->pc == 0 ||
            !sonde__capture_keeps_record(frame->pc - 1)) {
            continue;
        }
        unsigned result =
            put_frame(walk, frame->pc, stack->base + frame->fp, SONDE__MEMO_FRAMES - 1 - i);
        if (result != PYTHON_OWN_READ) {
            return result;
        }
    }
    return PYTHON_OWN_READ;
}

/* --- calls --- */

/* Is code of V8 on a native stack? Reads all its nodes: only where its functions are not read. */
static bool has_v8(const struct sonde__depot *depot, uint32_t native)
{
    enum { NODES_MAX = 1 << 16 };
    uint64_t word = 0;
    uint32_t id = native;
    for (uint32_t i = 0; i < NODES_MAX && sonde__depot_node(depot, id, &word, &id); i++) {
        bool is_frame = (word & (SONDE__DEPOT_LABEL | SONDE__DEPOT_GAP)) == 0;
        if (is_frame && sonde__capture_keeps_record((word & SONDE__DEPOT_PC) - 1)) {
            return true;
        }
    }
    return false;
}

static unsigned add_frames(struct sonde__record *record, struct sonde__script_page *page,
                           struct memo *memo, const struct sonde__regs *caller, uint32_t native,
                           uint32_t *ret_node)
{
    struct sonde__depot *depot = sonde__record_depot(record);
    uint32_t first = 0, root = SONDE__DEPOT_SCRIPTS;
    uint32_t now = atomic_load_explicit(&age, memory_order_relaxed);
    struct sonde__memo *stack = sonde__capture_renew(caller, &first);
    if (stack == NULL) {
        bool has_any = memo->count != 0 || has_v8(depot, native);
        return has_any ? SONDE__SCRIPT_ENDLESS : (unsigned)PYTHON_OWN_READ;
    }
    if (!memo->is_used || memo->age != now) {
        sonde__record_v8_namer_init(&memo->namer, &layout);
        memo->is_used = true;
        memo->age = now;
        memo->count = memo->link = 0;
    }
    struct walk walk = {
        .depot = depot,
        .page = page,
        .memo = memo,
        .sp = caller->r[sonde__arch_sp(caller->arch)],
        .node = root,
        .is_same = true,
    };
    unsigned result = put_frames(&walk, stack, first);
    sonde__capture_memo_leave(stack);
    memo->count = walk.at;
    if (result != PYTHON_OWN_READ || walk.node == root) {
        return result;
    }
    if (memo->native != native || memo->node != walk.node || memo->link == SONDE__DEPOT_NONE ||
        sonde__depot_is_closed(depot, memo->link)) {
        memo->native = native;
        memo->node = walk.node;
        memo->link = sonde__depot_child(depot, native, SONDE__DEPOT_SCRIPT_LINK | walk.node);
    }
    *ret_node = memo->link != SONDE__DEPOT_NONE ? memo->link : native;
    return memo->link != SONDE__DEPOT_NONE ? PYTHON_OWN_READ : (unsigned)SONDE__SCRIPT_FULL;
}

static struct memo *enter_memo(void)
{
    uint32_t index = sonde__capture_memo_index();
    struct memo *memo = index < SONDE__CAPTURE_MEMOS ? &memos[index] : NULL;
    if (memo == NULL || atomic_load_explicit(&memo->is_busy, memory_order_relaxed)) {
        return NULL;
    }
    atomic_store_explicit(&memo->is_busy, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return memo;
}

uint32_t sonde__record_v8_stack(struct sonde__record *record, struct sonde__script_page *page,
                                const struct sonde__regs *caller, uint32_t native)
{
    if (!atomic_load_explicit(&is_begun, memory_order_acquire) || native == SONDE__DEPOT_NONE) {
        return native;
    }
    uint32_t node = native;
    unsigned result = PYTHON_OWN_READ;
    struct memo *memo = enter_memo();
    if (memo != NULL) {
        result = add_frames(record, page, memo, caller, native, &node);
        atomic_signal_fence(memory_order_seq_cst);
        atomic_store_explicit(&memo->is_busy, false, memory_order_release);
    } else if (has_v8(sonde__record_depot(record), native)) {
        result = SONDE__SCRIPT_BUSY;
    }
    if (result != PYTHON_OWN_READ) {
        atomic_fetch_add_explicit(&page->missing[result], 1, memory_order_relaxed);
    }
    return node;
}
