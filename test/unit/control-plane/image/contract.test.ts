import { describe, test } from "vitest";
import type { GlanceService } from "../../../peers/glance/contract/client.js";
import { CONTRACT } from "../../../peers/glance/contract/index.js";
import { ImageWorld, parts } from "./image-world.js";

function embedded(): GlanceService {
  const world = new ImageWorld();
  return {
    projects: { admin: "admin", demo: "demo", alt: "alt" },
    send: async ({ who, method, path, body, bytes, headers = {} }) => {
      const content = bytes === undefined ? {} : { bytes: parts(bytes) };
      const reply = await world.ask(method, path, { as: who, body, headers, ...content });
      return { status: reply.status, headers: reply.headers, text: reply.body };
    },
  };
}

describe.each(Object.entries(CONTRACT))("the embedded Glance fulfils the contract: %s", (_topic, cases) => {
  test.each(cases.map((item) => [item.name, item] as const))("%s", async (_name, { run }) => {
    await run(embedded());
  });
});
