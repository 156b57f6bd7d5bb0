export * from "../../conductor/liveness.js";
