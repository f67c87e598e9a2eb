// SPDX-License-Identifier: Apache-2.0
/* The search for symbol files, on small programs that the compiler makes and objcopy splits. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem_heap.h"
#include "symfile_cache.h"
#include "test.h"

/* Load the library before the harness counts the heap: its memory is no leak of ours. */
__attribute__((constructor)) static void load_library(void)
{
    (void)dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);
}

static char library[1024], folder[900];

static void sh(const char *format, const char *a, const char *b)
{
    char command[4096];
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct test_run run;
    snprintf(command, sizeof command, format, a, b);
    run = test_run(argv, NULL, NULL, 60);
    if (run.status != 0) {
        FAIL("%s: %s", command, run.err);
    }
    test_run_done(&run);
}

/* lib.so with an exported and a static function, stripped; its symbols in lib.debug. */
static void make_library(const char *build_id_option)
{
    snprintf(folder, sizeof folder, "%s", test_folder());
    snprintf(library, sizeof library, "%s/lib.so", folder);
    sh("cd %s && printf 'static __attribute__((noinline,used)) int hidden_one(int a){return a*3;}"
       "int shown(int a){return hidden_one(a)+1;}' > l.c && "
       "${CC:-cc} -O1 -g -shared -fPIC %s -o lib.so l.c && objcopy --only-keep-debug lib.so "
       "lib.debug "
       "&& strip lib.so && objcopy --add-gnu-debuglink=lib.debug lib.so",
       folder, build_id_option);
}

static struct sonde__image image_of(const char *path)
{
    struct sonde__image image = {.path = path};
    struct sonde__elf elf;
    size_t size;
    char *data = test_read_file(path, &size);
    CHECK_OK(sonde__elf_open(data, size, &elf, NULL));
    (void)sonde__elf_build_id(&elf, &image.build_id);
    free(data);
    return image;
}

static struct sonde__symfile_cache *make_cache(const char *root, const char *debug_root)
{
    struct sonde__symfile_options options = {.root = root, .debug_root = debug_root};
    struct sonde__symfile_cache *cache = NULL;
    CHECK_OK(sonde__symfile_cache_create(&options, &cache));
    return cache;
}

/* Bits of the names that the index has: bit 0 `shown`, bit 1 `hidden_one`. */
static unsigned names_of(const struct sonde__symbol_index *index)
{
    unsigned found = 0;
    struct sonde__symbol symbol;
    for (uint64_t vaddr = 0; vaddr < 0x4000; vaddr++) {
        if (sonde__symbol_find(index, vaddr, &symbol)) {
            found |= strcmp(symbol.name, "shown") == 0 ? 1u : 0;
            found |= strcmp(symbol.name, "hidden_one") == 0 ? 2u : 0;
        }
    }
    return found;
}

static unsigned names_with(const char *root, const char *debug_root,
                           const struct sonde__image *image)
{
    struct sonde__symfile_cache *cache = make_cache(root, debug_root);
    const struct sonde__symbol_index *index, *again;
    struct sonde_error error;
    unsigned names;
    if (sonde__symfile_index(cache, image, NULL, 0, &index, &error) != SONDE_OK) {
        FAIL("%s", error.what);
    }
    CHECK_OK(sonde__symfile_index(cache, image, NULL, 0, &again, &error));
    CHECK(index == again);
    names = names_of(index);
    sonde__symfile_cache_destroy(cache);
    return names;
}

TEST(debug_link_beside_in_dot_debug_and_under_the_root)
{
    struct sonde__image image;
    make_library("-Wl,--build-id=sha1");
    image = image_of(library);
    CHECK_EQ(image.build_id.size, 20);
    CHECK_EQ(names_with(NULL, "/nowhere", &image), 3);
    sh("cd %s && mkdir .debug && mv lib.debug .debug/%s", folder, "");
    CHECK_EQ(names_with(NULL, "/nowhere", &image), 3);
    sh("cd %s && mkdir -p root%s && mv .debug/lib.debug \"root$PWD/\"", folder, folder);
    CHECK_EQ(names_with(NULL, "/nowhere", &image), 1);
    char root[1000];
    snprintf(root, sizeof root, "%s/root", folder);
    CHECK_EQ(names_with(NULL, root, &image), 3);
}

