import { expect, onTestFinished, test } from "vitest";
import { callsOf, hostsByQueue } from "../../../fixtures/conductor-calls.js";
import { VirtualCloud } from "../../../fixtures/virtual-cloud.js";

/** Nova-compute makes 13 calls when it starts. Ours also searches for unfinished work of an earlier agent of the host. */
const START = [
  "Service.get_minimum_version",
  "Service.get_by_host_and_binary",
  "ComputeNodeList.get_by_hypervisor",
  "InstanceList.get_by_host",
  // Moves from and to this host, of all kinds; and evacuations from this host, including those of deleted servers.
  "MigrationList.get_by_filters",
  "MigrationList.get_by_filters",
  // Builds and unshelve operations.
  "InstanceList.get_by_filters",
  "ComputeNodeList.get_all_by_host",
  "InstanceList.get_by_host_and_node",
  "MigrationList.get_in_progress_and_error",
];

/** A pass of the tracker over one node; a nova-compute makes four calls. */
const PASS = [
  "ComputeNodeList.get_all_by_host",
  "InstanceList.get_by_host_and_node",
  "MigrationList.get_in_progress_and_error",
];

test("13 the calls of a known host without servers to Nova's conductor: at its start, and in each pass", async () => {
  const complaints: string[] = [];
  const complain = (what: string) => complaints.push(what);
  const cloud = await VirtualCloud.open({ nova: { release: "2025.1", complain } });
  onTestFinished(() => cloud.close());
  const first = await cloud.agent("devstack1", { periodic: false });
  first.runtime.kill();
  await cloud.world.advance(70_000);
  const during = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    const from = cloud.published.length;
    await work();
    const calls = callsOf(cloud.published.slice(from), hostsByQueue(cloud.published));
    return calls.map((call) => call.replace("devstack1 ", ""));
  };
  expect(await during(() => cloud.agent("devstack1", { periodic: true }))).toEqual(START);
  expect(START.length).toBeLessThanOrEqual(10);
  // Periodic tasks start at different times, so that hosts do not call simultaneously.
  const later = await during(() => cloud.world.advance(150_000));
  expect(later.filter((call) => PASS.includes(call)).slice(0, PASS.length)).toEqual(PASS);
  expect(complaints).toEqual([]);
});
