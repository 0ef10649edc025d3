// How the page is built: few files, content hashes, nothing inline (the server's
// content security policy allows scripts and styles from files only).
import { defineConfig } from 'vitest/config';
import react from '@vitejs/plugin-react';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Plugin } from 'vite';

const server = process.env.PARLEY_URL ?? 'http://127.0.0.1:8000';

/* KaTeX names each of its fonts in three formats; every browser the page runs in takes the first, so only that is embedded. */
const oneFontFormat: Plugin = {
  name: 'one-font-format',
  enforce: 'pre',
  transform: (code, id) => (/katex.*\.css$/.test(id) ? code.replace(/,url\([^)]*\) format\("(?:woff|truetype)"\)/g, '') : null),
};

/* Under a name that stays: the page, pages that embed us and programs built on the client package all ask for it. */
const mermaid: Plugin = {
  name: 'mermaid',
  generateBundle() {
    const file = createRequire(import.meta.url).resolve('mermaid/dist/mermaid.min.js');
    this.emitFile({ type: 'asset', fileName: 'mermaid.js', source: readFileSync(file) });
  },
};

/* What reads PDF files, likewise. Its workers and decoders ask for each other by name. */
const pdf: Plugin = {
  name: 'pdf',
  generateBundle() {
    const folder = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));
    const files = { 'pdf.js': 'build/pdf.min.mjs', 'worker.js': 'build/pdf.worker.min.mjs', 'openjpeg_nowasm_fallback.js': 'wasm/openjpeg_nowasm_fallback.js' };
    for (const [name, from] of Object.entries(files)) this.emitFile({ type: 'asset', fileName: `pdf/${name}`, source: readFileSync(join(folder, from)) });
  },
};

/* /embed.js for other sites: a few lines that load the module, whose name has a hash, from where they came from. */
const embed: Plugin = {
  name: 'embed',
  generateBundle(_, bundle) {
    const all = Object.values(bundle).filter((f) => f.type === 'chunk');
    const entry = all.find((f) => f.isEntry && f.name === 'embed')!;
    const files = [entry.fileName, ...entry.imports];
    const source = readFileSync('embed/loader.js', 'utf8').replace("['']", JSON.stringify(files));
    this.emitFile({ type: 'asset', fileName: 'embed.js', source });
  },
};

/* Which packages the bundle has code of, for the list of what is inside the program (scripts/sbom). */
const bundledPackages: Plugin = {
  name: 'bundled-packages',
  writeBundle: (_, bundle) => {
    const modules = Object.values(bundle).flatMap((part) => (part.type === 'chunk' ? Object.entries(part.modules) : []));
    const found = new Map<string, { folder: string; prebuilt: boolean }>();
    for (const [id, module] of modules) {
      const folder = /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(id)?.[0];
      if (!folder || module.renderedLength === 0) continue;
      // A bundle of its publisher's brings what it needs along, unnamed.
      found.set(folder, { folder, prebuilt: /\.min\.js/.test(id) || (found.get(folder)?.prebuilt ?? false) });
    }
    for (const folder of ['node_modules/mermaid', 'node_modules/pdfjs-dist']) found.set(folder, { folder, prebuilt: true }); // served as they are
    writeFileSync('.bundled.json', JSON.stringify([...found.values()].sort((a, b) => (a.folder < b.folder ? -1 : 1)), null, 1));
  },
};

export default defineConfig({
  plugins: [react(), oneFontFormat, mermaid, pdf, embed, bundledPackages],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    // Hints in the page's own head only: in somebody else's page nothing is added to theirs.
    modulePreload: { polyfill: false, resolveDependencies: (_, files, { hostType }) => (hostType === 'html' ? files : []) },
    reportCompressedSize: false,
    rollupOptions: {
      input: { index: 'index.html', embed: 'embed/embed.tsx' },
      preserveEntrySignatures: 'exports-only',
      // What several parts need is one file: a dozen small ones cost a slow line more than their bytes.
      output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 2, test: /[\\/](src[\\/](protocol|transport|chat|words)|react|react-dom|scheduler)[\\/]|preload-helper/ }] } },
    },
  },
  // The page has several addresses, so its files are named from the root; modules name theirs from where they are.
  experimental: { renderBuiltUrl: (_, { hostType }) => (hostType === 'js' ? { relative: true } : undefined) },
  server: {
    proxy: Object.fromEntries(
      ['/api', '/stream', '/v1', '/live', '/functions', '/mermaid.js', '/pdf/'].map((path) => [path, { target: server, ws: path === '/live', changeOrigin: true }]),
    ),
  },
  // A hang is longer than what a busy machine takes to read all sources.
  test: { include: ['src/**/*.test.{ts,tsx}', 'client/**/*.test.ts'], testTimeout: 60_000 },
});
