// SPDX-License-Identifier: Apache-2.0
/* C++ by LLVM's libc++abi demangler, a single object file of the archive whose external symbols the
 * build renamed (cmake/sonde_demangler.cmake). This file provides its memory, a bounded part of the
 * thread's stack, and its handler of fatal errors. Both limits abort with longjmp; no state is
 * lost. A short hostile name can expand exponentially through substitutions; output takes memory,
 * so the bound stops it. */
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include "demangler.h"

enum {
    MEMORY_BYTES = 192 << 10, /* the longest decoded names need some 60 KiB */
    ALIGN = 16,
};

struct work {
    jmp_buf out;
    size_t used;
    _Alignas(ALIGN) unsigned char memory[MEMORY_BYTES];
};

static _Thread_local struct work *current;

/* --- called by the object file --- */

char *sonde__llvm_decode(const char *name, char *buffer, size_t *size, int *status);

void *sonde__llvm_malloc(size_t size);
void *sonde__llvm_realloc(void *old, size_t size);
void sonde__llvm_free(void *memory);
void sonde__llvm_delete(void *memory, size_t size);
_Noreturn void sonde__llvm_dead_1(void);
_Noreturn void sonde__llvm_dead_2(void);
_Noreturn void sonde__llvm_dead_3(void);
_Noreturn void sonde__llvm_dead_4(void);
_Noreturn void sonde__llvm_dead_5(void);
_Noreturn void sonde__llvm_dead_6(void);
/* Unused virtual tables of type descriptions. */
extern const void *const sonde__llvm_types_1[16], *const sonde__llvm_types_2[16];
const void *const sonde__llvm_types_1[16] = {0}, *const sonde__llvm_types_2[16] = {0};

static _Noreturn void leave(void)
{
    longjmp(current->out, 1);
}

/* Stores the size before the piece, for realloc. */
void *sonde__llvm_malloc(size_t size)
{
    struct work *work = current;
    unsigned char *piece = work->memory + work->used;
    if (size > MEMORY_BYTES) {
        leave();
    }
    size_t whole = ALIGN + ((size + ALIGN - 1) & ~(size_t)(ALIGN - 1));
    if (whole > MEMORY_BYTES - work->used) {
        leave();
    }
    memcpy(piece, &size, sizeof size);
    work->used += whole;
    return piece + ALIGN;
}

void *sonde__llvm_realloc(void *old, size_t size)
{
    void *piece = sonde__llvm_malloc(size);
    if (old != NULL) {
        size_t before;
        memcpy(&before, (unsigned char *)old - ALIGN, sizeof before);
        memcpy(piece, old, before < size ? before : size);
    }
    return piece;
}

void sonde__llvm_free(void *memory)
{
    (void)memory; /* all memory is freed with the decoded name */
}

void sonde__llvm_delete(void *memory, size_t size)
{
    (void)memory;
    (void)size;
}

void sonde__llvm_dead_1(void)
{
    leave();
}
void sonde__llvm_dead_2(void)
{
    leave();
}
void sonde__llvm_dead_3(void)
{
    leave();
}
void sonde__llvm_dead_4(void)
{
    leave();
}
void sonde__llvm_dead_5(void)
{
    leave();
}
void sonde__llvm_dead_6(void)
{
    leave();
}

/* --- a name --- */

const bool sonde__cli_has_llvm = true;

static bool decode(const char *name, char *text, size_t size)
{
    struct work work;
    const char *result;
    int status = -1;
    size_t length;
    work.used = 0;
    current = &work;
    if (setjmp(work.out) != 0) {
        current = NULL;
        return false;
    }
    result = sonde__llvm_decode(name, NULL, NULL, &status);
    current = NULL;
    if (status != 0 || result == NULL) {
        return false;
    }
    length = strlen(result);
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(text, result, length + 1);
    return true;
}

bool sonde__cli_demangle_llvm(const char *name, char *text, size_t size)
{
    return decode(name, text, size);
}
