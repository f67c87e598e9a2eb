// SPDX-License-Identifier: Apache-2.0
/* The stacks of one thread and of all threads, in the formats of other tools. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <sonde/text.h>
#include <sonde/thread.h>

static int print(void *ctx, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, ctx) == size ? 0 : 1;
}

static void *wait_for_work(void *arg)
{
    char byte;
    if (read(*(int *)arg, &byte, 1) < 0) {
        perror("read");
    }
    return NULL;
}

int main(void)
{
    struct sonde_symbolizer *symbolizer;
    pthread_t thread;
    int pipe_ends[2];
    int result = 1;
    if (pipe(pipe_ends) != 0 || pthread_create(&thread, NULL, wait_for_work, &pipe_ends[0]) != 0) {
        return 1;
    }
    usleep(50000); /* until it waits */
    if (sonde_symbolizer_create(&symbolizer) == SONDE_OK) {
        /* the main thread, from any thread */
        enum sonde_status one =
            sonde_thread_write(symbolizer, SONDE_STYLE_GLIBC, sonde_thread_main(), print, stdout);
        enum sonde_status all = sonde_threads_write(symbolizer, SONDE_STYLE_BS, print, stdout);
        result = one != SONDE_OK || all != SONDE_OK;
        sonde_symbolizer_destroy(symbolizer);
    }
    close(pipe_ends[1]);
    pthread_join(thread, NULL);
    close(pipe_ends[0]);
    return result;
}
