// SPDX-License-Identifier: Apache-2.0
/* The door to memory has two halves. Plain loads are for the calling thread's own stack, as far as
 * it was seen to be mapped (capture_own_stack.h). All else is read through the system, a block at a
 * time: neighbouring cells come with it. */
#include "capture_walk.h"

#include "base_mem.h"
#include "capture_code.h"
#include "capture_images.h"
#include "capture_memo.h"
#include "capture_own_stack.h"
#include "os.h"
#include "unwind_scans.h"
#include "unwind_table.h"
#include "unwind_walk.h"

/* Small enough for the alternate stack of a handler (SIGSTKSZ is 8 KiB). */
enum { BLOCK = 1024 };

struct door {
    uint64_t address; /* of block[0] */
    size_t size;      /* bytes there */
    uint8_t block[BLOCK];
};

static bool read_block(struct door *door, uint64_t address)
{
    door->address = address & ~(uint64_t)(BLOCK - 1);
    door->size = sonde__os_read(door->address, door->block, BLOCK);
    return door->size != 0;
}

static bool read_door(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    struct door *door = ctx;
    uint8_t *bytes = ret_bytes;
    while (size > 0) {
        size_t part;
        if (address < door->address || address - door->address >= door->size) {
            if (!read_block(door, address) || address - door->address >= door->size) {
                return false;
            }
        }
        part = door->size - (size_t)(address - door->address);
        if (part > size) {
            part = size;
        }
        sonde__base_mem_copy(bytes, door->block + (address - door->address), part);
        bytes += part;
        address += part;
        size -= part;
        if (size > 0 && address == 0) {
            return false; /* past the end of the address space */
        }
    }
    return true;
}

bool sonde__capture_is_usable(const struct sonde_stack *stack)
{
    return stack != NULL && stack->pcs != NULL && stack->how != NULL && stack->capacity > 0;
}

/* Of Swift's runtime, where the program has one. Reads a thread-local variable. */
extern __attribute__((weak)) void *swift_task_getCurrent(void);

/* AsyncTask: HeapObject (16 bytes), two reserved words, flags, then the id: stable ABI of Swift 5.5
 * (swift/ABI/Task.h). */
enum { TASK_ID_OFFSET = 36 };

static uint64_t current_task_id(void)
{
    uint64_t task = 0;
    uint32_t id = 0;
    if (swift_task_getCurrent != NULL) {
        task = (uint64_t)(uintptr_t)swift_task_getCurrent();
    }
    return task != 0 && sonde__os_read(task + TASK_ID_OFFSET, &id, sizeof id) == sizeof id ? id : 0;
}

struct sonde__scans sonde__capture_scans;

static __attribute__((noinline)) void walk(struct sonde_stack *stack,
                                           const struct sonde__regs *regs, bool exact,
                                           uint32_t skip, enum sonde__capture_trust trust,
                                           struct sonde__memo *memo)
{
    struct sonde__capture_pin pin = sonde__capture_pin();
    struct sonde__capture_finder finder;
    struct sonde__capture_code code;
    struct door door;
    struct sonde__walk walk;
    uint64_t sp = regs->r[sonde__arch_sp(regs->arch)];
    door.address = 0;
    door.size = 0;
    finder.snapshot = pin.images;
    walk.images = NULL; /* every question goes to the finder, which knows what was unloaded */
    walk.find_image = sonde__capture_find_image;
    walk.find_doubtful = sonde__capture_find_doubtful;
    walk.find_ctx = &finder;
    walk.find_code = sonde__capture_find_code;
    walk.code_ctx = &code;
    sonde__capture_code_init(&code);
    walk.regs = *regs;
    walk.memory.plain_start = 0;
    walk.memory.plain_end = 0;
    walk.memory.read = read_door;
    walk.memory.ctx = &door;
    walk.skip = skip;
    walk.first_exact = exact;
    walk.is_brief = trust == SONDE__CAPTURE_OWN_BRIEF;
    walk.infer = !walk.is_brief;
    walk.memo = pin.images != NULL ? memo : NULL;
    walk.image_is_still_loaded = sonde__capture_image_is_still_loaded;
    walk.scans = &sonde__capture_scans;
    if (trust != SONDE__CAPTURE_DOUBT) {
        walk.memory.plain_start = sp;
        walk.memory.plain_end = sonde__capture_own_stack(sp);
    }
    if (walk.memo != NULL && memo->generation != pin.images->generation) {
        sonde__unwind_memo_reset(memo, sp, pin.images->generation);
    }
    sonde__unwind_walk(&walk, stack);
    sonde__capture_code_done(&code);
    if (stack->async_met != 0 && trust != SONDE__CAPTURE_DOUBT) {
        stack->task_id = current_task_id();
    }
    sonde__capture_unpin(pin);
}

/* Rules for the memo's walk: from the tables of the snapshot, which is pinned at the first. */
struct rules {
    bool is_pinned;
    struct sonde__capture_pin pin;
    const struct sonde__image *image; /* of the last question */
    const struct sonde__image_range *range;
};

