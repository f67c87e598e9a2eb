// SPDX-License-Identifier: Apache-2.0
/* The tables that all threads of a Firefox profile share: frames, functions, stacks, libraries,
 * strings. */
#include <inttypes.h>

#include "base_text.h"
#include "export_firefox.h"
#include "export_strings.h"
#include "report_analyse.h"
#include "report_view.h"

enum category { OTHER, APP, SYSTEM, JIT, INFERRED, NOT_SAMPLED };

static const char categories[] =
    "[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
    "{\"name\":\"App\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
    "{\"name\":\"System\",\"color\":\"green\",\"subcategories\":[\"Other\"]},"
    "{\"name\":\"JIT\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
    "{\"name\":\"Inferred\",\"color\":\"lightblue\",\"subcategories\":[\"Other\"]},"
    "{\"name\":\"Not sampled\",\"color\":\"darkgrey\",\"subcategories\":[\"Other\"]}]";

static const char marker_schema[] =
    "[{\"name\":\"Stall\",\"tooltipLabel\":\"Stall {marker.data.number}\","
    "\"tableLabel\":\"Stall {marker.data.number}\",\"chartLabel\":\"Stall {marker.data.number}\","
    "\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],\"fields\":["
    "{\"key\":\"number\",\"label\":\"Number\",\"format\":\"integer\"},"
    "{\"key\":\"cpu\",\"label\":\"On a CPU\",\"format\":\"duration\"},"
    "{\"key\":\"runqueue\",\"label\":\"Waiting for a CPU\",\"format\":\"duration\"},"
    "{\"key\":\"loop\",\"label\":\"Loop\",\"format\":\"string\"}]},"
    "{\"name\":\"Stack\",\"tableLabel\":\"Stack {marker.data.waits}\","
    "\"display\":[\"marker-chart\",\"marker-table\"],\"fields\":["
    "{\"key\":\"state\",\"label\":\"State\",\"format\":\"string\"},"
    "{\"key\":\"waits\",\"label\":\"Waits for\",\"format\":\"string\"}]}]";

static void put_key(struct sonde__export_firefox *f, const char *key, const char *text)
{
    sonde__report_out_str(&f->out, key);
    sonde__export_json_string(&f->out, text);
}

void sonde__export_firefox_meta(struct sonde__export_firefox *f)
{
    const struct sonde__report_header *header = sonde__report_header(f->set->report);
    sonde__report_out_str(
        &f->out, "\"meta\":{\"version\":29,\"preprocessedProfileVersion\":61,\"interval\":1,"
                 "\"stackwalk\":1,\"debug\":false,\"processType\":0,\"symbolicated\":true,"
                 "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
                 "\"keepProfileThreadOrder\":true,\"startTime\":");
    sonde__export_json_ms(&f->out, header->time_unix_ns);
    put_key(f, ",\"importedFrom\":", header->tool);
    put_key(f, ",\"product\":", sonde__base_file_name(header->executable));
    put_key(f, ",\"oscpu\":", header->os);
    put_key(f, ",\"abi\":", header->arch);
    sonde__report_out_print(&f->out, ",\"categories\":%s,\"markerSchema\":%s}", categories,
                            marker_schema);
}

/* --- libraries --- */

/* A build-id in Breakpad's form: a GUID in upper case, its first three numbers byte-swapped, and an
 * age. */
static void put_breakpad_id(struct sonde__report_out *out, const struct sonde__build_id *id)
{
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    static const char digits[] = "0123456789ABCDEF";
    char text[34];
    for (size_t i = 0; i < 16; i++) {
        uint8_t byte = order[i] < id->size ? id->bytes[order[i]] : 0;
        text[2 * i] = digits[byte >> 4];
        text[2 * i + 1] = digits[byte & 15];
    }
    text[32] = '0';
    text[33] = '\0';
    sonde__report_out_str(out, text);
}

void sonde__export_firefox_libs(struct sonde__export_firefox *f)
{
    const struct sonde__report *r = f->set->report;
    sonde__report_out_str(&f->out, "\"libs\":[");
    for (uint32_t id = 1; id <= sonde__report_image_count(r) && !f->out.stopped; id++) {
        const struct sonde__report_image *image = sonde__report_image(r, id);
        const char *path = sonde__report_text(r, image->path);
        char build_id[SONDE__REPORT_BUILD_ID_TEXT];
        (void)sonde__report_build_id_text(&image->build_id, build_id);
        put_key(f, id == 1 ? "{\"arch\":" : ",\n{\"arch\":", sonde__report_header(r)->arch);
        put_key(f, ",\"name\":", sonde__base_file_name(path));
        put_key(f, ",\"path\":", path);
        put_key(f, ",\"debugName\":", sonde__base_file_name(path));
        put_key(f, ",\"debugPath\":", path);
        sonde__report_out_str(&f->out, ",\"breakpadId\":\"");
        if (image->build_id.size != 0) {
            put_breakpad_id(&f->out, &image->build_id);
        }
        put_key(f, "\",\"codeId\":", build_id);
        sonde__report_out_str(&f->out, "}");
    }
    sonde__report_out_str(&f->out, "]");
}

