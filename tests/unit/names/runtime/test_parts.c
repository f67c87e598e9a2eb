// SPDX-License-Identifier: Apache-2.0
/* Parts of an interpreter's loop, in libraries that the assembler makes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_private.h"
#include "test.h"

#define BIAS 0x10000u

struct library {
    char *data;
    struct sonde__elf elf;
    struct sonde__runtime *runtime;
};

/* JUMP: the machine's; each function has an FDE. */
static const char head[] = "#ifdef __aarch64__\n"
                           "#define JUMP b\n"
                           "#define MID 4\n"
                           "#else\n"
                           "#define JUMP jmp\n"
                           "#define MID 1\n"
                           "#endif\n"
                           ".macro begin name\n"
                           ".globl \\name\n"
                           ".hidden \\name\n"
                           "\\name: .cfi_startproc\n"
                           ".endm\n"
                           ".macro end name\n"
                           ".cfi_endproc\n"
                           ".globl end_\\name\n"
                           ".hidden end_\\name\n"
                           "end_\\name:\n"
                           ".endm\n"
                           ".text\n";

static uint64_t address_of(const char *name)
{
    char command[1200];
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(command, sizeof command, "nm %s/lib.so | sed -n 's/ t %s$//p'", test_folder(), name);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    uint64_t address = strtoull(run.out, NULL, 16);
    CHECK(address != 0);
    test_run_done(&run);
    return address;
}

/* The code has a function named loop. */
static struct library open_library(const char *code)
{
    struct library l;
    char command[2400], path[1100], text[2000];
    const char *const argv[] = {"sh", "-c", command, NULL};
    size_t size;
    snprintf(path, sizeof path, "%s/lib.S", test_folder());
    snprintf(text, sizeof text, "%s%s", head, code);
    test_write_file(path, text, strlen(text));
    snprintf(command, sizeof command, "cd %s && ${CC:-cc} -shared -nostdlib -o lib.so lib.S",
             test_folder());
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_STR(run.err, "");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    snprintf(path, sizeof path, "%s/lib.so", test_folder());
    l.data = test_read_file(path, &size);
    CHECK_OK(sonde__elf_open(l.data, size, &l.elf, NULL));
    l.runtime = calloc(1, sizeof *l.runtime);
    CHECK(l.runtime != NULL);
    sonde__runtime_add_loop(l.runtime, &l.elf, address_of("loop"), address_of("end_loop"), BIAS);
    return l;
}

static void close_library(struct library *l)
{
    free(l->runtime);
    free(l->data);
}

TEST(a_part_is_jumped_into_and_jumps_back)
{
    struct library l = open_library("begin part\n nop\n nop\n JUMP loop+4\n end part\n"
                                    "begin table\n nop\n nop\n JUMP other\n end table\n"
                                    "begin other\n nop\n JUMP loop+4\n end other\n"
                                    "begin loop\n nop\n nop\n nop\n nop\n nop\n JUMP part+MID\n"
                                    " JUMP table+MID\n JUMP other\n end loop\n");
    CHECK_EQ(l.runtime->loop_count, 2);
    CHECK_EQ(l.runtime->loops[0].start, address_of("loop") + BIAS);
    CHECK_EQ(l.runtime->loops[0].end, address_of("end_loop") + BIAS);
    CHECK_EQ(l.runtime->loops[1].start, address_of("part") + BIAS);
    CHECK_EQ(l.runtime->loops[1].end, address_of("end_part") + BIAS);
    close_library(&l);
}

/* 200,000 jumps into a function of 1 MB: as many times 1 MB would take hours. */
TEST(an_image_of_many_jumps_is_read_in_bounded_time)
{
    struct library l = open_library("begin large\n .rept 250000\n nop\n .endr\n end large\n"
                                    "begin loop\n .rept 200000\n JUMP large+MID\n .endr\n"
                                    " end loop\n");
    CHECK_EQ(l.runtime->loop_count, 1);
    close_library(&l);
}
