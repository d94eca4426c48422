// The beginning: fonts, tokens, the session from the address, and the application.
import "@fontsource-variable/inter";
import "@fontsource-variable/jetbrains-mono";
import "./tokens.css";
import "./page.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { currentToken, takeTokenFromUrl } from "@/lib/api/session";
import { applyDensity, chosenDensity } from "@/lib/density";

import { Providers } from "./providers";
import { router } from "./router";
import { applyTheme, chosenTheme } from "./theme";

const PAGE_MILLISECONDS = 300;

takeTokenFromUrl(window.location, window.history);
applyTheme(chosenTheme());
applyDensity(chosenDensity());

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root");
const show = () =>
  createRoot(root).render(
    <StrictMode>
      <Providers />
    </StrictMode>,
  );
const pause = new Promise((done) => setTimeout(done, PAGE_MILLISECONDS));
// Shown with its page at once, which then asks for its data at once; without it where the network is slow.
if (currentToken() === null) show();
else void Promise.race([router.load(), pause]).finally(show);
