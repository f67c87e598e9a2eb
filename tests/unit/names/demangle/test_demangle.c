// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "demangle.h"
#include "demangler.h"
#include "test.h"

static char buffer[SONDE__DEMANGLE_OUTPUT_MAX];

static bool knows_languages(void)
{
    sonde__demangle_use(&sonde__cli_demangler);
    return sonde__cli_has_llvm && sonde__cli_has_iberty;
}

TEST(names_that_are_not_encoded_stay_themselves)
{
    static const char *const names[] = {
        "",
        "_",
        "__",
        "main",
        "_Z",
        "_R",
        "R",
        "Zebra",
        "__libc_start",
        "_ZZZZZZZ",
        "_Rust",
        "__block_invoke",
        "___x86",
        "_Znonsense",
        "block_invoke",
        "__7-[C m]_block_invoke_x",
        "__main_block_invoke_",
        "__main_block_invoke_99999999999999999999",
        "__main_block_invoke.",
        "__main_block_invokes",
        "glob_block_invoke", /* could be any function */
        "_Znonsense_block_invoke",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK(sonde__demangle(names[i], buffer) == names[i]);
    }
}

/* Names as clang 14 emits them for these functions (nm of its object file). */
TEST(blocks_are_named_after_what_they_stand_in)
{
    CHECK_STR(sonde__demangle("__main_block_invoke", buffer), "block in main");
    CHECK_STR(sonde__demangle("__main_block_invoke_2", buffer), "block #2 in main");
    CHECK_STR(sonde__demangle("__12-[C m]_block_invoke", buffer), "block in -[C m]");
    CHECK_STR(sonde__demangle("__21+[C with:and:]_block_invoke_3", buffer),
              "block #3 in +[C with:and:]");
    /* a clone that LLVM made of one */
    CHECK_STR(sonde__demangle("__main_block_invoke.35", buffer), "block in main [clone .35]");
    CHECK_STR(sonde__demangle("__main_block_invoke_2.cold.1", buffer),
              "block #2 in main [clone .cold.1]");
    /* a function whose own name has the suffix */
    CHECK_STR(sonde__demangle("__a_block_invoke_block_invoke", buffer), "block in a_block_invoke");
    /* methods as GCC and GNUstep name them: clang-14 and -19 with both runtimes gave these */
    CHECK_STR(sonde__demangle("__14_i_Ctl__direct_block_invoke", buffer), "block in -[Ctl direct]");
    CHECK_STR(sonde__demangle("__18_i_Ctl__take_with__block_invoke_2", buffer),
              "block #2 in -[Ctl take:with:]");
    CHECK_STR(sonde__demangle("__16_i_Ctl_Cat_catm__block_invoke", buffer),
              "block in -[Ctl(Cat) catm:]");
    CHECK_STR(sonde__demangle("__12_c_Ctl__cls__block_invoke", buffer), "block in +[Ctl cls:]");
    /* of My_Ctl, or of the category Ctl of My? */
    CHECK_STR(sonde__demangle("__17_i_My_Ctl__direct_block_invoke", buffer),
              "block in _i_My_Ctl__direct");
}

TEST(blocks_of_cpp_functions_are_decoded_whole)
{
    if (!knows_languages()) {
        SKIP("built without libiberty or libc++abi");
    }
    CHECK_STR(sonde__demangle("___ZN1C1mEv_block_invoke", buffer), "block in C::m()");
    CHECK_STR(sonde__demangle("___ZN1C1mEv_block_invoke_2", buffer), "block #2 in C::m()");
    /* of variables; clang 19 counts these in the file */
    CHECK_STR(sonde__demangle("_ZN1n4globE_block_invoke", buffer), "block in n::glob");
    CHECK_STR(sonde__demangle("_ZN1QIiE1mE_block_invoke_8", buffer),
              "block #8 of the file in Q<int>::m");
}

/* Clang 19's names of the expected declarations, with V for void (^)(int): g(V, V (^)(V), void
 * (^*)(void), void (^const *)(V)). */
