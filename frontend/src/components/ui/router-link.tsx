// A link to another page of the interface: a real address, opened without loading anew.
import { useRouter } from "@tanstack/react-router";
import type { AnchorHTMLAttributes, MouseEvent } from "react";

export interface RouterLinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  to: string;
}

export function RouterLink({ to, onClick, ...rest }: RouterLinkProps) {
  const router = useRouter();
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    router.history.push(to);
  };
  return <a {...rest} href={to} onClick={follow} />;
}
