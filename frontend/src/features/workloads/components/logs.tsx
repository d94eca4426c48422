// What the pods of a workload write: followed, searched, and downloaded.
import { useInfiniteQuery } from "@tanstack/react-query";
import { ArrowDown, Clock, Palette, Play, WrapText } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { Card } from "@/components/ui/layout";
import { LogViewer } from "@/components/ui/log-viewer";
import { Empty, Failed, PartialNote, Skeleton } from "@/components/ui/states";
import type { Pod, WorkloadObject } from "@/lib/api/types";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useIsNarrow } from "@/lib/hooks/use-is-narrow";
import { useUrl } from "@/lib/hooks/use-url";
import { shownMoment } from "@/lib/past";

import { type LogSelection, podsQuery } from "../api/pods";
import { type PodLogs, usePodLogs } from "../api/use-pod-logs";
import { hasEnded, stageOf } from "../model/actions";
import { podName } from "../model/pods";
import { DownloadButton, useLogSearch } from "./log-tools";
import styles from "./logs.module.css";

const TAIL_LINES = 5_000;
const MAX_PODS_AT_ONCE = 32;
const ALL = "all";
const SWITCHES = { wrap: WrapText, time: Clock, colors: Palette } as const;
type Switch = keyof typeof SWITCHES;
const WORDS: Record<Switch, string> = { wrap: "Wrap", time: "Time", colors: "Colors" };

export function Logs({ workload, workloadKey }: { workload: WorkloadObject; workloadKey: string }) {
  if (shownMoment() !== "") return <Empty title="Logs are not available in the past">Return to live to read the logs of the pods.</Empty>;
  return <PresentLogs workload={workload} workloadKey={workloadKey} />;
}

function PresentLogs({ workload, workloadKey }: { workload: WorkloadObject; workloadKey: string }) {
  const url = useUrl();
  const attempt = url.get("attempt");
  const pods = useInfiniteQuery(podsQuery(workloadKey, { attempt, state: "", podSet: "", node: "", runs: "" }));
  const page = pods.data?.pages[0];
  const known = page?.items ?? [];
  const isMany = page?.continue != null || known.length > MAX_PODS_AT_ONCE;
  if (pods.data === undefined && !pods.isError) return <Skeleton rows={8} />;
  const preferred = known.find(({ state }) => state === "Failed") ?? known[0];
  const chosen = url.get("pod") || (isMany && preferred ? podName(preferred) : ALL);
  const selection = { attempt, pod: chosen === ALL ? "" : chosen, run: url.get("run"), stream: url.get("stream") };
  return (
    <Shown
      key={workloadKey}
      {...{ workload, workloadKey, selection, pods: known, attempts: (page?.attempts ?? []).map((found) => found.attempt) }}
      onSelect={(changes) => url.change(changes, "replace")}
    />
  );
}

interface ShownProps {
  workload: WorkloadObject;
  workloadKey: string;
  selection: LogSelection;
  pods: Pod[];
  attempts: number[];
  onSelect: (changes: Record<string, string>) => void;
}

function Shown({ workload, workloadKey, selection, pods, attempts, onSelect }: ShownProps) {
  const frame = useRef<HTMLDivElement>(null);
  const isNarrow = useIsNarrow(frame);
  const [isWhole, setWhole] = useState(false);
  const logs = usePodLogs(workloadKey, selection, isWhole ? undefined : TAIL_LINES);
  const { lines, dropped } = logs.buffer;
  const total = lines.length + dropped;
  // How many lines there were when following was paused; undefined while it goes on.
  const [pausedAt, setPausedAt] = useState<number>();
  const isFollowing = pausedAt === undefined;
  const setFollowing = (follows: boolean) => setPausedAt(follows ? undefined : total);
  const [isOn, setOn] = useState<Partial<Record<Switch, boolean>>>({});
  const switches = { wrap: isNarrow, time: false, colors: true, ...isOn };
  const flip = (name: Switch) => setOn({ ...isOn, [name]: !switches[name] });
  const search = useLogSearch(logs, () => setFollowing(false));
  useHotkeys({
    f: () => setFollowing(!isFollowing),
    w: () => flip("wrap"),
    ...Object.fromEntries(pods.slice(0, 10).map((pod) => [String(pod.rank), () => onSelect({ pod: podName(pod), run: "" })])),
  });
  return (
    <Card>
      <div ref={frame}>
        <search className={styles.bar} aria-label="Choose and search logs">
          <Choice {...{ selection, pods, attempts, onSelect }} />
          {search.field}
        </search>
        <div className={styles.note}>
          <div className={styles.switches}>
            <Switches switches={switches} onFlip={flip} />
            <Button look="quiet" aria-pressed={isFollowing} onClick={() => setFollowing(!isFollowing)}>
              <Play aria-hidden="true" />
              Follow
            </Button>
            <DownloadButton workloadKey={workloadKey} selection={selection} />
          </div>
          {!isWhole && logs.buffer.beginsLate && <Tail onWhole={() => setWhole(true)} />}
        </div>
        {dropped > 0 && <PartialNote>{dropped.toLocaleString("en")} earlier lines are not shown; the download has them.</PartialNote>}
        <Output {...{ workload, logs }}>
          <LogViewer
            label="Logs"
            lines={lines}
            isFollowing={isFollowing}
            onFollow={setFollowing}
            wraps={switches.wrap}
            withTimes={switches.time}
            withColors={switches.colors}
            withRanks={selection.pod === ""}
            {...search.shown}
          />
        </Output>
        <Below link={logs.link} total={total} late={pausedAt === undefined ? undefined : total - pausedAt} onEnd={() => setFollowing(true)} />
      </div>
    </Card>
  );
}

