// SPDX-License-Identifier: Apache-2.0
/* Raw Linux system calls: no errno, no cancellation point, no libc.
 *
 * Returns what the kernel returns: -4095..-1 is a negated error number. x86-64: psABI 1.0 §A.2.1
 * (rcx and r11 are lost); aarch64: x8 holds the number, x0..x5 the arguments, only x0 is lost. */
#ifndef SONDE_OS_LINUX_SYSCALL_H
#define SONDE_OS_LINUX_SYSCALL_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <sonde/status.h>

#if defined(__x86_64__)
static inline long linux_call6(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline uint64_t linux_thread_pointer(void)
{
    uint64_t pointer;
    __asm__("movq %%fs:0, %0" : "=r"(pointer)); /* psABI: the word at fs:0 points to itself */
    return pointer;
}
#elif defined(__aarch64__)
static inline long linux_call6(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

static inline uint64_t linux_thread_pointer(void)
{
    uint64_t pointer;
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
    return pointer;
}
#else
#    error "no system call sequence for this architecture"
#endif

#define linux_call(number, a, b, c, d)                                                             \
    linux_call6(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static inline int linux_failed(long result)
{
    return result < 0 && result > -4096;
}

/* Convert a failed result to a status; stores the errno in `ret_os_error` unless null. */
static inline enum sonde_status linux_status(long result, int32_t *ret_os_error)
{
    if (ret_os_error != (int32_t *)0) {
        *ret_os_error = (int32_t)-result;
    }
    switch (-result) {
    case ENOENT:
    case ESRCH:
        return SONDE_ABSENT;
    case EPERM:
    case EACCES:
        return SONDE_DENIED;
    case ENOSYS:
        return SONDE_UNSUPPORTED;
    case EAGAIN:
        return SONDE_BUSY;
    default:
        return SONDE_OS;
    }
}

#endif
