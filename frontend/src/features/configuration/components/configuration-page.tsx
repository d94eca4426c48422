// Everything that is configured, kind by kind; each object as a manifest to be read, checked, tried out and changed.
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { ClipboardPaste, Plus } from "lucide-react";

import { ChangeList } from "@/components/ui/change-list";
import { Button } from "@/components/ui/button";
import { RouterLink } from "@/components/ui/router-link";
import { ListFrame, Page } from "@/components/ui/layout";
import { Empty, Skeleton } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import { configurationAddress } from "@/lib/events";
import { searchWith, useUrl } from "@/lib/hooks/use-url";

import { type Kind, kindNamed, objectsQuery } from "../api/objects";
import { documentOf, keyOf, type Manifest, streamOf } from "../model/documents";
import { beginningOf } from "../model/forms";
import { ChangesPage } from "./changes-page";
import styles from "./configuration.module.css";
import { Editor } from "./editor";
import { KindChips } from "./kind-chips";
import { ObjectHealth } from "./object-health";

/** In the address: manifests that are pasted, of any kind. */
const PASTE = "yaml";

/** In the address: the changes of all objects. */
const CHANGES = "changes";

export interface ConfigurationPageProps {
  /** In any case, as streams write it; empty where the address names none. */
  kind: string;
  /** `name` or `namespace/name`; empty for all of the kind. */
  name: string;
}

export function ConfigurationPage({ kind, name }: ConfigurationPageProps) {
  const url = useUrl();
  if (url.get("view") === CHANGES) return <ChangesPage />;
  // An executor, say: its changes are kept, and it is configured elsewhere.
  if (kind !== "" && kindNamed(kind) === undefined) return <ChangesPage stream={streamOf(kind, name)} />;
  return <ObjectsPage kind={kindNamed(kind) ?? "ClusterQueue"} name={name} />;
}

function ObjectsPage({ kind, name: key }: { kind: Kind; name: string }) {
  const { history } = useRouter();
  const url = useUrl();
  const open = (next: Kind, made = "") => history.push(configurationAddress(next) + searchWith("", { new: made }));
  const list = useQuery(objectsQuery(kind));
  const beginning = beginningOf(kind);
  return (
    <Page
      title="Configuration"
      filters={<KindChips chosen={kind} onChoose={open} />}
      actions={<RouterLink to={`/configuration?view=${CHANGES}`}>All changes</RouterLink>}
    >
      <div className={styles.columns}>
        <ListFrame label="Objects">
          <div className={styles.kinds}>
            <View query={list} rows={4} empty={(items) => (items.length === 0 ? <p className={styles.quiet}>There is no {kind}.</p> : undefined)}>
              {(items) => <Objects kind={kind} items={items} chosen={key} />}
            </View>
            <div className={styles.actions}>
              {beginning !== "" && (
                <Button onClick={() => open(kind, "1")}>
                  <Plus aria-hidden="true" />
                  New {kind}
                </Button>
              )}
              <Button onClick={() => open(kind, PASTE)}>
                <ClipboardPaste aria-hidden="true" />
                Paste YAML
              </Button>
            </div>
          </div>
        </ListFrame>
        {key === "" && url.get("new") === PASTE ? (
          <Editor key="paste" title="YAML editor" begin="" />
        ) : key === "" && url.get("new") !== "" && beginning !== "" ? (
          <Editor key={`new/${kind}`} title={`New ${kind}`} begin={beginning} isNew />
        ) : key === "" ? (
          <ObjectHealth kind={kind} items={list.data ?? []} />
        ) : list.data === undefined ? (
          <Skeleton rows={8} />
        ) : (
          <Chosen kind={kind} name={key} found={list.data.find((item) => keyOf(item) === key)} />
        )}
      </div>
    </Page>
  );
}

function Objects({ kind, items, chosen }: { kind: Kind; items: Manifest[]; chosen: string }) {
  return (
    <nav aria-label={`Every ${kind}`}>
      <ul className={styles.objects}>
        {items.map(keyOf).map((key) => (
          <li key={key} className={styles.object} aria-current={key === chosen || undefined}>
            <RouterLink to={configurationAddress(kind, key)}>{key}</RouterLink>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Chosen({ kind, name, found }: { kind: Kind; name: string; found: Manifest | undefined }) {
  if (found === undefined) {
    return (
      <Empty title={`${kind} ${name} not found`}>
        <p>It may have been deleted. Its history keeps every revision.</p>
        <ChangeList stream={streamOf(kind, name)} />
      </Empty>
    );
  }
  return <Editor key={`${kind}/${name}`} title={`${kind} ${name}`} begin={documentOf(found)} object={{ kind, name }} changes={<ChangeList stream={streamOf(kind, name)} />} />;
}
