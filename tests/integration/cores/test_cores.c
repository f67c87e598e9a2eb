// SPDX-License-Identifier: Apache-2.0
/* Cores written by gdb's gcore: whole, cut, damaged, foreign; and files that are no cores. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

static struct test_run stacks(const char *core, const char *program, const char *option)
{
    const char *const argv[] = {sonde_program(),
                                "stacks",
                                "--core",
                                core,
                                program != NULL ? program : option,
                                program != NULL ? option : NULL,
                                NULL};
    return test_run(argv, NULL, NULL, 60);
}

/* The dumped program, if it is not the waiter at its build path. */
static char program_path[300];

/* A core of the waiter with `depth` calls. The path lives as long as the test. */
static const char *make_core(const char *depth)
{
    static char path[300];
    char prefix[256];
    char pid_text[16];
    const char *const program[] = {
        program_path[0] != '\0' ? program_path : test_program("support", "waiter"), depth, NULL};
    const char *const argv[] = {"gcore", "-o", prefix, pid_text, NULL};
    pid_t pid = start_program(program);
    struct test_run run;
    wait_blocked(pid);
    snprintf(prefix, sizeof prefix, "%s/core", test_folder());
    snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    run = test_run(argv, NULL, NULL, 120);
    stop_program(pid);
    if (run.status == 127) {
        SKIP("no gcore");
    }
    if (run.status != 0) {
        FAIL("gcore: %s%s", run.out, run.err);
    }
    test_run_done(&run);
    snprintf(path, sizeof path, "%s.%s", prefix, pid_text);
    return path;
}

static void check_waiter(const struct test_run *run)
{
    const char *main_function = strstr(run->out, "wait_in_main");
    CHECK(main_function != NULL);
    CHECK_CONTAINS(main_function, "deeper");
    CHECK_CONTAINS(main_function, "main");
    CHECK_CONTAINS(run->out, "wait_for_lock");
    CHECK_CONTAINS(run->out, "lock_thread");
    CHECK_CONTAINS(run->out, "sleep_thread");
}

