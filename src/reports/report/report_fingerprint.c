// SPDX-License-Identifier: Apache-2.0
/* Samples are added up by stack, so each distinct stack of a stall is walked once. The path is
 * found level by level. At each level only one function can have 60 % of the time: the winner of a
 * majority vote (Boyer and Moore), so no tree is needed.
 *
 * Work is bounded: above a limit the lightest stacks are left out, so the result does not depend on
 * the order of samples. */
#include "report_fingerprint.h"
#include "report_store.h"

#include <stdlib.h>
#include <string.h>

#include "base_text.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "report_canonical.h"
#include "report_own.h"

/* Frames walked for one stall, and elements of all paths together. */
#define STEPS_MAX    4000000u
#define ELEMENTS_MAX 1000000u

/* All samples with the same stack and call. */
struct entry {
    uint64_t key; /* hash of stack and call */
    uint64_t weight;
    double squares; /* sum of the squared weights */
    uint32_t stack;
    int64_t syscall;
    uint32_t first, count;                 /* its elements */
    struct sonde__report_element callback; /* library function called below them; hash 0: none */
};

struct work {
    const struct sonde__report *report;
    struct entry *entries;
    uint32_t entry_count;
    struct sonde__report_element *elements;
    uint32_t element_count;
    size_t element_capacity;
    uint64_t steps;
    char *text;
    size_t size, capacity;
    bool failed;
};

/* --- the text --- */

static void add_bytes(struct work *w, const char *bytes, size_t size)
{
    while (w->size + size + 1 > w->capacity && !w->failed) {
        w->failed = !sonde__mem_grow(&w->text, w->capacity, &w->capacity, 1);
    }
    if (!w->failed) {
        memcpy(w->text + w->size, bytes, size);
        w->size += size;
        w->text[w->size] = '\0';
    }
}

static void add_line(struct work *w, const char *what, const char *bytes, size_t size)
{
    add_bytes(w, what, strlen(what));
    add_bytes(w, bytes, size);
    add_bytes(w, "\n", 1);
}

/* "libgtk-3.so" */
static void add_library(struct work *w, uint32_t image)
{
    const char *module = sonde__report_image_name(w->report, image);
    add_bytes(w, module, sonde__report_canonical_library(module));
}

static void add_element(struct work *w, const char *what, const struct sonde__report_element *e)
{
    struct sonde__report_element_name name = sonde__report_element_name(w->report, e);
    add_bytes(w, what, strlen(what));
    add_bytes(w, name.bytes, name.size);
    add_bytes(w, name.start, strlen(name.start));
}

/* "worker-#" of "worker-12": threads of one pool have one role. */
static void add_role(struct work *w, const struct sonde__report_stall *stall)
{
    const char *name = sonde__report_text(w->report, stall->thread_name);
    if (stall->main) {
        add_line(w, "thread ", "main", 4);
        return;
    }
    add_bytes(w, "thread ", 7);
    for (size_t i = 0; name[i] != '\0'; i++) {
        bool digit = name[i] >= '0' && name[i] <= '9';
        if (!digit) {
            add_bytes(w, &name[i], 1);
        } else if (i == 0 || name[i - 1] < '0' || name[i - 1] > '9') {
            add_bytes(w, "#", 1);
        }
    }
    add_bytes(w, "\n", 1);
}

/* --- the path of one stack --- */

