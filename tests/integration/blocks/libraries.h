// SPDX-License-Identifier: Apache-2.0
/* The corpus as a library for other machines. */
#ifndef SONDE_TEST_LIBRARIES_H
#define SONDE_TEST_LIBRARIES_H

struct library_target {
    const char *triple, *flags;
};

enum { LIBRARY_TARGETS = 5, LIBRARY_LEVELS = 5 };

extern const struct library_target library_targets[LIBRARY_TARGETS];
extern const char *const library_levels[LIBRARY_LEVELS];

/* Makes `lib` in the test's folder. */
void library_build(const struct library_target *target, const char *level);

#endif
