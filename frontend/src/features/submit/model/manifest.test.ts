import { expect, test } from "vitest";

import type { WorkloadObject } from "@/lib/api/types";

import { TEMPLATES, againText, commandOf, fieldAt, fieldsOf, nextName, patched, syntaxError, templateText, withField } from "./manifest";

const GANG = TEMPLATES.find(({ key }) => key === "gang");
const TEXT = GANG === undefined ? "" : templateText(GANG, "team-a/main");

test("a template is a manifest, and the form shows its fields", () => {
  expect(fieldsOf(TEXT)).toMatchObject({ namespace: "team-a", queue: "main", name: "gang-1", pods: "4", gpu: "8", cpu: "80", minPods: "", required: "" });
});

test("a field is set in the text, which keeps its comments, and an empty one goes", () => {
  const noted = TEXT.replace("queueName: main", "queueName: main # for the paper");
  const fewer = withField(noted, "pods", "2");
  expect(fewer).toContain("# for the paper");
  expect(fieldsOf(fewer).pods).toBe("2");
  const near = withField(TEXT, "required", "rack");
  expect(near).toContain("topologyRequest");
  expect(withField(near, "required", "")).not.toContain("topologyRequest");
  expect(fieldsOf(withField(TEXT, "command", "python train.py --lr 1")).command).toBe("python train.py --lr 1");
});

test("a text that is no YAML is left alone and says why", () => {
  expect(withField("a: [", "pods", "2")).toBe("a: [");
  expect(syntaxError("a: [")).not.toBe("");
  expect(syntaxError(TEXT)).toBe("");
});

test("problems are shown at their field", () => {
  expect(fieldAt("/spec/podSets/0/template/spec/containers/0/resources/requests/nvidia.com~1gpu")).toBe("gpu");
  expect(fieldAt("/spec/podSets/0/minCount")).toBe("minPods");
  expect(fieldAt("/spec/other")).toBeUndefined();
});

test("an edit that a forecast offers changes the text", () => {
  expect(fieldsOf(patched(TEXT, [{ op: "replace", path: "/spec/podSets/0/count", value: 1 }])).pods).toBe("1");
});

test("what ended is submitted again under the next name", () => {
  const workload = { apiVersion: "v", kind: "Workload", metadata: { name: "finetune-97", namespace: "team-a", uid: "1" }, spec: { podSets: [{ count: 3 }], active: true }, status: {} };
  const text = againText(workload as unknown as WorkloadObject);
  expect(fieldsOf(text)).toMatchObject({ name: "finetune-98", pods: "3" });
  expect(text).not.toMatch(/uid|status|active/);
  expect(nextName("train")).toBe("train-2");
});

test("the command says the same", () => {
  expect(commandOf(fieldsOf(TEXT))).toBe("headgate submit --name gang-1 -n team-a -q main --pods 4 --gpu 8 --cpu 80 --memory 640Gi");
});
