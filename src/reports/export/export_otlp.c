// SPDX-License-Identifier: Apache-2.0
/* OTLP: message ProfilesData of opentelemetry/proto/profiles/v1development/profiles.proto, as in
 * releases 1.10 and 1.11 of the protocol. v1development is not stable (1.9 has other field
 * numbers), so the format's name contains its version.
 *
 * Each stall is a profile. Element 0 of each table of the dictionary is empty, as the protocol
 * requires. Equal samples are one sample with several values. */
#include "base_bytes.h"
#include "export_formats.h"
#include "export_otlp_samples.h"
#include "export_strings.h"

enum word {
    WORD_STALL,
    WORD_NANOSECONDS,
    WORD_THREADS,
    WORD_COUNT,
    WORD_CALLS,
    WORD_BLOCKS,
    WORD_BUILD_ID,
    WORD_THREAD_ID,
    WORD_THREAD_NAME,
    WORDS,
};

static const char *const words[WORDS] = {
    [WORD_STALL] = "stall",
    [WORD_NANOSECONDS] = "nanoseconds",
    [WORD_THREADS] = "threads",
    [WORD_COUNT] = "count",
    [WORD_CALLS] = "calls",
    [WORD_BLOCKS] = "blocks",
    [WORD_BUILD_ID] = "process.executable.build_id.gnu",
    [WORD_THREAD_ID] = "thread.id",
    [WORD_THREAD_NAME] = "thread.name",
};

/* Field numbers of ProfilesDictionary. */
enum { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS };

struct otlp {
    const struct sonde__export_set *set;
    struct sonde__export_tracks tracks;
    struct sonde__export_otlp_samples samples;
    struct sonde__export_path path;
};

static uint32_t word(const struct otlp *o, enum word w)
{
    return sonde__export_string_of_word(o->set, w);
}

static bool is_going(const struct sonde__export_wire *wire)
{
    return !wire->stopped && !wire->failed;
}

/* --- the dictionary --- */

static uint32_t location_of(const struct otlp *o, const struct sonde__export_place *place)
{
    const struct sonde__export_functions *t = &o->set->functions;
    uint32_t frames = sonde__report_frame_count(o->set->report);
    if (place->frame != 0) {
        return place->frame;
    }
    return frames + 1 +
           (place->function < SONDE__EXPORT_FIXED
                ? place->function
                : place->function - t->named + SONDE__EXPORT_FIXED);
}

/* The attribute table: build-ids of all images, then id and name of all threads. */
static uint32_t attribute_of_image(uint32_t image)
{
    return image;
}

static uint32_t attribute_of_track(const struct otlp *o, uint32_t track)
{
    return sonde__report_image_count(o->set->report) + 1 + 2 * track;
}

static void put_index(struct sonde__proto *m, uint32_t field, const uint32_t *values,
                      uint32_t count)
{
    size_t mark = sonde__proto_begin(m, field);
    for (uint32_t i = 0; i < count; i++) {
        sonde__proto_varint(m, values[i]);
    }
    sonde__proto_end(m, mark);
}

static void put_mappings(const struct otlp *o, struct sonde__export_wire *wire)
{
    sonde__export_wire_put(wire, MAPPINGS);
    for (uint32_t id = 1; id <= sonde__report_image_count(o->set->report); id++) {
        const struct sonde__report_image *image = sonde__report_image(o->set->report, id);
        const uint32_t attribute = attribute_of_image(id);
        sonde__proto_uint(&wire->message, 2, UINT64_MAX); /* addresses are offsets in the file */
        sonde__proto_uint(&wire->message, 4, image->path);
        if (image->build_id.size != 0) {
            put_index(&wire->message, 5, &attribute, 1);
        }
        sonde__export_wire_put(wire, MAPPINGS);
    }
}

static void put_line(struct sonde__proto *m, uint32_t function, uint32_t line)
{
    size_t mark = sonde__proto_begin(m, 3);
    sonde__proto_uint(m, 1, (uint64_t)function + 1);
    sonde__proto_uint(m, 2, line);
    sonde__proto_end(m, mark);
}

static void put_locations(const struct otlp *o, struct sonde__export_wire *wire)
{
    const struct sonde__export_functions *t = &o->set->functions;
    struct sonde__proto *m = &wire->message;
    sonde__export_wire_put(wire, LOCATIONS);
    for (uint32_t id = 1; id <= sonde__report_frame_count(o->set->report) && is_going(wire); id++) {
        const struct sonde__report_frame *f = sonde__report_frame(o->set->report, id);
        sonde__proto_uint(m, 1, f->image);
        sonde__proto_uint(m, 2, f->offset);
        for (uint32_t i = 0; f->lost_count == 0 && i < f->inlined_count; i++) {
            put_line(m, t->of_inlined[t->first_inlined[id] + i], f->inlined[i].line);
        }
        put_line(m, t->of_frame[id], f->line);
        sonde__export_wire_put(wire, LOCATIONS);
    }
    for (uint32_t i = 0; i < t->count; i = i + 1 == SONDE__EXPORT_FIXED ? t->named : i + 1) {
        put_line(m, i, 0);
        sonde__export_wire_put(wire, LOCATIONS);
    }
}