function Switches({ switches, onFlip }: { switches: Record<Switch, boolean>; onFlip: (name: Switch) => void }) {
  return (Object.keys(SWITCHES) as Switch[]).map((name) => {
    const Icon = SWITCHES[name];
    return (
      <Button key={name} look="quiet" aria-pressed={switches[name]} onClick={() => onFlip(name)}>
        <Icon aria-hidden="true" />
        {WORDS[name]}
      </Button>
    );
  });
}

function Tail({ onWhole }: { onWhole: () => void }) {
  return (
    <span className={styles.push}>
      Last {TAIL_LINES.toLocaleString("en")} lines of each pod{" "}
      <Button look="quiet" onClick={onWhole}>
        Show all
      </Button>
    </span>
  );
}

function Choice({ selection, pods, attempts, onSelect }: Pick<ShownProps, "selection" | "pods" | "attempts" | "onSelect">) {
  const names = pods.map(podName);
  const all = selection.pod === "" || names.includes(selection.pod) ? names : [selection.pod, ...names];
  const runs = pods.find((pod) => podName(pod) === selection.pod)?.run ?? 1;
  const numbers = Array.from({ length: runs }, (_, index) => String(runs - index));
  const options = (values: readonly string[], words: string, value = "") => [{ value, words }, ...values.map((each) => ({ value: each, words: each }))];
  return (
    <>
      {attempts.length > 1 && (
        <SelectField
          label="Attempt"
          value={selection.attempt}
          options={options(attempts.map(String).reverse(), "Newest")}
          onChange={(event) => onSelect({ attempt: event.target.value, run: "" })}
        />
      )}
      <SelectField
        label="Pod"
        value={selection.pod || ALL}
        options={options(all, "All pods", ALL)}
        onChange={(event) => onSelect({ pod: event.target.value, run: "" })}
      />
      {runs > 1 && (
        <SelectField label="Run" value={selection.run} options={options(numbers, "Newest")} onChange={(event) => onSelect({ run: event.target.value })} />
      )}
      <SelectField
        label="Output"
        value={selection.stream}
        options={options(["stdout", "stderr"], "Both")}
        onChange={(event) => onSelect({ stream: event.target.value })}
      />
    </>
  );
}

function Output({ workload, logs, children }: { workload: WorkloadObject; logs: PodLogs; children: ReactNode }) {
  if (logs.error !== undefined) return <Failed error={logs.error} />;
  if (logs.buffer.lines.length > 0) return children;
  if (logs.link === "connecting") return <Skeleton rows={8} />;
  if (logs.link === "ended" || hasEnded(stageOf(workload))) return <Empty title="No output">The pods wrote no output, or their logs have expired.</Empty>;
  return <Empty title="No output yet">{workload.status?.admission ? "Lines appear as the pods write them." : "The workload has no running pods."}</Empty>;
}

const LINKS: Record<PodLogs["link"], string> = {
  connecting: "Connecting…",
  following: "Live",
  interrupted: "Interrupted, resuming…",
  ended: "End of output",
  refused: "Not available",
};

interface BelowProps {
  link: PodLogs["link"];
  total: number;
  /** How many lines came since following was paused; undefined while it goes on. */
  late: number | undefined;
  onEnd: () => void;
}

function Below({ link, total, late, onEnd }: BelowProps) {
  return (
    <div className={`${styles.note ?? ""} ${styles.below ?? ""}`}>
      <span role="status" className={link === "interrupted" ? styles.late : undefined}>
        {LINKS[link]}
      </span>
      <span className="number">{total === 1 ? "1 line" : `${total.toLocaleString("en")} lines`}</span>
      {late !== undefined && (
        <span className={styles.push}>
          <Button onClick={onEnd}>
            <ArrowDown aria-hidden="true" />
            {late > 0 ? `${late.toLocaleString("en")} new ${late === 1 ? "line" : "lines"}, go to end` : "Go to end"}
          </Button>
        </span>
      )}
    </div>
  );
}
