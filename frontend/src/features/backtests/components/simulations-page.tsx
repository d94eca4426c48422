// Simulations: every what-if and backtest that was run, what came of it, and whether it held once applied.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { FlaskConical } from "lucide-react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { ListFrame, Page } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Empty, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import { nextPage } from "@/lib/api/next-page";
import type { SimulationRecord } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { useUrl } from "@/lib/hooks/use-url";
import { isAdmin } from "@/lib/permissions";

import { simulationsQuery } from "../api/backtests";
import { simulationAddress, subjectWords } from "../model/backtests";
import styles from "./backtests.module.css";
import { StateBadge } from "./state-badge";
import { VerdictBadge } from "./verdict-badge";

const KINDS = [
  { value: "", words: "All kinds" },
  { value: "Workload", words: "Workload" },
  { value: "Change", words: "Change" },
  { value: "Backtest", words: "Backtest" },
];
const AUTHORS = [
  { value: "", words: "All users" },
  { value: "me", words: "Me" },
];

export function SimulationsPage() {
  const url = useUrl();
  const { history } = useRouter();
  const identity = useIdentity();
  // Backtests are about the work of all teams: those without the role admin have their own what-ifs.
  const seesAll = isAdmin(identity);
  const [kind, author] = [url.get("kind"), url.get("author")];
  const kinds = seesAll ? KINDS : KINDS.filter(({ value }) => value !== "Backtest");
  return (
    <Page
      title="Simulations"
      filters={
        <>
          <SelectField label="Kind" value={kind} options={kinds} onChange={(event) => url.change({ kind: event.target.value }, "replace")} />
          {seesAll && <SelectField label="By" value={author} options={AUTHORS} onChange={(event) => url.change({ author: event.target.value }, "replace")} />}
        </>
      }
      actions={
        <>
          {seesAll && <Button onClick={() => history.push("/simulations/backtest")}>New backtest</Button>}
          <Button look="primary" onClick={() => history.push("/simulations/new")}>
            <FlaskConical aria-hidden="true" />
            New simulation
          </Button>
        </>
      }
    >
      <SimulationList kind={kind} author={author} onClear={() => url.change({ kind: "", author: "" }, "replace")} />
    </Page>
  );
}

interface SimulationListProps {
  kind: string;
  author?: string;
  onClear?: () => void;
}

/** The list of simulations with some filters; without `onClear` they are none that the user chose. */
export function SimulationList({ kind, author = "", onClear }: SimulationListProps) {
  const list = useInfiniteQuery(simulationsQuery(kind, author));
  const retry = () => void list.refetch();
  if (list.data === undefined) return list.isError ? <Failed error={list.error} onRetry={retry} /> : <Skeleton rows={6} />;
  const items = list.data.pages.flatMap((page) => page.items);
  const isFiltered = onClear !== undefined && (kind !== "" || author !== "");
  return (
    <div className={styles.stack}>
      {list.isError && <StaleNote error={list.error} onRetry={retry} />}
      <ListFrame>{items.length === 0 ? isFiltered ? <NoMatch onClear={onClear} /> : <NothingYet kind={kind} /> : <Rows items={items} />}</ListFrame>
      {list.hasNextPage && (
        <div>
          <Button refusal={list.isFetchingNextPage ? "Loading…" : undefined} onClick={() => void nextPage(list, ({ pages }) => pages.length)}>
            Load older simulations
          </Button>
        </div>
      )}
    </div>
  );
}

function NoMatch({ onClear }: { onClear: () => void }) {
  return (
    <Empty title="No simulation matches the filters">
      <Button onClick={onClear}>Clear filters</Button>
    </Empty>
  );
}

function NothingYet({ kind }: { kind: string }) {
  if (kind === "Backtest") {
    return (
      <Empty title="No backtests yet">
        <p>A backtest replays the past with other manifests or rules, and compares waits, preemptions and placements.</p>
      </Empty>
    );
  }
  return (
    <Empty title="No simulations yet">
      <p>
        A simulation shows what a workload or a change would do, and applies nothing. <RouterLink to="/simulations/new">Run a simulation</RouterLink>
      </p>
    </Empty>
  );
}

const HEADS = ["Simulation", { words: "Kind", spare: true }, "Result", { words: "Check", spare: true }, { words: "By", spare: true }, "When"] as const;

function Rows({ items }: { items: SimulationRecord[] }) {
  return (
    <PlainTable label="Simulations, newest first" heads={HEADS}>
      {items.map((item) => (
        <tr key={item.id}>
          <th scope="row">
            <RouterLink to={simulationAddress(item)}>{subjectWords(item)}</RouterLink>
          </th>
          <td data-spare>{item.kind}</td>
          <td>
            <Result item={item} />
          </td>
          <td data-spare>{item.check ? <Check check={item.check} /> : "—"}</td>
          <td data-spare>{item.createdBy.replace(/^user:/, "")}</td>
          <td>
            <span className={styles.when}>
              <Timestamp at={item.createdAt} />
            </span>
          </td>
        </tr>
      ))}
    </PlainTable>
  );
}

function Result({ item }: { item: SimulationRecord }) {
  if (item.state === "Done") return item.result || "Done";
  return (
    <>
      <StateBadge job={item} /> {item.result}
    </>
  );
}

function Check({ check }: { check: NonNullable<SimulationRecord["check"]> }) {
  return (
    <>
      <VerdictBadge verdict={check.verdict} /> {check.verdict === null && <Timestamp at={check.dueAt} />}
    </>
  );
}
