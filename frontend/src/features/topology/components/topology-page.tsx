// The map of blocks, racks and hosts: usage, owners, and where the next workload would fit.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { CordonSelected } from "@/components/ui/host-actions";
import { Page } from "@/components/ui/layout";
import { Empty, ExamplesLink, PartialNote } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import { formatAmount, formatAmountOf, shortResource } from "@/lib/format/amounts";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { PHONE, useMedia } from "@/lib/hooks/use-media";
import { useUrl } from "@/lib/hooks/use-url";

import { useShownTopology } from "../api/shown";
import { domainWorkloadsQuery, fitsQuery, mapQuery, nearFitsQuery, topologiesQuery } from "../api/topology";
import { type HostMap, nameOf, stateOf } from "../model/columns";
import { gangWords, nearByPath, podOf, sizeOf, unitOf, worthTelling } from "../model/fits";
import { areCards } from "../model/heat-map";
import { COLOURINGS, type Colouring, closedWords, firstResource, hostsOf, isOfWorkloads, largestFit, legendOf, shownBlock } from "../model/map";
import { BlockRows } from "./block-rows";
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
            <HostTools domains={map.data.domains} sought={sought} onSought={setSought}>
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

function FreeWords({ map, resource }: { map: HostMap; resource: string }) {
  const hosts = hostsOf(map.domains);
  const free = map.domains.reduce((sum, domain) => sum + (stateOf(map.states, domain).free[resource] ?? 0), 0);
  const best = largestFit(hosts, map.states, resource);
  const closed = closedWords(hosts.map((host) => stateOf(map.states, host)));
  const size = sizeOf(useUrl().get("size") || "1");
  const gangs = gangWords(useQuery(fitsQuery(map.topology, podOf(resource, size))).data?.fits ?? []);
  return (
    <>
      {hosts.length.toLocaleString("en")} {hosts.length === 1 ? "host" : "hosts"}
      {closed && `, ${closed}`}; {formatAmountOf(resource, free)} free
      {best.host !== "" && <>, at most {formatAmount(resource, best.free)} on one host, <span className={styles.name}>{best.host}</span></>}
      {gangs !== "" && `; largest gang of ${size} ${unitOf(resource)} pods: ${gangs}`}
    </>
  );
}

function Choosers({ names, name, map }: { names: string[]; name: string; map: HostMap }) {
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
function Notes({ map, unready }: { map: HostMap; unready: number }) {
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
  map: HostMap;
  sought: string;
  selected: ReadonlySet<string>;
  onSelect: (host: string) => void;
}

function Map({ map, sought, selected, onSelect }: MapProps) {
  const url = useUrl();
  const resource = url.get("resource") || firstResource(map.resources);
  const { data: fitting } = useQuery(nearFitsQuery(map.topology, url.get("near")));
  const near = useMemo(() => nearByPath(worthTelling(fitting?.near ?? [])), [fitting]);
  const colouring: Colouring = COLOURINGS.find(({ value }) => value === url.get("colour"))?.value ?? "queue";
  const hosts = useMemo(() => hostsOf(map.domains), [map.domains]);
  const states = useMemo(() => hosts.map((host) => stateOf(map.states, host)), [hosts, map.states]);
  const legend = legendOf(states, colouring);
  const zoom = url.get("zoom");
  const domains = zoomedIn(map, zoom);
  // On a phone one block is shown at a time.
  const isPhone = useMedia(PHONE);
  const block = isPhone ? shownBlock(map.domains, zoom) : undefined;
  const shown = block && zoom === "" ? block.children : domains;
  const { data: workloads } = useQuery(domainWorkloadsQuery(map.topology, shown === map.domains ? "" : (shown[0]?.path.slice(0, -1).join("/") ?? ""), areCards(shown) && !isTable(url)));
  const unready = states.filter(({ ready }) => ready === 0).length;
  const opened = hosts.find((host) => nameOf(host) === url.get("host"));
  useHotkeys({ ...(zoom !== "" && url.get("host") === "" && { Escape: () => url.change({ zoom: zoom.split("/").slice(0, -1).join("/") }) }) });
  const shared = { domains, states: map.states, resource, selected, sought, onSelect, onHost: (host: string) => url.change({ host }, "replace") };
  const beside = (
    <>
      <Notes map={map} unready={unready} />
      <div className={styles.bar}>
        <p className={styles.soft}>
          <FreeWords map={map} resource={resource} />
        </p>
        {!isTable(url) && <Legend legend={legend} isOfWorkloads={isOfWorkloads(colouring)} hasNear={near.size > 0} hasSelected={selected.size > 0} hasFaulty={states.some(({ faulty }) => faulty > 0)} />}
        {zoom !== "" && <ZoomPath topology={map.topology} path={zoom.split("/")} />}
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
        <>
          {block && <BlockRows domains={map.domains} states={map.states} shown={nameOf(block)} resource={resource} onShow={(name) => url.change({ zoom: name }, "replace")} />}
          <HeatMapView {...shared} domains={shown} {...{ workloads, colouring, legend, near }} opened={url.get("host")} onZoom={(path) => url.change({ zoom: path.join("/") })} />
        </>
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

/** The way to what is shown: each domain above it zooms out. */
function ZoomPath({ topology, path }: { topology: string; path: string[] }) {
  const url = useUrl();
  const above = [{ words: topology, zoom: "" }, ...path.slice(0, -1).map((words, depth) => ({ words, zoom: path.slice(0, depth + 1).join("/") }))];
  return (
    <nav className={styles.path} aria-label="Zoom">
      {above.map(({ words, zoom }) => (
        <span key={zoom}>
          <Button look="quiet" onClick={() => url.change({ zoom })}>
            {words}
          </Button>{" "}
          /
        </span>
      ))}
      <span aria-current="location">{path.at(-1)}</span>
    </nav>
  );
}

function byHostName(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}
