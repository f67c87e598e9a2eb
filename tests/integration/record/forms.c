// SPDX-License-Identifier: Apache-2.0
/* argv[1]: the library that is loaded. Prints "done". */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forms.h"

typedef int api(int value);
static api *static_pointer = api_call;

FORM static void form_plt(void)
{
    CALL(api_call, FORM_PLT);
}

FORM static void form_static_pointer(void)
{
    CALL(static_pointer, FORM_STATIC_POINTER);
}

FORM static void form_dlsym_default(void)
{
    api *found = (api *)dlsym(RTLD_DEFAULT, "api_call");
    CALL(found, FORM_DLSYM_DEFAULT);
}

FORM static void form_dlsym_next(void)
{
    api *found = (api *)dlsym(RTLD_NEXT, "api_call");
    CALL(found, FORM_DLSYM_NEXT);
}

FORM static void form_dlsym_handle(void *handle)
{
    api *found = (api *)dlsym(handle, "api_call");
    CALL(found, FORM_DLSYM_HANDLE);
}

FORM static void form_alias(void)
{
    CALL(api_alias, FORM_ALIAS);
}

FORM static void form_other_space(const char *path)
{
    void *handle = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
    api *found = handle != NULL ? (api *)dlsym(handle, "api_call") : NULL;
    if (found != NULL) {
        CALL(found, FORM_OTHER_SPACE);
    }
}

FORM static void *form_threads(void *unused)
{
    (void)unused;
    CALL(api_call, FORM_THREADS);
    return NULL;
}

FORM static void form_forked(void)
{
    CALL(api_call, 1000);
}

static void *load(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW);
    if (handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return handle;
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
    void *handle = load(argc > 1 ? argv[1] : "");
    void (*loaded)(void) = (void (*)(void))dlsym(handle, "form_loaded");
    form_plt();
    form_no_plt();
    form_static_pointer();
    form_dlsym_default();
    form_dlsym_next();
    form_dlsym_handle(handle);
    loaded();
    form_inside_by_table();
    form_inside_hidden();
    form_alias();
    if (argc > 2) {
        form_other_space(argv[2]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, form_threads, NULL);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    pid_t child = fork();
    if (child == 0) {
        form_forked();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    dlclose(handle);
    /* the same code again, perhaps at another place, perhaps at the same */
    handle = load(argv[1]);
    loaded = (void (*)(void))dlsym(handle, "form_loaded");
    loaded();
    puts("done");
    return 0;
}
