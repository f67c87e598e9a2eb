// Objects that blocks hold by way of C++ objects and of collections; a line for each: NAME ADDRESS, of
// what is held, and the address of the block. The test knows from this source who holds what.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "corpus.h"

extern "C" {
void *corpus_make(const void *class_at);
extern const char class_of_list[] __asm__("OBJC_CLASS_$_List");
extern const char class_of_item[] __asm__("OBJC_CLASS_$_Item");
void corpus_use(const void *, ...) {}
}

__attribute__((noinline)) static long corpus_fixed(long value) // no constant
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

struct Plain {
    long a = 1, b = 2;
};
template <typename T> struct Shared { // a smart pointer by hand
    struct Count {
        long uses;
        T *object;
    } *count;
    explicit Shared(T *object) : count(new Count{1, object}) {}
    Shared(const Shared &other) : count(other.count) { count->uses++; }
    ~Shared() { count->uses--; }
};
struct Tagged { // a flag in the low bit of a pointer
    unsigned long word;
    explicit Tagged(Plain *object) : word((unsigned long)object | 1) {}
    Tagged(const Tagged &other) : word(other.word) {}
    ~Tagged() { word = 0; }
    Plain *get() const { return (Plain *)(word & ~1UL); }
};
struct Outer {
    int n = 3;
    struct Inner {
        char c = 1;
        std::shared_ptr<Plain> plain;
    } inner;
};
struct Owner {
    std::unique_ptr<Plain> plain;
};

static corpus_block kept[40];
static unsigned kept_count;

static void keep(const char *name, const void *object, corpus_block block)
{
    kept[kept_count] = block; // its copy on the heap
    printf("%s %p\n%s_block %p\n", name, object, name, (__bridge void *)kept[kept_count]);
    kept_count++;
}

static void pointers()
{
    auto shared = std::make_shared<Plain>();
    keep("shared", shared.get(), ^{ NUMBER(shared->a); });
    static auto elsewhere = std::make_shared<Plain>();
    std::weak_ptr<Plain> weak = elsewhere;
    keep("weak", elsewhere.get(), ^{ NUMBER(weak.use_count()); });
    auto *plain = new Plain;
    Shared<Plain> by_hand(plain);
    keep("by_hand", plain, ^{ NUMBER(by_hand.count->object->a); });
    plain = new Plain;
    Tagged tagged(plain);
    keep("tagged", plain, ^{ NUMBER(tagged.get()->a); });
    std::vector<Tagged> many(20, Tagged(new Plain));
    plain = new Plain;
    many[13] = Tagged(plain);
    keep("many_tagged", plain, ^{ NUMBER(many[13].get()->a); });
    plain = new Plain;
    __block std::unique_ptr<Plain> unique(plain);
    keep("unique", plain, ^{ NUMBER(unique->a); });
    plain = new Plain;
    keep("loose", plain, ^{ NUMBER(plain->a); });
}

static void containers()
{
    std::vector<Plain *> vector;
    for (int i = 0; i < 100; i++) {
        vector.push_back(new Plain);
    }
    keep("vector", vector[77], ^{ NUMBER(vector[3]->a); });
    std::vector<Plain> values(10);
    keep("value", &values[7], ^{ NUMBER(values[3].a); }); // of the vector that is not the block's
    auto shared_values = std::make_shared<std::vector<Plain>>(10);
    keep("shared_value", &(*shared_values)[7], ^{ NUMBER((*shared_values)[3].a); });
    std::vector<Plain *> large(100000); // longer than what is read at once
    large[90000] = new Plain;
    keep("large", large[90000], ^{ NUMBER(large[3]->a); });
    std::list<std::shared_ptr<Plain>> list;
    for (int i = 0; i < 60; i++) {
        list.push_back(std::make_shared<Plain>());
    }
    keep("list", std::next(list.begin(), 30)->get(), ^{ NUMBER(list.size()); });
    std::map<int, std::shared_ptr<Plain>> map;
    for (int i = 0; i < 20; i++) {
        map[i] = std::make_shared<Plain>();
    }
    keep("map", map[13].get(), ^{ NUMBER(map.size()); });
}

static void insides()
{
    Outer outer;
    outer.inner.plain = std::make_shared<Plain>();
    keep("nested", outer.inner.plain.get(), ^{ NUMBER(outer.inner.plain->a); });
    auto plain = std::make_shared<Plain>();
    std::string text(50, 'x');
    std::function<long()> function = [plain, text] { return plain->a + (long)text.size(); };
    keep("function", plain.get(), ^{ NUMBER(function()); });
    auto other = std::make_shared<Plain>();
    auto lambda = [other] { return other->a; };
    keep("lambda", other.get(), ^{ NUMBER(lambda()); });
    auto owner = std::make_shared<Owner>();
    owner->plain.reset(new Plain);
    keep("shared_unique", owner->plain.get(), ^{ PLACE(owner->plain.get()); });
}

// A collection, as Foundation's arrays: its elements are in memory of its own.
__attribute__((objc_root_class)) @interface List {
  @public
    void *_isa;
    long _count;
    void **_items;
}
@end
@implementation List
@end
__attribute__((objc_root_class)) @interface Item {
  @public
    void *_isa;
    corpus_block _handler;
}
@end
@implementation Item
@end

static void collections()
{
    auto list = (__bridge List *)corpus_make(class_of_list);
    auto item = (__bridge Item *)corpus_make(class_of_item);
    list->_items = (void **)calloc(16, sizeof(void *));
    list->_count = 3;
    list->_items[2] = (__bridge void *)item;
    corpus_block block = ^{ USE(list); };
    item->_handler = block;
    keep("item", (__bridge void *)item, block);
    printf("collection %p\n", (__bridge void *)list);
}

static void values()
{
    int number = (int)corpus_fixed(5), less = (int)corpus_fixed(-7);
    unsigned long large = (unsigned long)corpus_fixed(-1);
    char letter = (char)corpus_fixed('x');
    bool truth = corpus_fixed(1) != 0;
    double real = (double)corpus_fixed(3) / 2;
    auto *plain = new Plain;
    __block int boxed = (int)corpus_fixed(42);
    keep("values", plain, ^{
      NUMBER(number + less + (int)large + letter + truth + (int)real + boxed);
      PLACE(plain);
    });
}

static void alike()
{
    auto plain = std::make_shared<Plain>();
    for (int i = 0; i < 12; i++) {
        keep("alike", plain.get(), ^{ NUMBER(plain->a); });
    }
}

int main()
{
    pointers();
    containers();
    insides();
    collections();
    values();
    alike();
    printf("made\n");
    fflush(nullptr);
    for (;;) {
        sleep(100);
    }
}
