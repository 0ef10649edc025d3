/* trust.h -- by which certificate the commands know the server that they talk to.
 *
 * As every program does: by the authorities of this machine and the name in the address; PARLEY_CA
 * names a file with others (a company's own, or the certificate itself of a server that vouches for
 * itself). The server of a configuration at hand is known by its very certificate instead, whatever
 * name stands in it.
 */
#ifndef PARLEY_CLI_TRUST_H
#define PARLEY_CLI_TRUST_H

#include <curl/curl.h>

#include "config/config.h"

/* From now on the server is the one of this configuration. */
void  trust_own(const struct config *c);
CURL *trust_curl(void); /* NULL: no memory */

#endif
