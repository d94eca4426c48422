// What would become of the workload if it were submitted now, and what would make it start.
import { Send } from "lucide-react";

import { Button } from "@/components/ui/button";
import { CodeBlock } from "@/components/ui/code-block";
import { ProblemWords } from "@/components/ui/states";
import type { Problem } from "@/lib/api/problem";
import type { Simulation } from "@/lib/api/types";
import { formatShortTime } from "@/lib/format/times";

import { type Fields, commandOf, patched } from "../model/manifest";
import { forecastOf } from "../model/forecast";
import styles from "./submit.module.css";

export interface ForecastProps {
  text: string;
  fields: Fields;
  broken: string;
  problem: Problem | undefined;
  query: { data: Simulation | undefined; isFetching: boolean };
  /** The text has changed since the question. */
  isOld: boolean;
  never: boolean;
  confirming: boolean;
  refusal: string | undefined;
  onEdit: (text: string) => void;
  onSubmit: () => void;
}

export function Forecast({ text, fields, broken, problem, query, isOld, never, confirming, refusal, onEdit, onSubmit }: ForecastProps) {
  const told = query.data === undefined || problem !== undefined ? null : forecastOf(query.data, (at) => formatShortTime(at));
  return (
    <section className={styles.forecast} aria-labelledby="forecast">
      <h2 id="forecast">Forecast</h2>
      <div className={styles.verdict} data-tone={told?.tone ?? "idle"} role="status" aria-busy={isOld || query.isFetching}>
        {broken !== "" && <p>The manifest is not YAML: {broken}</p>}
        {broken === "" && problem && <ProblemWords problem={problem} />}
        {broken === "" && !problem && (
          <>
            <p className={styles.title}>{told?.title ?? (query.isFetching || isOld ? "Forecasting…" : "No forecast")}</p>
            {told?.details.map((words) => <p key={words}>{words}</p>)}
          </>
        )}
      </div>
      {told !== null && told.edits.length > 0 && (
        <div>
          <p className={styles.caption}>How to unblock</p>
          <div className={styles.edits}>
            {told.edits.map((edit) => (
              <Button key={edit.text} onClick={() => onEdit(patched(text, edit.patch))}>
                {edit.text}
              </Button>
            ))}
          </div>
        </div>
      )}
      <div className={styles.command}>
        <CodeBlock wrap label="command" text={commandOf(fields)} />
      </div>
      {confirming && <p role="alert">It can never start as the cluster is configured. Submit it anyway?</p>}
      <Button look="primary" refusal={refusal} onClick={onSubmit} hint="Ctrl Enter">
        <Send aria-hidden="true" />
        {never && confirming ? "Submit anyway" : "Submit"}
      </Button>
    </section>
  );
}