static bool is_known(const struct work *w, const struct entry *entry, uint64_t hash)
{
    for (uint32_t i = entry->first; i < entry->first + entry->count; i++) {
        /* what is counted is there: NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
        if (w->elements[i].hash == hash) {
            return true;
        }
    }
    return false;
}

/* Note what the stack calls in libraries, going inwards: the first function outside the first
 * library (which is the event loop's, if the program only runs a loop); else that library. */
static void find_callback(struct entry *entry, const struct sonde__report_step *step,
                          const struct sonde__report_element *e)
{
    struct sonde__report_element *callback = &entry->callback;
    if (step->kind != SONDE__REPORT_STEP_PHYSICAL || e->image == 0) {
        return;
    }
    if (callback->image == 0) {
        *callback =
            (struct sonde__report_element){.image = e->image, .hash = (uint64_t)e->image << 1};
    } else if ((callback->hash & 1) == 0 && e->image != callback->image) {
        *callback = *e;
    }
}

/* Collect the program's own functions of a stack, each once, so that recursion of any depth gives
 * the same path. */
static void find_elements(struct work *w, const struct sonde__report_path *path,
                          struct entry *entry)
{
    bool main_next = false;
    entry->first = w->element_count;
    for (uint32_t i = path->count; i > 0 && !w->failed; i--) {
        const struct sonde__report_step *step = &path->steps[i - 1];
        struct sonde__report_element e = sonde__report_element(w->report, step);
        if (!sonde__report_path_is_own(w->report, path, step)) {
            main_next = main_next || sonde__report_element_is(w->report, &e, "__libc_start_main");
            find_callback(entry, step, &e);
            continue;
        }
        entry->callback = (struct sonde__report_element){0};
        e.is_entry = main_next || (i == path->count && e.name == 0) ||
                     sonde__report_element_is(w->report, &e, "main") ||
                     sonde__report_element_is(w->report, &e, "_start");
        main_next = false;
        if (entry->count == SONDE__REPORT_FINGERPRINT_DEPTH || w->element_count == ELEMENTS_MAX ||
            is_known(w, entry, e.hash)) {
            continue;
        }
        w->failed = !sonde__mem_grow(&w->elements, w->element_count, &w->element_capacity,
                                     sizeof *w->elements);
        if (!w->failed) {
            w->elements[w->element_count++] = e;
            entry->count++;
        }
    }
}

/* --- all stacks --- */

static int by_key(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return SONDE__ORDER(a, b, key);
}

static int by_weight(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return a->weight != b->weight ? (a->weight < b->weight) - (a->weight > b->weight)
                                  : by_key(left, right);
}

/* Make an entry for each stack and call, heaviest first. Samples without a stack are skipped. */
static void add_up(struct work *w, const struct sonde__report_stall *stall)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < stall->sample_count; i++) {
        const struct sonde__report_sample *s = &stall->samples[i];
        uint64_t weight = s->weight_ns != 0 ? s->weight_ns : 1;
        if (s->stack != 0) {
            w->entries[w->entry_count++] =
                (struct entry){.key = (uint64_t)s->stack << 32 | (uint32_t)s->syscall,
                               .weight = weight,
                               .squares = (double)weight * (double)weight,
                               .stack = s->stack,
                               .syscall = s->syscall};
        }
    }
    qsort(w->entries, w->entry_count, sizeof *w->entries, by_key);
    for (uint32_t i = 1; i < w->entry_count; i++) {
        if (w->entries[i].key == w->entries[kept].key) {
            w->entries[kept].weight += w->entries[i].weight;
            w->entries[kept].squares += w->entries[i].squares;
        } else {
            w->entries[++kept] = w->entries[i];
        }
    }
    w->entry_count = w->entry_count == 0 ? 0 : kept + 1;
    qsort(w->entries, w->entry_count, sizeof *w->entries, by_weight);
}

static void find_paths(struct work *w)
{
    struct sonde__report_path *path = sonde__mem_alloc(sizeof *path);
    w->failed = path == NULL;
    for (uint32_t i = 0; i < w->entry_count && !w->failed; i++) {
        if (w->steps >= STEPS_MAX || w->element_count == ELEMENTS_MAX) {
            w->entry_count = i; /* the heaviest ones are complete */
            break;
        }
        sonde__report_path_read(w->report, w->entries[i].stack, path);
        w->steps += path->count;
        find_elements(w, path, &w->entries[i]);
    }
    sonde__mem_free(path);
}

