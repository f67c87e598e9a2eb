#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A run script phase of Xcode, after all others: uploads the dSYMs of the build to a collector.
# "Debug Information Format" must be "DWARF with dSYM File"; input file of the phase:
#
#     ${DWARF_DSYM_FOLDER_PATH}/${DWARF_DSYM_FILE_NAME}/Contents/Resources/DWARF/${TARGET_NAME}
#
# SONDE_UPLOAD_TO and SONDE_UPLOAD_KEY are build settings, or in the environment. Debug builds send
# nothing. A failure is a warning: the app was built.
set -u
if [ "${CONFIGURATION:-}" = Debug ] || [ -z "${SONDE_UPLOAD_TO:-}" ]; then
    exit 0
fi
if [ "${DEBUG_INFORMATION_FORMAT:-}" != dwarf-with-dsym ]; then
    echo "warning: sonde: no dSYM is made: set DEBUG_INFORMATION_FORMAT to dwarf-with-dsym"
    exit 0
fi
PATH="/opt/homebrew/bin:/usr/local/bin:$PATH"
if ! command -v sonde >/dev/null; then
    echo "warning: sonde: it is not installed: the symbols are not uploaded"
    exit 0
fi
sonde upload --policy always --symbols "$DWARF_DSYM_FOLDER_PATH" || echo "warning: sonde: the symbols are not uploaded"
exit 0
