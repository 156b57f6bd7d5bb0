import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DatabaseFile } from "../../../../src/control-plane/database/database-file.js";
import { finishRestore, restoreSnapshot } from "../../../../src/control-plane/snapshot/restore.js";
import { readDownHosts } from "../../../../src/control-plane/snapshot/saved-state.js";
import type { SnapshotMetadata } from "../../../../src/control-plane/snapshot/snapshot-file.js";
import {
  assertSameDrivers,
  assertSupportedDrivers,
  Snapshots,
} from "../../../../src/control-plane/snapshot/snapshots.js";
import { NodeFiles } from "../../../../src/runtime/node/node-files.js";

const GIB = 2 ** 30;

describe("snapshots of a state directory", () => {
  let root: string;
  let snapshots: Snapshots;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "snapshots-"));
    snapshots = new Snapshots({ root }, new NodeFiles());
    const database = new DatabaseFile(join(root, "state.sqlite"), ["PRAGMA journal_mode = WAL"]);
    database.exec("CREATE TABLE identity_tokens (digest TEXT); CREATE TABLE host_leases (host TEXT)");
    database.exec("INSERT INTO identity_tokens VALUES ('t'); INSERT INTO host_leases VALUES ('h')");
    database.close();
    await put("agents/devstack1/compute_id", "id\n");
    await put("hypervisors/devstack1/domains/vm.xml", `<source file="${root}/hypervisors/devstack1/disk"/>`);
    await put("hypervisors/devstack1/disk", "");
    await truncate(join(root, "hypervisors/devstack1/disk"), 5 * GIB);
    await put("join-token", "mine\n");
    await put("logs/control-plane.log", "a line\n");
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function put(path: string, text: string, folder = root): Promise<void> {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const text = (path: string, folder = root) => readFile(join(folder, path), "utf8");
  const createMetadata = (): SnapshotMetadata => ({
    savedAt: 1,
    program: "1.0.0",
    root,
    drivers: { devstack1: "fake-libvirt" },
  });
  const snapshotFile = () => join(root, "snapshots/one.snapshot");
  const tokens = (folder: string) => {
    const database = new DatabaseFile(join(folder, "state.sqlite"));
    const row = database.prepare("SELECT count(*) AS found FROM identity_tokens").get() as { readonly found: number };
    database.close();
    return row.found;
  };

  it("restore what was changed, added and removed, and do not touch this cluster's own files", async () => {
    snapshots.save("one", createMetadata());
    await put("agents/devstack1/compute_id", "other\n");
    await put("agents/devstack2/compute_id", "added\n");
    await rm(join(root, "hypervisors/devstack1/domains"), { recursive: true });
    await truncate(join(root, "hypervisors/devstack1/disk"), 1);
    await put("join-token", "newer\n");
    await put("logs/control-plane.log", "two lines\n");
    restoreSnapshot(root, snapshots.read("one"), { now: 1 });
    expect(await text("agents/devstack1/compute_id")).toBe("id\n");
    await expect(stat(join(root, "agents/devstack2"))).rejects.toThrow("ENOENT");
    expect(await text("hypervisors/devstack1/domains/vm.xml")).toContain(`${root}/hypervisors`);
    expect(await text("join-token")).toBe("newer\n");
    expect(await text("logs/control-plane.log")).toBe("two lines\n");
    expect(tokens(root)).toBe(1);
    await expect(stat(join(root, "restore-under-way"))).rejects.toThrow("ENOENT");
  });

  it("restore services with heartbeats of the same age", async () => {
    const database = new DatabaseFile(join(root, "state.sqlite"));
    database.exec("CREATE TABLE services (host TEXT, last_seen_up INTEGER, created_at INTEGER, deleted INTEGER)");
    database.exec(
      "INSERT INTO services VALUES ('reported', 90000, 50000, 0), ('new', NULL, 99000, 0), ('gone', 7, 7, 1)",
    );
    database.close();
    snapshots.save("one", { ...createMetadata(), savedAt: 100_000 });
    // A killed control plane leaves its journal, which must not be applied to another database.
    await put("state.sqlite-wal", "of another database");
    restoreSnapshot(root, snapshots.read("one"), { now: 700_000 });
    expect(await text("state.sqlite-wal").catch(() => "")).toBe("");
    const restored = new DatabaseFile(join(root, "state.sqlite"));
    const rows = restored.prepare("SELECT host, last_seen_up AS heartbeat FROM services ORDER BY host").all();
    restored.close();
    expect(rows).toEqual([
      { host: "gone", heartbeat: 7 },
      { host: "new", heartbeat: 699_000 },
      { host: "reported", heartbeat: 690_000 },
    ]);
  });

  it("list the hosts that the next start leaves down, unless all are to be started", async () => {
    const down = async () => Object.fromEntries(await readDownHosts({ root }, new NodeFiles()));
    const host = (state: "killed" | "running") => ({ state, forcedDown: false });
    snapshots.save("older", createMetadata());
    snapshots.save("one", { ...createMetadata(), hosts: { devstack1: host("killed"), devstack2: host("running") } });
    expect(await down()).toEqual({});
    restoreSnapshot(root, snapshots.read("one"), { now: 1 });
    expect(await down()).toEqual({ devstack1: "killed" });
    snapshots.save("two", createMetadata());
    restoreSnapshot(root, snapshots.read("two"), { now: 1 });
    expect(await down(), "it is no file of another snapshot").toEqual({});
    restoreSnapshot(root, snapshots.read("one"), { now: 1 });
    restoreSnapshot(root, snapshots.read("one"), { now: 1, startHosts: true });
    expect(await down()).toEqual({});
    restoreSnapshot(root, snapshots.read("one"), { now: 1 });
    restoreSnapshot(root, snapshots.read("older"), { now: 1 });
    expect(await down()).toEqual({});
    await put("down-hosts.json", '{"devstack1": "asleep"}');
    await expect(down()).rejects.toThrow('expected {"HOST": "killed"}');
  });

  it("save disks as sparse files, readable only by their owner", async () => {
    snapshots.save("one", createMetadata());
    const { size, mode } = await stat(snapshotFile());
    expect(size).toBeLessThan(200_000);
    expect(mode & 0o777).toBe(0o600);
    await rm(join(root, "hypervisors/devstack1/disk"));
    restoreSnapshot(root, snapshots.read("one"), { now: 1 });
    const disk = await stat(join(root, "hypervisors/devstack1/disk"));
    expect([disk.size, disk.blocks]).toEqual([5 * GIB, 0]);
  });

  it("save the data between the holes of a file, and its mode", async () => {
    const path = join(root, "hypervisors/devstack1/disk");
    await truncate(path, 3 * 2 ** 20);
    await writeFile(path, "at the end", { flag: "a" });
    await chmod(path, 0o640);
    snapshots.save("one", createMetadata());
    const before = await readFile(path);
    await writeFile(path, "overwritten");
    await chmod(path, 0o600);
    restoreSnapshot(root, snapshots.read("one"), { now: 1 });
    expect((await readFile(path)).equals(before)).toBe(true);
    expect((await stat(path)).mode & 0o777).toBe(0o640);
  });

  it("replace a file by a folder, and a folder by a file", async () => {
    snapshots.save("one", createMetadata());
    await rm(join(root, "agents"), { recursive: true });
    await put("agents", "a file");
    await rm(join(root, "hypervisors/devstack1/disk"));
    await put("hypervisors/devstack1/disk/file", "in a folder");
    restoreSnapshot(root, snapshots.read("one"), { now: 1 });
    expect(await text("agents/devstack1/compute_id")).toBe("id\n");
    expect((await stat(join(root, "hypervisors/devstack1/disk"))).size).toBe(5 * GIB);
  });

  it("can be imported by another cluster with its paths, and without tokens and leases", async () => {
    snapshots.save("one", createMetadata());
    const file = join(root, "exported");
    snapshots.export("one", file);
    const other = await mkdtemp(join(tmpdir(), "snapshots-"));
    try {
      const theirs = new Snapshots({ root: other }, new NodeFiles());
      theirs.import(file, "theirs");
      await put("join-token", "theirs\n", other);
      restoreSnapshot(other, theirs.read("theirs"), { now: 1 });
      expect(await text("hypervisors/devstack1/domains/vm.xml", other)).toBe(
        `<source file="${other}/hypervisors/devstack1/disk"/>`,
      );
      expect(await text("join-token", other)).toBe("theirs\n");
      expect(tokens(other)).toBe(0);
      expect(tokens(root)).toBe(1);
    } finally {
      await rm(other, { recursive: true });
    }
  });

  it("are listed by age, without unreadable ones, and deleted", async () => {
    snapshots.save("newer", { ...createMetadata(), savedAt: 2 });
    snapshots.save("one", createMetadata());
    snapshots.save(null, createMetadata());
    await put("snapshots/broken.snapshot", "nonsense");
    const unreadable: string[] = [];
    const listed = await snapshots.list((name) => unreadable.push(name));
    expect(listed.map(({ name, hosts }) => [name, hosts])).toEqual([
      ["one", 1],
      ["newer", 1],
    ]);
    expect(unreadable).toEqual(["broken"]);
    await snapshots.delete("one");
    await expect(snapshots.delete("one")).rejects.toThrow("snapshot one does not exist");
    expect(() => snapshots.read("one")).toThrow("does not exist; list all with compute-agent snapshot list");
  });

  it("are rejected if they are truncated, changed, of a newer version, or not snapshots", async () => {
    snapshots.save("one", createMetadata());
    const fullContent = await readFile(snapshotFile());
    const found = async (content: Uint8Array | string) => {
      await writeFile(snapshotFile(), content);
      try {
        snapshots.read("one");
        return "taken";
      } catch (error) {
        return String(error);
      }
    };
    expect(await found(fullContent)).toBe("taken");
    expect(await found(fullContent.subarray(0, fullContent.length - 100))).toContain("it is truncated");
    expect(await found(fullContent.subarray(0, 60))).toContain("truncated");
    expect(await found("")).toContain("is not a snapshot");
    expect(await found(Buffer.concat([fullContent, Buffer.from("x")]))).toContain("data was appended");
    const changed = Buffer.from(fullContent);
    changed[fullContent.length - 200] = (changed[fullContent.length - 200] ?? 0) ^ 1;
    expect(await found(changed)).toContain("was modified after it was saved");
    expect(
      await found(`compute-agent snapshot 2\n${fullContent.toString().split("\n").slice(1).join("\n")}`),
    ).toContain("has version 2, but this program reads only versions up to 1");
    const traversalHeader = JSON.stringify({
      facts: createMetadata(),
      files: [{ path: "../outside", mode: 0o644, bytes: 0 }],
    });
    expect(await found(`compute-agent snapshot 1\n${traversalHeader}\n`)).toContain("cannot be read");
    expect(() => snapshots.read("../one")).toThrow('invalid name of a snapshot: "../one"');
  });

  it("are not saved for drivers with external guests, nor restored over hosts with another driver", () => {
    snapshots.save("one", createMetadata());
    expect(() => assertSupportedDrivers({ h: "qemu" })).toThrow("host h has driver qemu");
    expect(() => assertSameDrivers(snapshots.read("one"), { devstack1: "ironic" })).toThrow(
      "devstack1 has ironic, but fake-libvirt in the snapshot",
    );
    assertSameDrivers(snapshots.read("one"), { other: "ironic" });
  });

  it("reuse removed entries, so that restored files need not be created", async () => {
    const compute = "agents/devstack1/compute_id";
    const inode = async (path: string) => (await stat(join(root, path))).ino;
    snapshots.save("one", createMetadata());
    await rm(join(root, "agents"), { recursive: true });
    snapshots.save("two", createMetadata());
    restoreSnapshot(root, snapshots.read("one"), { now: 1 });
    const folders = async () => new Set([await inode("agents"), await inode("agents/devstack1")]);
    const [file, both] = [await inode(compute), await folders()];
    restoreSnapshot(root, snapshots.read("two"), { now: 1 });
    await expect(stat(join(root, "agents"))).rejects.toThrow("ENOENT");
    restoreSnapshot(root, snapshots.read("one"), { now: 1 });
    expect(await text(compute)).toBe("id\n");
    expect((await readdir(join(root, "agents"))).toSorted()).toEqual(["devstack1"]);
    expect(await inode(compute)).toBe(file);
    expect(await folders()).toEqual(both);
    expect(snapshots.read("one").entries.some(({ path }) => path.includes("spare"))).toBe(false);
  });

  it("truncate no file with another hard link, and not the database, which may be mapped", async () => {
    snapshots.save("one", createMetadata());
    await link(join(root, "join-token"), join(root, "agents/linked"));
    await link(join(root, "state.sqlite"), join(root, "join.conf"));
    await put("agents/sealed", "sealed\n");
    await chmod(join(root, "agents/sealed"), 0o400);
    const before = await readFile(join(root, "join.conf"));
    restoreSnapshot(root, snapshots.read("one"), { now: 1 });
    expect(await readdir(join(root, "agents"))).toEqual(["devstack1"]);
    expect(await text("join-token")).toBe("mine\n");
    expect((await readFile(join(root, "join.conf"))).equals(before)).toBe(true);
  });

  it("discard an interrupted restore without a plan, and finish one with a plan", async () => {
    await put("restore-under-way/0", "half of it");
    finishRestore(root);
    expect(await text("agents/devstack1/compute_id")).toBe("id\n");
    const plan = { remove: [], folders: [], put: [{ name: "0", path: "agents/devstack1/compute_id" }], modes: [] };
    await put("restore-under-way/0", "new\n");
    await put("restore-under-way/plan.json", JSON.stringify(plan));
    finishRestore(root);
    finishRestore(root);
    expect(await text("agents/devstack1/compute_id")).toBe("new\n");
    await expect(stat(join(root, "restore-under-way"))).rejects.toThrow("ENOENT");
  });

  it("skip everything that is neither a file nor a folder", async () => {
    await symlink("/", join(root, "agents/everything"));
    snapshots.save("one", createMetadata());
    expect(snapshots.read("one").entries.some(({ path }) => path.includes("everything"))).toBe(false);
  });
});