TEST(debug_file_by_build_id_even_without_the_file)
{
    struct sonde__image image;
    char root[1000], name[64] = "";
    make_library("-Wl,--build-id=sha1");
    image = image_of(library);
    for (unsigned i = 1; i < 20; i++) {
        snprintf(name + strlen(name), 3, "%02x", image.build_id.bytes[i]);
    }
    snprintf(root, sizeof root, "%s/.build-id/%02x", folder, image.build_id.bytes[0]);
    snprintf(root + strlen(root), sizeof root - strlen(root), "/%s.debug", name);
    sh("f=%s; mkdir -p ${f%%/*} && mv %s/lib.debug $f", root, folder);
    CHECK_EQ(names_with(NULL, folder, &image), 3);
    CHECK_EQ(unlink(library), 0);
    CHECK_EQ(names_with(NULL, folder, &image), 3);
}

/* sonde follows a link by name only if the file proves to be the right one. */
TEST(a_wrong_debug_file_is_refused)
{
    struct sonde__image image;
    make_library("-Wl,--build-id=sha1");
    image = image_of(library);
    /* of another build, with the same names */
    sh("cd %s && ${CC:-cc} -O0 -shared -fPIC -g -Wl,--build-id=sha1 %s -o lib.debug l.c", folder,
       "");
    CHECK_EQ(names_with(NULL, "/nowhere", &image), 1);
}

TEST(without_build_ids_the_crc_decides)
{
    struct sonde__image image;
    make_library("-Wl,--build-id=none");
    image = image_of(library);
    CHECK_EQ(image.build_id.size, 0);
    CHECK_EQ(names_with(NULL, "/nowhere", &image), 3);
    sh("cd %s && printf x >> lib.debug%s", folder, "");
    CHECK_EQ(names_with(NULL, "/nowhere", &image), 1);
}

/* A debug file in a user's folder is found by build-id, or by the debug link's name with its CRC,
 * and in no other way. */
TEST(debug_files_in_a_folder_of_the_user)
{
    static const char *const build_ids[] = {"-Wl,--build-id=sha1", "-Wl,--build-id=none"};
    for (unsigned i = 0; i < 2; i++) {
        struct sonde__image image;
        const char *const folders[] = {"/nowhere", folder};
        struct sonde__symfile_options options = {.debug_root = "/nowhere"};
        unsigned names[3];
        make_library(build_ids[i]);
        sh("cd %s && rm -rf in && mkdir in && mv lib.so in%s", folder, "");
        char path[1100];
        snprintf(path, sizeof path, "%s/in/lib.so", folder);
        image = image_of(path);
        for (unsigned k = 0; k < 3;
             k++) { /* without the folder, with it, with another file in it */
            struct sonde__symfile_cache *cache;
            const struct sonde__symbol_index *index;
            options.folders = folders;
            options.folder_count = k == 0 ? 0 : 2;
            if (k == 2) {
                sh("cd %s && ${CC:-cc} -O0 -shared -fPIC -g %s -o lib.debug l.c", folder,
                   build_ids[i]);
            }
            CHECK_OK(sonde__symfile_cache_create(&options, &cache));
            CHECK_OK(sonde__symfile_index(cache, &image, NULL, 0, &index, NULL));
            names[k] = names_of(index);
            sonde__symfile_cache_destroy(cache);
        }
        CHECK_EQ(names[0], 1);
        CHECK_EQ(names[1], 3);
        CHECK_EQ(names[2], 1);
    }
}

TEST(a_replaced_file_gives_no_names)
{
    struct sonde__image image;
    struct sonde__symfile_cache *cache;
    const struct sonde__symbol_index *index;
    struct sonde_error error;
    make_library("-Wl,--build-id=sha1");
    image = image_of(library);
    sh("cd %s && rm lib.debug && printf 'int other(void){return 1;}' > o.c && ${CC:-cc} -shared "
       "-fPIC -Wl,--build-id=sha1 %s -o lib.so o.c",
       folder, "");
    cache = make_cache(NULL, "/nowhere");
    for (int i = 0; i < 2; i++) {
        memset(&error, 0, sizeof error);
        CHECK_EQ(sonde__symfile_index(cache, &image, NULL, 0, &index, &error), SONDE_ABSENT);
        CHECK_CONTAINS(error.what, "replaced");
        CHECK_CONTAINS(error.what, "lib.so");
    }
    image.build_id.size = 0; /* unknown build: the file's names may be wrong */
    CHECK_EQ(sonde__symfile_index(cache, &image, NULL, 0, &index, &error), SONDE_ABSENT);
    sonde__symfile_cache_destroy(cache);
}

