// SPDX-License-Identifier: Apache-2.0
/* Names in libraries whose path or identity the loader does not know: loaded by a relative path,
 * without a build-id, replaced or deleted since. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/text.h>

#include "test.h"

enum { DEPTH = 64 };

static void shell(const char *command)
{
    char text[2048];
    snprintf(text, sizeof text, "cd '%s' && %s", test_folder(), command);
    const char *const argv[] = {"sh", "-c", text, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

/* Build a library whose function `call` calls back through the static function `inner`. */
static void build(const char *file, const char *inner, const char *options)
{
    char command[1024];
    snprintf(command, sizeof command,
             "printf 'static __attribute__((noinline)) void %s(void (*f)(void)) { f(); "
             "__asm__ volatile(\"\"); }\\nvoid call(void (*f)(void)) { %s(f); "
             "__asm__ volatile(\"\"); }\\n' > lib.c && cc -O1 -fPIC -shared %s -o %s lib.c",
             inner, inner, options, file);
    shell(command);
}

static struct sonde_symbolizer *symbolizer;
static char name[256], image[PATH_MAX], text[8192];

static void take(void)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    struct sonde_symbol symbol = {.struct_bytes = sizeof symbol};
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&stack, 0));
    CHECK_OK(sonde_symbolize(symbolizer, &stack, 1, &symbol));
    snprintf(name, sizeof name, "%s", symbol.name);
    snprintf(image, sizeof image, "%s", symbol.image);
    CHECK_OK(sonde_stack_text(symbolizer, SONDE_STYLE_SONDE, &stack, text, sizeof text, NULL));
}

static void *load_and_call(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW);
    CHECK(handle != NULL);
    void (*call)(void (*)(void)) = (void (*)(void (*)(void)))(uintptr_t)dlsym(handle, "call");
    CHECK(call != NULL);
    call(take);
    return handle;
}

static void check_image(const char *file)
{
    char path[PATH_MAX], real[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", test_folder(), file);
    CHECK(realpath(path, real) != NULL);
    CHECK_STR(image, real);
}

/* Memory that the loader keeps for good is no leak of a test. */
static __attribute__((constructor)) void before_main(void)
{
    for (int i = 0; i < 3; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/tests/integration/api/libapi_plugin_64.so",
                 test_build_dir());
        void *handle = dlopen(path, RTLD_NOW);
        if (handle != NULL) {
            dlclose(handle);
        }
    }
}

static void start(void)
{
    CHECK_OK(sonde_symbolizer_create(&symbolizer));
    CHECK_EQ(chdir(test_folder()), 0);
}

TEST_TIMEOUT(loaded_by_a_relative_path, 120)
{
    start();
    build("rel.so", "inside_rel", "-Wl,--build-id");
    void *handle = load_and_call("./rel.so");
    CHECK_STR(name, "inside_rel");
    check_image("rel.so");
    CHECK_CONTAINS(text, "inside_rel+0x");
    /* sonde searches the file in its folder at load time, not in the current working directory */
    CHECK_EQ(chdir("/"), 0);
    sonde_symbolizer_destroy(symbolizer);
    CHECK_OK(sonde_symbolizer_create(&symbolizer));
    snprintf(text, sizeof text, "%s", image);
    CHECK_EQ(dlclose(load_and_call(text)), 0); /* the same object */
    CHECK_STR(name, "inside_rel");
    CHECK_EQ(dlclose(handle), 0);
    sonde_symbolizer_destroy(symbolizer);
}

TEST_TIMEOUT(opened_without_a_build_id, 120)
{
    start();
    build("noid.so", "inside_noid", "-Wl,--build-id=none");
    shell("ln -s noid.so link.so && mkdir folder && mv noid.so folder/ && ln -sf folder/noid.so "
          "link.so");
    void *handle = load_and_call("./link.so");
    CHECK_STR(name, "inside_noid");
    check_image("folder/noid.so");
    CHECK_CONTAINS(text, "inside_noid+0x");
    CHECK_CONTAINS(text, "noid.so\n");
    CHECK_EQ(dlclose(handle), 0);
    sonde_symbolizer_destroy(symbolizer);
}

/* Another file at the same path, loaded after the first was unloaded, gets its own names. */
TEST_TIMEOUT(replaced_without_a_build_id, 120)
{
    start();
    build("again.so", "inside_one", "-Wl,--build-id=none");
    void *handle = load_and_call("./again.so");
    CHECK_STR(name, "inside_one");
    CHECK_EQ(dlclose(handle), 0);
    build("again.so", "inside_two", "-Wl,--build-id=none");
    handle = load_and_call("./again.so");
    CHECK_STR(name, "inside_two");
    CHECK_EQ(dlclose(handle), 0);
    /* replaced while loaded: the path leads to another file */
    handle = dlopen("./again.so", RTLD_NOW);
    CHECK(handle != NULL);
    build("new.so", "inside_new", "-Wl,--build-id=none");
    shell("mv new.so again.so");
    void (*call)(void (*)(void)) = (void (*)(void (*)(void)))(uintptr_t)dlsym(handle, "call");
    sonde_symbolizer_destroy(symbolizer);
    CHECK_OK(sonde_symbolizer_create(&symbolizer));
    call(take);
    CHECK_STR(name, "");
    CHECK_CONTAINS(image, "again.so");
    CHECK_EQ(dlclose(handle), 0);
    sonde_symbolizer_destroy(symbolizer);
}

/* The kernel keeps the program's file after its path is gone. */
TEST_TIMEOUT(program_deleted_while_it_runs, 120)
{
    char command[2048];
    for (int id = 0; id < 2; id++) {
        snprintf(
            command, sizeof command,
            "printf '#include <sonde/text.h>\\n#include <stdio.h>\\n#include <unistd.h>\\n"
            "static char text[9999];\\n"
            "int main(int argc, char **argv) { struct sonde_symbolizer *s; uint64_t pcs[64];"
            " uint8_t how[64]; struct sonde_stack k; unlink(argv[argc - 1]);"
            " sonde_stack_init(&k, pcs, how, 64, 0);"
            " if (sonde_symbolizer_create(&s) != 0 || sonde_stack_capture(&k, 0) != 0 ||"
            " sonde_stack_text(s, SONDE_STYLE_SONDE, &k, text, sizeof text, 0) != 0) { return 1; }"
            " fputs(text, stdout); }\\n' > gone.c && cc -O1 -I'%s/include' %s -o gone gone.c "
            "'%s/src/libsonde.a' -ldl -pthread && ./gone $PWD/gone > out && test ! "
            "-e gone && "
            "grep -q ' main+0x.* gone$' out",
            test_source_dir(), id != 0 ? "-Wl,--build-id" : "-Wl,--build-id=none",
            test_build_dir());
        shell(command);
    }
}
