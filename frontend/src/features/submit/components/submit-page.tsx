// Submitting a workload: a form and its manifest, with the forecast beside them.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";

import { Page } from "@/components/ui/layout";
import { announce } from "@/components/ui/notices";
import { Failed, Skeleton } from "@/components/ui/states";
import { problemOf } from "@/lib/api/problem";
import { workloadAddress } from "@/lib/events";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useIdentity } from "@/lib/hooks/use-session";
import { useSettled } from "@/lib/hooks/use-settled";
import { useUrl } from "@/lib/hooks/use-url";
import { refusalFor } from "@/lib/permissions";

import { cancelWorkload, forecastQuery, localQueuesQuery, originQuery, submitText } from "../api/submit";
import { TEMPLATES, againText, fieldsOf, syntaxError, templateText } from "../model/manifest";
import { Forecast } from "./forecast";
import { ManifestForm } from "./manifest-form";
import styles from "./submit.module.css";

const SETTLE_MILLISECONDS = 400;
const NEVER = "Unschedulable";

export function SubmitPage() {
  const url = useUrl();
  const from = url.get("from");
  const origin = useQuery(originQuery(from));
  const doors = useQuery(localQueuesQuery);
  const queues = (doors.data?.items ?? []).map(({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name}`);
  const waits = doors.isPending || (from !== "" && origin.isPending);
  const template = TEMPLATES.find(({ key }) => key === url.get("template")) ?? TEMPLATES[0];
  return (
    <Page title="Submit" over={from !== "" ? `From ${from} (resubmit with changes)` : undefined}>
      {from === "" && (
        <nav className={styles.templates} aria-label="Templates">
          {TEMPLATES.map(({ key, words }) => (
            <button key={key} type="button" className={styles.template} aria-pressed={key === template?.key} onClick={() => url.change({ template: key }, "replace")}>
              {words}
            </button>
          ))}
        </nav>
      )}
      {waits && <Skeleton rows={12} />}
      {origin.isError && <Failed error={origin.error} />}
      {!waits && !origin.isError && (
        <Editor
          // Another beginning is another manifest; what was typed into the one before is left.
          key={`${from} ${template?.key ?? ""}`}
          queues={queues}
          begin={origin.data ? againText(origin.data) : template ? templateText(template, queues[0] ?? "") : ""}
        />
      )}
    </Page>
  );
}

function Editor({ begin, queues }: { begin: string; queues: string[] }) {
  const { history } = useRouter();
  const identity = useIdentity();
  const [text, setText] = useState(begin);
  const [confirming, setConfirming] = useState(false);
  const settled = useSettled(text, SETTLE_MILLISECONDS);
  const fields = fieldsOf(text);
  const { namespace } = fieldsOf(settled);
  const broken = syntaxError(text);
  const submitting = useMutation({
    mutationFn: () => submitText(fields.namespace, text),
    onSuccess: ({ metadata: { name, namespace: written } }) => {
      const place = written ?? fields.namespace;
      announce(`${place}/${name} submitted`, "good", () => void cancelWorkload(place, name));
      history.push(workloadAddress(`${place}/${name}`));
    },
  });
  // Of a name that exists by now there is nothing to forecast.
  const isOpen = !submitting.isPending && !submitting.isSuccess;
  const forecast = useQuery({ ...forecastQuery(namespace, settled), enabled: isOpen && namespace !== "" && broken === "" });
  const never = forecast.data?.workloads[0]?.dominant === NEVER;
  const refusal = broken || (submitting.isPending ? "In progress…" : refusalFor(identity, { on: "workload", namespace: fields.namespace }));
  const submit = () => {
    if (refusal) return;
    if (never && !confirming) setConfirming(true);
    else submitting.mutate();
  };
  useHotkeys({ "Ctrl+enter": submit });
  const problem = submitting.isError ? problemOf(submitting.error) : forecast.isError ? problemOf(forecast.error) : undefined;
  const change = (next: string) => {
    setConfirming(false);
    setText(next);
  };
  return (
    <div className={styles.columns}>
      <div className={styles.stack}>
        <ManifestForm {...{ text, fields, queues }} errors={problem?.errors ?? []} onChange={change} />
        <details open>
          <summary>Manifest (YAML)</summary>
          <textarea className={styles.editor} aria-label="Manifest" aria-invalid={broken !== ""} spellCheck={false} rows={18} value={text} onChange={(event) => change(event.target.value)} />
        </details>
      </div>
      <Forecast
        {...{ text, fields, broken, problem, confirming, never }}
        query={forecast}
        isOld={settled !== text}
        refusal={refusal === "" ? undefined : refusal}
        onEdit={change}
        onSubmit={submit}
      />
    </div>
  );
}
