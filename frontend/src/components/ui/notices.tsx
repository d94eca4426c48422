// Short notices of what was done, spoken to screen readers as well.
import { CircleCheck, CircleX } from "lucide-react";
import { useSyncExternalStore } from "react";

import { Button } from "./button";
import styles from "./notices.module.css";

interface Notice {
  id: number;
  text: string;
  tone: "good" | "bad";
  undo?: () => void;
}

const SHOWN_MILLISECONDS = 6000;
const UNDO_MILLISECONDS = 10_000;
const listeners = new Set<() => void>();
let notices: readonly Notice[] = [];
let nextId = 1;

/** Shows a notice for a few seconds, one with something to undo a little longer. */
export function announce(text: string, tone: Notice["tone"] = "good", undo?: () => void): void {
  const notice = { id: nextId++, text, tone, ...(undo && { undo }) };
  publish([...notices, notice]);
  setTimeout(() => dismiss(notice.id), undo ? UNDO_MILLISECONDS : SHOWN_MILLISECONDS);
}

function dismiss(id: number): void {
  publish(notices.filter((other) => other.id !== id));
}

function publish(next: readonly Notice[]): void {
  notices = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Notices() {
  const shown = useSyncExternalStore(subscribe, () => notices);
  return (
    <div className={styles.notices} role="status" aria-live="polite">
      {shown.map((notice) => (
        <div key={notice.id} className={`${styles.notice ?? ""} ${styles[notice.tone] ?? ""}`}>
          {notice.tone === "good" ? <CircleCheck aria-hidden="true" /> : <CircleX aria-hidden="true" />}
          {notice.text}
          {notice.undo && (
            <Button
              onClick={() => {
                notice.undo?.();
                dismiss(notice.id);
              }}
            >
              Undo
            </Button>
          )}
        </div>
      ))}
    </div>
  );
}
