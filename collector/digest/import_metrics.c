// SPDX-License-Identifier: Apache-2.0
/* Diagnostics of Apple's MetricKit as JSON (Apple, "MXDiagnosticPayload", "MXCallStackTree"): hangs
 * and slow launches become stalls with all stacks of their tree as samples, crashes a thread with a
 * note. Exceptions of CPU and disk use are no events here, and are counted in a note.
 *
 * A frame has "subFrames". Whether these are callers or callees is not documented, and not the same
 * in all trees: dyld, which starts programs, is at the outermost end. Without it the frame at the
 * root is taken for the innermost, as in trees of crashes. Binaries have a name and no path: the
 * program is what dyld calls, or what is named as the end of the bundle's identifier. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_model.h"
#include "mem_heap.h"

enum { DEPTH = 2000, NAME = 128 };

struct metrics_level {
    uint32_t in, at; /* an array of frames, and the current one */
};

struct metrics {
    struct import *import;
    struct sonde__tape tape;
    struct metrics_level levels[DEPTH];
    uint32_t depth;
    bool has_outer_root; /* of the tree that is read */
    char program[NAME];
    struct sonde__report_sample *samples; /* of one diagnostic */
    size_t sample_count, sample_capacity;
};

static void copy(const struct metrics *m, uint32_t in, const char *path, char *to, size_t size)
{
    to[0] = '\0';
    (void)sonde__tape_string(&m->tape, sonde__tape_get(&m->tape, in, path), to, size);
}

static uint64_t number(const struct metrics *m, uint32_t in, const char *path)
{
    uint64_t value = 0;
    (void)sonde__tape_uint(&m->tape, sonde__tape_get(&m->tape, in, path), &value);
    return value;
}

/* --- walking a tree --- */

static void begin_tree(struct metrics *m, uint32_t stack)
{
    uint32_t roots = sonde__tape_get(&m->tape, stack, "callStackRootFrames");
    m->levels[0] = (struct metrics_level){roots, sonde__tape_first(&m->tape, roots)};
    m->depth = 1;
}

/* Go to the next frame without frames in it: the path to it is in the levels. False: there is no
 * more. */
static bool next_leaf(struct metrics *m, bool is_first)
{
    while (m->depth != 0) {
        struct metrics_level *level = &m->levels[m->depth - 1];
        if (!is_first) {
            level->at = sonde__tape_next(&m->tape, level->in, level->at);
        }
        if (level->at == SONDE__TAPE_NONE) {
            m->depth--;
            is_first = false;
            continue;
        }
        uint32_t in = sonde__tape_get(&m->tape, level->at, "subFrames");
        uint32_t first = sonde__tape_first(&m->tape, in);
        if (first == SONDE__TAPE_NONE || m->depth == DEPTH) {
            return true;
        }
        m->levels[m->depth++] = (struct metrics_level){in, first};
        is_first = true;
    }
    return false;
}

/* --- which end is outermost, and what the program is --- */

static bool is_dyld(const struct metrics *m, uint32_t frame)
{
    uint32_t name = sonde__tape_get(&m->tape, frame, "binaryName");
    return sonde__tape_is(&m->tape, name, "dyld") ||
           sonde__tape_is(&m->tape, name, "libdyld.dylib");
}

static void look_at_tree(struct metrics *m, uint32_t stack)
{
    m->has_outer_root = false;
    begin_tree(m, stack);
    if (!next_leaf(m, true)) {
        return;
    }
    uint32_t root = m->levels[0].at, leaf = m->levels[m->depth - 1].at;
    m->has_outer_root = m->depth > 1 && is_dyld(m, root) && !is_dyld(m, leaf);
    uint32_t outermost = m->has_outer_root ? 0 : m->depth - 1;
    for (uint32_t i = 0; i < m->depth && m->program[0] == '\0'; i++) {
        uint32_t at = m->has_outer_root ? i : m->depth - 1 - i;
        if (!is_dyld(m, m->levels[at].at)) {
            if (is_dyld(m, m->levels[outermost].at)) {
                copy(m, m->levels[at].at, "binaryName", m->program, sizeof m->program);
            }
            return;
        }
    }
}

/* "com.example.App" */
static void look_at_bundle(struct metrics *m, uint32_t about)
{
    char bundle[NAME];
    copy(m, about, "bundleIdentifier", bundle, sizeof bundle);
    const char *dot = strrchr(bundle, '.');
    if (m->program[0] == '\0') {
        snprintf(m->program, sizeof m->program, "%s", dot != NULL ? dot + 1 : bundle);
    }
}

/* --- stacks --- */

