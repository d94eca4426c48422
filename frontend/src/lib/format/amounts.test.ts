import { describe, expect, test } from "vitest";

import { byResource, formatAmount, formatAmountOf, formatQuantity, formatShare, quantityOf, shareOf, shortResource, gpuHours } from "./amounts";

describe("amounts", () => {
  test("cpu is shown in cores, to the millicore while it is small", () => {
    expect(formatAmount("cpu", 1500)).toBe("1.5");
    expect(formatAmount("cpu", 125)).toBe("0.125");
    expect(formatAmount("cpu", 2_500_500)).toBe("2,500.5");
  });

  test("memory is shown in binary units", () => {
    expect(formatAmount("memory", 64 * 1024 ** 3)).toBe("64 GiB");
    expect(formatAmount("memory", 1536)).toBe("1.5 KiB");
    expect(formatAmount("hugepages-2Mi", 0)).toBe("0 B");
    expect(formatAmount("memory", -1536)).toBe("-1.5 KiB");
  });

  test("amounts beside each other have one unit", () => {
    const whole = 4.6 * 1024 ** 4;
    expect(formatAmount("memory", 2.5 * 1024 ** 4, whole)).toBe("2.5 TiB");
    expect(formatAmountOf("memory", 512 * 1024 ** 3, whole)).toBe("0.5 TiB memory");
    expect(formatAmount("memory", 0, whole)).toBe("0 TiB");
    expect(formatAmount("cpu", 500, 64_000)).toBe("0.5");
  });

  test("a quantity of a manifest is shown as an amount, beside another in the unit of that", () => {
    expect(formatQuantity("memory", "768Gi")).toBe("768 GiB");
    expect(formatQuantity("memory", 0, "768Gi")).toBe("0 GiB");
    expect(formatQuantity("cpu", "1500m")).toBe("1.5");
    expect(formatQuantity("nvidia.com/gpu", 8)).toBe("8");
    expect(quantityOf("1500m")).toBe(1.5);
    expect(quantityOf("2Ti")).toBe(2 ** 41);
  });

  test("devices are counted in pieces under their everyday name", () => {
    expect(formatAmountOf("nvidia.com/gpu", 8)).toBe("8 GPU");
    expect(formatAmountOf("cpu", 1000)).toBe("1 CPU");
    expect(shortResource("example.com/tpu-v5")).toBe("tpu-v5");
  });
});

test("GPUs are read before CPU, and CPU before memory", () => {
  const given = ["pods", "memory", "cpu", "nvidia.com/gpu"];
  expect(given.sort(byResource)).toEqual(["nvidia.com/gpu", "cpu", "memory", "pods"]);
});

describe("shares", () => {
  test("a share never leaves the range from nothing to everything", () => {
    expect(shareOf(12, 8)).toBe(1);
    expect(shareOf(-1, 8)).toBe(0);
    expect(shareOf(3, 0)).toBe(0);
  });

  test("a percentage says none or all only when it is so", () => {
    expect(formatShare(0.999)).toBe("99%");
    expect(formatShare(0.001)).toBe("<1%");
    expect(formatShare(1)).toBe("100%");
  });
});

test("GPU-hours are whole from ten on", () => {
  expect(gpuHours(0)).toBe("0 GPU-h");
  expect(gpuHours(60)).toBe("<0.1 GPU-h");
  expect(gpuHours(5_400)).toBe("1.5 GPU-h");
  expect(gpuHours(3_283_200)).toBe("912 GPU-h");
});
