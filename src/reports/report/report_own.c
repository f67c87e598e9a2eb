// SPDX-License-Identifier: Apache-2.0
#include "report_own.h"

#include <string.h>

#include "base_hash.h"
#include "base_text.h"
#include "report_analyse.h"
#include "report_canonical.h"

/* The start of a frame's function; if it is not known, the place of the call, which tells the
 * callers of one build apart. The pc of the innermost frame is another in each sample, and tells
 * nothing. */
static uint64_t start_of(const struct sonde__report_frame *frame)
{
    bool is_call = (frame->how & SONDE_HOW_FOUND_MASK) != SONDE_FOUND_REGISTERS;
    return frame->name_offset != 0        ? frame->offset - frame->name_offset
           : is_call && frame->image != 0 ? frame->offset
                                          : 0;
}

struct sonde__report_element sonde__report_element(const struct sonde__report *report,
                                                   const struct sonde__report_step *step)
{
    const struct sonde__report_frame *f = step->frame;
    struct sonde__report_element e = {.image = f->image, .name = sonde__report_shown(step).name};
    const char *name = sonde__report_text(report, e.name);
    e.hash = SONDE__HASH_EMPTY;
    if (*name != '\0') {
        e.hash = sonde__base_hash_bytes(e.hash, name, sonde__report_canonical_function(name));
    } else {
        e.name = 0;
        e.start = start_of(f);
        e.hash = sonde__base_hash_bytes(e.hash, &e.image, sizeof e.image);
        e.hash = sonde__base_hash_bytes(e.hash, &e.start, sizeof e.start);
    }
    e.hash |= 1; /* 0: none */
    return e;
}

bool sonde__report_element_is(const struct sonde__report *report,
                              const struct sonde__report_element *element, const char *name)
{
    return strcmp(sonde__report_text(report, element->name), name) == 0;
}

struct sonde__report_element_name
sonde__report_element_name(const struct sonde__report *report,
                           const struct sonde__report_element *element)
{
    struct sonde__report_element_name name = {.bytes = sonde__report_text(report, element->name)};
    struct sonde__text text;
    if (element->name != 0) {
        name.size = sonde__report_canonical_function(name.bytes);
        return name;
    }
    name.bytes = sonde__report_image_name(report, element->image);
    name.size = sonde__report_canonical_library(name.bytes);
    if (element->start != 0) {
        sonde__base_text_init(&text, name.start, sizeof name.start);
        sonde__base_text_str(&text, "+0x");
        sonde__base_text_hex(&text, element->start, 1);
    }
    return name;
}

void sonde__report_path_read(const struct sonde__report *report, uint32_t stack,
                             struct sonde__report_path *ret_path)
{
    struct sonde__report_walk walk;
    ret_path->count = 0;
    ret_path->has_script = false;
    sonde__report_walk_begin(&walk, report, stack);
    while (ret_path->count < SONDE__REPORT_VIEW_FRAMES_MAX &&
           sonde__report_walk_next(&walk, &ret_path->steps[ret_path->count])) {
        ret_path->has_script |= ret_path->steps[ret_path->count].kind == SONDE__REPORT_STEP_SCRIPT;
        ret_path->count++;
    }
}

bool sonde__report_path_is_own(const struct sonde__report *report,
                               const struct sonde__report_path *path,
                               const struct sonde__report_step *step)
{
    const struct sonde__report_image *image = sonde__report_image(report, step->frame->image);
    if (step->kind == SONDE__REPORT_STEP_GAP || step->kind == SONDE__REPORT_STEP_TAIL_CALL) {
        return false;
    }
    if (path->has_script && step->kind != SONDE__REPORT_STEP_SCRIPT &&
        (image->flags & SONDE__IMAGE_MAIN) != 0) {
        return false;
    }
    return sonde__report_frame_is_app(report, step->frame);
}
