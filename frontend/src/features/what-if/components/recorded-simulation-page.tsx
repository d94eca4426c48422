// A simulation that was run: what it gave then, and the form to run it again on the current state.
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { Page } from "@/components/ui/layout";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import type { SimulationRecord } from "@/lib/api/types";

import { recordQuery } from "../api/simulations";
import { SimulationEditor } from "./simulation-editor";

/** A backtest is a simulation of the past, and has a page of its own. */
export function RecordedSimulationPage({ id, backtest }: { id: string; backtest: ReactNode }) {
  const found = useQuery(recordQuery(id));
  if (found.data?.kind === "Backtest") return backtest;
  return (
    <Page title={found.data?.title || "Simulation"} over={<RouterLink to="/simulations">Simulations</RouterLink>} lead={found.data && <Lead record={found.data} />}>
      <View query={found} rows={8}>
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
