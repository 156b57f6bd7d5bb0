import { describe, expect, it } from "vitest";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import type { HostSession } from "../../../../src/conductor-client/port.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { RecordWrites } from "../../../simulator/histories/record-writes.js";
import { Ticks } from "../../../simulator/histories/ticks.js";
import { addInstance, memoryStore } from "../../control-plane/store/support.js";

type Save = (uuid: string, changes: object, expected: object) => unknown;

/** An agent's session, of which saves of instances alone are carried out, by `save`. */
function sessionWith(save: Save): HostSession {
  const call = async (_method: string, { uuid, changes, ...expected }: { uuid: string; changes: object }) =>
    save(uuid, changes, expected);
  return { host: "devstack1", call } as unknown as HostSession;
}

async function world(saveOf: (store: Store) => Save) {
  const { store } = await memoryStore();
  const writes = new RecordWrites(new Ticks());
  writes.follow(store);
  const { uuid } = addInstance(store, undefined, { taskState: null });
  const session = writes.session(sessionWith(saveOf(store)));
  const save = (taskState: string, expectedTaskState: readonly (string | null)[]) =>
    session.call("instance_save", { uuid, changes: { taskState }, expectedTaskState } as never).catch(() => undefined);
  return { store, uuid, writes, save };
}

function obedient(store: Store): Save {
  return (uuid, changes, expected) => store.instances.save(uuid, changes, expected);
}

describe("compare-and-swap writes of agents", () => {
  it("are explained where the store compares", async () => {
    const { writes, save } = await world(obedient);
    await save("powering-off", [null]);
    await save("pausing", [null]);
    await save("powering-on", ["powering-off"]);
    expect(writes.violations()).toEqual([]);
  });

  it("are not where it does not: an update is lost", async () => {
    const { uuid, writes, save } = await world((store) => (id, changes) => store.instances.save(id, changes));
    await save("powering-off", [null]);
    await save("pausing", [null]);
    expect(writes.violations()).toMatchObject([
      { subject: uuid, what: expect.stringMatching(/"pausing".* was carried out/) },
    ]);
  });

  it("are not where it says that it has written, and has not", async () => {
    const { writes, save } = await world(() => () => undefined);
    await save("powering-off", [null]);
    expect(writes.violations()).toHaveLength(1);
  });

  it("are not where it refuses what it was found to be", async () => {
    const { writes, save } = await world(
      (store) => (id, changes) => store.instances.save(id, changes, { expectedTaskState: [] }),
    );
    await save("powering-off", [null]);
    expect(writes.violations()).toMatchObject([{ what: expect.stringMatching(/was refused/) }]);
  });

  it("may or may not have been carried out, where no answer came", async () => {
    const { writes, save } = await world((store) => (id, changes) => {
      store.instances.save(id, changes);
      throw new ConductorError("MessagingTimeout", "no answer");
    });
    await save("powering-off", [null]);
    expect(writes.violations()).toEqual([]);
  });

  it.each([
    ["is away meanwhile", true],
    ["has answered, and is not listened to yet", false],
  ])("are not judged where a control plane %s", async (_name, followed) => {
    const { store, writes, save } = await world((targetStore) => (id, changes) => {
      writes.loses();
      targetStore.instances.save(id, changes);
      if (followed) {
        writes.follow(targetStore);
      }
    });
    await save("powering-off", ["pausing"]);
    writes.follow(store);
    expect(writes.violations()).toEqual([]);
    expect(store.instances.list({})[0]?.taskState).toBe("powering-off");
  });
});
