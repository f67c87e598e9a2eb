// SPDX-License-Identifier: Apache-2.0
/* An SDL program with a window and timers: zoo_sdl HOW MILLISECONDS KIND... HOW: `wait` for events,
 * or `poll` for them and sleep until the next frame. One timer ticks, a slower one sends events
 * from its own thread. */
#include <SDL.h>
#include <stdio.h>
#include <string.h>

#include "inject.h"

static Uint32 send(Uint32 interval, void *type)
{
    SDL_Event event;
    SDL_zero(event);
    event.type = *(Uint32 *)type;
    SDL_PushEvent(&event);
    return interval;
}

int main(int argc, char **argv)
{
    SDL_Event event;
    Uint32 tick, slow;
    bool more = true, poll = argc > 1 && strcmp(argv[1], "poll") == 0;
    inject_start(argc - 1, argv + 1);
    if (SDL_Init(SDL_INIT_VIDEO | SDL_INIT_TIMER) != 0 ||
        SDL_CreateWindow("zoo", 0, 0, 200, 200, SDL_WINDOW_SHOWN) == NULL) {
        fprintf(stderr, "%s\n", SDL_GetError());
        return 2;
    }
    tick = SDL_RegisterEvents(2);
    slow = tick + 1;
    SDL_AddTimer(700, send, &slow);
    if (!poll) {
        SDL_AddTimer(INJECT_TICK_MS, send, &tick);
    }
    while (more) {
        if (!poll) {
            more = SDL_WaitEvent(&event) == 0 || event.type != tick || inject_tick();
            SDL_FlushEvent(tick); /* those of a stall count once */
            continue;
        }
        while (SDL_PollEvent(&event) != 0) {
        }
        SDL_Delay(INJECT_TICK_MS);
        more = inject_tick();
    }
    SDL_Quit();
    return 0;
}
