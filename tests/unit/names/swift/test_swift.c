// SPDX-License-Identifier: Apache-2.0
/* Names that were put together by the rules of Swift's docs/ABI/Mangling.rst for a made-up module
 * `shop`. The expected full texts were compared with those of Swift's own demangler of 2026. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "swift.h"
#include "test.h"

static char text[4096];

static const char *decoded(const char *name, enum sonde__swift_style style)
{
    return sonde__swift_decode(name, style, text, sizeof text) ? text : "";
}

static const struct {
    const char *name, *full, *brief;
} known[] = {
    {"$s4shop3addyS2i_SitF", "shop.add(Swift.Int, Swift.Int) -> Swift.Int", "add(_:_:)"},
    {"$s4shop4CartV5totalSdvg", "shop.Cart.total.getter : Swift.Double", "Cart.total.getter"},
    {"$s4shop4CartV5totalSdvs", "shop.Cart.total.setter : Swift.Double", "Cart.total.setter"},
    {"$s4shop4CartV5totalSdvM", "shop.Cart.total.modify : Swift.Double", "Cart.total.modify"},
    {"$s4shop4CartV5totalSdvr", "shop.Cart.total.read : Swift.Double", "Cart.total.read"},
    {"$s4shop4CartV5totalSdvW", "shop.Cart.total.didset : Swift.Double", "Cart.total.didset"},
    {"$s4shop4CartV5totalSdvpZ", "static shop.Cart.total : Swift.Double", "static Cart.total"},
    {"$s4shop4CartV5fetch2idACSi_tYaKFZ",
     "static shop.Cart.fetch(id: Swift.Int) async throws -> shop.Cart", "static Cart.fetch(id:)"},
    {"$s4shop4CartV5fetch2idACSi_tYaKFZTY0_",
     "(1) suspend resume partial function for static shop.Cart.fetch(id: Swift.Int) async "
     "throws -> shop.Cart",
     "static Cart.fetch(id:)"},
    {"$s4shop4CartV5fetch2idACSi_tYaKFZTQ1_",
     "(2) await resume partial function for static shop.Cart.fetch(id: Swift.Int) async throws "
     "-> shop.Cart",
     "static Cart.fetch(id:)"},
    {"$s4shop4CartV5totalSdvgS2d_SdtXEfU_",
     "closure #1 (Swift.Double, Swift.Double) -> Swift.Double in shop.Cart.total.getter : "
     "Swift.Double",
     "closure #1 in Cart.total.getter"},
    {"$s4shop4CartV5totalSdvgS2d_SdtXEfu0_TA",
     "partial apply forwarder for implicit closure #2 (Swift.Double, Swift.Double) -> "
     "Swift.Double in shop.Cart.total.getter : Swift.Double",
     "partial apply for implicit closure #2 in Cart.total.getter"},
    {"$s4shop4CartV5totalSdvgS2d_SdtXEfU_TA.17",
     "partial apply forwarder for closure #1 (Swift.Double, Swift.Double) -> Swift.Double in "
     "shop.Cart.total.getter : Swift.Double with unmangled suffix \".17\"",
     "partial apply for closure #1 in Cart.total.getter"},
    {"$s4shop5StoreC4nameACSS_tcfC",
     "shop.Store.__allocating_init(name: Swift.String) -> shop.Store",
     "Store.__allocating_init(name:)"},
    {"$s4shop5StoreC4nameACSS_tcfc", "shop.Store.init(name: Swift.String) -> shop.Store",
     "Store.init(name:)"},
    {"$s4shop5StoreCfD", "shop.Store.__deallocating_deinit", "Store.__deallocating_deinit"},
    {"$s4shop5StoreCfd", "shop.Store.deinit", "Store.deinit"},
    {"$s4shop4CartV2eeoiySbAC_ACtFZ",
     "static shop.Cart.== infix(shop.Cart, shop.Cart) -> Swift.Bool", "static Cart.== infix(_:_:)"},
    {"$s4shop4CartV4BookC", "shop.Cart.Book", "Cart.Book"},
    {"$s4shop4KindO", "shop.Kind", "Kind"},
    {"$s4shop5StoreCMa", "type metadata accessor for shop.Store",
     "type metadata accessor for Store"},
    {"$s4shop5StoreCMn", "nominal type descriptor for shop.Store",
     "nominal type descriptor for Store"},
    {"$s4shop4CartVWOh", "outlined destroy of shop.Cart", "outlined destroy of Cart"},
    {"$s4shop4CartVSgWOb", "outlined init with take of shop.Cart?",
     "outlined init with take of Cart?"},
    {"$s4shop5StoreC4nameSSvgTj", "dispatch thunk of shop.Store.name.getter : Swift.String",
     "dispatch thunk of Store.name.getter"},
    {"$s4shop5StoreC4nameSSvgTq", "method descriptor for shop.Store.name.getter : Swift.String",
     "method descriptor for Store.name.getter"},
    {"$s4shop5StoreC4nameSSvpMV", "property descriptor for shop.Store.name : Swift.String",
     "property descriptor for Store.name"},
    {"$s4shop5StoreC4nameSSvgTo", "@objc shop.Store.name.getter : Swift.String",
     "@objc Store.name.getter"},
    {"$s4shop4CartV4swap33_0123456789ABCDEF0123456789ABCDEFLLyyF",
     "shop.Cart.(swap in _0123456789ABCDEF0123456789ABCDEF)() -> ()", "Cart.swap()"},
    {"$s4shop4CartVSHAAMc",
     "protocol conformance descriptor for shop.Cart : Swift.Hashable in shop",
     "protocol conformance descriptor for Cart"},
    {"$s4shop4CartVSQAASQ2eeoiySbx_xtFZTW",
     "protocol witness for static Swift.Equatable.== infix(A, A) -> Swift.Bool in conformance "
     "shop.Cart : Swift.Equatable in shop",
     "protocol witness for static Equatable.== infix(_:_:) in conformance Cart"},
    {"$s4shop3mapyq_x_q_xXEtr0_lF", "shop.map<A, B>(A, (A) -> B) -> B", "map<A, B>(_:_:)"},
    {"$s4shop3mapyq_x_q_xXEtr0_lFSi_SSTg5",
     "generic specialization <Swift.Int, Swift.String> of shop.map<A, B>(A, (A) -> B) -> B",
     "specialized map<A, B>(_:_:)"},
    {"$s4shop3addyS2i_SitFTf4nd_n",
     "function signature specialization <Arg[1] = Dead> of shop.add(Swift.Int, Swift.Int) -> "
     "Swift.Int",
     "specialized add(_:_:)"},
    {"$s4shop3addyS2i_SitFTm", "merged shop.add(Swift.Int, Swift.Int) -> Swift.Int", "add(_:_:)"},
    {"$s4shop3addyS2i_SitFfA0_",
     "default argument 1 of shop.add(Swift.Int, Swift.Int) -> Swift.Int",
     "default argument 1 of add(_:_:)"},
    {"$s4shop5StoreC4size33_0123456789ABCDEF0123456789ABCDEFLLSivpfi",
     "variable initialization expression of shop.Store.(size in "
     "_0123456789ABCDEF0123456789ABCDEF) : Swift.Int",
     "variable initialization expression of Store.size"},
    {"$sIeg_Ieg_TR",
     "reabstraction thunk helper from @escaping @callee_guaranteed () -> () to @escaping "
     "@callee_guaranteed () -> ()",
     "thunk for @escaping @callee_guaranteed () -> ()"},
    {"$sSiIegy_SiIegn_TR",
     "reabstraction thunk helper from @escaping @callee_guaranteed (@unowned Swift.Int) -> () "
     "to @escaping @callee_guaranteed (@in_guaranteed Swift.Int) -> ()",
     "thunk for @escaping @callee_guaranteed (@unowned Int) -> ()"},
    {"$s10Foundation4DataV4shopE5cacheyyF", "(extension in shop):Foundation.Data.cache() -> ()",
     "Data.cache()"},
    {"$sSa4shopSiRszlE3sumSivg",
     "(extension in shop):Swift.Array<A where A == Swift.Int>.sum.getter : Swift.Int",
     "Array<A>.sum.getter"},
    {"$s4shop3allQryF", "shop.all() -> some", "all()"},
    {"$s4shop3allQryFQOMQ",
     "opaque type descriptor for <<opaque return type of shop.all() -> some>>",
     "opaque type descriptor for <<opaque return type of all()>>"},
    {"$s4shop5StoreC5thingSSyFyycfU_", "closure #1 () -> () in shop.Store.thing() -> Swift.String",
     "closure #1 in Store.thing()"},
    {"$s4shop3runyyyyScMYccF", "shop.run(@Swift.MainActor () -> ()) -> ()", "run(_:)"},
    {"$s4shop3runyyyyYAcF", "shop.run(@isolated(any) () -> ()) -> ()", "run(_:)"},
    {"$s4shop2goyyF5InnerL_V3runyyF", "run() -> () in Inner #1 in shop.go() -> ()",
     "run() in Inner #1 in go()"},
    {"$s4shop5priceSdvau", "shop.price.unsafeMutableAddressor : Swift.Double",
     "price.unsafeMutableAddressor"},
    {"$s4shop5price_WZ", "one-time initialization function for price",
     "one-time initialization function for price"},
    {"$s4shop5StoreC4nameSSvpACTK",
     "key path getter for shop.Store.name : Swift.String : shop.Store",
     "key path getter for Store.name : Store"},
    {"$s4shop5StoreC4nameSSvpACTk",
     "key path setter for shop.Store.name : Swift.String : shop.Store",
     "key path setter for Store.name : Store"},
    {"$e4shop3addyS2i_SitF", "shop.add(Swift.Int, Swift.Int) -> Swift.Int", "add(_:_:)"},
    {"$S4shop3addyS2i_SitF", "shop.add(Swift.Int, Swift.Int) -> Swift.Int", "add(_:_:)"},
    {"_T04shop3addS2i_SitF", "shop.add(Swift.Int, Swift.Int) -> Swift.Int", "add(_:_:)"},
    {"_TtC4shop5Store", "shop.Store", "Store"},
    {"_TtCC4shop5Store4Cart", "shop.Store.Cart", "Store.Cart"},
    {"_TtGC4shop3BoxSi_", "shop.Box<Swift.Int>", "Box<Int>"},
    {"_TtP4shop5Named_", "shop.Named", "Named"},
    {"_TtC4shopP33_0123456789ABCDEF0123456789ABCDEF5Cache",
     "shop.(Cache in _0123456789ABCDEF0123456789ABCDEF)", "Cache"},
    {"_TtCs12_SwiftObject", "Swift._SwiftObject", "_SwiftObject"},
    {"_TtCF4shop2goFT_T_L_5Inner", "Inner #1 in shop.go() -> ()", "Inner #1 in go()"},
    {"_TtGC7SwiftUI14_UIHostingViewGVS_15ModifiedContentVS_7AnyViewVS_12RootModifier__",
     "SwiftUI._UIHostingView<SwiftUI.ModifiedContent<SwiftUI.AnyView, SwiftUI.RootModifier>>",
     "_UIHostingView<ModifiedContent<AnyView, RootModifier>>"},
    {"$s7SwiftUI14_UIHostingViewCyAA15ModifiedContentVyAA7AnyViewVAA12RootModifierVGGN",
     "type metadata for SwiftUI._UIHostingView<SwiftUI.ModifiedContent<SwiftUI.AnyView, "
     "SwiftUI.RootModifier>>",
     "type metadata for _UIHostingView<ModifiedContent<AnyView, RootModifier>>"},
    {"$s4shop4PairVyS2iG", "shop.Pair<Swift.Int, Swift.Int>", "Pair<Int, Int>"},
    {"$sSDySSSiG", "[Swift.String : Swift.Int]", "[String : Int]"},
    {"$sSayypG", "[Any]", "[Any]"},
    {"$sSo8NSObjectC", "__C.NSObject", "NSObject"},
    {"$sSo7CGPointV1x12CoreGraphics7CGFloatVvg", "__C.CGPoint.x.getter : CoreGraphics.CGFloat",
     "CGPoint.x.getter"},
    {"$sxq_Iegnr_", "@escaping @callee_guaranteed (@in_guaranteed A) -> (@out B)",
     "@escaping @callee_guaranteed (@in_guaranteed A) -> (@out B)"},
    {"$s4shop5StoreC9subscriptS2i_tcig",
     "shop.Store.subscript.getter : (subscript: Swift.Int) -> Swift.Int", "Store.subscript.getter"},
    {"$s4shop1xyyYaF", "shop.x() async -> ()", "x()"},
    {"$s4shop1fyyF1yL_SiyF", "y #1 () -> Swift.Int in shop.f() -> ()", "y #1 () in f()"},
    {"$s4shop4initSiyF", "shop.init() -> Swift.Int", "init()"},
    {"$s4shop8AnythingVyxGSHAASHRzlMc",
     "protocol conformance descriptor for <A where A: Swift.Hashable> shop.Anything<A> : "
     "Swift.Hashable in shop",
     "protocol conformance descriptor for <A> Anything<A>"},
    {"$s4shop1fyyAA1P_p_AA1Q_AA1RptF", "shop.f(shop.P, shop.Q & shop.R) -> ()", "f(_:_:)"},
    {"$s4shop1fyyypXp_ypXpmtF", "shop.f(Any.Type, Any.Type.Protocol) -> ()", "f(_:_:)"},
    {"$s4shop1fyySi_SiztF", "shop.f(Swift.Int, inout Swift.Int) -> ()", "f(_:_:)"},
    {"$s4shop1fyySid_tF", "shop.f(Swift.Int...) -> ()", "f(_:)"},
    {"$s4shop1fyyxxQp_tRvzlF", "shop.f<each A>(repeat A) -> ()", "f<each A>(_:)"},
    {"$s4shop1fyyxRi_zlF", "shop.f<A where A: ~Swift.Copyable>(A) -> ()", "f<A>(_:)"},
    {"$s4shop9stringifyySi_SStxclufm", "shop.stringify<A>(A) -> (Swift.Int, Swift.String)",
     "stringify<A>(_:)"},
    {"$s4shop1fyyF9stringifyfMf_", "freestanding macro expansion #1 of stringify in shop.f() -> ()",
     "freestanding macro expansion #1 of stringify in f()"},
    {"$s4shop0022macro_basicswift_tiAIefMX3_6_9stringifyfMf_",
     "freestanding macro expansion #1 of stringify in module shop file macro_basic.swift line 4 "
     "column 7",
     "freestanding macro expansion #1 of stringify in module shop file macro_basic.swift line 4 "
     "column 7"},
    {"$s4shop3addyS2f_S2ftFTJfUSSpSr",
     "forward-mode derivative of shop.add(Swift.Float, Swift.Float, Swift.Float) -> Swift.Float "
     "with respect to parameters {1, 2} and results {0}",
     "forward-mode derivative of add(_:_:_:)"},
    {"$s4shop4CartC3addyS2fFTJVrSpSr",
     "vtable thunk for reverse-mode derivative of shop.Cart.add(Swift.Float) -> Swift.Float with "
     "respect to parameters {0} and results {0}",
     "vtable thunk for reverse-mode derivative of Cart.add(_:)"},
    {"$s4shop1fyxxlFlTJpSpSrTj",
     "dispatch thunk of pullback of shop.f<A>(A) -> A with respect to parameters {0} and results "
     "{0} with <A>",
     "dispatch thunk of pullback of f<A>(_:)"},
    {"$sS2fIegyd_TJSdSSSpSrSUSP",
     "autodiff subset parameters thunk for differential from @escaping @callee_guaranteed "
     "(@unowned Swift.Float) -> (@unowned Swift.Float) with respect to parameters {0, 1, 2} and "
     "results {0} "
     "to parameters {0, 2}",
     "autodiff subset parameters thunk for differential from @escaping @callee_guaranteed "
     "(@unowned Float) -> (@unowned Float)"},
    {"$sS2fIegyd_S2dIegyd_TJOp",
     "autodiff self-reordering reabstraction thunk for pullback from @escaping @callee_guaranteed "
     "(@unowned Swift.Float) -> (@unowned Swift.Float) to @escaping @callee_guaranteed (@unowned "
     "Swift.Double) -> (@unowned Swift.Double)",
     "autodiff self-reordering reabstraction thunk for pullback from @escaping @callee_guaranteed "
     "(@unowned Float) -> (@unowned Float)"},
    {"$s4shop3addyS2f_S2ftFWJrSpSr",
     "reverse-mode differentiability witness for shop.add(Swift.Float, Swift.Float, Swift.Float) "
     "-> Swift.Float with respect to parameters {0} and results {0}",
     "reverse-mode differentiability witness for add(_:_:_:)"},
    {"$s4shop5ActorC3runyyYaFTu", "async function pointer to shop.Actor.run() async -> ()",
     "async function pointer to Actor.run()"},
    {"$s4shop5StoreC3runyyFTX", "dynamically replaceable variable for shop.Store.run() -> ()",
     "Store.run()"},
    {"$s4shop5StoreC3runyyFTI", "dynamically replaceable thunk for shop.Store.run() -> ()",
     "Store.run()"},
    {"$sSo8NSStringCSgIeyBy_SSSgIegg_TR",
     "reabstraction thunk helper from @escaping @callee_unowned @convention(block) (@unowned "
     "__C.NSString?) -> () to @escaping @callee_guaranteed (@guaranteed Swift.String?) -> ()",
     "thunk for @escaping @callee_unowned @convention(block) (@unowned NSString?) -> ()"},
    {"$s4shop4CartVwxx", "destroy value witness for shop.Cart", "destroy value witness for Cart"},
    {"$s4shop4CartVWV", "value witness table for shop.Cart", "value witness table for Cart"},
    {"$s4shop5StoreC4nameSSvpWvd", "direct field offset for shop.Store.name : Swift.String",
     "direct field offset for Store.name"},
};

TEST(names_have_a_full_and_a_short_text)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        CHECK_STR(decoded(known[i].name, SONDE__SWIFT_FULL), known[i].full);
        CHECK_STR(decoded(known[i].name, SONDE__SWIFT_SHORT), known[i].brief);
    }
}

/* Mach-O symbols have one more underscore; the names of a linker's or compiler's copies have a
 * suffix. */
