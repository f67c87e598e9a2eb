// SPDX-License-Identifier: Apache-2.0
/* A walk reads memory in two ways: plain loads for the calling thread's own stack, as far as it
 * was seen to be mapped (capture_own_stack.h); all else through the system, in blocks, so that
 * neighbouring cells come with it. */
#include "capture_walk.h"

#include "base_mem.h"
#include "capture_code.h"
#include "capture_images.h"
#include "capture_memo.h"
#include "capture_own_stack.h"
#include "capture_record.h"
#include "os.h"
#include "unwind_scans.h"
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

/* AsyncTask: HeapObject (16 bytes), two reserved words, flags, then the id: stable ABI of Swift 5.5
 * (swift/ABI/Task.h). */
enum { TASK_ID_OFFSET = 36 };

static uint64_t current_task_id(void)
{
    uint64_t task = sonde__os_swift_task();
    uint32_t id = 0;
    return task != 0 && sonde__os_read(task + TASK_ID_OFFSET, &id, sizeof id) == sizeof id ? id : 0;
}

static bool keeps_record(void *ctx, const struct sonde__image *image, uint64_t pc)
{
    (void)ctx;
    (void)image;
    return sonde__capture_keeps_record(pc);
}

struct sonde__scans sonde__capture_scans;

void sonde__capture_walk_general(struct sonde_stack *stack, const struct sonde__regs *regs,
                                 bool exact, uint32_t skip, enum sonde__capture_trust trust,
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
    walk.images = NULL; /* the finder answers all look-ups: it knows what was unloaded */
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
    walk.ret_fps = NULL;
    walk.ret_outer_sp = NULL;
    walk.keeps_record = keeps_record;
    walk.record_ctx = NULL;
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
