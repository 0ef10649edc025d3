/* http1.c -- the request parser; http1.h is its manual.
 *
 * Two stages. The head is gathered into p->head, with line ends and control
 * characters checked on the way, and parsed in one go at its empty line; this
 * keeps refusals independent of how the bytes were split. The body is then
 * copied (Content-Length) or decoded (chunked) as it comes.
 *
 *   HEAD, HEAD_LF -> no body:  DONE
 *                 -> LENGTH -> DONE
 *                 -> SIZE -> [EXT] -> SIZE_LF -> DATA -> DATA_CR -> DATA_LF -> SIZE
 *                                         \ size 0: TRAILER ... -> END_LF -> DONE
 */
#include "http/http1.h"

#include "base/utf8.h"
#include "http/target.h"

enum step {
    STEP_HEAD,
    STEP_HEAD_LF,
    STEP_LENGTH,
    STEP_SIZE,
    STEP_EXT,
    STEP_SIZE_LF,
    STEP_DATA,
    STEP_DATA_CR,
    STEP_DATA_LF,
    STEP_TRAILER,
    STEP_TRAILER_NAME,
    STEP_TRAILER_VALUE,
    STEP_TRAILER_LF,
    STEP_END_LF,
};

/* Returns false, so that a check can end with `return refuse(...)`. */
static bool refuse(struct http1 *p, int status, const char *code, const char *text)
{
    p->status = HTTP1_REFUSED;
    p->why = (struct http1_refusal){ status, code, text };
    return false;
}

static bool refuse_memory(struct http1 *p)
{
    return refuse(p, 503, "out_of_memory", "The server has no memory for this request now.");
}

/* --- characters ---------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}
static bool is_control(unsigned char c)
{
    return (c < 0x20 && c != '\t') || c == 0x7f;
}

/* Blanks as HTTP knows them; str_trim would also take line ends and form feeds. */
static struct str trim_blanks(struct str s)
{
    while (s.len && is_blank(s.ptr[0])) s = str_from(s, 1);
    while (s.len && is_blank(s.ptr[s.len - 1])) s.len--;
    return s;
}

/* --- looking up ------------------------------------------------------------------ */

struct str request_header(const struct request *q, const char *name)
{
    struct str want = str_c(name);
    for (size_t i = 0; i < q->header_count; i++)
        if (str_eq_nocase(q->headers[i].name, want)) return q->headers[i].value;
    return STR_NONE;
}

/* "gzip;q=0" says no. */
bool request_takes(const struct request *q, struct str encoding)
{
    struct str rest = request_header(q, "accept-encoding"), item, name, weight = STR_NONE;
    while (str_split(&rest, ',', &item)) {
        bool weighed = str_split(&item, ';', &name) && item.ptr;
        if (!str_eq_nocase(str_trim(name), encoding)) continue;
        if (weighed) weight = str_trim(item);
        bool none = str_starts(weight, STR("q=0"));
        for (size_t i = 3; none && i < weight.len; i++)
            none = weight.ptr[i] == '.' || weight.ptr[i] == '0';
        return !none;
    }
    return false;
}

static size_t count_header(const struct request *q, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < q->header_count; i++)
        n += str_eq_nocase(q->headers[i].name, str_c(name));
    return n;
}

bool request_lists(const struct request *q, const char *name, const char *token)
{
    struct str want = str_c(name), word = str_c(token), piece;
    for (size_t i = 0; i < q->header_count; i++) {
        if (!str_eq_nocase(q->headers[i].name, want)) continue;
        struct str rest = q->headers[i].value;
        while (str_split(&rest, ',', &piece))
            if (str_eq_nocase(trim_blanks(piece), word)) return true;
    }
    return false;
}

struct str request_query(const struct request *q, const char *name)
{
    struct str rest = q->query, pair;
    while (str_split(&rest, '&', &pair)) {
        struct str  key = pair, value = STR("");
        const char *eq = pair.len ? memchr(pair.ptr, '=', pair.len) : NULL;
        if (eq) {
            key = str_n(pair.ptr, (size_t)(eq - pair.ptr));
            value = str_from(pair, key.len + 1);
        }
        if (str_eq(target_decode_form(q->arena, key), str_c(name)))
            return target_decode_form(q->arena, value);
    }
    return STR_NONE;
}

/* --- the head -------------------------------------------------------------------- */

