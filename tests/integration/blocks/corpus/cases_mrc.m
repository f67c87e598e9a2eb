// Blocks of Objective-C with manual reference counting: variables are retained, members are not.
#include "corpus.h"

struct two { Thing *a; long n; Thing *b; };
struct bits_first { int a : 3; Thing *o; };
struct many { Thing *o[3]; };
struct holds_block { corpus_block b; int n; };
union large_number { Thing *o; long n[2]; };
union large_object { int n; struct two two; };

static void objects(void)
{
    Thing *a = OBJECT, *b = OBJECT;
    __unsafe_unretained Thing *u = LOOSE;
    __unsafe_unretained Thing *u2 = LOOSE;
    id<Listener> listener = (id<Listener>)(id)OBJECT;
    Class class = (Class)(id)OBJECT;
    int n = corpus_int();
    long l = corpus_long();
    void *p = corpus_place();
    corpus_block block = ^{ NUMBER(n); };
    SHOW("mrc_none", ^{ NUMBER(1); });
    SHOW("mrc_object", ^{ USE(a); });
    SHOW("mrc_object2_number", ^{ USE(a); USE(b); NUMBER(n); });
    SHOW("mrc_protocol_class", ^{ USE(listener); USE(class); });
    SHOW("mrc_L7_unretained", ^{ USE(u); });
    SHOW("mrc_L7_unretained_object", ^{ USE(u); USE(a); USE(u2); });
    SHOW("mrc_block", ^{ block(); });
    SHOW("mrc_block_object", ^{ block(); USE(a); PLACE(p); });
    SHOW("mrc_numbers", ^{ NUMBER(n + l); });
    SHOW("mrc_nested", ^{
        corpus_block inner = ^{ USE(a); NUMBER(n); };
        USE(inner);
    });
    SHOW("mrc_signature", (int (^)(Thing **, SEL, long double))^(Thing **x, SEL s, long double y) {
        USE(*x); USE(a); NUMBER(y);
        return s != (SEL)0;
    });
}

static void aggregates(void)
{
    Thing *a = OBJECT;
    struct two two = {LOOSE, corpus_long(), LOOSE};
    struct bits_first bits_first = {1, LOOSE};
    struct many many = {{LOOSE, LOOSE, LOOSE}};
    int n = corpus_int();
    struct holds_block holds_block = {(corpus_block)corpus_loose(), corpus_int()};
    union large_number large_number = {.o = LOOSE};
    union large_object large_object = {.two = {LOOSE, corpus_long(), LOOSE}};
    SHOW("mrc_L8_struct", ^{ USE(two.a); });
    SHOW("mrc_L8_struct_object", ^{ USE(two.a); USE(a); });
    SHOW("mrc_L8_bits_first", ^{ USE(bits_first.o); USE(a); });
    SHOW("mrc_L8_array", ^{ USE(many.o[2]); NUMBER(n); });
    SHOW("mrc_L8_struct_block", ^{ USE(holds_block.b); });
    SHOW("mrc_L8_union_number", ^{ USE(large_number.o); USE(a); });
    SHOW("mrc_L8_union_object", ^{ USE(large_object.two.b); USE(a); });
}

static void alignments(void)
{
    Thing *a = OBJECT;
    _Alignas(64) long far = corpus_long();
    corpus_vec4 v4 = {corpus_single(), 0, 0, 0};
    SHOW("mrc_L2_alignas64", ^{ NUMBER(far); USE(a); });
    SHOW("mrc_vec4", ^{ NUMBER(v4[0]); USE(a); });
}

static void byrefs(void)
{
    __block Thing *object = LOOSE;
    __block __unsafe_unretained Thing *loose = LOOSE;
    __block int n = corpus_int();
    __block corpus_block block = (corpus_block)corpus_loose();
    __block struct two two = {LOOSE, corpus_long(), LOOSE};
    __block corpus_vec8 v8 = {corpus_single(), 0, 0, 0};
    Thing *a = OBJECT;
    SHOW("mrc_byref_object", ^{ object = a; });
    SHOW("mrc_byref_loose", ^{ USE(loose); });
    SHOW("mrc_byref_int", ^{ n++; USE(a); });
    SHOW("mrc_byref_block", ^{ USE(block); });
    SHOW("mrc_byref_struct", ^{ USE(two.a); });
    SHOW("mrc_byref_vec8", ^{ v8[1]++; USE(a); });
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
    here("mrc_L3_noescape_byref", ^{ shared++; USE(a); });
    here("mrc_noescape_object", ^{ USE(a); });
}

void corpus_mrc(void)
{
    objects();
    aggregates();
    alignments();
    byrefs();
    not_escaping();
}
