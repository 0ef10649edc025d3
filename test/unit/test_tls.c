/* test_tls.c -- a server with a certificate: handshakes of all kinds, what is refused, slow readers,
 * and a pair that is renewed. What connections do otherwise is the same by both roads: PARLEY_TLS=1
 * runs test_conn*.c, test_stream.c, test_wsconn.c and test_net_chaos.c by this one. */
#include "net_peer.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define STREAM "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"

static struct tls_files files;

static void tls_up(const struct net_limits *l)
{
    files = tls_files_make("own", "localhost", 90);
    net.tls = &files;
    net_up(l);
}

/* Whom the server shows. */
static void check_shown(struct peer *p, const char *name)
{
    char  text[100] = "";
    X509 *x = SSL_get1_peer_certificate(p->ssl);

    X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, text, sizeof text);
    X509_free(x);
    CHECK_STR(str_c(text), name);
}

static void tell(const char *text)
{
    buf_lit(&net.spring.text, text);
    source_wake(&net.spring.source);
}

/* --- handshakes --------------------------------------------------------------------------- */

TEST(a_request_by_tls_is_answered_and_the_connection_goes_on)
{
    tls_up(NULL);
    struct peer *p = peer_ask(HELLO HELLO);
    net_until(peer_count(p, "\r\n\r\nhi") == 2);
    CHECK(SSL_version(p->ssl) == TLS1_3_VERSION && conn_is_secure(net_conn()));
    peer_say(p, HELLO);
    net_until(peer_count(p, "\r\n\r\nhi") == 3);
    check_shown(p, "localhost");
    net_down();
}

/* The client's bytes one at a time, each in a turn of its own. */
static void pump(SSL *ssl, struct peer *raw, const char *text)
{
    BIO *in = SSL_get_rbio(ssl), *out = SSL_get_wbio(ssl);
    char byte, bytes[4096];

    while (!str_find(buf_view(&raw->got), STR("never")) || !SSL_is_init_finished(ssl)) {
        int n = SSL_do_handshake(ssl);
        while (BIO_read(out, &byte, 1) == 1) {
            peer_send(raw, &byte, 1);
            net_turn();
        }
        if (n == 1) break;
        net_until(raw->got.len);
        BIO_write(in, raw->got.ptr, (int)raw->got.len);
        peer_forget(raw);
    }
    SSL_write(ssl, text, (int)strlen(text));
    for (int n; (n = BIO_read(out, bytes, 1)) > 0; net_turn()) peer_send(raw, bytes, 1);
}

TEST(a_handshake_that_drips_in_byte_by_byte_is_one)
{
    tls_up(NULL);
    struct peer *raw = peer_plain();
    SSL         *ssl = tls_client(raw->fd);
    struct buf   got = { 0 };
    char         bytes[4096];
    int          n;

    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    pump(ssl, raw, HELLO);
    while (str_find(buf_view(&got), STR("\r\n\r\nhi")) < 0) {
        net_until(raw->got.len);
        BIO_write(SSL_get_rbio(ssl), raw->got.ptr, (int)raw->got.len);
        peer_forget(raw);
        while ((n = SSL_read(ssl, bytes, sizeof bytes)) > 0) buf_add(&got, bytes, (size_t)n);
    }
    buf_done(&got);
    SSL_free(ssl);
    net_down();
}

TEST(who_speaks_http_is_told_to_say_https)
{
    tls_up(NULL);
    struct peer *p = peer_plain();
    peer_say(p, HELLO);
    net_until(p->eof);
    CHECK(peer_has(p, "HTTP/1.1 400 ") && peer_has(p, "text/plain") &&
          peer_has(p, "write https:// in front of it") && net.guarded == 0);
    net_down();
}

TEST(who_speaks_neither_is_closed)
{
    tls_up(NULL);
    struct peer *p = peer_plain(), *q = peer_plain();
    peer_send(p, "\x01\x02\x03\x04\x05\x06", 6);
    net_until(p->eof);
    CHECK(p->got.len == 0);
    /* like a hello, and then not: an alert says so */
    peer_send(q, "\x16\x03\x01\x00\x05junk!", 10);
    net_until(q->eof);
    CHECK(q->got.len == 7 && q->got.ptr[0] == 0x15 && net.guarded == 0);
    net_down();
}

TEST(a_silent_connection_costs_its_socket_and_not_for_long)
{
    struct net_limits l = net_short();
    l.idle_ms = 1000000;
    tls_up(&l);
    struct peer *p = peer_plain();
    net_until(server_connections(net.server) == 1);
    CHECK(!net_conn()->tls);
    net_until(p->eof);
    CHECK(p->got.len == 0 && server_connections(net.server) == 0);
    net_down();
}

TEST(a_handshake_that_is_not_finished_is_given_a_heads_time)
{
    struct net_limits l = net_short();
    l.idle_ms = 1000000;
    tls_up(&l);
    struct peer *p = peer_plain();
    peer_send(p, "\x16\x03\x01\x02\x00\x01\x00", 7); /* and 507 bytes more, never */
    net_until(net_conn() && net_conn()->tls);
    net_until(p->eof);
    CHECK(server_connections(net.server) == 0);
    net_down();
}

