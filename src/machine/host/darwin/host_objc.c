// SPDX-License-Identifier: Apache-2.0
/* The functions of objc/runtime.h and message.h are looked up, so that sonde needs libSystem only.
 * NSBlock may inherit debugDescription from NSObject: then a method of its own is added, which
 * cannot be removed again, and gets the inherited implementation instead. */
#include "host_objc.h"

#include <objc/runtime.h>
#include <stdlib.h>

#include "host_lookup.h"

typedef id sender(id object, SEL selector);
typedef id sender_of_text(id object, SEL selector, const char *text);
typedef const char *sender_for_text(id object, SEL selector);

static struct {
    Class (*class)(const char *name);
    SEL (*selector)(const char *name);
    Method (*method)(Class class, SEL selector);
    IMP (*implementation)(Method method);
    IMP (*set)(Method method, IMP implementation);
    BOOL (*add)(Class class, SEL selector, IMP implementation, const char *types);
    const char *(*types)(Method method);
    sender *send; /* objc_msgSend(), which is called as the method's function */
} objc;

static Method method; /* NSBlock's own; null: not replaced */
static IMP original;
static sonde__host_objc_adds *adds_text;

static bool find_runtime(void)
{
    const struct host_wanted functions[] = {
        {"objc_lookUpClass", &objc.class},
        {"sel_registerName", &objc.selector},
        {"class_getInstanceMethod", &objc.method},
        {"method_getImplementation", &objc.implementation},
        {"method_setImplementation", &objc.set},
        {"class_addMethod", &objc.add},
        {"method_getTypeEncoding", &objc.types},
        {"objc_msgSend", &objc.send},
    };
    return host_lookup(functions, sizeof functions / sizeof functions[0]);
}

static const char *bytes_of(id text)
{
    return text == NULL ? NULL : ((sender_for_text *)objc.send)(text, objc.selector("UTF8String"));
}

/* The text is autoreleased, as that of the original. */
static id describe(id self, SEL selector)
{
    enum { ADDED_MAX = 1 << 14 };
    id text = ((sender *)original)(self, selector);
    const char *begin = bytes_of(text);
    size_t length = begin != NULL ? strlen(begin) : 0;
    char *joined = malloc(length + ADDED_MAX);
    if (joined == NULL) {
        return text;
    }
    if (length != 0) {
        memcpy(joined, begin, length);
        joined[length++] = '\n';
    }
    adds_text((uint64_t)(uintptr_t)self, joined + length, ADDED_MAX - 1);
    id made = ((sender_of_text *)(void (*)(void))objc.send)(
        (id)objc.class("NSString"), objc.selector("stringWithUTF8String:"), joined);
    free(joined);
    return made != NULL ? made : text;
}

/* NSBlock's own method, with the original implementation. Null: it has none at all. */
static Method own_method(Class class)
{
    SEL selector = objc.selector("debugDescription");
    Method found = objc.method(class, selector);
    if (found != NULL && objc.add(class, selector, objc.implementation(found), objc.types(found))) {
        found = objc.method(class, selector);
    }
    return found;
}

enum sonde_status sonde__host_objc_replace(sonde__host_objc_adds *adds)
{
    Class class = find_runtime() ? objc.class("NSBlock") : NULL;
    Method found = class != NULL && objc.class("NSString") != NULL ? own_method(class) : NULL;
    if (found == NULL) {
        return SONDE_UNSUPPORTED;
    }
    adds_text = adds;
    original = objc.implementation(found);
    method = found;
    (void)objc.set(found, (IMP)(void (*)(void))describe);
    return SONDE_OK;
}

void sonde__host_objc_restore(void)
{
    if (method != NULL) {
        (void)objc.set(method, original);
        method = NULL;
    }
}

int sonde__host_objc_description(uint64_t object, char *text, size_t size)
{
    id self = (id)(uintptr_t)object;
    const char *bytes = bytes_of(objc.send(self, objc.selector("description")));
    if (bytes == NULL) {
        return 0;
    }
    strlcpy(text, bytes, size);
    return 1;
}
