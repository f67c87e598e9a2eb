// SPDX-License-Identifier: Apache-2.0
/* A program in a bundle: what is in the bundle is the app's, also what is loaded later; nothing
 * else is. argv[1]: a library in the bundle. argv[2]: the same outside. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include <sonde/image.h>

static unsigned mistakes;

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : (void)(mistakes++, printf("line %d: %s\n", __LINE__, #condition)))

static uint64_t function_of(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    CHECK(handle != NULL);
    return (uint64_t)(uintptr_t)dlsym(handle, "call_later");
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    CHECK(sonde_image_is_app((uint64_t)(uintptr_t)main) == 1);
    CHECK(sonde_image_is_app((uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "usleep")) == 0);
    CHECK(sonde_image_is_app(function_of(argv[1])) == 1);
    CHECK(sonde_image_is_app(function_of(argv[2])) == 0);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
