import { beforeEach, describe, expect, it } from "vitest";
import type { ControlPlaneOptions } from "../../../src/control-plane/control-plane.js";
import { FileFailure, type Files } from "../../../src/runtime/files.js";
import { type VirtualRuntime, VirtualWorld } from "../../../src/simulation/virtual-world.js";
import { openControlPlane } from "../../fixtures/world/control-plane.js";

const PORT = 8774;

/** Wraps files so that the write number `failing`, counted from 1, fails as on a full disk. */
function fullAt(failing: number, files: Files) {
  let writes = 0;
  const failed: string[] = [];
  const write: Files["write"] = async (path, ...rest) => {
    writes += 1;
    if (writes === failing) {
      failed.push(path);
      throw new FileFailure(path, "ENOSPC", "write");
    }
    return files.write(path, ...rest);
  };
  const failingFiles = new Proxy(files, {
    get: (target, name: keyof Files) => (name === "write" ? write : target[name].bind(target)),
  });
  return { failingFiles: failingFiles, failed };
}

describe("a control plane that starts", () => {
  let world = new VirtualWorld();
  beforeEach(() => {
    world = new VirtualWorld();
  });
  const start = (runtime: ControlPlaneOptions["runtime"]) => world.runUntil(openControlPlane({ runtime, port: PORT }));
  const isListening = (runtime: VirtualRuntime) =>
    world.runUntil(
      runtime.http.request({ method: "GET", url: `http://127.0.0.1:${PORT}/identity/v3` }).then(
        () => true,
        () => false,
      ),
    );

  it("opens no listener and leaves no file open if any of its files cannot be written", async () => {
    const failed: string[] = [];
    for (let failing = 1; ; failing += 1) {
      world = new VirtualWorld();
      const runtime = world.spawn({ name: "control-plane" });
      const full = fullAt(failing, runtime.files);
      const outcome = await start({ ...runtime, files: full.failingFiles }).catch((error: Error) => error);
      if (!(outcome instanceof Error)) {
        expect(await isListening(runtime)).toBe(true);
        await world.runUntil(outcome.stop());
        if (full.failed.length === 0) {
          break;
        }
        continue;
      }
      failed.push(...full.failed);
      expect(outcome.message).toContain("the disk is full (ENOSPC)");
      expect(await isListening(runtime)).toBe(false);
    }
    expect(failed).toEqual([
      "/cluster/.trial",
      "/cluster/join-token",
      "/cluster/clouds.yaml",
      "/cluster/ironic/agent.conf",
      "/cluster/cluster.json",
    ]);
  });

  it("reports a state directory that is a file", async () => {
    const runtime = world.spawn({ name: "in-a-file" });
    await runtime.files.write("/cluster", "not a folder");
    await expect(start(runtime)).rejects.toThrow(
      "the state directory /cluster cannot be used: it is not a folder; fix that, or name another --state-dir",
    );
  });
});
