// The one sentence that says how things stand with a workload.
import { useQuery } from "@tanstack/react-query";

import { Moment } from "@/components/ui/moment";
import { View } from "@/components/ui/view";
import type { Explanation } from "@/lib/api/types";

import { explanationQuery } from "../api/workloads";
import styles from "./workload-page.module.css";

export function Headline({ workloadKey }: { workloadKey: string }) {
  const explanation = useQuery(explanationQuery(workloadKey));
  return (
    <View query={explanation} rows={2}>
      {(found) => (
        <div className={styles.headline} data-verdict={found.verdict}>
          <p className={styles.sentence}>{found.sentence}</p>
          <p className={styles.asOf}>
            {placeInLine(found)}
            {found.unchangedSince && (
              <>
                Same reason since <Moment at={found.unchangedSince} />.{" "}
              </>
            )}
            {found.verdict === "Waiting" && !found.evaluated && "The scheduler had no need to look at it yet. "}
            As of position <span className="number">#{found.asOf.position}</span>.
          </p>
        </div>
      )}
    </View>
  );
}

function placeInLine({ position }: Explanation): string {
  if (!position?.clusterQueue) return "";
  return `Position ${position.clusterQueue} of ${position.of} in its cluster queue. `;
}
