// How the single-page application is bundled: hashed files only, nothing inline, so that a strict CSP holds.
import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const api = process.env["HEADGATE_API"] ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    target: ["chrome125", "firefox126", "safari17.5"],
    cssTarget: ["chrome125", "firefox126", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Libraries change more seldom than the page: browsers keep them.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "libraries", test: /node_modules/ }] } } },
    chunkSizeWarningLimit: 700,
    reportCompressedSize: false,
  },
  server: { proxy: { "/v1": { target: api }, "/healthz": { target: api } } },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
