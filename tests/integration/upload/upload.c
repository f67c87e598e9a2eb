// SPDX-License-Identifier: Apache-2.0
#include "upload.h"

#include <stdio.h>
#include <string.h>

static void need_transport(void)
{
    struct test_run run = shell("[ -e $(dirname $SONDE)/../upload/libsonde-upload.so.0 ] && "
                                "/usr/bin/python3 -c 'import zstandard'");
    if (run.status != 0) {
        SKIP("no libsonde-upload.so, or no python3-zstandard");
    }
    test_run_done(&run);
}

static const char make_certificate[] =
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.tls "
    "-out cert -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null; ";

struct test_run with_server(const char *modes, const char *line)
{
    char whole[8192];
    need_transport();
    snprintf(whole, sizeof whole,
             "cd $DIR && unset SONDE_UPLOAD_TO SONDE_UPLOAD_KEY http_proxy; "
             "LOOP=%s/tests/integration/run/run_loop; TURNS=$(yes idle:20 | head -12 | xargs); rm "
             "-rf port srv; %s"
             "{ /usr/bin/python3 %s/tests/integration/upload/report_server.py srv %s >port & } && "
             "server=$! && until [ -s port ]; do sleep 0.05; done; "
             "URL=http://127.0.0.1:$(cat port); DSN=http://abc@127.0.0.1:$(cat port)/3; "
             "{ %s; } 2>&1; kill $server; "
             "echo stored: $(ls srv | grep -c -e '\\.sonde$' -e '\\.envelope$'); "
             "echo asked: $(cat srv/log 2>/dev/null | wc -l)",
             test_build_dir(), strstr(modes, " tls ") != NULL ? make_certificate : "",
             test_source_dir(), modes, line);
    return shell(whole);
}

void expect_parts(const char *modes, const char *line, const char *const parts[])
{
    struct test_run run = with_server(modes, line);
    for (; *parts != NULL; parts++) {
        if (strstr(run.out, *parts) == NULL) {
            FAIL("no \"%s\" in: %s%s", *parts, run.out, run.err);
        }
    }
    test_run_done(&run);
}
