import { expect, test } from "vitest";

import { levelWords } from "./levels";

test("a level is called by the word people use", () => {
  expect(levelWords("kubernetes.io/hostname")).toBe("host");
  expect(levelWords("cloud.example.com/topology-rack")).toBe("rack");
  expect(levelWords("rack")).toBe("rack");
});
