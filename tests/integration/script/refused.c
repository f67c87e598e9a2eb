// SPDX-License-Identifier: Apache-2.0
/* No interpreter, but it exports the symbols by which one that is not read is recognized. Calls
 * getppid(); with an argument it waits then. */
#include <unistd.h>

#pragma GCC visibility push(default)

#if defined(PYPY)
int PyPyType_Ready(void);
int PyPyType_Ready(void)
{
    return 0;
}
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

int main(int argc, char **argv)
{
    (void)argv;
    (void)getppid();
    if (argc > 1) {
        (void)pause();
    }
    return 0;
}
