/* A tool in C. Build: cc -O2 -o primes primes.c
 * stdin: {"below": 1000}; reports progress while it works and stops at once when it is asked to (SIGTERM). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_prime(long n)
{
    for (long d = 2; d * d <= n; d++)
        if (n % d == 0) return 0;
    return n >= 2;
}

int main(void)
{
    char        line[1000] = "";
    const char *member;
    long        below, count = 0;

    setvbuf(stdout, NULL, _IOLBF, 0); /* a line is seen when it is written */
    if (!fgets(line, sizeof line, stdin) || !(member = strstr(line, "\"below\"")) ||
        !(member = strchr(member, ':'))) {
        puts("{\"error\":\"The argument \\\"below\\\" is missing.\"}");
        return 0;
    }
    below = atol(member + 1);
    if (below < 0 || below > 10000000) {
        puts("{\"error\":\"\\\"below\\\" must be between 0 and ten million.\"}");
        return 0;
    }
    for (long n = 0; n < below; n++) {
        if (below > 10 && n % (below / 10) == 0)
            printf("{\"progress\":%.2f}\n", (double)n / (double)below);
        count += is_prime(n);
    }
    printf("{\"result\":{\"below\":%ld,\"primes\":%ld}}\n", below, count);
    return 0;
}