static void put_functions(const struct otlp *o, struct sonde__export_wire *wire)
{
    const struct sonde__export_functions *t = &o->set->functions;
    sonde__export_wire_put(wire, FUNCTIONS);
    for (uint32_t i = 0; i < t->count && is_going(wire); i++) {
        sonde__proto_uint(&wire->message, 1, sonde__export_string_of_function(o->set, i));
        sonde__proto_uint(&wire->message, 2, t->list[i].name);
        sonde__proto_uint(&wire->message, 3, t->list[i].file);
        sonde__export_wire_put(wire, FUNCTIONS);
    }
}

/* An AnyValue; with text null, a number. */
static void put_value(struct sonde__proto *m, const char *text, int64_t number)
{
    size_t mark = sonde__proto_begin(m, 2);
    if (text != NULL) {
        sonde__export_wire_string(m, 1, text);
    } else {
        sonde__proto_int(m, 3, number);
    }
    sonde__proto_end(m, mark);
}

static void put_attribute(struct sonde__export_wire *wire, uint32_t key, const char *text,
                          int64_t number)
{
    sonde__proto_uint(&wire->message, 1, key);
    put_value(&wire->message, text, number);
    sonde__export_wire_put(wire, ATTRIBUTES);
}

static void put_attributes(const struct otlp *o, struct sonde__export_wire *wire)
{
    sonde__export_wire_put(wire, ATTRIBUTES);
    for (uint32_t id = 1; id <= sonde__report_image_count(o->set->report); id++) {
        char text[SONDE__REPORT_BUILD_ID_TEXT];
        (void)sonde__report_build_id_text(&sonde__report_image(o->set->report, id)->build_id, text);
        put_attribute(wire, word(o, WORD_BUILD_ID), text, 0);
    }
    for (uint32_t i = 0; i < o->tracks.count && is_going(wire); i++) {
        const struct sonde__export_track *track = &o->tracks.list[i];
        put_attribute(wire, word(o, WORD_THREAD_ID), NULL, track->tid);
        put_attribute(wire, word(o, WORD_THREAD_NAME),
                      sonde__report_text(o->set->report, track->name), 0);
    }
}

static void put_stacks(const struct otlp *o, struct sonde__export_wire *wire)
{
    struct sonde__export_path path = o->path; /* copies share the places */
    sonde__export_wire_put(wire, STACKS);
    for (uint32_t i = 1; i < o->samples.stack_count && is_going(wire); i++) {
        const struct sonde__export_otlp_stack *stack = &o->samples.stacks[i];
        sonde__export_path_read(&path, &o->set->functions, stack->node, stack->leaf, 0);
        size_t mark = sonde__proto_begin(&wire->message, 1);
        for (uint32_t k = 0; k < path.count; k++) {
            if (path.places[k].inlined == 0) { /* inlined calls are lines of their location */
                sonde__proto_varint(&wire->message, location_of(o, &path.places[k]));
            }
        }
        sonde__proto_end(&wire->message, mark);
        sonde__export_wire_put(wire, STACKS);
    }
}

static void put_dictionary(struct sonde__export_wire *wire, const void *ctx)
{
    const struct otlp *o = ctx;
    put_mappings(o, wire);
    put_locations(o, wire);
    put_functions(o, wire);
    sonde__export_wire_put(wire, LINKS);
    sonde__export_wire_strings(wire, STRINGS, o->set, words, WORDS);
    put_attributes(o, wire);
    put_stacks(o, wire);
}

/* --- the profiles --- */

struct profile {
    const struct otlp *otlp;
    const struct sonde__export_otlp_series *series;
};

static void put_type(const struct otlp *o, struct sonde__proto *m,
                     enum sonde__export_series_kind kind)
{
    static const enum word types[] = {
        [SONDE__EXPORT_STALL] = WORD_STALL,    [SONDE__EXPORT_LOOSE] = WORD_STALL,
        [SONDE__EXPORT_OTHERS] = WORD_THREADS, [SONDE__EXPORT_THREADS] = WORD_THREADS,
        [SONDE__EXPORT_CALLS] = WORD_CALLS,    [SONDE__EXPORT_BLOCKS] = WORD_BLOCKS,
    };
    size_t mark = sonde__proto_begin(m, 1);
    sonde__proto_uint(m, 1, word(o, types[kind]));
    sonde__proto_uint(m, 2, word(o, sonde__export_is_time(kind) ? WORD_NANOSECONDS : WORD_COUNT));
    sonde__proto_end(m, mark);
}

static void put_thread(const struct otlp *o, struct sonde__proto *m, int64_t tid)
{
    uint32_t track = sonde__export_track_of(&o->tracks, tid);
    if (track != SONDE__TABLE_NONE) {
        const uint32_t both[] = {attribute_of_track(o, track), attribute_of_track(o, track) + 1};
        put_index(m, 2, both, 2);
    }
}

