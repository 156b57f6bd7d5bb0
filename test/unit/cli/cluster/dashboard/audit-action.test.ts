import { expect, it } from "vitest";
import { DashboardAudit } from "../../../../../src/cli/cluster/dashboard/audit-action.js";
import type { DashboardAction } from "../../../../../src/dashboard/wire/messages.js";

const ACTION: DashboardAction = {
  name: "audit",
  label: "Audit",
  summary: "",
  subject: "cluster",
  destructive: false,
  fields: [],
  commands: ["compute-agent audit --plan plan.json"],
};

const REPORT = {
  findings: [
    {
      code: "wrong-amounts",
      subject: { kind: "server", uuid: "u1", name: "vm1" },
      provider: { uuid: "rp1", name: "devstack1" },
      explanation: "it has 2 VCPU instead of 1",
      remedies: ["set its amounts"],
      left: null,
    },
    {
      code: "overcommitted-inventory",
      subject: { kind: "provider", uuid: "rp1", name: "devstack1" },
      provider: null,
      explanation: "9 VCPU of 8 are used",
      remedies: [],
      left: "move servers away",
    },
  ],
  edits: 1,
  scope: { servers: 2, providers: 1, consumers: 2 },
};

function auditWith(reports: readonly unknown[]) {
  const commands: string[] = [];
  const remaining = [...reports];
  const run = async (words: readonly string[]) => {
    commands.push(words.join(" "));
    return JSON.stringify(remaining.shift(), null, 2).split("\n");
  };
  return { audit: new DashboardAudit({ run }, "plan.json --name ci-7"), commands };
}

it("an audit reports its findings as lines, and each with its explanation and the command that repairs it", async () => {
  const { audit, commands } = auditWith([REPORT]);
  const { lines } = await audit.toRunnable(ACTION).run({});
  expect(commands).toEqual(["compute-agent audit --plan plan.json --json"]);
  expect(lines).toEqual([
    "wrong-amounts: server vm1 (u1): it has 2 VCPU instead of 1",
    "overcommitted-inventory: provider devstack1 (rp1): 9 VCPU of 8 are used",
    "2 findings in 2 servers, 1 provider and 2 consumers; the plan has 1 edit",
  ]);
  expect([...audit.findings.values()]).toMatchObject([
    {
      server: "u1",
      provider: "rp1",
      explanation: "The plan of the audit repairs it: set its amounts.",
      commands: ["compute-agent apply --only u1 plan.json --name ci-7"],
    },
    { server: null, provider: "rp1", explanation: "move servers away", commands: [] },
  ]);
});

it.each([
  ["missing-attachment", { kind: "server", uuid: "u1", name: "vm1" }, "u1"],
  ["leftover-attachment", { kind: "attachment", uuid: "a1", name: "" }, null],
  ["leftover-binding", { kind: "port", uuid: "p1", name: "" }, null],
])("a finding %s does not name its volume or host as a provider", async (code, subject, server) => {
  const finding = { ...REPORT.findings[0], code, subject, provider: { uuid: "v1", name: "data" } };
  const { audit } = auditWith([{ ...REPORT, findings: [finding] }]);
  await audit.toRunnable(ACTION).run({});
  expect([...audit.findings.values()]).toMatchObject([{ server, consumer: null, provider: null }]);
});

it("the plan's edits are followed by an audit that keeps the plan, if one has run before", async () => {
  const { audit, commands } = auditWith([REPORT, { ...REPORT, findings: [] }]);
  const apply = { action: { ...ACTION, name: "apply" }, run: async () => ({ lines: ["1 done"] }) };
  const words = ["compute-agent", "audit"];
  await audit.withAudit(apply, words).run({});
  expect(commands).toEqual([]);
  await audit.toRunnable(ACTION).run({});
  expect(await audit.withAudit(apply, words).run({})).toEqual({ lines: ["1 done"] });
  expect(commands.at(-1)).toBe("compute-agent audit --json");
  expect(audit.findings.size).toBe(0);
});
