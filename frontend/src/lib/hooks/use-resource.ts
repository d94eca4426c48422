// The resource that charts and tables show; the choice is kept for all pages.
import { useState } from "react";

const CHOSEN = "headgate.resource";

/** The chosen resource, empty for the most important one, and how to choose another one. */
export function useResource(): [string, (name: string) => void] {
  const [resource, setResource] = useState(() => localStorage.getItem(CHOSEN) ?? "");
  const choose = (name: string) => {
    localStorage.setItem(CHOSEN, name);
    setResource(name);
  };
  return [resource, choose];
}
