// Builds @parley/client: two entries, React left to the application.
import { defineConfig } from 'vite';

export default defineConfig({
  publicDir: false,
  build: {
    target: 'es2022',
    outDir: 'client/dist',
    minify: false,
    lib: { entry: { index: 'client/index.ts', react: 'client/react.ts' }, formats: ['es'] },
    rollupOptions: { external: ['react'] },
  },
});