TEST(a_cut_handshake_leaves_nothing)
{
    tls_up(NULL);
    for (int i = 0; i < 3; i++) {
        struct peer *p = peer_plain();
        peer_send(p, "\x16\x03\x01\x02\x00\x01\x00", 7);
        net_until(net_conn() && net_conn()->tls);
        if (i == 0) peer_close(p);
        else if (i == 1) peer_reset(p);
        else peer_half_close(p);
        net_until(server_connections(net.server) == 0);
    }
    net_down();
}

static bool shakes(void (*with)(SSL *ssl))
{
    struct peer *p = peer_open();
    with(p->ssl);
    peer_say(p, HELLO);
    net_until(p->eof || peer_has(p, "hi"));
    return !p->eof;
}

static void by_1_1(SSL *ssl)
{
    SSL_set_security_level(ssl, 0);
    SSL_set_min_proto_version(ssl, TLS1_VERSION);
    SSL_set_max_proto_version(ssl, TLS1_1_VERSION);
}
static void by_1_2(SSL *ssl)
{
    SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
}
static void by_cbc(SSL *ssl)
{
    by_1_2(ssl);
    SSL_set_cipher_list(ssl, "ECDHE-ECDSA-AES128-SHA256");
}
static void for_http1(SSL *ssl)
{
    SSL_set_alpn_protos(ssl, (const unsigned char *)"\x03xyz\x08http/1.1", 13);
}
static void for_both(SSL *ssl)
{
    SSL_set_alpn_protos(ssl, (const unsigned char *)"\x08http/1.1\x02h2", 12);
}
static void for_others(SSL *ssl)
{
    SSL_set_alpn_protos(ssl, (const unsigned char *)"\x03imap", 4);
}

static struct str agreed_on(const struct peer *p)
{
    const unsigned char *name;
    unsigned             len;
    SSL_get0_alpn_selected(p->ssl, &name, &len);
    return str_n((const char *)name, len);
}

TEST(old_versions_weak_ciphers_and_other_protocols_are_refused)
{
    tls_up(NULL);
    CHECK(shakes(by_1_2));
    CHECK(!shakes(by_1_1));
    CHECK(!shakes(by_cbc));
    CHECK(!shakes(for_others));
    CHECK(shakes(for_http1));
    CHECK_STR(agreed_on(net.peers), "http/1.1");
    CHECK(!shakes(for_both)); /* it says HELLO as HTTP/1.1 has it */
    CHECK_STR(agreed_on(net.peers), "h2");
    net_down();
}

TEST(a_client_comes_back_with_its_ticket)
{
    tls_up(NULL);
    struct peer *p = peer_ask(HELLO);
    net_until(peer_has(p, "hi"));
    SSL_SESSION *s = SSL_get1_session(p->ssl);
    p = peer_open();
    SSL_set_session(p->ssl, s);
    peer_say(p, HELLO);
    net_until(peer_has(p, "hi"));
    CHECK(SSL_session_reused(p->ssl));
    SSL_SESSION_free(s);
    net_down();
}

TEST(nobody_begins_a_second_handshake)
{
    tls_up(NULL);
    struct peer *p = peer_open();
    by_1_2(p->ssl);
    peer_say(p, HELLO);
    net_until(peer_has(p, "hi"));
    SSL_renegotiate(p->ssl);
    SSL_do_handshake(p->ssl);
    net_until(p->eof || (SSL_do_handshake(p->ssl), ERR_peek_error()));
    CHECK(net.guarded == 1);
    ERR_clear_error();
    net_down();
}

/* --- the other rules ------------------------------------------------------------------------ */

