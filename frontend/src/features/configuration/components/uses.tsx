// What uses the object: other objects by kind, and the workloads that have quota of it.
import { type UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { References } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";

import { groupsOf, listAddress, unnamedWords } from "../model/uses";
import styles from "./configuration.module.css";

export interface UsesProps {
  kind: string;
  name: string;
  query: UseQueryResult<References>;
}

export function Uses({ kind, name, query }: UsesProps) {
  return (
    <View query={query} rows={4} empty={(found) => (found.objectCount + found.workloadCount === 0 ? <Unused kind={kind} name={name} /> : undefined)}>
      {(found) => (
        <div className={styles.uses}>
          {groupsOf(found).map((group) => (
            <Users key={group.kind} title={`${group.kind} (${group.users.length})`} users={group.users} />
          ))}
          {unnamedWords(found) !== "" && <p className={styles.quiet}>{unnamedWords(found)} you may not see, or that the list leaves out.</p>}
          {found.workloadCount > 0 && (
            <Users
              title={`Workloads with quota (${found.workloadCount})`}
              users={found.workloads.map((key) => ({ name: key, address: workloadAddress(key) }))}
              more={found.workloadCount - found.workloads.length}
            />
          )}
          <AllWorkloads kind={kind} name={name} />
        </div>
      )}
    </View>
  );
}

function Users({ title, users, more = 0 }: { title: string; users: { name: string; address: string }[]; more?: number }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul className={styles.users}>
        {users.map(({ name, address }) => (
          <li key={address}>
            <RouterLink to={address}>{name}</RouterLink>
          </li>
        ))}
        {more > 0 && <li className={styles.quiet}>and {more} more</li>}
      </ul>
    </section>
  );
}

function Unused({ kind, name }: { kind: string; name: string }) {
  return (
    <Empty title={`${kind} ${name} is not in use`}>
      <p>No object refers to it, and no workload has quota of it.</p>
      <AllWorkloads kind={kind} name={name} />
    </Empty>
  );
}

function AllWorkloads({ kind, name }: { kind: string; name: string }): ReactNode {
  const address = listAddress(kind, name);
  return (
    address !== undefined && (
      <div className={styles.users}>
        <RouterLink to={address}>All its workloads, pending ones too</RouterLink>
      </div>
    )
  );
}
