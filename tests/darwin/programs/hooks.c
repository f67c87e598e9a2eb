// SPDX-License-Identifier: Apache-2.0
/* Calls of imported functions are counted with their stacks, by each kind of pointer that leads to
 * them. Only these pointers are written, and all is as before afterwards.
 *
 * hooks LIBRARY: a library to load meanwhile (later.c) */
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <mach/mach_init.h>
#include <mach/vm_map.h>
#include <mach/vm_page_size.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sonde/audit.h>
#include <sonde/depot.h>

#include "hooked.h"
#include "image_words.h"
#include "workers.h"

extern void (*sim_on_protect)(uint64_t address, uint64_t size, int protection);
extern int sim_protect_fails;
extern uint64_t sim_protections;

/* Nobody has the first one. */
int missing_function(void) __attribute__((weak_import));
int (*const volatile missing_in_const)(void) = missing_function;
int atoi(const char *text) __attribute__((weak_import));

POINTERS(own);
static const char *volatile number = "21"; /* no constant for the compiler */
uid_t (*const volatile second_in_page)(void) = getuid;
mach_port_t *const volatile variable_in_const = &mach_task_self_;

enum { GETPID, ATOI, GETUID, MISSING, VARIABLE, CONSTANT, LOCAL, NOBODY, NAMES };
static const char *const names[] = {
    "getpid",          "atoi",         "getuid",         "missing_function",
    "mach_task_self_", "sim_constant", "local_function", "of_nobody"};

extern const uint64_t sim_constant; /* among the code of the simulated libSystem */

/* Of this program: no pointer leads to it. */
int local_function(void);
__attribute__((noinline)) int local_function(void)
{
    return 7;
}

/* --- what is counted --- */

static struct sonde_depot *depot;

static struct sums {
    uint64_t calls, stacks;
    uint32_t frames; /* of the last stack */
    uint64_t pcs[64];
} sums[NAMES];

static uint64_t wanted; /* the pc of frame 1 */
static unsigned found;  /* calls with it */

static int add_entry(void *ctx, const struct sonde_audit_entry *entry)
{
    uint64_t pcs[64];
    uint8_t how[64];
    struct sums *of = &sums[entry->label];
    struct sonde_stack stack;
    (void)ctx;
    sonde_stack_init(&stack, pcs, how, 64, 0);
    CHECK(sonde_depot_stack(depot, entry->stack, &stack) == SONDE_OK);
    of->calls += entry->count;
    of->stacks++;
    found += stack.count > 1 && pcs[1] == wanted ? (unsigned)entry->count : 0;
    return 0;
}

static uint64_t calls_of(unsigned name)
{
    memset(sums, 0, sizeof sums);
    found = 0;
    CHECK(sonde_audit_entries(depot, add_entry, NULL) == SONDE_OK);
    return sums[name].calls;
}

/* --- all words of all images' data, and their protection --- */

enum { WORDS_MAX = 1 << 18, PAGES_MAX = 1 << 10 };

static uint64_t hooked[3]; /* the functions */

static struct copy {
    uint64_t *at[WORDS_MAX], values[WORDS_MAX];
    unsigned count;
    uint64_t page_at[PAGES_MAX];
    int protections[PAGES_MAX];
    unsigned page_count;
} before, now;

/* Of these segments nothing changes by itself. */
static int is_of_pointers(const char *segment)
{
    return strcmp(segment, "__DATA_CONST") == 0 || strcmp(segment, "__AUTH_CONST") == 0 ||
           strcmp(segment, "__AUTH") == 0;
}

static void copy_section(struct copy *copy, uint64_t start, uint64_t size)
{
    for (uint64_t at = start; at + 8 <= start + size; at += 8) {
        if (at / vm_page_size != (at - 8) / vm_page_size || at == start) {
            copy->page_at[copy->page_count] = at / vm_page_size * vm_page_size;
            copy->protections[copy->page_count++] = image_words_protection(at);
        }
        copy->at[copy->count] = (uint64_t *)at;
        copy->values[copy->count++] = *(uint64_t *)at;
        if (copy->count == WORDS_MAX || copy->page_count == PAGES_MAX) {
            printf("too much data\n");
            abort();
        }
    }
}

