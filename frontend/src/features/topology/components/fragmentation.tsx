// How the largest gang of each level went over time, and the room around it that no gang could use.
import { useQuery } from "@tanstack/react-query";

import { SelectField } from "@/components/ui/fields";
import { PartialNote } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import { formatAbsolute } from "@/lib/format/times";
import { useUrl } from "@/lib/hooks/use-url";

import { fragmentationQuery } from "../api/topology";
import { podOf, sizeOf } from "../model/fits";
import { type LevelLine, RANGES, USUAL_RANGE, linesOf, measurementWords, minutesBefore, rangeOf, worstOf } from "../model/fragmentation";
import panel from "./fits.module.css";
import styles from "./fragmentation.module.css";

export function Fragmentation({ topology, resource, at }: { topology: string; resource: string; at: string }) {
  const url = useUrl();
  const range = rangeOf(url.get("range"));
  const pod = podOf(resource, sizeOf(url.get("size") || "1"));
  const history = useQuery(fragmentationQuery(topology, pod, minutesBefore(at, Number(range))));
  return (
    <section className={`${panel.panel} ${panel.beside}`} aria-labelledby="fragmentation">
      <header className={panel.head}>
        <h2 id="fragmentation">Fragmentation over time</h2>
        <SelectField
          label="Time range"
          value={range}
          options={RANGES}
          onChange={(event) => url.change({ range: event.target.value === USUAL_RANGE ? "" : event.target.value }, "replace")}
        />
      </header>
      <View query={history} rows={3}>
        {(found) => (
          <>
            {!found.complete && <PartialNote>Too much data for this range. Choose a shorter range.</PartialNote>}
            <Lines lines={linesOf(found.points)} />
          </>
        )}
      </View>
    </section>
  );
}

function Lines({ lines }: { lines: LevelLine[] }) {
  if (lines.length === 0) return <p className={panel.soft}>No hosts in this time range.</p>;
  const flavors = new Set(lines.map((line) => line.flavor)).size;
  return (
    <div className={styles.lines}>
      {lines.map((line) => (
        <Line key={`${line.flavor} ${line.level}`} line={line} named={flavors > 1} />
      ))}
      <p className={styles.legend}>
        <span className={styles.swatch} /> largest gang <span className={`${styles.swatch ?? ""} ${styles.pale ?? ""}`} /> fragmented
      </p>
    </div>
  );
}

function Line({ line, named }: { line: LevelLine; named: boolean }) {
  const level = line.level.split("/").at(-1) ?? line.level;
  const last = line.measurements.at(-1);
  const worst = worstOf(line.measurements);
  const words = last ? measurementWords(last) : "";
  return (
    <figure className={styles.line} aria-label={`${level}: now ${words}${worst ? `; at worst ${measurementWords(worst)}` : ""}`}>
      <figcaption className={styles.caption}>
        <span>
          <strong>{level}</strong>
          {named && <span className={panel.soft}> of {line.flavor}</span>}
        </span>
        <span className={panel.soft}>{words}</span>
      </figcaption>
      <div className={styles.plot}>
        {line.measurements.map((look) => (
          <div key={look.at} className={styles.slot} title={`${formatAbsolute(look.at)}: ${measurementWords(look)}`}>
            <div className={styles.together} style={{ height: `${look.together * 100}%` }} />
            <div className={styles.largest} style={{ height: `${look.largest * 100}%` }} />
          </div>
        ))}
      </div>
    </figure>
  );
}
