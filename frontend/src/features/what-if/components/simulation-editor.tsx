// The simulated change, and beside it what it would do.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { FlaskConical, Send } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { CodeEditor } from "@/components/ui/code-editor";
import { TextField } from "@/components/ui/fields";
import { RouterLink } from "@/components/ui/router-link";
import { Card } from "@/components/ui/layout";
import { announce } from "@/components/ui/notices";
import { Empty, Failed, PartialNote } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { ApplyResults } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { PAST_REFUSAL, shownMoment } from "@/lib/past";

import { applyDocuments, type Others, replayQuery, tryOut } from "../api/simulations";
import { type Draft, documentOf } from "../model/drafts";
import { DraftForm } from "./draft-form";
import { Outcome } from "./outcome";
import styles from "./what-if.module.css";

const NOTHING: Others = { priority: "", remove: "", cordon: "" };
const UNTRIED = "Run the simulation first";

export interface SimulationEditorProps {
  /** What the form begins with; without one there is no form, only documents. */
  draft?: Draft;
  documents?: string;
  others?: Others;
  title?: string;
  doors?: readonly string[];
  /** The recorded simulation that it begins with. */
  recorded?: Recorded;
}

interface Recorded {
  id: string;
  position: number;
  at: string;
}

export function SimulationEditor({ draft: first, documents: begin, others: begun = NOTHING, title: called = "", doors = [], recorded }: SimulationEditorProps) {
  const [draft, setDraft] = useState(first);
  const [documents, setDocuments] = useState(begin ?? (first ? documentOf(first) : ""));
  const [others, setOthers] = useState(begun);
  const [title, setTitle] = useState(called);
  const client = useQueryClient();
  const trying = useMutation({ mutationFn: tryOut, onSuccess: () => client.invalidateQueries({ queryKey: ["backtests", "simulations"] }) });
  const doing = useMutation({ mutationFn: () => applyDocuments(documents), onSuccess: tellOf });
  const isTried = trying.isSuccess && trying.variables.documents === documents;
  const isCurrent = isTried && trying.variables.others === others;
  const refusal = shownMoment() === "" ? (isTried ? undefined : UNTRIED) : PAST_REFUSAL;
  return (
    <>
      <div className={styles.actions}>
        <Button look="primary" onClick={() => trying.mutate({ documents, others, title: title.trim() })}>
          <FlaskConical aria-hidden="true" />
          {trying.isPending ? "Simulating…" : "Run simulation"}
        </Button>
        <Button refusal={refusal} onClick={() => doing.mutate()}>
          <Send aria-hidden="true" />
          Apply
        </Button>
        {trying.data && !isCurrent && <p role="status">Results are out of date. Run the simulation again.</p>}
      </div>
      {doing.isError && <Failed error={doing.error} />}
      {doing.data && <Applied results={doing.data} />}
      <div className={styles.columns}>
        <Card title={draft ? "Workload" : "Change"} padded>
          <div className={styles.stack}>
            {draft && (
              <DraftForm
                draft={draft}
                doors={doors}
                onChange={(next) => {
                  setDraft(next);
                  setDocuments(documentOf(next));
                }}
              />
            )}
            <CodeEditor compact label="Manifest to simulate" hint="YAML of workloads, queues, flavors or nodes" value={documents} onChange={setDocuments} />
            <TextField label="Title (optional)" maxLength={200} value={title} onChange={(event) => setTitle(event.target.value)} />
            <details className={styles.more} open={others !== NOTHING}>
              <summary>Additional changes</summary>
              <OtherChanges others={others} onChange={setOthers} />
            </details>
          </div>
        </Card>
        <div className={styles.results}>
          {trying.isError && <Failed error={trying.error} />}
          {trying.data && <Outcome found={trying.data} />}
          {trying.isIdle && (recorded ? <Replay recorded={recorded} documents={begin ?? ""} others={begun} /> : <Untried />)}
        </div>
      </div>
    </>
  );
}

function Replay({ recorded: { id, position, at }, documents, others }: { recorded: Recorded; documents: string; others: Others }) {
  const replay = useQuery(replayQuery(id, position, { documents, others }));
  return (
    <View query={replay} rows={6}>
      {(found) => <Outcome found={found} at={at} />}
    </View>
  );
}

function Untried() {
  return (
    <Card>
      <Empty title="No results yet">
        <p>Define a workload or edit a queue, flavor or node, then run the simulation.</p>
      </Empty>
    </Card>
  );
}

function OtherChanges({ others, onChange }: { others: Others; onChange: (others: Others) => void }) {
  const field = (name: keyof Others, label: string, placeholder: string) => (
    <TextField label={label} placeholder={placeholder} value={others[name]} onChange={(event) => onChange({ ...others, [name]: event.target.value })} />
  );
  return (
    <div className={styles.fields}>
      {field("priority", "Override priority", "team-a/train:100")}
      {field("remove", "Remove objects", "node/host-1")}
      {field("cordon", "Cordon nodes", "host-1,host-2")}
    </div>
  );
}

function Applied({ results: { results, warnings = [] } }: { results: ApplyResults }) {
  const workloads = results.filter((result) => result.kind === "Workload" && result.outcome !== "rejected");
  return (
    <>
      {warnings.map(({ kind, namespace, name, pointer, message, remedy }) => (
        <PartialNote key={kind + namespace + name + pointer + message}>
          {kind} {name}: {message} {remedy}
        </PartialNote>
      ))}
      <ul>
        {workloads.map(({ namespace, name }) => (
          <li key={`${namespace}/${name}`}>
            Go to <RouterLink to={workloadAddress(`${namespace}/${name}`)}>{`${namespace}/${name}`}</RouterLink>
          </li>
        ))}
      </ul>
    </>
  );
}

function tellOf({ results }: ApplyResults) {
  const refused = results.filter((result) => result.outcome === "rejected");
  announce(refused.length > 0 ? `${refused.length} refused: ${refused[0]?.problem?.detail ?? ""}` : `${results.length} applied`, refused.length > 0 ? "bad" : "good");
}
