// SPDX-License-Identifier: Apache-2.0
/* Images compared with dl_iterate_phdr and dladdr; image snapshots over dlopen and dlclose. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <sonde/image.h>
#include <sonde/stack.h>

#include "capture_images.h"
#include "target_self.h"
#include "test.h"

/* a library that nothing links, sanitizers included */
static const char library[] = "libBrokenLocale.so.1";

static int keep(void *ctx, const struct sonde_image *image)
{
    *(struct sonde_image *)ctx = *image;
    return 0;
}

struct tally {
    unsigned images, main, vdso, with_id;
    uint64_t main_start;
};

static int count_image(void *ctx, const struct sonde_image *image)
{
    struct tally *tally = ctx;
    if (tally->images == 0) {
        CHECK(image->flags & SONDE_IMAGE_MAIN);
    }
    tally->images++;
    tally->main += (image->flags & SONDE_IMAGE_MAIN) != 0;
    tally->vdso += (image->flags & SONDE_IMAGE_VDSO) != 0;
    tally->with_id += image->build_id_size == 20;
    CHECK(image->start < image->end);
    CHECK(image->path[0] == '/' || strcmp(image->path, "[vdso]") == 0);
    return 0;
}

static int count_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)info;
    ++*(unsigned *)ctx;
    return 0;
}

TEST(as_many_as_the_loader_has)
{
    struct tally tally = {0};
    unsigned objects = 0;
    CHECK_OK(sonde_images_each(count_image, &tally));
    dl_iterate_phdr(count_object, &objects);
    CHECK_EQ(tally.images, objects);
    CHECK_EQ(tally.main, 1);
    CHECK_EQ(tally.vdso, getauxval(AT_SYSINFO_EHDR) != 0);
    CHECK(tally.with_id >= 2);
}

/* Libraries loaded at program start are never unloaded. */
static uintptr_t initial[64];
static unsigned initial_count;

static int note_start(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    for (unsigned i = 0; i < info->dlpi_phnum && initial_count < 64; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            initial[initial_count++] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            break;
        }
    }
    return 0;
}

static __attribute__((constructor(101))) void note_initial_images(void)
{
    dl_iterate_phdr(note_start, NULL);
}

static void check_permanent(void)
{
    uint32_t permanent = 0;
    struct sonde__capture_pin pin;
    CHECK_OK(sonde_stack_prepare());
    pin = sonde__capture_pin();
    for (uint32_t i = 0; i < pin.images->image_count; i++) {
        const struct sonde__image *image = &pin.images->images[i];
        bool is_initial = false;
        for (unsigned j = 0; j < initial_count; j++) {
            is_initial |= initial[j] == image->start;
        }
        if (image->is_permanent != is_initial) {
            FAIL("%s: %d", image->path, image->is_permanent);
        }
        permanent += image->is_permanent;
    }
    CHECK_EQ(permanent, initial_count);
    sonde__capture_unpin(pin);
}

TEST(images_that_can_be_unloaded)
{
    for (int round = 0; round < 3; round++) {
        void *handle = dlopen(library, RTLD_NOW);
        CHECK(handle != NULL);
        check_permanent();
        dlclose(handle);
        check_permanent();
    }
}

TEST(bounds_and_path_are_those_of_dladdr)
{
    void *const addresses[] = {(void *)&dladdr, (void *)&keep};
    for (int i = 0; i < 2; i++) {
        struct sonde_image image = {0};
        Dl_info info;
        CHECK_OK(sonde_image_find((uintptr_t)addresses[i], keep, &image));
        CHECK(dladdr(addresses[i], &info) != 0);
        CHECK_EQ(image.start, (uintptr_t)info.dli_fbase);
    }
    CHECK_EQ(sonde_image_find(16, keep, NULL), SONDE_ABSENT);
}