static bool parse_version(struct http1 *p, struct str version)
{
    if (str_is(version, "HTTP/1.1")) return true;
    if (str_is(version, "HTTP/1.0")) {
        p->http10 = true;
        return true;
    }
    if (version.len == 8 && str_starts(version, STR("HTTP/")) && version.ptr[6] == '.')
        return refuse(p, 505, "unsupported_version", "Only HTTP/1.1 and HTTP/1.0 are spoken here.");
    return refuse(p, 400, "bad_request_line", "The request line must end in an HTTP version.");
}

/* method SP target SP version: exactly two blanks, nothing else. The target is
 * kept in q->query until the Host header is known; see parse_target. */
static bool parse_request_line(struct http1 *p, struct str line)
{
    struct request *q = p->request;
    struct str      method, target;

    if (!str_split(&line, ' ', &method) || !str_split(&line, ' ', &target) || !line.ptr)
        return refuse(p, 400, "bad_request_line",
                      "The request line must be a method, a target and a version.");
    if (!str_is_token(method)) return refuse(p, 400, "bad_method", "The method is not a word.");
    if (!parse_version(p, line)) return false;
    if (target.len > HTTP1_TARGET_MAX)
        return refuse(p, 414, "uri_too_long", "The address is too long.");
    if (str_is(method, "CONNECT"))
        return refuse(p, 501, "not_a_proxy", "This server is not a proxy.");
    q->method = method;
    q->query = target;
    return true;
}

struct str http1_path_so_far(const struct http1 *p)
{
    struct str  line = buf_view(&p->head), word, target;
    const char *cr = line.len ? memchr(line.ptr, '\r', line.len) : NULL;

    if (cr) line.len = (size_t)(cr - line.ptr);
    if (!str_split(&line, ' ', &word) || !str_split(&line, ' ', &target)) return STR_NONE;
    (void)str_split(&target, '?', &word);
    return str_starts(word, STR("/")) ? word : STR_NONE;
}

static bool parse_field(struct http1 *p, struct str line, struct header *h)
{
    const char *colon = memchr(line.ptr, ':', line.len);

    if (is_blank(line.ptr[0]))
        return refuse(p, 400, "folded_header", "Header lines must not begin with a blank.");
    if (!colon) return refuse(p, 400, "bad_header", "A header line has no colon.");
    h->name = str_n(line.ptr, (size_t)(colon - line.ptr));
    h->value = trim_blanks(str_from(line, h->name.len + 1));
    if (!str_is_token(h->name))
        return refuse(p, 400, "bad_header",
                      "A header name is not a word directly before its colon.");
    return true;
}

/* p->head holds complete lines, each ended by CRLF, the last one empty. */
static struct str next_line(struct str *rest)
{
    const char *cr = memchr(rest->ptr, '\r', rest->len);
    struct str  line = str_n(rest->ptr, (size_t)(cr - rest->ptr));
    *rest = str_from(*rest, line.len + 2);
    return line;
}

static bool parse_fields(struct http1 *p, struct str rest)
{
    struct request *q = p->request;

    q->headers = arena_array(q->arena, p->lines, sizeof *q->headers);
    if (!q->headers) return refuse_memory(p);
    for (;;) {
        struct str line = next_line(&rest);
        if (line.len == 0) return true;
        if (!parse_field(p, line, &q->headers[q->header_count])) return false;
        q->header_count++;
    }
}

/* Where a second one would let two readers of the request believe different things. */
static bool check_singles(struct http1 *p)
{
    static const char *const single[] = {
        "Content-Length",
        "Transfer-Encoding",
        "Expect",
        "Authorization",
        "Origin",
        "Content-Type",
        "Last-Event-ID",
        "Upgrade",
        "Sec-WebSocket-Key",
        "Sec-WebSocket-Version",
    };
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        if (count_header(p->request, single[i]) > 1)
            return refuse(p, 400, "repeated_header", "A header that may come once came twice.");
    return true;
}

static bool check_host(struct http1 *p)
{
    size_t hosts = count_header(p->request, "Host");
    if (hosts > 1 || (hosts == 0 && !p->http10))
        return refuse(p, 400, "bad_host", "A request needs exactly one Host header.");
    if (hosts && !target_host_valid(request_header(p->request, "Host")))
        return refuse(p, 400, "bad_host", "The Host header is not a host and an optional port.");
    return true;
}

