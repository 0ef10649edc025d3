/* connect.ts -- a question that is answered by connecting one's own account at an MCP server: the server's
 * sentence ends with an address of ours. */

/** The address, with the way back to `here`; null: it is another question. `tool` is the one that asks: a server can only ask for itself. */
export function connectLink(ask: string, tool: string, here: string): string | null {
  const path = /(?:^|\s)(?:https?:\/\/[^\s/]+)?(\/v1\/mcp\/([A-Za-z0-9%._~-]+)\/connect)$/.exec(ask);
  if (!path?.[1] || !path[2]) return null;
  let server: string;
  try {
    server = decodeURIComponent(path[2]);
  } catch {
    return null;
  }
  if (!tool.startsWith(`${server}__`)) return null;
  return path[1] + (/^\/[A-Za-z0-9/_-]*$/.test(here) ? `?to=${encodeURIComponent(here)}` : '');
}
