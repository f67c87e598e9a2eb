// SPDX-License-Identifier: Apache-2.0
/* What is an address, and what is posted where. The DSNs and their URLs are those that
 * dsnFromString() and getEnvelopeEndpointWithUrlEncodedAuth() of @sentry/core give. */
#include "upload_address.h"

#include <string.h>

#include "test.h"

static struct sonde__upload_address read_address(const char *text, const char *key)
{
    struct sonde__upload_address address;
    struct sonde_error error = {0};
    if (sonde__upload_address_read(text, key, &address, &error) != SONDE_OK) {
        FAIL("%s: %s", text, error.what);
    }
    return address;
}

TEST(a_url_is_that_of_a_collector)
{
    struct sonde__upload_address address = read_address("https://c.example", "k-1");
    CHECK_EQ(address.protocol, SONDE__UPLOAD_COLLECTOR);
    CHECK_STR(address.url, "https://c.example/api/reports");
    CHECK_STR(address.shown, "https://c.example");
    CHECK_STR(address.key, "k-1");
    CHECK(!address.is_plain && !address.is_here);
    address = read_address("http://127.0.0.1:8080/a/b//", NULL);
    CHECK_STR(address.url, "http://127.0.0.1:8080/a/b/api/reports");
    CHECK_STR(address.key, "");
    CHECK(address.is_plain && address.is_here);
    address = read_address("http://[::1]:9", NULL);
    CHECK_STR(address.url, "http://[::1]:9/api/reports");
    CHECK(address.is_here);
}

TEST(a_url_with_a_user_is_a_dsn)
{
    struct sonde__upload_address address = read_address("https://abc@o1.ingest.example/42", NULL);
    CHECK_EQ(address.protocol, SONDE__UPLOAD_SENTRY);
    CHECK_STR(address.url, "https://o1.ingest.example/api/42/envelope/");
    CHECK_STR(address.key, "abc");
    CHECK_STR(address.shown, "https://o1.ingest.example/42");
    address = read_address("http://abc:old-secret@localhost:9000/prefix/sub/7/", NULL);
    CHECK_STR(address.url, "http://localhost:9000/prefix/sub/api/7/envelope/");
    CHECK_STR(address.key, "abc");
    CHECK(strstr(address.shown, "secret") == NULL);
}

TEST(other_machines_are_not_taken_for_this_one)
{
    static const char *const others[] = {"http://127.0.0.1.example.org",
                                         "http://127.example.org",
                                         "http://localhost.example.org",
                                         "http://127.1",
                                         "http://128.0.0.1",
                                         "http://[::2]"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        CHECK(!read_address(others[i], NULL).is_here);
    }
}

TEST(what_cannot_be_an_address_is_refused)
{
    static const struct {
        const char *text, *key, *why;
    } bad[] = {
        {"", NULL, "begins with"},
        {"ftp://c.example", NULL, "begins with"},
        {"c.example", NULL, "begins with"},
        {"https://", NULL, "no host"},
        {"https:///path", NULL, "no host"},
        {"https://c.example:0", NULL, "no host"},
        {"https://c.example:65536", NULL, "no host"},
        {"https://c.example:8x", NULL, "no host"},
        {"https://c.example:", NULL, "no host"},
        {"https://c ex", NULL, "no host"},
        {"https://c.example\r\nX: y", NULL, "no host"},
        {"https://[::1", NULL, "no host"},
        {"https://[::1]x", NULL, "no host"},
        {"https://c.example/?q=1", NULL, "a query"},
        {"https://c.example/#f", NULL, "a query"},
        {"https://c.example/a b", NULL, "a query"},
        {"https://c.example/\x01", NULL, "a query"},
        {"https://c.example/", "a b", "the key"},
        {"https://c.example/", "a\r\nX: y", "the key"},
        {"https://@c.example/1", NULL, "no key of a DSN"},
        {"https://k@c.example/", NULL, "the id of a project"},
        {"https://k@c.example", NULL, "the id of a project"},
        {"https://k@c.example/1", "other", "before @"},
        {"https://k@@c.example/1", NULL, "no host"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sonde__upload_address address;
        struct sonde_error error = {0};
        if (sonde__upload_address_read(bad[i].text, bad[i].key, &address, &error) != SONDE_USAGE) {
            FAIL("taken: %s", bad[i].text);
        }
        CHECK_CONTAINS(error.what, bad[i].why);
    }
}

TEST(the_longest_addresses_fit_and_longer_ones_are_refused)
{
    char text[SONDE__UPLOAD_URL_MAX + 8];
    struct sonde__upload_address address;
    memset(text, 'a', sizeof text);
    memcpy(text, "https://k@h/", 12);
    text[SONDE__UPLOAD_URL_MAX - 1] = '\0';
    CHECK_OK(sonde__upload_address_read(text, NULL, &address, NULL));
    CHECK_CONTAINS(address.url, "aaa/envelope/");
    text[SONDE__UPLOAD_URL_MAX - 1] = 'a';
    text[SONDE__UPLOAD_URL_MAX] = '\0';
    CHECK_EQ(sonde__upload_address_read(text, NULL, &address, NULL), SONDE_USAGE);
}
