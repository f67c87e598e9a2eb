#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# audit-gate.sh LIST BASELINE ACCEPTED PROGRAM ARGUMENT...
#
# Runs a test program, records its calls of the functions in LIST, and fails if there is a call that is
# neither in BASELINE (a report, or a folder of reports, of the main branch) nor in ACCEPTED (reviewed
# suppressions). Leaves audit.sonde, the next baseline, and audit.sarif for a code scanning service.
# Exit codes: 8 a new call, 7 it is not known whether a call is new, the program's own if it fails.
set -eu
list=$1 baseline=$2 accepted=$3
shift 3
sonde=${SONDE:-sonde}
"$sonde" run --record "$list" --report audit.sonde --tag gate=audit -- "$@"
[ -e "$accepted" ] || : >"$accepted"
if [ -e "$baseline" ]; then
    "$sonde" export --format sarif --fail-on note --baseline "$baseline" --suppress "$accepted" \
        --source-root "$PWD" audit.sonde >audit.sarif
else # the first run: what there is becomes the baseline
    "$sonde" export --format sarif --suppress "$accepted" --source-root "$PWD" audit.sonde >audit.sarif
fi
