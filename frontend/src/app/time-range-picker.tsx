// Chooses the time range of all pages: a preset, a typed length, or two instants.
import { CalendarClock, Link2 } from "lucide-react";
import { Popover } from "radix-ui";
import { type SubmitEvent, useState } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import { announce } from "@/components/ui/notices";
import { zoneInstant, zoneName, zoneText } from "@/lib/format/zone";
import { useFreshness } from "@/lib/hooks/use-live";
import { useTimeRange } from "@/lib/hooks/use-time-range";
import { searchWith } from "@/lib/hooks/use-url";
import { shownMoment } from "@/lib/past";
import { PRESETS, type TimeRange, boundsOf, fixedRange, parametersOf, rangeBetween, rangeWords, secondsOf } from "@/lib/time-range";

import styles from "./time-range-picker.module.css";

export function TimeRangePicker() {
  const [range, choose] = useTimeRange();
  const [open, setOpen] = useState(false);
  const take = (next: TimeRange) => {
    choose(next);
    setOpen(false);
  };
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <Button className={styles.trigger} aria-label={`Time range: ${rangeWords(range)}`}>
          <CalendarClock aria-hidden="true" />
          <span className={styles.words}>{rangeWords(range)}</span>
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className={styles.panel} align="end" sideOffset={4} aria-label="Time range">
          <ul className={styles.presets}>
            {PRESETS.map(({ value, words }) => (
              <li key={value}>
                <Button look="quiet" aria-pressed={range.last === value} onClick={() => take({ last: value, from: "", to: "" })}>
                  {words}
                </Button>
              </li>
            ))}
          </ul>
          <div className={styles.custom}>
            <Custom range={range} onChoose={take} />
            <IncidentLink range={range} />
          </div>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

/** The address of this page with absolute times and the position, which shows others the same later. */
function IncidentLink({ range }: { range: TimeRange }) {
  const { position } = useFreshness();
  const copy = async () => {
    const search = searchWith(window.location.search, { ...parametersOf(fixedRange(range, Date.now())), at: shownMoment() || String(position) });
    await navigator.clipboard.writeText(`${window.location.origin}${window.location.pathname}${search}`);
    announce("Incident link copied");
  };
  return (
    <Button onClick={() => void copy().catch(() => announce("The link could not be copied", "bad"))}>
      <Link2 aria-hidden="true" />
      Copy incident link
    </Button>
  );
}

function Custom({ range, onChoose }: { range: TimeRange; onChoose: (range: TimeRange) => void }) {
  const [[from, to]] = useState(() => boundsOf(range, Date.now()));
  const [length, setLength] = useState("");
  const [start, setStart] = useState(zoneText(from));
  const [end, setEnd] = useState(zoneText(to));
  const isLength = secondsOf(length) !== undefined;
  const bounds = [zoneInstant(start), zoneInstant(end)] as const;
  const isValid = length.trim() === "" ? bounds[0] < bounds[1] : isLength;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!isValid) return;
    onChoose(isLength ? { last: length.replaceAll(/\s/g, "").toLowerCase(), from: "", to: "" } : rangeBetween(...bounds));
  };
  return (
    <form className={styles.custom} onSubmit={submit}>
      <TextField label="Length until now" placeholder="90m, 2h, 3d" value={length} onChange={(event) => setLength(event.target.value)} />
      <TextField label="From" type="datetime-local" step={1} value={start} onChange={(event) => setStart(event.target.value)} />
      <TextField label="To" type="datetime-local" step={1} value={end} onChange={(event) => setEnd(event.target.value)} />
      <p className={styles.zone}>Time zone {zoneName()}</p>
      <Button type="submit" refusal={isValid ? undefined : "The range has no length"}>
        Apply
      </Button>
    </form>
  );
}