static bool parse_target(struct http1 *p)
{
    struct request *q = p->request;
    const char     *why = NULL;

    switch (target_parse(q, q->query, &why)) {
    case OK: return true;
    case ERR_NOMEM: return refuse_memory(p);
    default: return refuse(p, 400, "bad_target", why);
    }
}

static bool all_digits(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
    return s.len > 0;
}

static bool begin_length(struct http1 *p, struct str length)
{
    /* "1, 1", "+1", " 1" and "01" are read differently by different servers. */
    if (!all_digits(length) || (length.len > 1 && length.ptr[0] == '0'))
        return refuse(p, 400, "bad_length", "Content-Length is not one plain number.");
    if (!str_to_u64(length, &p->left) || p->left > p->limits->body_max)
        return refuse(p, 413, "body_too_large", "The body is larger than this server takes.");
    p->step = STEP_LENGTH;
    return true;
}

static bool begin_chunks(struct http1 *p, struct str encoding)
{
    if (p->http10) return refuse(p, 400, "bad_framing", "HTTP/1.0 has no Transfer-Encoding.");
    if (!str_is(encoding, "chunked"))
        return refuse(p, 501, "unsupported_encoding",
                      "The only Transfer-Encoding taken here is chunked.");
    p->step = STEP_SIZE;
    p->left = 0;
    p->digits = 0;
    return true;
}

/* The name, or what becomes of it where headers are variables: every letter that may not stand in
 * one is the same. */
static bool resembles(struct str name, struct str want)
{
    if (name.len != want.len) return false;
    for (size_t i = 0; i < name.len; i++) {
        struct str c = str_n(name.ptr + i, 1), w = str_n(want.ptr + i, 1);
        if (strchr("-_.!#$%&'*+^`|~", name.ptr[i])) c = STR("-");
        if (!str_eq_nocase(c, w)) return false;
    }
    return true;
}

/* A framing header must be one for everybody: by its exact name, not taken off by a proxy as an
 * option of the connection, and with no more blanks around its value than the one after the colon
 * (there are readers that take off fewer than RFC 9112 5 says, and then do not know the value). */
static bool check_framing_header(struct http1 *p, const char *name)
{
    struct request *q = p->request;
    struct str      want = str_c(name);

    if (request_lists(q, "Connection", name))
        return refuse(p, 400, "bad_framing",
                      "A header that says where the body ends belongs to the request, not to the "
                      "connection.");
    for (size_t i = 0; i < q->header_count; i++) {
        const struct header *h = &q->headers[i];
        if (!resembles(h->name, want)) continue;
        if (!str_eq_nocase(h->name, want))
            return refuse(p, 400, "bad_framing",
                          "A header's name can be taken for one that says where the body ends.");
        size_t before = (size_t)(h->value.ptr - (h->name.ptr + h->name.len + 1));
        if (h->value.len && (before > 1 || (before && h->value.ptr[-1] != ' ') ||
                             h->value.ptr[h->value.len] != '\r'))
            return refuse(p, 400, "bad_framing",
                          "A header that says where the body ends has blanks around its value.");
    }
    return true;
}

/* RFC 9112 6.3: where the body ends. Nothing here may be guessed. */
static bool parse_framing(struct http1 *p)
{
    struct str length = request_header(p->request, "Content-Length");
    struct str encoding = request_header(p->request, "Transfer-Encoding");
    bool       reads = str_is(p->request->method, "GET") || str_is(p->request->method, "HEAD");

    if (!check_framing_header(p, "Content-Length") || !check_framing_header(p, "Transfer-Encoding"))
        return false;
    if (length.ptr && encoding.ptr)
        return refuse(p, 400, "bad_framing",
                      "Content-Length and Transfer-Encoding exclude each other.");
    /* Many do not look for it, and would take it for the next request (RFC 9110 9.3.1). */
    if (reads && (encoding.ptr || (length.ptr && !str_is(length, "0"))))
        return refuse(p, 400, "unexpected_body", "A GET or HEAD request has no body here.");
    if (encoding.ptr) return begin_chunks(p, encoding);
    if (length.ptr && !begin_length(p, length)) return false;
    if (p->left == 0) p->status = HTTP1_DONE;
    return true;
}

static bool parse_expect(struct http1 *p)
{
    struct str expect = request_header(p->request, "Expect");
    if (!expect.ptr || p->http10) return true;
    if (!str_eq_nocase(expect, STR("100-continue")))
        return refuse(p, 417, "expectation_failed",
                      "The only expectation met here is 100-continue.");
    p->expect = p->status == HTTP1_MORE;
    return true;
}

