// Blocks of Objective-C++ with automatic reference counting, and of C++.
#include "corpus.h"

#ifdef __OBJC__
#    define PART "cxx_"
#else
#    define PART "cpp_"
#endif

namespace {

struct Told { // its copies are told to the test
    long n;
    Told() : n(corpus_long()) {}
    Told(const Told &other) : n(other.n) { corpus_cxx(&other); }
    ~Told() { corpus_cxx(this); }
};
struct Simple {
    int a = corpus_int();
    int b = corpus_int();
};
struct Shape { // destroyed, but copied as bytes
    long n;
    Shape() : n(corpus_long()) {}
    Shape(const Shape &) = default;
    ~Shape() { corpus_cxx(this); }
};
#ifdef __OBJC__
struct Holder {
    Thing *o = OBJECT;
    int n = corpus_int();
};
struct Base {
    Thing *of_base = OBJECT;
};
struct Derived : Base { // L6
    Thing *own = OBJECT;
};
struct Virtual {
    Thing *o = OBJECT;
    virtual void turn() {}
    virtual ~Virtual() {}
};
struct ToldHolder {
    long n;
    Thing *o = OBJECT;
    ToldHolder() : n(corpus_long()) {}
    ToldHolder(const ToldHolder &other) : n(other.n), o(other.o) { corpus_cxx(&other); }
    ~ToldHolder() { corpus_cxx(this); }
};
#endif
template <typename T> struct Counted { // counts its uses without a call
    struct Uses { long pad; int count; };
    T *uses;
    Counted() : uses(static_cast<T *>(corpus_place())) {}
    Counted(const Counted &other) : uses(other.uses)
    {
        __atomic_fetch_add(&uses->count, 1, __ATOMIC_RELAXED);
    }
    ~Counted() { __atomic_fetch_sub(&uses->count, 1, __ATOMIC_ACQ_REL); }
};
struct Uses { long pad; int count; };
struct Array {
    Told told[3];
};

void here(const char *name, __attribute__((noescape)) corpus_block block)
{
    SHOW_HERE(name, block);
}

void values()
{
    Told told;
    Simple simple;
    Shape shape;
    Array array;
    int n = corpus_int();
    int &reference = n;
    corpus_address(&n);
    const Told &told_reference = told;
    corpus_address(&told);
    Counted<Uses> counted;
    auto lambda = [told, n] { NUMBER(told.n + n); };
    __block Told shared;
    __block int number = corpus_int();
    SHOW(PART "told", ^{ NUMBER(told.n); });
    SHOW(PART "told_int", ^{ NUMBER(told.n + n); });
    SHOW(PART "simple", ^{ NUMBER(simple.a); });
    SHOW(PART "shape", ^{ NUMBER(shape.n); });
    SHOW(PART "array", ^{ NUMBER(array.told[1].n); });
    SHOW(PART "reference", ^{ NUMBER(reference); });
    SHOW(PART "const_reference", ^{ NUMBER(told_reference.n); });
    SHOW(PART "counted", ^{ PLACE(counted.uses); });
    SHOW(PART "lambda", ^{ lambda(); });
    SHOW(PART "byref_told", ^{ NUMBER(shared.n); });
    SHOW(PART "byref_int", ^{ number++; });
    SHOW(PART "two", ^{ NUMBER(told.n + shape.n); });
}

struct Owner {
    long field = corpus_long();
    void plain()
    {
        corpus_address(this);
        int n = corpus_int();
        SHOW(PART "this", ^{ NUMBER(field); });
        SHOW(PART "this_int", ^{ NUMBER(field + n); });
    }
#ifdef __OBJC__
    void objects()
    {
        Thing *a = OBJECT;
        __unsafe_unretained Thing *u = LOOSE;
        __weak Thing *w = a;
        SHOW(PART "L4_this_unretained", ^{ USE(u); NUMBER(field); });
        SHOW(PART "L5_this_unretained_strong", ^{ USE(u); USE(a); NUMBER(field); });
        SHOW(PART "this_strong_weak", ^{ USE(w); USE(a); NUMBER(field); });
    }
#endif
};

#ifdef __OBJC__
void objects()
{
    Thing *a = OBJECT;
    Holder holder;
    Derived derived;
    Virtual with_virtual;
    ToldHolder told_holder;
    auto lambda = [a] { USE(a); };
    auto with_holder = [holder, a] { USE(a); USE(holder.o); };
    __block Holder shared;
    __block Derived shared_derived;
    SHOW(PART "strong", ^{ USE(a); });
    SHOW(PART "holder", ^{ USE(holder.o); });
    SHOW(PART "holder_strong", ^{ USE(holder.o); USE(a); });
    SHOW(PART "L6_derived", ^{ USE(derived.own); });
    SHOW(PART "virtual", ^{ USE(with_virtual.o); });
    SHOW(PART "told_holder", ^{ USE(told_holder.o); USE(a); });
    SHOW(PART "lambda_strong", ^{ lambda(); });
    SHOW(PART "lambda_holder", ^{ with_holder(); });
    corpus_block converted = lambda;
    SHOW(PART "lambda_to_block", converted);
    SHOW(PART "byref_holder", ^{ USE(shared.o); });
    SHOW(PART "byref_derived", ^{ USE(shared_derived.own); USE(a); });
}

void not_escaping()
{
    Thing *a = OBJECT;
    Told told;
    here(PART "noescape_strong", ^{ USE(a); });
    here(PART "noescape_told", ^{ USE(a); NUMBER(told.n); });
}
#endif

} // namespace

CORPUS_C void CORPUS_CXX(void)
{
    values();
    Owner owner;
    owner.plain();
#ifdef __OBJC__
    owner.objects();
    objects();
    not_escaping();
#else
    int n = corpus_int();
    here(PART "noescape_int", ^{ NUMBER(n); });
#endif
}
