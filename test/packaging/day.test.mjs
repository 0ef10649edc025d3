// The operator's day with plain processes: what of it needs neither root nor a package. deb.test.mjs has it whole.
import fs from 'node:fs';
import path from 'node:path';
import { BIN, ROOT, Server, configured, parley, same, test } from '../live/lib.mjs';
import { day } from './inside/day.mjs';
import { serveModel } from './inside/model.mjs';

test('an operator\'s day: three people, two roles, a backup, a reload, an upgrade, an erased name, a verified record', async (t) => {
    const dir = t.folder(), model = await serveModel(), file = path.join(dir, 'parley.json'), bin = path.join(dir, 'parley');
    t.defer(() => model.close());
    fs.copyFileSync(BIN, bin);
    const site = { home: dir, desk: t.folder(), store: path.join(dir, 'parley.db'), model: `http://127.0.0.1:${model.port}/v1`,
        tool: { command: ['sh', 'refund.sh'], cwd: path.join(ROOT, 'test/packaging/inside') }, verifier: path.join(ROOT, 'examples/audit-verify/verify.mjs'),
        own: () => {}, configure: async (config) => { site.config = configured({ actions: {}, ...config }); fs.writeFileSync(file, JSON.stringify(site.config)); },
        async start() {
            site.server = new Server({ config: site.config, dir, store: null, bin });
            t.defer(() => site.server.end());
            await site.server.start();
            site.url = site.server.url;
        },
        reload: async () => { site.server.child.kill('SIGHUP'); },
        async upgrade() {
            await site.server.term();
            fs.rmSync(bin);                                   // as a package does: another file by the same name
            fs.copyFileSync(BIN, bin);
            site.server.args.push('--listen', new URL(site.url).host);
            await site.server.start();
        },
        parley: async (args, env) => { const r = await parley(args[1] === 'erase' ? args : [...args, '--config', file], { cwd: dir, env }); return { ...r, status: r.code }; } };
    same((await day(site)).length, 7);
});
