// Rows of the grid for tests, of which a test sets what matters to it.
import type { WorkloadRow } from "@/lib/api/types";

const ROW: WorkloadRow = {
  namespace: "team-a",
  name: "train",
  uid: "uid-of-train",
  phase: "Pending",
  status: "Pending",
  held: false,
  active: true,
  owner: "ana",
  localQueue: "main",
  clusterQueue: "vision",
  gpus: 8,
  cpuMilli: 1000,
  memoryBytes: 0,
  pods: 1,
  priority: 0,
  waitSeconds: 5,
  runSeconds: 0,
  submittedAt: "2026-05-04T12:00:00Z",
  endedAt: null,
  requeues: 0,
  flavors: [],
  host: "",
  hosts: 0,
  executors: [],
  dominant: "",
  reason: "",
  sentence: "",
  labels: {},
};

/** A row with some fields set. */
export function rowOf(given: Partial<WorkloadRow>): WorkloadRow {
  return { ...ROW, ...given };
}
