# SPDX-License-Identifier: Apache-2.0
# sonde_add_test(NAME name COMMAND program argument...): like add_test(), but a test that hangs prints its stacks.
set(SONDE_TEST_TIMEOUT 60 CACHE STRING "seconds until a test is ended, with its stacks in the log")
find_program(SONDE_PROGRAM sonde)

function(sonde_add_test)
    cmake_parse_arguments(T "" "NAME" "COMMAND" ${ARGN})
    list(POP_FRONT T_COMMAND program)
    if(TARGET ${program})
        set(program $<TARGET_FILE:${program}>)
    endif()
    if(SONDE_PROGRAM)
        file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/sonde)
        add_test(NAME ${T_NAME} COMMAND ${SONDE_PROGRAM} run --timeout ${SONDE_TEST_TIMEOUT}s
            --timeout-action abort --report ${CMAKE_BINARY_DIR}/sonde/${T_NAME}.sonde
            --tag test=${T_NAME} --quiet -- ${program} ${T_COMMAND})
    else()
        add_test(NAME ${T_NAME} COMMAND ${program} ${T_COMMAND})
    endif()
    math(EXPR limit "${SONDE_TEST_TIMEOUT} + 30")
    set_tests_properties(${T_NAME} PROPERTIES TIMEOUT ${limit})
endfunction()
