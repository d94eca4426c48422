// What the ledger is narrowed to; it lives in the address, so that it can be shared.
import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import type { UrlState } from "@/lib/hooks/use-url";

import styles from "./preemptions.module.css";

const FIELDS = ["workload", "clusterQueue", "cohort"] as const;

export function PreemptionFilters({ url }: { url: UrlState }) {
  const narrowed = FIELDS.some((name) => url.get(name) !== "");
  return (
    <form
      className={styles.narrowing}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const data = new FormData(event.currentTarget);
        const text = (name: string) => {
          const value = data.get(name);
          return typeof value === "string" ? value.trim() : "";
        };
        url.change(Object.fromEntries(FIELDS.map((name) => [name, text(name)])));
      }}
    >
      <TextField label="Workload" name="workload" placeholder="namespace/name" defaultValue={url.get("workload")} key={`w${url.get("workload")}`} />
      <TextField label="ClusterQueue" name="clusterQueue" defaultValue={url.get("clusterQueue")} key={`q${url.get("clusterQueue")}`} />
      <TextField label="Cohort" name="cohort" defaultValue={url.get("cohort")} key={`c${url.get("cohort")}`} />
      <Button type="submit">Apply filters</Button>
      {narrowed && (
        <Button look="quiet" onClick={() => url.change({ workload: "", clusterQueue: "", cohort: "" })}>
          Clear filters
        </Button>
      )}
    </form>
  );
}
