// SPDX-License-Identifier: Apache-2.0
#include "tracee.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "decode.h"
#include "host_regs.h"
#include "test.h"

enum { CODES = 1 << 14 };

struct tracee {
    pid_t pid;
    struct compare *compare;
    struct space space;
    struct shadow shadow;
    struct user_regs_struct before, after;
    int signal; /* to deliver with the next step */
    bool ended;
    struct {
        uint64_t pc;
        uint8_t kind;
    } codes[CODES]; /* decoded instructions, by low bits of the pc */
};

static size_t read_memory(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    const struct tracee *t = ctx;
    struct iovec to = {ret_bytes, size};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process
    struct iovec from = {(void *)(uintptr_t)address, size};
    ssize_t got = process_vm_readv(t->pid, &to, 1, &from, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

static uint64_t read_word(struct tracee *t, uint64_t address)
{
    uint64_t word = 0;
    CHECK_EQ(read_memory(t, address, &word, sizeof word), sizeof word);
    return word;
}

static uint64_t region(void *ctx, uint64_t address)
{
    const struct tracee *t = ctx;
    return space_region(&t->space, address);
}

/* makecontext: the function starts with its return address on its stack. */
static struct shadow_frame made_root(void *ctx, uint64_t sp)
{
    return (struct shadow_frame){.pc = read_word(ctx, sp), .sp = sp + 8};
}

static void read_maps(struct tracee *t)
{
    struct sonde__host_maps maps;
    CHECK_OK(sonde__host_maps_read(t->pid, &maps, NULL));
    space_map(&t->space, &maps);
    memset(t->codes, 0, sizeof t->codes);
}

static enum instruction kind_at(struct tracee *t, uint64_t pc)
{
    unsigned slot = (unsigned)(pc % CODES);
    uint8_t code[16];
    if (t->codes[slot].pc != pc) {
        size_t size = read_memory(t, pc, code, sizeof code);
        t->codes[slot].pc = pc;
        t->codes[slot].kind = (uint8_t)decode_x86_64(code, size);
    }
    return (enum instruction)t->codes[slot].kind;
}

/* Go on (by PTRACE_SINGLESTEP or PTRACE_CONT) to the next stop. */
static void go(struct tracee *t, int request)
{
    int status = 0;
    CHECK_OK(ptrace((enum __ptrace_request)request, t->pid, 0, t->signal));
    CHECK_EQ(waitpid(t->pid, &status, __WALL), t->pid);
    t->signal = 0;
    t->ended = WIFEXITED(status) || WIFSIGNALED(status);
    if (t->ended) {
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            FAIL("the program ended badly: status %#x", (unsigned)status);
        }
        return;
    }
    if (WSTOPSIG(status) != SIGTRAP) {
        t->signal = WSTOPSIG(status);
    }
    CHECK_OK(ptrace(PTRACE_GETREGS, t->pid, 0, &t->after));
}

static void start(struct tracee *t, const char *const argv[])
{
    static char path[] = "PATH=/usr/bin:/bin";
    static char *const environment[] = {path, NULL}; /* libc's start reads all of it */
    int status = 0;
    (void)fflush(stdout);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* its copies become our children when it ends */
    t->pid = fork();
    CHECK(t->pid >= 0);
    if (t->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)personality(ADDR_NO_RANDOMIZE);
        (void)freopen("/dev/null", "w", stdout);
        (void)ptrace(PTRACE_TRACEME, 0, 0, 0);
        (void)execve(argv[0], (char *const *)(uintptr_t)argv, environment);
        _exit(127);
    }
    CHECK_EQ(waitpid(t->pid, &status, __WALL), t->pid);
    CHECK(WIFSTOPPED(status));
    CHECK_OK(ptrace(PTRACE_SETOPTIONS, t->pid, 0, PTRACE_O_EXITKILL));
    CHECK_OK(ptrace(PTRACE_GETREGS, t->pid, 0, &t->after));
}

/* The frames outside of the function at its mark. */
static void take_outer(struct tracee *t)
{
    static struct frames outer;
    peers_libunwind(t->pid, &outer);
    CHECK(outer.count >= 2);
    for (unsigned i = outer.count; i > 1; i--) {
        shadow_push(&t->shadow, outer.at[i - 1]);
    }
}

