// SPDX-License-Identifier: Apache-2.0
/* Detached senders, several senders at once, and obstacles. */
#include <stdio.h>
#include <string.h>

#include "upload.h"

#define STALL "$TURNS sleep:300 idle:10"
/* Wait until the server has that many reports. */
#define AWAIT(count)                                                                               \
    "for i in $(seq 400); do [ $(ls srv | grep -c sonde) -ge " #count                              \
    " ] && break; sleep 0.05; done; "

TEST_TIMEOUT(a_run_sends_what_it_left_and_what_was_there, 90)
{
    EXPECT("ok",
           REPORTS(1) "$SONDE run --spool $DIR/spool --upload $URL -- $LOOP " STALL " >out 2>&1; "
                      "echo exit $?; " AWAIT(2) "sleep 0.2; "
                                                "grep -o -m1 'watched 1 loop' out",
           "exit 0\nwatched 1 loop\n", "stored: 2", "asked: 2");
}

/* The server never answers: the run ends, its output ends, and the next run is not delayed. */
TEST_TIMEOUT(nothing_waits_for_the_sender, 90)
{
    EXPECT("hang ok",
           "$SONDE run --spool $DIR/spool --upload $URL -- $LOOP " STALL " 2>&1 | cat >out; "
           "for i in $(seq 400); do [ -s srv/log ] && break; sleep 0.05; done; cat spool/*.upload; "
           "$SONDE run --spool $DIR/spool --upload $URL -- $LOOP " STALL " 2>&1 | cat >out; "
           "ls spool | grep -c sonde",
           "why the sender ended before the answer came\n", "2\n", "stored: 0");
}

TEST_TIMEOUT(a_run_says_that_former_senders_could_not_send, 90)
{
    EXPECT(
        "401",
        REPORTS(1) "$SONDE upload --to $URL spool; "
                   "$SONDE run --spool $DIR/spool --upload $URL -- true; "
                   "$SONDE run --spool $DIR/spool --upload http://c.example -- true; echo exit $?; "
                   "$SONDE run --upload $URL -- true; echo exit $?; "
                   "$SONDE run --spool $DIR/spool --upload ftp://c.example -- true",
        "reports wait there to be sent: 401: the server wants another key (1 tries)\n",
        "http:// to another machine can be read on the way", "exit 125\n", "--upload needs --spool",
        "exit 2\n", "begins with https:// or http://");
}

TEST_TIMEOUT(two_senders_at_once_send_each_report_once, 90)
{
    EXPECT("late",
           REPORTS(3) "$SONDE upload --to $URL spool >one 2>&1 & first=$!; "
                      "for i in $(seq 400); do [ -s srv/log ] && break; sleep 0.05; done; "
                      "$SONDE upload --to $URL spool; echo exit $?; wait $first; echo exit $?",
           "another sender is at work in the folder\n", "exit 1\nexit 0\n", "stored: 3",
           "asked: 3");
}

TEST_TIMEOUT(a_sender_that_is_killed_leaves_all_to_the_next, 90)
{
    EXPECT(
        "hang ok",
        REPORTS(
            2) "$SONDE upload --to $URL spool >one 2>&1 & first=$!; "
               "for i in $(seq 400); do [ -s srv/log ] && break; sleep 0.05; done; kill -9 $first; "
               "wait $first; "
               "ls spool | grep -c sonde; grep tries spool/*.upload; $SONDE upload --to "
               "$URL spool; "
               "ls spool | grep -c -e sonde -e upload$",
        "2\n", "tries 1\n", "stored\n", "\n0\n", "stored: 2", "asked: 3");
}

/* A file system with room for the reports only: sending them makes room. */
TEST_TIMEOUT(a_full_disk_keeps_nothing_from_being_sent, 90)
{
    EXPECT(
        "503 ok",
        REPORTS(2) "cat >full.sh <<'END'\nmount -t tmpfs -o size=96k,mode=700 none full && "
                   "cp -p spool/* full && touch full/upload.lock && chmod 600 full/upload.lock && "
                   "cat /dev/zero >full/other 2>full.err; "
                   "$SONDE upload --to $1 full; ls full; $SONDE upload --to $1 full; ls full\nEND\n"
                   "mkdir -m 700 full; unshare -m --propagation private sh full.sh $URL || echo "
                   "none; cat full.err",
        "later: 503", "20261121T164012Z-7.sonde  stored\n", "20261122T164012Z-7.sonde  stored\n",
        "No space left", "stored: 2", "asked: 3");
}

