// The workloads that draining a queue would evict.

interface AdmittedPages {
  items: { metadata: { namespace?: string | null; name: string } }[];
  metadata: { continue?: string | null };
}

/** The workloads by name, and how many in words; of very many the first. */
export function drainPreviewOf(found: AdmittedPages | undefined): { heading: string; names: string[] } {
  if (found === undefined) return { heading: "Loading admitted workloads…", names: [] };
  const names = found.items.map(({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name}`);
  if (names.length === 0) return { heading: "No admitted workloads; nothing will be evicted.", names };
  const many = found.metadata.continue ? `More than ${names.length} workloads` : names.length === 1 ? "1 workload" : `${names.length} workloads`;
  return { heading: `${many} would be evicted`, names };
}
