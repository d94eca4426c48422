// One ClusterQueue: its line in order with reasons, what it runs, its quota, and stopping it.
import { useQuery } from "@tanstack/react-query";
import { CirclePause } from "lucide-react";
import { stringify } from "yaml";

import { Choices } from "@/components/ui/choices";
import { CodeBlock } from "@/components/ui/code-block";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { Empty } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { QueueNode } from "@/lib/api/types";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useUrl } from "@/lib/hooks/use-url";

import { definitionQuery, queueTreeQuery } from "../api/queues";
import { findQueue } from "../model/quota-bar";
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
            <RouterLink to={`/configuration?${new URLSearchParams({ kind: "ClusterQueue", name, tab: "form" })}`}>Edit quota</RouterLink>
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

const SECTIONS = ["pending", "admitted", "doors", "usage", "waits", "definition"] as const;

function Body({ node }: { node: QueueNode }) {
  const url = useUrl();
  const show = (view: string) => url.change({ view: view === "pending" ? "" : view }, "replace");
  useHotkeys(Object.fromEntries(SECTIONS.map((section, index) => [`${index + 1}`, () => show(section)])));
  return (
    <>
      {isStopped(node) && (
        <div className={styles.stopped}>
          <CirclePause aria-hidden="true" />
          {stopWords(node)}
        </div>
      )}
      <QueueFigures name={node.name} />
      <UseOverTime name={node.name} />
      <Choices
        label="Queue sections"
        value={url.get("view") || "pending"}
        onChange={show}
        choices={[
          { key: "pending", label: "Pending", content: <PendingTable name={node.name} strategy={node.strategy ?? ""} /> },
          { key: "admitted", label: "Admitted", content: <AdmittedTable name={node.name} /> },
          { key: "doors", label: "LocalQueues", content: <LocalQueues node={node} /> },
          { key: "usage", label: "Quota", content: <Quota node={node} /> },
          { key: "waits", label: "Wait times", content: <WaitTimes name={node.name} /> },
          { key: "definition", label: "YAML", content: <Definition name={node.name} /> },
        ]}
      />
    </>
  );
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
