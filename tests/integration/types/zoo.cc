// SPDX-License-Identifier: Apache-2.0
/* Types of C++: base classes, virtual ones, templates, nested classes, static members, references
 * and member pointers. */
namespace zoo
{

struct empty {
};

class base
{
  public:
    virtual ~base();
    virtual int call(int);
    static int counter;
    int value : 5;

  protected:
    char tail;
};

base::~base() {}
int base::call(int n)
{
    return n + value;
}
int base::counter;

struct second {
    long number;
    static const int constant = 3;
};

class both : public base, private second, empty
{
  public:
    enum class state : short { off = -1, on };
    struct inner;
    struct whole {
        state states[2];
        union {
            int a;
            float b;
        };
    } in;
    inner *out;
    int &reference;
    int &&other;
    int base::*data;
    int (base::*method)(int);
    void (*function)(const both &, bool);
    decltype(nullptr) null;
    explicit both(int &r) : reference(r), other(static_cast<int &&>(r)) {}
};

struct both::inner {
    char c;
    both *back;
};

struct left : virtual base {
    int l;
};
struct right : virtual base {
    int r;
};
struct diamond : left, right {
    int d;
};

template <class T, int N> struct list {
    T items[N];
    list *next;
    struct node {
        T item;
    } first;
};

namespace
{
struct hidden {
    int h;
};
} // namespace

int there(list<both::inner *, 3> *l, const hidden &h, ...)
{
    return l->next == nullptr ? h.h : 1;
}

} // namespace zoo

template struct zoo::list<char, 5>;
zoo::list<zoo::both::inner *, 3> the_list;
zoo::diamond the_diamond;
zoo::both *the_both;
zoo::both::inner the_inner;
auto the_lambda = [](int x) { return x + the_inner.c; };

int main(int argc, char **)
{
    struct local {
        int in_function;
    } l = {argc};
    zoo::hidden h = {l.in_function};
    int n = 0;
    zoo::both b(n);
    the_both = &b;
    return zoo::there(&the_list, h) + the_lambda(1) + b.call(2);
}
