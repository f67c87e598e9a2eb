// SPDX-License-Identifier: Apache-2.0
/* What blocks add to their debugDescription: a line for each capture. */
#include <pthread.h>

#include <sonde/block.h>

#include "api_block.h"
#include "base_status.h"
#include "base_text.h"
#include "host_objc.h"

enum { CAPTURES_MAX = 64, DESCRIPTION_MAX = 256 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_installed; /* guarded by mutex */
static uint32_t wanted;   /* flags; read without the lock, by descriptions that still run */

static void put_address(struct sonde__text *out, uint64_t address)
{
    sonde__base_text_str(out, "0x");
    sonde__base_text_hex(out, address, 0);
}

static int describe_object(void *ctx, uint64_t object, const char *class_name, char *text,
                           size_t size_bytes)
{
    (void)ctx;
    (void)class_name;
    return sonde__host_objc_description(object, text, size_bytes);
}

/* "VC 0x10200, <VC: 0x10200>" */
static void put_object(struct sonde_blocks *blocks, uint64_t block,
                       const struct sonde_block_capture *capture, struct sonde__text *out)
{
    struct sonde__blockheap_object object;
    char text[DESCRIPTION_MAX];
    if (sonde__blockheap_object_at(blocks->heap, capture->value, &object)) {
        sonde__base_text_str(out, object.name);
        sonde__base_text_char(out, ' ');
    }
    put_address(out, capture->value);
    if (sonde_block_describe(blocks, block, capture->offset, -1, text, sizeof text) == SONDE_OK) {
        sonde__base_text_str(out, ", ");
        sonde__base_text_str(out, text);
    }
}

static void put_capture(struct sonde_blocks *blocks, uint64_t block,
                        const struct sonde_block_capture *capture, struct sonde__text *out)
{
    bool is_word = capture->kind != SONDE_BLOCK_DATA && capture->kind != SONDE_BLOCK_OBJECT;
    sonde__base_text_str(out, "\n +");
    sonde__base_text_dec(out, capture->offset);
    sonde__base_text_char(out, ' ');
    sonde__base_text_str(out, sonde_block_kind_text(capture->kind));
    sonde__base_text_char(out, ' ');
    if (is_word && capture->value == 0) {
        sonde__base_text_str(out, "nil");
    } else if (capture->kind == SONDE_BLOCK_STRONG) {
        put_object(blocks, block, capture, out);
    } else if (is_word || (capture->size_bytes != 0 && capture->size_bytes <= 8)) {
        put_address(out, capture->value);
    } else if (capture->size_bytes != 0) {
        sonde__base_text_dec(out, capture->size_bytes);
        sonde__base_text_str(out, " bytes");
    } else {
        sonde__base_text_str(out, "of unknown size");
    }
}

static void put_captures(struct sonde_blocks *blocks, uint64_t block, struct sonde__text *out)
{
    struct sonde_block_capture captures[CAPTURES_MAX] = {{.struct_bytes = sizeof captures[0]}};
    size_t count = 0;
    enum sonde_status status = sonde_block_captures(blocks, block, captures, CAPTURES_MAX, &count);
    if (status != SONDE_OK && status != SONDE_LIMIT) {
        sonde__base_text_str(out, " captures : not known, ");
        sonde__base_text_str(out, sonde_status_text(status));
        return;
    }
    sonde__base_text_str(out, " captures : ");
    sonde__base_text_dec(out, count);
    for (size_t i = 0; i < count && i < CAPTURES_MAX; i++) {
        put_capture(blocks, block, &captures[i], out);
    }
    sonde__base_text_str(out, count > CAPTURES_MAX ? "\n and more" : "");
}

/* Images may have been loaded since the last description, so blocks are opened for each. */
static void add_captures(uint64_t block, char *text, size_t size)
{
    struct sonde_blocks *blocks;
    struct sonde_error error;
    struct sonde__text out;
    sonde__base_text_init(&out, text, size);
    if (sonde_blocks_open(&blocks, &error) != SONDE_OK) {
        sonde__base_text_str(&out, " captures : not known, ");
        sonde__base_text_str(&out, error.what);
        return;
    }
    if ((__atomic_load_n(&wanted, __ATOMIC_RELAXED) & SONDE_BLOCK_DESCRIBE_OBJECTS) != 0) {
        (void)!sonde_blocks_set_describer(blocks, describe_object, NULL);
    }
    put_captures(blocks, block, &out);
    sonde_blocks_close(blocks);
}

enum sonde_status sonde_block_describe_install(uint32_t flags)
{
    enum sonde_status status = SONDE_USAGE;
    if ((flags & ~(uint32_t)SONDE_BLOCK_DESCRIBE_OBJECTS) != 0) {
        return SONDE_USAGE;
    }
    pthread_mutex_lock(&mutex);
    if (!is_installed) {
        __atomic_store_n(&wanted, flags, __ATOMIC_RELAXED);
        status = sonde__host_objc_replace(add_captures);
        is_installed = status == SONDE_OK;
    }
    pthread_mutex_unlock(&mutex);
    return status;
}

void sonde_block_describe_remove(void)
{
    pthread_mutex_lock(&mutex);
    if (is_installed) {
        sonde__host_objc_restore();
        is_installed = false;
    }
    pthread_mutex_unlock(&mutex);
}
