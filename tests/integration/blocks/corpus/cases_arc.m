// Blocks of Objective-C with automatic reference counting.
#include "corpus.h"

struct plain { int a, b; };
struct bits_first { int a : 3; Thing *o; };               // L1
struct two { Thing *a; long n; Thing *b; };
struct weakly { __weak Thing *w; Thing *s; };
struct many { Thing *o[3]; };
struct deep { struct two two; int n; struct many many; };
struct loose_in { __unsafe_unretained Thing *u; int n; };
union loose_or { __unsafe_unretained Thing *u; long n; };
struct holds_block { corpus_block b; Thing *o; };

static void objects(void)
{
    Thing *a = OBJECT, *b = OBJECT, *c = OBJECT;
    id<Listener> listener = (id<Listener>)(id)OBJECT;
    Class class = (Class)(id)OBJECT;
    __weak Thing *w = a;
    __weak Thing *w2 = b;
    __unsafe_unretained Thing *u = LOOSE;
    __unsafe_unretained Thing *u2 = LOOSE;
    int n = corpus_int();
    long l = corpus_long();
    void *p = corpus_place();
    const Thing *k = c;
    corpus_block block = ^{ NUMBER(n); };
    __unsafe_unretained corpus_block loose_block = (__bridge corpus_block)corpus_loose();
    __weak corpus_block weak_block = block;
    SHOW("arc_none", ^{ NUMBER(1); });
    SHOW("arc_strong", ^{ USE(a); });
    SHOW("arc_strong2", ^{ USE(a); USE(b); });
    SHOW("arc_weak", ^{ USE(w); });
    SHOW("arc_strong_weak2", ^{ USE(a); USE(w); USE(w2); });
    SHOW("arc_unretained", ^{ USE(u); });
    SHOW("arc_unretained2_strong", ^{ USE(u); USE(a); USE(u2); });
    SHOW("arc_id_protocol_class", ^{ USE(listener); USE(class); USE(k); });
    SHOW("arc_block", ^{ block(); });
    SHOW("arc_block_strong", ^{ block(); USE(a); NUMBER(n); });
    SHOW("arc_loose_block", ^{ USE(loose_block); USE(a); });
    SHOW("arc_weak_block", ^{ USE(weak_block); });
    SHOW("arc_all_kinds", ^{ USE(a); block(); USE(w); USE(u); NUMBER(n + l); PLACE(p); });
    SHOW("arc_only_numbers", ^{ NUMBER(n + l); });
    SHOW("arc_signature", (Thing * (^)(Thing *, id<Listener>, void (^)(Class)))
         ^Thing *(Thing *x, id<Listener> y, void (^z)(Class)) {
        USE(y); USE(z); USE(a);
        return x;
    });
    SHOW("arc_nested", ^{
        corpus_block inner = ^{ USE(a); USE(w); NUMBER(n); };
        USE(inner);
    });
}

static void runs(void)
{
    Thing *a = OBJECT, *b = OBJECT, *c = OBJECT, *d = OBJECT, *e = OBJECT, *f = OBJECT,
          *g = OBJECT, *h = OBJECT, *i = OBJECT, *j = OBJECT, *k = OBJECT, *l = OBJECT,
          *m = OBJECT, *n = OBJECT, *o = OBJECT, *p = OBJECT, *q = OBJECT;
    SHOW("arc_strong15", ^{
        USE(a); USE(b); USE(c); USE(d); USE(e); USE(f); USE(g); USE(h); USE(i); USE(j); USE(k);
        USE(l); USE(m); USE(n); USE(o);
    });
    SHOW("arc_strong17", ^{
        USE(a); USE(b); USE(c); USE(d); USE(e); USE(f); USE(g); USE(h); USE(i); USE(j); USE(k);
        USE(l); USE(m); USE(n); USE(o); USE(p); USE(q);
    });
}

