// SPDX-License-Identifier: Apache-2.0
/* pprof: message Profile of profile.proto (github.com/google/pprof), in a gzip container.
 *
 * A location is a frame. Its lines are the inlined calls, innermost first, and the function. The
 * report's addresses are offsets in files, so each mapping spans all addresses from 0, which tells
 * pprof's tools not to adjust them. Samples have no time; thread, stall and state are labels. */
#include "export_formats.h"
#include "export_gzip.h"
#include "export_strings.h"
#include "mem_heap.h"

enum word {
    WORD_STALL,
    WORD_NANOSECONDS,
    WORD_THREADS,
    WORD_COUNT,
    WORD_CALLS,
    WORD_BLOCKS,
    WORD_SPACE,
    WORD_BYTES,
    WORD_THREAD,
    WORD_TID,
    WORD_STATE,
    WORD_RUNNING,
    WORD_BLOCKED,
    WORD_DISK,
    WORD_WAITS_FOR,
    WORDS,
};

static const char *const words[WORDS] = {
    [WORD_STALL] = "stall",         [WORD_NANOSECONDS] = "nanoseconds",
    [WORD_THREADS] = "threads",     [WORD_COUNT] = "count",
    [WORD_CALLS] = "calls",         [WORD_BLOCKS] = "blocks",
    [WORD_SPACE] = "space",         [WORD_BYTES] = "bytes",
    [WORD_THREAD] = "thread",       [WORD_TID] = "tid",
    [WORD_STATE] = "state",         [WORD_RUNNING] = "running",
    [WORD_BLOCKED] = "blocked",     [WORD_DISK] = "disk",
    [WORD_WAITS_FOR] = "waits_for",
};

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_COMMENT = 13,
};

struct pprof {
    struct sonde__export_wire wire;
    struct sonde__export_gzip gzip;
    const struct sonde__export_set *set;
    struct sonde__export_path path;
    struct sonde__export_series series;
};

static uint32_t word(const struct pprof *p, enum word w)
{
    return sonde__export_string_of_word(p->set, w);
}

static void put_type(struct pprof *p, enum word type, enum word unit)
{
    sonde__proto_uint(&p->wire.message, 1, word(p, type));
    sonde__proto_uint(&p->wire.message, 2, word(p, unit));
    sonde__export_wire_put(&p->wire, PROFILE_SAMPLE_TYPE);
}

static void put_types(struct pprof *p)
{
    switch (p->series.kind) {
    case SONDE__EXPORT_STALL:
    case SONDE__EXPORT_LOOSE:
        put_type(p, WORD_STALL, WORD_NANOSECONDS);
        break;
    case SONDE__EXPORT_CALLS:
        put_type(p, WORD_CALLS, WORD_COUNT);
        break;
    case SONDE__EXPORT_BLOCKS:
        put_type(p, WORD_BLOCKS, WORD_COUNT);
        put_type(p, WORD_SPACE, WORD_BYTES);
        break;
    default:
        put_type(p, WORD_THREADS, WORD_COUNT);
        break;
    }
}

/* The location of a place. Functions without a frame have locations after those of the frames. */
static uint64_t location_of(const struct pprof *p, const struct sonde__export_place *place)
{
    return place->frame != 0
               ? place->frame
               : (uint64_t)sonde__report_frame_count(p->set->report) + 1 + place->function;
}

static void put_label(struct pprof *p, enum word key, uint32_t text, int64_t number)
{
    struct sonde__proto *m = &p->wire.message;
    if (text != 0 || number != 0) {
        size_t mark = sonde__proto_begin(m, 3);
        sonde__proto_uint(m, 1, word(p, key));
        sonde__proto_uint(m, 2, text);
        sonde__proto_int(m, 3, number);
        sonde__proto_end(m, mark);
    }
}

