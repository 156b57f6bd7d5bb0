import { describe, expect, test } from "vitest";
import { IdentityFile } from "../../../../src/agent/identity-file.js";
import { FileFailure } from "../../../../src/runtime/files.js";

const UUID = "11111111-2222-4333-8444-555555555555";
const OTHER = "66666666-7777-4888-9999-000000000000";
const OWN = "/state/compute_id";

/** Creates a machine with these files; those in `broken` cannot be read or written. */
function machine(files: Readonly<Record<string, string>> = {}, broken: Readonly<Record<string, string>> = {}) {
  const stored = new Map(Object.entries(files));
  const failIfBroken = (path: string, doing: string) => {
    const code = broken[path];
    if (code !== undefined) {
      throw new FileFailure(path, code, doing);
    }
  };
  let made = 0;
  const deps = {
    files: {
      readIfPresent: async (path: string) => {
        failIfBroken(path, "read");
        return stored.get(path.replace("//", "/"));
      },
      create: async (path: string, text: string) => {
        failIfBroken(path, "create");
        if (stored.has(path)) {
          throw new FileFailure(path, "EEXIST", "create");
        }
        stored.set(path, text);
      },
    },
    random: { uuid: () => (made++ === 0 ? UUID : OTHER) },
  };
  const identity = (...configFiles: string[]) =>
    new IdentityFile({ ...deps, configFiles, statePath: "/state" } as never);
  return { stored, identity };
}
const rejectionWith = (code: string, records?: object) => ({
  name: "InvalidNodeConfiguration",
  rejection: expect.objectContaining({ code, ...(records ? { records } : {}) }),
});

describe("2.3 the host's uuid, in a file", () => {
  test.each([
    [`${UUID}\n`, UUID],
    [`  ${UUID}  `, UUID],
    [UUID.replaceAll("-", ""), UUID],
    ["ABCDEF01-2345-4678-9ABC-DEF012345678", "abcdef01-2345-4678-9abc-def012345678"],
    [`${UUID}\n\n\n\nand more, after 40 characters`, UUID],
  ])("%j is read as %s", async (text, uuid) => {
    const identity = machine({ [OWN]: text }).identity();
    expect(await identity.read()).toEqual({ uuid, path: OWN });
    expect(await identity.localNodeUuid()).toBe(uuid);
  });

  test.each(["", "nonsense", `${UUID}\n\n\nand more, before`, `x${UUID}`, `${UUID}6`, UUID.slice(1)])(
    "%j is none: refused",
    async (text) => {
      const identity = machine({ [OWN]: text }).identity();
      await expect(identity.read()).rejects.toMatchObject(rejectionWith("identity-unparseable"));
    },
  );

  test("the folders of the configuration files come first, each once; then state_path", async () => {
    const { identity } = machine({ "/etc/nova/compute_id": UUID, [OWN]: UUID, "/compute_id": UUID });
    expect((await identity("/etc/nova/nova.conf", "/etc/nova/other.conf").read())?.path).toBe("/etc/nova/compute_id");
    expect((await identity("/nova.conf").read())?.path).toBe("//compute_id");
    expect((await identity().read())?.path).toBe(OWN);
    expect(identity().path).toBe(OWN);
  });

  test("two that differ are refused, with both", async () => {
    const { identity } = machine({ "/etc/nova/compute_id": UUID, [OWN]: OTHER });
    const records = { "/etc/nova/compute_id": UUID, [OWN]: OTHER };
    await expect(identity("/etc/nova/nova.conf").read()).rejects.toMatchObject(
      rejectionWith("identity-ambiguous", records),
    );
  });

  test("one that cannot be read is refused; none is none", async () => {
    const { identity } = machine({}, { [OWN]: "EACCES" });
    await expect(identity().read()).rejects.toMatchObject(rejectionWith("identity-unparseable", { [OWN]: "EACCES" }));
    expect(await machine().identity().read()).toBeNull();
  });

  test("what was found is not looked for again", async () => {
    const { stored, identity } = machine({ [OWN]: UUID });
    const file = identity();
    await file.read();
    stored.clear();
    expect(await file.read()).toEqual({ uuid: UUID, path: OWN });
  });
});

describe("2.3 a host without one", () => {
  test("gets one, which is kept in memory until the guard lets it be written", async () => {
    const { stored, identity } = machine();
    const file = identity();
    expect([await file.localNodeUuid(), await file.localNodeUuid(), stored.size]).toEqual([UUID, UUID, 0]);
    await file.allowWrites();
    expect(stored).toEqual(new Map([[OWN, `${UUID}\n`]]));
    await file.allowWrites();
    expect(await file.read()).toEqual({ uuid: UUID, path: OWN });
  });

  test("nothing is written that nobody asked for; later ones are written at once", async () => {
    const { stored, identity } = machine();
    const file = identity();
    await file.allowWrites();
    expect(stored.size).toBe(0);
    expect(await file.localNodeUuid()).toBe(UUID);
    expect(stored.get(OWN)).toBe(`${UUID}\n`);
  });

  test.each([
    ["", async () => {}],
    [", also if it was read", (file: IdentityFile) => file.read()],
  ])("a file that was put there after the guard looked is left, and refused%s", async (_, look) => {
    const { stored, identity } = machine();
    const file = identity();
    await file.localNodeUuid();
    stored.set(OWN, OTHER);
    await look(file);
    await expect(file.allowWrites()).rejects.toMatchObject(rejectionWith("identity-not-writable", { [OWN]: "EEXIST" }));
    expect([await file.localNodeUuid(), stored.get(OWN)]).toEqual([UUID, OTHER]);
  });

  test("a recorded uuid that is written takes the place of the one that was handed out", async () => {
    const { stored, identity } = machine();
    const file = identity();
    await file.localNodeUuid();
    await file.write(OTHER);
    await file.allowWrites();
    expect([await file.localNodeUuid(), stored.get(OWN)]).toEqual([OTHER, `${OTHER}\n`]);
  });

  test("the uuid that was handed out is not looked for again", async () => {
    const { stored, identity } = machine();
    const file = identity();
    const handedOut = await file.localNodeUuid();
    stored.set(OWN, OTHER);
    expect(await file.localNodeUuid()).toBe(handedOut);
  });

  test.each([
    ["is there", { [OWN]: OTHER }, {}, "EEXIST", "the file appeared meanwhile"],
    ["cannot be written", {}, { [OWN]: "EROFS" }, "EROFS", `could not be written to ${OWN}: EROFS`],
  ])("a file that %s is refused", async (_, files, broken, code, text) => {
    const { identity } = machine(files, broken as Record<string, string>);
    const failure = identity().write(UUID);
    await expect(failure).rejects.toMatchObject(rejectionWith("identity-not-writable", { [OWN]: code }));
    await expect(failure).rejects.toThrow(text);
  });

  test("an error that is not the file's goes up", async () => {
    const broken = async () => {
      throw new TypeError("broken");
    };
    const files = { readIfPresent: broken, create: broken };
    const identity = new IdentityFile({ files, random: {}, configFiles: [], statePath: "/state" } as never);
    await expect(identity.read()).rejects.toThrow(TypeError);
    await expect(identity.write(UUID)).rejects.toThrow(TypeError);
  });
});
