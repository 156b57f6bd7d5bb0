export * from "./action.js";
export * from "./compute-node.js";
export * from "./flavor.js";
export * from "./instance.js";
export * from "./migration.js";
export * from "./release.js";
export * from "./request-spec.js";
export * from "./service.js";
