// SPDX-License-Identifier: Apache-2.0
#include "report_analyse.h"

#include <string.h>

#include "image_app.h"
#include "mem_heap.h"
#include "report_libc.h"
#include "report_trie.h"
#include "scrub.h"

#define PATH_BYTES 4096u

bool sonde__report_is_app(const struct sonde__report *report, uint32_t image)
{
    const struct sonde__report_image *i = sonde__report_image(report, image);
    char buffer[PATH_BYTES];
    const char *path =
        sonde__scrub_expand(sonde__report_text(report, i->path), buffer, sizeof buffer);
    bool is_app = false;
    if ((i->flags & (SONDE__REPORT_IMAGE_APP | SONDE__REPORT_IMAGE_SYSTEM)) != 0 &&
        !sonde__image_app_ruled(path, &is_app)) {
        return (i->flags & SONDE__REPORT_IMAGE_APP) != 0;
    }
    return image != 0 && sonde__image_is_app(path, i->flags);
}

/* Python's standard library, Node.js' own scripts, and installed packages, in any prefix. */
static bool is_library_of_script(const char *file)
{
    return strstr(file, "/lib/python") != NULL || strstr(file, "/site-packages/") != NULL ||
           strstr(file, "/dist-packages/") != NULL || strstr(file, "/node_modules/") != NULL ||
           strncmp(file, "node:", 5) == 0;
}

/* What Python calls the code of -c, of standard input, and what exec() was given: the program's.
 * Other names in <> are the interpreter's, as <frozen importlib._bootstrap>. */
static bool has_no_file(const char *file)
{
    return strcmp(file, "<string>") == 0 || strcmp(file, "<stdin>") == 0;
}

bool sonde__report_frame_is_app(const struct sonde__report *report,
                                const struct sonde__report_frame *frame)
{
    const char *file = sonde__report_text(report, frame->file);
    if (frame->kind != SONDE__REPORT_FRAME_SCRIPT) {
        return sonde__report_is_app(report, frame->image);
    }
    bool is_app = false;
    if (*file == '/' && sonde__image_app_ruled(file, &is_app)) {
        return is_app;
    }
    if (has_no_file(file)) {
        return true;
    }
    return *file != '<' && *file != '\0' && !is_library_of_script(file) &&
           (*file != '/' || sonde__image_is_app(file, 0));
}

/* The trie node of each sample's stack. */
struct work {
    const struct sonde__report *report;
    const struct sonde__report_stall *stall;
    struct sonde__trie trie;
    uint32_t *sample_nodes;
    bool *on_path; /* by trie node */
    struct sonde__report_phase *runs;
    uint32_t run_count;
};

static void add_kind(struct sonde__report_analysis *a, const struct sonde__report_sample *s)
{
    a->weight_ns += s->weight_ns;
    switch (s->phase) {
    case SONDE__REPORT_PHASE_RUNNING:
        a->running_ns += s->weight_ns;
        break;
    case SONDE__REPORT_PHASE_BLOCKED:
        a->blocked_ns += s->weight_ns;
        break;
    case SONDE__REPORT_PHASE_DISK:
        a->disk_ns += s->weight_ns;
        break;
    default:
        a->unknown_ns += s->weight_ns;
        break;
    }
}

static enum sonde_status build_trie(struct work *w, struct sonde__report_analysis *a)
{
    for (uint32_t i = 0; i < w->stall->sample_count; i++) {
        const struct sonde__report_sample *s = &w->stall->samples[i];
        enum sonde_status status = sonde__trie_add(&w->trie, s->stack, &w->sample_nodes[i]);
        if (status != SONDE_OK) {
            return status;
        }
        w->trie.nodes[w->sample_nodes[i]].self_ns += s->weight_ns;
        w->trie.nodes[w->sample_nodes[i]].in_call |= s->syscall > 0;
        add_kind(a, s);
    }
    sonde__trie_sum(&w->trie);
    return SONDE_OK;
}

/* Follow the child with the required share, starting at node 0. Children have larger indexes than
 * their parents, so one pass finds the heaviest child of each node. */
