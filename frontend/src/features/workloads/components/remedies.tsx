// What makes a workload start: each edit with its simulated result, its difference, and the button that makes it.
import { useMutation, useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { type RefObject, useEffect, useRef, useState } from "react";

import { Button } from "@/components/ui/button";
import { CodeBlock } from "@/components/ui/code-block";
import { Modal } from "@/components/ui/modal";
import { announce } from "@/components/ui/notices";
import { problemOf } from "@/lib/api/problem";
import type { Explanation, Simulation, SpecEdit, WorkloadObject } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { PAST_REFUSAL } from "@/lib/past";
import { refusalFor } from "@/lib/permissions";

import { applyEdit, editSimulationQuery } from "../api/edits";
import { canBeUnblocked } from "../model/actions";
import { type Change, changesOf, requestWords, resultOf } from "../model/edits";
import styles from "./verdict.module.css";

export function Remedies({ explanation, workload }: { explanation: Explanation; workload: WorkloadObject }) {
  const { wouldUnblock } = explanation;
  const edits = useFirstEdits(explanation, workload);
  const list = useRef<HTMLUListElement>(null);
  if (!canBeUnblocked(workload)) return null;
  if (edits.length + wouldUnblock.length === 0) return null;
  return (
    <section aria-labelledby="remedies">
      <div className={styles.head}>
        <h2 id="remedies" className={styles.heading}>
          How to unblock
        </h2>
        {edits.length > 1 && <Pager list={list} count={edits.length} />}
      </div>
      {edits.length > 0 && (
        <ul ref={list} className={styles.cards}>
          {edits.map((edit) => (
            <RemedyCard key={edit.code + edit.name + JSON.stringify(edit.patch)} edit={edit} workload={workload} />
          ))}
        </ul>
      )}
      {wouldUnblock.length > 0 && (
        <ul className={styles.others}>
          {wouldUnblock.map((remedy) => (
            <li key={remedy}>{remedy}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** On phones one card is in sight at a time: which one, and how to go to its neighbors. */
function Pager({ list, count }: { list: RefObject<HTMLUListElement | null>; count: number }) {
  const [place, setPlace] = useState(0);
  useEffect(() => {
    const found = list.current;
    if (found === null) return undefined;
    const follow = () => setPlace(Math.round(found.scrollLeft / Math.max(1, found.clientWidth)));
    found.addEventListener("scroll", follow, { passive: true });
    return () => found.removeEventListener("scroll", follow);
  }, [list]);
  const go = (by: number) => list.current?.scrollBy({ left: by * list.current.clientWidth });
  return (
    <div className={styles.pager} role="group" aria-label="Edits">
      <Button look="quiet" shape="icon" aria-label="Previous edit" refusal={place === 0 ? "This is the first" : undefined} onClick={() => go(-1)}>
        <ChevronLeft aria-hidden="true" />
      </Button>
      <span>
        {place + 1} of {count}
      </span>
      <Button look="quiet" shape="icon" aria-label="Next edit" refusal={place === count - 1 ? "This is the last" : undefined} onClick={() => go(1)}>
        <ChevronRight aria-hidden="true" />
      </Button>
    </div>
  );
}

/** The edits as they were first offered: on a busy cluster their figures change faster than they are read. */
function useFirstEdits({ edits = [] }: Explanation, { metadata: { generation } }: WorkloadObject): SpecEdit[] {
  const [first, setFirst] = useState({ generation, edits });
  if (first.generation !== generation || (first.edits.length === 0 && edits.length > 0)) setFirst({ generation, edits });
  return first.edits;
}

/** It is simulated once it comes into view. */
function RemedyCard({ edit, workload }: { edit: SpecEdit; workload: WorkloadObject }) {
  const identity = useIdentity();
  const card = useRef<HTMLLIElement>(null);
  const wanted = useSeen(card);
  const [shown, setShown] = useState(false);
  const simulated = useQuery({ ...editSimulationQuery(edit, workload), enabled: wanted });
  const applying = useMutation({
    mutationFn: () => applyEdit(edit, workload),
    onSuccess: () => announce(`${edit.text}: applied`),
    onError: (error) => announce(problemOf(error).detail || String(error), "bad"),
  });
  const need = edit.kind === "Workload" ? ({ on: "workload", namespace: workload.metadata.namespace ?? "" } as const) : ({ on: "queue", clusterQueue: edit.name } as const);
  const role = refusalFor(identity, need);
  const refusal = role ?? (simulated.data === undefined ? "Simulate it first" : undefined);
  const changes = simulated.data === undefined ? [] : changesOf(simulated.data.manifest, edit);
  return (
    <li ref={card} className={styles.card}>
      <strong>{edit.text}</strong>
      <Simulated query={simulated} wanted={wanted} workloadKey={`${workload.metadata.namespace ?? ""}/${workload.metadata.name}`} />
      <div className={styles.actions}>
        <Button refusal={simulated.isFetching ? "Simulating…" : undefined} onClick={() => void simulated.refetch()}>
          Simulate again
        </Button>
        <Button refusal={simulated.data === undefined ? "Simulate it first" : undefined} onClick={() => setShown(true)}>
          Diff
        </Button>
        {role !== undefined && role !== PAST_REFUSAL && identity !== undefined ? (
          <Button hint={role} aria-label={`Copy request: ${edit.text}`} onClick={() => void copyRequest(edit, workload)}>
            Copy request
          </Button>
        ) : (
          <Button look="primary" refusal={applying.isPending ? "In progress…" : refusal} onClick={() => applying.mutate()} aria-label={`Apply: ${edit.text}`}>
            Apply
          </Button>
        )}
      </div>
      {shown && <DiffDialog edit={edit} changes={changes} onClose={() => setShown(false)} />}
    </li>
  );
}

/** Copies a request for the edit with the address of the workload. */
async function copyRequest(edit: SpecEdit, { metadata }: WorkloadObject): Promise<void> {
  await navigator.clipboard.writeText(`${requestWords(edit, `${metadata.namespace ?? ""}/${metadata.name}`)}\n${window.location.href}`);
  announce("Copied the request");
}

/** Whether an element has been in view. */
function useSeen(element: RefObject<HTMLElement | null>): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const found = element.current;
    if (found === null) return undefined;
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      setSeen(true);
    });
    observer.observe(found);
    return () => observer.disconnect();
  }, [element]);
  return seen;
}

interface SimulatedProps {
  query: { data?: { simulation: Simulation }; isError: boolean; error: unknown };
  wanted: boolean;
  workloadKey: string;
}

function Simulated({ query, wanted, workloadKey }: SimulatedProps) {
  if (query.isError) return <p className={styles.soft}>No result: {problemOf(query.error).detail || String(query.error)}</p>;
  if (query.data === undefined) return <p className={styles.soft}>{wanted ? "Simulating…" : "Not simulated yet"}</p>;
  const { words, good } = resultOf(query.data.simulation, workloadKey);
  const { evictions } = query.data.simulation;
  return (
    <p className={good ? styles.good : styles.soft}>
      {words}
      {evictions > 0 && `; ${evictions} evicted`}
    </p>
  );
}

function DiffDialog({ edit, changes, onClose }: { edit: SpecEdit; changes: Change[]; onClose: () => void }) {
  const lines = changes.flatMap(({ path, before, after }) => [
    ...(before === null ? [] : [`- ${path}: ${before}`]),
    ...(after === null ? [] : [`+ ${path}: ${after}`]),
  ]);
  return (
    <Modal open title={`Change of ${edit.kind} ${edit.name}`} words={edit.text} onClose={onClose}>
      <CodeBlock wrap label="change" text={lines.join("\n")} />
    </Modal>
  );
}
