// SPDX-License-Identifier: Apache-2.0
/* Rules against texts as reports have them. Each text is scrubbed twice: the second time changes
 * nothing. */
#include <stdio.h>
#include <string.h>

#include "scrub.h"
#include "test.h"

struct pair {
    const char *text, *scrubbed; /* null: as it is */
};

static void check(const struct sonde__scrub_rules *rules, const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char once[512], twice[512];
        struct sonde__text text;
        const char *wanted = pairs[i].scrubbed != NULL ? pairs[i].scrubbed : pairs[i].text;
        sonde__base_text_init(&text, once, sizeof once);
        sonde__scrub(rules, pairs[i].text, strlen(pairs[i].text), &text);
        CHECK_STR(once, wanted);
        sonde__base_text_init(&text, twice, sizeof twice);
        sonde__scrub(rules, once, strlen(once), &text);
        CHECK_STR(twice, wanted);
    }
}
#define CHECK_PAIRS(rules, pairs) check(rules, pairs, sizeof(pairs) / sizeof *(pairs))

static struct sonde__scrub_rules rules;

static void add(const char *rule)
{
    CHECK(sonde__scrub_add(&rules, rule, strlen(rule)) == NULL);
}

TEST(scrub_home_folders_and_users)
{
    static const struct pair pairs[] = {
        {"/home/kim/app/server", "~/app/server"},
        {"fd 7 /home/kim/x, locked by process 12 (/home/lee/bin/x)",
         "fd 7 ~/x, locked by process 12 (~/bin/x)"},
        {"/srv/people/kim/x", "~/x"},
        {"/srv/people/kimberly/x", NULL},
        {"/srv/people/kim", "~"},
        {"/root/.cache", "~/.cache"},
        {"/rootfs/x", NULL},
        {"/Users/kim/x.m", "~/x.m"},
        {"/proc/7/root/home/kim/x", "/proc/7/root/home/<user>/x"},
        {"file:///home/kim/x", "file://~/x"},
        {"--file=/home/kim/x", "--file=~/x"},
        {"/home", NULL},
        {"/home/", NULL},
        {"/usr/lib/libhome.so", NULL},
        {"/run/user/1000/bus", "/run/user/<uid>/bus"},
        {"/var/mail/kim/new", "/var/mail/<user>/new"},
        {"ssh kim@host", "ssh <user>@host"},
        {"kimono", NULL},
        {"/usr/bin/kim", NULL}, /* a program of the same name */
        {"/tmp/kim-1000/x", NULL},
    };
    sonde__scrub_init(&rules);
    sonde__scrub_set_home(&rules, "/srv/people/kim/");
    sonde__scrub_add_name(&rules, "kim");
    sonde__scrub_add_name(&rules, "root");
    sonde__scrub_add_name(&rules, "");
    CHECK_EQ(rules.name_count, 1);
    CHECK_PAIRS(&rules, pairs);
}

TEST(scrub_secrets_in_all_forms)
{
    static const struct pair pairs[] = {
        {"child process 7 (curl --password=hunter2 x)", "child process 7 (curl --password=*** x)"},
        {"child process 7 (curl --password=hunter2), of process 5",
         "child process 7 (curl --password=***), of process 5"},
        {"mysql --password hunter2 db", "mysql --password *** db"},
        {"mysql --password 'hunter 2' db", "mysql --password '***' db"},
        {"mysql '--password=hunter 2' db", "mysql '--password=***' db"},
        {"mysql '--password=hunter 2", "mysql '--password=***"}, /* cut */
        {"--password --verbose", NULL},
        {"DB_PASSWORD=x AWS_SECRET_ACCESS_KEY=y PGPASSWORD=z",
         "DB_PASSWORD=*** AWS_SECRET_ACCESS_KEY=*** PGPASSWORD=***"},
        {"--api-key=1 --apiKey=2 --access_token 3",
         "--api-key=*** --apiKey=*** --access_token ***"},
        {"curl -H 'Authorization: Bearer abc' x", "curl -H 'Authorization: Bearer ***' x"},
        {"Authorization: Basic dXNlcg==", "Authorization: Basic ***"},
        {"Authorization: opaque", "Authorization: ***"},
        {"Cookie: a=b", "Cookie: ***"},
        {"{\"password\":\"hun\\\"ter\",\"x\":1}", "{\"password\":\"***\",\"x\":1}"},
        {"{\"token\": \"abc\"}", "{\"token\": \"***\"}"},
        {"postgres://app:hunter2@db/x", "postgres://***@db/x"},
        {"git clone https://tok@host/x", "git clone https://***@host/x"},
        {"http://host/a@b", NULL},
        {"--tokenizer=fast", NULL},
        {"--passes=3", NULL},
        {"--compass=3", NULL},
        {"ghp_0123456789abcdefABCDEF", "***"},
        {"AKIA0123456789ABCDEF", "***"},
        {"eyJhbGciOiJIUzI1NiJ9.e30.abc-_", "***"},
        {"sk-short", NULL},
        /* names of functions stay */
        {"-[Login signInWithPassword:token:]", NULL},
        {"__44-[Login setToken:]_block_invoke", NULL},
        {"_ZN4auth5tokenE", NULL},
        {"auth::token", NULL},
        {"operator==", NULL},
    };
    sonde__scrub_init(&rules);
    CHECK_PAIRS(&rules, pairs);
}

