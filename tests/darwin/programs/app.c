// SPDX-License-Identifier: Apache-2.0
/* A minimal app, with sonde (-DWITH_SONDE) and without: package.sh compares their sizes. */
#include <stdint.h>
#include <stdio.h>

#if defined(WITH_SONDE)
#    include <sonde/block.h>
#    include <sonde/text.h>
#    include <sonde/thread.h>

static int put(void *ctx, const void *part, size_t size)
{
    return fwrite(part, 1, size, ctx) == size ? 0 : 1;
}

static int report(void)
{
    uint64_t pcs[100];
    struct sonde_stack stack;
    struct sonde_symbolizer *symbolizer = NULL;
    sonde_stack_init(&stack, pcs, NULL, 100, 0);
    if (sonde_stack_prepare() != SONDE_OK || sonde_stack_capture(&stack, 0) != SONDE_OK ||
        sonde_symbolizer_create(&symbolizer) != SONDE_OK) {
        return 1;
    }
    enum sonde_status status =
        sonde_thread_write(symbolizer, SONDE_STYLE_BS, sonde_thread_main(), put, stdout);
    sonde_symbolizer_destroy(symbolizer);
    return status != SONDE_OK || sonde_block_describe_install(0) != SONDE_OK;
}
#else
static int report(void)
{
    return puts("nothing") < 0;
}
#endif

int main(void)
{
    return report();
}
