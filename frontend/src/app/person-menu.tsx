// The signed-in user, how pages are shown to them, and signing out.
import { CircleUser } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { Menu } from "@/components/ui/menu";
import { signOut } from "@/lib/api/session";
import { DENSITIES, applyDensity, useDensity } from "@/lib/density";
import { type Zone, ZONES, chooseZone, chosenZone, zoneName } from "@/lib/format/zone";
import { useIdentity } from "@/lib/hooks/use-session";

import { chooseStart, START_PAGES, type StartPage, startPage } from "./start-page";
import { THEMES, applyTheme, chosenTheme } from "./theme";
import { TokensDialog } from "./tokens-dialog";

export function PersonMenu({ onHelp }: { onHelp: () => void }) {
  const identity = useIdentity();
  const [chosen, setStart] = useState<StartPage>();
  const start = chosen ?? startPage(identity);
  const [showsTokens, setShowsTokens] = useState(false);
  const density = useDensity();
  const [theme, setTheme] = useState(chosenTheme);
  const choose = (next: StartPage) => {
    chooseStart(next);
    setStart(next);
  };
  return (
    <>
      <Menu
        heading={identity ? `${identity.name}, ${(identity.grants ?? []).map((grant) => grant.role).join(", ")}` : "Signed in"}
        trigger={
          <Button look="quiet" shape="icon" aria-label={identity ? `Signed in as ${identity.name}` : "Signed in"}>
            <CircleUser aria-hidden="true" />
          </Button>
        }
        items={[
          ...THEMES.map((key) => ({ key: `theme-${key}`, words: `Theme: ${key}`, checked: key === theme, onSelect: () => setTheme(applyTheme(key)) })),
          ...DENSITIES.map((key) => ({ key, words: `Density: ${key}`, checked: key === density, onSelect: () => applyDensity(key) })),
          ...ZONES.map((key) => ({ key: `zone-${key}`, words: `Time zone: ${zoneName(key)}${key === "local" ? " (browser)" : ""}`, checked: key === chosenZone(), onSelect: () => showZone(key) })),
          ...START_PAGES.map(({ key, words }) => ({ key, words: `Start page: ${words}`, checked: key === start, onSelect: () => choose(key) })),
          { key: "tokens", words: "Your tokens", onSelect: () => setShowsTokens(true) },
          { key: "help", words: "Keyboard shortcuts", onSelect: onHelp },
          { key: "documentation", words: "Documentation", onSelect: () => window.open("/help", "_blank", "noopener") },
          { key: "docs", words: "API reference", onSelect: () => window.open("/docs", "_blank", "noopener") },
          { key: "out", words: "Sign out", onSelect: signOut },
        ]}
      />
      {showsTokens && <TokensDialog onClose={() => setShowsTokens(false)} />}
    </>
  );
}

/** All instants of the page are in one zone, so it begins anew. */
function showZone(zone: Zone): void {
  chooseZone(zone);
  window.location.reload();
}
