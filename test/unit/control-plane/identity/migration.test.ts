import { expect, test } from "vitest";
import { DatabaseFile } from "../../../../src/control-plane/database/database-file.js";
import { applySchema } from "../../../../src/control-plane/database/schema-steps.js";
import { Sql } from "../../../../src/control-plane/database/sql.js";
import { createIdentity } from "../../../../src/control-plane/identity/identity.js";
import { openIdentityStore } from "../../../../src/control-plane/identity/store/bootstrap.js";
import { IDENTITY_SCHEMA } from "../../../../src/control-plane/identity/store/identity-schema.js";
import { nodeDigests } from "../../../../src/runtime/node/node-cryptography.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";

/** Derives an id as version 2 did. */
const idOf = (kind: string, name: string): string => nodeDigests.sha256(`${kind}/${name}`).slice(0, 32);

test("a database of an earlier release retains its users, ids, passwords and tokens", async () => {
  const runtime = new VirtualWorld().spawn({ name: "control-plane" });
  const sql = new Sql(new DatabaseFile(":memory:"));
  applySchema(sql, "identity", IDENTITY_SCHEMA.slice(0, 2), 0);
  sql.run("INSERT INTO identity_projects VALUES ('research', 'of Ada')");
  sql.run(`INSERT INTO identity_users VALUES ('ada', '{"research":["member"],"demo":["reader"]}')`);
  const ada = idOf("user", "ada");
  const digest = nodeDigests.sha256("salt:remembered");
  sql.run("INSERT INTO identity_passwords (user_id, salt, digest) VALUES (?, 'salt', ?)", ada, digest);
  const end = runtime.clock.now() + 1000;
  sql.run(
    "INSERT INTO identity_tokens VALUES (?, ?, ?, 0, 'password', 'audit', 0, ?)",
    nodeDigests.sha256("gAAAAABold"),
    ada,
    idOf("project", "research"),
    end,
  );

  const identity = createIdentity({ ...runtime, sql, digests: nodeDigests });
  expect(identity.seededIdentities).toEqual({
    projects: [{ name: "research", description: "of Ada" }],
    users: [{ name: "ada", roles: { research: ["member"], demo: ["reader"] } }],
  });
  expect(identity.hasProject(idOf("project", "research"))).toBe(true);
  expect(await identity.ensurePassword("ada", "remembered")).toBe("remembered");
  expect(identity.validate("gAAAAABold")).toMatchObject({ userName: "ada", projectName: "research" });
  // The next start finds the migrated data.
  expect(createIdentity({ ...runtime, sql, digests: nodeDigests }).seededIdentities).toEqual(identity.seededIdentities);
});

test("a database of a release before the role manager gets it between admin and member, as Keystone's bootstrap does", () => {
  const runtime = new VirtualWorld().spawn({ name: "control-plane" });
  const sql = new Sql(new DatabaseFile(":memory:"));
  const open = () => openIdentityStore(sql, nodeDigests, runtime.clock.now());
  const { roles, impliedRoles } = open();
  const id = (name: string) => roles.named(name, null)?.id ?? "";
  const [admin, manager, member, reader] = [id("admin"), id("manager"), id("member"), id("reader")];
  roles.delete(manager);
  impliedRoles.remove(admin, manager);
  impliedRoles.remove(manager, member);
  impliedRoles.add(admin, member);

  const reopened = open().impliedRoles;
  expect([reopened.rightOf(admin), reopened.rightOf(manager), reopened.rightOf(member)]).toEqual([
    [manager],
    [member],
    [reader],
  ]);
});
