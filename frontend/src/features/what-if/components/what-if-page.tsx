// What would happen: describe a workload or any change, try it out on a copy of the state, then do it.
import { useQuery } from "@tanstack/react-query";

import { Page } from "@/components/ui/layout";
import { View } from "@/components/ui/view";
import { useUrl } from "@/lib/hooks/use-url";

import { doorsQuery, patternQuery } from "../api/simulations";
import { FIRST_DRAFT, likeness } from "../model/drafts";
import { Bench } from "./bench";

export function WhatIfPage() {
  const key = useUrl().get("workload");
  return (
    <Page title="What-if" lead="Real rules and real cycles on a copy of the state: who would start, where, and who would have to go. Nothing is written.">
      {key === "" ? <FromScratch /> : <LikeAnother key={key} pattern={key} />}
    </Page>
  );
}

function FromScratch() {
  const doors = useQuery(doorsQuery);
  return (
    <View query={doors} rows={6}>
      {({ items }) => {
        const names = items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
        return <Bench draft={{ ...FIRST_DRAFT, door: names[0] ?? "" }} doors={names} />;
      }}
    </View>
  );
}

function LikeAnother({ pattern }: { pattern: string }) {
  const workload = useQuery(patternQuery(pattern));
  return (
    <View query={workload} rows={6}>
      {(found) => <Bench documents={likeness(found)} />}
    </View>
  );
}
