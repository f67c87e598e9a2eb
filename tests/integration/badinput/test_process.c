// SPDX-License-Identifier: Apache-2.0
/* Processes that are absent, unreadable, without a stack, or run from a damaged file. Each gives
 * one clear line and the right exit code, and no crash. */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

static struct test_run stacks(const char *operand)
{
    const char *const argv[] = {sonde_program(), "stacks", operand, NULL};
    return test_run(argv, NULL, NULL, 60);
}

static struct test_run stacks_of(pid_t pid)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)pid);
    return stacks(text);
}

TEST(no_such_process)
{
    pid_t pid = fork();
    struct test_run run;
    if (pid == 0) {
        _exit(0);
    }
    waitpid(pid, NULL, 0); /* its pid is free now, and is not reused soon */
    run = stacks_of(pid);
    CHECK_EQ(run.status, 3);
    CHECK_STR(run.out, "");
    check_one_line(run.err, "no such process");
    test_run_done(&run);
    run = stacks("2147483647");
    CHECK_EQ(run.status, 3);
    check_one_line(run.err, "process 2147483647");
    test_run_done(&run);
}

TEST(a_process_that_has_ended_and_is_not_waited_for)
{
    pid_t pid = fork();
    struct test_run run;
    siginfo_t info;
    if (pid == 0) {
        _exit(0);
    }
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    run = stacks_of(pid);
    CHECK(run.status == 3 || run.status == 6);
    check_one_line(run.err, "");
    test_run_done(&run);
    waitpid(pid, NULL, 0);
}

TEST(a_kernel_thread)
{
    char *comm = access("/proc/2/comm", R_OK) == 0 ? test_read_file("/proc/2/comm", NULL) : NULL;
    struct test_run run;
    bool is_one = comm != NULL && strcmp(comm, "kthreadd\n") == 0;
    free(comm);
    if (!is_one) {
        SKIP("no kernel threads are seen here");
    }
    run = stacks("2");
    CHECK(run.status == 3 || run.status == 4 || run.status == 6);
    check_one_line(run.err, "");
    test_run_done(&run);
}

/* Run sonde as another user, from a copy that this user can reach. */
TEST(a_process_of_another_user)
{
    char copy[256];
    char command[1024];
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct test_run run;
    if (geteuid() != 0) {
        run = stacks("1");
    } else {
        snprintf(copy, sizeof copy, "%s/sonde", test_folder());
        snprintf(command, sizeof command,
                 "chmod 755 %s && cp %s %s && exec setpriv --reuid 65534 --regid 65534 "
                 "--clear-groups --inh-caps=-all %s stacks $PPID",
                 test_folder(), sonde_program(), copy, copy);
        run = test_run(argv, NULL, NULL, 60);
    }
    CHECK_EQ(run.status, 4);
    CHECK_STR(run.out, "");
    check_one_line(run.err, "root");
    CHECK_CONTAINS(run.err, geteuid() == 0 ? "belongs to user 0" : "1");
    test_run_done(&run);
}

/* --- damaged files of running programs --- */

typedef void damage(char *elf, size_t size);

/* Start a whole copy of the waiter, then replace its file (a new inode, as a package manager does).
 * With `before`, damage the file before the start, where the kernel does not look. */
static void inspect_damaged(const char *name, damage *spoil, bool before)
{
    char path[256];
    char other[300];
    size_t size;
    char *elf = test_read_file(test_program("support", "waiter"), &size);
    const char *const argv[] = {path, NULL};
    pid_t pid;
    struct test_run run;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    snprintf(other, sizeof other, "%s.new", path);
    if (before) {
        spoil(elf, size);
    }
    test_write_file(path, elf, size);
    chmod(path, 0755);
    pid = start_program(argv);
    wait_blocked(pid);
    if (!before) {
        spoil(elf, size);
        test_write_file(other, elf, size);
        CHECK_EQ(rename(other, path), 0);
    }
    run = stacks_of(pid);
    stop_program(pid);
    if (run.status != 0 || strstr(run.out, "read") == NULL) {
        FAIL("%s: ended with %d, said %s%s", name, run.status, run.out, run.err);
    }
    /* never wrong names: image and offset if the name is unknown */
    if (strstr(run.out, "wait_in_main") == NULL && strstr(run.out, name) == NULL) {
        FAIL("%s: neither name nor image in: %s", name, run.out);
    }
    test_run_done(&run);
    free(elf);
}

static void no_sections(char *elf, size_t size)
{
    (void)size;
    memset(elf + offsetof(Elf64_Ehdr, e_shoff), 0xff, 8);
}

