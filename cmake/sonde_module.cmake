# sonde_module(FOLDER [ASYNC_SAFE] USES module...)
#
# One folder of src/ as an OBJECT library; the module is named by the last part of FOLDER.
# src/FOLDER/sources.cmake sets `sources` (paths from that folder; ${SONDE_PORT}/... are a port's).
# Only modules that name it in USES see its headers (nothing is inherited), so an include that the
# table of layers does not allow does not compile. ASYNC_SAFE modules run in signal handlers: they
# are compiled freestanding, without vector registers, stack protector or lazy TLS; they may use
# ASYNC_SAFE modules only, and after each build tools/ascheck.sh checks their undefined symbols
# against tools/async-safe.allow.

set(SONDE_WARNINGS -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
                   -Wvla -Wundef -Wno-missing-field-initializers)

set_property(GLOBAL PROPERTY sonde_modules "")
set_property(GLOBAL PROPERTY sonde_async_safe_modules "")

function(sonde_compile_options target)
    target_compile_options(${target} PRIVATE ${SONDE_WARNINGS})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    if(SONDE_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    if(SONDE_FUZZ)
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
        target_compile_definitions(${target} PRIVATE SONDE_FUZZING)
    endif()
    if(SONDE_SANITIZE)
        target_compile_definitions(${target} PRIVATE SONDE_SANITIZED)
        target_compile_options(${target} PRIVATE -fsanitize=${SONDE_SANITIZE}
                                                 -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_link_options(${target} PRIVATE -fsanitize=${SONDE_SANITIZE})
    endif()
endfunction()

# sonde_module_folder(OUT module): the absolute folder of a module.
function(sonde_module_folder out module)
    get_property(folder GLOBAL PROPERTY sonde_folder_${module})
    if(NOT folder)
        message(FATAL_ERROR "there is no module '${module}' here, or it is not above what uses it")
    endif()
    set(${out} ${folder} PARENT_SCOPE)
endfunction()

# sonde_headers(TARGET module...): the target sees the headers of these modules.
function(sonde_headers target)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    foreach(module IN LISTS ARGN)
        sonde_module_folder(folder ${module})
        target_include_directories(${target} PRIVATE ${folder})
    endforeach()
endfunction()

function(sonde_module path)
    cmake_parse_arguments(M "ASYNC_SAFE" "" "USES" ${ARGN})
    get_filename_component(name ${path} NAME)
    set(target sonde_${name})
    set(folder ${CMAKE_CURRENT_SOURCE_DIR}/${path})
    set_property(GLOBAL PROPERTY sonde_folder_${name} ${folder})
    include(${folder}/sources.cmake)
    list(FILTER sources EXCLUDE REGEX "^none/") # a port's, of no port
    list(TRANSFORM sources PREPEND ${folder}/)
    add_library(${target} OBJECT ${sources})
    sonde_compile_options(${target})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${folder})
    foreach(used IN LISTS M_USES)
        if(M_ASYNC_SAFE)
            get_property(safe GLOBAL PROPERTY sonde_async_safe_modules)
            if(NOT used IN_LIST safe)
                message(FATAL_ERROR "async-safe module '${name}' uses '${used}', which is not")
            endif()
        endif()
    endforeach()
    sonde_headers(${target} ${M_USES})
    set_property(GLOBAL APPEND PROPERTY sonde_modules ${name})
    if(M_ASYNC_SAFE)
        set_property(GLOBAL APPEND PROPERTY sonde_async_safe_modules ${name})
        target_compile_options(${target} PRIVATE
            -ffreestanding -mgeneral-regs-only -fno-stack-protector -ftls-model=initial-exec
            -U_FORTIFY_SOURCE -fno-exceptions -fasynchronous-unwind-tables -fno-plt
            -include ${PROJECT_SOURCE_DIR}/src/common/base/base_freestanding.h)
        if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
            target_compile_options(${target} PRIVATE -fno-tree-loop-distribute-patterns)
            if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
                # copy structs by moves: string instructions need 30 cycles to begin
                foreach(kind memcpy memset)
                    target_compile_options(${target} PRIVATE
                        -m${kind}-strategy=unrolled_loop:512:noalign,rep_8byte:-1:noalign)
                endforeach()
                # a badly aligned loop over a memo's frames takes up to 7 % longer
                target_compile_options(${target} PRIVATE
                    -falign-loops=32 --param=align-loop-iterations=1)
            endif()
        endif()
        if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
            # inline atomics, instead of calls of libgcc that look up the CPU's features
            target_compile_options(${target} PRIVATE -mno-outline-atomics)
        endif()
        if(NOT SONDE_SANITIZE)
            add_custom_target(ascheck_${name} ALL
                COMMAND ${PROJECT_SOURCE_DIR}/tools/ascheck.sh ${CMAKE_NM} ${name}
                        $<TARGET_OBJECTS:${target}>
                COMMAND_EXPAND_LISTS
                DEPENDS ${target} $<TARGET_OBJECTS:${target}>
                        ${PROJECT_SOURCE_DIR}/tools/ascheck.sh
                        ${PROJECT_SOURCE_DIR}/tools/async-safe.allow
                        ${PROJECT_SOURCE_DIR}/tools/async-safe-macho.allow
                COMMENT "async-signal safety of ${name}")
        endif()
    endif()
endfunction()

# sonde_objects(OUT module...): the object files of the modules, for a target's sources.
function(sonde_objects out)
    set(objects "")
    foreach(name IN LISTS ARGN)
        list(APPEND objects $<TARGET_OBJECTS:sonde_${name}>)
    endforeach()
    set(${out} ${objects} PARENT_SCOPE)
endfunction()

# sonde_program(NAME SOURCES file... USES module... [LIBS lib...]): a program that users run. Like a
# module, it sees only the headers of the modules that it names.
function(sonde_program name)
    cmake_parse_arguments(P "" "" "SOURCES;USES;LIBS" ${ARGN})
    if(SONDE_PORT STREQUAL "none")
        add_library(${name} OBJECT ${P_SOURCES})
    else()
        add_executable(${name} ${P_SOURCES})
        target_link_libraries(${name} PRIVATE sonde_static ${P_LIBS})
    endif()
    sonde_compile_options(${name})
    target_compile_definitions(${name} PRIVATE SONDE_VERSION="${PROJECT_VERSION}")
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    sonde_headers(${name} ${P_USES})
endfunction()

# sonde_test(NAME SOURCES file... USES module... [LIBS lib...] [LABELS label...] [TIMEOUT seconds]
# [ALONE]): one test program on our harness, run by ctest (one line there; the program prints a line
# per TEST and its own totals). Its label is unit or integration by its folder. Further labels:
# portable (runs under an emulator too), sanitize (also under ASan), tsan (also under TSan). ALONE:
# the test can fail where processors lack (time limits, threads that must run at once): ./dev test
# tries it a second time if it fails, with no other test beside it, and reports that.
function(sonde_test name)
    cmake_parse_arguments(T "ALONE" "TIMEOUT" "SOURCES;USES;LIBS;LABELS" ${ARGN})
    if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/integration|/examples")
        list(APPEND T_LABELS integration)
    else()
        list(APPEND T_LABELS unit)
    endif()
    if(NOT T_TIMEOUT)
        set(T_TIMEOUT 300)
    endif()
    math(EXPR T_TIMEOUT "${T_TIMEOUT} * 5") # of a quiet machine; the harness knows how loaded it is
    if(T_ALONE)
        list(APPEND T_LABELS alone)
    endif()
    add_executable(test_${name} ${T_SOURCES})
    sonde_compile_options(test_${name})
    if(CMAKE_CROSSCOMPILING) # it runs in an emulator: fewer rounds
        target_compile_definitions(test_${name} PRIVATE SONDE_EMULATED)
    endif()
    target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include
                                                    ${PROJECT_SOURCE_DIR}/tests/harness)
    sonde_headers(test_${name} ${T_USES})
    target_link_libraries(test_${name} PRIVATE sonde_harness sonde_static ${T_LIBS})
    if(integration IN_LIST T_LABELS AND NOT CMAKE_CROSSCOMPILING) # what users run
        add_dependencies(test_${name} sonde sonde_shared sonde_preload sonde_record_library)
    endif()
    add_test(NAME ${name} COMMAND test_${name})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${T_TIMEOUT}
                                           LABELS "${T_LABELS}" COST ${T_TIMEOUT})
    sonde_test_listed(${name} LABELS ${T_LABELS} USES ${T_USES})
endfunction()

# sonde_test_listed(NAME LABELS label... USES module...): adds a line to tests.list in the build
# folder, where ./dev test finds the tests of a module: name, folder, labels, modules whose headers
# it sees.
function(sonde_test_listed name)
    cmake_parse_arguments(L "" "" "LABELS;USES" ${ARGN})
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    list(JOIN L_LABELS "," labels)
    list(JOIN L_USES "," uses)
    set_property(GLOBAL APPEND PROPERTY sonde_tests "${name} ${folder} ${labels} ,${uses},")
endfunction()