static void aggregates(void)
{
    Thing *a = OBJECT;
    struct bits_first bits_first = {2, OBJECT};
    struct plain plain = {corpus_int(), corpus_int()};
    struct two two = {OBJECT, corpus_long(), OBJECT};
    struct weakly weakly = {a, a};
    struct many many = {{OBJECT, OBJECT, OBJECT}};
    struct deep deep = {two, corpus_int(), many};
    struct loose_in loose_in = {LOOSE, corpus_int()};
    union loose_or loose_or = {LOOSE};
    int n = corpus_int();
    corpus_block block = ^{ NUMBER(n); };
    struct holds_block holds_block = {block, a};
    SHOW("arc_L1_bits_first", ^{ USE(bits_first.o); NUMBER(bits_first.a); });
    SHOW("arc_struct_plain", ^{ NUMBER(plain.a); USE(a); });
    SHOW("arc_struct_two", ^{ USE(two.b); USE(a); });
    SHOW("arc_struct_weak", ^{ USE(weakly.w); USE(weakly.s); });
    SHOW("arc_struct_array", ^{ USE(many.o[1]); });
    SHOW("arc_struct_deep", ^{ USE(deep.many.o[1]); USE(a); });
    SHOW("arc_struct_loose", ^{ USE(loose_in.u); USE(a); });
    SHOW("arc_union_loose", ^{ USE(loose_or.u); USE(a); });
    SHOW("arc_struct_block", ^{ holds_block.b(); USE(holds_block.o); });
}

static void alignments(void)
{
    Thing *a = OBJECT, *b = OBJECT;
    _Alignas(64) int far = corpus_int();
    corpus_vec4 v4 = {corpus_single(), 0, 0, 0};
    corpus_vec8 v8 = {corpus_single(), 0, 0, 0};
    int n = corpus_int();
    SHOW("arc_L2_alignas64", ^{ NUMBER(far); USE(a); });
    SHOW("arc_vec4", ^{ NUMBER(v4[0]); USE(a); USE(b); });
    SHOW("arc_vec8_number", ^{ NUMBER(v8[0]); USE(a); NUMBER(n); });
}

static void byrefs(void)
{
    __block Thing *strong = OBJECT;
    __block __weak Thing *weak = strong;
    __block __unsafe_unretained Thing *loose = LOOSE;
    __block int n = corpus_int();
    __block corpus_block block = ^{ NUMBER(1); };
    __block struct two two = {OBJECT, corpus_long(), OBJECT};
    __block struct plain plain = {corpus_int(), 3};
    __block corpus_vec8 v8 = {corpus_single(), 0, 0, 0};
    __block struct bits_first bits_first = {1, OBJECT};
    Thing *a = OBJECT;
    SHOW("arc_byref_strong", ^{ strong = a; });
    SHOW("arc_byref_weak", ^{ weak = a; });
    SHOW("arc_byref_loose", ^{ USE(loose); });
    SHOW("arc_byref_int", ^{ n++; });
    SHOW("arc_byref_block", ^{ block(); });
    SHOW("arc_byref_struct", ^{ USE(two.b); });
    SHOW("arc_byref_plain_struct", ^{ plain.a++; USE(a); });
    SHOW("arc_byref_vec8", ^{ v8[0]++; USE(a); });
    SHOW("arc_byref_bits_first", ^{ USE(bits_first.o); });
    SHOW("arc_byref_all", ^{ strong = a; weak = a; n++; block(); USE(two.a); });
}

static void here(const char *name, __attribute__((noescape)) corpus_block block)
{
    SHOW_HERE(name, block);
}

static void not_escaping(void)
{
    __block int shared = corpus_int();
    corpus_address(&shared);
    Thing *a = OBJECT;
    __weak Thing *w = a;
    int n = corpus_int();
    here("arc_L3_noescape_byref", ^{ shared++; USE(a); });
    here("arc_noescape_strong", ^{ USE(a); NUMBER(n); });
    here("arc_noescape_weak", ^{ USE(w); });
}

#ifndef __OBJC_GNUSTEP_RUNTIME_ABI__
__attribute__((objc_root_class)) @interface Ctl {
    Thing *_thing;
    corpus_block _handler;
}
@end
@implementation Ctl
- (void)strongly
{
    Thing *a = OBJECT;
    SHOW("arc_method_self", ^{ USE(self); USE(a); });
    SHOW("arc_method_ivar", ^{ USE(self->_thing); });
}
- (void)weakly
{
    __weak Ctl *me = self;
    int n = corpus_int();
    SHOW("arc_method_weak_self", ^{ USE(me); NUMBER(n); });
}
@end
void *corpus_make(const void *class);
void corpus_send(void *object, const char *selector);
extern const char OBJC_CLASS_Ctl[] __asm__(CORPUS_LABEL("OBJC_CLASS_$_Ctl"));
#endif

void corpus_arc(void)
{
    objects();
    runs();
    aggregates();
    alignments();
    byrefs();
    not_escaping();
#ifndef __OBJC_GNUSTEP_RUNTIME_ABI__
    void *ctl = corpus_make(OBJC_CLASS_Ctl);
    corpus_send(ctl, "strongly");
    corpus_send(ctl, "weakly");
#endif
}
