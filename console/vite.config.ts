import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The server puts a nonce of its own, and the path below which it is, into every page in place of these words
// (src/kubedl/console/assets.py). Scripts and styles name files beside themselves, so they are the same below any path.
export default defineConfig({
  plugins: [react()],
  html: { cspNonce: "__CSP_NONCE__" },
  experimental: { renderBuiltUrl: (file, { hostType }) => (hostType === "html" ? `__CONSOLE_PATH__/${file}` : { relative: true }) },
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