/* Write entries of one stack. Entries of a stall have timestamps. */
static void put_sample(const struct profile *p, struct sonde__proto *m, uint32_t from, uint32_t to)
{
    const struct sonde__export_otlp_entry *entries = p->otlp->samples.entries;
    const struct sonde__report *r = p->otlp->set->report;
    uint64_t time_ns = sonde__report_header(r)->time_unix_ns, sum = 0;
    bool has_times = sonde__export_is_time(p->series->series.kind) && time_ns != 0;
    sonde__proto_uint(m, 1, entries[from].key >> 32);
    put_thread(p->otlp, m, entries[from].tid);
    size_t mark = sonde__proto_begin(m, 4);
    for (uint32_t i = from; i < to; i++) {
        sum += entries[i].weight;
        if (has_times || i + 1 == to) {
            uint64_t value = has_times ? entries[i].weight : sum;
            sonde__proto_varint(m, value <= INT64_MAX ? value : INT64_MAX);
        }
    }
    sonde__proto_end(m, mark);
    if (has_times) {
        mark = sonde__proto_begin(m, 5);
        for (uint32_t i = from; i < to; i++) {
            uint8_t bytes[8];
            sonde__base_put_le64(bytes, time_ns + entries[i].at_ns);
            sonde__proto_raw(m, bytes, sizeof bytes);
        }
        sonde__proto_end(m, mark);
    }
}

/* Keep threads apart that have the same stack. */
static bool is_split(const struct profile *p, const struct sonde__export_otlp_entry *a,
                     const struct sonde__export_otlp_entry *b)
{
    return p->series->series.kind == SONDE__EXPORT_THREADS || a->tid != b->tid;
}

static void put_profile(struct sonde__export_wire *wire, const void *ctx)
{
    const struct profile *p = ctx;
    const struct sonde__export_otlp_entry *entries = p->otlp->samples.entries;
    const struct sonde__report *r = p->otlp->set->report;
    uint32_t end = p->series->first + p->series->count;
    uint64_t time_ns = sonde__report_header(r)->time_unix_ns;
    put_type(p->otlp, &wire->message, p->series->series.kind);
    sonde__export_wire_put(wire, 0);
    for (uint32_t from = p->series->first, to = from; from < end && is_going(wire); from = to) {
        while (to < end && entries[to].key >> 32 == entries[from].key >> 32 &&
               (to == from || !is_split(p, &entries[from], &entries[to]))) {
            to++;
        }
        put_sample(p, &wire->message, from, to);
        sonde__export_wire_put(wire, 2);
    }
    if (p->series->series.kind == SONDE__EXPORT_STALL) {
        const struct sonde__report_stall *stall = sonde__report_stall(r, p->series->series.stall);
        time_ns += time_ns != 0 ? stall->begin_ns : 0;
        sonde__proto_fixed64(&wire->message, 3, time_ns);
        sonde__proto_uint(&wire->message, 4, stall->duration_ns);
    } else {
        sonde__proto_fixed64(&wire->message, 3, time_ns);
    }
    sonde__export_wire_put(wire, 0);
}

static void put_scope(struct sonde__export_wire *wire, const void *ctx)
{
    const struct otlp *o = ctx;
    sonde__export_wire_string(&wire->message, 1, "sonde");
    sonde__export_wire_string(&wire->message, 2, sonde__report_header(o->set->report)->tool);
    sonde__export_wire_put(wire, 1);
    for (uint32_t i = 0; i < o->samples.series_count && is_going(wire); i++) {
        const struct profile profile = {o, &o->samples.series[i]};
        sonde__export_wire_long(wire, 2, put_profile, &profile);
    }
}

static void put_key(struct sonde__proto *m, const char *key, const char *text, int64_t number)
{
    size_t mark = sonde__proto_begin(m, 1);
    sonde__export_wire_string(m, 1, key);
    put_value(m, text, number);
    sonde__proto_end(m, mark);
}

static void put_resource(struct sonde__export_wire *wire, const void *ctx)
{
    const struct otlp *o = ctx;
    const struct sonde__report_header *header = sonde__report_header(o->set->report);
    put_key(&wire->message, "process.pid", NULL, header->pid);
    put_key(&wire->message, "process.executable.path", header->executable, 0);
    put_key(&wire->message, "host.arch", header->arch, 0);
    put_key(&wire->message, "os.description", header->os, 0);
    sonde__export_wire_put(wire, 1);
    sonde__export_wire_long(wire, 2, put_scope, o);
}

bool sonde__export_otlp(const struct sonde__export_set *set, struct sonde__report_sink sink)
{
    struct otlp o = {.set = set};
    struct sonde__export_wire wire;
    bool done = sonde__export_path_make(&o.path) == SONDE_OK &&
                sonde__export_tracks_make(&o.tracks, set->report) == SONDE_OK &&
                sonde__export_otlp_gather(&o.samples, set) == SONDE_OK;
    if (done) {
        sonde__export_wire_init(&wire, sink);
        sonde__export_wire_long(&wire, 1, put_resource, &o);
        sonde__export_wire_long(&wire, 2, put_dictionary, &o);
        done = sonde__export_wire_done(&wire);
    }
    sonde__export_otlp_done(&o.samples);
    sonde__export_tracks_done(&o.tracks);
    sonde__export_path_done(&o.path);
    return done;
}
