import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ImageWorld } from "../../unit/control-plane/image/image-world.js";
import type { GlanceRequest, GlanceService, Who } from "./contract/client.js";
import { CONTRACT } from "./contract/index.js";
import { HOW_TO_INSTALL, isInstalled, type ProjectToken, type RealGlance, startRealGlance } from "./real-glance.js";

let real: RealGlance | undefined;
let client: GlanceService | undefined;

beforeAll(async () => {
  if (!isInstalled()) {
    throw new Error(HOW_TO_INSTALL);
  }
  real = await startRealGlance();
  client = clientOf(real, {
    admin: real.own,
    demo: await real.addProject("demo"),
    alt: await real.addProject("alt"),
  });
}, 300_000);

afterAll(async () => {
  await real?.stop();
});

function clientOf({ glance }: RealGlance, tokens: Readonly<Record<Who, ProjectToken>>): GlanceService {
  const { admin, demo, alt } = tokens;
  return {
    projects: { admin: admin.project, demo: demo.project, alt: alt.project },
    send: async ({ who, method, path, body, bytes, headers = {} }: GlanceRequest) => {
      const type = bytes === undefined ? "application/json" : "application/octet-stream";
      const content = bytes ?? (body === undefined ? undefined : JSON.stringify(body));
      const response = await fetch(`${glance}${path}`, {
        method,
        headers: {
          "x-auth-token": tokens[who].token,
          ...(content === undefined ? {} : { "content-type": type }),
          ...headers,
        },
        ...(content === undefined ? {} : { body: content }),
      });
      return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
    },
  };
}

function requireClient(): GlanceService {
  if (client === undefined) {
    throw new Error(HOW_TO_INSTALL);
  }
  return client;
}

describe.each(Object.entries(CONTRACT))("the real Glance keeps the contract: %s", (_topic, cases) => {
  test.each(cases.map((item) => [item.name, item] as const))("%s", { timeout: 60_000 }, async (_name, { run }) => {
    await run(requireClient());
  });
});

const SCHEMAS = [
  ...["image", "images", "member", "members", "task", "tasks", "metadefs/namespace", "metadefs/namespaces"],
  ...["metadefs/resource_type", "metadefs/resource_types", "metadefs/property", "metadefs/properties"],
  ...["metadefs/object", "metadefs/objects", "metadefs/tag", "metadefs/tags"],
];

describe("the real Glance has the same schemas as the embedded one, apart from descriptions", () => {
  test.each(SCHEMAS)("%s", async (name) => {
    const path = `/v2/schemas/${name}`;
    const theirs = JSON.parse((await requireClient().send({ who: "demo", method: "GET", path })).text);
    const ours = (await new ImageWorld().ask("GET", path)).json();
    expect(withoutWords(ours)).toEqual(withoutWords(theirs));
  });
});

function withoutWords(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutWords);
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const entries = Object.entries(value).filter(
    ([name, member]) => name !== "description" || typeof member !== "string",
  );
  return Object.fromEntries(entries.map(([name, member]) => [name, withoutWords(member)]));
}