static enum sonde_status find_path(struct work *w, struct sonde__report_analysis *a)
{
    struct sonde__trie *t = &w->trie;
    uint32_t *heaviest = sonde__mem_alloc_array(t->count, sizeof *heaviest);
    w->on_path = sonde__mem_alloc_zeroed(t->count * sizeof *w->on_path);
    if (heaviest == NULL || w->on_path == NULL) {
        sonde__mem_free(heaviest);
        return SONDE_MEMORY;
    }
    memset(heaviest, 0, t->count * sizeof *heaviest);
    for (uint32_t i = 1; i < t->count; i++) {
        uint32_t *best = &heaviest[t->nodes[i].parent];
        if (*best == 0 || t->nodes[i].weight_ns > t->nodes[*best].weight_ns) {
            *best = i;
        }
    }
    uint32_t length = 0;
    w->on_path[0] = true;
    for (uint32_t at = 0, next; (next = heaviest[at]) != 0; at = next, length++) {
        /* divide first: weights from a file may be any 64-bit numbers */
        if (t->nodes[next].weight_ns <
            t->nodes[at].weight_ns / 100 * SONDE__REPORT_DOMINANT_PERCENT) {
            break;
        }
        w->on_path[next] = true;
    }
    a->path = length == 0 ? NULL : sonde__mem_alloc_array(length, sizeof *a->path);
    for (uint32_t at = heaviest[0]; a->path != NULL && a->path_count < length; at = heaviest[at]) {
        a->path[a->path_count++] =
            (struct sonde__report_weight){t->nodes[at].frame, t->nodes[at].weight_ns};
    }
    sonde__mem_free(heaviest);
    return length != 0 && a->path == NULL ? SONDE_MEMORY : SONDE_OK;
}

/* A slot of an open-addressing table: a function and its weight so far. */
struct gather {
    uint64_t function;
    uint64_t weight_ns;
    uint32_t frame;
};

/* If the thread is in a system call: without what is libc's (report_libc.h). */
static uint32_t innermost_app(const struct work *w, uint32_t node)
{
    bool in_call = w->trie.nodes[node].in_call;
    uint32_t first = 0;
    for (; node != 0; node = w->trie.nodes[node].parent) {
        const struct sonde__report_frame *frame =
            sonde__report_frame(w->report, w->trie.nodes[node].frame);
        if (!sonde__report_frame_is_app(w->report, frame)) {
            in_call = false; /* libc is another image */
            continue;
        }
        first = first == 0 ? node : first;
        if (!in_call || frame->kind == SONDE__REPORT_FRAME_SCRIPT ||
            !sonde__report_is_libc(sonde__report_text(w->report, frame->name))) {
            return node;
        }
    }
    return first;
}

static void gather_add(struct gather *table, uint32_t capacity, uint64_t function, uint32_t frame,
                       uint64_t weight_ns)
{
    uint64_t hash = function * 0x9e3779b97f4a7c15u;
    uint32_t slot = (uint32_t)(hash >> 32) & (capacity - 1);
    while (table[slot].frame != 0 && table[slot].function != function) {
        slot = (slot + 1) & (capacity - 1);
    }
    table[slot].function = function;
    table[slot].frame = frame;
    table[slot].weight_ns += weight_ns;
}

static enum sonde_status find_heaviest(struct work *w, bool app,
                                       struct sonde__report_weight *ret_heaviest)
{
    struct sonde__trie *t = &w->trie;
    uint32_t capacity = 64;
    while (capacity / 2 < t->count) {
        capacity *= 2;
    }
    struct gather *table = sonde__mem_alloc_zeroed(capacity * sizeof *table);
    if (table == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t i = 1; i < t->count; i++) {
        uint32_t node = t->nodes[i].self_ns == 0 ? 0 : app ? innermost_app(w, i) : i;
        uint32_t frame = node == 0 ? 0 : t->nodes[node].frame;
        if (frame != 0 && sonde__report_frame(w->report, frame)->lost_count == 0) {
            gather_add(table, capacity, sonde__trie_function(w->report, frame), frame,
                       t->nodes[i].self_ns);
        }
    }
    *ret_heaviest = (struct sonde__report_weight){0, 0};
    for (uint32_t i = 0; i < capacity; i++) {
        if (table[i].weight_ns > ret_heaviest->weight_ns) {
            *ret_heaviest = (struct sonde__report_weight){table[i].frame, table[i].weight_ns};
        }
    }
    sonde__mem_free(table);
    return SONDE_OK;
}