TEST(prefixes_and_suffixes_are_known)
{
    static const char *const prefixes[] = {"$s", "_$s", "$S", "_$S", "$e", "_$e"};
    char name[64];
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        snprintf(name, sizeof name, "%s4shop3addyS2i_SitF", prefixes[i]);
        CHECK(sonde__swift_is_encoded(name));
        CHECK_STR(decoded(name, SONDE__SWIFT_SHORT), "add(_:_:)");
    }
    CHECK_STR(decoded("$s4shop2goyyF.cold.1", SONDE__SWIFT_FULL),
              "shop.go() -> () with unmangled suffix \".cold.1\"");
    CHECK_STR(decoded("$s4shop2goyyF.\"\x01", SONDE__SWIFT_FULL),
              "shop.go() -> () with unmangled suffix \".\\\"\\x01\"");
    CHECK(!sonde__swift_is_encoded("$"));
    CHECK(!sonde__swift_is_encoded("_T"));
    CHECK(!sonde__swift_is_encoded("main"));
    CHECK(!sonde__swift_is_encoded("_ZN1n1fEv"));
}

/* Mangling.rst, "Identifiers" and "Substitutions", with the examples of these sections. */
TEST(identifiers_are_put_together)
{
    static const char *const names[][2] = {
        {"$s0012vergenza_JFaV", ""}, /* a module alone is no name */
        {"$s4shop0012vergenza_JFayyF", "shop.verg\xc3\xbc"
                                       "enza() -> ()"},
        {"$s4shop007p_qcaDcoiyyF", "shop.\xc2\xab+\xc2\xbb infix() -> ()"},
        {"$s4shop006GqqHJvyyF", "shop.\xe4\xbd\xa0\xe5\xa5\xbd() -> ()"},
        {"$s4goIn02MyaB0yyF", "goIn.MygoIn() -> ()"},
        {"$s9AbcDefGHI02Myac1_B0yyF", "AbcDefGHI.MyAbcGHI_Def() -> ()"},
        {"$s3zim4zangC3zooVAC4zungV_AgA7zippityVtc",
         "(zim.zang.zung, zim.zang.zung, zim.zippity) -> zim.zang.zoo"},
        {"$s4shop1fyySi_S3itF", "shop.f(Swift.Int, Swift.Int, Swift.Int, Swift.Int) -> ()"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK_STR(decoded(names[i][0], SONDE__SWIFT_FULL), names[i][1]);
    }
}

/* A name is refused, and shown as it is, rather than guessed. */
TEST(what_is_not_understood_is_refused)
{
    static const char *const names[] = {
        "$s",
        "$s4",
        "$s4sho",
        "$s4shop",                      /* no declaration */
        "$s4shop4Cart",                 /* the same */
        "$sy",                          /* an operand that is left over */
        "$s4shop4CartV4shop4KindO",     /* two names */
        "$s4shop4CartVA",               /* a substitution without index */
        "$s4shop4CartVAZ",              /* of nothing */
        "$s4shop0aB",                   /* a word of nothing */
        "$s4shop3addyS2i_Sit",          /* no function */
        "$s4shop3addyS999999999999itF", /* repeated too often */
        "$s4shop00yyF",
        "$s4shop1fyyFTJ", /* derived how? */
        "$s4shop1fyyFTJxSpSr",
        "$s4shop1fyyFTJrSp", /* no results */
        "$sTJrSpSr",         /* of nothing */
        "$sTJOp",
        "$s4shop3fMX3_6_9stringifyfMf_",  /* no file */
        "$s4shop009a_JJJJJJJyyF",         /* Punycode out of range */
        "$s4shop1f\x01\x02\x03\x04\x05V", /* a symbolic reference, which needs the image */
        "$s4shop4CartVXQ",
        "$s4shop4CartVMZ",
        "$s4shop3addyS2i_SitFTf4z_n",
        "_Tt",
        "_TtC",
        "_TtC4shop",
        "_TtC4shop5Store5Extra",
        "_TtGC4shop3BoxSi",
        "_TtQd_",
        "_TtZZ",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK_STR(decoded(names[i], SONDE__SWIFT_FULL), "");
    }
}
