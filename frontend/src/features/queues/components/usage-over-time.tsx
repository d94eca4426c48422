// What the queue used over the last day, resource by resource, and what became of its workloads.
import { useQuery } from "@tanstack/react-query";

import { Bars } from "@/components/ui/bars";
import { Card } from "@/components/ui/layout";
import { Empty, PartialNote } from "@/components/ui/states";
import { View } from "@/components/ui/view";

import { usageQuery } from "../api/queues";
import { happenedOverTime, usedOverTime } from "../model/usage";
import styles from "./queue-page.module.css";

export function UsageOverTime({ name }: { name: string }) {
  const usage = useQuery(usageQuery(name));
  return (
    <View query={usage} rows={4}>
      {({ points, complete }) => {
        const rows = usedOverTime(points);
        const happened = happenedOverTime(points);
        return (
          <div className={styles.overTime}>
            {!complete && <PartialNote>The most recent data points are not loaded yet.</PartialNote>}
            {rows.length === 0 && <Empty title="No quota and no usage in the last 24 hours" />}
            {rows.map(({ key, label, unit, bars }) => (
              <Card key={key} title={label} aside={<span className="number">used in the last day, in {unit}</span>} padded>
                <Bars label={`${label} over the last day`} unit={unit} bars={bars} />
              </Card>
            ))}
            {happened.map(({ key, label, unit, bars }) => (
              <Card key={key} title={label} aside={<span className="number">in the last day, since the bar before</span>} padded>
                <Bars label={`${label} over the last day`} unit={unit} bars={bars} />
              </Card>
            ))}
          </div>
        );
      }}
    </View>
  );
}
