import { expect } from "vitest";
import { type ContractCase, expectFault, expectStatus, type GlanceService, newImage, patchOf } from "./client.js";

const membersOf = (id: string) => `/v2/images/${id}/members`;

async function isListed(client: GlanceService, id: string, query = ""): Promise<boolean> {
  const { images } = await expectStatus(client, 200, ["alt", "GET", `/v2/images?limit=1000${query}`]);
  return (images as { id: string }[]).some((image) => image.id === id);
}

export const MEMBER_CASES: readonly ContractCase[] = [
  {
    name: "an image is shared, accepted by the member alone, and taken back by the owner alone",
    run: async (client) => {
      const id = await newImage(client, "demo");
      const { alt } = client.projects;
      const one = `${membersOf(id)}/${alt}`;
      const made = await expectStatus(client, 200, ["demo", "POST", membersOf(id)], { body: { member: alt } });
      expect(made).toMatchObject({ member_id: alt, image_id: id, status: "pending", schema: "/v2/schemas/member" });
      expect([await isListed(client, id), await isListed(client, id, "&member_status=pending")]).toEqual([false, true]);
      const accept = { body: { status: "accepted" } };
      await expectFault(client, 403, `Not allowed to update members for image ${id}.`, ["demo", "PUT", one], accept);
      await expectFault(client, 400, "Status must be", ["alt", "PUT", one], { body: { status: "bad" } });
      await expectFault(client, 400, "Status not specified", ["alt", "PUT", one], { body: {} });
      await expectStatus(client, 200, ["alt", "PUT", one], accept);
      expect(await isListed(client, id)).toBe(true);
      await expectFault(client, 403, `Not allowed to delete members for image ${id}.`, ["alt", "DELETE", one]);
      await expectStatus(client, 204, ["demo", "DELETE", one]);
      await expectFault(client, 404, "not found in the member list of the image", ["demo", "DELETE", one]);
      expect(await isListed(client, id)).toBe(false);
    },
  },
  {
    name: "members that cannot be are refused, with words that say why",
    run: async (client) => {
      const id = await newImage(client, "demo");
      const { alt } = client.projects;
      const add = (status: number, words: string, body: unknown, who: "demo" | "alt" = "demo") =>
        expectFault(client, status, words, [who, "POST", membersOf(id)], { body });
      await add(400, "Member can't be empty", { member: "" });
      await add(400, "Member to be added not specified", {});
      await add(404, `Image ${id} not found.`, { member: "x" }, "alt");
      await expectStatus(client, 200, ["demo", "POST", membersOf(id)], { body: { member: alt } });
      await add(409, `Member ${alt} is duplicated for image ${id}`, { member: alt });
      await add(403, `Not allowed to create members for image ${id}.`, { member: "x" }, "alt");
      const change = patchOf([{ op: "replace", path: "/visibility", value: "private" }]);
      await expectStatus(client, 200, ["demo", "PATCH", `/v2/images/${id}`], change);
      await expectFault(client, 403, "Only shared images have members.", ["demo", "GET", membersOf(id)]);
      await expectStatus(client, 404, ["alt", "GET", `/v2/images/${id}`]);
    },
  },
];
