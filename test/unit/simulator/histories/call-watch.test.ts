import { expect, it } from "vitest";
import type { Store } from "../../../../src/control-plane/store/store.js";
import type { ServiceHandler, ServiceRequest } from "../../../../src/runtime/http-server.js";
import type { Runtime } from "../../../../src/runtime/runtime.js";
import { ApiWatch } from "../../../simulator/histories/call-watch.js";
import { addInstance, memoryStore, uuidOf } from "../../control-plane/store/support.js";

/** A request to a service behind the watch. */
async function ask(watch: ApiWatch, mount: string, handler: ServiceHandler, request: Partial<ServiceRequest>) {
  let mounted: Readonly<Record<string, ServiceHandler>> = {};
  const runtime = { servers: { listen: (options: { services: typeof mounted }) => (mounted = options.services) } };
  watch.runtime(runtime as unknown as Runtime).servers.listen({ services: { [mount]: handler } } as never);
  return mounted[mount]?.({ method: "POST", path: "", query: "", headers: {}, body: "", baseUrl: "", ...request });
}

function respondWith(status: number, work: () => void = () => undefined): ServiceHandler {
  return () => {
    work();
    return { status, headers: {}, body: "" };
  };
}

async function watched(): Promise<{ readonly store: Store; readonly watch: ApiWatch; readonly path: string }> {
  const { store } = await memoryStore();
  const { uuid } = addInstance(store, uuidOf(1));
  return { store, watch: new ApiWatch(() => store), path: `/v2.1/servers/${uuid}/action` };
}

it("lets an answer be a refusal only where nothing has changed", async () => {
  const { store, watch, path } = await watched();
  const change = () => void store.instances.save(uuidOf(1), { progress: 5 });
  await ask(watch, "/compute", respondWith(409), { path });
  await ask(watch, "/compute", respondWith(202, change), { path });
  expect(watch.violations).toEqual([]);
  await ask(
    watch,
    "/compute",
    respondWith(409, () => void store.instances.save(uuidOf(1), { progress: 6 })),
    { path },
  );
  expect(watch.violations).toMatchObject([{ subject: uuidOf(1), what: expect.stringContaining("was answered 409") }]);
});

it("lets a generation be used once", async () => {
  const { store, watch } = await watched();
  const { database } = store;
  database.run("CREATE TABLE placement_consumers (uuid TEXT, generation INTEGER)");
  const put = { method: "PUT", path: "/allocations/c", body: '{"consumer_generation":null}' };
  const insert = () => void database.run("INSERT INTO placement_consumers VALUES ('c', 1)");
  await ask(watch, "/placement", respondWith(204, insert), put);
  const again = { ...put, body: '{"consumer_generation":1}' };
  const raise = () => void database.run("UPDATE placement_consumers SET generation = generation + 1");
  await ask(watch, "/placement", respondWith(204, raise), again);
  await ask(watch, "/placement", respondWith(409), again);
  expect(watch.violations).toEqual([]);
  await ask(watch, "/placement", respondWith(204, raise), again);
  expect(watch.violations).toMatchObject([{ subject: "c", what: expect.stringContaining("it found 2, and left 3") }]);
});
