// The search through logs, and their download.
import { ArrowDown, ArrowUp, Download } from "lucide-react";
import { useDeferredValue, useMemo, useRef, useState } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import { problemOf } from "@/lib/api/problem";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { linesWith } from "@/lib/logs/log-buffer";

import { type LogSelection, downloadLogs } from "../api/pods";
import type { PodLogs } from "../api/use-pod-logs";
import styles from "./logs.module.css";

/** The field of the search, and what the viewer shows of it; `onMove` is told when a match is gone to. */
export function useLogSearch(logs: PodLogs, onMove: () => void) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [place, setPlace] = useState(-1);
  const wanted = useDeferredValue(text.trim());
  const { buffer, version } = logs;
  // oxlint-disable-next-line react/exhaustive-deps -- lines of the same buffer change with its version
  const matches = useMemo(() => linesWith(buffer.lines, wanted), [buffer, version, wanted]);
  const move = (step: number) => {
    if (matches.length === 0) return;
    onMove();
    setPlace((place + step + matches.length) % matches.length);
  };
  useHotkeys({ "/": () => input.current?.focus(), n: () => move(1), N: () => move(-1) });
  const current = place < matches.length ? matches[place] : undefined;
  const count = wanted === "" ? "" : matches.length === 0 ? "No match" : `${current === undefined ? "" : `${place + 1} of `}${matches.length}`;
  const field = (
    <div className={styles.search}>
      <TextField
        ref={input}
        label="Search"
        type="search"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setPlace(-1);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") move(event.shiftKey ? -1 : 1);
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <span className={styles.found} role="status">
        {count}
      </span>
      <Button look="quiet" shape="icon" aria-label="Previous match" hint="Previous match (N)" onClick={() => move(-1)}>
        <ArrowUp aria-hidden="true" />
      </Button>
      <Button look="quiet" shape="icon" aria-label="Next match" hint="Next match (n)" onClick={() => move(1)}>
        <ArrowDown aria-hidden="true" />
      </Button>
    </div>
  );
  return { field, shown: { search: wanted, matches, current } };
}

export function DownloadButton({ workloadKey, selection }: { workloadKey: string; selection: LogSelection }) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string>();
  const download = async () => {
    setBusy(true);
    try {
      save(await downloadLogs(workloadKey, selection), `${workloadKey.replace("/", "_")}.log`);
      setFailure(undefined);
    } catch (error) {
      setFailure(problemOf(error).title);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button look="quiet" hint={failure} refusal={isBusy ? "The download is being prepared" : undefined} onClick={() => void download()}>
      <Download aria-hidden="true" />
      {failure === undefined ? "Download" : "Download failed"}
    </Button>
  );
}

function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
