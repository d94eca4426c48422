// A simulation that was run: what it gave then, and the form to run it again on the current state.
import { useQuery } from "@tanstack/react-query";

import { Page } from "@/components/ui/layout";
import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import type { SimulationRecord } from "@/lib/api/types";

import { recordQuery } from "../api/simulations";
import { SimulationEditor } from "./simulation-editor";

export function RecordedSimulationPage({ id }: { id: string }) {
  const found = useQuery(recordQuery(id));
  return (
    <Page title={found.data?.title || "Simulation"} over={<RouterLink to="/simulations">Simulations</RouterLink>} lead={found.data && <Lead record={found.data} />}>
      <View query={found} rows={8} empty={(record) => (record.kind === "Backtest" ? <OfThePast id={id} /> : undefined)}>
        {(record) => (
          <SimulationEditor
            documents={record.documents ?? ""}
            others={{ priority: record.priority ?? "", remove: record.delete ?? "", cordon: record.cordon ?? "" }}
            title={record.title}
            recorded={{ id, position: record.position, at: record.beginAt }}
          />
        )}
      </View>
    </Page>
  );
}

function Lead({ record }: { record: SimulationRecord }) {
  return (
    <>
      {record.result && `${record.result}. `}Run <Timestamp at={record.createdAt} /> by {record.createdBy.replace(/^user:/, "")}
    </>
  );
}

function OfThePast({ id }: { id: string }) {
  return (
    <Empty title="This simulation is a backtest">
      <RouterLink to={`/backtests/${encodeURIComponent(id)}`}>Open the backtest</RouterLink>
    </Empty>
  );
}
