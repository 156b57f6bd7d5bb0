import { describe, expect, it } from "vitest";
import { HostSettingsStore } from "../../../../src/cli/cluster/host-settings.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const PATH = "/st/hosts.json";

function world() {
  const runtime = createVirtualRuntime();
  return { runtime, createStore: () => new HostSettingsStore(runtime.files, { root: "/st" }) };
}

describe("the settings that up saves", () => {
  it("are those of started hosts, also of hosts that start later", async () => {
    const { runtime, createStore } = world();
    const first = createStore();
    await runtime.runUntil(first.read());
    await runtime.runUntil(first.keep("devstack1", { driver: "/mine", configFiles: ["/nova.conf"] }));
    const second = createStore();
    await runtime.runUntil(second.read());
    await runtime.runUntil(second.keep("devstack2", { configFiles: [] }));
    expect(await runtime.runUntil(createStore().read())).toEqual({
      devstack1: { driver: "/mine", configFiles: ["/nova.conf"] },
      devstack2: { configFiles: [] },
    });
  });

  it("name the hosts of the last start, with hosts added and without hosts removed since", async () => {
    const { runtime, createStore } = world();
    const settings = createStore();
    const hosts = async () => (await createStore().read())["control-plane"]?.hosts;
    await runtime.runUntil(settings.read());
    await runtime.runUntil(settings.include("devstack1"));
    expect(await runtime.runUntil(hosts()), "an older program has recorded none").toBeUndefined();
    await runtime.runUntil(settings.keep("control-plane", { configFiles: [], hosts: ["devstack1", "devstack2"] }));
    await runtime.runUntil(settings.keep("devstack2", { configFiles: [] }));
    await runtime.runUntil(settings.include("devstack3"));
    await runtime.runUntil(settings.include("devstack3"));
    await runtime.runUntil(settings.forget("devstack2"));
    expect(await runtime.runUntil(hosts())).toEqual(["devstack1", "devstack3"]);
  });

  it("are complete when hosts start concurrently, whichever write takes longest", async () => {
    const { runtime } = world();
    const writes: string[] = [];
    let wait = 100;
    const files = {
      ...runtime.files,
      readIfPresent: async () => undefined,
      write: async (_path: string, text: string) => {
        wait -= 40;
        await runtime.timers.sleep(wait);
        writes.push(text);
      },
    };
    const slow = new HostSettingsStore(files, { root: "/st" });
    await runtime.runUntil(slow.read());
    await runtime.runUntil(
      Promise.all([slow.keep("devstack1", { configFiles: [] }), slow.keep("devstack2", { configFiles: [] })]),
    );
    expect(Object.keys(JSON.parse(writes.at(-1) ?? ""))).toEqual(["devstack1", "devstack2"]);
  });

  it("are not written again when nothing changed", async () => {
    const { runtime, createStore } = world();
    const before = createStore();
    await runtime.runUntil(before.read());
    await runtime.runUntil(before.keep("devstack1", { configFiles: [] }));
    await runtime.runUntil(runtime.files.remove(PATH));
    await runtime.runUntil(before.keep("devstack1", { configFiles: [] }));
    expect(await runtime.runUntil(runtime.files.stat(PATH))).toBeUndefined();
  });

  for (const text of ["{", "[]", "null", '{"devstack1": {}}', '{"devstack1": {"driver": 1, "configFiles": []}}']) {
    it(`are reported with a remedy when the file contains ${text}`, async () => {
      const { runtime, createStore } = world();
      await runtime.runUntil(runtime.files.write(PATH, text));
      await expect(runtime.runUntil(createStore().read())).rejects.toThrow(/hosts\.json.*remove it/);
    });
  }
});
