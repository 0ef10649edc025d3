/* pg_help.c -- see pg_help.h. */
#include "pg_help.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static char  server[256];
static FILE *input; /* the server runs until it is closed */
static pid_t script;

static void stop_server(void)
{
    if (input) fclose(input);
    if (script > 0) waitpid(script, NULL, 0);
}

static void start_server(void)
{
    int   in[2], out[2];
    FILE *answer;

    REQUIRE(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    script = fork();
    REQUIRE(script >= 0);
    if (script == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execl("scripts/postgres", "scripts/postgres", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input = fdopen(in[1], "w");
    answer = fdopen(out[0], "r");
    atexit(stop_server);
    if (!fgets(server, sizeof server, answer)) server[0] = 0;
    fclose(answer);
    server[strcspn(server, "\n")] = 0;
}

const char *pg_server(void)
{
    if (!script) start_server();
    if (!server[0]) test_failed(__FILE__, __LINE__, "no PostgreSQL here: scripts/setup test");
    if (!server[0]) longjmp(test_leave, 1);
    return server;
}

unsigned pg_port(void)
{
    const char *at = strchr(pg_server(), '@');
    return (unsigned)atoi(strchr(at, ':') + 1);
}

const char *pg_run(const char *url, const char *sql)
{
    static char value[4096];
    PGconn     *c = PQconnectdb(url);
    PGresult   *r = PQexec(c, sql);
    bool        rows = PQresultStatus(r) == PGRES_TUPLES_OK;

    if (!rows && PQresultStatus(r) != PGRES_COMMAND_OK)
        test_failed(__FILE__, __LINE__, PQerrorMessage(c));
    snprintf(value, sizeof value, "%s", rows && PQntuples(r) ? PQgetvalue(r, 0, 0) : "");
    PQclear(r);
    PQfinish(c);
    return value;
}

void pg_url(char *out, size_t size)
{
    static int n;
    char       sql[64];

    snprintf(sql, sizeof sql, "CREATE SCHEMA s%d", ++n);
    pg_run(pg_server(), sql);
    snprintf(out, size, "%s?options=-csearch_path%%3Ds%d", pg_server(), n);
}

void pg_url_by(char *out, size_t size, const char *url, unsigned port, const char *password)
{
    const char *path = strchr(strstr(url, "://") + 3, '/');

    snprintf(out, size, "postgresql://parley:%s@127.0.0.1:%u%s", password, port, path);
}

/* --- locks ------------------------------------------------------------------------------ */

struct pg_lock {
    PGconn *conn;
};

struct pg_lock *pg_lock_new(const char *url, const char *select, int count)
{
    struct pg_lock *l = calloc(1, sizeof *l);
    char            sql[1024];
    PGresult       *r;

    REQUIRE(l);
    l->conn = PQconnectdb(url);
    snprintf(sql, sizeof sql, "BEGIN; %s FOR UPDATE", select);
    r = PQexec(l->conn, sql);
    REQUIRE(PQresultStatus(r) == PGRES_TUPLES_OK);
    PQclear(r);
    snprintf(sql, sizeof sql,
             "DO $$ BEGIN WHILE (SELECT count(*) FILTER (WHERE wait_event_type = 'Lock') <> %d"
             " OR count(*) <> %d FROM pg_stat_activity WHERE datname = current_database()"
             " AND state = 'active' AND pid <> pg_backend_pid()) LOOP"
             " PERFORM pg_sleep(0.005), pg_stat_clear_snapshot(); END LOOP; END $$; COMMIT",
             count, count);
    REQUIRE(PQsendQuery(l->conn, sql));
    return l;
}

void pg_lock_free(struct pg_lock *l)
{
    PGcancel *cancel = PQgetCancel(l->conn);
    char      why[256];

    PQcancel(cancel, why, sizeof why);
    PQfreeCancel(cancel);
    for (PGresult *r; (r = PQgetResult(l->conn)) != NULL;) PQclear(r);
    PQfinish(l->conn);
    free(l);
}

long pg_waiting(void)
{
    return atol(pg_run(pg_server(), "SELECT count(*) FROM pg_stat_activity"
                                    " WHERE wait_event_type = 'Lock'"));
}

long pg_deadlocks(void)
{
    const char *url = pg_server();
    long        others = 2;

    /* a connection counts its deadlocks when it ends */
    for (int i = 0; i < 10000 && others > 1; i++) {
        others = atol(pg_run(url, "SELECT count(*) FROM pg_stat_activity WHERE backend_type ="
                                  " 'client backend' AND datname = current_database()"));
        if (others > 1) usleep(1000);
    }
    REQUIRE(others <= 1);
    return atol(pg_run(url, "SELECT deadlocks FROM pg_stat_database WHERE datname ="
                            " current_database()"));
}

/* --- the proxy -------------------------------------------------------------------------- */

#define PAIRS 64

struct pg_proxy {
    pthread_t       thread;
    pthread_mutex_t lock; /* guards what follows */
    int             listener, wake[2];
    unsigned        port;
    struct {
        int client, server;
    } pairs[PAIRS];
    int  count;
    long left; /* bytes until the cut; -1: none */
    long passed[2];
    bool answers, open, hold, end, cut, resets;
};

static int loopback(unsigned *port, bool listens)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)*port) };
    socklen_t          len = sizeof a;
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (listens) {
        if (bind(fd, (void *)&a, sizeof a) || listen(fd, 64)) abort();
        getsockname(fd, (void *)&a, &len);
        *port = ntohs(a.sin_port);
    } else if (connect(fd, (void *)&a, sizeof a)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void drop_pair(struct pg_proxy *p, int i)
{
    struct linger none = { .l_onoff = 1 };

    if (p->resets) setsockopt(p->pairs[i].client, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(p->pairs[i].client);
    close(p->pairs[i].server);
    p->pairs[i] = p->pairs[--p->count];
}

static void drop_all(struct pg_proxy *p)
{
    while (p->count) drop_pair(p, 0);
}

static void accept_one(struct pg_proxy *p)
{
    unsigned port = pg_port();
    int      client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC), to;

    if (client < 0) return;
    to = p->open && p->count < PAIRS ? loopback(&port, false) : -1;
    if (to < 0) {
        close(client);
        return;
    }
    p->pairs[p->count].client = client;
    p->pairs[p->count++].server = to;
}

/* False: the connection is over, or all of them are. */
static bool pass(struct pg_proxy *p, int from, int to, bool answers)
{
    char    buf[16384];
    ssize_t n = recv(from, buf, sizeof buf, MSG_DONTWAIT), sent = 0;

    if (n < 0) return true;
    if (n == 0) return false;
    p->passed[answers] += n;
    if (p->left >= 0 && p->answers == answers) {
        if (n >= p->left) {
            (void)!send(to, buf, (size_t)p->left, MSG_NOSIGNAL);
            p->left = -1;
            p->cut = true;
            drop_all(p);
            return false;
        }
        p->left -= n;
    }
    while (sent < n) {
        ssize_t k = send(to, buf + sent, (size_t)(n - sent), MSG_NOSIGNAL);
        if (k <= 0) return false;
        sent += k;
    }
    return true;
}

static void serve(struct pg_proxy *p, struct pollfd *fds, int count)
{
    for (int i = 0; i < count && i < p->count; i++) {
        bool cut = p->cut;
        bool good = true;
        if (fds[2 + 2 * i].revents) good = pass(p, p->pairs[i].client, p->pairs[i].server, false);
        if (p->cut != cut) return;
        if (good && fds[3 + 2 * i].revents)
            good = pass(p, p->pairs[i].server, p->pairs[i].client, true);
        if (p->cut != cut) return;
        if (!good) {
            drop_pair(p, i);
            return; /* the numbers do not fit any more */
        }
    }
}

static void *run_proxy(void *arg)
{
    struct pg_proxy *p = arg;
    struct pollfd    fds[2 + 2 * PAIRS];

    for (;;) {
        int  count;
        char drain[16];
        pthread_mutex_lock(&p->lock);
        count = p->hold ? 0 : p->count;
        fds[0] = (struct pollfd){ .fd = p->wake[0], .events = POLLIN };
        fds[1] = (struct pollfd){ .fd = p->listener, .events = POLLIN };
        for (int i = 0; i < count; i++) {
            fds[2 + 2 * i] = (struct pollfd){ .fd = p->pairs[i].client, .events = POLLIN };
            fds[3 + 2 * i] = (struct pollfd){ .fd = p->pairs[i].server, .events = POLLIN };
        }
        pthread_mutex_unlock(&p->lock);
        poll(fds, (nfds_t)(2 + 2 * count), 1000);
        pthread_mutex_lock(&p->lock);
        if (fds[0].revents) (void)!read(p->wake[0], drain, sizeof drain);
        if (p->end) break;
        if (!fds[0].revents) serve(p, fds, count);
        if (fds[1].revents) accept_one(p);
        pthread_mutex_unlock(&p->lock);
    }
    drop_all(p);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct pg_proxy *pg_proxy_new(void)
{
    struct pg_proxy *p = calloc(1, sizeof *p);

    pg_server();
    REQUIRE(p && pipe2(p->wake, O_CLOEXEC) == 0);
    pthread_mutex_init(&p->lock, NULL);
    p->listener = loopback(&p->port, true);
    p->left = -1;
    p->open = true;
    REQUIRE(pthread_create(&p->thread, NULL, run_proxy, p) == 0);
    return p;
}

unsigned pg_proxy_port(const struct pg_proxy *p)
{
    return p->port;
}

static void change(struct pg_proxy *p)
{
    (void)!write(p->wake[1], "x", 1);
    pthread_mutex_unlock(&p->lock);
}

void pg_proxy_cut_after(struct pg_proxy *p, long bytes, bool answers)
{
    pthread_mutex_lock(&p->lock);
    p->left = bytes;
    p->answers = answers;
    p->cut = false;
    p->passed[0] = p->passed[1] = 0;
    change(p);
}

void pg_proxy_resets(struct pg_proxy *p)
{
    pthread_mutex_lock(&p->lock);
    p->resets = true;
    change(p);
}

void pg_proxy_passed(struct pg_proxy *p, long *there, long *back)
{
    pthread_mutex_lock(&p->lock);
    *there = p->passed[0];
    *back = p->passed[1];
    pthread_mutex_unlock(&p->lock);
}

bool pg_proxy_has_cut(struct pg_proxy *p)
{
    bool cut;

    pthread_mutex_lock(&p->lock);
    cut = p->cut;
    pthread_mutex_unlock(&p->lock);
    return cut;
}

void pg_proxy_open(struct pg_proxy *p, bool open)
{
    pthread_mutex_lock(&p->lock);
    p->open = open;
    if (!open) drop_all(p);
    change(p);
}

void pg_proxy_hold(struct pg_proxy *p, bool hold)
{
    pthread_mutex_lock(&p->lock);
    p->hold = hold;
    change(p);
}

void pg_proxy_free(struct pg_proxy *p)
{
    pthread_mutex_lock(&p->lock);
    p->end = true;
    change(p);
    pthread_join(p->thread, NULL);
    close(p->listener);
    close(p->wake[0]);
    close(p->wake[1]);
    free(p);
}
