import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import { instanceOf, UUID } from "../../virt/fixtures.js";
import { DESTROY, HARNESSES, type Harness, SPAWN } from "./fixtures.js";

const file = (name: string) => ({ path: `/etc/${name}`, contents: Buffer.from(name).toString("base64") });
const vm = instanceOf({ configDrive: true, injectedFiles: [file("one"), file("two")] });

describe.each(HARNESSES)("8.15 config drives of fake-libvirt on %s", (_, createHarness) => {
  let harness: Harness;
  let host: DriverHost;
  const drive = (path: string) =>
    harness.files.readIfPresent(
      `${harness.folder}/hypervisors/devstack1/instances/${UUID}/disk.config/openstack/${path}`,
    );

  beforeEach(async () => {
    harness = await createHarness();
    host = await harness.connect();
  });
  afterEach(() => harness.close());

  test("are beside the disks and are deleted with them", async () => {
    await host.spawn(vm, SPAWN);
    expect(JSON.parse((await drive("latest/meta_data.json")) ?? "{}")).toMatchObject({ uuid: UUID });
    expect(await drive("content/0001")).toBe("two");
    await host.destroy(vm, DESTROY);
    expect(await drive("latest/meta_data.json")).toBeUndefined();
  });

  test("are created again with the instance's current data", async () => {
    await host.spawn(vm, SPAWN);
    await harness.files.remove(`${harness.folder}/hypervisors/devstack1/domains/${UUID}.xml`);
    await host.reboot({ ...vm, injectedFiles: [file("three")] }, "HARD");
    expect([await drive("content/0000"), await drive("content/0001")]).toEqual(["three", undefined]);
  });

  test("are missing if the instance requests none", async () => {
    await host.spawn({ ...vm, configDrive: false }, SPAWN);
    expect(await drive("latest/meta_data.json")).toBeUndefined();
  });
});
