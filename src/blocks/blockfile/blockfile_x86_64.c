// SPDX-License-Identifier: Apache-2.0
/* Follows stores of x86-64 code to its stack. A stretch seldom begins at an instruction; decoding
 * synchronises after a few, and until then nothing is known. Context: any thread. */
#include "arch_regs.h"
#include "arch_x86_form.h"
#include "blockfile_cpu.h"

enum { RAX = 0, RDX = 2, RSP = 4, RBP = 5 };

/* Instructions that are not decoded do not move the frame. */
static void lose(struct blockfile_cpu *cpu, unsigned reg)
{
    if (reg != RSP && reg != RBP) {
        blockfile_cpu_lose(cpu, reg);
    }
}

/* For an instruction that is not decoded: all registers that it may write become unknown. */
static void lose_operands(struct blockfile_cpu *cpu, const struct sonde__x86_form *form)
{
    unsigned reg = (form->modrm >> 3 & 7u) + ((form->rex & 4) != 0 ? 8 : 0);
    unsigned rm = (form->modrm & 7u) + ((form->rex & 1) != 0 ? 8 : 0);
    bool is_any = form->is_vex || form->map > 1; /* its registers are not decoded */
    for (unsigned i = 0; i < BLOCKFILE_VECTORS; i++) {
        if (is_any || (form->map == 1 && i == reg)) {
            blockfile_cpu_lose(cpu, SONDE__INSN_VECTOR_FIRST + i);
        }
    }
    if (!is_any) {
        lose(cpu, RAX); /* mul, div, cpuid and the like write it */
        lose(cpu, RDX);
        lose(cpu, reg);
        lose(cpu, form->modrm >> 6 == 3 ? rm : reg);
    }
}

void blockfile_follow_x86_64(struct blockfile_slots *slots, const struct sonde__loaded_area *area,
                             uint64_t begin, uint64_t end)
{
    struct blockfile_cpu cpu = {.slots = slots};
    blockfile_cpu_reset(&cpu);
    for (uint64_t vaddr = begin; vaddr < end;) {
        const uint8_t *code = area->bytes + (vaddr - area->vaddr);
        size_t size = (size_t)(area->size - (vaddr - area->vaddr));
        struct sonde__insn insn;
        struct sonde__x86_form form;
        cpu.site = vaddr;
        if (sonde__arch_insn(SONDE_ARCH_X86_64, vaddr, code, size, &insn)) {
            blockfile_cpu_step(&cpu, &insn);
            vaddr += insn.length;
        } else if (sonde__arch_x86_form(code, size, &form)) {
            lose_operands(&cpu, &form);
            vaddr += form.length;
        } else {
            blockfile_cpu_reset(&cpu);
            vaddr++;
        }
    }
    blockfile_settle(slots);
}
