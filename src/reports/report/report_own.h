// SPDX-License-Identifier: Apache-2.0
/* The functions of a stack that are the program's own, and what they are called in every build:
 * what fingerprints and comparisons of reports go by. Context: any thread. */
#ifndef SONDE_REPORT_OWN_H
#define SONDE_REPORT_OWN_H

#include "report_view.h"
#include "report_walk.h"

/* A stack in the order of the walk: innermost first. */
struct sonde__report_path {
    struct sonde__report_step steps[SONDE__REPORT_VIEW_FRAMES_MAX];
    uint32_t count;
    bool has_script;
};
void sonde__report_path_read(const struct sonde__report *report, uint32_t stack,
                             struct sonde__report_path *ret_path);
/* Is a step of it the program's own function? Where there is a script, its interpreter is not. */
bool sonde__report_path_is_own(const struct sonde__report *report,
                               const struct sonde__report_path *path,
                               const struct sonde__report_step *step);

/* A function. */
struct sonde__report_element {
    uint64_t hash; /* of its text, in this report; not 0 */
    uint32_t name; /* string id; 0: image and offset */
    uint32_t image;
    uint64_t start; /* of a function without a name; 0: not known */
    bool is_entry;  /* only starts the program: set by whoever knows the caller */
};
struct sonde__report_element sonde__report_element(const struct sonde__report *report,
                                                   const struct sonde__report_step *step);
/* Has it this name? */
bool sonde__report_element_is(const struct sonde__report *report,
                              const struct sonde__report_element *element, const char *name);

/* "save_session"; without a name "libapp.so" and "+0x1200", where the function starts. The bytes
 * are those of the report. */
struct sonde__report_element_name {
    const char *bytes;
    size_t size;
    char start[24];
};
struct sonde__report_element_name
sonde__report_element_name(const struct sonde__report *report,
                           const struct sonde__report_element *element);

#endif
