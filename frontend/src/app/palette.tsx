// Finds pages, workloads, queues and commands by typing.
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Boxes, GitCompareArrows, Inbox, LogOut, type LucideIcon, MoonStar } from "lucide-react";
import { useDeferredValue, useEffect, useState } from "react";

import { signOut } from "@/lib/api/session";
import { workloadAddress } from "@/lib/events";

import { searchQuery } from "./search-results";
import { DESTINATIONS } from "./navigation";
import styles from "./palette.module.css";
import { applyTheme } from "./theme";

const QUEUES = "ClusterQueues";
const WORKLOADS = "Workloads";

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState("");
  return (
    <Command.Dialog
      open
      value={chosen}
      onValueChange={setChosen}
      onOpenChange={(next) => !next && onClose()}
      label="Search workloads, queues and pages"
      overlayClassName={styles.scrim}
      contentClassName={styles.palette}
      loop
    >
      <Command.Input className={styles.input} value={text} onValueChange={setText} placeholder="Search or run a command" />
      <Command.List className={styles.list}>
        <Command.Empty className={styles.empty}>No results</Command.Empty>
        <Entries text={text} isChosen={chosen.toLowerCase().includes(text.trim().toLowerCase())} onFound={setChosen} onDone={onClose} />
      </Command.List>
    </Command.Dialog>
  );
}

interface EntriesProps {
  text: string;
  isChosen: boolean;
  onFound: (value: string) => void;
  onDone: () => void;
}

function Entries({ text, isChosen, onFound, onDone }: EntriesProps) {
  const { history } = useRouter();
  const found = useQuery(searchQuery(useDeferredValue(text.trim())));
  // Names come from the server after the list was filtered, which alone would choose none of them.
  const first = found.data && (valuesOf(QUEUES, found.data.queues)[0] ?? valuesOf(WORKLOADS, found.data.workloads)[0]);
  useEffect(() => {
    if (!isChosen && first !== undefined) onFound(first);
  }, [isChosen, first, onFound]);
  const go = (path: string) => () => {
    onDone();
    history.push(path);
  };
  const run = (command: () => void) => () => {
    onDone();
    command();
  };
  return (
    <>
      <Command.Group heading="Pages" className={styles.group}>
        {DESTINATIONS.map((page) => (
          <Command.Item key={page.path} value={`page ${page.words}`} onSelect={go(page.path)} className={styles.item}>
            <page.icon aria-hidden="true" />
            {page.words}
            <span className={styles.keys}>
              <kbd>g</kbd> <kbd>{page.key}</kbd>
            </span>
          </Command.Item>
        ))}
      </Command.Group>
      <Names heading={QUEUES} icon={Inbox} names={found.data?.queues ?? []} onChosen={(name) => go(`/queues/${encodeURIComponent(name)}`)()} />
      <Names heading={WORKLOADS} icon={Boxes} names={found.data?.workloads ?? []} onChosen={(key) => go(workloadAddress(key))()} />
      <Command.Group heading="Commands" className={styles.group}>
        {(["light", "dark", "system"] as const).map((theme) => (
          <Command.Item key={theme} value={`appearance theme ${theme}`} onSelect={run(() => void applyTheme(theme))} className={styles.item}>
            <MoonStar aria-hidden="true" />
            Appearance: {theme}
          </Command.Item>
        ))}
        <Command.Item value="stuck show what waits pending" onSelect={go("/workloads?phase=Pending,Retrying,OnHold")} className={styles.item}>
          <Boxes aria-hidden="true" />
          Show pending workloads
        </Command.Item>
        <Command.Item value="all changes history configuration" onSelect={go("/configuration?view=changes")} className={styles.item}>
          <GitCompareArrows aria-hidden="true" />
          Show all changes of the configuration
        </Command.Item>
        <Command.Item value="sign out" onSelect={run(signOut)} className={styles.item}>
          <LogOut aria-hidden="true" />
          Sign out
        </Command.Item>
      </Command.Group>
    </>
  );
}

interface NamesProps {
  heading: string;
  icon: LucideIcon;
  names: string[];
  onChosen: (name: string) => void;
}

function Names({ heading, icon: Icon, names, onChosen }: NamesProps) {
  if (names.length === 0) return null;
  return (
    <Command.Group heading={heading} className={styles.group}>
      {names.map((name) => (
        <Command.Item key={name} value={valueOf(heading, name)} onSelect={() => onChosen(name)} className={styles.item}>
          <Icon aria-hidden="true" />
          {name}
        </Command.Item>
      ))}
    </Command.Group>
  );
}

function valueOf(heading: string, name: string): string {
  return `${heading} ${name}`;
}

function valuesOf(heading: string, names: string[]): string[] {
  return names.map((name) => valueOf(heading, name));
}
