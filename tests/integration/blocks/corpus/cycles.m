// Objects and blocks that hold each other, some in cycles; a line for each: NAME ADDRESS. The test
// knows from this source who holds whom.
#include "corpus.h"

int printf(const char *format, ...);
int fflush(void *file);
unsigned sleep(unsigned seconds);
void *corpus_make(const void *class);
void corpus_send(void *object, const char *selector);
void corpus_use(const void *first, ...) {}

__attribute__((objc_root_class)) @interface Ctl {
  @public
    long _number;
    corpus_block _handler;
    Ctl *_next;
    __weak Ctl *_parent;
}
@end

#define SAY(name, value) printf("%s %p\n", name, (__bridge void *)(value))

@implementation Ctl
- (void)strongCycle
{
    _handler = ^{ USE(self); };
    SAY("strong_cycle", self);
    SAY("strong_cycle_block", _handler);
}
- (void)weakNoCycle
{
    __weak Ctl *me = self;
    _handler = ^{ USE(me); };
    SAY("weak_no_cycle", self);
    SAY("weak_no_cycle_block", _handler);
}
- (void)byrefCycle
{
    __block Ctl *me = self;
    _handler = ^{ USE(me); };
    SAY("byref_cycle", self);
    SAY("byref_cycle_block", _handler);
}
- (void)unretainedNoCycle
{
    __unsafe_unretained Ctl *me = self;
    _handler = ^{ USE(me); };
    SAY("unretained_no_cycle", self);
}
- (void)alignedByref /* only debug information knows where the variable is in its box */
{
    __attribute__((aligned(32))) __block __unsafe_unretained Ctl *me = self;
    static corpus_block block;
    block = ^{ USE(me); };
    SAY("aligned_byref", self);
    SAY("aligned_byref_block", block);
}
- (void)handedOn /* a block as dispatch_block_create() makes one, with what it is to run */
{
    struct {
        unsigned long magic, flags;
        unsigned canceled, performed;
        unsigned long priority;
        void *voucher;
        corpus_block block;
        void *group, *queue;
        unsigned thread;
    } data = {.magic = 0xd159b10c, .queue = (void *)0x51515150};
    static corpus_block outer;
    data.block = ^{ USE(self); };
    outer = ^{ NUMBER(data.magic); USE(data.block); };
    SAY("handed_on", self);
    SAY("handed_on_block", outer);
    SAY("handed_on_inner", data.block);
}
- (void)longCycle
{
    extern const char OBJC_CLASS_Ctl[] __asm__("OBJC_CLASS_$_Ctl");
    Ctl *other = (__bridge Ctl *)corpus_make(OBJC_CLASS_Ctl);
    corpus_block inner = ^{ USE(self); };
    other->_handler = ^{ inner(); };
    _next = other;
    SAY("long_cycle", self);
    SAY("long_cycle_other", other);
}
- (void)heldTwice
{
    static corpus_block first, second;
    long n = 7;
    first = ^{ USE(self); };
    second = ^{ USE(self); NUMBER(n); };
    SAY("held_twice", self);
}
@end

int main(void)
{
    extern const char OBJC_CLASS_Ctl[] __asm__("OBJC_CLASS_$_Ctl");
    static const char *const all[] = {"strongCycle", "weakNoCycle", "byrefCycle",
                                      "unretainedNoCycle", "longCycle", "heldTwice",
                                      "alignedByref", "handedOn"};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        corpus_send(corpus_make(OBJC_CLASS_Ctl), all[i]);
    }
    printf("made\n");
    fflush(0);
    for (;;) {
        sleep(100);
    }
}
