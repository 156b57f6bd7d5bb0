import { describe, expect, test } from "vitest";
import { commandBlocks } from "../../docs/support/command-blocks.js";

function extractBlocks(markdown: string): readonly string[] {
  return commandBlocks("page.md", markdown).map(({ text }) => text);
}

describe("command blocks of a page", () => {
  test("are shell fences, and blocks without a language in which a line begins with a known program", () => {
    const markdown = `
Text

    openstack server list
    # a comment

\`\`\`sh
anything
\`\`\`

    OS_CLOUD=devstack openstack server list

\`\`\`
npm start
\`\`\`

    [DEFAULT]
    compute_driver = openstack

\`\`\`python
import openstack
\`\`\`
`;
    expect(extractBlocks(markdown)).toEqual([
      "openstack server list\n# a comment",
      "anything",
      "OS_CLOUD=devstack openstack server list",
      "npm start",
    ]);
  });

  test("have what the comments before them say, and nothing of earlier ones", () => {
    const markdown = `
<!-- before: one
two -->

<!-- exit status 0 or 3: audit -->

    npm start

<!-- not run: needs a real Nova -->

\`\`\`sh
npm start
\`\`\`

<!-- not run: lost by the text after it -->

Text

    npm start

<!-- not run from here: run elsewhere -->

## A heading

    npm start

Text

    npm test
`;
    const blocks = commandBlocks("page.md", markdown);
    expect(blocks.map(({ line, notRun }) => [line, notRun])).toEqual([
      [7, undefined],
      [12, "needs a real Nova"],
      [19, undefined],
      [25, "run elsewhere"],
      [29, "run elsewhere"],
    ]);
    expect(blocks[0]).toMatchObject({ before: ["one\ntwo"], statuses: [{ command: "audit", allowed: [0, 3] }] });
    expect(blocks[1]).toMatchObject({ before: [], statuses: [] });
  });

  test("are also files by their first line, and modules that import the cluster", () => {
    const markdown = `
    # cluster.yaml
    hosts: []

\`\`\`ts
import { startCluster } from "compute-agent/cluster";
\`\`\`
`;
    expect(commandBlocks("page.md", markdown)).toMatchObject([{ file: "cluster.yaml" }, { module: true }]);
  });
});