static void many_sections(char *elf, size_t size)
{
    (void)size;
    memset(elf + offsetof(Elf64_Ehdr, e_shnum), 0xff, 2);
}

static void wild_sections(char *elf, size_t size)
{
    Elf64_Ehdr header;
    memcpy(&header, elf, sizeof header);
    for (size_t i = header.e_shoff; i < size; i++) {
        elf[i] = (char)(i * 131);
    }
}

static void wild_everything(char *elf, size_t size)
{
    for (size_t i = 64; i < size; i++) {
        elf[i] = (char)(i * 131 ^ i >> 7);
    }
}

static void no_elf(char *elf, size_t size)
{
    memset(elf, 'x', size);
}

static void nothing(char *elf, size_t size)
{
    (void)elf, (void)size;
}

TEST(a_program_whose_section_table_is_damaged)
{
    inspect_damaged("no-sections", no_sections, true);
    inspect_damaged("many-sections", many_sections, true);
    inspect_damaged("wild-sections", wild_sections, true);
}

TEST(a_program_whose_file_was_replaced)
{
    inspect_damaged("replaced-by-wild", wild_everything, false);
    inspect_damaged("replaced-by-text", no_elf, false);
    inspect_damaged("replaced-by-same", nothing, false);
}

/* --- edited files of running programs --- */

enum { PAGE_BYTES = 4096 };

/* Move the program headers behind everything else, into a segment of their own, as patchelf does.
 * *size: grows. Ownership: free() the result. */
static char *with_headers_at_end(const char *elf, size_t *size)
{
    Elf64_Ehdr header;
    Elf64_Phdr segments[64];
    size_t end = *size;
    memcpy(&header, elf, sizeof header);
    CHECK(header.e_phnum < 64);
    memcpy(segments, elf + header.e_phoff, header.e_phnum * sizeof *segments);
    for (unsigned i = 0; i < header.e_phnum; i++) {
        size_t above = segments[i].p_vaddr + segments[i].p_memsz;
        end = segments[i].p_type == PT_LOAD && above > end ? above : end;
    }
    end = (end + 2 * PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    size_t bytes = (header.e_phnum + 1U) * sizeof *segments;
    segments[header.e_phnum++] = (Elf64_Phdr){.p_type = PT_LOAD,
                                              .p_flags = PF_R,
                                              .p_offset = end,
                                              .p_vaddr = end,
                                              .p_paddr = end,
                                              .p_filesz = bytes,
                                              .p_memsz = bytes,
                                              .p_align = PAGE_BYTES};
    for (unsigned i = 0; i < header.e_phnum; i++) {
        if (segments[i].p_type == PT_PHDR) {
            segments[i].p_offset = segments[i].p_vaddr = segments[i].p_paddr = end;
            segments[i].p_filesz = segments[i].p_memsz = bytes;
        }
    }
    header.e_phoff = end;
    char *edited = calloc(1, end + bytes);
    CHECK(edited != NULL);
    memcpy(edited, elf, *size);
    memcpy(edited, &header, sizeof header);
    memcpy(edited + end, segments, bytes);
    *size = end + bytes;
    return edited;
}

TEST(a_program_whose_program_headers_are_at_its_end)
{
    char path[256];
    const char *const argv[] = {path, NULL};
    size_t size;
    char *elf = test_read_file(test_program("support", "waiter"), &size);
    char *edited = with_headers_at_end(elf, &size);
    snprintf(path, sizeof path, "%s/edited", test_folder());
    test_write_file(path, edited, size);
    chmod(path, 0755);
    free(edited);
    free(elf);
    pid_t pid = start_program(argv);
    wait_blocked(pid);
    struct test_run run = stacks_of(pid);
    CHECK_EQ(unlink(path), 0);
    struct test_run unlinked = stacks_of(pid);
    stop_program(pid);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "wait_in_main");
    CHECK_EQ(unlinked.status, 0);
    CHECK_CONTAINS(unlinked.out, "wait_in_main");
    test_run_done(&unlinked);
    test_run_done(&run);
}

/* --- --thread --- */

TEST(a_thread_that_is_not_there)
{
    const char *const program[] = {test_program("support", "waiter"), NULL};
    char pid_text[16];
    const char *argv[] = {sonde_program(), "stacks", "--thread", "waits-for-lok", pid_text, NULL};
    pid_t pid = start_program(program);
    struct test_run run;
    snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 3);
    CHECK_STR(run.out, "");
    check_one_line(run.err, "no thread has the id or name waits-for-lok");
    test_run_done(&run);
    argv[3] = "1";
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 3);
    test_run_done(&run);
    stop_program(pid);
}
