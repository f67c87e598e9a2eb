// SPDX-License-Identifier: Apache-2.0
/* Steps out of Go code, at each state of a frame. The table is a kept one (test_go.c of image):
 * main.main at 0x100, 64 bytes, whose frame is there from byte 7 (8 on aarch64) to byte 55 (56),
 * and runtime.goexit at 0x140. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "test.h"

#define CODE(offset_)  (SIM_CODE + (uint64_t)(offset_))
#define STACK(offset_) (SIM_STACK + (uint64_t)(offset_))

static struct sim sim;

static uint8_t *open_with(const char *name, unsigned arch)
{
    char path[512];
    size_t size;
    sim_open(&sim, arch);
    snprintf(path, sizeof path, "%s/fuzz/regress/go/go-%s", test_source_dir(), name);
    uint8_t *data = (uint8_t *)test_read_file(path, &size);
    memset(data + 24, 0, 8); /* where the code begins: here */
    CHECK(sonde__image_go_open(data, size, CODE(0x100) - sim.image.bias, 0, &sim.image.go));
    return data;
}

TEST(a_frame_is_left_at_each_of_its_instructions)
{
    uint8_t *data = open_with("1.18", SONDE_ARCH_X86_64);
    for (uint32_t pc = 0x100; pc < 0x140; pc++) {
        uint32_t moved = pc >= 0x107 && pc < 0x137 ? 40 : 0;
        sim_start(&sim, pc, 0x200 - moved);
        sim_poke(&sim, 0x200, CODE(0x141));
        sim_walk(&sim, 16, 0);
        SIM_EXPECT(&sim, SONDE_END_ROOT, pc, 0x141);
    }
    free(data);
}

/* rsp moves first, and an instruction of five bytes saves rbp then. The caller is C that needs it.
 */
TEST(the_frame_pointer_is_where_it_is_then)
{
    uint8_t *data = open_with("1.18", SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0x200, 0x0c, 6, 16, 0x86, 2); /* CFA rbp+16 */
    SIM_FDE(&sim, 0xf00, 0x07, 16);
    for (uint32_t pc = 0x100; pc < 0x137; pc++) {
        uint32_t moved = pc >= 0x107 ? 40 : 0;
        bool is_saved = pc >= 0x10c;
        sim_start(&sim, pc, 0x200 - moved);
        sim_set(&sim, SONDE__X86_64_RBP, is_saved ? 0x1234 : STACK(0x300));
        sim_poke(&sim, 0x1f8, is_saved ? STACK(0x300) : 0x1234);
        sim_poke(&sim, 0x200, CODE(0x210));
        sim_poke(&sim, 0x308, CODE(0xf10));
        sim_walk(&sim, 16, 0);
        SIM_EXPECT(&sim, SONDE_END_ROOT, pc, 0x210, 0xf10);
    }
    free(data);
}

TEST(the_link_register_lies_at_the_bottom)
{
    uint8_t *data = open_with("1.18-aarch64", SONDE_ARCH_AARCH64);
    for (uint32_t pc = 0x100; pc < 0x140; pc += 4) {
        bool is_there = pc >= 0x108 && pc < 0x138;
        sim_start(&sim, pc, 0x200 - (is_there ? 48 : 0));
        sim_set(&sim, SONDE__AARCH64_LR, is_there ? 0x1234 : CODE(0x144));
        sim_poke(&sim, 0x200 - 48, is_there ? CODE(0x144) : 0x1234);
        sim_walk(&sim, 16, 0);
        SIM_EXPECT(&sim, SONDE_END_ROOT, pc, 0x144);
    }
    free(data);
}

/* Not of Go: code without any table, whose caller only the frame pointer could tell. The inner
 * frame read it, but does not say where it saved it. */
TEST(a_frame_pointer_that_was_lost_is_no_register_that_was_not_read)
{
    sim_open(&sim, SONDE_ARCH_X86_64);
    SIM_FDE(&sim, 0, 0x0e, 16, 0x07, 6);
    sim_start(&sim, 0x10, 0x100);
    sim_set(&sim, SONDE__X86_64_RBP, STACK(0x200));
    sim_poke(&sim, 0x108, CODE(0x350));
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_RULE, 0x10, 0x350);
    sim_start(&sim, 0x10, 0x100);
    sim_walk(&sim, 16, 0);
    SIM_EXPECT(&sim, SONDE_END_NO_REGISTERS, 0x10, 0x350);
}
