// The largest gang that fits now: by level, where it would lie, and how scattered the rest is.
import { useQuery } from "@tanstack/react-query";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
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
        <h2 id="fits">Largest gang that fits now</h2>
        <TextField
          label={`Each pod takes (${unitOf(resource)})`}
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

function FitTable({ fits }: { fits: LevelFit[] }) {
  const url = useUrl();
  const flavors = new Set(fits.map((fit) => fit.flavor)).size;
  return (
    <div className={styles.scroll} role="group" aria-label="Gangs by level" tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Together in one</th>
            <th scope="col" className={styles.number}>
              Pods
            </th>
            <th scope="col">In</th>
            <th scope="col" className={`${styles.number} ${styles.spare}`}>
              Anywhere
            </th>
            <th scope="col" className={styles.number}>
              Scattered
            </th>
          </tr>
        </thead>
        <tbody>
          {fits.map((fit) => (
            <tr key={`${fit.flavor} ${fit.level}`}>
              <th scope="row">
                {fit.level.split("/").at(-1)}
                {flavors > 1 && <span className={styles.soft}> of {fit.flavor}</span>}
              </th>
              <td className={styles.number}>{fit.largest}</td>
              <td className={styles.where}>
                {fit.domain.length === 0 ? (
                  "nowhere"
                ) : (
                  <Button look="quiet" className={styles.place} onClick={() => url.change({ zoom: fit.domain.join("/") })}>
                    {fit.domain.join("/")}
                  </Button>
                )}
              </td>
              <td className={`${styles.number} ${styles.spare}`}>{fit.together}</td>
              <td className={styles.number}>{formatShare(scattered(fit))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
