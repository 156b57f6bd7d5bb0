import { afterAll, beforeAll, expect, it } from "vitest";
import { manage } from "./golden/manage.js";
import { LocalCloud } from "./support/local-cloud.js";

let cloud: LocalCloud;
beforeAll(async () => {
  cloud = await LocalCloud.start();
});
afterAll(() => cloud.dispose());

it("manage: an unknown flag returns 2, which is not one of nova-manage's codes", async () => {
  const outcome = await manage(cloud, "placement", "audit", "--no-such-flag");
  expect(outcome).toMatchObject({ rc: 2, stdout: expect.stringContaining("unknown option '--no-such-flag'") });
});

it("manage: flags of nova-manage reach the command, and invalid ones return its message and code", async () => {
  const heal = ["placement", "heal_allocations"];
  expect(await manage(cloud, ...heal, "--skip-port-allocations", "--max-count", "x")).toEqual({
    rc: 127,
    stdout: "Must supply a positive integer for --max-count.\n",
  });
  expect(await manage(cloud, "placement", "audit", "--resource_provider", "x")).toEqual({
    rc: 127,
    stdout: "Resource provider with UUID x does not exist.\n",
  });
  expect(
    await manage(cloud, "db", "ironic_compute_node_move", "--ironic-node-uuid", "x", "--destination-host", "h"),
  ).toEqual({
    rc: 255,
    stdout: "An error has occurred:\nComputeHostNotFound: Compute host h could not be found.\n",
  });
  expect(await manage(cloud, "placement", "sync_aggregates")).toEqual({ rc: 0, stdout: "" });
});

it("manage: exits with 4 and a hint when there is no cluster, or it is not running", async () => {
  expect(await manage({ stateDir: `${cloud.stateDir}/none` }, "placement", "audit")).toMatchObject({
    rc: 4,
    stdout: expect.stringContaining('has no cluster: "compute-agent up" starts one'),
  });
  await cloud.controlPlane.kill();
  expect(await manage(cloud, "placement", "audit")).toMatchObject({
    rc: 4,
    stdout: expect.stringContaining('is not running; start it with "compute-agent up" and try again'),
  });
});
