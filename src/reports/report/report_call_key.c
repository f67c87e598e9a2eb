// SPDX-License-Identifier: Apache-2.0
/* The hash is that of a text with one line for each part, as of a stall (report_fingerprint.c):
 *
 *   rule ssh-key-read
 *   call open
 *   program ssh-add
 *   function main
 *   function load
 *
 * The text is hashed as it is made, and not kept. */
#include "report_call_key.h"

#include <stdio.h>
#include <string.h>

#include "image_set.h"
#include "report_analyse.h"

static void add_line(struct sonde__report_hash *hash, const char *what, const char *bytes,
                     size_t size, const char *rest)
{
    sonde__report_hash_add(hash, what, strlen(what));
    sonde__report_hash_add(hash, bytes, size);
    sonde__report_hash_add(hash, rest, strlen(rest));
    sonde__report_hash_add(hash, "\n", 1);
}

static bool is_known(const struct sonde__report_call_key *key, uint64_t hash)
{
    for (uint32_t i = 0; i < key->count; i++) {
        if (key->functions[i].element.hash == hash) {
            return true;
        }
    }
    return false;
}

bool sonde__report_call_is_own(const struct sonde__report *report,
                               const struct sonde__report_path *path,
                               const struct sonde__report_step *step)
{
    return step->kind == SONDE__REPORT_STEP_TAIL_CALL
               ? step->frame->alternatives == 0 &&
                     sonde__report_frame_is_app(report, step->frame) && !path->has_script
               : sonde__report_path_is_own(report, path, step);
}

/* Is it unknown what was called next, inwards? An inlined call is known from debug information,
 * which has the frame's file, too. */
static bool hides_calls(const struct sonde__report_step *step, bool is_own_step)
{
    const struct sonde__report_frame *frame = step->frame;
    if (step->kind == SONDE__REPORT_STEP_GAP) {
        return true;
    }
    if (step->kind == SONDE__REPORT_STEP_TAIL_CALL && frame->alternatives != 0) {
        return true;
    }
    return is_own_step && step->kind == SONDE__REPORT_STEP_PHYSICAL && frame->file == 0 &&
           frame->inlined_count == 0;
}

static void add_function(const struct sonde__report *report, const struct sonde__report_step *step,
                         struct sonde__report_call_key *key)
{
    struct sonde__report_element element = sonde__report_element(report, step);
    struct sonde__report_element_name name = sonde__report_element_name(report, &element);
    if (is_known(key, element.hash)) {
        return;
    }
    key->has_unnamed = key->has_unnamed || (element.name == 0 && element.start != 0);
    add_line(&key->hash, "function ", name.bytes, name.size, name.start);
    if (key->count == SONDE__REPORT_CALL_FUNCTIONS_MAX) {
        key->has_more = true;
        return;
    }
    key->functions[key->count++] = (struct sonde__report_call_function){.element = element};
}

static void add_stack(const struct sonde__report *report, const struct sonde__report_path *path,
                      struct sonde__report_call_key *key)
{
    for (uint32_t i = path->count; i > 0; i--) {
        const struct sonde__report_step *step = &path->steps[i - 1];
        bool own = sonde__report_call_is_own(report, path, step);
        if (own) {
            add_function(report, step, key);
        }
        if (key->count > 0 && hides_calls(step, own)) {
            key->functions[key->count - 1].may_hide = true;
        }
    }
}

/* Programs of one run have functions of the same names: `main`. The first program has no line, so
 * that its calls are the same as in a run that records it alone. */
static void add_program(const struct sonde__report *report, const struct sonde__report_path *path,
                        struct sonde__report_call_key *key)
{
    const char *first = sonde__report_image_name(report, sonde__report_main_image(report));
    for (uint32_t i = path->count; i > 0; i--) {
        uint32_t image = path->steps[i - 1].frame->image;
        if ((sonde__report_image(report, image)->flags & SONDE__IMAGE_MAIN) != 0) {
            const char *name = sonde__report_image_name(report, image);
            if (strcmp(name, first) != 0) {
                add_line(&key->hash, "program ", name, strlen(name), "");
            }
            return;
        }
    }
}

void sonde__report_call_key(const struct sonde__report *report,
                            const struct sonde__report_call *call, struct sonde__report_path *path,
                            struct sonde__report_call_key *ret_key)
{
    const char *rule = sonde__report_text(report, sonde__report_rule(report, call->rule)->name);
    const char *function = sonde__report_text(report, call->function);
    ret_key->count = 0;
    ret_key->has_more = ret_key->has_unnamed = false;
    ret_key->has_no_stack = call->stack == 0;
    ret_key->is_cut = call->end == SONDE_END_COSTLY;
    path->count = 0;
    sonde__report_hash_init(&ret_key->hash);
    if (*rule != '\0') {
        add_line(&ret_key->hash, "rule ", rule, strlen(rule), "");
    }
    add_line(&ret_key->hash, "call ", function, strlen(function), "");
    if (call->stack == 0) {
        add_line(&ret_key->hash, "no stack", "", 0, "");
        return;
    }
    sonde__report_path_read(report, call->stack, path);
    add_program(report, path, ret_key);
    add_stack(report, path, ret_key);
}

bool sonde__report_call_key_is_stable(const struct sonde__report_call_key *key)
{
    return !key->has_no_stack && !key->is_cut && !key->has_unnamed;
}

void sonde__report_call_key_text(const struct sonde__report_hash *hash,
                                 char ret_text[SONDE__REPORT_CALL_KEY_TEXT])
{
    char digits[33];
    sonde__report_hash_text(hash, digits);
    snprintf(ret_text, SONDE__REPORT_CALL_KEY_TEXT, "%u:%s", SONDE__REPORT_CALL_KEY_VERSION,
             digits);
}
