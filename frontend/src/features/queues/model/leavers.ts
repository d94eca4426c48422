// Who would have to go if a queue were drained.

interface Found {
  items: { metadata: { namespace?: string | null; name: string } }[];
  metadata: { continue?: string | null };
}

/** The workloads by name, and how many in words; of very many the first. */
export function leaversOf(found: Found | undefined): { heading: string; names: string[] } {
  if (found === undefined) return { heading: "Looking who has a place here…", names: [] };
  const names = found.items.map(({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name}`);
  if (names.length === 0) return { heading: "Nobody has a place here, so nobody is evicted.", names };
  const many = found.metadata.continue ? `More than ${names.length} workloads` : names.length === 1 ? "1 workload" : `${names.length} workloads`;
  return { heading: `${many} would be evicted`, names };
}
