// SPDX-License-Identifier: Apache-2.0
/* Stacks as text: in a buffer, to a callback, or as an array of strings.
 *
 * SONDE_STYLE_SONDE shows inlined calls, files and lines if there is debug information
 * (sonde_symbolizer_use_lines()); the other styles print one line for each captured frame, as their
 * models do. For a return address, the call before it is looked up and the raw pc printed. */
#ifndef SONDE_TEXT_H
#define SONDE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/stack.h"
#include "sonde/status.h"
#include "sonde/symbol.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a stack is written. */
enum sonde_style {
    SONDE_STYLE_SONDE,     /* `#0  0x00007f2b1c4e8d36  __poll+0x56  libc.so.6` */
    SONDE_STYLE_CALLSTACK, /* Apple's: `%-4d%-35s 0x%016lx %s + %lu` */
    SONDE_STYLE_BS,        /* BSBacktraceLogger's: `%-30s 0x%08lx %s + %lu` under a heading */
    SONDE_STYLE_GLIBC      /* `/lib/libc.so.6(__poll+0x56) [0x7f2b1c4e8d36]` */
};

/* Write a stack as text into a buffer: a line for each frame, in SONDE_STYLE_SONDE with demangled
 * names and, unless the walk ended at the root, the end reason:
 *
 *     #0  0x00007f2b1c4e8d36  __poll+0x56  libc.so.6
 *     #1  0x000055d0f7a4112b  sqlite3+0x1112b
 *
 * text        the caller's buffer of `size_bytes`, >= 1; always NUL-terminated
 * ret_length  bytes written without the NUL; may be null
 *
 * Returns    OK | LIMIT (cut at the end of the buffer; what fitted is there) | USAGE | MEMORY
 * Context    any thread; not handler
 * Blocks     reads files on an image's first use
 * Ownership  nothing is transferred
 * Example    examples/stack_symbols.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_stack_text(struct sonde_symbolizer *symbolizer,
                                                             enum sonde_style style,
                                                             const struct sonde_stack *stack,
                                                             char *text, size_t size_bytes,
                                                             size_t *ret_length);

/* Write a stack to a callback, line by line, also in a signal handler: no heap, no lock.
 *
 * Only images prepared by sonde_symbolizer_prepare() have names; other frames are shown as image
 * and offset. Names are as in the file (a C++ name is mangled), and inlined calls are not shown. In
 * SONDE_STYLE_GLIBC functions that are not exported have names, too. Lines longer than
 * SONDE_TEXT_LINE_MAX bytes are cut.
 *
 * write  called for each line, newline included
 *
 * Returns    OK | OS (`write` failed) | USAGE
 * Context    handler, if `write` may be called there; about 3 KB of stack      Blocks  in `write`
 * Ownership  nothing is transferred
 * Example    examples/text_handler.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_stack_write(struct sonde_symbolizer *symbolizer,
                                                              enum sonde_style style,
                                                              const struct sonde_stack *stack,
                                                              sonde_write write, void *ctx);
#define SONDE_TEXT_LINE_MAX 2048u

/* Write the stack of one thread: the calling one (frame 0 is the caller), the main thread
 * (sonde_thread_main()), or another one. Captured as by sonde_thread_capture(), at most 4096
 * frames. Symbol files are opened as needed. SONDE_STYLE_GLIBC equals backtrace_symbols() byte for
 * byte.
 *
 * Returns    OK | USAGE | MEMORY | OS (`write` failed) | what sonde_thread_capture() returns
 * Context    any thread; not handler      Blocks  as sonde_thread_capture(), then in `write`; reads
 *            symbol files
 * Ownership  nothing is transferred
 * Example    examples/text_threads.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_thread_write(struct sonde_symbolizer *symbolizer,
                                                               enum sonde_style style, uint64_t tid,
                                                               sonde_write write, void *ctx);

/* Write the stacks of all threads, the main thread first. A thread that could not be read has no
 * lines.
 *
 * Returns    OK | USAGE | MEMORY | OS (`write` failed) | UNREADABLE (no /proc)
 * Context    any thread; not handler      Blocks  as sonde_threads_capture(), and in `write`
 * Ownership  nothing is transferred
 * Example    examples/text_threads.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_threads_write(struct sonde_symbolizer *symbolizer,
                                                                enum sonde_style style,
                                                                sonde_write write, void *ctx);

/* Print the stacks of all threads to standard error, for a person at a debugger:
 *
 *     (gdb) call sonde_stacks_print()      (lldb) expr sonde_stacks_print()
 *
 * The process may be stopped anywhere, even inside malloc() or the loader: this uses no lock and no
 * heap, and sends no signal. Running threads are marked as running: gdb lets the others continue
 * during a call, unless `set scheduler-locking on`. Names come from the symbol tables of the
 * images' files, not demangled, without inlined calls and lines. Prints at most
 * SONDE_STACKS_PRINT_THREADS_MAX threads, and SONDE_STACKS_PRINT_FRAMES_MAX innermost frames of
 * each. errno is preserved.
 *
 * Context    any thread, while no library is unloaded; not handler      Blocks  in writing
 * Ownership  nothing is transferred
 * Example    examples/debugger.c */
