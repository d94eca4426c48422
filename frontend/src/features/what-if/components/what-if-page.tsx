// What would happen: describe a workload or any change, try it out on a copy of the state, then do it.
import { useQuery } from "@tanstack/react-query";

import { Page } from "@/components/ui/layout";
import { View } from "@/components/ui/view";
import { useUrl } from "@/lib/hooks/use-url";

import { localQueuesOfQuery, patternQuery } from "../api/simulations";
import { FIRST_DRAFT, duplicateOf } from "../model/drafts";
import { SimulationEditor } from "./simulation-editor";

export function WhatIfPage() {
  const key = useUrl().get("workload");
  return (
    <Page title="Simulator">
      {key === "" ? <FromScratch /> : <LikeAnother key={key} pattern={key} />}
    </Page>
  );
}

function FromScratch() {
  const doors = useQuery(localQueuesOfQuery);
  return (
    <View query={doors} rows={6}>
      {({ items }) => {
        const names = items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
        return <SimulationEditor draft={{ ...FIRST_DRAFT, door: names[0] ?? "" }} doors={names} />;
      }}
    </View>
  );
}

function LikeAnother({ pattern }: { pattern: string }) {
  const workload = useQuery(patternQuery(pattern));
  return (
    <View query={workload} rows={6}>
      {(found) => <SimulationEditor documents={duplicateOf(found)} />}
    </View>
  );
}
