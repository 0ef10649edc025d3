// How the page is built: few files, content hashes, nothing inline (the server's
// content security policy allows scripts and styles from files only).
import { defineConfig } from 'vitest/config';
import react from '@vitejs/plugin-react';

const server = process.env.PARLEY_URL ?? 'http://127.0.0.1:8000';

export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(
      ['/api', '/stream', '/v1', '/live', '/functions'].map((path) => [path, { target: server, ws: path === '/live', changeOrigin: true }]),
    ),
  },
  test: { include: ['src/**/*.test.ts', 'client/**/*.test.ts'] },
});