TEST_TIMEOUT(a_whole_core, 200)
{
    const char *core = make_core("3");
    struct test_run run = stacks(core, NULL, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    check_waiter(&run);
    test_run_done(&run);
    run = stacks(core, test_program("support", "waiter"), NULL);
    CHECK_EQ(run.status, 0);
    check_waiter(&run);
    test_run_done(&run);
    run = stacks(core, NULL, "--json");
    check_json(run.out);
    CHECK_CONTAINS(run.out, "wait_in_main");
    test_run_done(&run);
}

/* A wrong program gives no names, never wrong ones, and an error line. */
TEST_TIMEOUT(a_core_with_the_wrong_program, 200)
{
    const char *core = make_core("3");
    struct test_run run = stacks(core, "/bin/sh", NULL);
    CHECK_EQ(run.status, 5);
    check_waiter(&run); /* names by the core's own path, whose build-id is right */
    check_one_line(run.err, "/bin/sh is not the program of this core");
    test_run_done(&run);
    run = stacks(core, "/bin/sh", "--json");
    CHECK_EQ(run.status, 5);
    check_json(run.out);
    CHECK_CONTAINS(run.out, "/bin/sh is not the program of this core");
    test_run_done(&run);
    run = stacks(core, "/nonexistent", NULL);
    CHECK_EQ(run.status, 3);
    CHECK_STR(run.out, "");
    check_one_line(run.err, "/nonexistent: No such file");
    test_run_done(&run);
    run = stacks(core, "/etc/passwd", NULL);
    CHECK_EQ(run.status, 6);
    check_one_line(run.err, "the core's program is not an ELF file: /etc/passwd");
    test_run_done(&run);
}

/* The program was moved: with its path as operand, stacks and names are complete. */
TEST_TIMEOUT(a_core_of_a_program_that_was_moved, 200)
{
    char moved[300];
    size_t size;
    char *bytes = test_read_file(test_program("support", "waiter"), &size);
    snprintf(moved, sizeof moved, "%s/moved", test_folder());
    snprintf(program_path, sizeof program_path, "%s/waiter", test_folder());
    test_write_file(program_path, bytes, size);
    free(bytes);
    CHECK_OK(chmod(program_path, 0755));
    const char *core = make_core("3");
    CHECK_OK(rename(program_path, moved));
    struct test_run run = stacks(core, NULL, NULL);
    CHECK_EQ(run.status, 0);
    CHECK(strstr(run.out, "wait_in_main") == NULL);
    test_run_done(&run);
    run = stacks(core, moved, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    check_waiter(&run);
    test_run_done(&run);
}

/* Standard input: a file works as by its name; a pipe is refused in one line. */
TEST_TIMEOUT(a_core_on_standard_input, 200)
{
    const char *core = make_core("3");
    char line[900];
    const char *const argv[] = {"sh", "-c", line, NULL};
    snprintf(line, sizeof line, "%s stacks --core - <%s", sonde_program(), core);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    check_waiter(&run);
    test_run_done(&run);
    snprintf(line, sizeof line, "cat %s | %s stacks --core -", core, sonde_program());
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 6);
    CHECK_STR(run.out, "");
    check_one_line(run.err, "no regular file");
    test_run_done(&run);
}

/* gdb writes the notes last, the kernel first: make the core that the kernel would write. Caller
 * frees the bytes. */
static char *notes_first(const char *core, size_t *ret_size)
{
    size_t size, notes_size = 0, at;
    char *bytes = test_read_file(core, &size);
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)bytes;
    Elf64_Phdr *segments = (Elf64_Phdr *)(void *)(bytes + header->e_phoff);
    char *made = malloc(2 * size);
    CHECK(made != NULL);
    CHECK_EQ(segments[0].p_type, PT_NOTE); /* first: others move by its size */
    at = header->e_phoff + header->e_phnum * sizeof *segments;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_NOTE) {
            notes_size = segments[i].p_filesz;
            memcpy(made + at, bytes + segments[i].p_offset, notes_size);
            segments[i].p_offset = at;
        } else {
            segments[i].p_offset += notes_size;
        }
    }
    header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
    memcpy(made, bytes, at);
    memcpy(made + at + notes_size, bytes + at, size - at);
    free(bytes);
    *ret_size = size + notes_size;
    return made;
}

#if defined(SONDE_SANITIZED) /* ten times slower to start */
#    define CUT_STEP ((size_t)1 << 20)
#else
#    define CUT_STEP ((size_t)1 << 16)
#endif

/* Cut the core at many places in headers and notes, then at every 64 KiB. The available part is
 * shown and the lost part is reported; a thread whose stack was cut off still shows its pc. */
TEST_TIMEOUT(a_core_cut_anywhere, 280)
{
    const char *core = make_core("3");
    size_t size, shown = 0, cuts = 0;
    char *bytes = notes_first(core, &size);
    char path[256];
    snprintf(path, sizeof path, "%s/cut", test_folder());
    for (size_t i = 0, cut = 0; cut < size; i++, cuts++) {
        struct test_run run;
        test_write_file(path, bytes, cut);
        run = stacks(path, NULL, NULL);
        if (run.status < 0 || run.status > 7) {
            FAIL("cut at %zu of %zu: ended with %d: %s", cut, size, run.status, run.err);
        }
        if (run.status != 0) {
            check_one_line(run.err, "");
        } else {
            CHECK_CONTAINS(run.out, "\nthread ");
            if (strstr(run.out, "_start+") == NULL && strstr(run.out, "cut short") == NULL) {
                FAIL("cut at %zu of %zu, and not said: %s", cut, size, run.out);
            }
            shown++;
        }
        test_run_done(&run);
        cut = i < 20 ? (i + 1) * (i + 1) * 16 : cut / CUT_STEP * CUT_STEP + CUT_STEP;
    }
    CHECK(shown > cuts / 2);
    free(bytes);
    bytes = test_read_file(core, &size); /* as gdb wrote it: the cut removes the registers */
    test_write_file(path, bytes, size / 2);
    struct test_run run = stacks(path, NULL, NULL);
    CHECK_EQ(run.status, 5);
    check_one_line(run.err, "the core is cut short, before its threads' registers");
    test_run_done(&run);
    free(bytes);
}