static bool parse_head(struct http1 *p)
{
    struct str rest = buf_view(&p->head);

    if (!parse_request_line(p, next_line(&rest)) || !parse_fields(p, rest)) return false;
    if (!check_singles(p) || !check_host(p) || !parse_target(p)) return false;
    p->head_done = true;
    p->keep_alive = !p->http10 && !request_lists(p->request, "Connection", "close");
    return parse_framing(p) && parse_expect(p);
}

/* A line of the head ended (its CRLF is already in p->head). True when the head goes on. */
static bool end_line(struct http1 *p)
{
    bool empty = p->head.len - p->line == 2;

    p->line = (uint32_t)p->head.len;
    if (empty && p->lines == 0) { /* RFC 9112 2.2: one empty line before a request is forgiven */
        if (p->blank)
            return refuse(p, 400, "bad_request_line", "Empty lines came instead of a request.");
        p->blank = true;
        p->line = 0;
        buf_clear(&p->head);
        return true;
    }
    if (empty) return false;
    if (++p->lines > HTTP1_HEADERS_MAX + 1)
        return refuse(p, 431, "too_many_headers", "The request has too many headers.");
    return true;
}

static bool refuse_long_head(struct http1 *p)
{
    if (p->lines == 0) return refuse(p, 414, "uri_too_long", "The address is too long.");
    return refuse(p, 431, "head_too_large", "The headers are larger than this server takes.");
}

/* One run of plain bytes of the head up to the next CR; how many. Leaves the
 * refusal to the caller's byte by byte look when it meets anything odd. */
static size_t plain_run(const char *at, size_t len)
{
    size_t n = 0;
    while (n < len && !is_control((unsigned char)at[n])) n++;
    return n;
}

static size_t feed_head(struct http1 *p, const char *at, size_t len)
{
    size_t room = p->limits->head_max - p->head.len, used = 0;

    if (len > room && room == 0) {
        refuse_long_head(p);
        return 0;
    }
    if (len > room) len = room;
    if (p->step == STEP_HEAD) {
        used = plain_run(at, len);
        buf_add(&p->head, at, used);
        if (p->head.err) {
            refuse_memory(p);
            return used;
        }
        if (used == len) return used;
        if (at[used] == '\r') p->step = STEP_HEAD_LF;
        else if (at[used] == '\n') refuse(p, 400, "bare_newline", "Lines must end in CR and LF.");
        else refuse(p, 400, "control_character", "The head has a control character in it.");
        buf_chr(&p->head, at[used]);
        return used + 1;
    }
    if (at[0] != '\n') {
        refuse(p, 400, "bare_newline", "Lines must end in CR and LF.");
        return 1;
    }
    buf_chr(&p->head, '\n');
    if (p->head.err) {
        refuse_memory(p);
        return 1;
    }
    p->step = STEP_HEAD;
    if (!end_line(p) && p->status == HTTP1_MORE) parse_head(p);
    return 1;
}

/* --- the body -------------------------------------------------------------------- */

static size_t feed_bytes(struct http1 *p, const char *at, size_t len)
{
    size_t n = len < p->left ? len : (size_t)p->left;

    buf_add(&p->body, at, n);
    if (p->body.err) {
        refuse_memory(p);
        return n;
    }
    p->left -= n;
    if (p->left) return n;
    if (p->step == STEP_LENGTH) p->status = HTTP1_DONE;
    else p->step = STEP_DATA_CR;
    return n;
}

static void refuse_chunk(struct http1 *p)
{
    refuse(p, 400, "bad_chunk", "The chunked body is malformed.");
}

static void chunk_digit(struct http1 *p, int digit)
{
    /* 8 digits reach beyond every limit; longer runs of zeros have no honest use. */
    if (++p->digits > 8) {
        refuse_chunk(p);
        return;
    }
    p->left = p->left * 16 + (unsigned)digit;
    if (p->left > p->limits->body_max || p->body.len + p->left > p->limits->body_max)
        refuse(p, 413, "body_too_large", "The body is larger than this server takes.");
}

static void chunk_size(struct http1 *p, unsigned char c)
{
    int digit = hex_value((char)c);

    if (digit >= 0) chunk_digit(p, digit);
    else if (p->digits == 0) refuse_chunk(p);
    else if (c == '\r') p->step = STEP_SIZE_LF;
    else if (c == ';') {
        p->step = STEP_EXT;
        p->ext++;
    } else refuse_chunk(p);
}

