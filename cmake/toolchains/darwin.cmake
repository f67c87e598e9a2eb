# Compiles the portable files for macOS, with Debian's clang and the libSystem headers of an npm
# package (tools/npm-packages.list). Nothing is linked.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64 CACHE STRING "arm64 or x86_64")
set(SONDE_DARWIN_HEADERS "" CACHE PATH "folder of libSystem's headers")
set(CMAKE_C_COMPILER clang)
set(CMAKE_C_COMPILER_TARGET ${CMAKE_SYSTEM_PROCESSOR}-apple-macos11)
set(CMAKE_ASM_COMPILER clang)
set(CMAKE_ASM_COMPILER_TARGET ${CMAKE_C_COMPILER_TARGET})
set(CMAKE_C_FLAGS_INIT "-nostdlibinc -isystem ${SONDE_DARWIN_HEADERS}")
set(CMAKE_OSX_SYSROOT "" CACHE STRING "none")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SONDE_DARWIN_HEADERS CMAKE_SYSTEM_PROCESSOR)
find_program(CMAKE_NM NAMES llvm-nm-19 llvm-nm REQUIRED) # binutils reads no Mach-O