TEST_TIMEOUT(a_core_damaged_anywhere, 280)
{
    const char *core = make_core("3");
    size_t size;
    char *bytes = test_read_file(core, &size);
    size_t headers = size < 8192 ? size : 8192;
    char path[256];
    snprintf(path, sizeof path, "%s/damaged", test_folder());
    for (size_t at = 4; at < headers; at += at < 128 ? 4 : 211) {
        struct test_run run;
        char saved[4];
        memcpy(saved, bytes + at, 4);
        memset(bytes + at, 0xff, 4);
        test_write_file(path, bytes, size);
        run = stacks(path, NULL, NULL);
        if (run.status < 0 || run.status > 7) {
            FAIL("damaged at %zu: ended with %d: %s", at, run.status, run.err);
        }
        memcpy(bytes + at, saved, 4);
        test_run_done(&run);
    }
    free(bytes);
}

TEST(files_that_are_no_cores)
{
    static const struct {
        const char *path;
        int low, high;
    } cases[] = {{"/nonexistent/core", 3, 3},
                 {"/", 1, 6},
                 {"/bin/true", 5, 6},
                 {"/dev/null", 1, 6},
                 {"/etc/passwd", 5, 6}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_run run = stacks(cases[i].path, NULL, NULL);
        if (run.status < cases[i].low || run.status > cases[i].high) {
            FAIL("%s: ended with %d: %s", cases[i].path, run.status, run.err);
        }
        CHECK_STR(run.out, "");
        check_one_line(run.err, cases[i].path);
        test_run_done(&run);
    }
}

/* Cores of a 32-bit program, and of an unknown machine. */
TEST_TIMEOUT(foreign_cores, 200)
{
    const char *core = make_core("0");
    size_t size;
    char *bytes = test_read_file(core, &size);
    char path[256];
    struct test_run run;
    snprintf(path, sizeof path, "%s/foreign", test_folder());
    bytes[18] = (char)EM_S390;
    test_write_file(path, bytes, size);
    run = stacks(path, NULL, NULL);
    CHECK_EQ(run.status, 6);
    check_one_line(run.err, path);
    test_run_done(&run);
    bytes[18] = (char)EM_386;
    bytes[EI_CLASS] = ELFCLASS32;
    test_write_file(path, bytes, size);
    run = stacks(path, NULL, NULL);
    CHECK(run.status == 5 || run.status == 6);
    check_one_line(run.err, path);
    test_run_done(&run);
    free(bytes);
}

/* A core of another architecture, written by its emulator: without a list of files. */
TEST_TIMEOUT(a_core_of_aarch64, 120)
{
    static const char *const order[] = {"abort+", "boom+", "boom+", "boom+", "main+", "a64+0x"};
    static const char source[] =
        "#include <stdlib.h>\n__attribute__((noinline)) void boom(int n) {\n"
        "if (n) boom(n - 1); else abort(); __asm__ volatile(\"\"); }\n"
        "int main(void) { boom(2); return 0; }\n";
    char line[1200], program[300];
    const char *const argv[] = {"sh", "-c", line, NULL};
    snprintf(program, sizeof program, "%s/a64.c", test_folder());
    test_write_file(program, source, sizeof source - 1);
    snprintf(line, sizeof line,
             "cd %s && aarch64-linux-gnu-gcc -O1 -fno-optimize-sibling-calls -static -o a64 a64.c "
             "&& { ulimit -c unlimited; qemu-aarch64 ./a64 >/dev/null 2>&1; mv *.core core; }",
             test_folder());
    struct test_run run = test_run(argv, NULL, NULL, 60);
    if (run.status != 0) {
        SKIP("no core of aarch64 can be made here: %s", run.err);
    }
    test_run_done(&run);
    snprintf(program, sizeof program, "%s/a64", test_folder());
    snprintf(line, sizeof line, "%s/core", test_folder());
    run = stacks(line, program, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "  aarch64  1 thread");
    const char *at = run.out;
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++) {
        at = strstr(at, order[i]);
        if (at == NULL) {
            FAIL("%s is missing in: %s", order[i], run.out);
        }
        at++;
    }
    test_run_done(&run);
    run = stacks(line, NULL, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "[no image]");
    test_run_done(&run);
}
