set(sources
    ${SONDE_PORT}/doctor_machine.c
    ${SONDE_PORT}/doctor_process.c
    ${SONDE_PORT}/host_file.c
)
