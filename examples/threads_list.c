// SPDX-License-Identifier: Apache-2.0
/* The threads of this process. */
#include <stdio.h>

#include <sonde/thread.h>

int main(void)
{
    struct sonde_thread threads[64] = {{.struct_bytes = sizeof threads[0]}};
    uint32_t count;
    enum sonde_status status = sonde_threads_list(threads, 64, &count);
    if (status != SONDE_OK && status != SONDE_LIMIT) {
        fprintf(stderr, "%s\n", sonde_status_text(status));
        return 1;
    }
    for (uint32_t i = 0; i < count && i < 64; i++) {
        printf("%c %-8s %s%s%s%s%s\n", threads[i].letter, sonde_thread_state_text(threads[i].state),
               threads[i].name, threads[i].is_main ? " (main)" : "",
               threads[i].is_self ? " (this one)" : "", threads[i].queue[0] != '\0' ? " for " : "",
               threads[i].queue);
    }
    return 0;
}
