// SPDX-License-Identifier: Apache-2.0
/* A frozen target keeps images that the program has unloaded since. */
#include "target_frozen.h"

#include "target_private.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define LIBRARY "libz.so.1"

static const struct sonde__image *find(struct sonde__target *target, const char *part)
{
    const struct sonde__image_set *set = sonde__target_images(target);
    for (uint32_t i = 0; i < set->image_count; i++) {
        if (strstr(set->images[i].path, part) != NULL) {
            return &set->images[i];
        }
    }
    return NULL;
}

/* Loads the library, and unloads it when it is told to. */
static pid_t start(int told[2], int done[2])
{
    CHECK_OK(pipe(told));
    CHECK_OK(pipe(done));
    pid_t pid = fork();
    if (pid == 0) {
        char byte = 0;
        void *library = dlopen(LIBRARY, RTLD_NOW);
        (void)!write(done[1], library != NULL ? "y" : "n", 1);
        (void)!read(told[0], &byte, 1);
        if (library != NULL) {
            dlclose(library);
        }
        (void)!write(done[1], "y", 1);
        (void)!read(told[0], &byte, 1);
        _exit(0);
    }
    return pid;
}

TEST(images_stay_while_a_target_is_frozen)
{
    const struct sonde__target_options options = {.mode = SONDE__TARGET_PASSIVE};
    struct sonde__target *target = NULL, *frozen = NULL;
    struct sonde_error error;
    char byte = 0;
    int told[2], done[2];
    pid_t pid = start(told, done);
    CHECK_EQ(read(done[0], &byte, 1), 1);
    enum sonde_status status = sonde__target_open_process(pid, &options, &target, &error);
    if (byte != 'y' || status == SONDE_UNSUPPORTED || status == SONDE_DENIED) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        SKIP("no " LIBRARY ", or no process may be read");
    }
    CHECK_OK(status);
    const struct sonde__build_id id = find(target, LIBRARY)->build_id;
    target->scripts.has_image = target->scripts.is_packed = true;
    target->scripts.build_id = id;
    CHECK_OK(sonde__target_freeze(target, &frozen));
    CHECK_EQ(write(told[1], "x", 1), 1);
    CHECK_EQ(read(done[0], &byte, 1), 1);
    CHECK_OK(sonde__target_refresh(target, &error));
    CHECK_OK(sonde__target_refresh(target, &error));
    CHECK(find(target, LIBRARY) == NULL);
    const struct sonde__image *image = find(frozen, LIBRARY);
    CHECK(image != NULL);
    CHECK(memcmp(&image->build_id, &id, sizeof id) == 0);
    CHECK(image->cfi.eh_frame_size > 0 && image->cfi.eh_frame[0] != 0); /* its file is mapped */
    CHECK(sonde__target_is_node(frozen, image));
    sonde__target_close(frozen);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    sonde__target_close(target);
    close(told[0]), close(told[1]), close(done[0]), close(done[1]);
}