/* lib.so as Fedora ships it: stripped, with a small ELF of the functions that .dynsym lacks, made
 * as gdb's manual says ("MiniDebugInfo"). good.xz has that ELF, bare.so has none of it. */
static void make_mini(void)
{
    make_library("-Wl,--build-id=sha1");
    sh("cd %s && nm lib.debug --format=posix --defined-only | awk '$2 == \"t\" {print $1}' > keep "
       "&& "
       "objcopy -S --remove-section .comment --keep-symbols=keep lib.debug mini && xz -c mini > "
       "good.xz && objcopy --remove-section .gnu_debuglink lib.so bare.so && rm lib.debug%s",
       folder, "");
}

/* Bits of the names in a lib.so with mini.xz. `how`: a shell command that makes mini.xz of
 * good.xz. */
static unsigned names_with_mini(const char *how)
{
    struct sonde__image image;
    sh("cd %s && cp good.xz mini.xz && { %s :; } && objcopy --add-section .gnu_debugdata=mini.xz "
       "bare.so lib.so",
       folder, how);
    image = image_of(library);
    return names_with(NULL, "/nowhere", &image);
}

TEST(mini_debug_information_has_names)
{
    struct sonde__image image;
    if (dlopen("liblzma.so.5", RTLD_NOW | RTLD_NOLOAD) == NULL) {
        SKIP("there is no liblzma.so.5 for this machine");
    }
    make_mini();
    CHECK_EQ(names_with_mini(""), 3);
    sh("cd %s && cp bare.so lib.so%s", folder, "");
    image = image_of(library);
    CHECK_EQ(names_with(NULL, "/nowhere", &image), 1);
}

/* A section that is malformed, cut, too large, no ELF, or of another machine is ignored. */
TEST(mini_debug_information_of_an_enemy)
{
    static const char *const damage[] = {
        "head -c $(($(stat -c %s mini.xz) / 2)) good.xz > mini.xz;",
        "head -c -3 good.xz > mini.xz;",
        "m=$(($(stat -c %s mini.xz) / 2)); b=$(od -An -tu1 -j $m -N 1 mini.xz); "
        "printf \"\\\\$(printf %o $((255 - b)))\" | dd of=mini.xz bs=1 seek=$m conv=notrunc 2>n; "
        "cmp -s mini.xz good.xz && exit 1;",
        "printf '\\377\\377\\377\\377' | dd of=mini.xz bs=1 seek=$(($(stat -c %s mini.xz) - 8)) "
        "conv=notrunc 2>n;",
        "{ xz -dc good.xz; head -c 80000000 /dev/zero; } | xz -0 > mini.xz;",
        "head -c 100000 /dev/zero | xz > mini.xz;",
        "head -c 0 /dev/zero | xz > mini.xz;",
        "printf x > mini.xz;",
        "xz -dc good.xz > m; printf '\\267' | dd of=m bs=1 seek=18 conv=notrunc 2>n; xz -c m > "
        "mini.xz;",
    };
    make_mini();
    for (unsigned i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        CHECK_EQ(names_with_mini(damage[i]), 1);
    }
}

/* Lay out the file as a loader does, from vaddr 0. */
static char *load(const char *path, size_t *ret_size)
{
    struct sonde__elf_segment segment;
    struct sonde__elf elf;
    size_t file_size, size = 0;
    char *file = test_read_file(path, &file_size), *memory = NULL;
    CHECK_OK(sonde__elf_open(file, file_size, &elf, NULL));
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; sonde__elf_segment(&elf, i, &segment); i++) {
            if (segment.type != SONDE__PT_LOAD) {
                continue;
            }
            if (pass == 0 && segment.vaddr + segment.memsz > size) {
                size = segment.vaddr + segment.memsz;
            } else if (pass == 1) {
                memcpy(memory + segment.vaddr, file + segment.offset, segment.filesz);
            }
        }
        memory = pass == 0 ? calloc(1, size) : memory;
    }
    free(file);
    *ret_size = size;
    return memory;
}

