// SPDX-License-Identifier: Apache-2.0
/* The libraries that the tests of hooks load while they run. */
#ifndef TEST_HOOKS_PLUGINS_H
#define TEST_HOOKS_PLUGINS_H

/* The path of libhooks_NAME.so, until the next call. */
const char *library_path(const char *name);
const char *plugin_path(void);

/* The map of memory, without memory of the heap. */
enum { MAPS_BYTES = 131072 };
void read_maps(char *to);

#endif
