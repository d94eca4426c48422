// Rows stay where they are while the pointer or the focus is in their list; their order then is that of a moment before.
import { type FocusEvent, useState } from "react";

import { type Held, extendedBy, isBehind, placesOf } from "@/lib/held-order";

export interface HeldOrder {
  /** The places of keys while the order is held; null while it follows the server. */
  places: ReadonlyMap<string, number> | null;
  /** When the order that is shown was the server's, where it is another now. */
  since: number | undefined;
  /** Shows the order of now, and holds that. */
  refresh: () => void;
  /** Handlers for the element around the list. */
  handlers: {
    onPointerMove: () => void;
    onPointerLeave: () => void;
    onFocus: () => void;
    onBlur: (event: FocusEvent) => void;
  };
}

/** Holds the order of keys that were read `at` an instant, for as long as the same is `asked`; never with `isOn` false. */
export function useHeldOrder(keys: readonly string[], { asked, at, isOn }: { asked: string; at: number; isOn: boolean }): HeldOrder {
  const [isPointed, setPointed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const [held, setHeld] = useState<Held | null>(null);
  const isHeld = isOn && (isPointed || isFocused);
  const next = isHeld ? extendedBy(held?.asked === asked ? held : null, { asked, keys, at }) : null;
  if (next !== held) setHeld(next);
  return {
    places: next && placesOf(next),
    since: next && isBehind(next, keys) ? next.at : undefined,
    refresh: () => {
      setHeld({ asked, keys, at });
      // The button that asked for it goes, and no event tells that it had the focus.
      setFocused(false);
    },
    handlers: {
      onPointerMove: () => setPointed(true),
      onPointerLeave: () => setPointed(false),
      onFocus: () => setFocused(true),
      onBlur: (event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setFocused(false);
      },
    },
  };
}
