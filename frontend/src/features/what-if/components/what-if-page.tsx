// What would happen: describe a workload or any change, try it out on a copy of the state, then do it.
import { useMutation, useQuery } from "@tanstack/react-query";
import { FlaskConical, Send } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import { Card, Page } from "@/components/ui/layout";
import { announce } from "@/components/ui/notices";
import { Empty, Failed, Skeleton } from "@/components/ui/states";
import { useUrl } from "@/lib/hooks/use-url";
import { PAST_REFUSAL, shownMoment } from "@/lib/past";

import { applyDocuments, type Others, patternQuery, tryOut } from "../api/simulations";
import { type Draft, FIRST_DRAFT, documentOf, likeness } from "../model/drafts";
import { Outcome } from "./outcome";
import styles from "./what-if.module.css";

const NOTHING: Others = { priority: "", remove: "", cordon: "" };

export function WhatIfPage() {
  const key = useUrl().get("workload");
  const pattern = useQuery(patternQuery(key));
  const begin = key === "" ? documentOf(FIRST_DRAFT) : pattern.data && likeness(pattern.data);
  return (
    <Page title="What-if" lead="Real rules and real cycles on a copy of the state: who would start, where, and who would have to go. Nothing is written.">
      {begin === undefined ? pattern.isError ? <Failed error={pattern.error} /> : <Skeleton rows={6} /> : <Bench key={key} begin={begin} form={key === ""} />}
    </Page>
  );
}

function Bench({ begin, form }: { begin: string; form: boolean }) {
  const [documents, setDocuments] = useState(begin);
  const [others, setOthers] = useState(NOTHING);
  const trying = useMutation({ mutationFn: () => tryOut(documents, others) });
  const doing = useMutation({
    mutationFn: () => applyDocuments(documents),
    onSuccess: ({ results }) => {
      const refused = results.filter((result) => result.outcome === "rejected");
      announce(refused.length > 0 ? `${refused.length} refused: ${refused[0]?.problem?.detail ?? ""}` : `${results.length} applied`, refused.length > 0 ? "bad" : "good");
    },
  });
  const refusal = shownMoment() === "" ? undefined : PAST_REFUSAL;
  return (
    <div className={styles.columns}>
      <div className={styles.stack}>
        {form && <Form onDocument={setDocuments} />}
        <Card title="What is applied (YAML)" padded>
          <textarea
            className={styles.editor}
            aria-label="Documents to try out"
            spellCheck={false}
            rows={18}
            value={documents}
            onChange={(event) => setDocuments(event.target.value)}
          />
        </Card>
        <Card title="What is changed besides" padded>
          <div className={styles.fields}>
            <TextField label="Another priority" placeholder="team-a/train:100" value={others.priority} onChange={(event) => setOthers({ ...others, priority: event.target.value })} />
            <TextField label="Leave out" placeholder="node/host-1" value={others.remove} onChange={(event) => setOthers({ ...others, remove: event.target.value })} />
            <TextField label="Cordon nodes" placeholder="host-1,host-2" value={others.cordon} onChange={(event) => setOthers({ ...others, cordon: event.target.value })} />
          </div>
        </Card>
        <div className={styles.actions}>
          <Button look="primary" onClick={() => trying.mutate()}>
            <FlaskConical aria-hidden="true" />
            {trying.isPending ? "Trying…" : "Try it out"}
          </Button>
          <Button refusal={refusal} onClick={() => doing.mutate()}>
            <Send aria-hidden="true" />
            Apply it in earnest
          </Button>
        </div>
        {doing.isError && <Failed error={doing.error} />}
      </div>
      <div className={styles.stack}>
        {trying.isError && <Failed error={trying.error} />}
        {trying.data ? (
          <Outcome found={trying.data} />
        ) : (
          !trying.isError && (
            <Empty title="Nothing has been tried yet">
              <p>Describe a workload, or change a queue, a flavor or a node, and see what would come of it.</p>
            </Empty>
          )
        )}
      </div>
    </div>
  );
}

function Form({ onDocument }: { onDocument: (documents: string) => void }) {
  const [draft, setDraft] = useState(FIRST_DRAFT);
  const field = (name: keyof Draft, label: string) => (
    <TextField
      label={label}
      value={draft[name]}
      onChange={(event) => {
        const next = { ...draft, [name]: event.target.value };
        setDraft(next);
        onDocument(documentOf(next));
      }}
    />
  );
  return (
    <Card title="A workload by a form" padded>
      <div className={styles.fields}>
        {field("name", "Name")}
        {field("namespace", "Namespace")}
        {field("queue", "Queue")}
        {field("pods", "Pods")}
        {field("cpu", "CPU of a pod")}
        {field("gpu", "GPUs of a pod")}
        {field("priority", "Priority")}
      </div>
    </Card>
  );
}