/* --- the common path --- */

/* Percentage that a function needs. With few samples, one of several equal callees gets a large
 * share by chance, so it must have more. Samples that represent much more time than others count as
 * fewer (Kish's effective sample size: square of the sum of weights / sum of their squares). */
static unsigned share_wanted(const struct work *w)
{
    double sum = 0, squares = 0;
    unsigned root = 1;
    for (uint32_t i = 0; i < w->entry_count; i++) {
        sum += (double)w->entries[i].weight;
        squares += w->entries[i].squares;
    }
    double samples = squares > 0 ? sum * sum / squares : 0;
    while (root < SONDE__REPORT_FINGERPRINT_CHANCE &&
           (double)(root + 1) * (double)(root + 1) <= samples) {
        root++;
    }
    unsigned more = SONDE__REPORT_FINGERPRINT_CHANCE / root;
    return SONDE__REPORT_FINGERPRINT_PERCENT + (more < SONDE__REPORT_FINGERPRINT_CHANCE_MAX
                                                    ? more
                                                    : SONDE__REPORT_FINGERPRINT_CHANCE_MAX);
}

typedef uint64_t value_of(const struct work *w, const struct entry *entry, uint32_t level);

/* The value with at least `percent` (more than 50) of the weight; 0: none. */
static uint64_t find_majority(const struct work *w, value_of *value, uint32_t level,
                              unsigned percent)
{
    uint64_t candidate = 0, lead = 0, weight = 0, total = 0;
    for (uint32_t i = 0; i < w->entry_count; i++) {
        uint64_t v = value(w, &w->entries[i], level), own = w->entries[i].weight;
        if (v == candidate) {
            lead += own;
        } else if (own > lead) {
            candidate = v;
            lead = own - lead;
        } else {
            lead -= own;
        }
    }
    for (uint32_t i = 0; i < w->entry_count; i++) {
        total += w->entries[i].weight;
        weight += value(w, &w->entries[i], level) == candidate ? w->entries[i].weight : 0;
    }
    return weight >= total / 100 * percent ? candidate : 0;
}

static uint64_t function_at(const struct work *w, const struct entry *entry, uint32_t level)
{
    return level < entry->count ? w->elements[entry->first + level].hash : 0;
}

static uint64_t callback_of(const struct work *w, const struct entry *entry, uint32_t level)
{
    (void)w;
    (void)level;
    return entry->callback.hash;
}

static uint64_t class_of(const struct work *w, const struct entry *entry, uint32_t level)
{
    (void)level;
    return entry->syscall <= 0
               ? 0
               : (uint64_t)(uintptr_t)sonde__report_call_class(w->report, entry->syscall - 1);
}

/* Drop the entries with other values. Returns the first that is kept. */
static const struct entry *keep(struct work *w, value_of *value, uint32_t level, uint64_t wanted)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->entry_count; i++) {
        if (value(w, &w->entries[i], level) == wanted) {
            w->entries[kept++] = w->entries[i];
        }
    }
    w->entry_count = kept;
    return &w->entries[0];
}

static void put_path(struct work *w)
{
    bool has_own = false;
    uint64_t found;
    for (uint32_t level = 0; (found = find_majority(w, function_at, level, share_wanted(w))) != 0;
         level++) {
        const struct entry *first = keep(w, function_at, level, found);
        const struct sonde__report_element *e = &w->elements[first->first + level];
        has_own = has_own || !e->is_entry;
        if (!e->is_entry) {
            add_element(w, "function ", e);
            add_bytes(w, "\n", 1);
        }
    }
    found = has_own ? 0 : find_majority(w, callback_of, 0, share_wanted(w));
    if (found != 0) {
        const struct sonde__report_element *e = &keep(w, callback_of, 0, found)->callback;
        if ((found & 1) != 0) {
            add_element(w, "calls ", e);
            add_bytes(w, " ", 1);
        }
        add_bytes(w, "library ", 8);
        add_library(w, e->image);
        add_bytes(w, "\n", 1);
    }
    found = find_majority(w, class_of, 0, SONDE__REPORT_BLOCKED_PERCENT);
    if (found != 0) {
        const char *name = (const char *)(uintptr_t)found;
        add_line(w, "blocked in ", name, strlen(name));
    }
}

