// Builds @parley/client: three entries, React left to the application.
import { defineConfig, type Plugin } from 'vite';

/* Components live in a shadow root, where formulas are drawn without it. */
const noFormulaStyle: Plugin = {
  name: 'no-formula-style',
  enforce: 'pre',
  resolveId: (id) => (id.endsWith('katex.min.css') ? '\0no-style' : null),
  load: (id) => (id === '\0no-style' ? 'export {};' : null),
};

export default defineConfig({
  publicDir: false,
  plugins: [noFormulaStyle],
  build: {
    target: 'es2022',
    outDir: 'client/dist',
    minify: false,
    lib: {
      entry: {
        index: 'client/index.ts',
        react: 'client/react.ts',
        components: 'client/components.ts',
      },
      formats: ['es'],
    },
    rollupOptions: { external: [/^react(-dom)?($|\/)/] },
  },
});
