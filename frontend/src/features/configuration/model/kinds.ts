// Which kinds stand as chips above their objects, and in which words.

/** What chips call kinds with long names. */
const SHORT: Readonly<Record<string, string>> = {
  ResourceFlavor: "Flavor",
  WorkloadPriorityClass: "Priority",
  AdmissionCheck: "Check",
  DisruptionBudget: "Budget",
  ClusterTrainingRuntime: "Cluster runtime",
  ProvisioningRequestConfig: "Provisioning",
};

/** The words of a chip. */
export function chipWords(kind: string): string {
  return SHORT[kind] ?? kind;
}

/** The kinds with a chip, as many as there is room for, and those that a menu has; the chosen one always has a chip. */
export function chipsOf<Kind extends string>(kinds: readonly Kind[], chosen: Kind, room: number): { chips: Kind[]; others: Kind[] } {
  const first = kinds.slice(0, room);
  const chips = first.includes(chosen) ? first : [...first.slice(0, -1), chosen];
  return { chips, others: kinds.filter((kind) => !chips.includes(kind)) };
}
