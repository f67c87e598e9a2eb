// SPDX-License-Identifier: Apache-2.0
/* Functions for the scripts of tests about privacy manifests. */
#ifndef SONDE_TEST_MANIFESTS_H
#define SONDE_TEST_MANIFESTS_H

#define PREFIX "NSPrivacyAccessedAPICategory"

/* `manifest FORMAT CATEGORY=REASONS…` makes the file m; `give BUILD NAME FILE` posts one and prints
 * the status. */
#define MANIFESTS                                                                                  \
    "manifest() { /usr/bin/python3 - \"$@\" <<'END'\n"                                             \
    "import plistlib, sys\n"                                                                       \
    "types = [{'NSPrivacyAccessedAPIType': '" PREFIX "' + name,\n"                                 \
    "          'NSPrivacyAccessedAPITypeReasons': reasons.split(',') if reasons else []}\n"        \
    "         for name, reasons in (a.split('=') for a in sys.argv[2:])]\n"                        \
    "plistlib.dump({'NSPrivacyAccessedAPITypes': types}, open('m', 'wb'),\n"                       \
    "              fmt=getattr(plistlib, 'FMT_' + sys.argv[1]))\n"                                 \
    "END\n}; [ -e write ] || $COLLECTOR key --data data add --role write >write; "                 \
    "api() { curl -s -o answer -w '%{http_code}\\n' -H \"Authorization: Bearer $(cat write)\" "    \
    "\"$@\"; }; "                                                                                  \
    "give() { api --data-binary @$3 $URL/api/projects/default/builds/$1/manifests/$2; }; "

#endif
