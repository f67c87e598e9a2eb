// SPDX-License-Identifier: Apache-2.0
/* Mach-O files made here: clang compiles for Darwin, LLVM's linker links without an SDK, and
 * dsymutil collects the debug information. */
#ifndef SONDE_TEST_DARWIN_H
#define SONDE_TEST_DARWIN_H

#include <stddef.h>

/* Run a shell command in the test's folder; fails the test when it fails. Its output is freed. */
void darwin_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Its standard output, NUL-terminated; the caller frees. */
char *darwin_output(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Compile a source of the tree to NAME.o and link it to NAME, in the test's folder.
 * triple  "arm64-apple-macos11"; the first part names the machine
 * cflags  of the compiler, "-g" included; lflags: of the linker, "-dylib", "-fixup_chains", ... */
void darwin_build(const char *source, const char *triple, const char *cflags, const char *lflags,
                  const char *name);

/* The path of a file of an npm package, "PACKAGE@VERSION/PATH" (tools/npm-packages.list), or that
 * of the slice `arch` of it, if not null. Skips the test if it was not fetched. */
void darwin_npm(const char *file, const char *arch, char *ret_path, size_t size);

#endif
