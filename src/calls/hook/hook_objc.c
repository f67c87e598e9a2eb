// SPDX-License-Identifier: Apache-2.0
#include "hook_objc.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

bool sonde__hook_objc_find(struct sonde__hook_objc *ret)
{
    ret->class_named = (void *(*)(const char *))dlsym(RTLD_DEFAULT, "objc_lookUpClass");
    if (ret->class_named == NULL) {
        return false;
    }
    ret->class_name = (const char *(*)(void *))dlsym(RTLD_DEFAULT, "class_getName");
    ret->list_classes = (int (*)(void **, int))dlsym(RTLD_DEFAULT, "objc_getClassList");
    ret->copy_methods = (void **(*)(void *, unsigned *))dlsym(RTLD_DEFAULT, "class_copyMethodList");
    ret->selector_of = (void *(*)(void *))dlsym(RTLD_DEFAULT, "method_getName");
    ret->name_of = (const char *(*)(void *))dlsym(RTLD_DEFAULT, "sel_getName");
    ret->implementation = (void *(*)(void *))dlsym(RTLD_DEFAULT, "method_getImplementation");
    ret->set_implementation =
        (void *(*)(void *, void *))dlsym(RTLD_DEFAULT, "method_setImplementation");
    ret->superclass = (void *(*)(void *))dlsym(RTLD_DEFAULT, "class_getSuperclass");
    ret->add_method =
        (int8_t(*)(void *, void *, void *, const char *))dlsym(RTLD_DEFAULT, "class_addMethod");
    ret->types = (const char *(*)(void *))dlsym(RTLD_DEFAULT, "method_getTypeEncoding");
    ret->update_tables =
        (void (*)(void *))dlsym(RTLD_DEFAULT, "__objc_update_dispatch_table_for_class");
    ret->no_table = (void *const *)dlsym(RTLD_DEFAULT, "__objc_uninstalled_dtable");
    return ret->class_name != NULL && ret->list_classes != NULL && ret->copy_methods != NULL &&
           ret->selector_of != NULL && ret->name_of != NULL && ret->implementation != NULL &&
           ret->set_implementation != NULL && ret->superclass != NULL && ret->add_method != NULL &&
           ret->types != NULL;
}

/* The first method of this name is the one that is called: a category's comes before the
 * class's. */
void *sonde__hook_objc_method(const struct sonde__hook_objc *runtime, void *class,
                              const struct sonde__hook_method_name *name)
{
    unsigned count = 0;
    void *found = NULL;
    void **methods = runtime->copy_methods(class, &count);
    for (unsigned i = 0; methods != NULL && i < count && found == NULL; i++) {
        const char *selector = runtime->name_of(runtime->selector_of(methods[i]));
        if (selector != NULL && strlen(selector) == name->selector_size &&
            memcmp(selector, name->selector, name->selector_size) == 0) {
            found = methods[i];
        }
    }
    free(methods);
    return found;
}

/* Where the methods of a class, or of its instances, are. */
void *sonde__hook_objc_holder(void *class, const struct sonde__hook_method_name *name)
{
    return name->of_class ? *(void **)class /* its own class, as that of every object */ : class;
}
