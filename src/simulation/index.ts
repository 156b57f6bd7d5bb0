export { createVirtualRuntime } from "./create-virtual-runtime.js";
export { VirtualDisk } from "./virtual-disk.js";
export type { LogLevel, LogRecord } from "./virtual-logger.js";
export { VirtualMachine } from "./virtual-machine.js";
export type { FaultRule, NetworkFault } from "./virtual-network.js";
export type { VirtualRuntime } from "./virtual-world.js";
export { GoalNotReached, type SpawnOptions, VirtualWorld, type WorldOptions } from "./virtual-world.js";
