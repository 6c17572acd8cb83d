import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The server puts a nonce of its own into every page, in place of this word (src/kubedl/console/assets.py).
export default defineConfig({
  plugins: [react()],
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    outDir: "../src/kubedl/console/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    target: "es2022",
  },
  server: { proxy: { "/api": "http://127.0.0.1:8443" } },
});
