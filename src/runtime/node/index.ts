export { createNodeLogger, type NodeLoggerOptions } from "./node-logger.js";
export { createNodeRuntime, type NodeRuntimeOptions } from "./node-runtime.js";
