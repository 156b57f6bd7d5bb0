import {
  type ContractCase,
  failsWith,
  guestOn,
  inSection,
  type KilledWork,
  must,
  mustBe,
  onGuest,
  succeeds,
} from "../contract-case.js";
import { DESTROY } from "../harness-fixtures.js";

const OUTLIVED: KilledWork = {
  begin: async (harness) => {
    const on = await harness.connect();
    return { on, instance: await harness.spawned(on), moved: null, work: async () => {} };
  },
  look: async (harness, { instance }, killed) => {
    await mustBe(await harness.connect(), instance, "running", "spawn", killed);
  },
};

/** Section 8.1: the host, its nodes, and the list of guests. */
export const HOST_CASES: readonly ContractCase[] = inSection("8.1", [
  {
    code: "nodes-are-listed",
    rule: "getAvailableNodes lists the same nodes on every call",
    run: async (harness) => {
      const { host } = await harness.connect();
      const first = [...(await host.getAvailableNodes())].sort();
      const again = [...(await host.getAvailableNodes({ refresh: true }))].sort();
      const rule = "list the same nodes when nothing changed";
      must(first.join() === again.join(), "getAvailableNodes", rule, `found ${first.join()}, then ${again.join()}`);
      must(first.length > 0, "getAvailableNodes", "list the nodes that can have guests", "the list is empty");
    },
  },
  {
    code: "nodes-have-uuids",
    rule: "getNodenamesByUuid names exactly the available nodes, by uuids that a restart does not change",
    run: async (harness) => {
      const first = await harness.connect();
      const names = await first.host.getNodenamesByUuid();
      const nodes = await first.host.getAvailableNodes();
      const missing = nodes.filter((node) => ![...names.values()].includes(node));
      must(missing.length === 0, "getNodenamesByUuid", "name each available node", `${missing.join()} has no uuid`);
      await first.host.cleanupHost();
      const again = await (await harness.connect()).host.getNodenamesByUuid();
      const moved = [...names].filter(([uuid, name]) => again.get(uuid) !== name);
      const rule = "give each node the same uuid after a restart";
      must(moved.length === 0, "getNodenamesByUuid", rule, `${moved.map(([, name]) => name).join()} has another`);
    },
  },
  {
    code: "node-identities",
    rule: "a driver whose nodes have uuids other than the host's declares hasNodeIdentities, and no other driver does",
    run: async (harness) => {
      const { host, name } = await harness.connect();
      const names = await host.getNodenamesByUuid();
      const own = [...names].find(([uuid]) => uuid !== harness.nodeUuid(name));
      const { hasNodeIdentities } = host.capabilities;
      const rule = hasNodeIdentities
        ? "give no node localNodeUuid, since the driver declares hasNodeIdentities"
        : "give only localNodeUuid, or the driver declare hasNodeIdentities: otherwise the host's second start fails";
      const wrong = hasNodeIdentities ? names.has(harness.nodeUuid(name)) : own !== undefined;
      must(!wrong, "getNodenamesByUuid", rule, hasNodeIdentities ? "one has it" : `${own?.[1]} has ${own?.[0]}`);
    },
  },
  {
    code: "nodes-have-resources",
    rule: "getAvailableResource describes each available node, by the node's own name",
    run: async (harness) => {
      const { host } = await harness.connect();
      for (const node of await host.getAvailableNodes()) {
        const { hypervisorHostname, vcpusUsed, vcpus } = await host.getAvailableResource(node);
        const rule = "have the node's name as hypervisorHostname";
        must(hypervisorHostname === node, "getAvailableResource", rule, `found ${hypervisorHostname} for ${node}`);
        must(
          vcpusUsed === 0 || vcpus > 0,
          "getAvailableResource",
          "count used CPUs only if the node has CPUs",
          `found ${vcpusUsed} used of ${vcpus}`,
        );
      }
    },
  },
  {
    code: "nodes-stay",
    rule: "isNodeDeleted is false for a node that is available",
    needs: ["isNodeDeleted"],
    run: async (harness) => {
      const { host } = await harness.connect();
      for (const node of await host.getAvailableNodes()) {
        const rule = "be false for a node that is available";
        must(!(await host.isNodeDeleted(node)), "isNodeDeleted", rule, `it is true for ${node}`);
      }
    },
  },
  {
    code: "guests-are-listed",
    rule: "listInstanceUuids lists guests from their spawn to their destruction",
    run: async (harness) => {
      const on = await harness.connect();
      const before = await on.host.listInstanceUuids();
      const instance = await harness.instance(on);
      must(
        !before.includes(instance.uuid),
        "listInstanceUuids",
        "list guests only",
        "found one that was never created",
      );
      await harness.spawn(on, instance);
      await mustBe(on, instance, "running", "spawn", "and be listed");
      await on.host.destroy(instance, DESTROY);
      const after = await on.host.listInstanceUuids();
      must(!after.includes(instance.uuid), "listInstanceUuids", "leave out destroyed guests", "the guest is listed");
    },
  },
  {
    code: "exists-as-listed",
    rule: "instanceExists agrees with the list of guests",
    needs: ["instanceExists"],
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.instance(on);
      must(!(await on.host.instanceExists(instance)), "instanceExists", "be false before spawn", "it is true");
      await harness.spawn(on, instance);
      must(await on.host.instanceExists(instance), "instanceExists", "be true for a listed guest", "it is false");
      await on.host.destroy(instance, DESTROY);
      must(!(await on.host.instanceExists(instance)), "instanceExists", "be false after destroy", "it is true");
    },
  },
  {
    code: "info-of-absent",
    rule: "getInfo of a missing guest throws InstanceNotFound",
    run: async (harness) => {
      const on = await harness.connect();
      const work = on.host.getInfo(await harness.instance(on));
      await failsWith(work, ["InstanceNotFound"], "getInfo", "for a missing guest");
    },
  },
  {
    code: "guests-outlive-driver",
    rule: "cleanupHost, or a kill of the agent, leaves the guests running, and the next driver finds them",
    run: async (harness) => {
      const first = await harness.connect();
      const instance = await harness.spawned(first);
      await first.host.cleanupHost();
      const next = await harness.connect();
      const state = await guestOn(next, instance);
      must(state === 1, "cleanupHost", "leave guests running for the next driver", `the guest is ${state} afterwards`);
    },
    killed: OUTLIVED,
  },
  {
    code: "cleanup-is-final",
    rule: "cleanupHost succeeds on a host that was never used",
    run: async (harness) => {
      const { host } = await harness.connect();
      await succeeds(host.cleanupHost(), "cleanupHost", "succeed");
    },
  },
  {
    code: "cleanup-ends-events",
    section: "8.5",
    rule: "no event is emitted after cleanupHost",
    run: onGuest(async (on, instance, harness) => {
      await on.host.powerOff(instance);
      await on.host.cleanupHost();
      on.leftovers.end();
      await harness.wait(50);
      const [event] = on.leftovers.events;
      must(event === undefined, "cleanupHost", "end the stream of events", `${event?.transition} came after it`);
    }),
  },
  {
    code: "cleanup-ends-timers",
    rule: "cleanupHost leaves no pending timer of the driver",
    run: onGuest(async (on, instance, harness) => {
      await on.host.powerOff(instance);
      await on.host.cleanupHost();
      await harness.wait(1);
      const { timers } = on.leftovers;
      must(timers === 0, "cleanupHost", "cancel the driver's timers", `${timers} are pending`);
    }),
  },
  {
    code: "host-has-address",
    rule: "getHostIpAddr gives the same address each time, also after a restart",
    run: async (harness) => {
      const on = await harness.connect();
      const again = on.host.getHostIpAddr();
      await on.host.cleanupHost();
      const next = await harness.connect();
      const found = [on.ip, again, next.ip].join(", ");
      must(new Set([on.ip, again, next.ip]).size === 1, "getHostIpAddr", "give one address", `found ${found}`);
    },
  },
  {
    code: "host-enabled-again",
    rule: "setHostEnabled can be repeated, and stops no guest",
    needs: ["setHostEnabled"],
    run: onGuest(async (on, instance) => {
      for (const enabled of [false, false, true, true]) {
        await succeeds(on.host.setHostEnabled(enabled), "setHostEnabled", `succeed with ${enabled}, also again`);
        await mustBe(on, instance, "running", "setHostEnabled", `with ${enabled}`);
      }
    }),
  },
  {
    code: "startup-list-kept",
    rule: "processInstancesAtStartup returns only instances from its argument, and changes none",
    needs: ["processInstancesAtStartup"],
    run: async (harness) => {
      const on = await harness.connect();
      const instances = [await harness.spawned(on)];
      await succeeds(
        on.host.processInstancesAtStartup(instances),
        "processInstancesAtStartup",
        "accept its own guests",
      );
    },
  },
]);

