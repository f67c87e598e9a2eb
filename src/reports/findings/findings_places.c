// SPDX-License-Identifier: Apache-2.0
/* Where a finding is: its place in the sources, its stack, and the way through the program.
 *
 * A frame with a source file has it as location; another has the image and the offset in it. The
 * place of a result is the innermost function of the program, preferably one with a source file:
 * code scanning services show findings there. */
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "findings_parts.h"
#include "report_analyse.h"

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("-._~/+", c) != NULL;
}

/* RFC 3986 §2.1; what is no path in ASCII is escaped by its bytes. */
struct sonde__findings_uri sonde__findings_uri(struct sonde__findings_places *places,
                                               const char *path)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *root = places->source_root;
    size_t size = root != NULL ? strlen(root) : 0, used = 0;
    while (size > 0 && root[size - 1] == '/') {
        size--;
    }
    bool is_below = root != NULL && strncmp(path, root, size) == 0 && path[size] == '/';
    path += is_below ? size + strspn(path + size, "/") : 0;
    if (!is_below && *path == '/') {
        memcpy(places->uri, "file://", 7);
        used = 7;
    }
    for (; *path != '\0' && used + 4 < sizeof places->uri; path++) {
        unsigned char c = (unsigned char)*path;
        if (is_plain(c)) {
            places->uri[used++] = (char)c;
        } else {
            places->uri[used++] = '%';
            places->uri[used++] = digits[c >> 4];
            places->uri[used++] = digits[c & 15];
        }
    }
    places->uri[used] = '\0';
    return (struct sonde__findings_uri){places->uri, is_below};
}

static void put_artifact(struct sonde__json *j, struct sonde__findings_places *places,
                         const char *path)
{
    struct sonde__findings_uri uri = sonde__findings_uri(places, path);
    sonde__json_object(j, "artifactLocation");
    sonde__json_string(j, "uri", uri.text);
    if (uri.is_relative) {
        sonde__json_string(j, "uriBaseId", "SRCROOT");
    }
    sonde__json_close(j);
}

