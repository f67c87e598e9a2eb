set(sources
    demangle.c
    demangle_block.c
)
if(SONDE_IBERTY)
    list(APPEND sources demangle_iberty.c)
else()
    list(APPEND sources demangle_none.c)
endif()
