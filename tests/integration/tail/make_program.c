// SPDX-License-Identifier: Apache-2.0
#include "make_program.h"

#include <stdio.h>

#include "test.h"

enum { FUNCTIONS = 150, REACH = 25 };

struct writer {
    FILE *file;
    uint64_t state;
};

static uint32_t rnd(struct writer *w, uint32_t below)
{
    w->state = w->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->state >> 33) % below;
}

static uint32_t any(struct writer *w, uint32_t self)
{
    uint32_t other = rnd(w, FUNCTIONS - 1); /* not itself: that is a loop, of no frames */
    return other >= self ? other + 1 : other;
}

/* Nearly always a function a little further on, so that there are few circles. */
static uint32_t other(struct writer *w, uint32_t self)
{
    uint32_t left = FUNCTIONS - self - 1;
    return left != 0 && rnd(w, 150) != 0 ? self + 1 + rnd(w, left < REACH ? left : REACH)
                                         : any(w, self);
}

static void write_begin(FILE *f)
{
    fputs("#if defined(__APPLE__)\n"
          "int (*volatile capture_hook)(void);\n"
          "#else\n"
          "#include <execinfo.h>\n"
          "#include <stdio.h>\n"
          "extern const char __ehdr_start[] __attribute__((visibility(\"hidden\")));\n"
          "#endif\n"
          "#if defined(__clang__)\n"
          "#define ALONE __attribute__((noinline))\n"
          "#else\n"
          "#define ALONE __attribute__((noipa))\n"
          "#endif\n"
          "static unsigned long long state = 88172645463325252ull;\n"
          "static int calls_left = 100000, stacks_left = 200;\n"
          "static volatile long sink;\n"
          "static unsigned next(void)\n"
          "{\n"
          "    state = state * 6364136223846793005ull + 1442695040888963407ull;\n"
          "    return (unsigned)(state >> 40);\n"
          "}\n"
          "ALONE long show(long x)\n"
          "{\n"
          "    if (stacks_left <= 0) {\n"
          "        calls_left = 0;\n"
          "        return x;\n"
          "    }\n"
          "#if defined(__APPLE__)\n"
          "    stacks_left -= capture_hook() < 100;\n"
          "#else\n"
          "    void *pcs[256];\n"
          "    int n = backtrace(pcs, 256);\n"
          "    if (n < 100) {\n"
          "        stacks_left--;\n"
          "        printf(\"S\");\n"
          "        for (int i = 0; i < n; i++) {\n"
          "            printf(\" %lx\", (unsigned long)((char *)pcs[i] - (char *)__ehdr_start));\n"
          "        }\n"
          "        printf(\"\\n\");\n"
          "    }\n"
          "#endif\n"
          "    sink = x;\n"
          "    return x + 1;\n"
          "}\n"
          "__attribute__((cold, noinline)) void stop(long x) { sink = x; __builtin_trap(); }\n",
          f);
}

/* What a function does before its last call. */
static void write_work(struct writer *w, uint32_t self)
{
    switch (rnd(w, 6)) {
    case 0: /* a frame with saved registers */
        fprintf(w->file, "    long a = f%u(x + 1, d + 1), b = f%u(x, d + 1);\n    x += a * b;\n",
                other(w, self), other(w, self));
        break;
    case 1: /* memory in the frame */
        fprintf(w->file,
                "    volatile long room[%u];\n"
                "    for (int i = 0; i < 4; i++) {\n        room[i] = x;\n    }\n"
                "    x += room[x & 3];\n",
                4 + rnd(w, 60));
        break;
    case 2: /* a part that is cold */
        fprintf(
            w->file,
            "    if (__builtin_expect(x == 0x123456789abcdefl, 0)) {\n"
            "        sink = x * 3;\n        stop(x);\n        return f%u(x * 7, d + 1);\n    }\n",
            other(w, self));
        break;
    case 3:
        fprintf(w->file, "    x += f%u(x ^ 1, d + 1);\n", other(w, self));
        break;
    default:
        break;
    }
}

static void write_last(struct writer *w, uint32_t self)
{
    uint32_t kind = rnd(w, 100);
    if (kind < 35) {
        fprintf(w->file, "    return f%u(x + 1, d + 1);\n", other(w, self));
    } else if (kind < 45) {
        fprintf(w->file,
                "    if (next() & 1) {\n        return f%u(x, d + 1);\n    }\n"
                "    return f%u(x * 5, d + 1);\n",
                other(w, self), other(w, self));
    } else if (kind < 48) {
        fprintf(w->file, "    switch (next() & 7) {\n");
        for (unsigned i = 0; i < 7; i++) {
            fprintf(w->file, "    case %u:\n        return f%u(x + %u, d + 1);\n", i,
                    other(w, self), i * 3);
        }
        fprintf(w->file, "    default:\n        return show(x);\n    }\n");
    } else if (kind < 50) {
        fprintf(w->file, "    return table[next() & 3](x, d + 1);\n");
    } else if (kind < 85) {
        fprintf(w->file, "    return f%u(x + 1, d + 1) * 3 + 1;\n", other(w, self));
    } else {
        fprintf(w->file, "    return show(x);\n");
    }
}

void make_program(const char *path, uint64_t seed)
{
    struct writer w = {.file = fopen(path, "we"), .state = seed * 2654435761u + 1};
    CHECK(w.file != NULL);
    write_begin(w.file);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        fprintf(w.file, "%slong f%u(long, long);\n", i % 3 == 0 ? "static " : "", i);
    }
    fprintf(w.file, "static long (*table[4])(long, long) = {f%u, f%u, f%u, f%u};\n",
            rnd(&w, FUNCTIONS), rnd(&w, FUNCTIONS), rnd(&w, FUNCTIONS), rnd(&w, FUNCTIONS));
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        fprintf(w.file, "%sALONE long f%u(long x, long d)\n{\n", i % 3 == 0 ? "static " : "", i);
        fprintf(w.file, "    if (d > 40 || calls_left-- <= 0) {\n        return show(x);\n    }\n");
        write_work(&w, i);
        write_last(&w, i);
        fprintf(w.file, "}\n");
    }
    fprintf(w.file, "int main(void)\n{\n    long sum = show(table[0] != table[1]) & 1;\n"
                    "    while (stacks_left > 0 && calls_left > 0) {\n");
    for (unsigned i = 0; i < 4; i++) {
        fprintf(w.file, "        sum += f%u(sum, 0);\n", rnd(&w, FUNCTIONS));
    }
    fprintf(w.file, "    }\n    sink = sum;\n    return 0;\n}\n");
    CHECK(fclose(w.file) == 0);
}
