// The domains where a pending workload nearly fits, with the workloads that block it there.
import { useQuery } from "@tanstack/react-query";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { HostWorkload, NearFit } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { shareOf, shortResource } from "@/lib/format/amounts";
import { useUrl } from "@/lib/hooks/use-url";

import { nearFitsQuery, waitingQuery } from "../api/topology";
import { fitsWhole, nearWords, worthTelling } from "../model/fits";
import styles from "./fits.module.css";

const SHOWN = 5;

export function NearFits({ topology }: { topology: string }) {
  const url = useUrl();
  const chosen = url.get("near");
  const waiting = useQuery(waitingQuery);
  const near = useQuery(nearFitsQuery(topology, chosen));
  const keys = waiting.data?.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`) ?? [];
  const options = chosen === "" || keys.includes(chosen) ? keys : [chosen, ...keys];
  return (
    <section className={styles.bare} aria-labelledby="near">
      <header className={styles.inLine}>
        <h2 id="near">Find nearest fit</h2>
        <SelectField
          label="Pending workload"
          value={chosen}
          options={[{ value: "", words: options.length === 0 ? "no pending workloads" : "select one" }, ...options.map((key) => ({ value: key, words: key }))]}
          onChange={(event) => url.change({ near: event.target.value }, "replace")}
        />
      </header>
      {chosen !== "" && (
        <View query={near} rows={3} empty={({ near: found }) => (found.length === 0 ? <NoHosts /> : undefined)}>
          {(found) => (
            <ol className={styles.near}>
              {worthTelling(found.near)
                .slice(0, SHOWN)
                .map((fit) => (
                  <Near key={`${fit.podSet} ${fit.flavor} ${fit.domain.join("/")}`} fit={fit} workload={chosen} onZoom={() => url.change({ zoom: fit.domain.join("/") })} />
                ))}
            </ol>
          )}
        </View>
      )}
    </section>
  );
}

function NoHosts() {
  return <Empty title="This workload doesn't use this topology">Its queue has no flavor with this topology, or it requests a level that the topology doesn't have.</Empty>;
}

function Near({ fit, workload, onZoom }: { fit: NearFit; workload: string; onZoom: () => void }) {
  return (
    <li className={styles.nearOne}>
      <span className={styles.line}>
        {fit.domain.length === 0 ? (
          <b>All hosts together</b>
        ) : (
          <Button look="quiet" className={styles.place} onClick={onZoom}>
            {fit.domain.join("/")}
          </Button>
        )}
        <span>
          {nearWords(fit)}
          <span className={styles.soft}> of {fit.podSet}</span>
        </span>
      </span>
      <span className={styles.meter} aria-hidden="true">
        <span className={styles.meterFill} style={{ width: `${Math.min(1, shareOf(fit.fits, fit.needs)) * 100}%` }} />
      </span>
      {fitsWhole(fit) ? (
        <span className={styles.soft}>
          Hosts are available. The binding constraint is another one: <RouterLink to={workloadAddress(workload)}>see the pending reason</RouterLink>.
        </span>
      ) : (
        <InTheWay holders={fit.inTheWay} resource={fit.resource} />
      )}
    </li>
  );
}

function InTheWay({ holders, resource }: { holders: HostWorkload[]; resource: string }) {
  if (holders.length === 0) return <span className={styles.soft}>No Headgate workloads block this domain.</span>;
  return (
    <span className={styles.soft}>
      {shortResource(resource)} in use by{" "}
      {holders.map((holder, index) => (
        <span key={`${holder.key} ${index}`}>
          {index > 0 && ", "}
          {holder.clusterQueue === "" ? holder.key : <RouterLink to={workloadAddress(holder.key)}>{holder.key}</RouterLink>} ({holder.pods}{" "}
          {holder.pods === 1 ? "pod" : "pods"}
          {holder.clusterQueue !== "" && `, priority ${holder.priority}`})
        </span>
      ))}
    </span>
  );
}
