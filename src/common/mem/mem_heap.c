// SPDX-License-Identifier: Apache-2.0
#include "mem_heap.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* For tests: allocations numbered fail_first to fail_last fail. */
static _Atomic uint64_t asked_count;
static _Atomic uint64_t fail_first = UINT64_MAX;
static _Atomic uint64_t fail_last;

static bool must_fail(void)
{
    uint64_t number = atomic_fetch_add_explicit(&asked_count, 1, memory_order_relaxed);
    return number >= atomic_load_explicit(&fail_first, memory_order_relaxed) &&
           number <= atomic_load_explicit(&fail_last, memory_order_relaxed);
}

static void plan_failure(uint64_t first, uint64_t last)
{
    atomic_store_explicit(&fail_first, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&asked_count, 0, memory_order_relaxed);
    atomic_store_explicit(&fail_last, last, memory_order_relaxed);
    atomic_store_explicit(&fail_first, first, memory_order_relaxed);
}

void sonde__mem_fail_from(uint64_t index)
{
    plan_failure(index, UINT64_MAX - 1);
}

void sonde__mem_fail_once(uint64_t index)
{
    plan_failure(index, index);
}

uint64_t sonde__mem_asked(void)
{
    return atomic_load_explicit(&asked_count, memory_order_relaxed);
}

void *sonde__mem_alloc(size_t size)
{
    return must_fail() ? NULL : malloc(size != 0 ? size : 1);
}

void *sonde__mem_alloc_zeroed(size_t size)
{
    return must_fail() ? NULL : calloc(1, size != 0 ? size : 1);
}

void *sonde__mem_alloc_array(size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : sonde__mem_alloc(bytes);
}

void *sonde__mem_resize_array(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (must_fail() || __builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    return realloc(block, bytes != 0 ? bytes : 1);
}

char *sonde__mem_copy_string(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = sonde__mem_alloc(size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

void sonde__mem_free(void *block)
{
    free(block);
}

bool sonde__mem_grow(void *ret_array, size_t count, size_t *ret_capacity, size_t size)
{
    void *array, *bigger;
    size_t capacity;
    if (count < *ret_capacity) {
        return true;
    }
    if (__builtin_mul_overflow(*ret_capacity, (size_t)2, &capacity)) {
        return false;
    }
    capacity = capacity < 8 ? 8 : capacity;
    memcpy(&array, ret_array, sizeof array); /* any pointer type: no aliasing through void ** */
    bigger = sonde__mem_resize_array(array, capacity, size);
    if (bigger == NULL) {
        return false;
    }
    memcpy(ret_array, &bigger, sizeof bigger);
    *ret_capacity = capacity;
    return true;
}
