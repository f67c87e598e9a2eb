// SPDX-License-Identifier: Apache-2.0
/* The few classes that programs of the tests use: roots of objects and blocks, and texts. */
#include <objc/runtime.h>
#include <stdio.h>
#include <string.h>

#include "foundation.h"

@interface NSBlock : NSObject
@end

id objc_alloc(Class class);

@implementation NSObject
+ (id)alloc
{
    return objc_alloc((Class)self);
}
- (id)init
{
    return self;
}
- (NSString *)description
{
    char text[256];
    snprintf(text, sizeof text, "<%s: %p>", class_getName(object_getClass(self)), (void *)self);
    return [NSString stringWithUTF8String:text];
}
- (NSString *)debugDescription
{
    return [self description];
}
@end

@implementation NSString
+ (NSString *)stringWithUTF8String:(const char *)text
{
    NSString *made = [self alloc];
    made->_text = strdup(text);
    return made;
}
- (const char *)UTF8String
{
    return _text;
}
- (NSString *)description
{
    return self;
}
@end

@implementation NSBlock
- (NSString *)debugDescription
{
    char text[256];
    snprintf(text, sizeof text, "<%s: %p>\n invoke : %p", class_getName(object_getClass(self)),
             (void *)self, ((void **)self)[2]);
    return [NSString stringWithUTF8String:text];
}
@end

/* The classes of blocks answer what NSBlock does. */
struct block_class {
    Class isa, super;
};
extern struct block_class stack_block __asm__("__NSConcreteStackBlock");
extern struct block_class malloc_block __asm__("__NSConcreteMallocBlock");
extern struct block_class global_block __asm__("__NSConcreteGlobalBlock");

__attribute__((constructor)) static void join_blocks(void)
{
    stack_block.super = malloc_block.super = global_block.super = objc_lookUpClass("NSBlock");
}
