// SPDX-License-Identifier: Apache-2.0
/* libcrypto: its assembler keeps the CFA in other registers than rsp and rbp, and describes it by
 * expressions. Called by hand, for its headers are not needed for more. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "victim.h"

typedef unsigned char *hash(const unsigned char *data, size_t size, unsigned char *result);
typedef const void *cipher(void);

static void *library;

static void *find(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        exit(2);
    }
    return found;
}

NOINLINE static void hashes(const unsigned char *data, size_t size)
{
    static const char *const names[] = {"SHA1", "SHA256", "SHA512", "MD5"};
    unsigned char result[64];
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        hash *function = NULL;
        *(void **)&function = find(names[i]);
        (void)function(data, size, result);
    }
}

NOINLINE static void ciphers(const unsigned char *data, int size)
{
    static const char *const names[] = {"EVP_aes_128_cbc", "EVP_aes_256_ctr", "EVP_aes_128_gcm",
                                        "EVP_chacha20_poly1305"};
    static const unsigned char key[32] = "key";
    static unsigned char out[4096];
    void *(*make)(void) = NULL;
    void (*drop)(void *) = NULL;
    int (*init)(void *, const void *, void *, const unsigned char *, const unsigned char *) = NULL;
    int (*update)(void *, unsigned char *, int *, const unsigned char *, int) = NULL;
    int (*final)(void *, unsigned char *, int *) = NULL;
    *(void **)&make = find("EVP_CIPHER_CTX_new");
    *(void **)&drop = find("EVP_CIPHER_CTX_free");
    *(void **)&init = find("EVP_EncryptInit_ex");
    *(void **)&update = find("EVP_EncryptUpdate");
    *(void **)&final = find("EVP_EncryptFinal_ex");
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        cipher *function = NULL;
        int got = 0;
        void *context = make();
        *(void **)&function = find(names[i]);
        (void)init(context, function(), NULL, key, key);
        (void)update(context, out, &got, data, size);
        (void) final(context, out, &got);
        drop(context);
    }
}

NOINLINE static void numbers(void)
{
    void *(*make)(void) = NULL;
    void *(*make_context)(void) = NULL;
    int (*set)(void *, unsigned long) = NULL;
    int (*shift)(void *, const void *, int) = NULL;
    int (*add)(void *, unsigned long) = NULL;
    int (*power)(void *, const void *, const void *, const void *, void *) = NULL;
    int (*power_const)(void *, const void *, const void *, const void *, void *, void *) = NULL;
    *(void **)&make = find("BN_new");
    *(void **)&make_context = find("BN_CTX_new");
    *(void **)&set = find("BN_set_word");
    *(void **)&shift = find("BN_lshift");
    *(void **)&add = find("BN_add_word");
    *(void **)&power = find("BN_mod_exp");
    *(void **)&power_const = find("BN_mod_exp_mont_consttime");
    void *context = make_context();
    void *base = make();
    void *exponent = make();
    void *modulus = make();
    void *result = make();
    (void)set(base, 123456789);
    (void)set(exponent, 0x10001);
    (void)set(modulus, 1);
    (void)shift(modulus, modulus, 1023);
    (void)add(modulus, 0x123457);
    (void)power(result, base, exponent, modulus, context);
    (void)power_const(result, base, exponent, modulus, context, NULL);
}

NOINLINE static void curves(void)
{
    void *(*make)(int) = NULL;
    int (*generate)(void *) = NULL;
    void (*drop)(void *) = NULL;
    *(void **)&make = find("EC_KEY_new_by_curve_name");
    *(void **)&generate = find("EC_KEY_generate_key");
    *(void **)&drop = find("EC_KEY_free");
    void *key = make(415); /* prime256v1 */
    (void)generate(key);
    drop(key);
}

int main(int argc, char **argv)
{
    static unsigned char data[1024];
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    (void)argv;
    library = dlopen("libcrypto.so.3", RTLD_LAZY);
    if (library == NULL) {
        return 2;
    }
    memset(data, 'x', sizeof data);
    hashes(data, 1); /* what it sets up at its first use is done */
    ciphers(data, 16);
    if (argc > 2) {
        MARK();
    }
    for (unsigned i = 0; i < rounds; i++) {
        hashes(data, sizeof data - i % 64);
        ciphers(data, sizeof data - 64);
        numbers();
        curves();
    }
    return 0;
}
