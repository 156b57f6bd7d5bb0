import fc from "fast-check";
import { expect, it } from "vitest";
import { systemMetadata } from "../../../../src/nova-rpc/objects/instance.js";
import { profileOf } from "../../../../src/nova-rpc/objects/profile.js";
import { DISK_INFO } from "../../../../src/records/index.js";
import { ANY_CHARACTER } from "../../../fixtures/any-character.js";
import { property } from "../../../fixtures/property.js";

const ZED = profileOf(64);

function written(value: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return systemMetadata.write?.(value, ZED) as Readonly<Record<string, string>>;
}

it("splits a driver's disk info at the length of Nova's column", () => {
  const long = `${"a".repeat(255)}${"b".repeat(255)}c`;
  expect(written({ image_min_ram: "0", [DISK_INFO]: long })).toEqual({
    image_min_ram: "0",
    resize_disk_info: "a".repeat(255),
    "resize_disk_info.1": "b".repeat(255),
    "resize_disk_info.2": "c",
  });
});

it("contains no disk info after its removal, and no incomplete remainder", () => {
  expect(written({ old_vm_state: "active" })).toEqual({ old_vm_state: "active" });
  expect(systemMetadata.read({ "resize_disk_info.1": "left", x: "1" }, {})).toEqual({ x: "1" });
});

property([
  fc.string({ unit: ANY_CHARACTER, maxLength: 1_200 }),
  fc.dictionary(fc.stringMatching(/^[a-z_]{1,10}$/), fc.string()),
])("is read back as written, and no value is longer than 255 characters", (diskInfo, rest) => {
  const value = { ...rest, [DISK_INFO]: diskInfo };
  const stored = written(value);
  expect(systemMetadata.read(stored, {})).toEqual(value);
  const parts = Object.entries(stored).filter(([key]) => key.startsWith(DISK_INFO));
  expect(parts.every(([, part]) => [...part].length <= 255)).toBe(true);
});
