set(sources
    findings.c
    findings_places.c
    findings_rules.c
    findings_sarif.c
    findings_suppress.c
)