/* -- phases -- */

/* Three samples at 10 ms. Applies to stalls of at least twice this length. */
#define RUNNING_PHASE_NS 25000000ull

/* The node after which a stack leaves the dominant path, or the end of the path. */
static uint32_t leaving_node(const struct work *w, uint32_t node)
{
    while (node != 0 && !w->on_path[node] && !w->on_path[w->trie.nodes[node].parent]) {
        node = w->trie.nodes[node].parent;
    }
    return node;
}

static struct sonde__report_phase phase_of(const struct work *w, uint32_t index)
{
    const struct sonde__report_sample *s = &w->stall->samples[index];
    struct sonde__report_phase phase = {
        .begin_ns = s->time_ns,
        .duration_ns = s->weight_ns,
        .own_ns = s->weight_ns,
        .kind = s->phase,
        .syscall = s->syscall,
        .detail = s->detail,
        .stack = s->stack,
        .frame = w->trie.nodes[leaving_node(w, w->sample_nodes[index])].frame,
    };
    return phase;
}

/* Two blocked phases are the same if the call and its object are; two running ones, if they leave
 * the dominant path at the same function. */
static bool same_phase(const struct work *w, const struct sonde__report_phase *a,
                       const struct sonde__report_phase *b)
{
    if (a->syscall != b->syscall || a->detail != b->detail) {
        return false;
    }
    if (a->syscall != 0) {
        return true; /* the thread may be in S or D within one call */
    }
    return a->kind == b->kind && sonde__trie_same_function(w->report, a->frame, b->frame);
}

/* Append `from` to `into`. The result is named after the one with more time of its own. */
static void absorb(const struct work *w, struct sonde__report_phase *into,
                   const struct sonde__report_phase *from)
{
    struct sonde__report_phase sum = from->own_ns > into->own_ns ? *from : *into;
    if (same_phase(w, into, from)) {
        sum.own_ns = into->own_ns + from->own_ns;
    }
    sum.begin_ns = into->begin_ns;
    sum.duration_ns = into->duration_ns + from->duration_ns;
    *into = sum;
}

/* Two samples of a running thread in a row can be chance. */
static bool is_long(const struct sonde__report_phase *run, uint64_t limit_ns, uint64_t running_ns)
{
    return run->duration_ns >= limit_ns && (run->syscall != 0 || run->duration_ns >= running_ns);
}

/* Merge equal neighbours, and each run shorter than the limit with its longer neighbour. */
static void join_runs(struct work *w, uint64_t limit_ns, uint64_t running_ns)
{
    struct sonde__report_phase *runs = w->runs;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->run_count; i++) {
        bool last = i + 1 == w->run_count;
        if (kept > 0 && same_phase(w, &runs[kept - 1], &runs[i])) {
            absorb(w, &runs[kept - 1], &runs[i]);
        } else if (is_long(&runs[i], limit_ns, running_ns) || (kept == 0 && last)) {
            runs[kept++] = runs[i];
        } else if (kept > 0 && (last || runs[kept - 1].duration_ns >= runs[i + 1].duration_ns)) {
            absorb(w, &runs[kept - 1], &runs[i]);
        } else {
            absorb(w, &runs[i], &runs[i + 1]);
            runs[i + 1] = runs[i]; /* examine it again as one run */
        }
    }
    w->run_count = kept;
}

/* More than a third of its time is elsewhere, as in an interpreter that goes from function to
 * function. */
static bool is_mixed(const struct sonde__report_phase *run)
{
    return run->syscall == 0 && run->own_ns < run->duration_ns / 3 * 2;
}

/* Join adjacent running phases if one of them is mixed: only chance separates them. */
static void join_mixed(struct work *w)
{
    struct sonde__report_phase *runs = w->runs;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->run_count; i++) {
        struct sonde__report_phase *before = kept > 0 ? &runs[kept - 1] : NULL;
        bool runs_on = before != NULL && before->syscall == 0 && runs[i].syscall == 0 &&
                       before->kind == runs[i].kind;
        if (runs_on &&
            (is_mixed(before) || is_mixed(&runs[i]) || same_phase(w, before, &runs[i]))) {
            absorb(w, before, &runs[i]);
        } else {
            runs[kept++] = runs[i];
        }
    }
    w->run_count = kept;
}

