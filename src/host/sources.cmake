set(sources
    ${SONDE_PORT}/host_file.c
)
