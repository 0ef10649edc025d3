/* oauthform.h -- what every OAuth 2 client writes: form fields, the PKCE challenge, and which
 * addresses it may be sent to.
 */
#ifndef PARLEY_OAUTHFORM_H
#define PARLEY_OAUTHFORM_H

#include "base/buf.h"

#define PKCE_LETTERS 43 /* of a verifier and of its challenge: 256 bits */

/* Percent-encoded: all but letters, digits and "-._~". */
void oauth_escape(struct buf *out, struct str s);
/* "name=value", with "&" in front unless it is the first. */
void oauth_field(struct buf *out, const char *name, struct str value);
/* base64url(SHA-256(verifier)), RFC 7636 4.2, and a NUL. False: there is no memory. */
bool pkce_challenge(struct str verifier, char out[PKCE_LETTERS + 1]);

/* http to this machine itself: nobody on the way can change it. */
bool url_is_loopback(struct str url);
/* May a secret go there? https, or this machine; nothing below "!" in it. */
bool url_is_safe(struct str url);

#endif