TEST(scrub_queries_of_urls)
{
    static const struct pair pairs[] = {
        {"curl http://host/a?id=7&name=kim x", "curl http://host/a?*** x"},
        {"(curl http://host/a?id=7)", "(curl http://host/a?***)"},
        {"/var/cache/a?id=7#top", "/var/cache/a?***#top"},
        {"what?", NULL},
        {"a ? b = c", NULL},
    };
    sonde__scrub_init(&rules);
    CHECK_PAIRS(&rules, pairs);
}

TEST(scrub_addresses_peers_and_arguments_on_request)
{
    static const char socket[] =
        "fd 9 tcp 10.0.0.7:40112 to 93.184.216.34:5432, peer process 812 (postgres -D /x)";
    static const struct pair defaults[] = {{socket, NULL}, {"process 7 (curl -v x)", NULL}};
    static const struct pair ip[] = {
        {socket, "fd 9 tcp <ip>:40112 to <ip>:5432, peer process 812 (postgres -D /x)"},
        {"tcp 127.0.0.1:80 to 127.0.0.1:90", NULL},
        {"tcp [::1]:80", NULL},
        {"tcp [2001:db8::7]:80 to [fe80::1]:81", "tcp [<ip>]:80 to [<ip>]:81"},
        {"version 1.2.3.4.5", NULL},
        {"1.2.3.400", NULL},
        {"libx-10.0.0.7.so", NULL},
        {"std::vector<int>::size", NULL},
        {"abc::def::bed", NULL},
        {"tcp [face::dead:beef]:80", "tcp [<ip>]:80"},
        {"14:05:17", NULL},
    };
    static const struct pair peers[] = {
        {socket, "fd 9 tcp 10.0.0.7:40112 to <peer>, peer process 812 (<peer>)"},
        {"fd 9 unix to /run/x.sock, no answer yet", "fd 9 unix to <peer>, no answer yet"},
        {"rename /a to /b", NULL},
    };
    static const struct pair arguments[] = {
        {"child process 7 (curl -v x), of process 5",
         "child process 7 (curl \xe2\x80\xa6), of process 5"},
        {"child process 7 (/home/kim/a -v)", "child process 7 (~/a \xe2\x80\xa6)"},
        {"any of 2 children: process 7 (a), process 8 (b c)",
         "any of 2 children: process 7 (a), process 8 (b \xe2\x80\xa6)"},
        {"process 7 (sh -c 'a(b)'", "process 7 (sh \xe2\x80\xa6)"}, /* cut */
        {"process 7 (sleep)", NULL},
    };
    sonde__scrub_init(&rules);
    CHECK_PAIRS(&rules, defaults);
    add("ip");
    CHECK_PAIRS(&rules, ip);
    add("-ip");
    add("peers");
    CHECK_PAIRS(&rules, peers);
    add("-peers");
    add("arguments");
    CHECK_PAIRS(&rules, arguments);
}

TEST(scrub_texts_of_the_users_own)
{
    static const struct pair pairs[] = {
        {"/srv/acme/x", "<srv>/x"},
        {"/srv/acmeus/x", NULL},
        {"project bluebird-2", "project ***-2"},
        {"/data/x", "<path>/x"},
    };
    static const struct pair none[] = {{"/home/kim --password=x", NULL}};
    sonde__scrub_init(&rules);
    add("path:/srv/acme=<srv>");
    add("text:bluebird");
    add("path:/data/");
    CHECK_PAIRS(&rules, pairs);
    sonde__scrub_init(&rules);
    add("none");
    CHECK_PAIRS(&rules, none);
}

TEST(scrub_rules_that_are_wrong_are_refused)
{
    static const char *const wrong[] = {"",          "-",   "nothing",   "text:", "text:ab",
                                        "path:data", "ips", "-text:abc", "home:x"};
    sonde__scrub_init(&rules);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(sonde__scrub_add(&rules, wrong[i], strlen(wrong[i])) != NULL);
    }
    CHECK_EQ(rules.on, SONDE__SCRUB_DEFAULT);
    CHECK_EQ(rules.text_count, 0);
    for (unsigned i = 0; i < SONDE__SCRUB_TEXTS_MAX; i++) {
        add("text:abc");
    }
    CHECK(sonde__scrub_add(&rules, "text:abc", 8) != NULL);
}

/* What a followed program's watch is given. */
TEST(scrub_rules_are_written_and_read)
{
    static struct sonde__scrub_rules again;
    char text[4096];
    struct sonde__text list;
    sonde__scrub_init(&rules);
    sonde__scrub_set_home(&rules, "/srv/kim");
    sonde__scrub_add_name(&rules, "kim");
    add("ip");
    add("-queries");
    add("text:a,b");
    add("path:/x/y=");
    sonde__base_text_init(&list, text, sizeof text);
    sonde__scrub_write(&rules, &list);
    sonde__scrub_init(&again);
    for (const char *at = text; *at != '\0';) {
        size_t size = strcspn(at, "\n");
        CHECK(sonde__scrub_add(&again, at, size) == NULL);
        at += size + 1;
    }
    CHECK(memcmp(&rules, &again, sizeof rules) == 0);
}

TEST(scrub_output_is_bounded)
{
    static char text[65536], out[1024];
    struct sonde__text scrubbed;
    memset(text, '/', sizeof text);
    sonde__scrub_init(&rules);
    add("all");
    sonde__base_text_init(&scrubbed, out, sizeof out);
    sonde__scrub(&rules, text, sizeof text, &scrubbed);
    CHECK(scrubbed.cut);
    CHECK_EQ(scrubbed.length, sizeof out - 1);
}
