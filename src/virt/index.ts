/** The public contract of virt drivers. Drivers import from here and from nowhere else. */
export type { Clock } from "../runtime/clock.js";
export { FileFailure, type Files, type WriteOptions } from "../runtime/files.js";
export {
  type HttpClient,
  HttpConnectFailure,
  type HttpRequest,
  type HttpResponse,
  HttpTimeout,
} from "../runtime/http.js";
export type { Logger } from "../runtime/logger.js";
export { md5 } from "../runtime/node/node-digests.js";
export {
  type ObservedProcess as SeenProcess,
  type ProcessIdentity,
  ProgramFailure,
  type ProgramResult,
  type ProgramSignal,
  type Programs,
  type RunOptions,
  type StartOptions,
} from "../runtime/programs.js";
export type { Random } from "../runtime/random.js";
export { SparseMap, SparseSet } from "../runtime/sparse.js";
export { type Stream, type StreamAddress, StreamFailure, type Streams } from "../runtime/streams.js";
export type { CancelTimer, Timers } from "../runtime/timers.js";
export { type Bytes, bytesIn, bytesOf, textIn } from "../runtime/transfers.js";
export * from "./capabilities.js";
export * from "./config-drive.js";
export * from "./config-schema.js";
export * from "./context.js";
export * from "./driver.js";
export * from "./errors.js";
export * from "./events.js";
export type { Image, ImageData, UploadOptions } from "./images.js";
export * from "./move-methods.js";
export * from "./move-types.js";
export * from "./node-inventory.js";
export * from "./provider-tree.js";
export * from "./report-methods.js";
export * from "./types.js";
export * from "./virt-api.js";
