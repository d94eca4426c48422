// One ClusterQueue: its line in order with reasons, what it runs, its quota, and stopping it.
import { useQuery } from "@tanstack/react-query";
import { CirclePause } from "lucide-react";
import { stringify } from "yaml";

import { ChangeList } from "@/components/ui/change-list";
import { Choices } from "@/components/ui/choices";
import { CodeBlock } from "@/components/ui/code-block";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { Empty } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { QueueCounts, QueueNode } from "@/lib/api/types";
import { configurationAddress } from "@/lib/events";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useResource } from "@/lib/hooks/use-resource";
import { useUrl } from "@/lib/hooks/use-url";

import { definitionQuery, queueTreeQuery } from "../api/queues";
import { findQueue } from "../model/quota-bar";
import { resourcesOf } from "../model/queue-rows";
import { CountChips } from "./count-chips";
import { FairShareBadge } from "./fair-share-badge";
import { LocalQueues } from "./local-queues";
import { AdmittedTable, PendingTable } from "./queue-lines";
import { QueueActions } from "./queue-actions";
import { QueueFigures } from "./queue-figures";
import { QueueMenu } from "./queue-menu";
import { QuotaLegend, QuotaLines } from "./quota-lines";
import { StopBadge, isStopped, stopWords } from "./stop-badge";
import { OutcomesOverTime, UseOverTime } from "./usage-over-time";
import { WaitTimes } from "./wait-times";
import styles from "./queue-page.module.css";

export function QueuePage({ name }: { name: string }) {
  const tree = useQuery(queueTreeQuery);
  const found = tree.data && findQueue(tree.data.roots, name);
  return (
    <Page
      title={name}
      over={
        <>
          <RouterLink to="/queues">Queues</RouterLink>
          {found?.cohorts.map((cohort) => (
            <RouterLink key={cohort} to={`/queues?cohort=${encodeURIComponent(cohort)}`}>
              {cohort}
            </RouterLink>
          ))}
          {found && <StopBadge node={found.node} />}
          {found && <FairShareBadge node={found.node} />}
          {found && <CountChips node={found.node} />}
        </>
      }
      actions={
        found && (
          <>
            <RouterLink to={configurationAddress("ClusterQueue", name, "form")}>Edit quota</RouterLink>
            <QueueMenu queue={{ name, stopPolicy: found.node.stopPolicy ?? "None" }} />
            <QueueActions queue={{ name, stopPolicy: found.node.stopPolicy ?? "None" }} hasMenu />
          </>
        )
      }
    >
      <View query={tree} empty={() => (found ? undefined : <NoQueue name={name} />)}>
        {() => found && <Body node={found.node} />}
      </View>
    </Page>
  );
}

function NoQueue({ name }: { name: string }) {
  return (
    <Empty title={`ClusterQueue ${name} not found`}>
      <p>
        It may have been deleted. See <RouterLink to="/queues">all queues</RouterLink>.
      </p>
    </Empty>
  );
}

/** In the order of their keys. */
const SECTIONS = ["pending", "admitted", "doors", "waits", "definition", "history", "usage"] as const;

function Body({ node }: { node: QueueNode }) {
  const url = useUrl();
  const show = (view: string) => url.change({ view: view === "pending" ? "" : view }, "replace");
  const [chosen, choose] = useResource();
  const resources = resourcesOf([node]);
  const next = resources[(Math.max(0, resources.indexOf(chosen)) + 1) % resources.length];
  useHotkeys({
    ...Object.fromEntries(SECTIONS.map((section, index) => [`${index + 1}`, () => show(section)])),
    r: () => next !== undefined && choose(next),
  });
  const pending = countOf(node, "pending", "inadmissible", "nominated", "retrying", "onHold");
  const admitted = countOf(node, "reserving", "starting", "running", "evicting");
  return (
    <>
      {isStopped(node) && (
        <div className={styles.stopped}>
          <CirclePause aria-hidden="true" />
          {stopWords(node)}
        </div>
      )}
      <QueueFigures name={node.name} />
      <UseOverTime node={node} />
      <Choices
        label="Queue sections"
        value={url.get("view") || "pending"}
        onChange={show}
        choices={[
          { key: "pending", label: `Pending ${pending}`, content: <PendingTable name={node.name} strategy={node.strategy ?? ""} /> },
          { key: "admitted", label: `Admitted ${admitted}`, content: <AdmittedTable name={node.name} /> },
          { key: "doors", label: `LocalQueues ${node.localQueues?.length ?? 0}`, content: <LocalQueues node={node} /> },
          { key: "waits", label: "Wait times", content: <WaitTimes name={node.name} /> },
          { key: "definition", label: "Manifest", content: <Definition name={node.name} /> },
          { key: "history", label: "History", content: <ChangeList stream={`clusterqueue/${node.name}`} /> },
          { key: "usage", label: "Quota", content: <Quota node={node} /> },
        ]}
      />
    </>
  );
}

function countOf({ counts }: QueueNode, ...phases: (keyof QueueCounts)[]): string {
  return phases.reduce((sum, phase) => sum + (counts?.[phase] ?? 0), 0).toLocaleString("en");
}

/** The quota of each resource and flavor, and what became of workloads. */
function Quota({ node }: { node: QueueNode }) {
  return (
    <div className={styles.overTime}>
      <Card title="Quota" aside={<QuotaLegend />} padded>
        <QuotaLines lines={node.lines} />
      </Card>
      <OutcomesOverTime name={node.name} />
    </div>
  );
}

function Definition({ name }: { name: string }) {
  const definition = useQuery(definitionQuery(name));
  return <View query={definition}>{(found) => <CodeBlock label="definition" text={stringify(found)} />}</View>;
}
