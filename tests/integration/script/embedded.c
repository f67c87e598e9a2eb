// SPDX-License-Identifier: Apache-2.0
/* A program that has an interpreter built in, and runs its code in a second one, as servers do for
 * each application. embedded LIBPYTHON: calls getppid(), and unlink(), for which Python gives its
 * lock away. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

int main(int argc, char **argv)
{
    static const char code[] = "import os\n"
                               "def serve():\n"
                               "    os.getppid()\n"
                               "    try:\n"
                               "        os.unlink('/nonexistent')\n"
                               "    except OSError:\n"
                               "        pass\n"
                               "serve()\n";
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage: embedded LIBPYTHON");
        return 1;
    }
    ((void (*)(int))(uintptr_t)function(library, "Py_InitializeEx"))(0);
    if (((void *(*)(void))(uintptr_t)function(library, "Py_NewInterpreter"))() == NULL) {
        return 1;
    }
    return ((int (*)(const char *, void *))(uintptr_t)function(library, "PyRun_SimpleStringFlags"))(
        code, NULL);
}
