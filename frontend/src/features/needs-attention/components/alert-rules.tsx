// The rules that raise alerts: what each looks for, and how severe it is. They are the server's and always on.
import { useQuery } from "@tanstack/react-query";

import { ListFrame } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { View } from "@/components/ui/view";
import type { AlertRule } from "@/lib/api/types";
import { PHONE, useMedia } from "@/lib/hooks/use-media";

import { alertRulesQuery } from "../api/alerts";
import styles from "./cause-list.module.css";
import { SEVERITIES } from "./cause-row";

export function AlertRules() {
  const rules = useQuery(alertRulesQuery);
  const isPhone = useMedia(PHONE);
  return (
    <View query={rules} rows={8}>
      {({ rules: found }) => (
        <ListFrame>
          <PlainTable label="Alert rules" heads={["Alert", { words: "Severity", spare: true }, "Raised when"]}>
            {found.map(({ kind, title, severities, condition }) => (
              <tr key={kind} title={kind}>
                <th scope="row">
                  {title} {isPhone && <span className={styles.condition}>({severityWords(severities)})</span>}
                </th>
                <td className={styles.severities} data-spare>
                  {severityWords(severities)}
                </td>
                <td className={styles.condition}>{condition}</td>
              </tr>
            ))}
          </PlainTable>
        </ListFrame>
      )}
    </View>
  );
}

function severityWords(severities: AlertRule["severities"]): string {
  return severities.map((severity) => SEVERITIES[severity].words.toLowerCase()).join(" or ");
}
