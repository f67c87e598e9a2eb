// SPDX-License-Identifier: Apache-2.0
/* A guest for qemu-user: two threads that burn. */
#include <pthread.h>

static void *burn(void *unused)
{
    for (volatile unsigned i = 0;; i++) {
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, burn, NULL);
    return burn(NULL) != NULL;
}
