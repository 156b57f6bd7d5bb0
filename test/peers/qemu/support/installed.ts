import { spawnSync } from "node:child_process";

/** Returns why tests with real guests cannot run here, or null if they can. */
export function missingQemu(): string | null {
  for (const program of ["qemu-system-x86_64", "qemu-img"]) {
    if (spawnSync(program, ["--version"]).status !== 0) {
      return `${program} is not installed: apt-get install --no-install-recommends qemu-system-x86 qemu-utils`;
    }
  }
  return null;
}