/* --- columns --- */

static void begin_column(struct sonde__export_firefox *f, const char *key)
{
    sonde__report_out_str(&f->out, key);
    f->filled = false;
}

static void put_number(struct sonde__export_firefox *f, uint64_t value)
{
    sonde__export_json_comma(&f->out, &f->filled);
    sonde__report_out_dec(&f->out, value);
}

static void put_word(struct sonde__export_firefox *f, const char *word)
{
    sonde__export_json_comma(&f->out, &f->filled);
    sonde__report_out_str(&f->out, word);
}

static void put_same(struct sonde__export_firefox *f, const char *key, const char *word,
                     uint64_t count)
{
    begin_column(f, key);
    for (uint64_t i = 0; i < count && !f->out.stopped; i++) {
        put_word(f, word);
    }
    sonde__report_out_str(&f->out, "]");
}

/* --- the frame table: a row for each function (used only for those without a frame), then each
 * frame followed by its inlined calls --- */

struct frame_row {
    uint32_t function;
    const struct sonde__report_frame *frame; /* null: none */
    uint32_t inlined;                        /* index + 1; 0: the frame itself */
};

typedef void frame_cell(struct sonde__export_firefox *f, const struct frame_row *row);

static void put_frame_column(struct sonde__export_firefox *f, const char *key, frame_cell *put)
{
    const struct sonde__export_functions *t = &f->set->functions;
    begin_column(f, key);
    for (uint32_t i = 0; i < t->count && !f->out.stopped; i++) {
        put(f, &(struct frame_row){.function = i});
    }
    for (uint32_t id = 1; id <= sonde__report_frame_count(f->set->report) && !f->out.stopped;
         id++) {
        const struct sonde__report_frame *frame = sonde__report_frame(f->set->report, id);
        put(f, &(struct frame_row){t->of_frame[id], frame, 0});
        for (uint32_t i = 0; i < frame->inlined_count; i++) {
            put(f, &(struct frame_row){t->of_inlined[t->first_inlined[id] + i], frame, i + 1});
        }
    }
    sonde__report_out_str(&f->out, "]");
}

static void put_function(struct sonde__export_firefox *f, const struct frame_row *row)
{
    put_number(f, row->function);
}

static void put_address(struct sonde__export_firefox *f, const struct frame_row *row)
{
    if (row->frame == NULL || row->frame->image == 0) {
        put_word(f, "-1");
    } else {
        put_number(f, row->frame->offset);
    }
}

/* The frame itself has depth 0 and is the outermost. */
static void put_depth(struct sonde__export_firefox *f, const struct frame_row *row)
{
    put_number(f, row->inlined == 0 ? 0 : row->frame->inlined_count - row->inlined + 1);
}

static void put_line(struct sonde__export_firefox *f, const struct frame_row *row)
{
    uint32_t line = row->frame == NULL  ? 0
                    : row->inlined == 0 ? row->frame->line
                                        : row->frame->inlined[row->inlined - 1].line;
    if (line == 0) {
        put_word(f, "null");
    } else {
        put_number(f, line);
    }
}

static void put_category(struct sonde__export_firefox *f, const struct frame_row *row)
{
    const struct sonde__report_frame *frame = row->frame;
    enum category category = OTHER;
    if (frame == NULL) {
        category = row->function == SONDE__EXPORT_NOT_SAMPLED ? NOT_SAMPLED : OTHER;
    } else if (frame->kind == SONDE__REPORT_FRAME_TAIL_CALL) {
        category = INFERRED;
    } else if (frame->name_source == SONDE__REPORT_NAME_JIT) {
        category = JIT;
    } else if (frame->image != 0 || frame->kind == SONDE__REPORT_FRAME_SCRIPT) {
        category = sonde__report_frame_is_app(f->set->report, frame) ? APP : SYSTEM;
    }
    put_number(f, category);
}

void sonde__export_firefox_end_table(struct sonde__export_firefox *f, uint64_t rows)
{
    sonde__report_out_print(&f->out, ",\"length\":%" PRIu64 "}", rows);
}

