// Details beside the list they belong to; the list stays usable, Esc closes.
import { X } from "lucide-react";
import type { ReactNode } from "react";

import { useHotkeys } from "@/lib/hooks/use-hotkeys";

import { Button } from "./button";
import styles from "./side-panel.module.css";

export interface SidePanelProps {
  title: ReactNode;
  label: string;
  onClose: () => void;
  children: ReactNode;
}

export function SidePanel({ title, label, onClose, children }: SidePanelProps) {
  useHotkeys({ Escape: onClose });
  return (
    <aside className={styles.panel} aria-label={label} data-beside>
      <header className={styles.head}>
        <h2 className={styles.title}>{title}</h2>
        <Button look="quiet" shape="icon" aria-label="Close panel" hint="Close (Esc)" onClick={onClose}>
          <X aria-hidden="true" />
        </Button>
      </header>
      <div className={styles.body}>{children}</div>
    </aside>
  );
}
