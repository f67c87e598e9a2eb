// SPDX-License-Identifier: Apache-2.0
/* NSThread by messages, through the runtime's C functions. */
#include "host_nsthread.h"

#include <objc/runtime.h>

#include "host_lookup.h"

typedef id send_object(id object, SEL selector);
typedef BOOL send_bool(id object, SEL selector);
typedef void send_set(id object, SEL selector, id value);
typedef const char *send_bytes(id object, SEL selector);
typedef id send_make(id object, SEL selector, const char *bytes);

static struct {
    Class (*class)(const char *name);
    Class (*class_of)(id object);
    Class (*super)(Class class);
    SEL (*selector)(const char *name);
    void *(*retain)(void *object);
    void (*release)(void *object);
    void (*send)(void); /* objc_msgSend(), which is called as the method's function */
} objc;

/* Null: Foundation is not loaded, or not yet. */
static Class find_class(void)
{
    static bool is_found; /* several threads may write what is the same for all */
    const struct host_wanted functions[] = {
        {"objc_lookUpClass", &objc.class},    {"object_getClass", &objc.class_of},
        {"class_getSuperclass", &objc.super}, {"sel_registerName", &objc.selector},
        {"objc_retain", &objc.retain},        {"objc_release", &objc.release},
        {"objc_msgSend", &objc.send},
    };
    if (!__atomic_load_n(&is_found, __ATOMIC_ACQUIRE)) {
        if (!host_lookup(functions, sizeof functions / sizeof functions[0])) {
            return NULL;
        }
        __atomic_store_n(&is_found, true, __ATOMIC_RELEASE);
    }
    return objc.class("NSThread");
}

static id get(id object, const char *name)
{
    return ((send_object *)objc.send)(object, objc.selector(name));
}

static bool says(id object, const char *name)
{
    return ((send_bool *)objc.send)(object, objc.selector(name)) != 0;
}

enum sonde_status sonde__host_nsthread_ask(const void *thread,
                                           struct sonde__host_nsthread *ret_told)
{
    Class wanted = find_class();
    id object = (id)(uintptr_t)thread;
    if (wanted == NULL) {
        return SONDE_UNSUPPORTED;
    }
    Class class = objc.class_of(object);
    while (class != NULL && class != wanted) {
        class = objc.super(class);
    }
    if (class == NULL) {
        return SONDE_USAGE;
    }
    *ret_told = (struct sonde__host_nsthread){
        .is_main = says(object, "isMainThread"),
        .is_current = get((id)wanted, "currentThread") == object,
        .is_running = says(object, "isExecuting"),
    };
    return SONDE_OK;
}

const void *sonde__host_nsthread_current(void)
{
    Class class = find_class();
    return class != NULL ? (const void *)get((id) class, "currentThread") : NULL;
}

static void set_name(id thread, id name)
{
    ((send_set *)objc.send)(thread, objc.selector("setName:"), name);
}

void *sonde__host_nsthread_rename(const void *thread, const char *name)
{
    id object = (id)(uintptr_t)thread;
    id before = get(object, "name");
    void *kept = before != NULL ? objc.retain(before) : NULL;
    set_name(object, ((send_make *)objc.send)((id)objc.class("NSString"),
                                              objc.selector("stringWithUTF8String:"), name));
    return kept;
}

void sonde__host_nsthread_restore(const void *thread, const char *name, void *before)
{
    id object = (id)(uintptr_t)thread;
    id now = get(object, "name");
    const char *bytes =
        now != NULL ? ((send_bytes *)objc.send)(now, objc.selector("UTF8String")) : NULL;
    if (bytes != NULL && strcmp(bytes, name) == 0) {
        set_name(object, (id)before);
    }
    if (before != NULL) {
        objc.release(before);
    }
}
