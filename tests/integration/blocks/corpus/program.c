// SPDX-License-Identifier: Apache-2.0
/* The corpus as a program: a line for each block, then it waits until its input ends. A line:
 *     NAME ADDRESS heap|global|here SIZE flags F layout L owned CAPTURE... found CAPTURE... */
#include <stdio.h>
#include <string.h>

#include "runtime.h"
#include "truth.h"

enum { INLINE_LIMIT = 0x1000 };

/* The layout in the words of clang's -print-ivar-layout. */
static void print_layout(const struct block *block)
{
    static const char *const names[] = {
        "OPERATOR", "NON_OBJECT_BYTES", "NON_OBJECT_WORD", "STRONG", "BYREF", "WEAK", "UNRETAINED"};
    uintptr_t layout = block->descriptor[(block->flags & HAS_HELPERS) != 0 ? 5 : 3];
    if (layout == 0) {
        printf("none");
    } else if (layout < INLINE_LIMIT) {
        printf("BL_STRONG:%d,BL_BYREF:%d,BL_WEAK:%d", (int)(layout >> 8), (int)(layout >> 4 & 15),
               (int)(layout & 15));
    } else {
        for (const unsigned char *at = (const unsigned char *)layout; *at != 0; at++) {
            printf("%sBL_%s:%d", at == (const unsigned char *)layout ? "" : ",",
                   *at >> 4 < 7 ? names[*at >> 4] : "?", (*at & 15) + 1);
        }
        printf(",");
    }
}

static void print(const struct shown *shown)
{
    const struct block *block = shown->block;
    printf("%s %p %s %zu flags %#x layout ", shown->name, shown->block,
           shown->here                       ? "here"
           : (block->flags & IS_GLOBAL) != 0 ? "global"
                                             : "heap",
           (size_t)block->descriptor[1], (unsigned)block->flags & ~(unsigned)REFERENCES);
    if (block->flags < 0) { /* bit 31: it has one */
        print_layout(block);
    } else {
        printf("no");
    }
    printf(" owned%s found%s\n", shown->owned, shown->found);
}

int main(void)
{
    corpus_observer = print;
    corpus_run();
    printf("shown\n");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    printf("unbalanced %u\n", corpus_end());
    return 0;
}
