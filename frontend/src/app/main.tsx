// The beginning: fonts, tokens, the session from the address, and the application.
import "@fontsource-variable/inter";
import "@fontsource-variable/jetbrains-mono";
import "./tokens.css";
import "./page.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { takeTokenFromUrl } from "@/lib/api/session";

import { Providers } from "./providers";
import { applyTheme, chosenTheme } from "./theme";

takeTokenFromUrl(window.location, window.history);
applyTheme(chosenTheme());

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root");
createRoot(root).render(
  <StrictMode>
    <Providers />
  </StrictMode>,
);
