/* limits.h -- what a tool's runner allows where the configuration says nothing.
 *
 * Each number stands here and nowhere else: the runner uses it, and the table of keys tells it
 * (config/config_keys.c), and the documentation is held against that by a test. Bytes where nothing
 * else is said, written out: the table makes text of them.
 */
#ifndef PARLEY_LIMITS_H
#define PARLEY_LIMITS_H

#define EXEC_OUTPUT    1048576    /* of one call, on its output */
#define EXEC_MEMORY    1073741824 /* of each of its processes, and of all together */
#define EXEC_PROCESSES 64         /* of them */
#define EXEC_FILES     256        /* of them, open at once */
#define EXEC_FILE_SIZE 268435456  /* of one file */
#define EXEC_WORK      1073741824 /* of all that it keeps in its work directory */
#define HTTP_RESPONSE  1048576    /* of one answer */

#endif
