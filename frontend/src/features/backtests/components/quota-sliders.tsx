// One slider and one field for each quota of a resource, and their sum beside what hosts offer.
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";

import { Card } from "@/components/ui/layout";
import { RouterLink } from "@/components/ui/router-link";

import { offeredQuery } from "../api/lab";
import { chosenFirst, type Edits, linesOf, type QueueManifest, type QuotaLine, sliderMaximum, triedOf, unitOf, withEdit } from "../model/lab";
import styles from "./lab.module.css";

const LARGE_STEP = 8;
const ARROWS: Record<string, number> = { ArrowLeft: -LARGE_STEP, ArrowDown: -LARGE_STEP, ArrowRight: LARGE_STEP, ArrowUp: LARGE_STEP };
/** In a field, left and right move within the number. */
const UPRIGHT = { ArrowDown: -LARGE_STEP, ArrowUp: LARGE_STEP };
const MILLI = 1_000;
const GIBIBYTE = 2 ** 30;

export interface QuotaSlidersProps {
  queues: QueueManifest[];
  resource: string;
  edits: Edits;
  /** The ClusterQueue that the page was opened for; its quotas stand first. */
  chosen: string;
  onChange: (edits: Edits) => void;
}

export function QuotaSliders({ queues, resource, edits, chosen, onChange }: QuotaSlidersProps) {
  const lines = chosenFirst(linesOf(queues, resource), chosen);
  const list = useRef<HTMLUListElement>(null);
  // The first quota of the chosen queue is the one to move.
  useEffect(() => {
    const fields = list.current?.querySelectorAll<HTMLElement>("[data-chosen] input") ?? [];
    [...fields].find((field) => field.offsetParent !== null)?.focus({ preventScroll: true });
  }, [chosen]);
  const unit = unitOf(resource);
  const hosts = useQuery(offeredQuery(resource));
  const offered = inUnit(unit, hosts.data ?? 0);
  const maximum = sliderMaximum(lines, offered);
  const total = lines.reduce((sum, line) => sum + triedOf(line, edits).nominal, 0);
  return (
    <Card title={`Quota, ${unit}`} aside={<span className={styles.hint}>arrow keys: 1, with Shift: 8</span>}>
      <ul ref={list} className={styles.quotas} data-borrows={lines.some(({ borrowing }) => borrowing !== undefined) || undefined}>
        <li className={styles.heads} aria-hidden="true">
          <span>ClusterQueue, flavor</span>
          <span>nominal</span>
          <span />
          <span>borrow up to</span>
        </li>
        {lines.map((line) => (
          <Quota key={line.key} line={line} edits={edits} maximum={maximum} isChosen={line.queue === chosen} onChange={onChange} />
        ))}
      </ul>
      <p className={styles.total} role="status">
        <span>Total nominal</span>
        <span className="number">
          {amount(total)} {unit}
        </span>
        {hosts.data !== undefined && hosts.data > 0 && (
          <span data-tone={total > offered ? "wait" : undefined}>{total > offered ? `${amount(total - offered)} more than hosts offer` : `hosts offer ${amount(offered)}`}</span>
        )}
      </p>
    </Card>
  );
}

interface QuotaProps {
  line: QuotaLine;
  edits: Edits;
  maximum: number;
  isChosen: boolean;
  onChange: (edits: Edits) => void;
}

function Quota({ line, edits, maximum, isChosen, onChange }: QuotaProps) {
  const { nominal, borrowing } = triedOf(line, edits);
  const shift = nominal - line.nominal;
  // What is typed may be empty for a moment; the quota stays until there is a number.
  const [isEmpty, setIsEmpty] = useState(false);
  const set = (value: number) => onChange(withEdit(edits, line, { nominal: Math.min(Math.max(0, value), 1e12) }));
  const stepBy = (keys: Record<string, number>) => (event: KeyboardEvent) => {
    const step = keys[event.key];
    if (step === undefined || !event.shiftKey) return;
    event.preventDefault();
    set(Math.min(Math.max(maximum, nominal), nominal + step));
  };
  const name = `${line.queue}, ${line.flavor}`;
  return (
    <li data-chosen={isChosen || undefined}>
      <span className={styles.name}>
        <RouterLink to={`/queues/${encodeURIComponent(line.queue)}`}>{line.queue}</RouterLink>
        <span className={styles.flavor}>{line.flavor}</span>
      </span>
      <input
        type="range"
        className={styles.slider}
        aria-label={`Nominal quota of ${name}`}
        aria-valuetext={`${amount(nominal)} ${unitOf(line.resource)}`}
        min={0}
        max={Math.max(maximum, nominal)}
        step={1}
        value={nominal}
        onChange={(event) => set(Number(event.target.value))}
        onKeyDown={stepBy(ARROWS)}
      />
      <input type="number" className={styles.amount} aria-label={`Nominal quota of ${name}, number`} min={0} step={1} value={isEmpty ? "" : nominal}
        onBlur={() => setIsEmpty(false)}
        onKeyDown={stepBy(UPRIGHT)}
        onChange={(event) => {
          setIsEmpty(event.target.value === "");
          if (event.target.value !== "") set(Number(event.target.value));
        }}
      />
      <span className={styles.shift}>
        {shift === 0 ? "" : `${shift > 0 ? "+" : "−"}${amount(Math.abs(shift))}`}
      </span>
      {borrowing !== undefined && (
        <input
          type="number"
          className={`${styles.amount ?? ""} ${styles.borrowing ?? ""}`}
          aria-label={`Borrowing limit of ${name}`}
          placeholder="no limit"
          min={0}
          step={1}
          value={borrowing ?? ""}
          onChange={(event) => onChange(withEdit(edits, line, { borrowing: event.target.value === "" ? null : Math.max(0, Number(event.target.value)) }))}
        />
      )}
    </li>
  );
}

/** Base units of the API in the unit of the sliders. */
function inUnit(unit: string, base: number): number {
  if (unit === "CPU") return base / MILLI;
  return unit === "GiB" ? base / GIBIBYTE : base;
}

function amount(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 1 });
}