static void add_frame(struct metrics *m, uint32_t *node, uint32_t at, bool is_innermost)
{
    char name[NAME], uuid[64];
    copy(m, at, "binaryName", name, sizeof name);
    copy(m, at, "binaryUUID", uuid, sizeof uuid);
    bool is_program = name[0] != '\0' && strcasecmp(name, m->program) == 0;
    const struct sonde__report_image image = {
        .path = sonde__report_string(m->import->report, name),
        .build_id = import_build_id(uuid),
        .flags = is_program ? SONDE__IMAGE_MAIN | SONDE__REPORT_IMAGE_APP : 0};
    const struct sonde__report_frame frame = {
        .image = sonde__report_add_image(m->import->report, &image),
        .offset =
            number(m, at, "offsetIntoBinaryTextSegment") + (is_program ? IMPORT_PROGRAM_BASE : 0),
        .how = is_innermost ? SONDE_FOUND_REGISTERS : SONDE_FOUND_FP};
    *node = import_frame(m->import, *node, &frame);
}

/* The stack of the path to the current leaf. */
static uint32_t add_stack(struct metrics *m)
{
    uint32_t node = 0;
    for (uint32_t i = 0; i < m->depth; i++) {
        uint32_t at = m->has_outer_root ? i : m->depth - 1 - i;
        add_frame(m, &node, m->levels[at].at, i + 1 == m->depth);
    }
    return node;
}

/* All stacks of a tree, weighted by their samples. False: no memory. */
static bool add_samples(struct metrics *m, uint32_t stack)
{
    look_at_tree(m, stack);
    begin_tree(m, stack);
    for (bool is_first = true; next_leaf(m, is_first) && m->import->frames < IMPORT_FRAMES_MAX;
         is_first = false) {
        uint64_t count = number(m, m->levels[m->depth - 1].at, "sampleCount");
        const struct sonde__report_sample sample = {.weight_ns = count == 0           ? 1
                                                                 : count < UINT32_MAX ? count
                                                                                      : UINT32_MAX,
                                                    .stack = add_stack(m),
                                                    .phase = SONDE__REPORT_PHASE_UNKNOWN};
        if (m->sample_count < SONDE__REPORT_SAMPLES_MAX &&
            !SONDE__MEM_ADD(m->samples, m->sample_count, m->sample_capacity, sample)) {
            return false;
        }
    }
    return true;
}

/* Samples count; a report has times. */
static void spread(struct metrics *m, uint64_t duration_ns)
{
    double total = 0, until = 0;
    for (size_t i = 0; i < m->sample_count; i++) {
        total += (double)m->samples[i].weight_ns;
    }
    for (size_t i = 0; i < m->sample_count && duration_ns != 0; i++) {
        double share = (double)m->samples[i].weight_ns / total * (double)duration_ns;
        m->samples[i].time_ns = (uint64_t)until;
        m->samples[i].weight_ns = (uint64_t)share;
        until += share;
    }
}

/* --- diagnostics --- */

/* The stack of the thread that it is about: without a mark, the first. */
static uint32_t attributed(const struct metrics *m, uint32_t diagnostic)
{
    uint32_t stacks = sonde__tape_get(&m->tape, diagnostic, "callStackTree.callStacks");
    SONDE__TAPE_EACH(at, &m->tape, stacks)
    {
        if (sonde__tape_true(&m->tape, sonde__tape_get(&m->tape, at, "threadAttributed"))) {
            return at;
        }
    }
    return sonde__tape_first(&m->tape, stacks);
}

static bool add_stall(struct metrics *m, uint32_t diagnostic, const char *duration,
                      enum sonde__report_stall_kind kind)
{
    char text[NAME];
    m->sample_count = 0;
    if (!add_samples(m, attributed(m, diagnostic))) {
        return false;
    }
    copy(m, diagnostic, duration, text, sizeof text);
    uint64_t duration_ns = import_duration(text);
    spread(m, duration_ns);
    const struct sonde__report_stall stall = {.duration_ns = duration_ns,
                                              .main = true,
                                              .kind = kind,
                                              .samples = m->samples,
                                              .sample_count = (uint32_t)m->sample_count};
    sonde__report_add_stall(m->import->report, &stall);
    return true;
}

static bool add_hang(struct metrics *m, uint32_t diagnostic)
{
    return add_stall(m, diagnostic, "diagnosticMetaData.hangDuration", SONDE__REPORT_STALL_LOOP);
}

static bool add_launch(struct metrics *m, uint32_t diagnostic)
{
    return add_stall(m, diagnostic, "diagnosticMetaData.launchDuration",
                     SONDE__REPORT_STALL_LAUNCH);
}

