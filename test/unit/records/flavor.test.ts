import { describe, expect, it } from "vitest";
import {
  flavorColumns,
  hasSameDisks,
  localDiskGb,
  newFlavor,
  sizesForApi,
  sizesFromApi,
} from "../../../src/records/index.js";
import { aFlavor } from "../../fixtures/records.js";

const SMALL = { flavorid: "2", name: "m1.small", vcpus: 1, memoryMb: 2048, rootGb: 20 };

describe("a flavor", () => {
  it("has Nova's defaults for missing values", () => {
    expect(newFlavor(SMALL)).toEqual({
      ...SMALL,
      ephemeralGb: 0,
      swap: 0,
      rxtxFactor: 1,
      disabled: false,
      isPublic: true,
      extraSpecs: {},
      description: null,
    });
    expect(newFlavor({ ...SMALL, swap: 512, isPublic: false })).toMatchObject({ swap: 512, isPublic: false });
  });

  it("shares no object with another one", () => {
    expect(newFlavor(SMALL).extraSpecs).not.toBe(newFlavor(SMALL).extraSpecs);
  });

  it("provides the columns of an instance", () => {
    const flavor = aFlavor({ id: 7, vcpus: 2, memoryMb: 4, rootGb: 6, ephemeralGb: 8, swap: 10 });
    expect(flavorColumns(flavor)).toEqual({
      flavor,
      instanceTypeId: 7,
      vcpus: 2,
      memoryMb: 4,
      rootGb: 6,
      ephemeralGb: 8,
    });
  });

  it("counts root, ephemeral and swap disk, swap rounded up to GB; a volume is not a local disk", () => {
    const flavor = aFlavor({ rootGb: 10, ephemeralGb: 5, swap: 1025 });
    expect(localDiskGb(flavor, false)).toBe(17);
    expect(localDiskGb(flavor, true)).toBe(7);
  });

  it.each(["rootGb", "ephemeralGb", "swap"] as const)("has different disks with a different %s", (field) => {
    expect(hasSameDisks(aFlavor(), aFlavor({ vcpus: 9, memoryMb: 9 }))).toBe(true);
    expect(hasSameDisks(aFlavor(), aFlavor({ [field]: 9 }))).toBe(false);
  });

  it("converts sizes to and from the Compute API's names", () => {
    const sizes = { vcpus: 1, memoryMb: 2, rootGb: 3, ephemeralGb: 4, swap: 5 };
    const apiSizes = { vcpus: 1, ram: 2, disk: 3, ephemeral: 4, swap: 5 };
    expect(sizesForApi(aFlavor(sizes))).toEqual(apiSizes);
    expect(sizesFromApi((name) => Object.entries(apiSizes).find(([key]) => key === name)?.[1] ?? -1)).toEqual(sizes);
  });
});
