import type { AgentMethods } from "../../conductor-client/methods/agent.js";
import type { ResultOf } from "../../conductor-client/methods/method.js";
import { type NovaObject, novaObject } from "./primitive.js";

/** The one version of these objects, in every release. */
const VERSION = "1.0";

type Details = Readonly<Record<string, unknown>>;

/** What a guest uses, as the API's Diagnostics object. */
export function writeDiagnostics(found: ResultOf<AgentMethods, "get_instance_diagnostics">): NovaObject {
  const { memoryDetails, cpuDetails, nicDetails, diskDetails, ...own } = found;
  return object("Diagnostics", {
    ...own,
    memoryDetails: object("MemoryDiagnostics", memoryDetails),
    cpuDetails: cpuDetails.map((cpu) => object("CpuDiagnostics", cpu)),
    nicDetails: nicDetails.map((nic) => object("NicDiagnostics", nic)),
    diskDetails: diskDetails.map((disk) => object("DiskDiagnostics", disk)),
    numCpus: cpuDetails.length,
    numNics: nicDetails.length,
    numDisks: diskDetails.length,
  });
}

function object(name: string, details: Details): NovaObject {
  const fields = Object.entries(details).map(([field, value]) => [
    field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  return novaObject(name, VERSION, Object.fromEntries(fields));
}