static void copy_image(struct copy *copy, uint32_t index)
{
    const struct mach_header_64 *header = (const void *)_dyld_get_image_header(index);
    uint64_t slide = (uint64_t)_dyld_get_image_vmaddr_slide(index);
    const char *at = (const char *)(header + 1);
    for (uint32_t i = 0; i < header->ncmds; i++) {
        const struct segment_command_64 *segment = (const void *)at;
        const struct section_64 *sections = (const void *)(segment + 1);
        for (uint32_t k = 0; segment->cmd == LC_SEGMENT_64 && k < segment->nsects; k++) {
            unsigned type = sections[k].flags & SECTION_TYPE;
            if (is_of_pointers(sections[k].segname) || type == S_LAZY_SYMBOL_POINTERS ||
                type == S_NON_LAZY_SYMBOL_POINTERS) {
                copy_section(copy, sections[k].addr + slide, sections[k].size);
            }
        }
        at += segment->cmdsize;
    }
}

static void copy_all(struct copy *copy)
{
    copy->count = copy->page_count = 0;
    for (uint32_t i = 0; i < _dyld_image_count(); i++) {
        copy_image(copy, i);
    }
}

/* How many words differ. Each led to a hooked function. */
static unsigned changed(const struct copy *a, const struct copy *b)
{
    unsigned count = 0;
    CHECK(a->count <= b->count);
    for (unsigned i = 0; i < a->count; i++) {
        uint64_t value = a->values[i] & 0x7fffffffffff; /* without a signature */
        if (a->values[i] != b->values[i]) {
            CHECK(value == hooked[0] || value == hooked[1] || value == hooked[2]);
            count++;
        }
    }
    return count;
}

static int is_same_protection(const struct copy *a, const struct copy *b)
{
    return a->page_count <= b->page_count &&
           memcmp(a->protections, b->protections, a->page_count * sizeof a->protections[0]) == 0;
}

/* Only single pages of data that was read-only get another protection. */
static void see_protection(uint64_t address, uint64_t size, int protection)
{
    unsigned found = 0;
    for (unsigned i = 0; i < before.page_count; i++) {
        found += before.page_at[i] == address && before.protections[i] == VM_PROT_READ;
    }
    CHECK(size == vm_page_size && found != 0);
    CHECK((protection & VM_PROT_EXECUTE) == 0);
}

/* --- calls --- */

static const void *caller;

__attribute__((noinline)) static pid_t ask(void)
{
    pid_t pid = getpid();
    caller = __builtin_return_address(0);
    return pid;
}

enum { TIMES = 500 };

static unsigned seen[NAMES + 1];
static int see_blind_spot(void *ctx, const struct sonde_audit_blind_spot *spot)
{
    (void)ctx;
    for (unsigned i = 0; i <= NAMES; i++) {
        if (i == NAMES ? spot->function == NULL
                       : spot->function != NULL && strcmp(spot->function, names[i]) == 0) {
            seen[i]++;
            if (getenv("VERBOSE") != NULL) {
                printf("blind: %s %s: %s\n", spot->image != NULL ? spot->image : "-",
                       spot->function != NULL ? spot->function : "-", spot->why);
            }
        }
    }
    return 0;
}

static int has_blind_spot(const struct sonde_audit *audit, unsigned name)
{
    memset(seen, 0, sizeof seen);
    CHECK(sonde_audit_blind_spots(audit, see_blind_spot, NULL) == SONDE_OK);
    return seen[name] != 0;
}

static struct sonde_audit *start(void)
{
    struct sonde_audit *audit = NULL;
    struct sonde_error error;
    CHECK(sonde_audit_start(depot, names, NAMES, &audit, &error) == SONDE_OK);
    return audit;
}

/* --- the checks --- */

static void check_pointers(pid_t pid)
{
    copy_all(&before);
    sim_on_protect = see_protection;
    struct sonde_audit *audit = start();
    copy_all(&now);
    /* five pointers to getpid(), one to getuid(); and of calls of three functions one each, or two
     * where lazy and other symbol pointers are apart. One is in data that is not looked at. */
    unsigned count = changed(&before, &now);
    CHECK(count >= 8 && count <= 10);
    CHECK(is_same_protection(&before, &now));
    for (int i = 0; i < TIMES; i++) {
        CHECK(CALL_ALL(own, pid));
    }
    CHECK(missing_in_const == NULL && missing_function == NULL);
    CHECK(atoi(number) == 21 && getuid() == second_in_page() && local_function() == 7);
    CHECK(*variable_in_const == mach_task_self() && sim_constant == 5);
    CHECK(calls_of(GETPID) == TIMES * KINDS && calls_of(ATOI) == 1 && calls_of(GETUID) == 2);
    CHECK(sums[GETPID].stacks == KINDS && calls_of(MISSING) == 0 && calls_of(LOCAL) == 0);
    CHECK(has_blind_spot(audit, VARIABLE) && has_blind_spot(audit, CONSTANT));
    CHECK(has_blind_spot(audit, LOCAL));
    CHECK(has_blind_spot(audit, NOBODY) && has_blind_spot(audit, MISSING));
    CHECK(has_blind_spot(audit, NAMES)); /* this program calls dlsym() */
    sonde_audit_stop(audit);
    copy_all(&now);
    CHECK(changed(&before, &now) == 0 && is_same_protection(&before, &now));
    CHECK(CALL_ALL(own, pid));
    CHECK(calls_of(GETPID) == TIMES * KINDS);
}

