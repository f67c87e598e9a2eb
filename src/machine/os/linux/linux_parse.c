// SPDX-License-Identifier: Apache-2.0
/* Parses /proc/PID/task/TID/syscall and schedstat, for this port and the simulated one.
 *
 * syscall (Linux fs/proc/base.c, proc_pid_syscall): "running\n"; "-1 0xSP 0xPC\n" for a thread
 * blocked outside of a system call; "NR 0xA 0xB 0xC 0xD 0xE 0xF 0xSP 0xPC\n". */
#include "os.h"

#include "arch_syscall.h"
#include "base_mem.h"
#include "os_context.h"

/* The words of a wait. */
enum { STATE, NUMBER, ARGS, SP = ARGS + 6, PC, WORDS };
enum { RUNNING, BLOCKED, IN_CALL }; /* STATE */
_Static_assert(WORDS * sizeof(uint64_t) == sizeof(struct sonde__os_wait), "none is left out");

struct cursor {
    const char *at;
    const char *end;
};

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n')) {
        c->at++;
    }
}

static bool take_number(struct cursor *c, unsigned base, uint64_t *ret_value)
{
    uint64_t value = 0;
    unsigned digits = 0;
    skip_blanks(c);
    if (base == 16 && c->end - c->at >= 2 && c->at[0] == '0' && c->at[1] == 'x') {
        c->at += 2;
    }
    for (; c->at < c->end; c->at++, digits++) {
        unsigned ch = (unsigned char)*c->at; /* ASCII: 48 is 0, 87 is a - 10 */
        unsigned digit = ch >= '0' && ch <= '9'   ? ch - 48u
                         : ch >= 'a' && ch <= 'f' ? ch - 87u
                                                  : 99u;
        if (digit >= base) {
            break;
        }
        if (value > (UINT64_MAX - digit) / base) {
            return false;
        }
        value = value * base + digit;
    }
    *ret_value = value;
    return digits > 0;
}

bool sonde__os_wait_is_same(const struct sonde__os_wait *a, const struct sonde__os_wait *b)
{
    return sonde__base_mem_compare(a->words, b->words, sizeof a->words) == 0;
}

bool sonde__os_wait_is_blocked(const struct sonde__os_wait *wait)
{
    return wait->words[STATE] != RUNNING;
}

uint64_t sonde__os_wait_sp(const struct sonde__os_wait *wait)
{
    return wait->words[SP];
}

struct sonde__os_call sonde__os_wait_call(const struct sonde__os_wait *wait)
{
    struct sonde__os_call call = {.number = -1};
    if (wait->words[STATE] == IN_CALL) {
        call.number = (int64_t)wait->words[NUMBER];
        sonde__base_mem_copy(call.args, &wait->words[ARGS], sizeof call.args);
    }
    return call;
}

void sonde__os_wait_renumber(struct sonde__os_wait *wait, int64_t number)
{
    if (wait->words[STATE] == IN_CALL) {
        wait->words[NUMBER] = (uint64_t)number;
    }
}

bool sonde__os_schedstat_is_same(const struct sonde__os_schedstat *a,
                                 const struct sonde__os_schedstat *b)
{
    return a->slices == b->slices && a->cpu_ns == b->cpu_ns;
}

bool sonde__os_parse_wait(const char *text, size_t size, struct sonde__os_wait *ret_wait)
{
    static const char running[] = "running";
    struct cursor c = {text, text + size};
    struct sonde__os_wait wait = {{0}};
    uint64_t number = 0;
    size_t same = 0;
    while (same < sizeof running - 1 && same < size && text[same] == running[same]) {
        same++;
    }
    if (same == sizeof running - 1) {
        *ret_wait = wait;
        return true;
    }
    skip_blanks(&c);
    if (c.at < c.end && *c.at == '-') {
        c.at++;
        if (!take_number(&c, 10, &number) || number != 1) {
            return false;
        }
        wait.words[STATE] = BLOCKED;
    } else {
        if (!take_number(&c, 10, &wait.words[NUMBER]) || wait.words[NUMBER] > INT32_MAX) {
            return false;
        }
        wait.words[STATE] = IN_CALL;
        for (unsigned i = 0; i < 6; i++) {
            if (!take_number(&c, 16, &wait.words[ARGS + i])) {
                return false;
            }
        }
    }
    if (!take_number(&c, 16, &wait.words[SP]) || !take_number(&c, 16, &wait.words[PC])) {
        return false;
    }
    *ret_wait = wait;
    return true;
}

bool sonde__os_parse_schedstat(const char *text, size_t size,
                               struct sonde__os_schedstat *ret_schedstat)
{
    struct cursor c = {text, text + size};
    struct sonde__os_schedstat s;
    if (!take_number(&c, 10, &s.cpu_ns) || !take_number(&c, 10, &s.runqueue_ns) ||
        !take_number(&c, 10, &s.slices)) {
        return false;
    }
    *ret_schedstat = s;
    return true;
}

void sonde__os_wait_regs(const struct sonde__os_wait *wait, struct sonde__regs *ret_regs)
{
    sonde__base_mem_set(ret_regs, 0, sizeof *ret_regs);
    ret_regs->arch = SONDE__ARCH_HOST;
    ret_regs->pc = wait->words[PC];
    sonde__regs_set(ret_regs, sonde__arch_sp(SONDE__ARCH_HOST), wait->words[SP]);
    for (unsigned i = 0; i < 6 && wait->words[STATE] == IN_CALL; i++) {
        sonde__regs_set(ret_regs, sonde__arch_syscall_reg(SONDE__ARCH_HOST, i),
                        wait->words[ARGS + i]);
    }
}
