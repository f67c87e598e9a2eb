// SPDX-License-Identifier: Apache-2.0
#include "sim.h"

#include <string.h>

#include "test.h"

static void put(struct sim *sim, const void *bytes, size_t size)
{
    CHECK(sim->cfi_size + size + 4 <= sizeof sim->cfi);
    memcpy(sim->cfi + sim->cfi_size, bytes, size);
    sim->cfi_size += size;
}

static void put_uint(struct sim *sim, uint64_t value, size_t size)
{
    put(sim, &value, size);
}

static size_t begin_record(struct sim *sim)
{
    put_uint(sim, 0, 4);
    return sim->cfi_size;
}

static void end_record(struct sim *sim, size_t start)
{
    uint32_t size = (uint32_t)(sim->cfi_size - start);
    memcpy(sim->cfi + start - 4, &size, 4);
    sim->image.cfi.eh_frame_size = sim->cfi_size + 4; /* a terminator follows: it is all zero */
}

void sim_cie(struct sim *sim, bool is_signal)
{
    static const uint8_t x86_64[] = {0x0c, 7, 8, 0x90, 1}; /* def_cfa rsp+8; offset ra, 1 */
    static const uint8_t aarch64[] = {0x0c, 31, 0};        /* def_cfa sp+0 */
    bool is_x86 = sim->arch == SONDE_ARCH_X86_64;
    sim->cie_at = sim->cfi_size;
    size_t start = begin_record(sim);
    put_uint(sim, 0, 4);
    put_uint(sim, 1, 1);
    put(sim, is_signal ? "zRS" : "zR", is_signal ? 4 : 3);
    put_uint(sim, is_x86 ? 1 : 4, 1); /* code alignment */
    put_uint(sim, 0x78, 1);           /* data alignment: -8 */
    put_uint(sim, is_x86 ? 16 : 30, 1);
    put_uint(sim, 1, 1);
    put_uint(sim, 0x04, 1); /* udata8, absolute */
    put(sim, is_x86 ? x86_64 : aarch64, is_x86 ? sizeof x86_64 : sizeof aarch64);
    end_record(sim, start);
}

void sim_fde(struct sim *sim, uint32_t start, uint32_t size, const void *program,
             size_t program_size)
{
    size_t begin = begin_record(sim);
    put_uint(sim, sim->cfi_size - sim->cie_at, 4);
    put_uint(sim, SIM_CODE + start, 8);
    put_uint(sim, size, 8);
    put_uint(sim, 0, 1);
    put(sim, program, program_size);
    end_record(sim, begin);
}

void sim_open(struct sim *sim, unsigned arch)
{
    memset(sim, 0, sizeof *sim);
    sim->arch = arch;
    sim->image = (struct sonde__image){
        .path = "sim",
        .start = SIM_CODE,
        .end = SIM_CODE + sizeof sim->code,
        .arch = (uint8_t)arch,
        .cfi = {.eh_frame = sim->cfi},
    };
    sim->range = (struct sonde__image_range){SIM_CODE, SIM_CODE + sizeof sim->code, 0};
    sim->set = (struct sonde__image_set){&sim->image, &sim->range, 1, 1, 1};
    sim_cie(sim, false);
}

void sim_poke(struct sim *sim, uint32_t offset, uint64_t value)
{
    CHECK(offset / 8 < SIM_WORDS);
    sim->stack[offset / 8] = value;
}

void sim_call(struct sim *sim, uint32_t end, uint32_t target)
{
    uint32_t distance = target - end;
    sim->code[end - 5] = 0xe8;
    memcpy(sim->code + end - 4, &distance, 4);
}

void sim_start(struct sim *sim, uint32_t pc, uint32_t sp)
{
    memset(&sim->regs, 0, sizeof sim->regs);
    sim->regs.arch = (uint8_t)sim->arch;
    sim->regs.pc = SIM_CODE + pc;
    sim_set(sim, sonde__arch_sp(sim->arch), SIM_STACK + sp);
}

void sim_set(struct sim *sim, unsigned reg, uint64_t value)
{
    sonde__regs_set(&sim->regs, reg, value);
}

static bool read_part(const void *from, uint64_t base, size_t total, uint64_t address, void *to,
                      size_t size)
{
    if (address < base || address - base > total || size > total - (address - base)) {
        return false;
    }
    memcpy(to, (const char *)from + (address - base), size);
    return true;
}

bool sim_read(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    struct sim *sim = ctx;
    sim->code_reads += address - SIM_CODE < sizeof sim->code;
    return read_part(sim->stack, SIM_STACK, sizeof sim->stack, address, ret_bytes, size) ||
           read_part(sim->code, SIM_CODE, sizeof sim->code, address, ret_bytes, size);
}

static void walk_once(struct sim *sim, uint32_t capacity, uint32_t outer)
{
    struct sonde__walk walk = {
        .images = &sim->set,
        .regs = sim->regs,
        .memory = {.read = sim_read, .ctx = sim},
        .skip = sim->skip,
        .first_exact = !sim->return_address,
        .infer = sim->infer,
        .scans = sim->scans,
    };
    CHECK(capacity <= 4096);
    sonde_stack_init(&sim->result, sim->pcs, sim->how, capacity, outer);
    sonde__unwind_walk(&walk, &sim->result);
}

void sim_walk(struct sim *sim, uint32_t capacity, uint32_t outer)
{
    static uint64_t pcs[4096];
    static uint8_t how[4096];
    size_t size = 0;
    sim->image.rules = NULL;
    walk_once(sim, capacity, outer);
    struct sonde_stack in_place = sim->result;
    memcpy(pcs, sim->pcs, sizeof pcs);
    memcpy(how, sim->how, sizeof how);
    if (sonde__unwind_rules_size(&sim->image.cfi, sim->arch, &size) != SONDE_OK || size == 0) {
        return;
    }
    CHECK(size <= sizeof sim->table);
    CHECK_OK(
        sonde__unwind_rules_build(&sim->image.cfi, sim->arch, sim->table, size, &sim->image.rules));
    walk_once(sim, capacity, outer);
    CHECK_EQ(sim->result.count, in_place.count);
    CHECK_EQ(sim->result.end, in_place.end);
    CHECK_EQ(sim->result.end_at, in_place.end_at);
    CHECK_EQ(sim->result.lost_at, in_place.lost_at);
    CHECK_EQ(sim->result.lost_count, in_place.lost_count);
    CHECK(memcmp(pcs, sim->pcs, in_place.count * sizeof pcs[0]) == 0);
    CHECK(memcmp(how, sim->how, in_place.count) == 0);
}

void sim_expect(const struct sim *sim, enum sonde_end_reason end, const uint32_t *pcs)
{
    uint32_t count = 0;
    for (; pcs[count] != UINT32_MAX && count < sim->result.count; count++) {
        if (sim->pcs[count] != SIM_CODE + (uint64_t)pcs[count]) {
            FAIL("frame %u: %#llx, expected %#x", count, (unsigned long long)sim->pcs[count],
                 SIM_CODE + pcs[count]);
        }
    }
    CHECK(pcs[count] == UINT32_MAX);
    CHECK_EQ(sim->result.count, count);
    CHECK_EQ(sim->result.end, end);
}
