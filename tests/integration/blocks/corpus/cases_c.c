// SPDX-License-Identifier: Apache-2.0
/* Blocks of C: no layout, and only other blocks and __block variables are owned. */
#include "corpus.h"

struct three {
    int a, b, c;
};
struct wide {
    char pad[300];
};
struct bits {
    unsigned a : 3, b : 7;
    int c;
};
union either {
    int n;
    double d;
    void *p;
};
struct nest {
    struct three inner;
    union either either;
};
enum colour { RED, GREEN = 0x6001 };

static void numbers(void)
{
    int n = corpus_int();
    short h = corpus_half();
    long l = corpus_long();
    double d = corpus_real();
    float f = corpus_single();
    char c = 'x';
    _Bool yes = h != 0;
    void *p = corpus_place();
    const int folded = 42;
    enum colour colour = RED;
    SHOW("c_none", ^{
      NUMBER(1);
    });
    SHOW("c_int", ^{
      NUMBER(n);
    });
    SHOW("c_mixed", ^{
      NUMBER(n + h + c + l + (int)d + (int)f + yes);
      PLACE(p);
    });
    SHOW("c_size_37", ^{
      NUMBER(n + c);
    });
    SHOW("c_const_folded", ^{
      NUMBER(folded + n);
    });
    SHOW("c_const_global", ^{
      NUMBER(folded);
    });
    SHOW("c_enum_bool", ^{
      NUMBER(colour + yes);
    });
    SHOW(
        "c_signature", (void (^)(int, const struct three *, double (^)(char))) ^
                           (int a, const struct three *t, double (^again)(char)) {
                               NUMBER(a + t->a + n);
                               NUMBER(again('x'));
                           });
}

static void aggregates(void)
{
    struct three three = {corpus_int(), corpus_int(), corpus_int()};
    struct wide wide = {{0}};
    struct bits bits = {5, 99, corpus_int()};
    union either either = {.p = corpus_place()};
    struct nest nest = {{corpus_int(), 0, 0}, {.d = corpus_real()}};
    corpus_block other = ^{
      NUMBER(three.a);
    };
    int n = corpus_int();
    SHOW("c_struct", ^{
      NUMBER(three.a);
    });
    SHOW("c_bits", ^{
      NUMBER(bits.a + bits.c);
    });
    SHOW("c_union", ^{
      PLACE(either.p);
    });
    SHOW("c_nested_struct", ^{
      NUMBER(nest.inner.a);
    });
    SHOW("c_wide_and_block", ^{
      NUMBER(wide.pad[3] + n);
      other();
    });
}

static void alignments(void)
{
    _Alignas(64) int far = corpus_int();
    corpus_vec4 v4 = {corpus_single(), 0, 0, 0};
    corpus_vec8 v8 = {corpus_single(), 0, 0, 0};
    __int128 big = corpus_long();
    int n = corpus_int();
    corpus_block other = ^{
      NUMBER(n);
    };
    __block corpus_vec8 shared = {corpus_single(), 1, 2, 3};
    __block _Alignas(64) int line = corpus_int();
    SHOW("c_vec4", ^{
      NUMBER(v4[0]);
    });
    SHOW("c_vec8_int", ^{
      NUMBER(v8[0]);
      NUMBER(n);
    });
    SHOW("c_alignas64", ^{
      NUMBER(far + n);
    });
    SHOW("c_alignas64_block", ^{
      NUMBER(far + n);
      other();
    });
    SHOW("c_int128", ^{
      NUMBER((long)big + n);
    });
    SHOW("c_byref_vec8", ^{
      NUMBER(shared[1]);
    });
    SHOW("c_byref_alignas64", ^{
      NUMBER(line);
    });
}

static void owned(void)
{
    int n = corpus_int();
    __block int shared = corpus_int();
    __block long second = corpus_long();
    __block struct three three = {corpus_int(), 0, corpus_int()};
    corpus_block other = ^{
      NUMBER(n);
    };
    __block corpus_block held = other;
    SHOW("c_byref_int", ^{
      shared++;
    });
    SHOW("c_byref_two", ^{
      shared++;
      second--;
    });
    SHOW("c_byref_struct", ^{
      three.a++;
    });
    SHOW("c_block", ^{
      other();
    });
    SHOW("c_block_byref_int", ^{
      other();
      shared++;
      NUMBER(n);
    });
    SHOW("c_byref_block", ^{
      held();
    });
    SHOW("c_nested", ^{
      corpus_block inner = ^{
        shared++;
        NUMBER(n);
      };
      inner();
      other();
    });
    corpus_use(held);
}

static void here(const char *name, __attribute__((noescape)) corpus_block block)
{
    SHOW_HERE(name, block);
}

static void not_escaping(void)
{
    __block int shared = corpus_int();
    corpus_address(&shared);
    int n = corpus_int();
    corpus_block other = ^{
      NUMBER(n);
    };
    corpus_address(other);
    here("c_noescape_byref", ^{
      shared++;
      NUMBER(n);
    });
    here("c_noescape_block", ^{
      other();
    });
    here("c_noescape_int", ^{
      NUMBER(n);
    });
}

void corpus_c(void)
{
    numbers();
    aggregates();
    alignments();
    owned();
    not_escaping();
}
