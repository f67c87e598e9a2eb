// SPDX-License-Identifier: Apache-2.0
/* Linked with a runtime of its own: its calls are direct. */
#include <stdio.h>

void *_Block_copy(const void *block);

/* What clang refers to. */
void *_NSConcreteStackBlock[32];
void *_NSConcreteGlobalBlock[32];

int main(int argc, char **argv)
{
    int (^block)(void) = _Block_copy(^{
      return argc;
    });
    printf("%d\n", block());
    return 0;
}
