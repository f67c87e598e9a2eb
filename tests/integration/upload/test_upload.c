// SPDX-License-Identifier: Apache-2.0
/* `sonde upload` with libcurl, against a server on loopback that fails in every way
 * (report_server.py). The server decodes bodies with Python's gzip and python3-zstandard. */
#include <stdio.h>
#include <string.h>

#include "upload.h"

TEST_TIMEOUT(a_folder_is_sent_and_emptied, 60)
{
    EXPECT("ok",
           REPORTS(3) "cp spool/*1T* one; $SONDE upload --to $URL spool; echo exit $?; "
                      "ls spool; cmp one srv/$($SONDE show --json one | sed -n "
                      "'s/.*\"report_id\": \"\\(.*\\)\".*/\\1/p').sonde && echo same",
           "20261121T164012Z-7.sonde  stored\n", "exit 0\nupload.lock\nsame\n", "stored: 3",
           "asked: 3");
}

TEST_TIMEOUT(a_file_is_sent_and_stays, 60)
{
    EXPECT("ok",
           REPORTS(1) "$SONDE upload --to $URL spool/*.sonde && $SONDE upload --to $URL "
                      "spool/*.sonde; ls spool; grep -o '\"new\": [a-z]*' srv/log",
           "stored\n", "20261121T164012Z-7.sonde\n", "\"new\": true\n\"new\": false\n", "stored: 1",
           "asked: 2");
}

/* Its writer has the file locked: a second later it has all of it, or it goes on. */
TEST_TIMEOUT(a_file_that_is_written_is_sent_when_it_is_whole, 60)
{
    EXPECT("ok",
           REPORTS(1) "mv spool/*.sonde one; head -c 100 one >part; "
                      "flock part sh -c 'sleep 1; cat one >part' & sleep 0.3; "
                      "$SONDE upload --to $URL part; echo exit $?; wait $!; "
                      "cmp one srv/*.sonde && echo whole",
           "stored\n", "exit 0\nwhole\n", "asked: 1");
    EXPECT("ok",
           REPORTS(1) "mv spool/*.sonde one; flock one sleep 40 & sleep 0.3; "
                      "$SONDE upload --to $URL one; echo exit $?; kill $!",
           "one: it is still written", "exit 1\n", "asked: 0");
}

TEST_TIMEOUT(the_request_is_as_the_protocol_says, 60)
{
    EXPECT("ok",
           REPORTS(1) "echo sesame >key; SONDE_UPLOAD_TO=$URL $SONDE upload --key-file key spool; "
                      "cat srv/log",
           "\"path\": \"/api/reports\"", "\"Content-Type\": \"application/x-sonde-report\"",
           "\"Content-Encoding\": \"zstd\"", "\"Sonde-Protocol\": \"1\"",
           "\"Authorization\": \"Bearer sesame\"", "\"Idempotency-Key\": \"\\\"",
           "\"User-Agent\": \"sonde/", "\"Accept\": \"application/json\"", "stored: 1");
}

