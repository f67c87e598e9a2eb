// SPDX-License-Identifier: Apache-2.0
/* Types of C in every form that has a place in memory, and a function to find by its address. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zoo.h"

enum colour { RED = -3, GREEN, BLUE = 70000 };
typedef enum { SMALL, LARGE } nameless_enum;

struct bits {
    int a : 3;
    unsigned b : 7;
    int : 0;
    unsigned char c : 2;
    bool d : 1;
    uint64_t e : 40;
    uint64_t f : 30;
    short g;
    unsigned h : 31;
    enum colour i : 20;
};

struct __attribute__((packed)) packed {
    char a;
    uint32_t b : 17;
    uint64_t c : 45;
    double d;
    char e;
};

struct within {
    char first;
    union {
        int whole;
        struct {
            short low, high;
        };
        struct {
            char bytes[4];
        } named;
    };
    struct bits array[3];
    char last;
};

struct shapes {
    int grid[3][4][5];
    int *const pointers[2];
    int (*to_array)[7];
    int (*function)(const char *, ...);
    void (*(*returns_function)(int, double (*)(void)))(char);
    int (*table[2][3])(struct shapes *, enum colour);
    const volatile char *const *restrict qualified;
    _Atomic int atomic;
    long double wide;
    double _Complex complex;
    __int128 huge;
    _Bool flag;
    wchar_t letter;
    va_list rest;
    nameless_enum nameless;
    struct elsewhere *elsewhere; /* complete in zoo_more.c */
    struct never *never;
    void *nothing;
    void (*plain)();
};

typedef float vector __attribute__((vector_size(16)));
struct __attribute__((aligned(64))) aligned {
    vector v;
    char c;
    _Alignas(32) int far;
};

struct flexible {
    size_t size;
    struct {
        int x, y;
    } points[];
};

struct empty_end {
    int n;
    char none[0];
};

union any {
    struct bits bits;
    double number;
    char text[33];
};

typedef struct {
    union any any;
    struct list *next;
} nameless;
typedef nameless nameless_again;
struct list {
    nameless head;
    struct list *next, **previous;
};

struct bits the_bits;
struct packed the_packed;
struct within the_within;
struct shapes *the_shapes;
struct aligned the_aligned;
struct flexible *the_flexible;
struct empty_end the_empty_end;
nameless_again the_nameless;
struct list the_list;

int zoo_variable_length(int n, const char *const names[n], ...)
{
    char buffer[n + 1];
    buffer[0] = names[0][0];
    return buffer[0] + n;
}

int main(int argc, char **argv)
{
    return zoo_variable_length(argc, (const char *const *)argv) + zoo_more();
}