SONDE_API void sonde_stacks_print(void);
#define SONDE_STACKS_PRINT_THREADS_MAX 4096u
#define SONDE_STACKS_PRINT_FRAMES_MAX  256u

/* Get the lines of a stack as cached strings: the same stack returns the same strings, without a
 * lock. Stacks are compared in full, and cached strings are checked again after libraries were
 * loaded or unloaded.
 *
 * ret_lines  the strings, innermost first, without newlines
 * ret_count  how many
 *
 * Returns    OK | LIMIT (SONDE_STRINGS_BYTES_MAX are used; earlier strings stay valid) | USAGE
 *            | MEMORY
 * Context    any thread; not handler      Blocks  for a new stack: reads symbol files, takes a lock
 *            of the symbolizer
 * Ownership  the strings are the symbolizer's, valid until it is destroyed; nothing to free
 * Example    examples/text_strings.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_stack_strings(struct sonde_symbolizer *symbolizer,
                                                                enum sonde_style style,
                                                                const struct sonde_stack *stack,
                                                                const char *const **ret_lines,
                                                                uint32_t *ret_count);
#define SONDE_STRINGS_BYTES_MAX ((size_t)16 << 20)

/* Get the calling thread's stack as strings (SONDE_STYLE_CALLSTACK), frame 0 the caller, from a
 * symbolizer that the library keeps.
 *
 * depth_max  innermost frames, 1 to SONDE_WHOLE_FRAMES_MAX
 * ret_count  how many strings; 0 on failure
 *
 * Returns    the strings in one block; null: no memory, or a depth of 0
 * Context    any thread; not handler      Blocks  reads symbol files on an image's first use
 * Ownership  the caller's: one free()
 * Example    examples/text_strings.c */
SONDE_API SONDE_NODISCARD char **sonde_callstack_symbols(uint32_t depth_max, uint32_t *ret_count);

/* As sonde_callstack_symbols(), but cached, for code that runs often: nothing to free, as for
 * sonde_stack_strings().
 *
 * depth_max  at most SONDE_CALLSTACK_STRINGS_DEPTH_MAX
 *
 * Returns    the strings; null: no memory, a depth of 0, or SONDE_STRINGS_BYTES_MAX are used
 * Context    any thread; not handler      Blocks  as sonde_stack_strings()
 * Ownership  the library's, for good
 * Example    examples/text_strings.c */
SONDE_API SONDE_NODISCARD const char *const *sonde_callstack_strings(uint32_t depth_max,
                                                                     uint32_t *ret_count);
#define SONDE_CALLSTACK_STRINGS_DEPTH_MAX 512u

#if defined(__GNUC__)
/* As sonde_keep_frame(), for functions that return strings. */
static inline __attribute__((always_inline)) SONDE_NODISCARD const void *
sonde_keep_frame_of(const void *result)
{
    __asm__ volatile("" : "+r"(result));
    return result;
}
/* Macros, because a caller that ends with such a call has to keep its frame: sonde_keep_frame(). */
#    define sonde_thread_write(symbolizer, style, tid, write, ctx)                                 \
        sonde_keep_frame(sonde_thread_write(symbolizer, style, tid, write, ctx))
#    define sonde_threads_write(symbolizer, style, write, ctx)                                     \
        sonde_keep_frame(sonde_threads_write(symbolizer, style, write, ctx))
#    define sonde_callstack_symbols(depth_max, ret_count)                                          \
        ((char **)(uintptr_t)sonde_keep_frame_of(sonde_callstack_symbols(depth_max, ret_count)))
#    define sonde_callstack_strings(depth_max, ret_count)                                          \
        ((const char *const *)(uintptr_t)sonde_keep_frame_of(                                      \
            (const void *)sonde_callstack_strings(depth_max, ret_count)))
#endif

#ifdef __cplusplus
}
#endif

#endif
