import type { Flavor } from "../../records/index.js";
import { flag, nullable, number, stringRecord, text } from "./field-codec.js";
import type { RecordObject } from "./record-object.js";

export const FLAVOR_OBJECT: RecordObject<Flavor> = {
  name: "Flavor",
  fields: {
    id: number(),
    flavorid: text(),
    name: text(),
    vcpus: number(),
    memoryMb: number(),
    rootGb: number(),
    ephemeralGb: number(0),
    swap: number(0),
    rxtxFactor: number(1),
    disabled: flag(false),
    isPublic: flag(true),
    extraSpecs: stringRecord,
    description: nullable(text()),
  },
};
