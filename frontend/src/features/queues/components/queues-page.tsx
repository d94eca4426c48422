// The tree of cohorts and queues: quota, usage, borrowing and lending.
import { useQuery } from "@tanstack/react-query";
import { ChevronDown, ChevronRight, Inbox, Network } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { Empty, ExamplesLink } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { QueueNode } from "@/lib/api/types";
import { useUrl } from "@/lib/hooks/use-url";

import { queueTreeQuery } from "../api/queues";
import { CountChips } from "./count-chips";
import { FairShareBadge } from "./fair-share-badge";
import { QuotaLegend, QuotaLines } from "./quota-lines";
import { StopBadge } from "./stop-badge";
import styles from "./queues-page.module.css";

export function QueuesPage() {
  const tree = useQuery(queueTreeQuery);
  return (
    <Page title="Queues" lead="Quota, usage, borrowing and lending by cohort and ClusterQueue." actions={<QuotaLegend />}>
      <Card>
        <View query={tree} rows={10} empty={({ roots }) => (roots.length === 0 ? <NoQueues /> : undefined)}>
          {({ roots }) => (
            <ul className={styles.tree}>
              {roots.map((node) => (
                <TreeNode key={`${node.kind}/${node.name}`} node={node} />
              ))}
            </ul>
          )}
        </View>
      </Card>
    </Page>
  );
}

function NoQueues() {
  return (
    <Empty title="No queues yet">
      <p>
        Apply a ResourceFlavor, a ClusterQueue and a LocalQueue with <code>headgate apply -f queues.yaml</code>, as in the <ExamplesLink />.
      </p>
    </Empty>
  );
}

function TreeNode({ node }: { node: QueueNode }) {
  const url = useUrl();
  const [open, setOpen] = useState(true);
  const isCohort = node.kind === "Cohort";
  const chosen = url.get("cohort") === node.name && isCohort;
  return (
    <li className={styles.node}>
      <div className={`${styles.line ?? ""} ${chosen ? (styles.chosen ?? "") : ""}`}>
        <div className={styles.name}>
          {isCohort ? (
            <Button
              look="quiet"
              shape="icon"
              aria-expanded={open}
              aria-label={`${open ? "Collapse" : "Expand"} cohort ${node.name}`}
              onClick={() => setOpen(!open)}
            >
              {open ? <ChevronDown aria-hidden="true" /> : <ChevronRight aria-hidden="true" />}
            </Button>
          ) : (
            <Inbox className={styles.glyph} aria-hidden="true" />
          )}
          <div className={styles.titles}>
            {isCohort ? (
              <span className={styles.cohort}>
                <Network aria-hidden="true" />
                {node.name} <span className={styles.kind}>cohort</span>
              </span>
            ) : (
              <RouterLink className={styles.queue} to={`/queues/${encodeURIComponent(node.name)}`}>
                {node.name}
              </RouterLink>
            )}
            <span className={styles.under}>
              <StopBadge node={node} />
              <FairShareBadge node={node} />
              <CountChips node={node} />
            </span>
          </div>
        </div>
        <QuotaLines lines={node.lines} />
      </div>
      {isCohort && open && node.children.length > 0 && (
        <ul className={styles.children}>
          {node.children.map((child) => (
            <TreeNode key={`${child.kind}/${child.name}`} node={child} />
          ))}
        </ul>
      )}
    </li>
  );
}