static bool find_rule(void *ctx, uint64_t pc, struct sonde__memo_rule *ret_rule)
{
    struct rules *rules = ctx;
    uint64_t call = pc - 1;
    if (!rules->is_pinned) {
        rules->pin = sonde__capture_pin();
        rules->is_pinned = true;
        rules->range = NULL;
    }
    const struct sonde__image_set *images = rules->pin.images;
    if (images == NULL) {
        return false;
    }
    if (rules->range == NULL ||
        call - rules->range->start >= rules->range->end - rules->range->start) {
        rules->range = sonde__image_range_find(images, call);
        if (rules->range == NULL || rules->range->image >= images->image_count) {
            return false;
        }
        rules->image = &images->images[rules->range->image];
    }
    const struct sonde__image *image = rules->image;
    return image->is_permanent && image->rules != NULL &&
           sonde__unwind_memo_rule(sonde__table_find(image->rules, call - image->bias), ret_rule);
}

static uint64_t reach(void *ctx, uint64_t sp, uint64_t to)
{
    (void)ctx;
    return sonde__capture_own_stack_to(sp, to);
}

/* What the short way (unwind_memo.h) starts with. */
static inline void begin_by_memo(struct sonde__memo_start *at, struct rules *rules,
                                 const struct sonde__regs *regs, uint32_t skip,
                                 struct sonde__memo *memo)
{
    uint64_t generation = sonde__capture_generation();
    *at = (struct sonde__memo_start){
        .pc = regs->pc,
        .sp = regs->r[sonde__arch_sp(SONDE__ARCH_HOST)],
        .fp = regs->r[sonde__arch_fp(SONDE__ARCH_HOST)],
        .skip = skip,
        .is_still_loaded = sonde__capture_image_is_still_loaded,
        .find_rule = find_rule,
        .reach = reach,
        .ctx = rules,
    };
    rules->is_pinned = false;
    at->plain_end = sonde__capture_own_stack_seen(at->sp);
    if (memo->generation != generation) {
        sonde__unwind_memo_reset(memo, at->sp, generation);
    }
}

static inline void end_by_memo(const struct rules *rules)
{
    if (rules->is_pinned) {
        sonde__capture_unpin(rules->pin);
    }
}

/* False: what is written of the stack is void. */
static inline bool walk_by_memo(struct sonde_stack *stack, const struct sonde__regs *regs,
                                uint32_t skip, struct sonde__memo *memo)
{
    struct rules rules;
    struct sonde__memo_start at;
    begin_by_memo(&at, &rules, regs, skip, memo);
    bool is_done = sonde__unwind_memo_walk(memo, &at, stack);
    end_by_memo(&rules);
    return is_done;
}

void sonde__capture_walk(struct sonde_stack *stack, const struct sonde__regs *regs, bool exact,
                         uint32_t skip, enum sonde__capture_trust trust)
{
    struct sonde__memo *memo = trust != SONDE__CAPTURE_DOUBT ? sonde__capture_memo_enter() : NULL;
    if (memo == NULL || exact || !walk_by_memo(stack, regs, skip, memo)) {
        walk(stack, regs, exact, skip, trust, memo);
    }
    sonde__capture_memo_leave(memo);
}

struct sonde__memo *sonde__capture_renew(const struct sonde__regs *regs, uint32_t *ret_first)
{
    struct sonde__memo *memo = sonde__capture_memo_enter();
    struct rules rules;
    struct sonde__memo_start at;
    if (memo == NULL) {
        return NULL;
    }
    begin_by_memo(&at, &rules, regs, 0, memo);
    bool is_done = sonde__unwind_memo_renew(memo, &at, ret_first);
    end_by_memo(&rules);
    if (!is_done) {
        sonde__capture_memo_leave(memo);
        return NULL;
    }
    return memo;
}

/* The frames of a stack that was cut, by the memo alone. False: it does not reach the root. */
static bool count_by_memo(struct sonde_stack *stack, const struct sonde__regs *regs, uint32_t skip)
{
    uint32_t first;
    struct sonde__memo *memo = sonde__capture_renew(regs, &first);
    if (memo == NULL) {
        return false;
    }
    uint64_t shown = (uint64_t)skip + stack->count;
    uint64_t all = SONDE__MEMO_FRAMES - first;
    stack->lost_count = all > shown ? all - shown : 0;
    sonde__capture_memo_leave(memo);
    return true;
}

void sonde__capture_walk_counted(struct sonde_stack *stack, const struct sonde__regs *regs,
                                 bool exact, uint32_t skip, enum sonde__capture_trust trust)
{
    struct sonde__capture_count count;
    sonde__capture_walk(stack, regs, exact, skip, trust);
    if (sonde__capture_is_cut(stack) &&
        (exact || trust == SONDE__CAPTURE_DOUBT || !count_by_memo(stack, regs, skip))) {
        sonde__capture_count_begin(&count);
        sonde__capture_walk(&count.stack, regs, exact, skip, trust);
        sonde__capture_count_end(&count, stack);
    }
}