static void put_labels(struct pprof *p, const struct sonde__export_sample *sample)
{
    static const enum word states[] = {WORDS, WORD_RUNNING, WORD_BLOCKED, WORD_DISK, WORDS};
    put_label(p, WORD_THREAD, sample->thread, 0);
    put_label(p, WORD_TID, 0, sample->tid);
    if (p->series.kind == SONDE__EXPORT_STALL) {
        put_label(p, WORD_STALL, 0, (int64_t)p->series.stall + 1);
    }
    if (sonde__export_state(sample->sample) != NULL) {
        put_label(p, WORD_STATE, word(p, states[sample->sample->phase]), 0);
        put_label(p, WORD_WAITS_FOR, sample->sample->detail, 0);
    }
}

static bool put_sample(void *ctx, const struct sonde__export_sample *sample)
{
    struct pprof *p = ctx;
    struct sonde__proto *m = &p->wire.message;
    sonde__export_path_read(&p->path, &p->set->functions, sample->stack, sample->leaf, 0);
    size_t mark = sonde__proto_begin(m, 1);
    for (uint32_t i = 0; i < p->path.count; i++) {
        if (p->path.places[i].inlined == 0) { /* inlined calls are lines of their location */
            sonde__proto_varint(m, location_of(p, &p->path.places[i]));
        }
    }
    sonde__proto_end(m, mark);
    mark = sonde__proto_begin(m, 2);
    sonde__proto_varint(m, sample->weight <= INT64_MAX ? sample->weight : INT64_MAX);
    if (p->series.kind == SONDE__EXPORT_BLOCKS) {
        sonde__proto_varint(m, sample->bytes <= INT64_MAX ? sample->bytes : INT64_MAX);
    }
    sonde__proto_end(m, mark);
    put_labels(p, sample);
    sonde__export_wire_put(&p->wire, PROFILE_SAMPLE);
    return !p->wire.stopped && !p->wire.failed;
}

static void put_mappings(struct pprof *p)
{
    struct sonde__proto *m = &p->wire.message;
    for (uint32_t id = 1; id <= sonde__report_image_count(p->set->report); id++) {
        const struct sonde__report_image *image = sonde__report_image(p->set->report, id);
        sonde__proto_uint(m, 1, id);
        sonde__proto_uint(m, 3, UINT64_MAX);
        sonde__proto_uint(m, 5, image->path);
        /* build-ids are not strings of the report; they follow the words in the string table */
        sonde__proto_uint(m, 6, image->build_id.size != 0 ? word(p, WORDS) + id - 1 : 0);
        sonde__proto_uint(m, 7, 1);
        sonde__proto_uint(m, 8, 1);
        sonde__proto_uint(m, 9, 1);
        sonde__proto_uint(m, 10, 1);
        sonde__export_wire_put(&p->wire, PROFILE_MAPPING);
    }
}

static void put_line(struct pprof *p, uint32_t function, uint32_t line)
{
    struct sonde__proto *m = &p->wire.message;
    size_t mark = sonde__proto_begin(m, 4);
    sonde__proto_uint(m, 1, (uint64_t)function + 1);
    sonde__proto_uint(m, 2, line);
    sonde__proto_end(m, mark);
}

static void put_locations(struct pprof *p)
{
    const struct sonde__export_functions *t = &p->set->functions;
    struct sonde__proto *m = &p->wire.message;
    uint32_t frames = sonde__report_frame_count(p->set->report);
    for (uint32_t id = 1; id <= frames && !p->wire.stopped; id++) {
        const struct sonde__report_frame *f = sonde__report_frame(p->set->report, id);
        sonde__proto_uint(m, 1, id);
        sonde__proto_uint(m, 2, f->image);
        sonde__proto_uint(m, 3, f->offset);
        for (uint32_t i = 0; f->lost_count == 0 && i < f->inlined_count; i++) {
            put_line(p, t->of_inlined[t->first_inlined[id] + i], f->inlined[i].line);
        }
        put_line(p, t->of_frame[id], f->line);
        sonde__export_wire_put(&p->wire, PROFILE_LOCATION);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        if (!sonde__export_has_frame(&t->list[i])) {
            sonde__proto_uint(m, 1, (uint64_t)frames + 1 + i);
            put_line(p, i, 0);
            sonde__export_wire_put(&p->wire, PROFILE_LOCATION);
        }
    }
}

