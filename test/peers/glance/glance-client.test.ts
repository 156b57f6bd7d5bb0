import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { driver } from "../../../drivers/fake-libvirt/index.js";
import { GlanceClient } from "../../../src/agent/glance-client.js";
import { quietLogger } from "../../../src/cli/ui/logging.js";
import { imageAccess } from "../../../src/placement-client/access/configured-access.js";
import type { Bytes } from "../../../src/runtime/http.js";
import { createNodeRuntime } from "../../../src/runtime/node/node-runtime.js";
import { GlanceConnectionFailed, ImageNotActive, ImageNotFound } from "../../../src/virt/errors.js";
import { novaConfig } from "../../fixtures/world/nova-config.js";
import { HOW_TO_INSTALL, isInstalled, type RealGlance, startRealGlance } from "./real-glance.js";

const NEVER = new AbortController().signal;
const ABSENT = "99999999-9999-4999-8999-999999999999";
/** Larger than one part, and not a multiple of a part's size. */
const CONTENT = Buffer.alloc(3_000_001, "compute-agent");

async function* partsOf(content: Buffer, size = 65_536): Bytes & AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += size) {
    yield content.subarray(at, at + size);
  }
}

async function gathered(bytes: Bytes): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of bytes) {
    parts.push(part);
  }
  return Buffer.concat(parts);
}

describe("8.13 images of Debian's real Glance, found in the catalog of its real Keystone", { timeout: 120_000 }, () => {
  const runtime = createNodeRuntime({ logger: quietLogger });
  let real: RealGlance | undefined;
  let client: GlanceClient;

  beforeAll(async () => {
    if (isInstalled()) {
      real = await startRealGlance();
    }
  }, 300_000);

  afterAll(async () => {
    await runtime.http.close();
    await real?.stop();
  });

  beforeEach((context) => {
    if (real === undefined) {
      if (process.env.CI === "true") {
        expect.fail(HOW_TO_INSTALL);
      }
      context.skip(HOW_TO_INSTALL);
      return;
    }
    client = clientOf(real);
  });

  function clientOf({ keystone, user, password, project }: RealGlance): GlanceClient {
    const placement = {
      auth_type: "password",
      auth_url: keystone,
      username: user,
      password,
      project_name: project,
      user_domain_name: "Default",
      project_domain_name: "Default",
    };
    const sections = { placement, glance: { valid_interfaces: "public" } };
    const { config } = novaConfig("devstack1", "/state", { sections }, driver);
    const call = () => Promise.reject(new Error("nobody asks the conductor"));
    const access = imageAccess(config, runtime, { call } as Parameters<typeof imageAccess>[2]);
    return new GlanceClient({ transfers: runtime.transfers, timers: runtime.timers, access, retries: 1 });
  }

  async function emptyImage(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const made = await (real as RealGlance).request("POST", "/v2/images", { name: "snapshot", ...more });
    return ((await made.json()) as { readonly id: string }).id;
  }

  test("data stored in parts is read back unchanged, with Glance's hash", async () => {
    const id = await emptyImage();
    await client.upload(id, partsOf(CONTENT), { diskFormat: "raw", containerFormat: "bare" }, NEVER);
    const image = await client.open(id, NEVER);
    expect(image).toMatchObject({
      size: CONTENT.length,
      diskFormat: "raw",
      hash: createHash("sha512").update(CONTENT).digest("hex"),
    });
    expect((await gathered(image?.bytes ?? partsOf(Buffer.alloc(0)))).equals(CONTENT)).toBe(true);
  });

  test("an image without data, a deactivated image and a missing image have different errors", async () => {
    const id = await emptyImage({ disk_format: "raw", container_format: "bare" });
    await expect(client.open(id, NEVER)).rejects.toThrow(ImageNotActive);
    await client.upload(id, partsOf(CONTENT), {}, NEVER);
    await real?.request("POST", `/v2/images/${id}/actions/deactivate`);
    await expect(client.open(id, NEVER)).rejects.toThrow(ImageNotActive);
    await expect(client.open(ABSENT, NEVER)).rejects.toThrow(ImageNotFound);
  });

  test("an interrupted upload leaves an incomplete image, which is removed", async () => {
    const id = await emptyImage();
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield CONTENT.subarray(0, 100_000);
      throw new Error("the guest's disk is gone");
    }
    const upload = client.upload(id, broken(), { diskFormat: "raw", containerFormat: "bare" }, NEVER);
    await expect(upload).rejects.toThrow(/the guest's disk is gone/);
    await client.removeUnfinished(id);
    await expect(client.open(id, NEVER)).rejects.toThrow(ImageNotFound);
    await client.removeUnfinished(id);
  });

  test("a complete image is not removed as unfinished, only on request", async () => {
    const id = await emptyImage();
    await client.upload(id, partsOf(CONTENT), { diskFormat: "raw", containerFormat: "bare" }, NEVER);
    await client.removeUnfinished(id);
    await expect(client.open(id, NEVER)).resolves.toMatchObject({ size: CONTENT.length });
    await client.remove(id);
    await client.remove(id);
    await expect(client.open(id, NEVER)).rejects.toThrow(ImageNotFound);
  });

  test("a second upload to an image is rejected with Glance's message", async () => {
    const id = await emptyImage();
    await client.upload(id, partsOf(CONTENT), { diskFormat: "raw", containerFormat: "bare" }, NEVER);
    await expect(client.upload(id, partsOf(CONTENT), {}, NEVER)).rejects.toThrow(GlanceConnectionFailed);
    await expect(client.open(id, NEVER)).resolves.toMatchObject({ size: CONTENT.length });
  });
});
