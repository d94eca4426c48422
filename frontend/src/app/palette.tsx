// Finds pages, workloads, queues and commands by typing.
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Boxes, Inbox, LogOut, type LucideIcon, MoonStar } from "lucide-react";
import { useDeferredValue, useState } from "react";

import { signOut } from "@/lib/api/session";
import { workloadAddress } from "@/lib/events";

import { foundQuery } from "./found";
import { DESTINATIONS } from "./navigation";
import styles from "./palette.module.css";
import { applyTheme } from "./theme";

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  return (
    <Command.Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      label="Find a page, workload or queue"
      overlayClassName={styles.scrim}
      contentClassName={styles.palette}
      loop
    >
      <Command.Input className={styles.input} value={text} onValueChange={setText} placeholder="Type a name or a command" />
      <Command.List className={styles.list}>
        <Command.Empty className={styles.empty}>Nothing of that name.</Command.Empty>
        <Entries text={text} onDone={onClose} />
      </Command.List>
    </Command.Dialog>
  );
}

function Entries({ text, onDone }: { text: string; onDone: () => void }) {
  const { history } = useRouter();
  const found = useQuery(foundQuery(useDeferredValue(text.trim())));
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
      <Names heading="Cluster queues" icon={Inbox} names={found.data?.queues ?? []} onChosen={(name) => go(`/queues/${encodeURIComponent(name)}`)()} />
      <Names heading="Workloads" icon={Boxes} names={found.data?.workloads ?? []} onChosen={(key) => go(workloadAddress(key))()} />
      <Command.Group heading="Commands" className={styles.group}>
        {(["light", "dark", "system"] as const).map((theme) => (
          <Command.Item key={theme} value={`appearance theme ${theme}`} onSelect={run(() => applyTheme(theme))} className={styles.item}>
            <MoonStar aria-hidden="true" />
            Appearance: {theme}
          </Command.Item>
        ))}
        <Command.Item value="stuck show what waits pending" onSelect={go("/workloads?phase=Pending,BackingOff,Held")} className={styles.item}>
          <Boxes aria-hidden="true" />
          Show what waits
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
        <Command.Item key={name} value={`${heading} ${name}`} onSelect={() => onChosen(name)} className={styles.item}>
          <Icon aria-hidden="true" />
          {name}
        </Command.Item>
      ))}
    </Command.Group>
  );
}
