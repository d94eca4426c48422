// Changes of the configuration, of all objects or of those that the address names.
import { useRouter } from "@tanstack/react-router";

import { Button } from "@/components/ui/button";
import { ChangeList } from "@/components/ui/change-list";
import { Page } from "@/components/ui/layout";
import { RouterLink } from "@/components/ui/router-link";
import { changesAddress } from "@/lib/events";
import { useUrl } from "@/lib/hooks/use-url";

/** The changes of all objects, or of those that the address names. */
export function ChangesPage({ stream = "" }: { stream?: string }) {
  const { history } = useRouter();
  const url = useUrl();
  const kind = stream === "" ? url.get("kind") : "";
  return (
    <Page
      title="All changes"
      over={<RouterLink to="/configuration">Configuration</RouterLink>}
      actions={(stream || kind) && <Button onClick={() => history.push("/configuration?view=changes")}>Show all objects, not only {stream || kind}</Button>}
    >
      <ChangeList kind={kind} stream={stream} onOnly={stream === "" ? (only) => history.push(changesAddress(only)) : undefined} />
    </Page>
  );
}
