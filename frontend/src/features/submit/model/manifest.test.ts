import { expect, test } from "vitest";

import type { WorkloadObject } from "@/lib/api/types";

import { TEMPLATES, againText, commandOf, costOf, fieldAt, fieldsOf, nextName, patched, podRequest, secondsOf, stepped, syntaxError, templateText, withField } from "./manifest";

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
  expect(syntaxError("a: 1\nb: [")).toMatchObject({ line: 2 });
  expect(syntaxError(TEXT)).toBeUndefined();
});

test("problems are shown at their field", () => {
  expect(fieldAt("/spec/podSets/0/template/spec/containers/0/resources/requests/nvidia.com~1gpu")).toBe("gpu");
  expect(fieldAt("/spec/podSets/0/minCount")).toBe("minPods");
  expect(fieldAt("/spec/podSets/0/template/spec/containers/0/command/2")).toBe("command");
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

test("a form that nothing was written in begins a manifest", () => {
  const begun = withField("", "queue", "main");
  expect(begun).toContain("kind: Workload");
  expect(fieldsOf(begun).queue).toBe("main");
});

test("retries are a policy that goes with them", () => {
  const with3 = withField(TEXT, "retries", "3");
  expect(with3).toContain("retryPolicy:\n    limit: 3");
  expect(withField(with3, "retries", "")).not.toContain("retryPolicy");
});

test("arrows change a count and keep its unit", () => {
  expect([stepped("8", 1, 1), stepped("1", -1, 1), stepped("640Gi", -1, 1), stepped("", 1, 0), stepped("1.5", 1, 0)]).toEqual(["9", "1", "639Gi", "1", "1.5"]);
});

test("run times are written with units or in seconds", () => {
  expect([secondsOf("12 h"), secondsOf("1d 6h"), secondsOf("90"), secondsOf("soon"), secondsOf("")]).toEqual([43_200, 108_000, 90, undefined, undefined]);
});

test("the cost is what all pods request, for as long as they may run", () => {
  expect(costOf(TEXT)).toBe("32 GPU, no run time limit");
  expect(costOf(withField(TEXT, "maxSeconds", "43200"))).toBe("32 GPU, 384 GPU-h at most");
  expect(costOf(withField(withField(TEXT, "gpu", ""), "cpu", "500m"))).toBe("2 CPU, no run time limit");
  expect(costOf("")).toBe("");
  expect(costOf("spec:\n  podSets:\n  -\n")).toBe("");
});

test("the topology is asked about one pod", () => {
  expect(podRequest(fieldsOf(TEXT))).toBe("cpu=80,memory=640Gi,nvidia.com/gpu=8");
  expect(podRequest(fieldsOf(withField(withField(TEXT, "cpu", "x"), "memory", "")))).toBe("nvidia.com/gpu=8");
});

test("the command says the same", () => {
  expect(commandOf(fieldsOf(TEXT))).toBe("headgate submit --name gang-1 -n team-a -q main --pods 4 --gpu 8 --cpu 80 --memory 640Gi");
});
