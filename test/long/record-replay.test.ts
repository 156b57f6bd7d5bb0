import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { clusterHome } from "../process/support/cluster-home.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";

const { path, run, begin } = clusterHome("record");

interface Replayed {
  readonly cluster: string;
  readonly differences: readonly { readonly what: string; readonly expected: string; readonly found: string }[];
  readonly allocations: readonly string[] | null;
}

it("a replay in a new cluster has the recorded results, with new ids, and reports differences", async () => {
  const up = await run("up", "--name", "first", "--hosts", "2", "--port", "0", "--detach", "--json");
  const { url, stateDir } = JSON.parse(up.stdout) as { readonly url: string; readonly stateDir: string };
  const cloud = LocalCloud.over(stateDir, url);
  const operator = new Operator(cloud);
  const file = join(path(), "recording.jsonl");
  const record = begin("record", file, "--name", "first");
  await record.printed(/Ctrl-C ends it/);
  expect((await run("record", file, "--name", "first")).code).not.toBe(0);

  const id = await operator.boot("vm1");
  await operator.serverIn(id, "ACTIVE");
  await run("fault", "set", "--name", "first", "devstack1", "driver.getDiagnostics=fail:once");
  const { body } = await cloud.compute("GET", `/servers/${id}`);
  const host = String(body.server?.["OS-EXT-SRV-ATTR:host"]);
  await run("host", "kill", "--name", "first", host);
  const services = await cloud.compute("GET", `/os-services?host=${host}&binary=nova-compute`);
  await cloud.compute("PUT", `/os-services/${services.body.services?.[0]?.id}`, { forced_down: true });
  expect((await cloud.compute("POST", `/servers/${id}/action`, { evacuate: {} })).status).toBe(200);
  await run("wait", "--name", "first", "--for", "settled");
  await cloud.compute("POST", "/os-keypairs", {
    keypair: { name: "k1", type: "ssh", public_key: "ssh-ed25519 AAAA a" },
  });
  record.signal("SIGINT");
  expect((await record.exited).code).toBe(0);

  const text = await readFile(file, "utf8");
  for (const secret of [await cloud.token(), await cloud.joinToken(), 'adminPass":"[^*]']) {
    expect(text).not.toMatch(new RegExp(secret.replaceAll("+", "\\+")));
  }
  expect(text).toContain(`"run":["host","kill","${host}"]`);
  expect(text).toContain('"run":["fault","set","devstack1","driver.getDiagnostics=fail:once"]');

  const same = await run("replay", file, "--speed", "10", "--json");
  expect({ ...(JSON.parse(same.stdout) as Replayed), cluster: "", code: same.code }).toEqual({
    cluster: "",
    differences: [],
    allocations: [],
    made: [],
    left: [],
    code: 0,
  });

  expect(await run("up", "--name", "second", "--hosts", "2", "--port", "0", "--detach")).toMatchObject({ code: 0 });
  const into = await run("replay", file, "--speed", "10", "--name", "second", "--json");
  expect({ ...(JSON.parse(into.stdout) as Replayed), code: into.code }).toMatchObject({
    cluster: "second",
    differences: [],
    allocations: [],
    code: 0,
  });
  expect(await run("replay", file, "--into", "third")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("this user has no cluster named third"),
  });

  // Pretend that the evacuation was rejected in the recording.
  await writeFile(file, text.replace(/(\/action".*"status":)200/, "$1409"));
  const other = await run("replay", file, "--speed", "10", "--json");
  expect(other.code).toBe(1);
  expect((JSON.parse(other.stdout) as Replayed).differences).toMatchObject([
    { what: expect.stringContaining("/action"), expected: "409", found: "200" },
  ]);
}, 120_000);
