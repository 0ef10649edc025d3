/* fault.h -- named points at which a test may end the process, as kill -9 would.
 *
 *     PARLEY_FAULT="store.before_commit:3"     dies at the third passage of that point
 *
 * Only in builds with -Dtests=true; elsewhere the points are nothing at all.
 */
#ifndef PARLEY_FAULT_H
#define PARLEY_FAULT_H

#ifdef PARLEY_TEST
void fault_hit(const char *point);     /* from any thread */
#else
#define fault_hit(point) ((void)0)
#endif

#endif
