// Amounts of resources as people write them: cpu in cores, memory in binary units, everything else in pieces.
const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const BYTE_RESOURCES = new Set(["memory", "ephemeral-storage", "storage"]);

const SUFFIXES: Record<string, number> = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };
const QUANTITY = /^([0-9.]+)(m|k|[KMGTP]i?|)$/;

const decimal = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

/** The amount with its unit, from the API's base units (millicores, bytes, pieces); beside another one in the unit of that. */
export function formatAmount(resource: string, amount: number, beside = amount): string {
  if (resource === "cpu") return Math.abs(amount) < 10_000 ? fine.format(amount / 1000) : decimal.format(amount / 1000);
  if (isBytes(resource)) return formatBytes(amount, beside);
  return decimal.format(amount);
}

/** A quantity of a manifest as a number: cores, bytes or pieces. */
export function quantityOf(text: string | number): number {
  const match = QUANTITY.exec(String(text).trim());
  return match === null ? 0 : Number(match[1]) * (SUFFIXES[match[2] ?? ""] ?? 1);
}

/** A quantity of a manifest as people write it, beside another one in the unit of that. */
export function formatQuantity(resource: string, text: string | number, beside = text): string {
  const scale = resource === "cpu" ? 1000 : 1;
  return formatAmount(resource, quantityOf(text) * scale, quantityOf(beside) * scale);
}

/** The amount together with what it is of: "8 GPU", "1.5 CPU", "64 GiB memory". */
export function formatAmountOf(resource: string, amount: number, beside = amount): string {
  const figure = formatAmount(resource, amount, beside);
  return `${figure} ${shortResource(resource)}`;
}

/** A resource's everyday name: `nvidia.com/gpu` is a GPU to people. */
export function shortResource(resource: string): string {
  if (resource === "cpu") return "CPU";
  const last = resource.slice(resource.lastIndexOf("/") + 1);
  return last === "gpu" ? "GPU" : last;
}

/** The order in which resources are read: GPUs and other devices, CPU, memory, the rest. */
export function byResource(left: string, right: string): number {
  return rank(left) - rank(right) || left.localeCompare(right);
}

function rank(resource: string): number {
  if (resource.includes("/")) return 0;
  return resource === "cpu" ? 1 : resource === "memory" ? 2 : 3;
}

/** How much of the whole, from 0 to 1; nothing of nothing is 0. */
export function shareOf(part: number, whole: number): number {
  if (whole <= 0) return 0;
  return Math.min(1, Math.max(0, part / whole));
}

/** A share as a whole percentage that is 0 or 100 only when it truly is. */
export function formatShare(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 1) return "<1%";
  if (percent > 99 && percent < 100) return "99%";
  return `${Math.round(percent)}%`;
}

function isBytes(resource: string): boolean {
  return BYTE_RESOURCES.has(resource) || resource.startsWith("hugepages-");
}

function formatBytes(bytes: number, beside: number): string {
  let largest = Math.abs(beside);
  let unit = 0;
  while (largest >= 1024 && unit < BYTE_UNITS.length - 1) {
    largest /= 1024;
    unit += 1;
  }
  return `${decimal.format(bytes / 1024 ** unit)} ${BYTE_UNITS[unit] ?? "B"}`;
}

const SECONDS_PER_HOUR = 3_600;
/** Less than this would read as nothing. */
const MIN_TOLD_HOURS = 0.05;

/** GPU-seconds as people compare them: "912 GPU-h", "0.4 GPU-h". */
export function gpuHours(gpuSeconds: number): string {
  const hours = gpuSeconds / SECONDS_PER_HOUR;
  if (hours > 0 && hours < MIN_TOLD_HOURS) return `<${2 * MIN_TOLD_HOURS} GPU-h`;
  return `${hours.toLocaleString("en", { maximumFractionDigits: hours < 10 ? 1 : 0 })} GPU-h`;
}
