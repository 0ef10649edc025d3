/* clock.h -- two clocks, never mixed.
 *
 * mono: for deadlines and durations; never jumps. wall: for what people and
 * records see. In a test build the wall clock may be shifted from the environment:
 * by PARLEY_CLOCK_SHIFT_MS, and by the number in the file that PARLEY_CLOCK_FILE
 * names, which may change while the process runs.
 */
#ifndef PARLEY_CLOCK_H
#define PARLEY_CLOCK_H

#include "base/buf.h"

uint64_t clock_mono_ms(void);
uint64_t clock_mono_ns(void);
int64_t  clock_wall_ms(void);
/* From now on the wall clock is the machine's plus this: somebody else's clock counts. */
void     clock_offset(int64_t ms);
int64_t  clock_offset_ms(void);
/* "2026-11-15T20:17:25.123Z" */
#define CLOCK_RFC3339_LEN 24
/* The way back, UTC only ("...Z", with or without a fraction). False: not such a time. */
bool clock_parse_rfc3339(struct str text, int64_t *ms);
void clock_rfc3339(int64_t wall_ms, char out[CLOCK_RFC3339_LEN + 1]);

#endif