/** Section 8.14: reports about hosts and guests. */
export const REPORT_CASES: readonly ContractCase[] = inSection("8.14", [
  {
    code: "uptime-is-told",
    rule: "getHostUptime returns the host's uptime in the format of the command uptime",
    needs: ["getHostUptime"],
    run: async (harness) => {
      const { host } = await harness.connect();
      const uptime = await host.getHostUptime();
      const rule = "return the format of the command uptime: up …, load average: …";
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
    rule: "getConsoleOutput changes nothing, and preserves earlier output over a reboot of the guest and a restart of the driver",
    needs: ["getConsoleOutput"],
    run: onGuest(async (on, instance, harness) => {
      const first = await succeeds(on.host.getConsoleOutput(instance), "getConsoleOutput", "succeed for a guest");
      await on.host.reboot(instance, "HARD");
      await on.host.cleanupHost();
      const next = await (await harness.connect()).host.getConsoleOutput(instance);
      const isRetained = next.startsWith(first) || next.length >= first.length;
      must(isRetained, "getConsoleOutput", "preserve the output before a reboot", `${first.length - next.length} less`);
    }),
  },
  {
    code: "console-of-absent",
    rule: "getConsoleOutput of a missing guest throws InstanceNotFound",
    needs: ["getConsoleOutput"],
    run: async (harness) => {
      const on = await harness.connect();
      const work = on.host.getConsoleOutput(await harness.instance(on));
      await failsWith(work, ["InstanceNotFound"], "getConsoleOutput", "for a missing guest");
    },
  },
  {
    code: "diagnostics-count",
    rule: "getInstanceDiagnostics has an entry for each of the guest's CPUs",
    needs: ["getInstanceDiagnostics"],
    run: onGuest(async (on, instance) => {
      const { cpuDetails } = await on.host.getInstanceDiagnostics(instance);
      const rule = "have an entry for each of the guest's CPUs";
      const { length } = cpuDetails;
      must(length === instance.vcpus, "getInstanceDiagnostics", rule, `there are ${length}, not ${instance.vcpus}`);
    }),
  },
  {
    code: "diagnostics-of-absent",
    rule: "getDiagnostics of a missing guest throws InstanceNotFound",
    needs: ["getDiagnostics"],
    run: async (harness) => {
      const on = await harness.connect();
      const work = on.host.getDiagnostics(await harness.instance(on));
      await failsWith(work, ["InstanceNotFound"], "getDiagnostics", "for a missing guest");
    },
  },
]);
