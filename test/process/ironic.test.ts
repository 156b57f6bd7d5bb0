import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LocalCloud } from "./support/local-cloud.js";
import { Program } from "./support/program.js";

const API = { "x-openstack-ironic-api-version": "1.82" };

describe("compute-agent up --ironic", () => {
  let stateDir: string;
  let cluster: Program;
  let cloud: LocalCloud;

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "compute-agent-ironic-"));
    cluster = new Program("compute-cluster", [
      ...["up", "--hosts", "0", "--ironic", "5", "--port", "0", "--state-dir", stateDir],
    ]);
    await cluster.printed(/Ctrl-C stops all of it/);
    const [, url = ""] = await cluster.printed(/control-plane +ready +(\S+)/);
    cloud = LocalCloud.over(stateDir, url);
  });
  afterAll(async () => {
    await cluster.stop();
    await rm(stateDir, { recursive: true, force: true });
  });

  const nodes = async (query: string) => {
    const { body } = await cloud.request("GET", `/baremetal/v1/nodes?${query}`, undefined, API);
    return body.nodes as unknown as readonly { readonly uuid: string; readonly provision_state: string }[];
  };
  const fault = async (...args: string[]) => {
    const program = new Program("compute-cluster", ["fault", "--state-dir", stateDir, ...args]);
    expect(await program.exited).toEqual({ code: 0, signal: null });
    return program.stdout;
  };
  const status = async (...args: string[]) => {
    const program = new Program("compute-cluster", ["status", "--state-dir", stateDir, ...args]);
    await program.exited;
    return program.stdout;
  };

  it("enrols nodes, which its agent reports, and lists them in one row", async () => {
    expect(await nodes("provision_state=available&fields=uuid")).toHaveLength(5);
    await cloud.eventually(
      () => status(),
      (text) => /ironic1 +\| up +\| +5 nodes .* CUSTOM_BAREMETAL 0\/5/.test(text),
    );
  });

  it("builds a server on a node although the control plane is killed during the deployment, and frees the node afterwards", async () => {
    await fault("set", "ironic", "hardware.deploy=hang");
    const { images } = (await cloud.request("GET", "/image/v2/images")).body as unknown as { images: { id: string }[] };
    const created = await cloud.compute("POST", "/servers", {
      server: { name: "bm1", flavorRef: "baremetal", imageRef: images[0]?.id, networks: "none" },
    });
    expect(created.status).toBe(202);
    const id = String(created.body.server?.id);
    await cloud.eventually(
      () => nodes(`instance_uuid=${id}&fields=uuid,provision_state`),
      ([node]) => node?.provision_state === "deploying",
    );
    const pid = Number(/control-plane +starting +pid (\d+)/.exec(cluster.stdout)?.[1]);
    process.kill(pid, "SIGKILL");
    await cluster.printed(/ended with SIGKILL; restarted[\s\S]*control-plane +ready/);
    expect(await fault("list", "ironic")).toContain("hardware.deploy=hang");
    expect(await fault("clear", "ironic")).toContain("cleared hardware.deploy");
    const server = () => cloud.compute("GET", `/servers/${id}`);
    const up = await cloud.eventually(server, ({ body }) => String(body.server?.status) !== "BUILD");
    expect(String(up.body.server?.status)).toBe("ACTIVE");
    expect(await nodes("provision_state=active&fields=uuid")).toHaveLength(1);

    expect((await cloud.compute("DELETE", `/servers/${id}`)).status).toBe(204);
    await cloud.eventually(server, ({ status: code }) => code === 404);
    expect(await nodes("associated=true&fields=uuid")).toEqual([]);
  });
});
