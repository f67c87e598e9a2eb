// SPDX-License-Identifier: Apache-2.0
/* Memory of a fake target: some bytes at an address, and names of addresses. */
#ifndef SONDE_TEST_FAKE_MEMORY_H
#define SONDE_TEST_FAKE_MEMORY_H

#include "block.h"

#define FAKE_BASE  0x10000u
#define FAKE_BYTES 8192u

struct fake {
    uint8_t bytes[FAKE_BYTES];
    struct {
        uint64_t address;
        const char *name;
    } names[16];
    unsigned name_count;
    struct sonde__block_memory memory;
};

void fake_init(struct fake *fake, unsigned arch);
/* Write at an offset from FAKE_BASE. */
void fake_put(struct fake *fake, uint32_t at, uint64_t value, unsigned bytes);
void fake_put_text(struct fake *fake, uint32_t at, const char *text);
void fake_name(struct fake *fake, uint64_t address, const char *name);

#endif
