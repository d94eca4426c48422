// Whether an element has as little room as the style sheets call narrow (44rem).
import { type RefObject, useEffect, useState } from "react";

const NARROW_PIXELS = 704;

export function useIsNarrow(element: RefObject<HTMLElement | null>): boolean {
  const [narrow, setNarrow] = useState(false);
  useEffect(() => {
    if (element.current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => setNarrow(entry !== undefined && entry.contentRect.width <= NARROW_PIXELS));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return narrow;
}
