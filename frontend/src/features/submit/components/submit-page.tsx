// Submitting a workload: a form and its manifest, with the forecast beside them.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { Page } from "@/components/ui/layout";
import { announce } from "@/components/ui/notices";
import { Failed, Skeleton } from "@/components/ui/states";
import { queueRowsQuery } from "@/lib/api/capacity";
import { problemOf } from "@/lib/api/problem";
import { workloadAddress } from "@/lib/events";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useIdentity } from "@/lib/hooks/use-session";
import { useSettled } from "@/lib/hooks/use-settled";
import { useUrl } from "@/lib/hooks/use-url";
import { refusalFor } from "@/lib/permissions";

import { cancelWorkload, forecastQuery, gangQuery, localQueuesQuery, originQuery, submitText, topologiesQuery } from "../api/submit";
import { GPU, TEMPLATES, againText, fieldsOf, podRequest, syntaxError, templateText } from "../model/manifest";
import { freeWords, gangPlace, largestGang } from "../model/room";
import { Forecast } from "./forecast";
import { ManifestEditor } from "./manifest-editor";
import { ManifestForm } from "./manifest-form";
import styles from "./submit.module.css";

const SETTLE_MILLISECONDS = 400;
const NEVER = "Unschedulable";

export function SubmitPage() {
  const url = useUrl();
  const from = url.get("from");
  const origin = useQuery(originQuery(from));
  const doors = useQuery(localQueuesQuery);
  const queues = new Map((doors.data?.items ?? []).map(({ metadata, spec }) => [`${metadata.namespace ?? ""}/${metadata.name}`, spec.clusterQueue]));
  const [first = ""] = queues.keys();
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
          begin={origin.data ? againText(origin.data) : template ? templateText(template, first) : ""}
        />
      )}
    </Page>
  );
}

interface EditorProps {
  begin: string;
  /** The ClusterQueue of each LocalQueue, by `namespace/name`. */
  queues: ReadonlyMap<string, string>;
}

function Editor({ begin, queues }: EditorProps) {
  const { history } = useRouter();
  const identity = useIdentity();
  const [text, setText] = useState(begin);
  const [confirming, setConfirming] = useState(false);
  const settled = useSettled(text, SETTLE_MILLISECONDS);
  const fields = fieldsOf(text);
  const asked = fieldsOf(settled);
  const fault = syntaxError(text);
  const broken = fault?.message ?? "";
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
  const forecast = useQuery({ ...forecastQuery(asked.namespace, settled), enabled: isOpen && asked.namespace !== "" && broken === "" });
  const summary = useQuery(queueRowsQuery(GPU)).data;
  const topologies = useQuery(topologiesQuery).data?.items ?? [];
  const place = gangPlace(topologies, asked.required);
  const fits = useQuery(gangQuery(place?.topology ?? "", podRequest(asked)));
  const never = forecast.data?.workloads[0]?.dominant === NEVER;
  const nothing = text.trim() === "" ? "Nothing to submit yet" : "";
  const refusal = broken || nothing || (submitting.isPending ? "In progress…" : refusalFor(identity, { on: "workload", namespace: fields.namespace }));
  const submit = () => {
    if (refusal) return;
    if (never && !confirming) setConfirming(true);
    else submitting.mutate();
  };
  useHotkeys({ "Ctrl+enter": submit });
  const problem = submitting.isError ? problemOf(submitting.error) : forecast.isError ? problemOf(forecast.error) : undefined;
  const errors = useMemo(() => problem?.errors ?? [], [problem?.errors]);
  const change = (next: string) => {
    setConfirming(false);
    if (submitting.isError) submitting.reset();
    setText(next);
  };
  return (
    <div className={styles.columns}>
      <div className={styles.stack}>
        <ManifestForm {...{ text, fields, errors }} queues={[...queues.keys()]} free={freeWords(summary, queues.get(`${fields.namespace}/${fields.queue}`))} onChange={change} />
        <ManifestEditor text={text} fault={fault} errors={errors} onChange={change} />
      </div>
      <Forecast
        {...{ text, fields, broken, problem, confirming, never }}
        query={forecast}
        isOld={settled !== text}
        gang={largestGang(fits.isError ? undefined : fits.data, place)}
        refusal={refusal === "" ? undefined : refusal}
        onEdit={change}
        onSubmit={submit}
      />
    </div>
  );
}