static void put_physical(struct sonde__json *j, struct sonde__findings_places *places,
                         const struct sonde__report *report, const struct sonde__report_step *step)
{
    struct sonde__report_shown shown = sonde__report_shown(step);
    const char *file = sonde__report_text(report, shown.file);
    const char *image =
        sonde__report_text(report, sonde__report_image(report, step->frame->image)->path);
    if (*file == '\0' && *image == '\0') {
        return;
    }
    sonde__json_object(j, "physicalLocation");
    put_artifact(j, places, *file != '\0' ? file : image);
    if (*file != '\0' && shown.line != 0) {
        sonde__json_object(j, "region");
        sonde__json_uint(j, "startLine", shown.line);
        sonde__json_close(j);
    } else if (*file == '\0') {
        sonde__json_object(j, "address");
        sonde__json_uint(j, "relativeAddress", step->frame->offset);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

static void put_logical(struct sonde__json *j, const struct sonde__report *report,
                        const struct sonde__report_step *step)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    uint32_t name = sonde__report_shown(step).name;
    const char *stored = sonde__report_text(report, name);
    if (*stored == '\0') {
        return;
    }
    const char *text = sonde__report_function(j->out, report, name, buffer);
    sonde__json_array(j, "logicalLocations");
    sonde__json_object(j, NULL);
    sonde__json_string(j, "fullyQualifiedName", text);
    if (strcmp(text, stored) != 0) {
        sonde__json_string(j, "decoratedName", stored);
    }
    sonde__json_string(j, "kind", "function");
    sonde__json_close(j);
    sonde__json_close(j);
}

/* key: "location", or null in an array. */
static void put_location(struct sonde__json *j, const char *key,
                         struct sonde__findings_places *places, const struct sonde__report *report,
                         const struct sonde__report_step *step)
{
    static const char *const remarks[] = {
        [SONDE__REPORT_STEP_INLINED] = "inlined call",
        [SONDE__REPORT_STEP_TAIL_CALL] = "tail call, inferred",
        [SONDE__REPORT_STEP_ASYNC] = "asynchronous caller",
        [SONDE__REPORT_STEP_GAP] = "frames left out",
    };
    const char *remark = step->kind < sizeof remarks / sizeof *remarks ? remarks[step->kind] : NULL;
    sonde__json_object(j, key);
    put_physical(j, places, report, step);
    put_logical(j, report, step);
    if (remark != NULL) {
        sonde__json_object(j, "message");
        sonde__json_string(j, "text", remark);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

/* Index of the step that a result is shown at; count: none. */
static uint32_t find_place(const struct sonde__report *report,
                           const struct sonde__report_path *path)
{
    uint32_t place = path->count;
    for (uint32_t i = 0; i < path->count; i++) {
        if (!sonde__report_call_is_own(report, path, &path->steps[i])) {
            continue;
        }
        if (sonde__report_shown(&path->steps[i]).file != 0) {
            return i;
        }
        place = place == path->count ? i : place;
    }
    return place;
}

static void put_stack(struct sonde__json *j, struct sonde__findings_places *places,
                      const struct sonde__report *report)
{
    sonde__json_array(j, "stacks");
    sonde__json_object(j, NULL);
    sonde__json_array(j, "frames");
    for (uint32_t i = 0; i < places->path.count && !j->out->stopped; i++) {
        const struct sonde__report_step *step = &places->path.steps[i];
        const char *module = sonde__report_image_name(report, step->frame->image);
        sonde__json_object(j, NULL);
        put_location(j, "location", places, report, step);
        if (*module != '\0') {
            sonde__json_string(j, "module", module);
        }
        sonde__json_close(j);
    }
    sonde__json_close(j);
    sonde__json_close(j);
    sonde__json_close(j);
}

/* The program's own functions, outermost first. */
static void put_flow(struct sonde__json *j, struct sonde__findings_places *places,
                     const struct sonde__report *report)
{
    sonde__json_array(j, "codeFlows");
    sonde__json_object(j, NULL);
    sonde__json_array(j, "threadFlows");
    sonde__json_object(j, NULL);
    sonde__json_array(j, "locations");
    for (uint32_t i = places->path.count; i > 0 && !j->out->stopped; i--) {
        const struct sonde__report_step *step = &places->path.steps[i - 1];
        if (sonde__report_call_is_own(report, &places->path, step)) {
            sonde__json_object(j, NULL);
            put_location(j, "location", places, report, step);
            sonde__json_close(j);
        }
    }
    for (unsigned closed = 0; closed < 5; closed++) {
        sonde__json_close(j);
    }
}

void sonde__findings_put_places(struct sonde__json *j, struct sonde__findings_places *places,
                                const struct sonde__diff_call *call)
{
    sonde__report_path_read(call->report, call->call->stack, &places->path);
    uint32_t place = find_place(call->report, &places->path);
    if (place < places->path.count) {
        sonde__json_array(j, "locations");
        put_location(j, NULL, places, call->report, &places->path.steps[place]);
        sonde__json_close(j);
    }
    if (places->path.count != 0) {
        put_stack(j, places, call->report);
    }
    if (place < places->path.count) {
        put_flow(j, places, call->report);
    }
}

const char *sonde__findings_caller(const struct sonde__report_out *out,
                                   struct sonde__findings_places *places,
                                   const struct sonde__diff_call *call, char *buffer)
{
    sonde__report_path_read(call->report, call->call->stack, &places->path);
    for (uint32_t i = 0; i < places->path.count; i++) {
        const struct sonde__report_step *step = &places->path.steps[i];
        uint32_t name = sonde__report_shown(step).name;
        if (name != 0 && sonde__report_call_is_own(call->report, &places->path, step)) {
            return sonde__report_function(out, call->report, name, buffer);
        }
    }
    return "";
}