/* An absent file stays absent, without another look at the disk. */
TEST(absence_is_remembered_until_memory_is_given)
{
    struct sonde__image image;
    struct sonde__symfile_cache *cache;
    const struct sonde__symbol_index *index;
    const struct sonde__elf *elf;
    struct sonde_error error;
    size_t size;
    char *data;
    make_library("-Wl,--build-id=sha1");
    image = image_of(library);
    data = load(library, &size);
    sh("cd %s && rm lib.debug && mv lib.so away%s", folder, "");
    cache = make_cache(NULL, "/nowhere");
    CHECK_EQ(sonde__symfile_index(cache, &image, NULL, 0, &index, &error), SONDE_ABSENT);
    CHECK_CONTAINS(error.what, "lib.so");
    sh("cd %s && mv away lib.so%s", folder, "");
    CHECK_EQ(sonde__symfile_index(cache, &image, NULL, 0, &index, &error), SONDE_ABSENT);
    CHECK_EQ(sonde__symfile_elf(cache, &image, NULL, 0, &elf, &error), SONDE_ABSENT);
    sh("cd %s && mv lib.so away%s", folder, "");
    CHECK_OK(sonde__symfile_index(cache, &image, data, size, &index, &error));
    free(data); /* the cache has its copy */
    CHECK_EQ(names_of(index), 1);
    CHECK_OK(sonde__symfile_elf(cache, &image, NULL, 0, &elf, &error));
    CHECK(elf->memory);
    sonde__symfile_cache_destroy(cache);
}

TEST(the_vdso_has_names_from_its_bytes)
{
    const char *base = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    struct sonde__image image = {.path = "[vdso]", .flags = SONDE__IMAGE_VDSO};
    struct sonde__symfile_cache *cache = make_cache(NULL, NULL);
    const struct sonde__symbol_index *index;
    const struct sonde__elf *elf;
    struct sonde__elf_symbols symbols;
    struct sonde__elf_symbol symbol;
    struct sonde__symbol found;
    struct sonde_error error;
    struct sonde__cfi cfi;
    unsigned functions = 0;
    if (base == NULL) {
        SKIP("no vdso");
    }
    image.bias = (uint64_t)(uintptr_t)base;
    CHECK_OK(sonde__symfile_index(cache, &image, base, 4096, &index, &error));
    CHECK_OK(sonde__symfile_elf(cache, &image, base, 4096, &elf, &error));
    CHECK(sonde__elf_dynamic_symbols(elf, &symbols));
    CHECK(sonde__elf_cfi(elf, &cfi));
    for (uint32_t i = 0; sonde__elf_symbols_at(&symbols, i, &symbol); i++) {
        if (symbol.type == SONDE__STT_FUNC && symbol.size != 0) {
            functions++;
            CHECK(sonde__symbol_find(index, symbol.value, &found));
            CHECK_EQ(found.start, symbol.value);
            CHECK_EQ(found.end, symbol.value + symbol.size);
        }
    }
    CHECK(functions >= 3);
    sonde__symfile_cache_destroy(cache);
}

TEST(each_failed_allocation_is_clean)
{
    struct sonde__image image;
    const struct sonde__symbol_index *index;
    struct sonde_error error;
    unsigned failures = 0;
    make_library("-Wl,--build-id=sha1");
    image = image_of(library);
    for (uint64_t n = 0;; n++) {
        struct sonde__symfile_cache *cache = NULL;
        enum sonde_status status;
        sonde__mem_fail_once(n);
        status = sonde__symfile_cache_create(NULL, &cache);
        if (status == SONDE_OK) {
            status = sonde__symfile_index(cache, &image, NULL, 0, &index, &error);
            if (status != SONDE_OK) {
                CHECK_EQ(status, SONDE_MEMORY);
                CHECK_EQ(error.status, SONDE_MEMORY);
                /* the cache does not remember lack of memory as a property of the file */
                CHECK_OK(sonde__symfile_index(cache, &image, NULL, 0, &index, &error));
            }
            CHECK_EQ(names_of(index), 3);
            sonde__symfile_cache_destroy(cache);
        }
        failures += status != SONDE_OK;
        if (sonde__mem_asked() <= n) {
            break;
        }
    }
    CHECK(failures >= 6);
}
