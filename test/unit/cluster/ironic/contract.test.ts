import { beforeEach, describe, test } from "vitest";
import { CONTRACT } from "../../../peers/ironic/contract/index.js";
import { IronicWorld } from "./ironic-world.js";

let world: IronicWorld;

beforeEach(async () => {
  world = await IronicWorld.open();
});

describe.each(Object.entries(CONTRACT))("the contract of Ironic's API: %s", (_topic, cases) => {
  test.each(cases.map((item) => [item.name, item] as const))("%s", async (_name, { run }) => {
    await run(world);
  });
});
