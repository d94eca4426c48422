// The largest gang that fits now: by level, where it would lie, and how scattered the rest is.
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import { type Head, PlainTable } from "@/components/ui/plain-table";
import { View } from "@/components/ui/view";
import type { LevelFit } from "@/lib/api/types";
import { formatShare } from "@/lib/format/amounts";
import { useUrl } from "@/lib/hooks/use-url";

import { fitsQuery } from "../api/topology";
import { podOf, scattered, sizeOf, unitOf } from "../model/fits";
import styles from "./fits.module.css";

export function Fits({ topology, resource }: { topology: string; resource: string }) {
  const url = useUrl();
  const size = sizeOf(url.get("size") || "1");
  const fits = useQuery(fitsQuery(topology, podOf(resource, size)));
  return (
    <section className={styles.panel} aria-labelledby="fits">
      <header className={styles.head}>
        <h2 id="fits">Largest schedulable gang</h2>
        <TextField
          label={`Requests per pod (${unitOf(resource)})`}
          type="number"
          min={1}
          value={url.get("size") || "1"}
          onChange={(event) => url.change({ size: event.target.value === "1" ? "" : event.target.value }, "replace")}
        />
      </header>
      <View query={fits} rows={3}>
        {(found) => <FitTable fits={found.fits} />}
      </View>
    </section>
  );
}

const HEADS: Head[] = [
  "Topology level",
  { words: "Pods", figure: true },
  "Domain",
  { words: "Total free", figure: true, spare: true },
  { words: "Fragmentation", figure: true },
];

function FitTable({ fits }: { fits: LevelFit[] }) {
  const url = useUrl();
  const flavors = new Set(fits.map((fit) => fit.flavor)).size;
  return (
    <PlainTable label="Gangs by level" heads={HEADS}>
      {fits.map((fit) => (
        <tr key={`${fit.flavor} ${fit.level}`}>
          <th scope="row" className={styles.level}>
            {fit.level.split("/").at(-1)}
            {flavors > 1 && <span className={styles.soft}> of {fit.flavor}</span>}
          </th>
          <td data-figure>{fit.largest}</td>
          <td>
            {fit.domain.length === 0 ? (
              "none"
            ) : (
              <Button look="quiet" className={styles.place} onClick={() => url.change({ zoom: fit.domain.join("/") })}>
                <DomainPath path={fit.domain} />
              </Button>
            )}
          </td>
          <td data-figure data-spare>
            {fit.together}
          </td>
          <td data-figure>{formatShare(scattered(fit))}</td>
        </tr>
      ))}
    </PlainTable>
  );
}

/** A path breaks after its slashes only. */
function DomainPath({ path }: { path: string[] }) {
  return (
    <span>
      {path.map((name, index) => (
        <Fragment key={name}>
          {index > 0 && "/"}
          {index > 0 && <wbr />}
          <span className={styles.part}>{name}</span>
        </Fragment>
      ))}
    </span>
  );
}
