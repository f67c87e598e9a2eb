// SPDX-License-Identifier: Apache-2.0
/* A program without a loader: its hooks report what they cannot see. */
#include <stdio.h>

#include "hook.h"

int main(void)
{
    static const char *const names[] = {"getenv"};
    struct sonde__hooks *hooks;
    size_t count = 0;
    if (sonde__hook_start(names, 1, 0, &hooks, NULL) != SONDE_OK) {
        return 1;
    }
    const struct sonde__hook_blind *blind_spots = sonde__hook_blind_spots(hooks, &count);
    for (size_t i = 0; i < count; i++) {
        printf("[%s] %s: %s\n", blind_spots[i].module != NULL ? blind_spots[i].module : "none",
               blind_spots[i].function != NULL ? blind_spots[i].function : "any",
               sonde__hook_reason_text(blind_spots[i].reason));
    }
    sonde__hook_stop(hooks);
    return 0;
}
