// Somebody else's web site: plain pages on an origin of its own, with a policy and styles that were
// not made for us.
import http from 'node:http';

export class Site {
  /** `page(path)` gives the HTML, `policy()` its policy; `files` are answered by path, as they are. */
  static async make({ page, policy, files = {} }) {
    const site = new Site();
    site.server = http.createServer(({ url }, response) => {
      const path = new URL(url, 'http://x').pathname;
      const file = files[path];
      if (file)
        return response
          .writeHead(200, { 'content-type': path.endsWith('.js') ? 'text/javascript' : 'text/css' })
          .end(file);
      const headers = {
        'content-type': 'text/html; charset=utf-8',
        ...(policy ? { 'content-security-policy': policy() } : {}),
      };
      response.writeHead(200, headers).end(page(path));
    });
    await new Promise((done) => site.server.listen(0, '127.0.0.1', done));
    return site;
  }

  get url() {
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
