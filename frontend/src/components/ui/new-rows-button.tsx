// How many rows wait above a list, and the button that shows them; the count is spoken at most every ten seconds.
import { ArrowUp } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import { useHotkeys } from "@/lib/hooks/use-hotkeys";

import { Button } from "./button";
import styles from "./new-rows-button.module.css";

const SPOKEN_EVERY = 10_000;

export interface NewRowsButtonProps {
  count: number;
  /** Whether there are more than counted. */
  more?: boolean;
  onShow: () => void;
}

export function NewRowsButton({ count, more = false, onShow }: NewRowsButtonProps) {
  const words = `${count}${more ? " or more" : ""} new`;
  const spoken = useSpoken(count > 0 ? words : "");
  useHotkeys({ N: () => count > 0 && onShow() });
  return (
    <>
      <span className="visually-hidden" role="status">
        {spoken}
      </span>
      {count > 0 && (
        <div className={styles.float}>
          <Button className={styles.new} aria-keyshortcuts="Shift+N" onClick={onShow}>
            <ArrowUp aria-hidden="true" />+{words}
          </Button>
        </div>
      )}
    </>
  );
}

/** The words as they last were when ten seconds had passed since they were spoken before. */
function useSpoken(words: string): string {
  const [spoken, setSpoken] = useState("");
  const spokenAt = useRef(-Infinity);
  useEffect(() => {
    if (words === spoken) return undefined;
    const speak = () => {
      spokenAt.current = performance.now();
      setSpoken(words);
    };
    const timer = setTimeout(speak, Math.max(0, spokenAt.current + SPOKEN_EVERY - performance.now()));
    return () => clearTimeout(timer);
  }, [words, spoken]);
  return spoken;
}
