// SPDX-License-Identifier: Apache-2.0
/* The call frame sections of an ELF file, found by section headers, for tests of the unwinder. */
#ifndef SONDE_TEST_FILE_CFI_H
#define SONDE_TEST_FILE_CFI_H

#include "image_cfi.h"

struct file_cfi {
    char *file; /* heap */
    struct sonde__cfi cfi;
    unsigned arch;
};

/* False: no such file, or none of the sections in it. Fails the test on a malformed file. */
bool file_cfi_open(struct file_cfi *file, const char *path);
void file_cfi_close(struct file_cfi *file);

#endif
