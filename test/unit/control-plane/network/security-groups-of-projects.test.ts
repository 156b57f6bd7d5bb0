import { expect, test } from "vitest";
import { NetworkHarness } from "./network-harness.js";

test("the first list of groups creates the project's default group with four rules", async () => {
  const network = new NetworkHarness();
  const [group] = await network.list("/security-groups");
  expect(group).toMatchObject({ name: "default", description: "Default security group", revision_number: 1 });
});

test("a group is created", async () => {
  const network = new NetworkHarness();
  const group = await network.get("POST", "/security-groups", { security_group: { name: "one" } });
});
