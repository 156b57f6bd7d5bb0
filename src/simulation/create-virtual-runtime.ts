import type { VirtualRuntime } from "./virtual-world.js";
import { VirtualWorld, type WorldOptions } from "./virtual-world.js";

/** A world with one process in it. More processes: `runtime.world.spawn()`. */
export function createVirtualRuntime(options: WorldOptions = {}): VirtualRuntime {
  return new VirtualWorld(options).spawn();
}
