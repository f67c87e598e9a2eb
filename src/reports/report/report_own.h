// SPDX-License-Identifier: Apache-2.0
/* The program's own functions of a stack, with names that are the same in every build. Fingerprints
 * and comparisons of reports use them. Context: any thread. */
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
/* Is this step the program's own function? If the stack has script frames, the interpreter is
 * not. */
bool sonde__report_path_is_own(const struct sonde__report *report,
                               const struct sonde__report_path *path,
                               const struct sonde__report_step *step);

struct sonde__report_element {
    uint64_t hash; /* of its text, in this report; not 0 */
    uint32_t name; /* string id; 0: identified by image and offset */
    uint32_t image;
    uint64_t
        start; /* of a function without a name: its start, else the place of its call; 0: unknown */
    bool is_entry; /* it only starts the program; set by a caller that knows who called it */
};
struct sonde__report_element sonde__report_element(const struct sonde__report *report,
                                                   const struct sonde__report_step *step);
/* Does the function have this name? */
bool sonde__report_element_is(const struct sonde__report *report,
                              const struct sonde__report_element *element, const char *name);

/* "save_session"; for a function without a name "libapp.so" and "+0x1200", its start. Points into
 * the report. */
struct sonde__report_element_name {
    const char *bytes;
    size_t size;
    char start[24];
};
struct sonde__report_element_name
sonde__report_element_name(const struct sonde__report *report,
                           const struct sonde__report_element *element);

#endif
