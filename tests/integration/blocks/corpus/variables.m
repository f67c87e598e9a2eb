// SPDX-License-Identifier: Apache-2.0
/* Classes with variables of all kinds, and where the compiler's own code finds each: by its symbols
 * (OBJC_IVAR_$_Base._first, __objc_ivar_offset_…), or by numbers where the runtime has none. And as
 * much of each runtime as it takes to load them. */
typedef unsigned long size;
typedef void (^block)(void);

__attribute__((objc_root_class)) @interface Base {
  @public
    void *isa;
    char _small;
    id _first;
    block _handler;
}
@end

@interface Derived : Base {
  @public
    int _number;
    unsigned _bit : 1;
    id _second;
    double _real;
    struct { char bytes[24]; } _bytes;
    block _last;
}
@end

@implementation Base
@end
@implementation Derived
@end

static Derived *const none = 0;
#define PLACE(name) ((size)&none->name)
const char *const variables_names[] = {"Base._small",     "Base._first",   "Base._handler",
                                       "Derived._number", "Derived._second", "Derived._real",
                                       "Derived._bytes",  "Derived._last", 0};

void variables_places(size places[8])
{
    places[0] = PLACE(_small);
    places[1] = PLACE(_first);
    places[2] = PLACE(_handler);
    places[3] = PLACE(_number);
    places[4] = PLACE(_second);
    places[5] = PLACE(_real);
    places[6] = PLACE(_bytes);
    places[7] = PLACE(_last);
}

/* The classes are two words of addresses at first: of what they are and of what they inherit from. */
static void **derived;

#if defined(RUNTIME_APPLE)
extern void *derived_class[] __asm__("OBJC_CLASS_$_Derived");
void *_objc_empty_cache;
__attribute__((constructor)) static void load(void) { derived = derived_class; }
#elif defined(RUNTIME_GNUSTEP)
extern void *derived_class[] __asm__("._OBJC_CLASS_Derived");
extern void *base_class[] __asm__("._OBJC_CLASS_Base");
/* Sizes are negative, and places counted from the class above, until the runtime has added it. */
void __objc_load(void *module)
{
    struct {
        int count;
        size entry_size;
        struct {
            const char *name, *type;
            int *offset;
            unsigned size, flags;
        } entries[];
    } *list = derived_class[6];
    long above = -(long)base_class[5];
    for (int i = 0; i < list->count; i++) {
        *list->entries[i].offset += above;
    }
    base_class[5] = (void *)above;
    derived_class[5] = (void *)(above - (long)derived_class[5]);
    derived = derived_class;
}
#else
/* GCC's: a module has a table of classes, whose superclass is a name until they are loaded. */
void __objc_exec_class(void **module)
{
    struct {
        size selectors;
        void *references;
        unsigned short classes, categories;
        void **definitions[2];
    } *table = module[3];
    for (unsigned i = 0; i < table->classes; i++) {
        void **class = table->definitions[i];
        derived = ((const char *)class[2])[0] == 'D' ? class : derived;
    }
    derived[1] = table->definitions[table->definitions[0] == derived];
}
#endif

void *variables_class(void)
{
    return derived;
}
