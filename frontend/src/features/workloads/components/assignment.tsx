// What a workload asks for, what it was given, and on which hosts.
import { RouterLink } from "@/components/ui/router-link";
import { Card } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import type { PodSet, PodSetAssignment, WorkloadObject } from "@/lib/api/types";

import { placesOf, requestsOf } from "../model/placement";
import { usageWords } from "../model/summary";
import styles from "./workload-page.module.css";

export function Assignment({ workload }: { workload: WorkloadObject }) {
  const admission = workload.status?.admission;
  return (
    <Card
      title={admission ? "Placement" : "Resource requests"}
      aside={admission && <RouterLink to={`/queues/${encodeURIComponent(admission.clusterQueue)}`}>{admission.clusterQueue}</RouterLink>}
    >
      <PlainTable label="Pod sets" heads={["Pod set", "Pods", admission ? "Allocated" : "Per pod", ...(admission ? ["Flavors"] : [])]}>
        {admission
          ? admission.podSetAssignments.map((given) => <GivenRow key={given.name} given={given} />)
          : workload.spec.podSets.map((asked) => <AskedRow key={asked.name} asked={asked} />)}
      </PlainTable>
      {admission && <Hosts assignments={admission.podSetAssignments} />}
    </Card>
  );
}

function GivenRow({ given }: { given: PodSetAssignment }) {
  const flavors = [...new Set(Object.values(given.flavors))];
  return (
    <tr>
      <th scope="row">{given.name}</th>
      <td className="number">{given.count}</td>
      <td className="number">{usageWords(Object.entries(given.resourceUsage))}</td>
      <td>{flavors.join(", ")}</td>
    </tr>
  );
}

function AskedRow({ asked }: { asked: PodSet }) {
  const count = asked.count ?? 1;
  return (
    <tr>
      <th scope="row">{asked.name}</th>
      <td className="number">{asked.minCount ? `${asked.minCount} to ${count}` : count}</td>
      <td className="number">{usageWords(requestsOf(asked)) || "nothing"}</td>
    </tr>
  );
}

function Hosts({ assignments }: { assignments: PodSetAssignment[] }) {
  const places = assignments.flatMap(placesOf);
  if (places.length === 0) return null;
  return (
    <ul className={styles.hosts} aria-label="Hosts in rank order">
      {places.map((place, index) => (
        <li key={index} className={styles.host}>
          <RouterLink to={`/topology?host=${encodeURIComponent(place.host)}`}>{place.host}</RouterLink> × {place.pods}
        </li>
      ))}
    </ul>
  );
}
