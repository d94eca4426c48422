// Quota by flavor and resource: amounts are edited in place; flavors, resources and groups are added and removed.
import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { SelectField, TextField } from "@/components/ui/fields";

import { namesQuery } from "../api/objects";
import type { Issue } from "../model/documents";
import {
  type FlavorQuota,
  GROUPS,
  type QuotaField,
  type QuotaGroup,
  quotaGroups,
  type QuotaRow,
  withAmount,
  withFlavor,
  withGroup,
  withoutFlavor,
  withoutResource,
  withResource,
} from "../model/quotas";
import { pointerTo } from "../model/places";
import { issuesAt } from "./configuration-form";
import styles from "./form.module.css";
import { IssueWords } from "./issues";

const AMOUNTS: readonly { field: QuotaField; label: string; usual: string }[] = [
  { field: "nominalQuota", label: "Nominal quota", usual: "" },
  { field: "borrowingLimit", label: "Borrowing limit", usual: "no limit" },
  { field: "lendingLimit", label: "Lending limit", usual: "all" },
];

export interface QuotaTableProps {
  text: string;
  readOnly: boolean;
  issues: Issue[];
  onChange: (text: string) => void;
}

export function QuotaTable(props: QuotaTableProps) {
  const groups = quotaGroups(props.text);
  const flavors = useQuery(namesQuery("ResourceFlavor"));
  const used = new Set(groups.flatMap((group) => group.flavors.map(({ name }) => name)));
  const free = (flavors.data ?? []).filter((name) => !used.has(name));
  const own = issuesAt(props.issues, GROUPS).filter((issue) => issue.pointer === pointerTo(GROUPS));
  return (
    <div className={styles.groups}>
      {groups.map((group, index) => (
        <Group key={index} {...props} group={group} number={groups.length > 1 ? index + 1 : 0} free={free} />
      ))}
      {own.map((issue) => (
        <IssueWords key={issue.message} issue={issue} />
      ))}
      {!props.readOnly && free.length > 0 && <NewGroup free={free} isFirst={groups.length === 0} onAdd={(flavor, resources) => props.onChange(withGroup(props.text, flavor, resources))} />}
    </div>
  );
}

interface GroupProps extends QuotaTableProps {
  group: QuotaGroup;
  /** Counted from 1; 0 where it is the only one. */
  number: number;
  /** Flavors that are in no group yet. */
  free: string[];
}

