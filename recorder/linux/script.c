// SPDX-License-Identifier: Apache-2.0
/* Finds Python in the program, and lets recorded calls have its functions (record_script.h).
 *
 * One slot of the interpreter is changed: the destructor of code objects calls us first. A freed
 * code object's address is soon another's, and nothing else tells the two apart at a cost that each
 * call could pay. */
#include <dlfcn.h>
#include <string.h>

#include "capture_images.h"
#include "image_elf.h"
#include "os.h"
#include "recorder.h"
#include "runtime_copied.h"

enum { TP_NAME = 24, TP_DEALLOC = 48 }; /* in PyTypeObject, of all versions */

static struct {
    uint64_t (*state)(void);
    uint64_t (*current)(void);
    void (*_Atomic *slot)(void *);
    void (*free)(void *);
} python;

/* They call no function that may be hooked but pthread_getspecific(). */
static uint64_t own_state(void)
{
    recorder_busy++;
    uint64_t state = python.state();
    recorder_busy--;
    return state;
}

static uint64_t current_state(void)
{
    recorder_busy++;
    uint64_t state = python.current();
    recorder_busy--;
    return state;
}

static void free_code(void *code)
{
    sonde__record_script_free((uint64_t)(uintptr_t)code);
    python.free(code);
}

/* --- the interpreter --- */

static void read_own(void *ctx, struct sonde__runtime_piece *pieces, uint32_t count)
{
    (void)ctx;
    for (uint32_t i = 0; i < count; i++) {
        pieces[i].got =
            (uint32_t)sonde__os_read(pieces[i].address, pieces[i].bytes, pieces[i].size);
    }
}

static uint64_t address_of(void *handle, const char *name)
{
    return (uint64_t)(uintptr_t)dlsym(handle, name);
}

static bool is_library(const char *path)
{
    const char *name = strrchr(path, '/');
    return strncmp(name != NULL ? name + 1 : path, "libpython", 9) == 0;
}

/* A library that only its own user sees. */
static void *open_library(const struct sonde__image_set *images)
{
    for (uint32_t i = 0; images != NULL && i < images->image_count; i++) {
        void *handle = is_library(images->images[i].path)
                           ? dlopen(images->images[i].path, RTLD_LAZY | RTLD_NOLOAD)
                           : NULL;
        if (handle != NULL) {
            return handle;
        }
    }
    return NULL;
}

static enum sonde_status make_plan(const struct sonde__elf *elf, uint64_t bias, void *ret_plan,
                                   struct sonde_error *error)
{
    const struct sonde__runtime_memory memory = {read_own, NULL};
    return sonde__runtime_plan(elf, bias, &memory, ret_plan, error);
}

/* --- beginning --- */

static bool find_functions(void *handle, struct sonde__script_way *way)
{
    uint64_t state = address_of(handle, "PyGILState_GetThisThreadState");
    uint64_t current = address_of(handle, "PyThreadState_GetUnchecked"); /* from 3.13 on */
    current = current != 0 ? current : address_of(handle, "_PyThreadState_UncheckedGet");
    way->code_type = address_of(handle, "PyCode_Type");
    way->text_type = address_of(handle, "PyUnicode_Type");
    way->bytes_type = address_of(handle, "PyBytes_Type");
    if (state == 0 || way->code_type == 0 || way->text_type == 0 || way->bytes_type == 0) {
        return false;
    }
    memcpy(&python.state, &state, sizeof state);
    memcpy(&python.current, &current, sizeof current);
    way->state = own_state;
    way->current = current != 0 ? current_state : NULL;
    return true;
}

static void show_plan(const struct sonde__runtime_plan *plan, const struct sonde__script_way *way)
{
    struct sonde__script_page *page = &recorder_page->script;
    page->version = plan->version;
    page->runtime = plan->address;
    page->code_type = way->code_type;
    page->text_type = way->text_type;
    page->bytes_type = way->bytes_type;
    page->loop_count = plan->loop_count;
    memcpy(page->loops, plan->loops, sizeof page->loops);
    (void)sonde__os_read(plan->address, page->offsets, sizeof page->offsets);
    atomic_store_explicit(&page->is_set, SONDE__SCRIPT_PYTHON, memory_order_release);
}

/* A build for debugging has other types. */
static bool is_code_type(uint64_t type)
{
    uint64_t name = 0;
    char text[5] = "";
    return sonde__os_read(type + TP_NAME, &name, sizeof name) == sizeof name &&
           sonde__os_read(name, text, sizeof text) == sizeof text && memcmp(text, "code", 5) == 0;
}

static bool begin(void *handle, const struct sonde__runtime_plan *plan)
{
    struct sonde__script_way way = {.layout = plan->layout};
    if (!find_functions(handle, &way) || !is_code_type(way.code_type)) {
        return false;
    }
    python.slot = (void (*_Atomic *)(void *))(uintptr_t)(way.code_type + TP_DEALLOC);
    python.free = atomic_load(python.slot);
    atomic_store(python.slot, free_code);
    (void)own_state(); /* lazily bound functions are bound now, not in a handler */
    show_plan(plan, &way);
    return sonde__record_script_begin(&way);
}

/* An address in the interpreter, by the symbols of those that are read and those that are not
 * (runtime.c). 0: there is none. */
static uint64_t find_symbol(void *handle)
{
    uint64_t address = address_of(handle, "_PyRuntime");
    address = address != 0 ? address : address_of(handle, "_PyThreadState_Current");
    return address != 0 ? address : address_of(handle, "PyPyType_Ready");
}

/* The interpreter's library if only its user sees it, else the global scope. */
static uint64_t find_runtime(const struct sonde__image_set *images, void **ret_handle)
{
    void *library = NULL;
    *ret_handle = RTLD_DEFAULT;
    uint64_t address = find_symbol(*ret_handle);
    if (address == 0 && (library = open_library(images)) != NULL) {
        *ret_handle = library; /* not closed: we keep addresses of it */
        address = find_symbol(library);
    }
    if (address == 0) {
        (void)dlerror(); /* not the program's error */
    }
    return address;
}

void recorder_look_for_script(void)
{
    static bool is_found;
    recorder_look_for_v8();
    struct sonde__capture_pin pin = sonde__capture_pin();
    void *handle = NULL;
    uint64_t address = is_found ? 0 : find_runtime(pin.images, &handle);
    const struct sonde__image *image = address != 0 ? recorder_image_of(pin.images, address) : NULL;
    struct sonde__runtime_plan plan;
    struct sonde_error error = {0};
    if (image != NULL) {
        is_found = true;
        enum sonde_status status = recorder_read_image(image, make_plan, &plan, &error);
        if (status != SONDE_OK) {
            recorder_refuse_script(error.what[0] != '\0' ? error.what : sonde_status_text(status));
        } else if (!begin(handle, &plan)) {
            recorder_refuse_script("Python's own functions are not found, or out of memory");
        }
    }
    sonde__capture_unpin(pin);
}

void recorder_end_script(void)
{
    void (*own)(void *) = free_code;
    if (python.slot != NULL) {
        (void)atomic_compare_exchange_strong(python.slot, &own, python.free);
    }
}
