// How the single-page application is bundled: hashed files only, nothing inline, so that a strict CSP holds.
import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const api = process.env["HEADGATE_API"] ?? "http://127.0.0.1:8080";

// Parts of the interface that several pages share; what is large and used by few comes with those.
const SHARED = /(src\/(components\/ui|lib)\/(?!generated|time-chart|time-plot|virtual-table|log-viewer|logs\/|code-)|node_modules\/lucide-react\/)/;
const EVERYWHERE = /node_modules\/(react|react-dom|scheduler|openapi-fetch|@tanstack\/(react-|)(query|router|store|history)[a-z-]*)\//;

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    target: ["chrome125", "firefox126", "safari17.5"],
    cssTarget: ["chrome125", "firefox126", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What every page needs changes more seldom than the page: browsers keep it. The rest comes with the page that uses it.
    rolldownOptions: { output: { codeSplitting: {
          groups: [
            { name: "libraries", test: EVERYWHERE },
            { name: "shared", test: SHARED, minShareCount: 3 },
          ],
        } } },
    reportCompressedSize: false,
  },
  server: { proxy: { "/v1": { target: api }, "/healthz": { target: api } } },
  // Tests of pure functions change nothing outside of themselves: a process for each file is most of the time.
  test: { environment: "node", include: ["src/**/*.test.ts"], pool: "threads", isolate: false, css: { include: [/tokens\.css/] } },
});
