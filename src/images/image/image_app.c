// SPDX-License-Identifier: Apache-2.0
#include "image_app.h"

#include <stdatomic.h>

#include "base_mem.h"
#include "base_text.h"
#include "image_set.h"

/* More than anyone needs; paths of folders are shorter. */
enum { RULES = 32, PREFIX_MAX = 255 };

static struct {
    char prefix[PREFIX_MAX + 1];
    size_t size;
    bool is_app;
} rules[RULES];
static _Atomic uint32_t rule_count;

bool sonde__image_app_rule(const char *prefix, size_t size, bool is_app)
{
    uint32_t count = atomic_load_explicit(&rule_count, memory_order_relaxed);
    if (count == RULES || size == 0 || size > PREFIX_MAX || prefix[0] != '/') {
        return false;
    }
    sonde__base_mem_copy(rules[count].prefix, prefix, size);
    rules[count].prefix[size] = '\0';
    rules[count].size = size;
    rules[count].is_app = is_app;
    atomic_store_explicit(&rule_count, count + 1, memory_order_release);
    return true;
}

bool sonde__image_app_ruled(const char *path, bool *ret_is_app)
{
    uint32_t count = atomic_load_explicit(&rule_count, memory_order_acquire);
    size_t longest = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (rules[i].size >= longest && sonde__base_starts_with(path, rules[i].prefix)) {
            longest = rules[i].size;
            *ret_is_app = rules[i].is_app;
        }
    }
    return longest != 0;
}

/* --- bundles of Apple's systems --- */

static char bundle[1024];          /* with a slash at its end */
static _Atomic size_t bundle_size; /* 0: none */

/* iOS has two paths for the same folder. */
static const char *without_private(const char *path)
{
    return sonde__base_starts_with(path, "/private/var/") ? path + sizeof "/private" - 1 : path;
}

/* Cut `end` off the first `size` bytes of a path. */
static bool cut(const char *path, size_t *size, const char *end)
{
    size_t length = sonde__base_str_length(end);
    if (*size < length || !sonde__base_starts_with(path + *size - length, end)) {
        return false;
    }
    *size -= length;
    return true;
}

/* The folder of the bundle whose program `path` is; of an extension's, that of its app. 0: it is in
 * no bundle. */
static size_t bundle_of(const char *path)
{
    size_t size = 0, end;
    for (size_t i = 0; path[i] != '\0'; i++) {
        size = path[i] == '/' ? i : size;
    }
    (void)cut(path, &size, "/Contents/MacOS");
    end = size;
    if (!cut(path, &end, ".app") && !cut(path, &end, ".appex")) {
        return 0;
    }
    for (size_t i = 0; i < size; i++) {
        if (sonde__base_starts_with(path + i, ".app/")) {
            return i + sizeof ".app" - 1;
        }
    }
    return size;
}

void sonde__image_app_program(const char *path)
{
    path = without_private(path);
    size_t size = bundle_of(path);
    size = size < sizeof bundle - 1 ? size : 0;
    if (size != 0 && (bundle[size] != '/' || !sonde__base_starts_with(path, bundle))) {
        sonde__base_mem_copy(bundle, path, size);
        bundle[size] = '/';
        bundle[size + 1] = '\0';
    }
    atomic_store(&bundle_size, size);
}

bool sonde__image_is_app(const char *path, uint32_t flags)
{
    bool is_app = false;
    static const char *const folders[] = {
        "/lib/",       "/lib32/",     "/lib64/",      "/libx32/", "/usr/lib/",
        "/usr/lib32/", "/usr/lib64/", "/usr/libx32/", "/System/", "/private/preboot/"};
    if ((flags & SONDE__IMAGE_VDSO) != 0) {
        return false;
    }
    if (sonde__image_app_ruled(path, &is_app)) {
        return is_app;
    }
    if ((flags & SONDE__IMAGE_MAIN) != 0) {
        return true;
    }
    if (atomic_load(&bundle_size) != 0) {
        return sonde__base_starts_with(without_private(path), bundle);
    }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (sonde__base_starts_with(path, folders[i])) {
            return false;
        }
    }
    return *path == '/';
}
