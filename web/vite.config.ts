// How the page is built: few files, content hashes, nothing inline (the server's
// content security policy allows scripts and styles from files only).
import { defineConfig } from 'vitest/config';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';

const server = process.env.PARLEY_URL ?? 'http://127.0.0.1:8000';

/* KaTeX names each of its fonts in three formats; every browser the page runs in takes the first, so only that is embedded. */
const oneFontFormat: Plugin = {
  name: 'one-font-format',
  enforce: 'pre',
  transform: (code, id) => (/katex.*\.css$/.test(id) ? code.replace(/,url\([^)]*\) format\("(?:woff|truetype)"\)/g, '') : null),
};

export default defineConfig({
  plugins: [react(), oneFontFormat],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(
      ['/api', '/stream', '/v1', '/live', '/functions'].map((path) => [path, { target: server, ws: path === '/live', changeOrigin: true }]),
    ),
  },
  test: { include: ['src/**/*.test.{ts,tsx}', 'client/**/*.test.ts'] },
});
