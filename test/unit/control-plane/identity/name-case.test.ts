import { beforeEach, describe, expect, test } from "vitest";
import { DatabaseFile } from "../../../../src/control-plane/database/database-file.js";
import { applySchema } from "../../../../src/control-plane/database/schema-steps.js";
import { Sql } from "../../../../src/control-plane/database/sql.js";
import { openIdentityStore } from "../../../../src/control-plane/identity/store/bootstrap.js";
import { IDENTITY_SCHEMA } from "../../../../src/control-plane/identity/store/identity-schema.js";
import { nameKey } from "../../../../src/control-plane/identity/store/record-tables.js";
import { quickDigests } from "../../../fixtures/quick-digests.js";
import { IdentityWorld } from "./identity-world.js";

let world: IdentityWorld;

beforeEach(async () => {
  world = await IdentityWorld.open();
});

test.each([
  ["Demo", "dEMO", true],
  ["demo", "demo  ", true],
  ["demo", " demo", false],
  ["André", "ANDRE", true],
  ["straße", "strase", true],
  ["ж", "Ж", true],
  ["각", "간", false],
])("the keys of %j and %j are equal: %j", (one, other, isSame) => {
  expect(nameKey(one) === nameKey(other)).toBe(isSame);
});

/** Logs in by names, like an openrc file. */
function login(user: string, domain: object, project: string) {
  const body = {
    auth: {
      identity: { methods: ["password"], password: { user: { name: user, domain, password: "secret" } } },
      scope: { project: { name: project, domain } },
    },
  };
  return world.ask("POST", "auth/tokens", body, "");
}

describe("names in another case", () => {
  test("are accepted at login, by names and by the domain's id, and the token has the stored names", async () => {
    const ada = await world.user("Ada");
    const projectId = await world.make("project", { name: "Lab" });
    await world.grant(`projects/${projectId}`, `users/${ada}`, "member");
    for (const domain of [{ name: "default" }, { name: "DEFAULT" }, { id: "Default" }]) {
      const reply = await login("ADA", domain, "lab");
      expect(reply.status).toBe(201);
      expect(reply.json("token", "user")).toMatchObject({ id: ada, name: "Ada", domain: { name: "Default" } });
      expect(reply.json("token", "project")).toMatchObject({ id: projectId, name: "Lab" });
    }
  });

  test.each([
    [
      "project",
      "Demo",
      "it is not permitted to have two projects with either the same name or same id in the same domain",
    ],
    ["domain", "DEFAULT", "it is not permitted to have two projects acting as domains with the same name: DEFAULT"],
    ["user", "DEMO", "Duplicate entry found with name DEMO at domain ID default"],
    ["role", "Member", "Duplicate entry found with name Member"],
  ])("a second %s named %s is a conflict", async (kind, name, message) => {
    const [status, text] = await world.getRejection("POST", `${kind}s`, { [kind]: { name } });
    expect([status, text]).toEqual([409, expect.stringContaining(message)]);
  });

  test("a second group, application credential or region is a conflict", async () => {
    await world.make("group", { name: "staff" });
    expect((await world.getRejection("POST", "groups", { group: { name: "Staff " } }))[0]).toBe(409);
    expect(await world.getRejection("POST", "regions", { region: { id: "regionone" } })).toEqual([
      409,
      "Conflict occurred attempting to store region - Duplicate ID, regionone..",
    ]);
  });

  test("a record can change the case of its own name", async () => {
    const projectId = await world.make("project", { name: "lab" });
    const changed = await world.ask("PATCH", `projects/${projectId}`, { project: { name: "LAB" } });
    expect([changed.status, changed.json("project", "name")]).toEqual([200, "LAB"]);
    expect(await world.names("projects?name=lab")).toEqual(["LAB"]);
  });

  test("filters of lists find them, but name__contains compares exactly", async () => {
    await world.user("Ada");
    expect(await world.names("users?name=ADA")).toEqual(["Ada"]);
    expect(await world.names("users?name__contains=DA")).toEqual([]);
    expect(await world.names("users?name__icontains=DA")).toEqual(["Ada"]);
    expect(await world.names("roles?name=MEMBER")).toEqual(["member"]);
    expect(await world.names("services?name=NOVA")).toEqual([]);
  });

  test("ids in a path name the same records, and new records refer to the stored id", async () => {
    const ada = await world.user("ada", { domain_id: "DEFAULT" });
    const staff = await world.make("group", { name: "staff", domain_id: "DEFAULT" });
    const upper = (id: string) => id.toUpperCase();
    await world.ask("PUT", `groups/${upper(staff)}/users/${upper(ada)}`);
    expect(await world.names(`groups/${staff}/users`)).toEqual(["ada"]);
    const projectId = await world.make("project", { name: "lab", domain_id: "DEFAULT" });
    await world.grant(`projects/${upper(projectId)}`, `users/${upper(ada)}`, "member");
    expect((await world.login(ada, { project: { id: projectId } })).status).toBe(201);
  });
});

test("names of users and groups are stored without the spaces around them", async () => {
  expect((await world.ask("POST", "users", { user: { name: " ada " } })).json("user", "name")).toBe("ada");
  expect((await world.ask("POST", "groups", { group: { name: " staff " } })).json("group", "name")).toBe("staff");
});

describe("a state file of an earlier release with demo and DEMO", () => {
  test("starts after a client replaced the user demo with one named DEMO, which takes its place", () => {
    const sql = oldFile();
    sql.run("DELETE FROM identity_users WHERE id = 'id-of-demo'");
    const { users, grants } = openStore(sql);
    expect(users.list().map(({ name }) => name)).toEqual(["DEMO", "Other", "admin", "nova", "placement"]);
    expect(grants.of("user", "id-of-DEMO").map(({ target }) => target)).toEqual(["project", "project"]);
  });

  function openStore(sql: Sql) {
    return openIdentityStore(sql, quickDigests, 0);
  }

  function oldFile(): Sql {
    const sql = new Sql(new DatabaseFile(":memory:"));
    applySchema(sql, "identity", IDENTITY_SCHEMA.slice(0, 5), 0);
    for (const name of ["demo", "DEMO", "Other"]) {
      const body = { id: `id-of-${name}`, name, domain_id: "default", enabled: true, options: {} };
      sql.run("INSERT INTO identity_users (id, body) VALUES (?, ?)", body.id, JSON.stringify(body));
    }
    return sql;
  }

  test("retains both, each found by its exact name", () => {
    const { users } = openStore(oldFile());
    expect(users.named("demo", "default")?.id).toBe("id-of-demo");
    expect(users.named("DEMO", "default")?.id).toBe("id-of-DEMO");
    expect(users.named("Demo", "default")?.id).toBe("id-of-demo");
    expect(users.named("OTHER", "default")?.id).toBe("id-of-Other");
  });

  test("permits changes of both, and gives the key to the second when the first is deleted", () => {
    const sql = oldFile();
    const { users } = openStore(sql);
    const second = users.get("id-of-DEMO");
    users.update({ ...(second as NonNullable<typeof second>), enabled: false });
    expect(users.get("id-of-DEMO")?.enabled).toBe(false);
    users.delete("id-of-demo");
    expect(openStore(sql).users.named("Demo", "default")?.id).toBe("id-of-DEMO");
  });
});
