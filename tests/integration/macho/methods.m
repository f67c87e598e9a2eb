// SPDX-License-Identifier: Apache-2.0
/* Input of the tests of Objective-C's names: classes, categories of an own class and of one of
 * another image, methods of both kinds, accessors, a block in a method, messages. No header, so
 * that it compiles for Darwin without its SDK. */
__attribute__((objc_root_class))
@interface Root {
    void *isa;
}
+ (id)alloc;
@end
@interface Foreign : Root
@end

@interface Shape : Root {
    int _side;
}
@property(nonatomic) int side;
- (int)area;
- (int)scaled:(int)by with:(int)more;
+ (int)count;
@end

@interface Square : Shape
@end

static int made;
extern int apply(int (^block)(int), int x);

@implementation Shape
- (int)area
{
    return self.side * self.side;
}
- (int)scaled:(int)by with:(int)more
{
    return apply(
        ^(int x) {
          return x * self.side + more;
        },
        by);
}
+ (int)count
{
    return made;
}
@end

@implementation Square
- (int)area
{
    return [super area] + made;
}
+ (int)count
{
    return [super count] + 2;
}
@end

@interface Shape (Printing)
- (int)print;
+ (int)printAll:(int)n;
@end
@implementation Shape (Printing)
- (int)print
{
    return [self area] + [self scaled:2 with:3] * made;
}
+ (int)printAll:(int)n
{
    return n * made + [self count];
}
@end

@interface Foreign (Mine)
- (int)mine_value;
+ (int)mine_count:(int)a and:(int)b;
@end
@implementation Foreign (Mine)
- (int)mine_value
{
    return made + 7;
}
+ (int)mine_count:(int)a and:(int)b
{
    return a - b * made;
}
@end

int exported(Shape *shape, Foreign *other)
{
    made++;
    return [shape print] + [other mine_value] + [Square count];
}

/* Messages sent through stubs that the linker makes. */
#ifdef SENDERS
extern int send_area(Shape *shape) __asm__("_objc_msgSend$area");
extern int send_scaled(Shape *shape, void *none, int by,
                       int more) __asm__("_objc_msgSend$scaled:with:");
extern int send_unknown(Shape *shape) __asm__("_objc_msgSend$of_another_image:");

int sends(Shape *shape)
{
    return send_area(shape) + send_scaled(shape, 0, 1, 2) * send_unknown(shape);
}

/* Functions that end by sending a message. */
__attribute__((noinline)) int ends_by_area(Shape *shape)
{
    made++;
    return send_area(shape);
}

__attribute__((noinline)) int ends_by_unknown(Shape *shape)
{
    made++;
    return send_unknown(shape);
}

__attribute__((noinline)) int ends_by_message(Shape *shape)
{
    made++;
    return [shape area];
}

__attribute__((noinline)) int ends_by_another(int x)
{
    made++;
    return apply(0, x);
}

/* Methods that end by a jump to a function; `shared` is a method of two classes. */
__attribute__((noinline)) int finish(int x)
{
    made += x;
    return apply(0, x) + made;
}

__attribute__((noinline)) int finish_more(int x)
{
    made += x;
    return finish(made - x);
}

@interface Shape (Handing)
- (int)handed;
- (int)passed;
- (int)shared;
@end
@implementation Shape (Handing)
- (int)handed
{
    made++;
    return finish_more(made);
}
- (int)passed
{
    made += 2;
    return send_area(self);
}
- (int)shared
{
    made += 3;
    return finish(made);
}
@end

@interface Square (Handing)
- (int)shared;
@end
@implementation Square (Handing)
- (int)shared
{
    made += 4;
    return finish(made);
}
@end

extern int send_handed(Shape *shape) __asm__("_objc_msgSend$handed");
extern int send_passed(Shape *shape) __asm__("_objc_msgSend$passed");
extern int send_shared(Shape *shape) __asm__("_objc_msgSend$shared");

__attribute__((noinline)) int sends_handed(Shape *shape)
{
    return send_handed(shape) + 1;
}

/* The same without stubs. */
__attribute__((noinline)) int messages_handed(Shape *shape)
{
    return [shape handed] + 1;
}

/* Which of two selectors is sent, the code does not say. */
__attribute__((noinline)) int messages_either(Shape *shape, int x)
{
    return (x > 5 ? [shape handed] : [shape shared]) + 1;
}

__attribute__((noinline)) int sends_passed(Shape *shape)
{
    return send_passed(shape) + 1;
}

__attribute__((noinline)) int sends_shared(Shape *shape)
{
    return send_shared(shape) + 1;
}

int calls_them(Shape *shape)
{
    return ends_by_area(shape) + ends_by_unknown(shape) * ends_by_message(shape) -
           ends_by_another(made);
}
#endif