static void put_functions(struct pprof *p)
{
    const struct sonde__export_functions *t = &p->set->functions;
    for (uint32_t i = 0; i < t->count && !p->wire.stopped; i++) {
        struct sonde__proto *m = &p->wire.message;
        sonde__proto_uint(m, 1, (uint64_t)i + 1);
        sonde__proto_uint(m, 2, sonde__export_string_of_function(p->set, i));
        sonde__proto_uint(m, 3, t->list[i].name);
        sonde__proto_uint(m, 4, t->list[i].file);
        sonde__export_wire_put(&p->wire, PROFILE_FUNCTION);
    }
}

static void put_strings(struct pprof *p)
{
    sonde__export_wire_strings(&p->wire, PROFILE_STRING_TABLE, p->set, words, WORDS);
    for (uint32_t id = 1; id <= sonde__report_image_count(p->set->report); id++) {
        char text[SONDE__REPORT_BUILD_ID_TEXT];
        (void)sonde__report_build_id_text(&sonde__report_image(p->set->report, id)->build_id, text);
        sonde__export_wire_string(&p->wire.message, PROFILE_STRING_TABLE, text);
        sonde__export_wire_put(&p->wire, 0);
    }
    for (uint32_t i = 0; i < sonde__report_note_count(p->set->report); i++) {
        sonde__export_wire_string(&p->wire.message, PROFILE_STRING_TABLE,
                                  sonde__report_note(p->set->report, i));
        sonde__export_wire_put(&p->wire, 0);
    }
}

static void put_rest(struct pprof *p)
{
    const struct sonde__report *r = p->set->report;
    struct sonde__proto *m = &p->wire.message;
    uint64_t notes = (uint64_t)word(p, WORDS) + sonde__report_image_count(r);
    sonde__proto_uint(m, PROFILE_TIME_NANOS, sonde__report_header(r)->time_unix_ns);
    if (sonde__report_end(r) != NULL) {
        sonde__proto_uint(m, PROFILE_DURATION_NANOS, sonde__report_end(r)->watched_ns);
    }
    for (uint32_t i = 0; i < sonde__report_note_count(r); i++) {
        sonde__proto_uint(m, PROFILE_COMMENT, notes + i);
    }
    sonde__export_wire_put(&p->wire, 0);
}

static void put_all(struct pprof *p)
{
    struct sonde__export_series next = {.kind = SONDE__EXPORT_THREADS};
    uint32_t at = 0;
    bool more = sonde__export_next(p->set, &at, &next);
    p->series = next;
    put_types(p);
    for (; more && !p->wire.stopped; more = sonde__export_next(p->set, &at, &next)) {
        p->series = next;
        sonde__export_each(p->set, &p->series, put_sample, p);
    }
    put_mappings(p);
    put_locations(p);
    put_functions(p);
    put_strings(p);
    put_rest(p);
}

bool sonde__export_pprof(const struct sonde__export_set *set, struct sonde__report_sink sink)
{
    struct pprof *p = sonde__mem_alloc_zeroed(sizeof *p); /* 64 KiB of it is the block */
    bool done = p != NULL && sonde__export_path_make(&p->path) == SONDE_OK;
    if (done) {
        p->set = set;
        sonde__export_gzip_begin(&p->gzip, sink);
        sonde__export_wire_init(&p->wire, sonde__export_gzip_sink(&p->gzip));
        put_all(p);
        done = sonde__export_wire_done(&p->wire);
        sonde__export_gzip_end(&p->gzip);
        sonde__export_path_done(&p->path);
    }
    sonde__mem_free(p);
    return done;
}
