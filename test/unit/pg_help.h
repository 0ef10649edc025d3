/* pg_help.h -- a PostgreSQL server for the tests that need one: started by the first, stopped when
 * the tests end (scripts/postgres). Without PostgreSQL those tests fail and say so.
 *
 * Each url is a schema of its own, so that a store opened there has never been used.
 */
#ifndef PARLEY_PG_HELP_H
#define PARLEY_PG_HELP_H

#include <stdbool.h>
#include <stddef.h>

/* "postgresql://parley:...@127.0.0.1:PORT/parley"; ends the test when there is no server. */
const char *pg_server(void);
unsigned    pg_port(void);
/* The password as libpq and people know it. */
#define PG_PASSWORD "open sesame"
/* A url of a store that has never been used. */
void        pg_url(char *out, size_t size);
/* The same store by way of another port, or another password; in `out`. */
void        pg_url_by(char *out, size_t size, const char *url, unsigned port, const char *password);
/* Runs `sql` in the url's schema; the first value of its first row, "" when there is none. The test
 * fails when it does. Valid until the next call. */
const char *pg_run(const char *url, const char *sql);
/* A transaction that locks what `select` gives, and ends by itself as soon as `count` sessions wait
 * for locks, its own or each other's, and no other is at work. */
struct pg_lock;
struct pg_lock *pg_lock_new(const char *url, const char *select, int count);
/* Those that wait give up by themselves after a while: then it ends here. */
void            pg_lock_free(struct pg_lock *l);
/* How many sessions wait for locks now. */
long            pg_waiting(void);
/* How often sessions have waited for each other in a circle so far; waits for the last one's end. */
long            pg_deadlocks(void);

/* A dumb TCP proxy in front of the server, in a thread: it cuts both ways when it is told to. */
struct pg_proxy;
struct pg_proxy *pg_proxy_new(void);
unsigned         pg_proxy_port(const struct pg_proxy *p);
/* Cuts every connection once `bytes` more have gone to the server (`answers`: from it). */
void             pg_proxy_cut_after(struct pg_proxy *p, long bytes, bool answers);
/* How many have gone since, there and back. */
void             pg_proxy_passed(struct pg_proxy *p, long *there, long *back);
/* Cuts come as a reset from now on, right behind what was passed on before. */
void             pg_proxy_resets(struct pg_proxy *p);
/* Has it cut since? */
bool             pg_proxy_has_cut(struct pg_proxy *p);
/* Refuses, or accepts again. */
void             pg_proxy_open(struct pg_proxy *p, bool open);
/* Passes nothing on, without closing anything: a network that swallows. */
void             pg_proxy_hold(struct pg_proxy *p, bool hold);
void             pg_proxy_free(struct pg_proxy *p);

#endif