static void put_frames(struct sonde__export_firefox *f)
{
    uint32_t frames = sonde__report_frame_count(f->set->report);
    uint64_t rows =
        (uint64_t)f->set->functions.count + frames + f->set->functions.first_inlined[frames + 1];
    put_frame_column(f, "\"frameTable\":{\"address\":[", put_address);
    put_frame_column(f, ",\n\"inlineDepth\":[", put_depth);
    put_frame_column(f, ",\n\"category\":[", put_category);
    put_same(f, ",\n\"subcategory\":[", "0", rows);
    put_frame_column(f, ",\n\"func\":[", put_function);
    put_same(f, ",\n\"nativeSymbol\":[", "null", rows);
    put_same(f, ",\n\"innerWindowID\":[", "null", rows);
    put_frame_column(f, ",\n\"line\":[", put_line);
    put_same(f, ",\n\"column\":[", "null", rows);
    sonde__export_firefox_end_table(f, rows);
}

/* --- the function table --- */

static void put_functions(struct sonde__export_firefox *f)
{
    const struct sonde__export_functions *t = &f->set->functions;
    begin_column(f, ",\n\"funcTable\":{\"name\":[");
    for (uint32_t i = 0; i < t->count && !f->out.stopped; i++) {
        put_number(f, sonde__export_string_of_function(f->set, i));
    }
    begin_column(f, "],\n\"resource\":[");
    for (uint32_t i = 0; i < t->count && !f->out.stopped; i++) {
        if (t->list[i].image == 0) {
            put_word(f, "-1");
        } else {
            put_number(f, t->list[i].image - 1);
        }
    }
    begin_column(f, "],\n\"source\":[");
    for (uint32_t i = 0; i < t->count && !f->out.stopped; i++) {
        if (t->list[i].file == 0) {
            put_word(f, "null");
        } else {
            put_number(f, f->sources[t->list[i].file] - 1);
        }
    }
    sonde__report_out_str(&f->out, "]");
    put_same(f, ",\n\"isJS\":[", "false", t->count);
    put_same(f, ",\n\"relevantForJS\":[", "false", t->count);
    put_same(f, ",\n\"lineNumber\":[", "null", t->count);
    put_same(f, ",\n\"columnNumber\":[", "null", t->count);
    sonde__export_firefox_end_table(f, t->count);
}

/* Resources are images. */
static void put_resources(struct sonde__export_firefox *f)
{
    uint32_t images = sonde__report_image_count(f->set->report);
    begin_column(f, ",\n\"resourceTable\":{\"lib\":[");
    for (uint32_t id = 1; id <= images; id++) {
        put_number(f, id - 1);
    }
    begin_column(f, "],\"name\":[");
    for (uint32_t id = 1; id <= images; id++) {
        put_number(f, sonde__export_string_of_word(f->set, SONDE__FIREFOX_WORDS) + id - 1);
    }
    sonde__report_out_str(&f->out, "]");
    put_same(f, ",\"host\":[", "null", images);
    put_same(f, ",\"type\":[", "1", images);
    sonde__export_firefox_end_table(f, images);
    sonde__report_out_str(&f->out,
                          ",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
                          "\"functionSize\":[],\"length\":0}");
}

/* Sources are numbered in the order of the functions, so this walk writes them in order. */
static void put_sources(struct sonde__export_firefox *f)
{
    const struct sonde__export_functions *t = &f->set->functions;
    uint32_t next = 1;
    begin_column(f, ",\n\"sources\":{\"filename\":[");
    for (uint32_t i = 0; i < t->count && !f->out.stopped; i++) {
        if (t->list[i].file != 0 && f->sources[t->list[i].file] == next) {
            put_number(f, t->list[i].file);
            next++;
        }
    }
    sonde__report_out_str(&f->out, "]");
    put_same(f, ",\"id\":[", "null", f->source_count);
    put_same(f, ",\"startLine\":[", "1", f->source_count);
    put_same(f, ",\"startColumn\":[", "1", f->source_count);
    put_same(f, ",\"sourceMapURL\":[", "null", f->source_count);
    sonde__export_firefox_end_table(f, f->source_count);
}

/* --- the stack table --- */

/* The rows of one node: tail calls (outermost first), the frame, its inlined calls. */
static uint64_t frame_row_of(const struct sonde__export_firefox *f,
                             const struct sonde__report_node *node, uint64_t part)
{
    const struct sonde__report_frame *frame = sonde__report_frame(f->set->report, node->frame);
    uint32_t frames = sonde__report_frame_count(f->set->report);
    uint32_t tails = frame->lost_count == 0 ? node->tail_call_count : 0;
    uint32_t id = part < tails ? node->tail_calls[tails - 1 - part] : node->frame;
    if (id == 0 || id > frames) {
        return SONDE__EXPORT_NO_STACK;
    }
    /* inlined calls follow their frame, innermost first */
    return f->first_frame_row[id] + (part <= tails ? 0 : frame->inlined_count - (part - tails) + 1);
}

