// SPDX-License-Identifier: Apache-2.0
/* Objective-C methods by name: "-[Class selector]" of instances, "+[Class selector]" of the class.
 * The runtime keeps a pointer to the implementation of each method; its own functions set the
 * pointer to a thunk, and back. They are looked up by dlsym(), so nothing happens in a program
 * without the runtime.
 *
 * Invariant: runs no code of the program (no +initialize, no +resolveInstanceMethod:). The methods
 * of the class itself and its categories are hooked; for an inherited one the class gets a method
 * of its own, so that calls for other classes are not hooked. It stays. A subclass' method of the
 * same name is not hooked, but noted. Sources: the C API that
 * GNU's runtime (objc/runtime.h of gcc 12) and Apple's have in common. Context: any thread, one at
 * a time, without a lock that a thread inside of the runtime may wait for. */
#ifndef SONDE_HOOK_METHOD_H
#define SONDE_HOOK_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde__hook_method_state {
    SONDE__HOOK_METHOD_NO_RUNTIME, /* no runtime is loaded */
    SONDE__HOOK_METHOD_NO_CLASS,   /* no class of this name is loaded */
    SONDE__HOOK_METHOD_NOT_OWN,    /* the class has no such method of its own */
    SONDE__HOOK_METHOD_FULL,       /* no thunk is left */
    SONDE__HOOK_METHOD_HOOKED,
};

/* Why it is not hooked, as text; null: it is hooked. */
const char *sonde__hook_method_text(uint32_t state);

/* Is it the name of a method? ret_class, ret_selector: where they begin and end in it. */
struct sonde__hook_method_name {
    bool of_class; /* + */
    const char *class_name, *selector;
    size_t class_size, selector_size;
};
bool sonde__hook_method_parse(const char *text, struct sonde__hook_method_name *ret_name);

/* Is it the name of a system call ("syscall:openat"), not of a symbol? */
bool sonde__hook_is_syscall(const char *name);

/* Of a class' name that is shown; longer ones are cut. */
enum { SONDE__HOOK_CLASS_BYTES = 64 };

struct sonde__hook_method {
    const char *name;
    uint32_t function;
    _Atomic uint32_t state; /* enum sonde__hook_method_state */
    void *base;             /* the named class */
    void *class, *method;   /* where its method is: that, or its class */
    uint64_t old, thunk;
    /* Subclasses with a method of their own in its place, as of the last look, and one of them. */
    uint32_t overriders;
    char overrider[SONDE__HOOK_CLASS_BYTES];
};

/* What that means for the calls, at most 256 bytes with the 0. False: nothing, as there are none.
 */
bool sonde__hook_override_text(const char *overrider, uint32_t overriders, char *ret_text,
                               size_t size);

/* Try to hook those that are not hooked yet. Returns how many are still missing. thunk_of:
 * returns the thunk for a target; 0: none is left */
uint32_t sonde__hook_methods_look(struct sonde__hook_method *methods, uint32_t count,
                                  uint64_t (*thunk_of)(uint64_t target, uint32_t function));

/* Note which subclasses override those that are hooked. */
void sonde__hook_overrides_look(struct sonde__hook_method *methods, uint32_t count);

/* Restore those that still point to their thunk. */
void sonde__hook_methods_restore(struct sonde__hook_method *methods, uint32_t count);

#endif
