import { beforeEach, describe, expect, test } from "vitest";
import type { Caller } from "../../../fixtures/callers.js";
import { ImageWorld } from "./image-world.js";

let world: ImageWorld;
let id: string;

beforeEach(async () => {
  world = new ImageWorld();
  id = await world.image({ name: "shared" });
});

function share(member: unknown = "alt", as: Caller = "demo") {
  return world.ask("POST", `/v2/images/${id}/members`, { as, body: { member } });
}

function say(status: unknown, as: Caller = "alt", member = "alt") {
  return world.ask("PUT", `/v2/images/${id}/members/${member}`, { as, body: { status } });
}

const sees = async (query = "") => (await world.names(query, "alt")).includes("shared");

describe("a shared image", () => {
  test("is visible to the member at once, and in its lists once accepted", async () => {
    const reply = await share();
    expect([reply.status, reply.json()]).toMatchObject([
      200,
      { image_id: id, member_id: "alt", status: "pending", schema: "/v2/schemas/member" },
    ]);
    expect((await world.show(id, "alt")).name).toBe("shared");
    expect([await sees(), await sees("?visibility=shared&member_status=pending")]).toEqual([false, true]);
    expect((await say("accepted")).json("status")).toBe("accepted");
    expect([await sees(), await sees("?member_status=pending"), await sees("?member_status=all")]).toEqual([
      ...[true, false, true],
    ]);
    await say("rejected");
    expect([await sees(), await sees("?member_status=rejected")]).toEqual([false, true]);
  });

  test("survives a restart", async () => {
    await share();
    await say("accepted");
    world.restart();
    expect(await sees()).toBe(true);
  });

  test("can be downloaded but not changed by the member", async () => {
    const imageId = await world.uploadImage();
    await world.ask("POST", `/v2/images/${imageId}/members`, { body: { member: "alt" } });
    expect((await world.ask("GET", `/v2/images/${imageId}/file`, { as: "alt" })).body).toBe("some bytes");
    expect((await world.patch(imageId, [{ op: "add", path: "/a", value: "b" }], { as: "alt" })).status).toBe(403);
    expect((await world.ask("DELETE", `/v2/images/${imageId}`, { as: "alt" })).status).toBe(403);
  });

  test("is accepted by the member only", async () => {
    await share();
    const rejection = await say("accepted", "demo");
    expect([rejection.status, rejection.message]).toEqual([
      403,
      expect.stringContaining("Not allowed to update members"),
    ]);
    expect((await say("accepted", "reader")).status).toBe(403);
    await share("third");
    expect((await say("accepted", "alt", "third")).status).toBe(403);
    expect((await say("accepted", "admin")).status).toBe(200);
    expect((await say("notavalidstatus")).message).toContain("Status must be");
    expect((await world.ask("PUT", `/v2/images/${id}/members/alt`, { as: "alt", body: {} })).message).toContain(
      "Status not specified",
    );
  });

  test("returns all members to the owner, and a member only itself", async () => {
    await share();
    await share("third");
    const members = async (as: Caller) =>
      ((await world.ask("GET", `/v2/images/${id}/members`, { as })).json("members") as { member_id: string }[]).map(
        (member) => member.member_id,
      );
    expect(await members("demo")).toEqual(["alt", "third"]);
    expect(await members("reader")).toEqual(["alt", "third"]);
    expect(await members("alt")).toEqual(["alt"]);
    expect((await world.ask("GET", `/v2/images/${id}/members/alt`, { as: "alt" })).json("status")).toBe("pending");
    expect((await world.ask("GET", `/v2/images/${id}/members/nobody`)).message).toContain(
      "nobody not found in the member list",
    );
  });

  test("is no longer visible once the owner removes the member or the image", async () => {
    await share();
    await say("accepted");
    expect((await world.ask("DELETE", `/v2/images/${id}/members/alt`, { as: "alt" })).status).toBe(403);
    expect((await world.ask("DELETE", `/v2/images/${id}/members/alt`)).status).toBe(204);
    expect(await sees()).toBe(false);
    await share();
    await world.ask("DELETE", `/v2/images/${id}`);
    expect(world.store.members.list(id)).toEqual([]);
  });

  test("has at most 128 members, each once, each the id of a project", async () => {
    expect((await share("")).message).toContain("Member can&#x27;t be empty");
    expect((await share(null)).message).toContain("Member can&#x27;t be empty");
    expect((await world.ask("POST", `/v2/images/${id}/members`, { body: {} })).message).toContain("not specified");
    expect((await share(5)).status).toBe(400);
    expect((await share("p".repeat(256))).status).toBe(400);
    await share();
    expect((await share()).status).toBe(409);
    for (let at = 1; at < 128; at += 1) {
      world.store.members.add(id, `p${at}`);
    }
    const reply = await share("more");
    expect([reply.status, reply.message]).toEqual([413, expect.stringContaining("Attempted: 129, Maximum: 128")]);
  });

  test("has visibility shared: others have no members", async () => {
    await share();
    await world.patch(id, [{ op: "replace", path: "/visibility", value: "private" }]);
    expect((await world.ask("GET", `/v2/images/${id}`, { as: "alt" })).status).toBe(404);
    expect((await world.ask("GET", `/v2/images/${id}/members`)).message).toContain("Only shared images have members.");
    expect((await share("third")).status).toBe(403);
  });

  test("is shared by its owner only", async () => {
    await share();
    expect((await share("third", "alt")).status).toBe(403);
    expect((await share("third", "reader")).status).toBe(403);
  });
});