static void put_stall(struct work *w, const struct sonde__report_stall *stall)
{
    static const char *const kinds[] = {"loop", "launch", "exit", "scope"};
    const char *kind = stall->kind < sizeof kinds / sizeof *kinds ? kinds[stall->kind] : kinds[0];
    add_line(w, "stall ", kind, strlen(kind));
    add_role(w, stall);
}

/* Add the path of all samples to the text, and hash it. */
static enum sonde_status finish(struct work *w, const struct sonde__report_stall *stall,
                                struct sonde__report_fingerprint *ret_fingerprint)
{
    struct sonde__report_fingerprint result = {.id = ""};
    struct sonde__report_hash hash;
    struct sonde__text id;
    char digits[33];
    w->entries = sonde__mem_alloc_array(stall->sample_count, sizeof *w->entries);
    w->failed = w->failed || w->entries == NULL;
    if (!w->failed) {
        add_up(w, stall);
        find_paths(w);
        put_path(w);
    }
    sonde__mem_free(w->entries);
    sonde__mem_free(w->elements);
    if (w->failed) {
        sonde__mem_free(w->text);
        return SONDE_MEMORY;
    }
    sonde__report_hash_init(&hash);
    sonde__report_hash_add(&hash, w->text, w->size);
    sonde__report_hash_text(&hash, digits);
    sonde__base_text_init(&id, result.id, sizeof result.id);
    sonde__base_text_dec(&id, SONDE__REPORT_FINGERPRINT_VERSION);
    sonde__base_text_str(&id, ":");
    sonde__base_text_str(&id, digits);
    result.text = w->text;
    result.size = w->size;
    *ret_fingerprint = result;
    return SONDE_OK;
}

enum sonde_status sonde__report_fingerprint(const struct sonde__report *report,
                                            const struct sonde__report_stall *stall,
                                            struct sonde__report_fingerprint *ret_fingerprint)
{
    struct work w = {.report = report};
    if (stall->sample_count == 0) {
        struct sonde__text id;
        *ret_fingerprint = (struct sonde__report_fingerprint){.id = ""};
        sonde__base_text_init(&id, ret_fingerprint->id, sizeof ret_fingerprint->id);
        sonde__base_text_str(&id, sonde__report_text(report, stall->fingerprint));
        return SONDE_OK;
    }
    put_stall(&w, stall);
    return finish(&w, stall, ret_fingerprint);
}

enum sonde_status sonde__report_error_fingerprint(const struct sonde__report *report,
                                                  uint32_t stack, const char *what,
                                                  struct sonde__report_fingerprint *ret_fingerprint)
{
    struct work w = {.report = report};
    const struct sonde__report_sample sample = {.stack = stack};
    const struct sonde__report_stall as_stall = {.samples = &sample, .sample_count = 1};
    add_line(&w, "error ", what, strlen(what));
    return finish(&w, &as_stall, ret_fingerprint);
}

void sonde__report_fingerprint_done(struct sonde__report_fingerprint *fingerprint)
{
    sonde__mem_free(fingerprint->text);
    fingerprint->text = NULL;
    fingerprint->size = 0;
}

void sonde__report_set_fingerprint(struct sonde__report *report, uint32_t index,
                                   const char *fingerprint)
{
    struct sonde__report_stall *stall =
        sonde__report_list_at(&report->parts[SONDE__PART_STALLS], index);
    if (stall != NULL) {
        stall->fingerprint = sonde__report_string(report, fingerprint);
    }
}
