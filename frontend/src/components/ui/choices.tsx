// Tabs with the selected tab in the URL of the page.
import { Tabs } from "radix-ui";
import { type ReactNode, useEffect, useRef } from "react";

import styles from "./choices.module.css";

export interface Choice {
  key: string;
  label: ReactNode;
  content: ReactNode;
}

export interface ChoicesProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  choices: Choice[];
}

export function Choices({ label, value, onChange, choices }: ChoicesProps) {
  const list = useRef<HTMLDivElement>(null);
  // Where not all tabs fit, the selected one is in sight.
  useEffect(() => {
    const bar = list.current;
    const tab = bar?.querySelector<HTMLElement>("[data-state=active]");
    if (bar && tab) bar.scrollLeft = tab.offsetLeft - (bar.clientWidth - tab.offsetWidth) / 2;
  }, [value]);
  return (
    <Tabs.Root value={value} onValueChange={onChange}>
      <Tabs.List ref={list} className={styles.list} aria-label={label}>
        {choices.map((choice) => (
          <Tabs.Trigger key={choice.key} value={choice.key} className={styles.tab}>
            {choice.label}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      {choices.map((choice) => (
        <Tabs.Content key={choice.key} value={choice.key} className={styles.content}>
          {choice.content}
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}