TEST(the_programs_own_code)
{
    CHECK_EQ(sonde_image_is_app((uintptr_t)&keep), 1);
    CHECK_EQ(sonde_image_is_app((uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version")), 0);
    CHECK_EQ(sonde_image_is_app(16), 0);
    void *handle = dlopen(library, RTLD_NOW);
    CHECK(handle != NULL);
    CHECK_EQ(sonde_image_is_app((uintptr_t)handle), 0); /* no code */
    dlclose(handle);
}

TEST(a_library_comes_and_goes)
{
    struct sonde_image image = {0};
    for (int i = 0; i < 20; i++) {
        void *handle = dlopen(library, RTLD_NOW);
        uintptr_t inside;
        CHECK(handle != NULL);
        inside = (uintptr_t)dlsym(handle, "__ctype_get_mb_cur_max");
        CHECK_OK(sonde_image_find(inside, keep, &image));
        if (i == 3) {
            CHECK_OK(sonde_stack_prepare());
        }
        dlclose(handle);
        CHECK_EQ(sonde_image_find(inside, keep, &image), SONDE_ABSENT);
    }
    CHECK_EQ(sonde__target_self_retired(), 0);
}

TEST(a_pinned_snapshot_stays)
{
    struct sonde__capture_pin pin;
    void *handle;
    CHECK_OK(sonde_stack_prepare());
    pin = sonde__capture_pin();
    handle = dlopen(library, RTLD_NOW);
    CHECK_OK(sonde_stack_prepare());
    dlclose(handle);
    CHECK_OK(sonde_stack_prepare());
    CHECK(sonde__target_self_retired() >= 1);
    for (uint32_t i = 0; i < pin.images->image_count; i++) {
        CHECK(pin.images->images[i].start != 0);
    }
    sonde__capture_unpin(pin);
    CHECK_OK(sonde_stack_prepare());
    CHECK_EQ(sonde__target_self_retired(), 0);
}

static int prepare_inside(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)info;
    (void)size;
    (void)ctx;
    CHECK_OK(sonde_stack_prepare());
    return 1;
}

static int stop;

static void *iterate(void *arg)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        dl_iterate_phdr(prepare_inside, NULL);
    }
    return arg;
}

/* Lock order: the caller may hold the loader's lock, then takes ours. */
TEST(inside_a_callback_of_the_loader)
{
    pthread_t thread;
    CHECK_OK(pthread_create(&thread, NULL, iterate, NULL));
    for (int i = 0; i < 200; i++) {
        void *handle = dlopen(library, RTLD_NOW);
        CHECK_OK(sonde_stack_prepare());
        dlclose(handle);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

enum { DEPTH = 64 };

static __attribute__((noinline)) void capture_to(uint64_t *pcs, uint32_t *ret_count)
{
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&stack, 0));
    CHECK_EQ(stack.end, SONDE_END_ROOT);
    *ret_count = stack.count;
}

/* The loader, a snapshot in place and compiled rules give the same stack. */
TEST(the_same_stack_in_each_way)
{
    uint64_t pcs[3][DEPTH];
    uint32_t counts[3];
    for (volatile int i = 0; i < 3; i++) { /* one call site */
        if (i > 0) {
            CHECK_OK(sonde__target_self_refresh(i == 2));
        }
        capture_to(pcs[i], &counts[i]);
    }
    CHECK(counts[0] > 2);
    CHECK_EQ(counts[1], counts[0]);
    CHECK_EQ(counts[2], counts[0]);
    CHECK(memcmp(pcs[1], pcs[0], counts[0] * 8) == 0);
    CHECK(memcmp(pcs[2], pcs[0], counts[0] * 8) == 0);
}

/* Of several rules the longest prefix wins; of equal prefixes, the last. */
TEST(rules_say_which_code_is_the_apps)
{
    uint64_t own = (uintptr_t)&keep;
    uint64_t libc = (uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    char longer[300];
    memset(longer, '/', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_EQ(sonde_image_set_app(NULL, 1), SONDE_USAGE);
    CHECK_EQ(sonde_image_set_app("", 1), SONDE_USAGE);
    CHECK_EQ(sonde_image_set_app("relative", 1), SONDE_USAGE);
    CHECK_EQ(sonde_image_set_app(longer, 1), SONDE_USAGE);
    CHECK_OK(sonde_image_set_app("/no/such/folder/", 0));
    CHECK_EQ(sonde_image_is_app(own), 1);
    CHECK_EQ(sonde_image_is_app(libc), 0);
    CHECK_OK(sonde_image_set_app("/", 1));
    CHECK_EQ(sonde_image_is_app(libc), 1);
    CHECK_OK(sonde_image_set_app(test_build_dir(), 0));
    CHECK_EQ(sonde_image_is_app(own), 0);
    CHECK_EQ(sonde_image_is_app(libc), 1);
    CHECK_OK(sonde_image_set_app("/", 0));
    CHECK_EQ(sonde_image_is_app(libc), 0);
    for (int i = 4; i < 32; i++) {
        CHECK_OK(sonde_image_set_app("/x", 1));
    }
    CHECK_EQ(sonde_image_set_app("/x", 1), SONDE_LIMIT);
}