/* After each failure: the exit status, the reason, and how many of two reports stay. */
TEST_TIMEOUT(failures_of_the_server_leave_the_reports, 180)
{
    static const struct {
        const char *mode, *why;
    } all[] = {
        {"301:Location:http://127.0.0.1:1/", "301: the address has moved"},
        {"401", "401: the server wants another key (not before 8 h)"},
        {"403", "403: "},
        {"404", "404: nothing takes reports at this address"},
        {"408", "408: "},
        {"429:Retry-After:77", "429: the server has had enough for now (not before 77 s)"},
        {"'503:Retry-After:Fri, 31 Dec 9999 23:59:59 GMT'", "(not before 24 h)"},
        {"500", "500: the server is in trouble (not before "},
        {"hotel", "perhaps a login page of the network"},
        {"half", "the connection ended before the answer did"},
        {"cut", "the connection ended before the answer did"},
        {"garbage", "the connection ended before the answer did"},
        {"headers", "the connection ended before the answer did"},
        {"lost", "the connection ended before the answer did"},
        {"hang", "no answer in time"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        EXPECT(all[i].mode,
               "[ -d made ] || { " REPORTS(
                   2) "mv spool made; }; rm -rf spool; cp -rp made spool; "
                      "$SONDE upload --timeout 1s --to $URL spool; echo exit $?; "
                      "ls spool | grep -c sonde; ls spool | grep -c upload$; "
                      "grep -h status spool/upload.state",
               all[i].why, "exit 1\n2\n1\nstatus ", "asked: 1");
    }
}

TEST_TIMEOUT(the_list_says_what_became_of_a_report, 60)
{
    EXPECT("400 500",
           REPORTS(2) "$SONDE upload --to $URL spool; $SONDE spool list spool; "
                      "$SONDE spool list --json spool",
           "; refused by http", ": 400: the server cannot read the report\n", "; not sent to http",
           " after 1 try, the next in ", ": 500: the server is in trouble\n",
           "\"state\": \"refused\"", "\"state\": \"waiting\"");
}

TEST_TIMEOUT(refused_for_good_is_not_asked_again, 60)
{
    EXPECT("400 413 415 ok",
           REPORTS(4) "$SONDE upload --to $URL spool; echo exit $?; $SONDE upload --to $URL spool; "
                      "echo exit $?; ls spool | grep -c sonde",
           "refused: 400: the server cannot read the report\n",
           "refused: 413: the report is too large for the server\n",
           "exit 1\nexit 0\n2\n", /* 415 refused zstd; gzip worked */
           "stored: 2", "asked: 5");
}

TEST_TIMEOUT(an_answer_without_end_is_not_read_to_its_end, 60)
{
    EXPECT("huge", REPORTS(1) "$SONDE upload --to $URL spool; echo exit $?", "stored\nexit 0\n",
           "stored: 1", "asked: 1");
}

TEST_TIMEOUT(other_codings_are_used_where_zstd_is_not_taken, 60)
{
    EXPECT("nozstd",
           REPORTS(1) "$SONDE upload --to $URL spool; grep -o 'Encoding\": \"[a-z]*' srv/log",
           "stored\n", "Encoding\": \"zstd\nEncoding\": \"gzip\n", "stored: 1", "asked: 2");
}

TEST_TIMEOUT(trouble_is_waited_out_where_there_is_time, 60)
{
    EXPECT("503:Retry-After:1 ok",
           REPORTS(1) "$SONDE upload --wait 30s --to $URL spool/*.sonde; echo exit $?",
           "later: 503: the server is in trouble (not before 1 s)\n", "stored\nexit 0\n",
           "stored: 1");
}

TEST_TIMEOUT(a_lost_answer_is_asked_for_again_and_counted_once, 60)
{
    EXPECT("lost ok",
           REPORTS(1) "$SONDE upload --to $URL spool; $SONDE upload --to $URL spool; ls spool | "
                      "grep -c sonde",
           "later: ", "stored\n0\n", "stored: 1", "asked: 2");
}

TEST_TIMEOUT(what_the_server_lacks_is_said, 60)
{
    EXPECT("need", REPORTS(1) "$SONDE upload --to $URL spool",
           "  the server lacks symbols of build-id 0123456789abcdef0123456789abcdef01234567\n");
}

TEST_TIMEOUT(nobody_there_leaves_all_as_it_is, 60)
{
    EXPECT(
        "ok",
        REPORTS(1) "kill $server; wait; $SONDE upload --to http://127.0.0.1:1 spool; echo exit $?; "
                   "cat spool/*.upload",
        "the server cannot be reached", "exit 1\n", "sonde-upload 1\nto http://127.0.0.1:1\n",
        "tries 1\n");
}

TEST_TIMEOUT(certificates_are_checked, 60)
{
    EXPECT("ok tls cert key.tls",
           REPORTS(
               1) "URL=https://localhost:$(cat port); $SONDE upload --to $URL spool; "
                  "ls spool | grep -c sonde; "
                  "SSL_CERT_FILE=$DIR/cert $SONDE upload --to https://127.0.0.1:$(cat port) spool; "
                  "SSL_CERT_FILE=$DIR/cert $SONDE upload --to $URL spool; echo exit $?",
           "the server's certificate is not trusted", "not trusted", "1\n", "stored\nexit 0\n",
           "stored: 1", "asked: 1");
}
