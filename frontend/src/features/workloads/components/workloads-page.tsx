// All workloads: narrowed by the address, live without jumping, opened beside the list.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";

import { Card, Page } from "@/components/ui/layout";
import { Empty, ExamplesLink, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import { useUrl } from "@/lib/hooks/use-url";

import { workloadsQuery } from "../api/workloads";
import { type Anchor, anchorOf, splitAtAnchor, keyOf } from "../model/list-anchor";
import { type WorkloadFilters, filtersIn, isNarrowed } from "../model/filters";
import { ListBar } from "./list-bar";
import { WorkloadFilterBar } from "./workload-filter-bar";
import { WorkloadPanel } from "./workload-panel";
import { WorkloadTable } from "./workload-table";

export function WorkloadsPage() {
  const url = useUrl();
  const filters = filtersIn(url);
  return (
    <Page title="Workloads">
      <WorkloadFilterBar filters={filters} onChange={(changes) => url.change(changes, "replace")} />
      {/* A different set of filters is a different list, with its own beginning and selection. */}
      <WorkloadList key={JSON.stringify(filters)} filters={filters} />
      {url.get("panel") !== "" && (
        <WorkloadPanel key={url.get("panel")} workloadKey={url.get("panel")} onClose={() => url.change({ panel: "" }, "replace")} />
      )}
    </Page>
  );
}

function WorkloadList({ filters }: { filters: WorkloadFilters }) {
  const url = useUrl();
  const list = useInfiniteQuery(workloadsQuery(filters));
  const rows = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const [anchor, setAnchor] = useState<Anchor | null>(null);
  const [selection, setSelection] = useState<Record<string, true>>({});
  if (anchor === null && rows.length > 0) setAnchor(anchorOf(rows));
  const { shown, waiting } = useMemo(() => splitAtAnchor(rows, anchor), [rows, anchor]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);

  if (list.data === undefined) {
    return <Card>{list.isError ? <Failed error={list.error} onRetry={() => void list.refetch()} /> : <Skeleton rows={10} />}</Card>;
  }
  return (
    <>
      {list.isError && <StaleNote error={list.error} onRetry={() => void list.refetch()} />}
      <Card>
        <ListBar
          shown={shown}
          more={hasNextPage}
          waiting={waiting}
          selection={selection}
          onLetIn={() => setAnchor(anchorOf(rows))}
          onClear={() => setSelection({})}
        />
        {shown.length === 0 ? (
          <NoWorkloads narrowed={isNarrowed(filters)} />
        ) : (
          <WorkloadTable
            rows={shown}
            opened={url.get("panel")}
            onOpen={(row) => url.change({ panel: keyOf(row) }, url.get("panel") === "" ? "push" : "replace")}
            selection={selection}
            onSelection={setSelection}
            onEnd={onEnd}
          />
        )}
      </Card>
    </>
  );
}

function NoWorkloads({ narrowed }: { narrowed: boolean }) {
  if (narrowed) return <Empty title="No workload matches these filters">Change or clear the filters.</Empty>;
  return (
    <Empty title="No workloads yet">
      <p>
        Submit the first one with <code>headgate submit -f job.yaml</code>, as in the <ExamplesLink />
      </p>
    </Empty>
  );
}
