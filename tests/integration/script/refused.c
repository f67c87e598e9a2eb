// SPDX-License-Identifier: Apache-2.0
/* No interpreter, but it exports the symbols by which one that is not read is recognized. Calls
 * getppid(); then "wait" waits, and "stall" has an event loop that stalls once. */
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

#if defined(PYPY)
int PyPyType_Ready(void);
int PyPyType_Ready(void)
{
    return 0;
}
#elif defined(JAVASCRIPT)
void napi_create_function(void);
void napi_create_function(void) {}
#elif defined(OLD)
void *_PyThreadState_Current;
#else
char _PyRuntime[4096];
#endif
#if OLD == 2
char PyString_Type[8];
#elif defined(IS_3_7)
int _PyCFunction_FastCallKeywords(void);
int _PyCFunction_FastCallKeywords(void)
{
    return 0;
}
#endif
#pragma GCC visibility pop
#if JAVASCRIPT == 2
__attribute__((section(".bun"), used)) static const char modules[8] = "modules";
#endif

static void stall(void)
{
    const struct timespec second = {.tv_sec = 1};
    struct epoll_event event;
    int loop = epoll_create1(0);
    for (int i = 0; i < 20; i++) {
        (void)epoll_wait(loop, &event, 1, 20);
        if (i == 15) {
            (void)nanosleep(&second, NULL);
        }
    }
}

int main(int argc, char **argv)
{
    (void)getppid();
    if (argc > 1 && strcmp(argv[1], "stall") == 0) {
        stall();
    } else if (argc > 1) {
        (void)pause();
    }
    return 0;
}
