import { type ContractCase, failsWith, must, succeeds } from "../contract-case.js";

/** Section 8.14: what people ask of hosts and guests. */
export const REPORT_CASES: readonly ContractCase[] = [
  {
    code: "uptime-is-told",
    section: "8.14",
    rule: "getHostUptime says how long the host is up, in the words of uptime",
    needs: ["getHostUptime"],
    run: async (harness) => {
      const { host } = await harness.connect();
      const uptime = await host.getHostUptime();
      const rule = "say it as uptime prints it: up …, load average: …";
      must(
        /\bup\b.*load average: /.test(uptime),
        "getHostUptime",
        rule,
        `found ${JSON.stringify(uptime.slice(0, 100))}`,
      );
    },
  },
  {
    code: "console-is-kept",
    section: "8.14",
    rule: "getConsoleOutput changes nothing, and loses nothing when the guest boots again or the driver does",
    needs: ["getConsoleOutput"],
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.spawned(on);
      const first = await succeeds(on.host.getConsoleOutput(instance), "getConsoleOutput", "succeed for a guest");
      await on.host.reboot(instance, "HARD");
      await on.host.cleanupHost();
      const next = await (await harness.connect()).host.getConsoleOutput(instance);
      const isRetained = next.startsWith(first) || next.length >= first.length;
      must(
        isRetained,
        "getConsoleOutput",
        "keep what was written before a reboot",
        `${first.length - next.length} less`,
      );
    },
  },
  {
    code: "console-of-absent",
    section: "8.14",
    rule: "getConsoleOutput of a guest that is not there throws InstanceNotFound",
    needs: ["getConsoleOutput"],
    run: async (harness) => {
      const on = await harness.connect();
      const work = on.host.getConsoleOutput(await harness.instance(on));
      await failsWith(work, ["InstanceNotFound"], "getConsoleOutput", "for a guest that is not there");
    },
  },
  {
    code: "diagnostics-count",
    section: "8.14",
    rule: "getInstanceDiagnostics has a row for each of the guest's CPUs",
    needs: ["getInstanceDiagnostics"],
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.spawned(on);
      const { cpuDetails } = await on.host.getInstanceDiagnostics(instance);
      const rule = "have a row for each of the guest's CPUs";
      const { length } = cpuDetails;
      must(length === instance.vcpus, "getInstanceDiagnostics", rule, `there are ${length}, not ${instance.vcpus}`);
    },
  },
  {
    code: "diagnostics-of-absent",
    section: "8.14",
    rule: "getDiagnostics of a guest that is not there throws InstanceNotFound",
    needs: ["getDiagnostics"],
    run: async (harness) => {
      const on = await harness.connect();
      const work = on.host.getDiagnostics(await harness.instance(on));
      await failsWith(work, ["InstanceNotFound"], "getDiagnostics", "for a guest that is not there");
    },
  },
];
