import { beforeEach, describe, test } from "vitest";
import { CONTRACT } from "../../../peers/ironic/contract/index.js";
import { EmbeddedIronic } from "../../../unit/control-plane/bare-metal/embedded-ironic.js";

let world: EmbeddedIronic;

beforeEach(async () => {
  world = await EmbeddedIronic.open();
});

describe.each(Object.entries(CONTRACT))("the contract of Ironic's API: %s", (_topic, cases) => {
  test.each(cases.map((item) => [item.name, item] as const))("%s", async (_name, { run }) => {
    await run(world);
  });
});
