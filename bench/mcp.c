/* mcp.c -- the cheapest MCP server there can be, over stdin and stdout: one tool, `echo`, that
 * answers at once and says that it may be called again. What is measured with it is the client's
 * side. It reads only what it needs of a line: method and id. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *answer_to(const char *line)
{
    if (strstr(line, "\"method\":\"initialize\""))
        return "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":"
               "{\"name\":\"echo\",\"version\":\"1\"}}";
    if (strstr(line, "\"method\":\"tools/list\""))
        return "{\"tools\":[{\"name\":\"echo\",\"description\":\"Says it "
               "again.\",\"inputSchema\":{\"type\":\"object\"},\"annotations\":{"
               "\"idempotentHint\":true}}]}";
    if (strstr(line, "\"method\":\"tools/call\""))
        return "{\"content\":[{\"type\":\"text\",\"text\":\"heard\"}]}";
    return NULL;
}

int main(void)
{
    char  *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, stdin) > 0) {
        const char *id = strstr(line, "\"id\":"), *result = answer_to(line);
        if (!id) continue; /* a notification */
        int len = (int)strcspn(id + 5, ",}");
        if (result)
            printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}\n", len, id + 5, result);
        else
            printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32601,\"message\":\"no "
                   "such method\"}}\n",
                   len, id + 5);
        fflush(stdout);
    }
    free(line);
    return 0;
}
