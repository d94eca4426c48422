// Dark, light, or as the system has it.
import { Monitor, Moon, Sun } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { Menu } from "@/components/ui/menu";

import { type Theme, THEMES, applyTheme, chosenTheme } from "./theme";

const LOOKS: Record<Theme, { icon: typeof Sun; words: string }> = {
  system: { icon: Monitor, words: "System" },
  light: { icon: Sun, words: "Light" },
  dark: { icon: Moon, words: "Dark" },
};

export function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme);
  const Icon = LOOKS[theme].icon;
  const choose = (next: Theme) => {
    applyTheme(next);
    setTheme(next);
  };
  return (
    <Menu
      heading="Appearance"
      trigger={
        <Button look="quiet" shape="icon" aria-label={`Appearance: ${LOOKS[theme].words}`}>
          <Icon aria-hidden="true" />
        </Button>
      }
      items={THEMES.map((name) => ({ key: name, words: LOOKS[name].words, checked: name === theme, onSelect: () => choose(name) }))}
    />
  );
}
