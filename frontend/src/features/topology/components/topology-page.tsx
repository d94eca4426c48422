// The map of blocks, racks and hosts: usage, owners, and where the next workload would fit.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { CordonSelected } from "@/components/ui/host-actions";
import { Page } from "@/components/ui/layout";
import { Empty, ExamplesLink, PartialNote } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { TopologyMap } from "@/lib/api/types";
import { formatAmount, formatAmountOf, shortResource } from "@/lib/format/amounts";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useUrl } from "@/lib/hooks/use-url";

import { useShownTopology } from "../api/shown";
import { mapQuery, nearFitsQuery, topologiesQuery } from "../api/topology";
import { nearByPath, worthTelling } from "../model/fits";
import { COLOURINGS, type Colouring, closedWords, firstResource, hostsOf, isOfWorkloads, largestFit, legendOf } from "../model/map";
import { Fits } from "./fits";
import fits from "./fits.module.css";
import { Fragmentation } from "./fragmentation";
import { HeatMapView } from "./heat-map";
import { HostPanel } from "./host-panel";
import { HostTable, HostTools, isTable, zoomedIn } from "./host-table";
import { Legend } from "./legend";
import { NearFits } from "./near-fits";
import styles from "./topology.module.css";

export function TopologyPage() {
  const url = useUrl();
  const topologies = useQuery(topologiesQuery);
  const names = topologies.data?.items.map((item) => item.metadata.name) ?? [];
  const name = useShownTopology(names);
  const map = useQuery(mapQuery(name));
  const [sought, setSought] = useState("");
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const onSelect = (host: string) => setSelected((known) => (known.has(host) ? new Set([...known].filter((one) => one !== host)) : new Set([...known, host])));
  return (
    <Page
      title="Topology"
      filters={
        map.data && (
          <>
            <Choosers names={names} name={name} map={map.data} />
            <HostTools domains={zoomedIn(map.data, url.get("zoom"))} sought={sought} onSought={setSought}>
              <CordonSelected names={[...selected].sort(byHostName)} onDone={() => setSelected(new Set())} />
            </HostTools>
          </>
        )
      }
    >
      <View query={topologies} empty={({ items }) => (items.length === 0 ? <NoTopology /> : undefined)}>
        {() => (
          <View query={map} rows={8}>
            {(found) => <Map map={found} {...{ sought, selected, onSelect }} />}
          </View>
        )}
      </View>
    </Page>
  );
}

function NoTopology() {
  return (
    <Empty title="No topology defined">
      <p>
        Describe blocks, racks and hosts with a Topology, and apply it with <code>headgate apply -f topology.yaml</code>, as in the <ExamplesLink />.
      </p>
    </Empty>
  );
}

function FreeWords({ map, resource }: { map: TopologyMap; resource: string }) {
  const hosts = hostsOf(map.domains);
  const free = map.domains.reduce((sum, domain) => sum + (domain.free[resource] ?? 0), 0);
  const best = largestFit(hosts, resource);
  const closed = closedWords(hosts);
  return (
    <>
      {hosts.length.toLocaleString("en")} {hosts.length === 1 ? "host" : "hosts"}
      {closed && `, ${closed}`}; {formatAmountOf(resource, free)} free
      {best.host !== "" && <>, at most {formatAmount(resource, best.free)} on one host, <span className={styles.name}>{best.host}</span></>}
    </>
  );
}

function Choosers({ names, name, map }: { names: string[]; name: string; map: TopologyMap }) {
  const url = useUrl();
  const resource = url.get("resource") || firstResource(map.resources);
  return (
    <div className={styles.choosers}>
      {names.length > 1 && (
        <SelectField
          label="Topology"
          value={name}
          options={names.map((value) => ({ value, words: value }))}
          onChange={(event) => url.change({ topology: event.target.value, zoom: "", host: "" })}
        />
      )}
      <SelectField
        label="Resource"
        value={resource}
        options={map.resources.map((value) => ({ value, words: shortResource(value) }))}
        onChange={(event) => url.change({ resource: event.target.value }, "replace")}
      />
      <SelectField
        label="Color by"
        value={url.get("colour") || "queue"}
        options={COLOURINGS}
        onChange={(event) => url.change({ colour: event.target.value }, "replace")}
      />
    </div>
  );
}

/** What stands above the map: what it does not show by itself. */
function Notes({ map, unready }: { map: TopologyMap; unready: number }) {
  const url = useUrl();
  return (
    <>
      {unready > 0 && (
        <PartialNote>
          {unready === 1 ? "1 host not ready" : `${unready} hosts not ready`}
          <Button look="quiet" onClick={() => url.change({ colour: "health" }, "replace")}>
            Color hosts by health
          </Button>
        </PartialNote>
      )}
      {map.domains.length > 0 && <NearFits topology={map.topology} />}
    </>
  );
}

interface MapProps {
  map: TopologyMap;
  sought: string;
  selected: ReadonlySet<string>;
  onSelect: (host: string) => void;
}

function Map({ map, sought, selected, onSelect }: MapProps) {
  const url = useUrl();
  const resource = url.get("resource") || firstResource(map.resources);
  const near = nearByPath(worthTelling(useQuery(nearFitsQuery(map.topology, url.get("near"))).data?.near ?? []));
  const colouring: Colouring = COLOURINGS.find(({ value }) => value === url.get("colour"))?.value ?? "queue";
  const hosts = hostsOf(map.domains);
  const legend = legendOf(hosts, colouring);
  const zoom = url.get("zoom");
  const domains = zoomedIn(map, zoom);
  const unready = hosts.filter((domain) => domain.host && !domain.host.ready).length;
  const opened = hosts.find((domain) => domain.host?.name === url.get("host"));
  useHotkeys({ ...(zoom !== "" && url.get("host") === "" && { Escape: () => url.change({ zoom: zoom.split("/").slice(0, -1).join("/") }) }) });
  const shared = { domains, resource, selected, sought, onSelect, onHost: (host: string) => url.change({ host }, "replace") };
  const beside = (
    <>
      <Notes map={map} unready={unready} />
      <div className={styles.bar}>
        <p className={styles.soft}>
          <FreeWords map={map} resource={resource} />
        </p>
        {!isTable(url) && <Legend legend={legend} isOfWorkloads={isOfWorkloads(colouring)} />}
        {zoom !== "" && <Button onClick={() => url.change({ zoom: "" })}>Show all domains, not only {zoom}</Button>}
      </div>
    </>
  );
  return (
    <>
      {!isTable(url) && beside}
      {hosts.length === 0 ? (
        <Empty title="No hosts in this topology">Nodes belong to a topology by the labels of its levels.</Empty>
      ) : isTable(url) ? (
        <HostTable {...shared} />
      ) : (
        <HeatMapView {...shared} {...{ colouring, legend, near }} opened={url.get("host")} onZoom={(path) => url.change({ zoom: path.join("/") })} />
      )}
      {isTable(url) && beside}
      {hosts.length > 0 && (
        <div className={fits.panels}>
          <Fits topology={map.topology} resource={resource} />
          <Fragmentation topology={map.topology} resource={resource} at={map.at} />
        </div>
      )}
      {opened && <HostPanel key={opened.path.join("/")} domain={opened} resource={resource} onClose={() => url.change({ host: "" }, "replace")} />}
    </>
  );
}

function byHostName(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}
