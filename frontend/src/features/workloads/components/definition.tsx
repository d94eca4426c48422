// The workload as a document, and the commands that read it elsewhere.
import { stringify } from "yaml";

import { CodeBlock } from "@/components/ui/code-block";
import { SelectField } from "@/components/ui/fields";
import { Card } from "@/components/ui/layout";
import { curlOf, quoted } from "@/lib/actions";
import type { WorkloadObject } from "@/lib/api/types";
import { useUrl } from "@/lib/hooks/use-url";

import { partsOf } from "../api/workloads";
import styles from "./workload-page.module.css";

const FORMS = [
  { value: "yaml", words: "YAML" },
  { value: "json", words: "JSON" },
] as const;

export function Definition({ workload, workloadKey }: { workload: WorkloadObject; workloadKey: string }) {
  const url = useUrl();
  const form = url.get("as") || "yaml";
  const { namespace, name } = partsOf(workloadKey);
  const address = `${window.location.origin}/v1/namespaces/${encodeURIComponent(namespace)}/workloads/${encodeURIComponent(name)}`;
  return (
    <div className={styles.stack}>
      <Card
        title="Manifest"
        padded
        aside={<SelectField label="Format" options={FORMS} value={form} onChange={(event) => url.change({ as: event.target.value }, "replace")} />}
      >
        <CodeBlock label="definition" text={form === "json" ? JSON.stringify(workload, null, 2) : stringify(workload)} />
      </Card>
      <Card title="CLI and API" padded>
        <div className={styles.stack}>
          <CodeBlock wrap label="command" text={`headgate get wl ${quoted(name)} -n ${quoted(namespace)} -o yaml`} />
          <CodeBlock wrap label="command" text={`headgate why ${quoted(name)} -n ${quoted(namespace)}`} />
          <CodeBlock wrap label="curl request" text={curlOf("GET", address)} />
        </div>
      </Card>
    </div>
  );
}
