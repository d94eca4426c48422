// The signed-in user, and signing out.
import { CircleUser } from "lucide-react";

import { Button } from "@/components/ui/button";
import { Menu } from "@/components/ui/menu";
import { signOut } from "@/lib/api/session";
import { useIdentity } from "@/lib/hooks/use-session";

export function PersonMenu({ onHelp }: { onHelp: () => void }) {
  const identity = useIdentity();
  return (
    <Menu
      heading={identity ? `${identity.name}, ${(identity.grants ?? []).map((grant) => grant.role).join(", ")}` : "Signed in"}
      trigger={
        <Button look="quiet" shape="icon" aria-label={identity ? `Signed in as ${identity.name}` : "Signed in"}>
          <CircleUser aria-hidden="true" />
        </Button>
      }
      items={[
        { key: "help", words: "Keyboard shortcuts", onSelect: onHelp },
        { key: "documentation", words: "Documentation", onSelect: () => window.open("/help", "_blank", "noopener") },
        { key: "docs", words: "API reference", onSelect: () => window.open("/docs", "_blank", "noopener") },
        { key: "out", words: "Sign out", onSelect: signOut },
      ]}
    />
  );
}
