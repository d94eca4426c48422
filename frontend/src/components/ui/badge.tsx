// A word with its glyph and colour; the colour never says anything alone.
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

import styles from "./badge.module.css";

export type Tone = "wait" | "move" | "run" | "good" | "bad" | "hold" | "idle";

export function Badge({ tone, icon: Icon, children }: { tone: Tone; icon: LucideIcon; children: ReactNode }) {
  return (
    <span className={`${styles.badge ?? ""} ${styles[tone] ?? ""}`}>
      <Icon aria-hidden="true" />
      {children}
    </span>
  );
}