TEST(blocks_are_written_as_in_the_language)
{
    if (!knows_languages()) {
        SKIP("built without libiberty or libc++abi");
    }
    CHECK_STR(sonde__demangle("_Z1fU13block_pointerFviE", buffer), "f(void (^)(int))");
    CHECK_STR(sonde__demangle("_Z1gU13block_pointerFviEU13block_pointerFS0_S0_EPU13block_"
                              "pointerFvvEPKU13block_pointerFvS0_E",
                              buffer),
              "g(void (^)(int), void (^(^)(void (^)(int)))(int), void (^*)(), "
              "void (^ const*)(void (^)(int)))");
    CHECK_STR(sonde__demangle("___Z1fU13block_pointerFviE_block_invoke", buffer),
              "block in f(void (^)(int))");
}

/* The expected texts are those of llvm-cxxfilt 19; suffixes are as in c++filt of binutils 2.40. */
TEST(cpp_and_rust_are_decoded)
{
    static const char *const pairs[][2] = {
        {"_Z1fv", "f()"},
        {"_ZN4node21SpinEventLoopInternalEPNS_11EnvironmentE",
         "node::SpinEventLoopInternal(node::Environment*)"},
        {"_ZNSt6vectorIiSaIiEE9push_backEOi",
         "std::vector<int, std::allocator<int>>::push_back(int&&)"},
        {"_ZN3FooC2Ev", "Foo::Foo()"},
        {"_RNvC6_123foo3bar", "123foo::bar"},
        {"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
        {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
        /* clones by compilers, as c++filt shows them */
        {"_ZN1n1fEv.cold", "n::f() [clone .cold]"},
        {"_ZN1n1fEv.llvm.1234567", "n::f() [clone .llvm.1234567]"},
        {"_ZN1n1fEv.123", "n::f() [clone .123]"},
        {"_ZN1n1fEv.part.0.cold", "n::f() [clone .part.0] [clone .cold]"},
        {"_ZN1n1fEv.isra.0.constprop.1", "n::f() [clone .isra.0] [clone .constprop.1]"},
        /* as clang 19 encodes C++20: a template parameter that is a value of a type that depends on
         * another, constraints, lambdas with template parameters */
        {"_Z1fIiTnNSt9enable_ifIXtlT_EEiE4typeELi0EEvv", "void f<int, 0>()"},
        {"_Z1fITk1CiEvT_", "void f<int>(int)"},
        {"_Z1gIiEvT_Q1CIS0_E", "void g<int>(int) requires C<int>"},
        {"_ZZ4mainENKUlTyT_E_clIiEEDaS_",
         "auto main::'lambda'<typename $T>($T)::operator()<int>($T) const"},
    };
    if (!knows_languages()) {
        SKIP("built without libiberty or libc++abi");
    }
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        CHECK_STR(sonde__demangle(pairs[i][0], buffer), pairs[i][1]);
    }
}

/* Each substitution S_n is a pair of the one before: a name of 200 bytes expands to 2^60 words. */
/* As index files have them for stubs of the linker. */
TEST(names_of_stubs_targets_are_decoded)
{
    char name[SONDE__DEMANGLE_INPUT_MAX + 100];
    CHECK_STR(sonde__demangle("__main_block_invoke@plt", buffer), "block in main@plt");
    CHECK_STR(sonde__demangle("$s4main3fooyyF@plt", buffer), "foo()@plt");
    CHECK_STR(sonde__demangle("memcpy@plt", buffer), "memcpy@plt");
    CHECK_STR(sonde__demangle("_@plt", buffer), "_@plt");
    CHECK_STR(sonde__demangle("_@plt@plt", buffer), "_@plt@plt");
    if (knows_languages()) {
        CHECK_STR(sonde__demangle("_Z3fooi@plt", buffer), "foo(int)@plt");
    }
    for (size_t size = SONDE__DEMANGLE_INPUT_MAX - 10; size < sizeof name - 5; size++) {
        memset(name, 'x', size);
        memcpy(name, "_Z", 2);
        memcpy(name + size, "@plt", 5);
        CHECK(sonde__demangle(name, buffer) == name);
    }
}

TEST(exponential_name_ends_at_the_limit)
{
    (void)knows_languages();
    char name[SONDE__DEMANGLE_INPUT_MAX + 1];
    struct timespec begin, end;
    size_t used = (size_t)snprintf(name, sizeof name, "_Z1f1AIiiE");
    for (int i = 0; i < 60; i++) {
        const char digit = i < 10 ? (char)('0' + i) : (char)('A' + i - 10);
        used += i == 0 ? (size_t)snprintf(name + used, sizeof name - used, "S_IS0_S0_E")
                       : (size_t)snprintf(name + used, sizeof name - used, "S_IS%c_S%c_E",
                                          i < 36 ? digit : 'Z', i < 36 ? digit : 'Z');
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 100; i++) {
        CHECK(sonde__demangle(name, buffer) == name);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    CHECK((end.tv_sec - begin.tv_sec) < 5);
}

/* Packs of packs: each doubles the one before, and contains nothing or one element. */
TEST(exponential_packs_end_at_the_limit)
{
    (void)knows_languages();
    static const char *const firsts[] = {"_Z1fIJE", "_Z1fIJiE", "_Z1fIJEJDpT_E"};
    for (size_t k = 0; k < sizeof firsts / sizeof firsts[0]; k++) {
        char name[SONDE__DEMANGLE_INPUT_MAX + 1];
        size_t used = (size_t)snprintf(name, sizeof name, "%s", firsts[k]);
        for (int i = 0; i < 30; i++) {
            char digit[3] = "";
            if (i > 0) {
                snprintf(digit, sizeof digit, "%c", i <= 10 ? '0' + i - 1 : 'A' + i - 11);
            }
            used +=
                (size_t)snprintf(name + used, sizeof name - used, "JDpT%s_DpT%s_E", digit, digit);
        }
        snprintf(name + used, sizeof name - used, "EvDpTS_");
        for (int i = 0; i < 100; i++) {
            (void)sonde__demangle(name, buffer);
        }
    }
}

/* Random sequences of name pieces of all kinds: no crash, no exhausted memory. */
TEST_TIMEOUT(names_by_chance_do_no_harm, 120)
{
    (void)knows_languages();
    static const char *const pieces[] = {"_Z",
                                         "N",
                                         "E",
                                         "S_",
                                         "S0_",
                                         "T_",
                                         "T0_",
                                         "Dp",
                                         "J",
                                         "I",
                                         "1f",
                                         "3foo",
                                         "Tn",
                                         "Tk",
                                         "Q",
                                         "rq",
                                         "X",
                                         "L",
                                         "i",
                                         "v",
                                         "K",
                                         "R",
                                         "P",
                                         "F",
                                         "M",
                                         "DT",
                                         "Ut",
                                         "Ul",
                                         "_",
                                         "cl",
                                         "cv",
                                         "st",
                                         "C1",
                                         "D0",
                                         "B3abc",
                                         "St",
                                         "Sa",
                                         "Z",
                                         "s",
                                         "GV",
                                         "_R",
                                         "C",
                                         "17h0123456789abcdefE",
                                         ".cold",
                                         "_block_invoke"};
    uint64_t seed = 7;
    for (unsigned i = 0; i < (test_long() ? 5000000u : 100000u); i++) {
        char name[SONDE__DEMANGLE_INPUT_MAX + 64] = "_Z";
        size_t used = 2;
        do {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const char *piece = pieces[(seed >> 33) % (sizeof pieces / sizeof pieces[0])];
            used += (size_t)snprintf(name + used, sizeof name - used, "%s", piece);
        } while ((seed >> 20 & 31) != 0 && used < SONDE__DEMANGLE_INPUT_MAX);
        CHECK(sonde__demangle(name, buffer) != NULL);
    }
}

TEST(names_stay_encoded_without_a_demangler)
{
    sonde__demangle_use(NULL);
    CHECK_STR(sonde__demangle("_Z1fv", buffer), "_Z1fv");
    CHECK_STR(sonde__demangle("__main_block_invoke", buffer), "block in main");
}

TEST(long_names_stay_as_they_are)
{
    size_t size = 1 << 20;
    char *name = malloc(size + 1);
    memset(name, 'P', size);
    memcpy(name, "_Z1f", 4);
    name[size] = '\0';
    CHECK(sonde__demangle(name, buffer) == name);
    name[SONDE__DEMANGLE_INPUT_MAX] = '\0';
    name[SONDE__DEMANGLE_INPUT_MAX - 1] = 'i';
    CHECK(sonde__demangle(name, buffer) != NULL);
    free(name);
}