/* "EXC_BAD_ACCESS, signal 11" would need tables of the system: the numbers are what it says. */
static bool add_crash(struct metrics *m, uint32_t diagnostic)
{
    char what[NAME];
    uint32_t about = sonde__tape_get(&m->tape, diagnostic, "diagnosticMetaData");
    snprintf(what, sizeof what, "exception %llu, signal %llu",
             (unsigned long long)number(m, about, "exceptionType"),
             (unsigned long long)number(m, about, "signal"));
    struct sonde__report_thread thread = {.note = import_error_note(m->import, true, what)};
    uint32_t stack = attributed(m, diagnostic);
    look_at_tree(m, stack);
    begin_tree(m, stack);
    if (next_leaf(m, true)) {
        thread.stack = add_stack(m);
    }
    (void)sonde__report_add_thread(m->import->report, &thread);
    return true;
}

static const struct metrics_kind {
    const char *name;
    bool (*add)(struct metrics *m, uint32_t diagnostic);
} kinds[] = {{"hangDiagnostics", add_hang},
             {"appLaunchDiagnostics", add_launch},
             {"crashDiagnostics", add_crash},
             {"cpuExceptionDiagnostics", NULL},
             {"diskWriteExceptionDiagnostics", NULL}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The first diagnostic of the payload: all are of one app. */
static uint32_t first_of(const struct metrics *m)
{
    for (unsigned i = 0; i < KINDS; i++) {
        uint32_t first = sonde__tape_first(&m->tape, sonde__tape_get(&m->tape, 0, kinds[i].name));
        if (first != SONDE__TAPE_NONE) {
            return first;
        }
    }
    return SONDE__TAPE_NONE;
}

static bool add_all(struct metrics *m)
{
    for (unsigned i = 0; i < KINDS; i++) {
        uint32_t all = sonde__tape_get(&m->tape, 0, kinds[i].name), left_out = 0;
        SONDE__TAPE_EACH(at, &m->tape, all)
        {
            if (kinds[i].add == NULL) {
                left_out++;
            } else if (!kinds[i].add(m, at)) {
                return false;
            }
        }
        if (left_out != 0) {
            char note[NAME];
            snprintf(note, sizeof note, "%u of %s are not read", left_out, kinds[i].name);
            sonde__report_add_note(m->import->report, note);
        }
    }
    return true;
}

/* --- the header --- */

static void set_header(struct metrics *m, uint32_t diagnostic)
{
    uint32_t about = sonde__tape_get(&m->tape, diagnostic, "diagnosticMetaData");
    char version[64], bundle[64], build[160], os[128], model[64], arch[32], time[64];
    copy(m, about, "appVersion", version, sizeof version);
    copy(m, about, "appBuildVersion", bundle, sizeof bundle);
    copy(m, about, "osVersion", os, sizeof os);
    copy(m, about, "deviceType", model, sizeof model);
    copy(m, about, "platformArchitecture", arch, sizeof arch);
    copy(m, 0, "timeStampEnd", time, sizeof time);
    bool has_both = version[0] != '\0' && bundle[0] != '\0';
    snprintf(build, sizeof build, has_both ? "%s (%s)" : "%s%s", version, bundle);
    look_at_tree(m, attributed(m, diagnostic));
    look_at_bundle(m, about);
    bool has_stalls = sonde__tape_get(&m->tape, 0, kinds[0].name) != SONDE__TAPE_NONE ||
                      sonde__tape_get(&m->tape, 0, kinds[1].name) != SONDE__TAPE_NONE;
    const struct sonde__report_header header = {.kind = has_stalls ? SONDE__REPORT_WATCH
                                                                   : SONDE__REPORT_STACKS,
                                                .tool = "MetricKit",
                                                .executable = m->program,
                                                .os = os,
                                                .arch = arch,
                                                .source = "metrickit",
                                                .time_unix_ns = import_time(time),
                                                .report_id = m->import->id,
                                                .build = build,
                                                .device = {.model = model, .os = os}};
    sonde__report_set_header(m->import->report, &header);
}

static enum sonde_status read_payload(struct metrics *m)
{
    uint32_t first = first_of(m);
    if (first == SONDE__TAPE_NONE) {
        return import_fail(m->import, "MetricKit: it has no diagnostics, which are what is read");
    }
    set_header(m, first);
    return add_all(m) ? SONDE_OK : SONDE_MEMORY;
}

enum sonde_status import_metrics(struct import *import, const char *bytes, size_t size)
{
    struct metrics *m = sonde__mem_alloc_zeroed(sizeof *m);
    if (m == NULL) {
        return SONDE_MEMORY;
    }
    m->import = import;
    enum sonde_status status =
        sonde__tape_read(bytes, size, IMPORT_VALUES_MAX, &m->tape, NULL, import->error);
    if (status == SONDE_OK) {
        status = read_payload(m);
    }
    sonde__tape_done(&m->tape);
    sonde__mem_free(m->samples);
    sonde__mem_free(m);
    return status;
}
