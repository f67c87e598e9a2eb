// SPDX-License-Identifier: Apache-2.0
#include "fake_memory.h"

#include <string.h>

#include "test.h"

static bool read_fake(void *ctx, uint64_t address, void *buffer, size_t size)
{
    struct fake *fake = ctx;
    if (address < FAKE_BASE || address - FAKE_BASE > FAKE_BYTES ||
        size > FAKE_BYTES - (address - FAKE_BASE)) {
        return false;
    }
    memcpy(buffer, fake->bytes + (address - FAKE_BASE), size);
    return true;
}

static const char *name_of(void *ctx, uint64_t address)
{
    struct fake *fake = ctx;
    for (unsigned i = 0; i < fake->name_count; i++) {
        if (fake->names[i].address == address) {
            return fake->names[i].name;
        }
    }
    return NULL;
}

void fake_init(struct fake *fake, unsigned arch)
{
    memset(fake, 0, sizeof *fake);
    fake->memory =
        (struct sonde__block_memory){.arch = arch, .read = read_fake, .name = name_of, .ctx = fake};
}

void fake_put(struct fake *fake, uint32_t at, uint64_t value, unsigned bytes)
{
    CHECK(at + bytes <= FAKE_BYTES);
    for (unsigned i = 0; i < bytes; i++) {
        fake->bytes[at + i] = (uint8_t)(value >> 8 * i);
    }
}

void fake_put_text(struct fake *fake, uint32_t at, const char *text)
{
    CHECK(at + strlen(text) < FAKE_BYTES);
    memcpy(fake->bytes + at, text, strlen(text) + 1);
}

void fake_name(struct fake *fake, uint64_t address, const char *name)
{
    CHECK(fake->name_count < sizeof fake->names / sizeof fake->names[0]);
    fake->names[fake->name_count].address = address;
    fake->names[fake->name_count++].name = name;
}
