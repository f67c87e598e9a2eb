# LLVM's C++ demangler (libc++abi, Apache-2.0 with LLVM exceptions): one object of its archive. The
# few C++ runtime symbols that it needs are in cli/demangle_llvm.c. Sets SONDE_LLVM_DEMANGLER to an
# object file whose symbols are renamed to ours, or to "". We supply its memory (bounded), and
# handle its failures.
#
# ./dev setup unpacks Debian's package into the cache, because libc++abi-19-dev conflicts with other
# packages.
set(SONDE_LLVM_DEMANGLER "")
set(cache "$ENV{SONDE_CACHE}")
if(cache STREQUAL "")
    set(cache "$ENV{XDG_CACHE_HOME}")
    if(cache STREQUAL "")
        set(cache "$ENV{HOME}/.cache")
    endif()
    set(cache "${cache}/sonde")
endif()
if(NOT CMAKE_CROSSCOMPILING)
    find_file(SONDE_LIBCXXABI libc++abi.a NO_DEFAULT_PATH
        PATHS ${cache}/deb/libc++abi-19-dev/usr/lib/llvm-19/lib /usr/lib/llvm-19/lib
        DOC "archive with LLVM's demangler")
endif()
if(SONDE_LIBCXXABI)
    set(folder ${CMAKE_BINARY_DIR}/demangler)
    file(MAKE_DIRECTORY ${folder})
    set(renamed)
    foreach(pair IN ITEMS __cxa_demangle=decode malloc=malloc realloc=realloc free=free
            abort=dead_1 abort_message=dead_2 _Unwind_Resume=dead_3 _ZSt9terminatev=dead_4
            __cxa_begin_catch=dead_5 __gxx_personality_v0=dead_6 _ZdlPvm=delete
            _ZTVN10__cxxabiv117__class_type_infoE=types_1
            _ZTVN10__cxxabiv120__si_class_type_infoE=types_2)
        string(REPLACE "=" "=sonde__llvm_" pair ${pair})
        list(APPEND renamed --redefine-sym ${pair})
    endforeach()
    execute_process(COMMAND ${CMAKE_AR} p ${SONDE_LIBCXXABI} cxa_demangle.cpp.o
        OUTPUT_FILE ${folder}/packed.o RESULT_VARIABLE unpacked ERROR_QUIET)
    execute_process(COMMAND ${CMAKE_OBJCOPY} ${renamed} ${folder}/packed.o ${folder}/demangler.o
        RESULT_VARIABLE copied ERROR_QUIET)
    # nothing is undefined when linked with ours: another version may need more
    execute_process(COMMAND ${CMAKE_C_COMPILER} -shared -fPIC -Wl,-z,defs -D_GNU_SOURCE
            -I${PROJECT_SOURCE_DIR}/include
            -o ${folder}/try.so ${PROJECT_SOURCE_DIR}/cli/demangle/demangle_llvm.c ${folder}/demangler.o
        RESULT_VARIABLE linked OUTPUT_QUIET ERROR_QUIET)
    if(unpacked EQUAL 0 AND copied EQUAL 0 AND linked EQUAL 0)
        set(SONDE_LLVM_DEMANGLER ${folder}/demangler.o)
    else()
        message(STATUS "${SONDE_LIBCXXABI}: its demangler cannot be used")
    endif()
endif()
if(NOT SONDE_LLVM_DEMANGLER)
    message(STATUS "libc++abi.a of LLVM 19 (./dev setup build) not found: names of C++ are decoded by libiberty, which does not know all of C++20")
endif()

# libiberty decodes names of Rust, and those of C++ without LLVM's demangler. Debian has no cross
# package of it, so the cross build does without.
find_library(SONDE_IBERTY iberty)
if(NOT SONDE_IBERTY)
    message(STATUS "libiberty (libiberty-dev) not found: names of Rust stay as in the file")
    set(SONDE_IBERTY "")
endif()

# For the program `sonde` and tests with names: SOURCES to compile, LIBS to link.
set(SONDE_DEMANGLER_SOURCES ${PROJECT_SOURCE_DIR}/cli/demangle/demangler.c)
if(SONDE_LLVM_DEMANGLER)
    list(APPEND SONDE_DEMANGLER_SOURCES ${PROJECT_SOURCE_DIR}/cli/demangle/demangle_llvm.c)
else()
    list(APPEND SONDE_DEMANGLER_SOURCES ${PROJECT_SOURCE_DIR}/cli/demangle/demangle_llvm_none.c)
endif()
if(SONDE_IBERTY)
    list(APPEND SONDE_DEMANGLER_SOURCES ${PROJECT_SOURCE_DIR}/cli/demangle/demangle_iberty.c)
else()
    list(APPEND SONDE_DEMANGLER_SOURCES ${PROJECT_SOURCE_DIR}/cli/demangle/demangle_iberty_none.c)
endif()
set(SONDE_DEMANGLER_LIBS ${SONDE_LLVM_DEMANGLER} ${SONDE_IBERTY})
