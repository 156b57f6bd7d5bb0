import { beforeEach, describe, expect, test } from "vitest";
import { ManageBench } from "../../../unit/control-plane/manage/bench.js";

let bench: ManageBench;
let node: string;

beforeEach(async () => {
  bench = await ManageBench.open();
  node = await bench.host("ironic1");
  await bench.host("ironic2");
});

function forceDown(host: string): void {
  bench.store.services.update(bench.conductor.service(host).id, { forcedDown: true });
}
const failed = (message: string) => ({ rc: 255, stdout: `An error has occurred:\n${message}\n` });
const NOBODY = "00000000-0000-4000-8000-00000000dead";

describe("7.6 ironic_compute_node_move", () => {
  test("node and instance move to the other service", async () => {
    const { uuid } = await bench.server("ironic1");
    forceDown("ironic1");
    expect(await bench.moveNode({ ironicNodeUuid: node, destinationHost: "ironic2" })).toEqual({ rc: 0, stdout: "" });
    const { id } = bench.conductor.service("ironic2");
    const moved = bench.store.computeNodes.getByUuid(node);
    expect(moved).toMatchObject({ host: "ironic2", serviceId: id, hypervisorHostname: "ironic1" });
    expect(bench.conductor.instance(uuid)).toMatchObject({ host: "ironic2", node: "ironic1", computeId: moved?.id });
  });

  test.each([
    ["the destination is forced down", ["ironic1", "ironic2"], "ConductorError: Destination compute is forced down!"],
    ["the source is not", [], "ConductorError: Source service is not yet forced down!"],
  ] as const)("is rejected if %s", async (_what, down, message) => {
    for (const host of down) {
      forceDown(host);
    }
    expect(await bench.moveNode({ ironicNodeUuid: node, destinationHost: "ironic2" })).toEqual(failed(message));
    expect(bench.store.computeNodes.getByUuid(node)?.host).toBe("ironic1");
  });

  test("is rejected with more than one instance on the node", async () => {
    forceDown("ironic1");
    const uuids = [(await bench.server("ironic1")).uuid, (await bench.server("ironic1")).uuid];
    expect((await bench.moveNode({ ironicNodeUuid: node, destinationHost: "ironic2" })).stdout).toContain(
      "Found an ironic host with more than one instance! Please delete all Nova instances that do not match the instance " +
        "uuid recorded on the Ironic node.",
    );
    expect(uuids.map((uuid) => bench.conductor.instance(uuid).host)).toEqual(["ironic1", "ironic1"]);
  });

  test.each([
    [
      { ironicNodeUuid: NOBODY, destinationHost: "ironic2" },
      `ComputeHostNotFound: Compute host ${NOBODY} could not be found.`,
    ],
    [
      { ironicNodeUuid: "node1", destinationHost: "ironic2" },
      "ComputeHostNotFound: Compute host node1 could not be found.",
    ],
    [{ ironicNodeUuid: NOBODY, destinationHost: "x" }, "ComputeHostNotFound: Compute host x could not be found."],
    [{ destinationHost: "ironic2" }, "Missing arguments: compute_node_uuid"],
    [{}, "Missing arguments: compute_node_uuid, destination_service_host"],
  ])("is rejected: %j", async (options, message) => {
    forceDown("ironic1");
    expect(await bench.moveNode(options)).toEqual(failed(message));
    expect(bench.store.computeNodes.getByUuid(node)?.host).toBe("ironic1");
  });
});