TEST(new_keys_in_the_middle_of_a_stream_are_no_matter)
{
    tls_up(NULL);
    struct peer *p = peer_ask(STREAM);
    net_until(peer_has(p, "chunked\r\n\r\n"));
    for (int i = 0; i < 3; i++) {
        SSL_key_update(p->ssl, SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(p->ssl);
        tell("data");
        net_until(peer_count(p, "data") == (size_t)i + 1);
    }
    net_down();
}

TEST(who_asks_for_new_keys_without_end_and_reads_nothing_is_ended)
{
    tls_up(NULL);
    struct peer *p = peer_ask(STREAM);
    net_until(peer_has(p, "chunked\r\n\r\n"));
    p->deaf = true;
    net.spring.endless = 64u << 20;
    source_wake(&net.spring.source);
    net_until(net_conn()->blocked);
    for (int i = 0; i < 100000 && net.spring.gone == 0; i++) {
        SSL_key_update(p->ssl, SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(p->ssl);
        if (net_conn()) CHECK(net_conn()->late.cap <= TLS_RECORD_MAX);
        net_turn();
    }
    net_until(net.spring.gone == 1);
    net_down();
}

TEST(a_slow_reader_of_a_long_answer_costs_no_second_copy_of_it)
{
    tls_up(NULL);
    struct peer *p = peer_open();
    p->deaf = true;
    /* deaf peers do not shake hands either */
    while (SSL_do_handshake(p->ssl) != 1) net_turn();
    peer_say(p, BIG);
    net_until(net_conn()->blocked);
    struct blocked *b = net_conn()->blocked;
    CHECK(b->bytes.len <= 70 * 1024 && b->plain.len > 8u << 20 && net_conn()->out.cap == 0);
    p->deaf = false;
    net_until(p->got.len > 8u << 20 && out_clear(net_conn()));
    for (size_t i = p->got.len - (8u << 20); i < p->got.len; i++)
        if (p->got.ptr[i] != 'b') CHECK(!"every byte of it");
    peer_say(p, HELLO);
    net_until(peer_has(p, "\r\n\r\nhi"));
    CHECK(net.server->answers == 0);
    net_down();
}

TEST(an_idle_stream_owns_no_buffers_of_ours)
{
    tls_up(NULL);
    struct peer *p = peer_ask(STREAM);
    net_until(peer_has(p, "chunked\r\n\r\n"));
    struct conn *c = net_conn();
    CHECK(!c->exchange && !c->blocked && c->in.cap == 0 && c->out.cap == 0 && c->late.cap == 0);
    net_down();
}

TEST(the_end_of_a_connection_is_said_in_tls_too)
{
    tls_up(NULL);
    struct peer *p =
        peer_ask("GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    net_until(p->eof);
    CHECK(peer_has(p, "hi") && SSL_get_shutdown(p->ssl) & SSL_RECEIVED_SHUTDOWN);
    net_down();
}

/* --- pairs --------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    REQUIRE(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static bool refused(const char *cert, const char *key, enum err want, const char *words)
{
    struct tls_facts facts;
    struct tls_pair *none = NULL;
    enum err         e = tls_pair_read(cert, key, &facts, &none);
    CHECK(!none);
    if (e == want && strstr(facts.why, words)) return true;
    printf("  %s: %s\n", err_name(e), facts.why);
    return false;
}

TEST(a_pair_that_cannot_be_used_is_told_apart)
{
    struct tls_files a = tls_files_make("a", "a", 30), b = tls_files_make("b", "b", 30);
    char             junk[200];
    struct tls_facts facts;

    snprintf(junk, sizeof junk, "%s/junk.pem", test_dir());
    write_file(junk, "junk");
    CHECK(tls_pair_read(a.cert, a.key, &facts, NULL) == OK && !facts.key_shared);
    CHECK(refused(a.cert, b.key, ERR_CONFLICT, "the key of another certificate"));
    CHECK(refused("/nowhere/x.crt", a.key, ERR_IO, "/nowhere/x.crt: "));
    CHECK(refused(a.cert, "/nowhere/x.key", ERR_IO, "/nowhere/x.key: "));
    CHECK(refused(junk, a.key, ERR_SYNTAX, "is no certificate in PEM form"));
    CHECK(refused(a.cert, junk, ERR_SYNTAX, "is no private key in PEM form"));
    CHECK(refused(a.key, a.key, ERR_SYNTAX, "is no certificate"));
    CHECK(chmod(a.key, 0644) == 0);
    CHECK(tls_pair_read(a.cert, a.key, &facts, NULL) == OK && facts.key_shared);
}

TEST(when_a_certificate_ends_is_known)
{
    struct tls_files f = tls_files_make("old", "old", -3);
    struct tls_facts facts;
    int64_t          now = (int64_t)time(NULL);

    CHECK(tls_pair_read(f.cert, f.key, &facts, NULL) == OK);
    CHECK(facts.ends_s < now - 2 * 86400 && facts.ends_s > now - 4 * 86400);
}

TEST(a_pair_is_renewed_when_its_files_change_and_streams_go_on)
{
    tls_up(NULL);
    struct peer *p = peer_ask(STREAM);
    net_until(peer_has(p, "chunked\r\n\r\n"));
    tls_files_make("own", "renewed.example", 90); /* nobody is told */
    struct tls_pair *before = certs_pair(net.certs);
    net_until(certs_pair(net.certs) != before);
    struct peer *q = peer_ask(HELLO);
    net_until(peer_has(q, "hi"));
    check_shown(q, "renewed.example");
    tell("data");
    net_until(peer_has(p, "data"));
    check_shown(p, "localhost");
    net_down();
}

TEST(a_broken_pair_leaves_the_one_before)
{
    tls_up(NULL);
    tls_files_make("other", "other.example", 90);
    char other[200];
    snprintf(other, sizeof other, "%s/other.crt", test_dir());
    struct tls_pair *before = certs_pair(net.certs);
    CHECK(rename(other, files.cert) == 0); /* the key is not its */
    certs_read(net.certs);
    CHECK(certs_pair(net.certs) == before);
    CHECK(unlink(files.key) == 0);
    certs_read(net.certs);
    struct peer *p = peer_ask(HELLO);
    net_until(peer_has(p, "hi"));
    check_shown(p, "localhost");
    net_down();
}