function Group({ group, number, free, ...props }: GroupProps) {
  const name = number === 0 ? "Quota by flavor and resource" : `Quota by flavor and resource, group ${number}`;
  return (
    <div className={styles.group} role="group" aria-label={name}>
      <table className={styles.quotas} aria-label={name}>
        <thead>
          <tr>
            <th scope="col">Flavor</th>
            <th scope="col">Resource</th>
            {AMOUNTS.map(({ field, label }) => (
              <th key={field} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        {group.flavors.map((flavor) => (
          <tbody key={flavor.name}>
            {flavor.rows.map((row, index) => (
              <Amounts key={row.resource} {...props} group={group} flavor={flavor} row={row} isFirst={index === 0} />
            ))}
          </tbody>
        ))}
      </table>
      {!props.readOnly && (
        <div className={styles.adders}>
          <NewResource taken={group.resources} onAdd={(resource) => props.onChange(withResource(props.text, group, resource))} />
          {free.length > 0 && <NewFlavor free={free} onAdd={(flavor) => props.onChange(withFlavor(props.text, group, flavor))} />}
          {group.resources.map((resource) => (
            <Button key={resource} look="quiet" hint="Remove resource" aria-label={`Remove resource ${resource}`} onClick={() => props.onChange(withoutResource(props.text, group, resource))}>
              <X aria-hidden="true" />
              {resource}
            </Button>
          ))}
        </div>
      )}
    </div>
  );
}

interface AmountsProps extends QuotaTableProps {
  group: QuotaGroup;
  flavor: FlavorQuota;
  row: QuotaRow;
  isFirst: boolean;
}

function Amounts({ group, flavor, row, isFirst, text, readOnly, issues, onChange }: AmountsProps) {
  const found = issuesAt(issues, row.place);
  return (
    <>
      <tr data-first={isFirst || undefined}>
        {isFirst ? (
          <th scope="row">
            <span className={styles.flavor}>
              {flavor.name}
              {!readOnly && (
                <Button shape="icon" look="quiet" hint="Remove flavor" aria-label={`Remove flavor ${flavor.name}`} onClick={() => onChange(withoutFlavor(text, group, flavor))}>
                  <X aria-hidden="true" />
                </Button>
              )}
            </span>
          </th>
        ) : (
          <td />
        )}
        <td className={styles.resource}>{row.resource}</td>
        {AMOUNTS.map(({ field, label, usual }) => (
          <td key={field} data-label={label}>
            <input
              className={styles.amount}
              aria-label={`${label} of ${row.resource} in ${flavor.name}`}
              aria-invalid={issuesAt(found, [...row.place, field]).some((issue) => issue.severity === "error") || undefined}
              placeholder={usual}
              spellCheck={false}
              readOnly={readOnly}
              value={row.amounts[field]}
              onChange={(event) => onChange(withAmount(text, row, field, event.target.value))}
            />
          </td>
        ))}
      </tr>
      {found.length > 0 && (
        <tr>
          <td />
          <td colSpan={1 + AMOUNTS.length} className={styles.found}>
            {found.map((issue) => (
              <IssueWords key={issue.pointer + issue.message} issue={issue} />
            ))}
          </td>
        </tr>
      )}
    </>
  );
}

function NewResource({ taken, onAdd }: { taken: string[]; onAdd: (resource: string) => void }) {
  const [name, setName] = useState("");
  const wanted = name.trim();
  const add = () => {
    onAdd(wanted);
    setName("");
  };
  return (
    <div className={styles.adder}>
      <TextField label="New resource" placeholder="nvidia.com/gpu" spellCheck={false} value={name} onChange={(event) => setName(event.target.value)} />
      <Button refusal={wanted === "" ? "Enter a resource" : taken.includes(wanted) ? "It is in this group" : undefined} onClick={add}>
        <Plus aria-hidden="true" />
        Add resource
      </Button>
    </div>
  );
}

function NewFlavor({ free, onAdd }: { free: string[]; onAdd: (flavor: string) => void }) {
  const [chosen, setChosen] = useState("");
  const flavor = free.includes(chosen) ? chosen : (free[0] ?? "");
  return (
    <div className={styles.adder}>
      <SelectField label="New flavor" options={free.map((value) => ({ value, words: value }))} value={flavor} onChange={(event) => setChosen(event.target.value)} />
      <Button onClick={() => onAdd(flavor)}>
        <Plus aria-hidden="true" />
        Add flavor
      </Button>
    </div>
  );
}

function NewGroup({ free, isFirst, onAdd }: { free: string[]; isFirst: boolean; onAdd: (flavor: string, resources: string[]) => void }) {
  const [chosen, setChosen] = useState("");
  const [names, setNames] = useState("");
  const flavor = free.includes(chosen) ? chosen : (free[0] ?? "");
  const resources = names.split(/[\s,]+/).filter((name) => name !== "");
  const add = () => {
    onAdd(flavor, resources);
    setNames("");
  };
  return (
    <div className={styles.adder} role="group" aria-label="New resource group">
      <SelectField label="Flavor of a new group" options={free.map((value) => ({ value, words: value }))} value={flavor} onChange={(event) => setChosen(event.target.value)} />
      <TextField label="Its resources" placeholder="cpu, memory, nvidia.com/gpu" spellCheck={false} value={names} onChange={(event) => setNames(event.target.value)} />
      <Button refusal={resources.length === 0 ? "Enter resources" : undefined} onClick={add}>
        <Plus aria-hidden="true" />
        {isFirst ? "Add quota" : "Add group"}
      </Button>
    </div>
  );
}