/* If the kernel started a handler, its frame has the interrupted registers. */
static bool follow_signal(struct tracee *t)
{
    const size_t context = 8; /* after the handler's return address */
    const size_t gregs = context + offsetof(ucontext_t, uc_mcontext.gregs);
    uint64_t sp = t->after.rsp;
    uint64_t saved[NGREG];
    if (read_memory(t, sp + gregs, saved, sizeof saved) != sizeof saved ||
        saved[REG_RSP] != t->before.rsp ||
        (saved[REG_RIP] != t->before.rip && saved[REG_RIP] != t->before.rip - 2)) {
        return false;
    }
    uint64_t fp = t->before.rbp;
    shadow_push(&t->shadow, (struct shadow_frame){saved[REG_RIP], saved[REG_RSP], fp, true});
    shadow_push(&t->shadow, (struct shadow_frame){read_word(t, sp), sp + 8, t->after.rbp, false});
    return true;
}

static bool moves_maps(uint64_t number)
{
    return number == SYS_mmap || number == SYS_munmap || number == SYS_mprotect ||
           number == SYS_mremap || number == SYS_brk || number == SYS_execve;
}

static void follow_call(struct tracee *t)
{
    if (t->after.rsp == t->before.rsp - 8) {
        shadow_push(&t->shadow, (struct shadow_frame){read_word(t, t->after.rsp), t->before.rsp,
                                                      t->before.rbp, false});
    }
}

static void follow_step(struct tracee *t, enum instruction kind)
{
    uint64_t pc = t->after.rip;
    uint64_t sp = t->after.rsp;
    bool switched = false;
    if (kind == CALL) {
        follow_call(t);
    } else if (kind == RETURN || (kind == SYSTEM_CALL && t->before.rax == SYS_rt_sigreturn)) {
        switched = shadow_return(&t->shadow, pc, sp);
    } else if (kind == JUMP_INDIRECT) {
        switched = shadow_jump(&t->shadow, pc, sp);
    }
    if (kind == SYSTEM_CALL && moves_maps(t->before.rax)) {
        read_maps(t);
    }
    if (switched) {
        compare_switched(t->compare, &(struct shadow_frame){pc, sp, t->after.rbp, true});
    }
}

static void regs_of(const struct user_regs_struct *from, struct sonde__regs *ret_regs)
{
    int64_t number = 0;
    uint64_t args[6];
    CHECK(sonde__host_regs_decode(SONDE_ARCH_X86_64, (const uint8_t *)from, sizeof *from, ret_regs,
                                  &number, args));
}

static void ask(void *ctx, struct place *place)
{
    static struct frames theirs;
    const struct tracee *t = ctx;
    peers_libunwind(t->pid, &theirs);
    place->verdicts[0] = compare_verdict(place, &theirs);
    unsigned copies = 0;
    for (unsigned i = 0; i < t->compare->place_count; i++) {
        copies += t->compare->places[i].copy != 0;
    }
    place->copy = copies < TRACEE_COPIES_MAX ? peers_copy(t->pid) : 0;
}

static void step_all(struct tracee *t, uint64_t limit)
{
    struct sonde__regs regs;
    while (t->compare->instants < limit) {
        bool delivers = t->signal != 0;
        t->before = t->after;
        if (!delivers) {
            regs_of(&t->before, &regs);
            compare_instant(t->compare, &regs);
        }
        enum instruction kind = kind_at(t, t->before.rip);
        go(t, PTRACE_SINGLESTEP);
        if (t->ended) {
            return;
        }
        bool moved = t->after.rip != t->before.rip || t->after.rsp != t->before.rsp;
        if (t->signal != 0 && !moved) {
            continue; /* the signal arrived first; the instruction is not executed yet */
        }
        if (!delivers || !follow_signal(t)) {
            follow_step(t, kind);
        }
    }
}

void tracee_run(struct compare *compare, const char *const argv[], bool from_mark, uint64_t limit)
{
    static struct tracee tracee;
    struct tracee *t = &tracee;
    memset(t, 0, sizeof *t);
    t->compare = compare;
    t->space = (struct space){.arch = SONDE_ARCH_X86_64, .read = read_memory, .ctx = t};
    t->shadow =
        (struct shadow){.pushes_return = true, .region = region, .made_root = made_root, .ctx = t};
    compare_start(compare, &t->space, &t->shadow);
    compare->ask = ask;
    compare->ask_ctx = t;
    start(t, argv);
    if (from_mark) {
        go(t, PTRACE_CONT);
        CHECK(!t->ended && t->signal == 0);
    }
    read_maps(t);
    shadow_start(&t->shadow, t->after.rsp);
    if (from_mark) {
        take_outer(t);
    }
    step_all(t, limit);
    compare_end(compare);
    if (!t->ended) {
        (void)kill(t->pid, SIGKILL);
        (void)waitpid(t->pid, NULL, __WALL);
    }
    peers_ask_gdb(compare);
    space_done(&t->space);
}
