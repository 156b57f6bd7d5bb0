import { describe, expect, test } from "vitest";
import type { PowerState } from "../../../../../src/records/index.js";
import { GuestNotFound } from "../../../../../src/virt/errors.js";
import { FlowStage, REQUEST, type StageOptions, VM } from "../../support/flow-stage.js";

const NO_TASK = ["instance_save", { uuid: "vm", changes: { taskState: null }, ofRequest: REQUEST }];
const FAULT = ["instance_add_fault", expect.objectContaining({ uuid: "vm", message: "Error" })];
const save = (changes: object, ...expectedTaskState: (string | null)[]) => [
  "instance_save",
  { uuid: "vm", changes, expectedTaskState, expectedHost: "here" },
];

/** A save that is also conditional on the request id, as another request may have the same task_state. */
const ofOurs = ([method, params]: ReturnType<typeof save>) => [method, { ...Object(params), ofRequest: REQUEST }];

const POWER = [
  ["start_instance", "powering-on", "driver.powerOn", "active"],
  ["stop_instance", "powering-off", "driver.powerOff", "stopped"],
] as const;

describe("start and stop, step by step", () => {
  test.each(POWER)("%s (%s): %s, then %s, while it is here", async (method, taskState, act, vmState) => {
    const stage = new FlowStage({ instance: { taskState } });
    await stage.run(method, {});
    expect(stage.did).toEqual([[act, VM()], save({ vmState, powerState: 1, taskState: null }, taskState, null)]);
    expect(stage.events).toEqual([`compute_${method}`, "Success"]);
    expect(stage.steps).toEqual([
      `${method}.${act === "driver.powerOn" ? "power_on" : "power_off"}`,
      `${method}.record`,
    ]);
  });

  test.each(POWER)("%s (%s) fails: no task any more, and a fault", async (method, taskState, act) => {
    const stage = new FlowStage({ instance: { taskState } });
    stage.replies[act] = new Error("broken");
    await stage.failure(method, {});
    expect(stage.did.slice(1)).toEqual([NO_TASK, FAULT]);
  });

  test.each([
    ["stopped", true, true],
    ["stopped", false, true],
    ["shelved", true, true],
    ["shelved", false, false],
  ] as const)(
    "8.2 start of a guest that is gone (%s, disks here: %s) makes it anew: %s",
    async (vmState, onDisk, anew) => {
      const stage = new FlowStage({ instance: { vmState, taskState: "powering-on" } });
      stage.replies["driver.powerOn"] = new GuestNotFound("gone");
      stage.replies["driver.instanceOnDisk"] = onDisk;
      const failure = await stage.failure("start_instance", {});
      expect(failure === null).toBe(anew);
      expect(stage.argumentsOf("driver.reboot")).toEqual(anew ? [[VM(), "HARD"]] : []);
    },
  );
});

describe("reboot, step by step", () => {
  const REBOOTS = [
    ["SOFT", "reboot_pending", "reboot_started"],
    ["HARD", "reboot_pending_hard", "reboot_started_hard"],
  ] as const;
  const TASKS = [
    "rebooting",
    "reboot_pending",
    "reboot_started",
    "rebooting_hard",
    "reboot_pending_hard",
    "reboot_started_hard",
  ];

  test.each(REBOOTS)("%s: %s, %s, the driver, active", async (type, pending, started) => {
    const stage = new FlowStage({ instance: { taskState: "rebooting" } });
    await stage.run("reboot_instance", { type });
    expect(stage.did).toEqual([
      ofOurs(save({ taskState: pending }, ...TASKS)),
      ofOurs(save({ taskState: started }, pending)),
      ["driver.reboot", VM(), type],
      save({ vmState: "active", powerState: 1, taskState: null }, started),
    ]);
    expect(stage.events).toEqual(["compute_reboot_instance", "Success"]);
    expect(stage.steps).toEqual([
      "reboot_instance.pending",
      "reboot_instance.started",
      "reboot_instance.reboot",
      "reboot_instance.record",
    ]);
  });

  test.each(REBOOTS)("%s fails without a running guest: in error", async (type, _, started) => {
    const stage = new FlowStage({ instance: { taskState: "rebooting" } });
    stage.replies["driver.reboot"] = new Error("broken");
    stage.replies["driver.powerState"] = 4;
    expect(await stage.failure("reboot_instance", { type })).toMatchObject({ message: "broken" });
    expect(stage.did.slice(3)).toEqual([save({ vmState: "error" }, started), NO_TASK, FAULT]);
  });

  test.each(REBOOTS)("%s fails, but the guest runs: a fault, and active", async (type, _, started) => {
    const stage = new FlowStage({ instance: { vmState: "paused", taskState: "rebooting_hard" } });
    stage.replies["driver.reboot"] = new Error("broken");
    await stage.run("reboot_instance", { type });
    expect(stage.did.slice(3)).toEqual([FAULT, save({ vmState: "active", powerState: 1, taskState: null }, started)]);
    expect(stage.events).toEqual(["compute_reboot_instance", "Success"]);
  });
});

describe("4.10 _sync_power_states, step by step", () => {
  const [up, paused, down, crashed, suspended, none] = [1, 3, 4, 6, 7, 0] as const;
  const STOP = ["stop_instance", { instanceUuid: "vm" }];

  async function sync(instance: StageOptions["instance"], power: PowerState): Promise<FlowStage> {
    const stage = new FlowStage({ instance });
    stage.replies["driver.powerState"] = power;
    if (stage.instance) {
      await stage.operations.syncInstancePowerState(stage.instance);
    }
    return stage;
  }

  test.each([
    ["active", down, true, 1],
    ["active", crashed, true, 1],
    ["active", suspended, true, 1],
    ["active", up, false, 0],
    ["active", paused, false, 1],
    ["active", none, false, 1],
    ["paused", down, true, 1],
    ["paused", crashed, true, 1],
    ["paused", up, false, 0],
    ["paused", suspended, false, 0],
    ["stopped", up, true, 1],
    ["stopped", paused, true, 1],
    ["stopped", suspended, true, 1],
    ["stopped", down, false, 0],
    ["stopped", crashed, false, 0],
    ["stopped", none, false, 0],
    ["suspended", up, false, 0],
    ["suspended", down, false, 0],
    ["error", down, false, 0],
    ["shelved", up, false, 0],
    ["rescued", none, false, 0],
  ] as const)("%s, guest in power state %i: stopped %s, with %i warnings", async (vmState, power, stops, warnings) => {
    const stage = await sync({ vmState, powerState: power }, power);
    expect(stage.did).toEqual(stops ? [STOP] : []);
    const warningLogs = stage.runtime.logs.filter(({ level }) => level === "warn");
    const fields = { instance: "vm", vm_state: vmState, power_state: power };
    expect(warningLogs.map((entry) => entry.fields)).toEqual(Array(warnings).fill(expect.objectContaining(fields)));
  });

  test("the row follows the driver while it is here and at rest", async () => {
    const stage = await sync({ powerState: 4, vmState: "active" }, up);
    expect(stage.did).toEqual([save({ powerState: 1 }, null)]);
  });

  test.each<[string, StageOptions["instance"]]>([
    ["of another host", { host: "there" }],
    ["in a task", { taskState: "rebooting" }],
    ["that is deleted", { deleted: 1 }],
  ])("nothing is asked about an instance %s", async (_, instance) => {
    const stage = await sync(instance, down);
    expect(stage.lines.map(([call]) => call)).toEqual(["instance_get"]);
  });
});
