// SPDX-License-Identifier: Apache-2.0
/* Blocks of Objective-C: what they hold is in the names of their descriptors. No header, so that it
 * compiles for Darwin without its SDK, and for Linux. */
__attribute__((objc_root_class)) @interface Thing {
    void *isa;
}
- (void)keep:(Thing *)other with:(void (^)(Thing *))block;
- (id)made;
@end

extern void later(void (^what)(void));
extern int shown(id object);
extern void each(int (^how)(Thing *, unsigned long, _Bool *));

@implementation Thing
- (void)keep:(Thing *)other with:(void (^)(Thing *))block
{
    __weak Thing *weak = self;
    __block Thing *variable = other;
    __unsafe_unretained Thing *unretained = other;
    later(^{
      shown(weak);
      variable = unretained;
      block(variable);
    });
    later(^{
      shown(self);
      shown(other);
    });
    each(^(Thing *thing, unsigned long index, _Bool *stop) {
      *stop = index > 3;
      return shown(thing) + shown(other);
    });
    each(^(Thing *thing, unsigned long index, _Bool *stop) {
      *stop = index == 0;
      return shown(thing);
    });
}
- (id)made
{
    long count = shown(self);
    return (id)[^{
      return (int)count + shown(self);
    } self];
}
- (id)self
{
    return self;
}
@end
