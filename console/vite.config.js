import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** `npm run dev -w console` serves the sources and sends requests to a gateway (GWK_CONSOLE_GATEWAY). */
const gateway = process.env.GWK_CONSOLE_GATEWAY ?? 'http://127.0.0.1:8080';

export default defineConfig({
  base: '/console/',
  plugins: [react()],
  // gwk api replaces the placeholder with a new nonce in each page (api/src/public-api/console-files.ts).
  html: { cspNonce: 'CSP_NONCE' },
  build: {
    target: 'es2022',
    // The policy allows images from data URLs, but no fonts or scripts.
    assetsInlineLimit: 0,
    // No polyfill of module preloading: it is an inline script.
    modulePreload: { polyfill: false },
    // The licences of all packages in the files.
    license: { fileName: 'licences.md' },
    chunkSizeWarningLimit: 900,
    // Webhooks are verified by no page. Packages without `sideEffects` would be included whole.
    rolldownOptions: {
      treeshake: {
        moduleSideEffects: [{ test: /(standardwebhooks|stablelib|fast-sha256)/, sideEffects: false }],
      },
    },
  },
  server: {
    proxy: Object.fromEntries(['/v1', '/console/api', '/problems'].map((path) => [path, gateway])),
  },
});