typedef void stack_cell(struct sonde__export_firefox *f, const struct sonde__report_node *node,
                        uint64_t part, uint64_t row);

static void put_stack_frame(struct sonde__export_firefox *f, const struct sonde__report_node *node,
                            uint64_t part, uint64_t row)
{
    (void)row;
    put_number(f, frame_row_of(f, node, part));
}

static void put_prefix(struct sonde__export_firefox *f, const struct sonde__report_node *node,
                       uint64_t part, uint64_t row)
{
    if (part != 0) {
        put_number(f, row - 1);
    } else if (node->parent == 0) {
        put_word(f, "null");
    } else {
        put_number(f, f->first_stack_row[node->parent + 1] - 1);
    }
}

static void put_stack_rows(struct sonde__export_firefox *f, stack_cell *put)
{
    uint32_t nodes = sonde__report_node_count(f->set->report);
    for (uint32_t id = 1; id <= nodes && !f->out.stopped; id++) {
        uint64_t first = f->first_stack_row[id];
        for (uint64_t row = first; row < f->first_stack_row[id + 1]; row++) {
            put(f, sonde__report_node(f->set->report, id), row - first, row);
        }
    }
}

struct call_rows {
    struct sonde__export_firefox *f;
    bool prefixes;
};

static bool put_call_row(void *ctx, const struct sonde__export_sample *sample)
{
    const struct call_rows *c = ctx;
    const struct sonde__export_sample caller = {.stack = sample->stack};
    if (sample->leaf == 0 || sample->leaf == SONDE__EXPORT_NOT_SAMPLED + 1) {
        return false; /* no recorded calls */
    }
    if (!c->prefixes) {
        put_number(c->f, sample->leaf - 1);
    } else if (sample->stack == 0) {
        put_word(c->f, "null");
    } else {
        put_number(c->f, sonde__export_firefox_row(c->f, &caller, 0));
    }
    return !c->f->out.stopped;
}

static uint64_t put_call_rows(struct sonde__export_firefox *f, bool prefixes)
{
    const struct sonde__export_series calls = {SONDE__EXPORT_CALLS, 0};
    struct call_rows c = {f, prefixes};
    sonde__export_each(f->set, &calls, put_call_row, &c);
    return sonde__export_sum(f->set, &calls).count;
}

static void put_stacks(struct sonde__export_firefox *f)
{
    begin_column(f, ",\n\"stackTable\":{\"frame\":[");
    put_number(f, SONDE__EXPORT_NOT_SAMPLED);
    put_number(f, SONDE__EXPORT_NO_STACK);
    put_stack_rows(f, put_stack_frame);
    put_call_rows(f, false);
    begin_column(f, "],\n\"prefix\":[");
    put_word(f, "null");
    put_word(f, "null");
    put_stack_rows(f, put_prefix);
    uint64_t calls = put_call_rows(f, true);
    sonde__report_out_str(&f->out, "]");
    sonde__export_firefox_end_table(
        f, f->first_stack_row[sonde__report_node_count(f->set->report) + 1] + calls);
}

static void put_strings(struct sonde__export_firefox *f)
{
    const struct sonde__report *r = f->set->report;
    sonde__report_out_str(&f->out, ",\n\"stringArray\":[\"\"");
    for (uint32_t id = 1; id <= sonde__report_string_count(r) && !f->out.stopped; id++) {
        sonde__report_out_str(&f->out, ",");
        sonde__export_json_string(&f->out, sonde__report_text(r, id));
    }
    for (uint32_t i = 0; i < f->set->functions.count && !f->out.stopped; i++) {
        sonde__report_out_str(&f->out, ",\n");
        sonde__export_json_function(&f->out, &f->set->functions, i);
    }
    sonde__report_out_str(&f->out, ",\"Stall\",\"Stack\"");
    for (uint32_t id = 1; id <= sonde__report_image_count(r); id++) { /* names of resources */
        sonde__report_out_str(&f->out, ",");
        sonde__export_json_string(&f->out, sonde__report_image_name(r, id));
    }
    sonde__report_out_str(&f->out, "]");
}

void sonde__export_firefox_shared(struct sonde__export_firefox *f)
{
    sonde__report_out_str(&f->out, "\"shared\":{");
    put_frames(f);
    put_functions(f);
    put_resources(f);
    put_sources(f);
    put_stacks(f);
    put_strings(f);
    sonde__report_out_str(&f->out, "}");
}
