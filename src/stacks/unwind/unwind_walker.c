// SPDX-License-Identifier: Apache-2.0
/* The start, look-ups and reads of a walker. */
#include "unwind_step.h"

#include "base_mem.h"

/* Limit of steps to a lower stack: one if a handler's alternate stack is above the thread's, one
 * if the handler interrupted a switch to another stack. */
#define JUMPS_MAX 2
/* Limit of frames that may use no stack (assembler, context switches); far fewer exist. */
#define MADE_MAX 64
/* Limit of a walk's work, in decoded instructions (about 40 ms); a frame takes some hundred. */
#define WORK_MAX (1u << 21)

void sonde__reader_init(struct sonde__reader *reader, const struct sonde__memory *memory)
{
    reader->memory = *memory;
    reader->block = 1; /* not aligned: no block */
}

bool sonde__reader_slow(struct sonde__reader *reader, uint64_t address, void *ret_bytes,
                        size_t size)
{
    const struct sonde__memory *memory = &reader->memory;
    uint64_t block = address & ~(uint64_t)(SONDE__READER_BLOCK - 1);
    size_t offset = (size_t)(address - block);
    if (address >= memory->plain_start && address < memory->plain_end &&
        memory->plain_end - address >= size) {
        sonde__base_mem_copy(ret_bytes, (const void *)(uintptr_t)address, size);
        return true;
    }
    if (memory->read == NULL) {
        return false;
    }
    if (block != reader->block && offset + size <= SONDE__READER_BLOCK) {
        reader->block =
            memory->read(memory->ctx, block, reader->bytes, SONDE__READER_BLOCK) ? block : 1;
    }
    if (block == reader->block && offset + size <= SONDE__READER_BLOCK) {
        sonde__base_mem_copy(ret_bytes, reader->bytes + offset, size);
        return true;
    }
    return memory->read(memory->ctx, address, ret_bytes, size);
}

bool sonde__walker_start(struct sonde__walker *walker, const struct sonde__walk *walk,
                         struct sonde__reader *reader, struct sonde__regs *regs)
{
    const struct sonde__regs *given = &walk->regs;
    unsigned arch = given->arch;
    unsigned fp = sonde__arch_fp(arch);
    *walker = (struct sonde__walker){
        .walk = walk,
        .reader = reader,
        .regs = regs,
        .arch = arch,
        .jumps_left = JUMPS_MAX,
        .made_left = MADE_MAX,
        .sweep_left = walk->scans != NULL ? SONDE__WORK_IN_HANDLER : WORK_MAX,
        .frame =
            {
                .pc = given->pc,
                .sp = given->r[sonde__arch_sp(arch)],
                .fp = sonde__strip_fp_tag(given->r[fp]),
                .lr = given->r[SONDE__AARCH64_LR],
                .fp_known = sonde__regs_known(given, fp),
                .lr_known =
                    arch == SONDE_ARCH_AARCH64 && sonde__regs_known(given, SONDE__AARCH64_LR),
                .exact = walk->first_exact,
                .found = SONDE_FOUND_REGISTERS,
            },
    };
    if (regs != NULL) {
        *regs = *given;
    }
    if (!sonde__regs_known(given, sonde__arch_sp(arch))) {
        (void)sonde__step_end(walker, SONDE_END_NO_REGISTERS, given->pc);
        return false;
    }
    return true;
}

/* Locate a pc in code of no image, by what the program says about it. */
static void locate_made(struct sonde__walker *walker, uint64_t pc)
{
    const struct sonde__image_set *made = walker->walk->made;
    const struct sonde__image_range *range =
        made != NULL ? sonde__image_range_find(made, pc) : NULL;
    if (range != NULL) {
        walker->place_start = range->start;
        walker->place_end = range->end;
        walker->image = &made->images[range->image];
    } else if (made != NULL && made->range_count != 0) {
        for (uint32_t i = 0; i < made->range_count; i++) { /* a gap between described ranges */
            const struct sonde__image_range *other = &made->ranges[i];
            if (other->end <= pc && other->end > walker->place_start) {
                walker->place_start = other->end;
            } else if (other->start > pc && other->start < walker->place_end) {
                walker->place_end = other->start;
            }
        }
    }
}

void sonde__walker_locate_slow(struct sonde__walker *walker, uint64_t pc)
{
    const struct sonde__walk *walk = walker->walk;
    const struct sonde__image_set *set = walk->images;
    const struct sonde__image_range *range = set != NULL ? sonde__image_range_find(set, pc) : NULL;
    walker->image = NULL;
    if (range != NULL) {
        walker->place_start = range->start;
        walker->place_end = range->end;
        walker->is_executable = true;
        if (range->image < set->image_count) {
            walker->image = &set->images[range->image];
        } else {
            locate_made(walker, pc);
        }
        return;
    }
    walker->place_start = walker->place_end = 0;
    if (walker->is_doubtful && walk->find_doubtful != NULL) {
        walker->image =
            walk->find_doubtful(walk->find_ctx, pc, &walker->place_start, &walker->place_end);
    } else if (walk->find_image != NULL) {
        walker->image =
            walk->find_image(walk->find_ctx, pc, &walker->place_start, &walker->place_end);
    }
    walker->is_executable = walker->image != NULL;
    if (walker->image == NULL) {
        walker->place_start = walker->place_end = 0;
    }
    if (walker->image == NULL && walk->find_code != NULL) {
        walker->is_executable =
            walk->find_code(walk->code_ctx, pc, &walker->place_start, &walker->place_end);
    }
}

bool sonde__walker_read(const struct sonde__walker *walker, uint64_t address, void *ret_bytes,
                        size_t size)
{
    const struct sonde__memory *memory = &walker->reader->memory;
    return memory->read != NULL && memory->read(memory->ctx, address, ret_bytes, size);
}

uint64_t sonde__walker_through_stub(const struct sonde__walker *walker, uint64_t target)
{
    uint8_t code[16];
    uint64_t slot = 0, value = 0;
    bool is_stub = sonde__walker_read(walker, target, code, sizeof code) &&
                   sonde__arch_stub_slot(walker->arch, target, code, sizeof code, &slot) &&
                   sonde__walker_read(walker, slot, &value, sizeof value);
    return is_stub ? value : target;
}

bool sonde__walker_is_code(struct sonde__walker *walker, uint64_t address)
{
    bool is_doubtful = walker->is_doubtful;
    sonde__walker_ask_anew(walker);
    walker->is_doubtful = true;
    sonde__walker_locate(walker, address);
    walker->is_doubtful = is_doubtful;
    sonde__walker_ask_anew(walker);
    return walker->is_executable;
}
