// The figures of the design, computed from the tokens: contrast, and distances under color vision deficiencies.
import { describe, expect, it } from "vitest";

import SHEET from "./tokens.css?raw";

type Rgb = readonly [number, number, number];

const SCHEMES = ["light", "dark"] as const;
const TONES = ["wait", "move", "run", "good", "bad", "hold", "idle"];
const MIN_TEXT = 4.5;
const MIN_GRAPHIC = 3;
const MIN_DISTANCE = 6;

/** What is seen at full severity (Machado, Oliveira and Fernandes 2009), on linear RGB. */
const VISIONS: Record<string, readonly [Rgb, Rgb, Rgb]> = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

const TOKENS = new Map([...SHEET.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(([, name, light, dark]) => [name, { light: light ?? "", dark: dark ?? "" }]));

function colorOf(token: string, scheme: (typeof SCHEMES)[number]): Rgb {
  const found = TOKENS.get(token)?.[scheme];
  if (found === undefined) throw new Error(`There is no color ${token}`);
  const channel = (start: number) => {
    const share = Number.parseInt(found.slice(start, start + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

function contrast(one: Rgb, other: Rgb): number {
  const light = ([red, green, blue]: Rgb) => 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  return Math.max(light(one), light(other)) / Math.min(light(one), light(other));
}

function times([first, second, third]: readonly [Rgb, Rgb, Rgb], [x, y, z]: Rgb): Rgb {
  const row = ([a, b, c]: Rgb) => a * x + b * y + c * z;
  return [row(first), row(second), row(third)];
}

function labOf(color: Rgb): Rgb {
  const bounded = color.map((share) => Math.min(1, Math.max(0, share))) as unknown as Rgb;
  const cones = times([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]], bounded);
  const roots = cones.map(Math.cbrt) as unknown as Rgb;
  return times([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]], roots);
}

/** The distance of two colors in OKLab, times 100. */
function distance(one: Rgb, other: Rgb, vision: string): number {
  const seen = VISIONS[vision];
  if (seen === undefined) throw new Error(vision);
  const [left, right] = [labOf(times(seen, one)), labOf(times(seen, other))];
  return 100 * Math.hypot(...left.map((value, index) => value - (right[index] ?? 0)));
}

function pairsOf(names: string[]): [string, string][] {
  return names.flatMap((one, index) => names.slice(index + 1).map((other): [string, string] => [one, other]));
}

const QUEUES = [1, 2, 3, 4, 5, 6].map((slot) => `queue-${slot}`);
const USES = [1, 2, 3, 4, 5, 6].map((step) => `use-${step}`);

describe.each(SCHEMES)("in the %s scheme", (scheme) => {
  const of = (token: string) => colorOf(token, scheme);

  it.each(["ink", "ink-soft", "ink-faint", "accent", "danger", ...TONES])("%s is read on every ground", (token) => {
    for (const ground of ["surface", "paper", "surface-sunk", "surface-raised", "hover"]) expect(contrast(of(token), of(ground)), ground).toBeGreaterThan(MIN_TEXT);
  });

  it.each(TONES)("%s is read on its badge and seen as a shape", (tone) => {
    expect(contrast(of(tone), of(`${tone}-soft`))).toBeGreaterThan(MIN_TEXT);
    expect(contrast(of(`${tone}-solid`), of("surface"))).toBeGreaterThan(MIN_GRAPHIC);
  });

  it("buttons are read, and borders of fields are seen", () => {
    expect(contrast(of("on-accent"), of("accent"))).toBeGreaterThan(MIN_TEXT);
    for (const ground of ["surface", "paper", "surface-sunk", "surface-raised"]) expect(contrast(of("line-strong"), of(ground)), ground).toBeGreaterThan(MIN_GRAPHIC);
  });

  it.each(QUEUES)("%s is seen", (token) => {
    expect(contrast(of(token), of("surface"))).toBeGreaterThan(MIN_GRAPHIC);
  });

  it.each(Object.keys(VISIONS))("tones, queues and steps of use are told apart with %s vision", (vision) => {
    const near = [...pairsOf(TONES), ...pairsOf(TONES.map((tone) => `${tone}-solid`)), ...pairsOf(QUEUES), ...USES.slice(1).map((use, index): [string, string] => [USES[index] ?? "", use])]
      .filter(([one, other]) => distance(of(one), of(other), vision) < MIN_DISTANCE)
      .map((pair) => pair.join(" and "));
    expect(near).toEqual([]);
  });
});
