/** The public contract of virt drivers. Drivers must import from this module only. */

export type { Random } from "../runtime/cryptography.js";
export { FileFailure, type Files, type WriteOptions } from "../runtime/files.js";
export {
  type Bytes,
  bytesIn,
  bytesOf,
  type HttpClient,
  HttpConnectFailure,
  type HttpRequest,
  type HttpResponse,
  HttpTimeout,
  textIn,
} from "../runtime/http.js";
export { md5 } from "../runtime/node/node-cryptography.js";
export {
  type ObservedProcess,
  /** @deprecated The name of ObservedProcess until release 0.2. */
  type ObservedProcess as SeenProcess,
  type ProcessIdentity,
  ProgramFailure,
  type ProgramResult,
  type ProgramSignal,
  type Programs,
  type RunOptions,
  type StartOptions,
} from "../runtime/processes.js";
export type { Logger } from "../runtime/runtime.js";
export { type Stream, type StreamAddress, StreamFailure, type Streams } from "../runtime/streams.js";
export type { CancelTimer, Clock, Timers } from "../runtime/time.js";
export * from "./capabilities.js";
export * from "./config-drive.js";
export * from "./config-schema.js";
export * from "./context.js";
export * from "./driver.js";
export * from "./errors.js";
export * from "./move-methods.js";
export * from "./node-inventory.js";
export * from "./provider-tree.js";
export type { Image, ImageData, UploadOptions } from "./types.js";
export * from "./types.js";
export * from "./volume-methods.js";
