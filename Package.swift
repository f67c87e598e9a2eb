// swift-tools-version:5.5
// sonde for apps of Apple's platforms: stacks, names and blocks, as a C target. docs/guide/apple.md says how to add it.
// tests/darwin/package.sh builds what is listed here for iOS, and holds the functions that it calls against an allow-list.
import PackageDescription

// Modules (ARCHITECTURE.md) of which an app needs all files, but those that are excluded.
let modules = [
    "src/blocks/block",
    "src/blocks/blockheap",
    "src/common/base",
    "src/common/mem",
    "src/images/image",
    "src/images/inflate",
    "src/machine/arch",
    "src/machine/host",
    "src/machine/os",
    "src/names/demangle",
    "src/names/jit",
    "src/names/python",
    "src/names/runtime",
    "src/names/swift",
    "src/names/symbol",
    "src/names/symfile",
    "src/names/symindex",
    "src/names/tail",
    "src/names/types",
    "src/reports/style",
    "src/stacks/depot",
    "src/stacks/unwind"
]

// Other systems. base_mem_macho.c defines memcpy() for a library that is linked by itself; in an app's binary it would be the app's.
// An app keeps no files for later programs, and needs nothing of the program sonde (host_kept.c).
// symfile_jit.c reads other processes.
let excluded = [
    "src/common/base/base_mem_macho.c",
    "src/machine/host/darwin/host_program.c",
    "src/machine/host/darwin/host_stream.c",
    "src/machine/host/host_own.c",
    "src/machine/host/host_replace.c",
    "src/machine/host/host_writer.c",
    "src/machine/host/linux",
    "src/machine/os/linux",
    "src/names/symfile/symfile_jit.c"
]

// Of these modules an app gets what its own process needs.
let files = [
    "src/api/api_block.c",
    "src/api/api_block_content.c",
    "src/api/api_block_described.c",
    "src/api/api_callstack.c",
    "src/api/api_entry.S",
    "src/api/api_image.c",
    "src/api/api_lines.c",
    "src/api/api_names.c",
    "src/api/api_snapshot_stop.c",
    "src/api/api_stack.c",
    "src/api/api_strings.c",
    "src/api/api_symbol.c",
    "src/api/api_symbolizer.c",
    "src/api/api_symbols.c",
    "src/api/api_text.c",
    "src/api/api_thread.c",
    "src/api/api_thread_list.c",
    "src/api/api_thread_stop.c",
    "src/stacks/capture/capture_code.c",
    "src/stacks/capture/capture_entry.S",
    "src/stacks/capture/capture_images.c",
    "src/stacks/capture/capture_made.c",
    "src/stacks/capture/capture_memo.c",
    "src/stacks/capture/capture_own.c",
    "src/stacks/capture/capture_own_stack.c",
    "src/stacks/capture/capture_program.c",
    "src/stacks/capture/capture_public.c",
    "src/stacks/capture/capture_walk.c",
    "src/stacks/capture/darwin/capture_stopped.c",
    "src/stacks/target/darwin/target_none.c",
    "src/stacks/target/darwin/target_process.c",
    "src/stacks/target/darwin/target_self_loader.c",
    "src/stacks/target/darwin/target_self_needed.c",
    "src/stacks/target/darwin/target_zones.c",
    "src/stacks/target/target.c",
    "src/stacks/target/target_images.c",
    "src/stacks/target/target_jit.c",
    "src/stacks/target/target_self.c",
    "src/stacks/target/target_self_images.c",
    "src/stacks/target/target_self_permanent.c",
    "src/stacks/target/target_state.c"
]

let package = Package(
    name: "sonde",
    platforms: [.macOS(.v11), .iOS(.v12), .tvOS(.v12)],
    products: [.library(name: "Sonde", targets: ["CSonde"])],
    targets: [
        .target(
            name: "CSonde",
            path: ".",
            exclude: excluded,
            sources: modules + files,
            resources: [.copy("share/apple/PrivacyInfo.xcprivacy")],
            publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE"), .define("SONDE_VERSION", to: "\"0.1.0\"")] +
                (modules + ["src/api", "src/stacks/capture", "src/stacks/target"]).map { .headerSearchPath($0) }
        )
    ]
)
