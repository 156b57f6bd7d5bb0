import type { Service } from "../../records/index.js";
import { flag, nullable, number, readOnly, rowTime, text, time } from "./field-codec.js";
import type { RecordObject } from "./record-object.js";

export const SERVICE_OBJECT: RecordObject<Service> = {
  name: "Service",
  fields: {
    id: number(),
    uuid: text(),
    host: text(),
    binary: text(),
    topic: text(""),
    reportCount: number(0),
    lastSeenUp: readOnly(nullable(time)),
    disabled: readOnly(flag(false)),
    disabledReason: readOnly(nullable(text())),
    forcedDown: readOnly(flag(false)),
    version: number(0),
    // The API works it out of the aggregates; an agent does not read it.
    availabilityZone: readOnly(text("")),
    createdAt: rowTime,
    updatedAt: readOnly(nullable(time)),
  },
};