static enum sonde_status find_phases(struct work *w, struct sonde__report_analysis *a)
{
    w->runs = sonde__mem_alloc_array(w->stall->sample_count, sizeof *w->runs);
    if (w->runs == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t i = 0; i < w->stall->sample_count; i++) {
        w->runs[w->run_count++] = phase_of(w, i);
    }
    uint64_t running_ns = a->weight_ns < 2 * RUNNING_PHASE_NS ? 0 : RUNNING_PHASE_NS;
    /* shortest first: short runs join longer ones, not each other */
    for (uint32_t shift = 7; shift-- > 0;) {
        join_runs(w, (a->weight_ns / SONDE__REPORT_PHASE_SHARE) >> shift, running_ns >> shift);
    }
    join_mixed(w);
    while (w->run_count > SONDE__REPORT_PHASES_MAX) { /* only where weights overflowed */
        absorb(w, &w->runs[w->run_count - 2], &w->runs[w->run_count - 1]);
        w->run_count--;
    }
    memcpy(a->phases, w->runs, w->run_count * sizeof *w->runs);
    a->phase_count = w->run_count;
    return SONDE_OK;
}

/* -- the heaviest stack: the heaviest sample of the heaviest trie node -- */

static void find_stack(struct work *w, struct sonde__report_analysis *a)
{
    uint32_t best_node = UINT32_MAX;
    uint64_t best_ns = 0;
    for (uint32_t i = 0; i < w->stall->sample_count; i++) {
        const struct sonde__trie_node *node = &w->trie.nodes[w->sample_nodes[i]];
        if (w->stall->samples[i].stack != 0 && node->self_ns >= a->stack_ns &&
            w->sample_nodes[i] != best_node &&
            (best_node == UINT32_MAX || node->self_ns > a->stack_ns)) {
            best_node = w->sample_nodes[i];
            a->stack_ns = node->self_ns;
        }
    }
    for (uint32_t i = 0; i < w->stall->sample_count; i++) {
        const struct sonde__report_sample *s = &w->stall->samples[i];
        if (w->sample_nodes[i] == best_node && (a->stack == 0 || s->weight_ns > best_ns)) {
            a->stack = s->stack;
            best_ns = s->weight_ns;
        }
    }
}

static enum sonde_status analyse(struct work *w, struct sonde__report_analysis *a)
{
    enum sonde_status status = sonde__trie_init(&w->trie, w->report);
    w->sample_nodes = sonde__mem_alloc_array(w->stall->sample_count, sizeof *w->sample_nodes);
    if (status == SONDE_OK && w->sample_nodes == NULL) {
        status = SONDE_MEMORY;
    }
    if (status == SONDE_OK) {
        status = build_trie(w, a);
    }
    if (status == SONDE_OK) {
        status = find_path(w, a);
    }
    if (status == SONDE_OK) {
        status = find_heaviest(w, false, &a->heaviest);
    }
    if (status == SONDE_OK) {
        status = find_heaviest(w, true, &a->heaviest_app);
    }
    if (status == SONDE_OK) {
        status = find_phases(w, a);
    }
    if (status == SONDE_OK) {
        find_stack(w, a);
    }
    return status;
}

enum sonde_status sonde__report_analyse(const struct sonde__report *report,
                                        const struct sonde__report_stall *stall,
                                        struct sonde__report_analysis *ret_analysis)
{
    struct sonde__report_analysis a = {0};
    struct work w = {.report = report, .stall = stall};
    enum sonde_status status = SONDE_OK;
    if (stall->sample_count != 0) {
        status = analyse(&w, &a);
        sonde__trie_done(&w.trie);
        sonde__mem_free(w.sample_nodes);
        sonde__mem_free(w.on_path);
        sonde__mem_free(w.runs);
    }
    if (status != SONDE_OK) {
        sonde__mem_free(a.path);
        return status;
    }
    *ret_analysis = a;
    return SONDE_OK;
}

void sonde__report_analysis_done(struct sonde__report_analysis *analysis)
{
    sonde__mem_free(analysis->path);
    analysis->path = NULL;
    analysis->path_count = 0;
}