/* The stack is that of the call: frame 1 is what called the function that called. */
static void check_stack(void)
{
    struct sonde_audit *audit = start();
    (void)ask();
    sonde_audit_stop(audit);
    wanted = (uint64_t)caller;
    CHECK(calls_of(GETPID) != 0 && found == 1);
}

static void check_refused(pid_t pid)
{
    copy_all(&before);
    sim_protect_fails = 1;
    struct sonde_audit *audit = start();
    sim_protect_fails = 0;
    CHECK(CALL_ALL(own, pid));
    CHECK(has_blind_spot(audit, GETPID));
    copy_all(&now);
    CHECK(is_same_protection(&before, &now));
    sonde_audit_stop(audit);
    copy_all(&now);
    CHECK(changed(&before, &now) == 0 && is_same_protection(&before, &now));
}

/* The library has no code of sonde's, and only these pointers to getpid() (hooked.h) and those of
 * its calls. All else is as it was, whatever it is, and at the end all is. */
static void check_whole_image(void *library)
{
    static const char *const pointers[] = {"later_in_data", "later_in_const", "later_in_auth_const",
                                           "later_in_auth", "later_in_auth_b"};
    enum { POINTERS = sizeof pointers / sizeof *pointers };
    struct image_words first = {0}, second = {0}, third = {0};
    const uint64_t *at[IMAGE_WORDS_CHANGED_MAX];
    unsigned found = 0;
    image_words_copy(&first, dlsym(library, "call_later"));
    struct sonde_audit *audit = start();
    image_words_copy(&second, dlsym(library, "call_later"));
    sonde_audit_stop(audit);
    image_words_copy(&third, dlsym(library, "call_later"));
    unsigned count = image_words_changed(&first, &second, at);
    for (unsigned i = 0; i < POINTERS; i++) {
        const uint64_t *pointer = dlsym(library, pointers[i]);
        for (unsigned k = 0; k < count && k < IMAGE_WORDS_CHANGED_MAX; k++) {
            found += at[k] == pointer;
        }
    }
    CHECK(found == POINTERS && count == POINTERS + 1);
    CHECK(image_words_protected_alike(&first, &second));
    CHECK(image_words_changed(&first, &third, at) == 0);
    CHECK(image_words_protected_alike(&first, &third));
}

static void check_later(const char *path, pid_t pid)
{
    struct sonde_audit *audit = start();
    uint64_t calls = calls_of(GETPID);
    sim_on_protect = NULL;
    void *library = dlopen(path, RTLD_NOW);
    CHECK(library != NULL);
    int (*call)(pid_t pid) =
        library != NULL ? (int (*)(pid_t pid))dlsym(library, "call_later") : NULL;
    CHECK(calls_of(GETPID) == calls + 1); /* its constructor */
    CHECK(call != NULL && call(pid) == 1);
    CHECK(calls_of(GETPID) == calls + 1 + KINDS);
    sonde_audit_stop(audit);
    CHECK(call != NULL && call(pid) == 1);
    CHECK(calls_of(GETPID) == calls + 1 + KINDS);
    if (library != NULL) {
        check_whole_image(library);
    }
}

int main(int argc, char **argv)
{
    pid_t pid = getpid();
    for (unsigned i = 0; i < 3; i++) {
        hooked[i] = (uint64_t)dlsym(RTLD_DEFAULT, names[i]);
    }
    CHECK(sonde_depot_create(1 << 12, &depot) == SONDE_OK);
    check_pointers(pid);
    check_stack();
    check_refused(pid);
    if (argc > 1) {
        check_later(argv[1], pid);
    }
    sonde_depot_destroy(depot);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
