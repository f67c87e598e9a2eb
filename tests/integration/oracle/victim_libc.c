// SPDX-License-Identifier: Apache-2.0
/* libc: formatting, sorting by callback, numbers, the heap, expressions, names, character sets,
 * dates, files, lazy binding. */
#include <dlfcn.h>
#include <glob.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <regex.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "victim.h"

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int compare_plain(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void visit(const void *node, VISIT order, int level)
{
    char text[64];
    if (order == postorder || order == leaf) {
        snprintf(text, sizeof text, "%*s%s", level, "", *(char *const *)node);
    }
}

NOINLINE static void texts(unsigned round)
{
    char *lines[24];
    void *root = NULL;
    for (unsigned i = 0; i < 24; i++) {
        char text[160];
        snprintf(text, sizeof text, "%5u %-8s %.17g %#llx %La %e", (i * 7919 + round) % 1000,
                 "word", i / 3.0, i * 0x123456789ULL, (long double)i / 7, i * 1e300);
        lines[i] = strdup(text);
        (void)strtod(strchr(text + 6, ' '), NULL);
        (void)tsearch(lines[i], &root, compare_plain);
    }
    qsort(lines, 24, sizeof lines[0], compare_texts);
    twalk(root, visit);
    for (unsigned i = 0; i < 24; i++) {
        (void)tdelete(lines[i], &root, compare_plain);
        free(lines[i]);
    }
}

NOINLINE static void expressions(void)
{
    regex_t expression;
    regmatch_t matches[4];
    if (regcomp(&expression, "^([0-9]+) (wo+rd|[a-z]*) ([0-9.]+)$", REG_EXTENDED) == 0) {
        (void)regexec(&expression, "12 wooord 3.25", 4, matches, 0);
        (void)regexec(&expression, "12 wooord x3.25", 4, matches, 0);
        regfree(&expression);
    }
}

NOINLINE static void heap(void)
{
    void *blocks[32] = {0};
    for (unsigned i = 0; i < 96; i++) {
        unsigned slot = i * 7 % 32;
        if (i % 3 == 0) {
            free(blocks[slot]);
            blocks[slot] = calloc(1, (size_t)16 << i % 12);
        } else {
            blocks[slot] = realloc(blocks[slot], i * 37 + 1);
        }
    }
    blocks[0] = realloc(blocks[0], 1 << 20);
    for (unsigned i = 0; i < 32; i++) {
        free(blocks[i]);
    }
}

NOINLINE static void dates(void)
{
    time_t now = 1700000000;
    struct tm parts;
    char text[96];
    (void)setlocale(LC_ALL, "C.UTF-8");
    (void)localtime_r(&now, &parts);
    (void)mktime(&parts);
    (void)strftime(text, sizeof text, "%A %d %B %Y %H:%M:%S %z", &parts);
    wchar_t wide[64];
    (void)mbstowcs(wide, text, 64);
    (void)swprintf(wide, 64, L"%ls %5.2f", L"wide", 2.5);
}

NOINLINE static void files(void)
{
    char word[64];
    long number = 0;
    FILE *file = fopen("/proc/self/stat", "r");
    if (file != NULL) {
        (void)fscanf(file, "%ld %63s", &number, word);
        (void)getc(file);
        (void)fclose(file);
    }
    file = tmpfile();
    if (file != NULL) {
        (void)fprintf(file, "%s %d\n", word, 42);
        (void)fseek(file, 0, SEEK_SET);
        (void)fgets(word, sizeof word, file);
        (void)fclose(file);
    }
    puts("line");
    (void)fflush(stdout);
}

/* What a static program cannot do without its libc's shared parts. */
#if defined(VICTIM_STATIC)
static void libraries(void) {}
static void names(void) {}
#else
NOINLINE static void libraries(void)
{
    void *library = dlopen("libm.so.6", RTLD_LAZY);
    if (library != NULL) {
        double (*power)(double, double) = NULL;
        *(void **)&power = dlsym(library, "pow");
        (void)power(1.5, 2.25);
        (void)dlsym(library, "no_such_name");
        (void)dlerror();
        (void)dlclose(library);
    }
}

NOINLINE static void names(void)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[64];
    char out[64];
    char *to = out;
    char *from = host;
    glob_t matches;
    if (getaddrinfo("127.0.0.1", "80", &hints, &found) == 0) {
        (void)getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof host, NULL, 0,
                          NI_NUMERICHOST);
        freeaddrinfo(found);
    }
    iconv_t convert = iconv_open("UTF-16LE", "ISO-8859-1");
    if (convert != (iconv_t)-1) {
        size_t in_left = 9;
        size_t out_left = sizeof out;
        (void)iconv(convert, &from, &in_left, &to, &out_left);
        (void)iconv_close(convert);
    }
    if (glob("/usr/lib/os-*", 0, NULL, &matches) == 0) {
        globfree(&matches);
    }
}

#endif

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    if (argc > 2) {
        MARK();
    }
    for (unsigned i = 0; i < rounds; i++) {
        texts(i);
        expressions();
        heap();
        names();
        dates();
        files();
        libraries();
    }
    (void)argv;
    return 0;
}
