// SPDX-License-Identifier: Apache-2.0
/* The corpus of blocks (tests/integration/blocks), live in the host: what sonde reports of each
 * block against what its helpers do. SONDE_CORPUS_INLINED: it was optimized. */
#include <stdio.h>

#include "live.h"

#include "blockheap.h"
#include "os.h"
#include "symfile_cache.h"
#include "target.h"
#include "test.h"

enum { BLOCKS_LEAST = 149 };

TEST(describes_every_capture_of_the_corpus)
{
    struct sonde__symfile_options options = {0};
    struct sonde__symfile_cache *symbols;
    struct sonde__target *target;
    struct sonde_error error = {0};
    CHECK_OK(sonde__target_open_process(sonde__os_pid(), NULL, &target, &error));
    CHECK_OK(sonde__symfile_cache_create(&options, &symbols));
    CHECK_OK(sonde__blockheap_open(target, symbols, true, &corpus_live.heap, &error));
    corpus_live.inlined = SONDE_CORPUS_INLINED;
    corpus_observer = corpus_live_check;
    corpus_run();
    printf("%u right, %u wrong\n", corpus_live.right, corpus_live.wrong);
    CHECK_EQ(corpus_live.wrong, 0);
    CHECK(corpus_live.right >= BLOCKS_LEAST);
    sonde__blockheap_close(corpus_live.heap);
    sonde__symfile_cache_destroy(symbols);
    sonde__target_close(target);
}
