// Server-sent events as text: cuts what has arrived into whole frames and leaves the rest for later.
export interface Frame {
  id: string;
  event: string;
  text: string;
}

export interface Cut {
  frames: Frame[];
  rest: string;
}

/** Every complete frame in `buffer`; comments (heartbeats) end up as no frame at all. */
export function cutFrames(buffer: string): Cut {
  const normal = buffer.replace(/\r\n?/g, "\n");
  const blocks = normal.split("\n\n");
  const rest = blocks.pop() ?? "";
  const frames = blocks.map(frameOf).filter((frame) => frame !== null);
  return { frames, rest };
}

function frameOf(block: string): Frame | null {
  const frame: Frame = { id: "", event: "message", text: "" };
  const lines: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0 || line === "") continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") frame.id = value;
    else if (field === "event") frame.event = value;
    else if (field === "data") lines.push(value);
  }
  if (lines.length === 0 && frame.event === "message") return null;
  frame.text = lines.join("\n");
  return frame;
}
