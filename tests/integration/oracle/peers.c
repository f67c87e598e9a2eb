// SPDX-License-Identifier: Apache-2.0
/* Answers of other unwinders at an instant where ours is wrong: libunwind by ptrace, gdb on a copy
 * of the process. */
#include <libunwind-ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "tracee.h"

void peers_libunwind(pid_t pid, struct frames *ret_frames)
{
    unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
    void *context = _UPT_create(pid);
    unw_cursor_t cursor;
    ret_frames->count = 0;
    CHECK(space != NULL && context != NULL);
    unw_set_caching_policy(space, UNW_CACHE_NONE);
    if (unw_init_remote(&cursor, space, context) == 0) {
        do {
            unw_word_t pc = 0;
            unw_word_t sp = 0;
            (void)unw_get_reg(&cursor, UNW_REG_IP, &pc);
            (void)unw_get_reg(&cursor, UNW_REG_SP, &sp);
            if (pc == 0) {
                break;
            }
            ret_frames->at[ret_frames->count++] = (struct shadow_frame){.pc = pc, .sp = sp};
        } while (ret_frames->count < COMPARE_FRAMES_MAX && unw_step(&cursor) > 0);
    }
    _UPT_destroy(context);
    unw_destroy_addr_space(space);
}

void peers_warm_up(void)
{
    unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
    void *context = _UPT_create(getpid());
    unw_cursor_t cursor;
    if (space != NULL && context != NULL) {
        (void)unw_init_remote(&cursor, space, context);
        _UPT_destroy(context);
        unw_destroy_addr_space(space);
    }
}

/* Let the process execute one `syscall` of ours. */
static bool inject_fork(pid_t pid, const struct user_regs_struct *saved, pid_t *ret_child)
{
    struct user_regs_struct regs = *saved;
    unsigned long child = 0;
    int status = 0;
    regs.rax = SYS_fork;
    regs.orig_rax = (unsigned long long)-1;
    if (ptrace(PTRACE_SETREGS, pid, 0, &regs) != 0 ||
        ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK) != 0) {
        return false;
    }
    for (;;) { /* the event, then the end of the step */
        if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) != 0 || waitpid(pid, &status, __WALL) != pid ||
            !WIFSTOPPED(status)) {
            return false;
        }
        if (status >> 8 != (SIGTRAP | PTRACE_EVENT_FORK << 8)) {
            break;
        }
        (void)ptrace(PTRACE_GETEVENTMSG, pid, 0, &child);
    }
    (void)ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL);
    *ret_child = (pid_t)child;
    return child != 0 && waitpid(*ret_child, &status, __WALL) == *ret_child;
}

pid_t peers_copy(pid_t pid)
{
    struct user_regs_struct saved;
    pid_t child = 0;
    if (ptrace(PTRACE_GETREGS, pid, 0, &saved) != 0) {
        return 0;
    }
    long word = ptrace(PTRACE_PEEKTEXT, pid, saved.rip, 0);
    long code = (word & ~0xffffL) | 0x050f; /* syscall */
    CHECK_OK(ptrace(PTRACE_POKETEXT, pid, saved.rip, code));
    bool made = inject_fork(pid, &saved, &child);
    CHECK_OK(ptrace(PTRACE_POKETEXT, pid, saved.rip, word));
    CHECK_OK(ptrace(PTRACE_SETREGS, pid, 0, &saved));
    if (made) {
        CHECK_OK(ptrace(PTRACE_POKETEXT, child, saved.rip, word));
        CHECK_OK(ptrace(PTRACE_SETREGS, child, 0, &saved));
    }
    return made ? child : 0;
}

void peers_ask_gdb(struct compare *compare)
{
    static struct frames theirs;
    char list[1024] = "SONDE_COPIES=";
    char script[512];
    snprintf(script, sizeof script, "%s/tests/integration/oracle/gdb_copies.py", test_source_dir());
    bool any = false;
    for (unsigned i = 0; i < compare->place_count; i++) {
        struct place *place = &compare->places[i];
        if (place->copy != 0 && place->count > 0) {
            (void)ptrace(PTRACE_DETACH, place->copy, 0, SIGSTOP);
            snprintf(list + strlen(list), sizeof list - strlen(list), "%d ", (int)place->copy);
            any = true;
        }
    }
    if (any) {
        const char *const argv[] = {"gdb", "-nx", "-q", "-batch", "-x", script, NULL};
        const char *const env[] = {list, NULL};
        struct test_run run = test_run(argv, env, NULL, 200);
        for (unsigned i = 0; i < compare->place_count; i++) {
            struct place *place = &compare->places[i];
            if (place->copy != 0 && place->count > 0) {
                char head[32];
                snprintf(head, sizeof head, "process %d\n", (int)place->copy);
                if (compare_read_frames(run.out, head, &theirs)) {
                    place->verdicts[1] = compare_verdict(place, &theirs);
                }
            }
        }
        test_run_done(&run);
    }
    for (unsigned i = 0; i < compare->place_count; i++) {
        if (compare->places[i].copy != 0) {
            (void)kill(compare->places[i].copy, SIGKILL);
            (void)waitpid(compare->places[i].copy, NULL, __WALL); /* as its tracer, */
            (void)waitpid(compare->places[i].copy, NULL, __WALL); /* and for its parent that died */
            compare->places[i].copy = 0;
        }
    }
}
