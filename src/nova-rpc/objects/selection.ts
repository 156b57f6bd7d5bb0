import { MAX_INTEGER } from "../../records/field.js";
import type { RetryInfo, Selection } from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import { NovaRpcError } from "../errors.js";
import { type NovaObject, objectOf } from "./primitive.js";
import { type FieldCodec, type RecordObject, readRecord, text } from "./record-object.js";

type Claim = Selection["allocationRequest"];

/** The body of a claim in Placement, as a JSON string. */
const claim: FieldCodec<Claim> = {
  read: (value) => {
    const body: unknown = typeof value === "string" ? JSON.parse(value) : {};
    const allocations = isObject(body) ? body.allocations : undefined;
    if (!isObject(allocations)) {
      throw new NovaRpcError("MalformedObject", "expected the body of a claim");
    }
    return allocations as Claim;
  },
  write: null,
};

const SELECTION_OBJECT: RecordObject<Omit<Selection, "host" | "node" | "mappings">> = {
  name: "Selection",
  fields: {
    computeNodeUuid: text(),
    allocationRequest: claim,
    allocationRequestVersion: text(""),
  },
};

/** Reads the alternate hosts of a build, which are forwarded to the next one and never created. */
export function readSelections(value: unknown): Selection[] {
  return toSelectionObjects(value).map((selection) => {
    const { service_host: host, nodename: node } = selection["nova_object.data"];
    return { ...readRecord(SELECTION_OBJECT, selection), host: String(host), node: String(node) };
  });
}

/** Returns the Selection objects unchanged. */
export function toSelectionObjects(value: unknown): NovaObject[] {
  return Array.isArray(value) ? value.map((item) => objectOf(item, "Selection")) : [];
}

/** Reads `filter_properties.retry`; null if there is no second attempt. */
export function readRetry(filterProperties: unknown): RetryInfo | null {
  const retry = isObject(filterProperties) ? filterProperties.retry : undefined;
  if (!isObject(retry) || !isCount(retry.num_attempts) || !Array.isArray(retry.hosts)) {
    return null;
  }
  const hosts = retry.hosts.filter(Array.isArray).map(([host, node]) => [String(host), String(node)] as const);
  return { numAttempts: retry.num_attempts, hosts };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MAX_INTEGER;
}
