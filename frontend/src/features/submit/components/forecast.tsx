// What would become of the workload if it were submitted now, and what would make it start.
import { ChevronUp, Send } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { CodeBlock } from "@/components/ui/code-block";
import { ConstraintBar } from "@/components/ui/constraint-bar";
import { bindingOf } from "@/components/ui/constraint-model";
import { Modal } from "@/components/ui/modal";
import { ProblemWords } from "@/components/ui/states";
import type { Problem } from "@/lib/api/problem";
import type { Simulation } from "@/lib/api/types";
import { formatRelative, formatShortTime } from "@/lib/format/times";
import { NARROW, useMedia } from "@/lib/hooks/use-media";
import { useNow } from "@/lib/hooks/use-now";

import { type ForecastWords, forecastOf } from "../model/forecast";
import { type Fields, commandOf, costOf, patched } from "../model/manifest";
import styles from "./submit.module.css";

export interface ForecastProps {
  text: string;
  fields: Fields;
  broken: string;
  problem: Problem | undefined;
  query: { data: Simulation | undefined; isFetching: boolean; dataUpdatedAt: number };
  /** The text has changed since the question. */
  isOld: boolean;
  /** The largest gang of its pods that one domain takes now. */
  gang: FactProps;
  never: boolean;
  confirming: boolean;
  refusal: string | undefined;
  onEdit: (text: string) => void;
  onSubmit: () => void;
}

/** Beside the form; where there is no room for it, two lines above the button, which open it. */
export function Forecast(props: ForecastProps) {
  const { query, problem, broken } = props;
  const [isOpen, setOpen] = useState(false);
  const isNarrow = useMedia(NARROW);
  const told = query.data === undefined || problem !== undefined || broken !== "" ? null : forecastOf(query.data, (at) => formatShortTime(at));
  if (!isNarrow) {
    return (
      <section className={styles.forecast} aria-labelledby="forecast">
        <header className={styles.head}>
          <h2 id="forecast">Forecast</h2>
          <Age query={query} />
        </header>
        <Details {...props} told={told} />
        <SubmitButton {...props} />
      </section>
    );
  }
  return (
    <section className={styles.strip} aria-label="Forecast">
      <button type="button" className={styles.summary} data-tone={told?.tone ?? "idle"} aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <span aria-live="polite">{titleOf(props, told)}</span>
        <span>{[told?.position, costOf(props.text)].filter(Boolean).join(", ") || "Show details"}</span>
        <ChevronUp aria-hidden="true" />
      </button>
      <SubmitButton {...props} />
      <Modal open={isOpen} title="Forecast" sheet onClose={() => setOpen(false)}>
        <Age query={query} />
        <Details {...props} told={told} />
      </Modal>
    </section>
  );
}

function titleOf({ broken, problem, query, isOld }: ForecastProps, told: ForecastWords | null): string {
  if (broken !== "") return "The manifest is not YAML";
  if (problem) return problem.errors?.length ? `${problem.errors.length === 1 ? "1 field is" : `${problem.errors.length} fields are`} invalid` : "No forecast";
  return told?.title ?? (query.isFetching || isOld ? "Forecasting…" : "No forecast");
}

function Age({ query: { data, dataUpdatedAt } }: Pick<ForecastProps, "query">) {
  const now = useNow();
  return <span className={styles.age}>{data && `updated ${formatRelative(new Date(dataUpdatedAt).toISOString(), Math.max(now, dataUpdatedAt))}`}</span>;
}

function Details(props: ForecastProps & { told: ForecastWords | null }) {
  const { text, fields, broken, problem, query, isOld, gang, told, onEdit } = props;
  const binding = told !== null && told.edits.length > 0 && query.data?.workloads[0] ? bindingOf(query.data.workloads[0]) : null;
  const cost = costOf(text);
  return (
    <>
      <div className={styles.verdict} data-tone={told?.tone ?? "idle"} role="status" aria-busy={isOld || query.isFetching}>
        {broken !== "" && <p>The manifest is not YAML: {broken}</p>}
        {broken === "" && problem && <ProblemWords problem={problem} />}
        {broken === "" && !problem && (
          <>
            <p className={styles.title}>{titleOf(props, told)}</p>
            {told?.details.map((words) => <p key={words}>{words}</p>)}
            {told?.position && <p>{told.position}</p>}
          </>
        )}
      </div>
      {binding !== null && <ConstraintBar blocker={binding} />}
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
      <dl className={styles.facts}>
        <Fact term="Would preempt" words={told?.preempts ?? ""} />
        <Fact {...gang} />
        <Fact term="Cost" words={cost} />
      </dl>
      <div>
        <CodeBlock wrap label="command" text={commandOf(fields)} />
      </div>
    </>
  );
}

export interface FactProps {
  term: string;
  /** Empty where it is not known, so that nothing is said of it. */
  words: string;
}

function Fact({ term, words }: FactProps) {
  if (words === "") return null;
  return (
    <div>
      <dt>{term}</dt>
      <dd>{words}</dd>
    </div>
  );
}

function SubmitButton({ never, confirming, refusal, onSubmit }: ForecastProps) {
  return (
    <>
      {confirming && <p role="alert">It can never start as the cluster is configured. Submit it anyway?</p>}
      <Button look="primary" refusal={refusal} onClick={onSubmit} hint="Ctrl Enter">
        <Send aria-hidden="true" />
        {never && confirming ? "Submit anyway" : "Submit"}
      </Button>
    </>
  );
}
