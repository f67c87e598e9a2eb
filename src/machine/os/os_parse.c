// SPDX-License-Identifier: Apache-2.0
/* The texts of /proc/PID/task/TID/syscall and schedstat, shared by the ports.
 *
 * syscall (Linux fs/proc/base.c, proc_pid_syscall): "running\n"; "-1 0xSP 0xPC\n" for a thread
 * blocked outside of a system call; "NR 0xA 0xB 0xC 0xD 0xE 0xF 0xSP 0xPC\n". */
#include "os.h"

#include "arch_syscall.h"
#include "base_mem.h"
#include "os_context.h"

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
    return a->running == b->running && a->in_syscall == b->in_syscall && a->syscall == b->syscall &&
           a->sp == b->sp && a->pc == b->pc &&
           sonde__base_mem_compare(a->args, b->args, sizeof a->args) == 0;
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
    struct sonde__os_wait wait = {.syscall = -1};
    uint64_t number = 0;
    size_t same = 0;
    while (same < sizeof running - 1 && same < size && text[same] == running[same]) {
        same++;
    }
    if (same == sizeof running - 1) {
        wait.running = true;
        *ret_wait = wait;
        return true;
    }
    skip_blanks(&c);
    if (c.at < c.end && *c.at == '-') {
        c.at++;
        if (!take_number(&c, 10, &number) || number != 1) {
            return false;
        }
    } else {
        if (!take_number(&c, 10, &number) || number > INT32_MAX) {
            return false;
        }
        wait.in_syscall = true;
        wait.syscall = (int64_t)number;
        for (unsigned i = 0; i < 6; i++) {
            if (!take_number(&c, 16, &wait.args[i])) {
                return false;
            }
        }
    }
    if (!take_number(&c, 16, &wait.sp) || !take_number(&c, 16, &wait.pc)) {
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
    ret_regs->pc = wait->pc;
    sonde__regs_set(ret_regs, sonde__arch_sp(SONDE__ARCH_HOST), wait->sp);
    for (unsigned i = 0; i < 6 && wait->in_syscall; i++) {
        sonde__regs_set(ret_regs, sonde__arch_syscall_reg(SONDE__ARCH_HOST, i), wait->args[i]);
    }
}
