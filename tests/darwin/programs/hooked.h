// SPDX-License-Identifier: Apache-2.0
/* Shared by hooks.c and later.c: what each pointer that leads to getpid() is for. */
#ifndef SONDE_DARWIN_HOOKED_H
#define SONDE_DARWIN_HOOKED_H

#include <stdint.h>
#include <unistd.h>

typedef pid_t (*volatile pointer)(void);

/* In data that stays writable, and in data that dyld makes read-only. */
#define POINTERS(name)                                                                             \
    pointer name##_in_data = getpid;                                                               \
    const pointer name##_in_const = getpid;                                                        \
    __attribute__((section("__AUTH_CONST,__pointers"))) pointer name##_in_auth_const = getpid;     \
    __attribute__((section("__AUTH,__pointers"))) pointer name##_in_auth = getpid;                 \
    __attribute__((section("__AUTH,__b"))) pointer name##_in_auth_b = getpid

/* SIGNED: the program becomes one of arm64e (arm64e.py), which signs those in __AUTH. */
#if defined(SIGNED)
pid_t call_signed(const pointer *at, uint64_t number);
pid_t call_signed_blended(const pointer *at, uint64_t number);
pid_t call_signed_b(const pointer *at, uint64_t number);
#else
#    define call_signed(at, number)         (*(at))()
#    define call_signed_blended(at, number) (*(at))()
#    define call_signed_b(at, number)       (*(at))()
#endif

/* By all of them, and by a direct call. */
enum { KINDS = 6 };
#define CALL_ALL(name, pid)                                                                        \
    (getpid() == (pid) && name##_in_data() == (pid) && name##_in_const() == (pid) &&               \
     call_signed_blended(&name##_in_auth_const, 0) == (pid) &&                                     \
     call_signed(&name##_in_auth, 0x1234) == (pid) &&                                              \
     call_signed_b(&name##_in_auth_b, 0x4321) == (pid))

#endif
