#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A step of a CI job after the build: upload the symbols of what was built to a collector. Only what
# it lacks is sent, so a step that runs again sends nothing.
#
#     SONDE_UPLOAD_TO    the collector: https://collector.example/
#     SONDE_UPLOAD_KEY   a key with the role write, from the job's secrets
#     upload-symbols.sh FOLDER...
#
# Programs may be stripped afterwards, for the package: the build-id stays.
set -eu
if [ -z "${SONDE_UPLOAD_TO:-}" ]; then
    echo "upload-symbols: no SONDE_UPLOAD_TO: nothing is sent"
    exit 0
fi
exec sonde upload --policy always --symbols "$@"
