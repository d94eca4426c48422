// The levels of a topology as people call them.

/** A node label as a word: `kubernetes.io/hostname` is a host, `cloud.example.com/topology-rack` a rack. */
export function levelWords(label: string): string {
  if (label === "kubernetes.io/hostname") return "host";
  return label.slice(label.lastIndexOf("/") + 1).replace(/^topology-/, "");
}
