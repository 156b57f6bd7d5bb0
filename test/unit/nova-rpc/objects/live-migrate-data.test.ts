import { expect, it } from "vitest";
import {
  readLiveMigrateData,
  readSourceCheck,
  writeLiveMigrateData,
} from "../../../../src/nova-rpc/objects/compute-rpc-objects.js";
import { objectOf } from "../../../../src/nova-rpc/objects/primitive.js";
import { OLDEST_PROFILE } from "../../../../src/nova-rpc/objects/profile.js";
import { recording } from "../../../fixtures/nova-recordings.js";

const OURS = { blockMigration: false, sharedInstanceFiles: false, destination: { uri: "fake-libvirt:///h" } };
const [FAKES] = recording("zed", "live-migrate").filter(({ msg }) => msg.method === "check_can_live_migrate_source");
const NOVAS_FAKE = FAKES?.msg.args?.dest_check_data;

it("data checked by an agent on the source are returned unchanged; data only forwarded bring no guest", () => {
  const destinationData = writeLiveMigrateData(OURS, null, OLDEST_PROFILE);
  expect(readLiveMigrateData(destinationData)).toEqual(OURS);
  const sourceData = writeLiveMigrateData({ ...OURS, blockMigration: true }, destinationData, OLDEST_PROFILE, {
    bySource: true,
  });
  expect(readSourceCheck(sourceData)).toEqual({ ...OURS, blockMigration: true });
  expect(readSourceCheck(destinationData)).toEqual({ ...OURS, guestMadeAnew: true });
});

it("a destination with nova's own fake driver takes over no guest, and its values are preserved", () => {
  expect(readLiveMigrateData(NOVAS_FAKE)).toEqual({ guestMadeAnew: true });
  const written = writeLiveMigrateData({ guestMadeAnew: true, blockMigration: false }, NOVAS_FAKE, OLDEST_PROFILE);
  expect(readLiveMigrateData(written)).toEqual({ guestMadeAnew: true, blockMigration: false });
  const { filename: _filename, ...destinationFields } = objectOf(NOVAS_FAKE)["nova_object.data"];
  expect(written["nova_object.data"]).toMatchObject(destinationFields);
});

it("nothing is read from the data of any other hypervisor", () => {
  for (const filename of ["tmpabc", "", null, '{"compute_agent": 1}', "[]"]) {
    const value = { ...(NOVAS_FAKE as object), "nova_object.data": { filename } };
    expect(readLiveMigrateData(value)).toEqual({});
  }
  expect(readLiveMigrateData(null)).toEqual({});
});

it.each([true, false])("a nova-compute learns whether files are shared: %s", (shared) => {
  const { "nova_object.data": data } = writeLiveMigrateData({ sharedInstanceFiles: shared }, null, OLDEST_PROFILE);
  expect(data).toMatchObject({ is_shared_instance_path: shared, is_shared_block_storage: shared });
});
