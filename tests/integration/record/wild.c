// SPDX-License-Identifier: Apache-2.0
/* A program with wild writes: it fills the memory that it shares with sonde, then goes on: calls
 * from new and from known stacks, in new and in known threads, and libraries that come and go.
 * argv: what to fill with (zeros, ones, small, random, rising), libraries to load. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS_MAX = 64, PART_BYTES = 16 << 20, ROUNDS = 8, PATHS = 32 };

static struct part {
    uint8_t *start;
    size_t size;
} parts[PARTS_MAX];
static unsigned part_count;

static void find_parts(void)
{
    char line[512];
    FILE *file = fopen("/proc/self/maps", "re");
    while (file != NULL && part_count < PARTS_MAX && fgets(line, sizeof line, file) != NULL) {
        unsigned long start, end;
        if (strstr(line, "sonde-turns") != NULL && strstr(line, " rw-s ") != NULL &&
            sscanf(line, "%lx-%lx", &start, &end) == 2) {
            size_t size = end - start;
            parts[part_count++] =
                (struct part){(uint8_t *)start, size < PART_BYTES ? size : PART_BYTES};
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static uint64_t next_random(void)
{
    static uint64_t state = 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void fill(const struct part *part, const char *what)
{
    uint32_t *words = (uint32_t *)(void *)part->start;
    for (size_t i = 0; i < part->size / sizeof *words; i++) {
        switch (what[0]) {
        case 'z':
            words[i] = 0;
            break;
        case 'o':
            words[i] = UINT32_MAX;
            break;
        case 's':
            words[i] = 40;
            break;
        case 'r':
            words[i] = what[1] == 'a' ? (uint32_t)next_random() : (uint32_t)i;
            break;
        default:
            exit(3);
        }
    }
}

static __attribute__((noinline)) int go(int depth, unsigned path)
{
    volatile int sum = depth;
    if (depth == 0) {
        sum += (int)getppid();
    } else if ((path & 1) != 0) {
        sum += go(depth - 1, path >> 1);
    } else {
        sum -= go(depth - 1, path >> 1);
    }
    return sum;
}

static void *call_all(void *unused)
{
    for (unsigned path = 0; path < PATHS; path++) {
        (void)go(5, path);
    }
    return unused;
}

static void call_in_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_all, NULL) == 0) {
        (void)pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    (void)call_all(NULL);
    call_in_thread();
    find_parts();
    if (argc < 2 || part_count == 0) {
        return 2;
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned p = 0; p < part_count; p++) {
            fill(&parts[p], argv[1]);
        }
        (void)call_all(NULL);
        call_in_thread();
        for (int a = 2; a < argc; a++) {
            void *library = dlopen(argv[a], RTLD_NOW);
            if (library != NULL) {
                dlclose(library);
            }
        }
        (void)go((int)(6 + i), i);
    }
    puts("went on");
    return 0;
}