static void chunk_ext(struct http1 *p, unsigned char c)
{
    if (c == '\r') p->step = STEP_SIZE_LF;
    else if (is_control(c) || c >= 0x80) refuse_chunk(p);
    else if (++p->ext > HTTP1_EXT_MAX)
        refuse(p, 400, "chunk_extensions",
               "The chunk extensions are larger than this server takes.");
}

static void chunk_begin(struct http1 *p)
{
    p->step = p->left ? STEP_DATA : STEP_TRAILER;
    p->digits = 0;
}

static void trailer_begin(struct http1 *p, unsigned char c)
{
    if (c == '\r') p->step = STEP_END_LF;
    else if (str_token_char(c)) p->step = STEP_TRAILER_NAME;
    else refuse(p, 400, "bad_trailer", "A trailer line is malformed.");
}

static void trailer_name(struct http1 *p, unsigned char c)
{
    if (c == ':') p->step = STEP_TRAILER_VALUE;
    else if (!str_token_char(c)) refuse(p, 400, "bad_trailer", "A trailer line is malformed.");
}

static void trailer_value(struct http1 *p, unsigned char c)
{
    if (c == '\r') p->step = STEP_TRAILER_LF;
    else if (is_control(c)) refuse(p, 400, "bad_trailer", "A trailer line is malformed.");
}

static void expect_byte(struct http1 *p, unsigned char c, unsigned char want, enum step next)
{
    if (c == want) p->step = next;
    else refuse_chunk(p);
}

static void feed_chunk_byte(struct http1 *p, unsigned char c)
{
    if (p->step >= STEP_TRAILER && ++p->trailers > HTTP1_TRAILERS_MAX) {
        refuse(p, 431, "trailers_too_large", "The trailers are larger than this server takes.");
        return;
    }
    switch ((enum step)p->step) {
    case STEP_SIZE: chunk_size(p, c); return;
    case STEP_EXT: chunk_ext(p, c); return;
    case STEP_SIZE_LF:
        expect_byte(p, c, '\n', STEP_SIZE);
        if (p->status == HTTP1_MORE) chunk_begin(p);
        return;
    case STEP_DATA_CR: expect_byte(p, c, '\r', STEP_DATA_LF); return;
    case STEP_DATA_LF: expect_byte(p, c, '\n', STEP_SIZE); return;
    case STEP_TRAILER: trailer_begin(p, c); return;
    case STEP_TRAILER_NAME: trailer_name(p, c); return;
    case STEP_TRAILER_VALUE: trailer_value(p, c); return;
    case STEP_TRAILER_LF: expect_byte(p, c, '\n', STEP_TRAILER); return;
    case STEP_END_LF:
        expect_byte(p, c, '\n', STEP_END_LF);
        if (p->status == HTTP1_MORE) p->status = HTTP1_DONE;
        return;
    case STEP_HEAD:
    case STEP_HEAD_LF:
    case STEP_LENGTH:
    case STEP_DATA: break;
    }
    must(!"chunk step");
}

/* --- the front --------------------------------------------------------------------- */

void http1_init(struct http1 *p, const struct net_limits *limits, struct request *request,
                struct arena *arena)
{
    *p = (struct http1){ .limits = limits, .request = request };
    *request = (struct request){ .arena = arena };
    buf_init(&p->head, limits->head_max);
    buf_init(&p->body, limits->body_max);
}

static size_t feed_some(struct http1 *p, const char *at, size_t len)
{
    switch ((enum step)p->step) {
    case STEP_HEAD:
    case STEP_HEAD_LF: return feed_head(p, at, len);
    case STEP_LENGTH:
    case STEP_DATA: return feed_bytes(p, at, len);
    default: feed_chunk_byte(p, (unsigned char)*at); return 1;
    }
}

size_t http1_feed(struct http1 *p, const char *bytes, size_t len)
{
    size_t used = 0;

    while (used < len && p->status == HTTP1_MORE) used += feed_some(p, bytes + used, len - used);
    if (p->status == HTTP1_DONE) p->request->body = buf_view(&p->body);
    return used;
}

void http1_done(struct http1 *p)
{
    buf_done(&p->head);
    buf_done(&p->body);
}
