// SPDX-License-Identifier: Apache-2.0
/* The recorder's library under other names: thunk i becomes known to the loader as function i.
 *
 * The library has a symbol with a long name for each thunk (recorder/CMakeLists.txt). Written over,
 * with the chains of the hash table made anew, the file is what a linker would have made of the
 * names: the loader then binds calls of those functions to the thunks by itself, in every object
 * that comes, and in none that would not have found the function by its name. No code is made.
 * Sources: System V gABI 4.1 chapter 5 ("Hash Table"). Context: any thread; sans I/O. */
#ifndef SONDE_AUDIT_LIBRARY_H
#define SONDE_AUDIT_LIBRARY_H

#include <stdint.h>

#include <sonde/status.h>

/* Bytes of a name, at most. */
#define SONDE__AUDIT_NAME_MAX 90u

struct sonde__audit_name {
    const char *name;
    uint32_t thunk;
};

/* bytes, size: the library's file, changed in place. Returns OK | CORRUPT (not the library of this
 * build) | USAGE (a name is too long). */
SONDE_NODISCARD enum sonde_status sonde__audit_name_thunks(uint8_t *bytes, uint64_t size,
                                                           const struct sonde__audit_name *names,
                                                           uint32_t count,
                                                           struct sonde_error *ret_error);

#endif
