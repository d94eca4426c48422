// The slider through the log: marks for decisions and configuration, and the banner of the past.
import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, History, Undo2 } from "lucide-react";
import { type SubmitEvent, useState } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useFreshness } from "@/lib/hooks/use-live";
import { useMoment } from "@/lib/hooks/use-moment";
import { positionOf, showMoment } from "@/lib/past";

import { type Mark, markAfter, markBefore, marksQuery, momentQuery, shareOf } from "./past-marks";
import styles from "./past-bar.module.css";

const NONE: Mark[] = [];

export function PastBar({ onClose }: { onClose: () => void }) {
  const moment = useMoment();
  const marks = useQuery(marksQuery());
  const shown = useQuery(momentQuery(moment));
  const { position: heard } = useFreshness();
  const head = Math.max(marks.data?.head ?? 0, heard);
  const position = moment === "" ? head : (shown.data?.position ?? positionOf(moment) ?? head);
  const known = marks.data?.marks ?? NONE;
  const close = () => {
    showMoment("");
    onClose();
  };
  const step = (mark: Mark | undefined) => mark && showMoment(String(mark.position));
  useHotkeys({ "[": () => step(markBefore(known, position)), "]": () => step(markAfter(known, position)) });
  return (
    <section className={styles.bar} aria-label="Time travel" data-past={moment !== "" || undefined}>
      <div className={styles.words}>
        <History aria-hidden="true" />
        {moment === "" ? (
          <span>Live. Drag the slider to view an earlier state.</span>
        ) : (
          <strong role="status">
            <span title={`Event #${position}`}>Viewing {position === 0 ? "the empty log" : <Timestamp at={shown.data?.at} />}</span>. Read-only.
          </strong>
        )}
        <span className={styles.grow} />
        <Button onClick={close}>
          <Undo2 aria-hidden="true" />
          Return to live
        </Button>
      </div>
      <div className={styles.controls}>
        <Step label="Previous change" mark={markBefore(known, position)} />
        <Slider head={head} position={position} marks={known} />
        <Step label="Next change" mark={markAfter(known, position)} />
        <Jump />
      </div>
      <Latest mark={known.find((mark) => mark.position <= position)} cycle={known.find((mark) => mark.kind === "decision" && mark.position <= position)} />
    </section>
  );
}

function Slider({ head, position, marks }: { head: number; position: number; marks: Mark[] }) {
  // Held while a hand is on it: the log goes on growing, and must not pull the thumb away.
  const [draft, setDraft] = useState<number | null>(null);
  const value = draft ?? position;
  const settle = () => {
    if (draft !== null && draft !== position) showMoment(draft >= head ? "" : String(draft));
    setDraft(null);
  };
  return (
    <div className={styles.slider}>
      <input
        type="range"
        min={0}
        max={head}
        value={value}
        aria-label="Revision"
        aria-valuetext={`Revision ${value} of ${head}`}
        onChange={(event) => setDraft(Number(event.target.value))}
        onPointerUp={settle}
        onKeyUp={settle}
        onBlur={settle}
      />
      <div className={styles.marks} aria-hidden="true">
        {marks.map((mark) => (
          <span key={`${mark.kind}${mark.position}`} data-kind={mark.kind} title={mark.words} style={{ left: shareOf(mark.position, head) }} />
        ))}
      </div>
    </div>
  );
}

function Step({ label, mark }: { label: string; mark: Mark | undefined }) {
  const refusal = mark === undefined ? `No ${label.toLowerCase()}` : undefined;
  const Icon = label.startsWith("Previous") ? ChevronLeft : ChevronRight;
  return (
    <Button
      look="quiet"
      shape="icon"
      aria-label={label}
      hint={mark === undefined ? label : `${label}: ${mark.words}`}
      refusal={refusal}
      onClick={() => mark && showMoment(String(mark.position))}
    >
      <Icon aria-hidden="true" />
    </Button>
  );
}

function Jump() {
  const [text, setText] = useState("");
  const go = (event: SubmitEvent) => {
    event.preventDefault();
    if (text.trim() !== "") showMoment(text.trim());
  };
  return (
    <form className={styles.jump} onSubmit={go}>
      <TextField label="Revision or timestamp" placeholder="2026-09-24T12:00:00Z" value={text} onChange={(event) => setText(event.target.value)} />
      <Button type="submit">Go</Button>
    </form>
  );
}

function Latest({ mark, cycle }: { mark: Mark | undefined; cycle: Mark | undefined }) {
  if (mark === undefined) return null;
  return (
    <p className={styles.latest}>
      <span title={`Event #${mark.position}`}>Last change: {mark.words}.</span>{" "}
      {cycle && <RouterLink to={cycle.address}>Open the last scheduling cycle</RouterLink>}
    </p>
  );
}