/* NetworkManager on a bus of our own (python3-dbusmock), asked about another machine. */
TEST_TIMEOUT(a_metered_network_is_asked_of_networkmanager, 90)
{
    static const char mock[] =
        "import dbusmock, dbus, subprocess, sys\n"
        "bus = dbus.bus.BusConnection(sys.argv[1])\n"
        "name = 'org.freedesktop.NetworkManager'\n"
        "p = subprocess.Popen([sys.executable, '-m', 'dbusmock', '--session', name, "
        "'/org/freedesktop/NetworkManager', name])\n"
        "while not bus.name_has_owner(name): pass\n"
        "o = dbus.Interface(bus.get_object(name, '/org/freedesktop/NetworkManager'), "
        "dbusmock.MOCK_IFACE)\n"
        "o.AddProperty(name, 'Metered', dbus.UInt32(int(sys.argv[2])))\n"
        "print('ready', p.pid, flush=True)\n";
    struct test_run run = shell("/usr/bin/python3 -c 'import dbusmock, dbus' && which dbus-daemon "
                                "&& ls /usr/lib/*/libsystemd.so.0 /lib/*/libsystemd.so.0");
    if (strstr(run.out, "libsystemd") == NULL || strstr(run.out, "dbus-daemon") == NULL) {
        SKIP("no python3-dbusmock, dbus-daemon or libsystemd");
    }
    test_run_done(&run);
    char path[600];
    snprintf(path, sizeof path, "%s/mock.py", test_folder());
    test_write_file(path, mock, sizeof mock - 1);
    EXPECT("ok",
           REPORTS(
               1) "dbus-daemon --session --nofork --address=unix:path=$DIR/bus & daemon=$!; "
                  "until [ -S bus ]; do sleep 0.05; done; "
                  "export DBUS_SESSION_BUS_ADDRESS=unix:path=$DIR/bus "
                  "DBUS_SYSTEM_BUS_ADDRESS=unix:path=$DIR/bus; "
                  "OTHER='--plain-http --timeout 1s --to http://192.0.2.1'; "
                  "for state in 0 1 2 3 4; do "
                  "  /usr/bin/python3 mock.py $DBUS_SESSION_BUS_ADDRESS $state >mock.out & "
                  "  until grep -q ready mock.out 2>/dev/null; do sleep 0.05; done; "
                  "  echo state $state: $($SONDE upload $OTHER spool 2>&1 | grep -o -e 'server "
                  "cannot be reached'"
                  "  -e 'nothing was sent: the network is metered' -e 'not known whether'); "
                  "  kill $(grep ready mock.out | cut -d' ' -f2); wait $!; rm mock.out; sleep 0.2; "
                  "done; $SONDE upload --policy always $OTHER spool; $SONDE upload --policy "
                  "never $OTHER spool; "
                  "$SONDE upload --to $URL spool; kill $daemon",
           /* 1 is metered, 3 probably */
           "state 0: server cannot be reached not known whether\n",
           "state 1: nothing was sent: the network is metered",
           "state 2: server cannot be reached\n",
           "state 3: nothing was sent: the network is metered\n",
           "state 4: server cannot be reached\n", "sonde  later: ", "the policy is never to send",
           "stored\n", "stored: 1");
}

/* Without a system bus nobody knows. The network then counts as not metered, and that is said once;
 * not where it makes no difference. */
TEST_TIMEOUT(an_unknown_network_is_reported, 90)
{
    EXPECT("ok",
           REPORTS(1) "export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$DIR/none; "
                      "OTHER='--plain-http --timeout 1s --to http://192.0.2.1'; "
                      "for more in '--wait 1s' '--policy always' --quiet; do "
                      "  echo $more: $($SONDE upload $OTHER $more spool 2>&1 | grep -c 'it is not "
                      "known whether the network is metered (NetworkManager does not say), so it "
                      "counts as not metered'); "
                      "done; cp spool/*.sonde one.sonde; "
                      "echo file: $($SONDE upload $OTHER one.sonde 2>&1 | grep -c 'not known'); "
                      "echo here: $($SONDE upload --to $URL spool 2>&1 | grep -c 'not known'); "
                      "echo empty: $($SONDE upload $OTHER spool 2>&1 | grep -c 'not known')",
           "--wait 1s: 1\n", "--policy always: 0\n", "--quiet: 0\n", "file: 1\n", "here: 0\n",
           "empty: 0\n", "stored: 1");
}
