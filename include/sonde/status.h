// SPDX-License-Identifier: Apache-2.0
/* Statuses that sonde's functions return, and details of failures.
 *
 * A function returns a status or a value, never a signed mix of both. sonde sets no errno and no
 * thread-local error, and logs nothing: details go to a struct in the caller's memory. */
#ifndef SONDE_STATUS_H
#define SONDE_STATUS_H

#include <stddef.h>
#include <stdint.h>

/* A result that must be checked. gcc warns about `(void)call()`, too; to ignore a status, write
 * `(void)!call()`. */
#if defined(__GNUC__)
#    define SONDE_NODISCARD __attribute__((warn_unused_result))
#    define SONDE_API       __attribute__((visibility("default")))
#else
#    define SONDE_NODISCARD
#    define SONDE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* name, text. The numbers are part of the ABI: new ones are added at the end. */
#define SONDE_STATUS_MAP(X)                                                                        \
    X(OK, "ok")                                                                                    \
    X(USAGE, "the call's arguments contradict its contract")                                       \
    X(ABSENT, "no such thing")                                                                     \
    X(AMBIGUOUS, "more than one thing of that name")                                               \
    X(DENIED, "permission denied")                                                                 \
    X(UNREADABLE, "memory or a file could not be read")                                            \
    X(CORRUPT, "malformed input")                                                                  \
    X(LIMIT, "a documented limit was reached")                                                     \
    X(MEMORY, "out of memory")                                                                     \
    X(OS, "the operating system refused")                                                          \
    X(UNSUPPORTED, "not supported on this platform")                                               \
    X(BUSY, "another operation is under way")                                                      \
    X(TIMEOUT, "the deadline passed")                                                              \
    X(INTERNAL, "internal error of sonde")

enum sonde_status {
#define SONDE_STATUS_ENUM_(name, text) SONDE_##name,
    SONDE_STATUS_MAP(SONDE_STATUS_ENUM_)
#undef SONDE_STATUS_ENUM_
};

/* A struct that begins with `struct_bytes` may grow: set that member to the struct's size before
 * the call; in an array, set it in the first element. Callers built against an older or newer
 * header work (docs/guide/library.md, "Structs that grow").
 *
 * struct sonde_error does not grow. It has the details of a failure, in the caller's memory;
 * written only when a function fails. */
struct sonde_error {
    enum sonde_status status;
    int32_t os_error; /* errno of the failing system call, or 0 */
    uint64_t at;      /* address or offset of the failure, or 0 */
    char what[192];   /* one line, no newline: what failed and where */
};

/* Receives the next bytes of an output. Returns 0, or an errno, which ends the output. */
typedef int (*sonde_write)(void *ctx, const void *bytes, size_t size_bytes);

/* The name of a status ("DENIED") and a short text for it.
 *
 * Returns    a static string, for unknown values too
 * Context    handler      Blocks  no      Ownership  static */
SONDE_API const char *sonde_status_name(enum sonde_status status);
SONDE_API const char *sonde_status_text(enum sonde_status status);

#ifdef __cplusplus
}
#endif

#endif
