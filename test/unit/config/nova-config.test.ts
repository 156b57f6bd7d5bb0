import { describe, expect, it, test } from "vitest";
import { driver as fakeLibvirt } from "../../../drivers/fake-libvirt/index.js";
import { optionsOf } from "../../../src/cli/agent/built-in-drivers.js";
import { showConfig } from "../../../src/config/compile-config.js";
import { ConfigError, readConfigSources, type SourceLocations } from "../../../src/config/config-sources.js";
import { compileNovaConfig } from "../../../src/config/nova-config.js";
import { Derived, option, type SectionTable } from "../../../src/config/option.js";
import { QUIRK_NAMES, RELEASES } from "../../../src/config/quirks.js";
import { integer, repeated } from "../../../src/config/value-type.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { NO_SOURCES } from "../../fixtures/no-sources.js";

const PLACE = { stateDir: "/var/lib/cluster", hostname: "machine" };

async function compile(
  files: Readonly<Record<string, string>>,
  locations: SourceLocations = {},
  driverSections: SectionTable = {},
) {
  const runtime = createVirtualRuntime();
  for (const [path, text] of Object.entries(files)) {
    await runtime.files.write(path, text);
  }
  const configFiles = locations.configFiles ?? (locations.configDirs ? [] : Object.keys(files));
  const sources = await readConfigSources(runtime.files, { ...locations, configFiles });
  return compileNovaConfig(sources, PLACE, driverSections);
}

const compileText = (text: string) => compile({ "/nova.conf": text });

async function getConfigError(text: string): Promise<ConfigError> {
  try {
    await compileText(text);
  } catch (error) {
    if (error instanceof ConfigError) {
      return error;
    }
    throw error;
  }
  throw new Error("it was not refused");
}

describe("without any source", () => {
  it("4.10 returns the documented defaults, and those that depend on the state directory", () => {
    const { config, warnings } = compileNovaConfig(NO_SOURCES, PLACE);
    expect(config.defaults).toMatchObject({
      host: "machine",
      computeDriver: "fake-libvirt",
      statePath: "/var/lib/cluster/agents/machine",
      reportInterval: 10,
      serviceDownTime: 60,
      runningDeletedInstanceAction: "reap",
      cpuAllocationRatio: null,
      initialCpuAllocationRatio: 4,
      reservedHostMemoryMb: 512,
      maxConcurrentLiveMigrations: 1,
      migrateMaxRetries: -1,
    });
    expect(config.compute.providerConfigLocation).toBe("/var/lib/cluster/agents/machine/provider_config");
    expect(config.conductor).toMatchObject({ url: null, ca: null, joinTokenFile: "/var/lib/cluster/join-token" });
    expect([...config.workarounds.upstreamQuirks]).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it("is deeply frozen", () => {
    const { config } = compileNovaConfig(NO_SOURCES, PLACE);
    for (const section of [config, ...Object.values(config)]) {
      expect(Object.isFrozen(section)).toBe(true);
    }
  });

  it("preserves a dollar sign in the state directory or host name", () => {
    const { config } = compileNovaConfig(NO_SOURCES, { stateDir: "/a$b/$host", hostname: "h$x" });
    expect(config.defaults.statePath).toBe("/a$b/$host/agents/h$x");
  });
});

describe("sources", () => {
  const LAYERS = {
    "/etc/one.conf": "[DEFAULT]\nreport_interval = 1\nservice_down_time = 11\nmy_ip = 10.0.0.1\nhost = from-one\n",
    "/etc/two.conf": "[DEFAULT]\nservice_down_time = 12\nmy_ip = 10.0.0.2\nhost = from-two\n",
    "/etc/conf.d/b.conf": "[DEFAULT]\nmy_ip = 10.0.0.4\nhost = from-b\n",
    "/etc/conf.d/a.conf": "[DEFAULT]\nmy_ip = 10.0.0.3\n",
    "/etc/conf.d/ignored.txt": "[DEFAULT]\nmy_ip = 10.0.0.9\n",
  };

  it("override each other: files, folders, environment, command line", async () => {
    const locations = {
      configFiles: ["/etc/one.conf", "/etc/two.conf"],
      configDirs: ["/etc/conf.d"],
      environment: { OS_DEFAULT__HOST: "from-env", OS_FILTER_SCHEDULER__TRACK_INSTANCE_CHANGES: "off", PATH: "/bin" },
      commandLine: [{ section: "DEFAULT", option: "host", value: "from-cli", flag: "--host" }],
    };
    const compiled = await compile(LAYERS, locations);
    const { defaults, filterScheduler } = compiled.config;
    expect(defaults).toMatchObject({
      reportInterval: 1,
      serviceDownTime: 12,
      myIp: "10.0.0.4",
      host: "from-cli",
      statePath: "/var/lib/cluster/agents/from-cli",
    });
    expect(filterScheduler.trackInstanceChanges).toBe(false);
    expect(compiled.warnings).toEqual([]);
    const origins = Object.fromEntries(showConfig(compiled).map(({ option, origin }) => [option, origin]));
    expect(origins).toMatchObject({
      report_interval: "/etc/one.conf:2",
      service_down_time: "/etc/two.conf:2",
      my_ip: "/etc/conf.d/b.conf:2",
      host: "--host",
      state_path: "default",
      track_instance_changes: "OS_FILTER_SCHEDULER__TRACK_INSTANCE_CHANGES",
    });
  });

  it("that do not exist are named", async () => {
    await expect(compile({}, { configFiles: ["/none.conf"] })).rejects.toThrow(
      "cannot open configuration file /none.conf (ENOENT)",
    );
    await expect(compile({}, { configDirs: ["/none.d"] })).rejects.toThrow("cannot find configuration folder /none.d");
  });

  it("that are not in the format of nova.conf are rejected with every error", async () => {
    const broken = compile({ "/a.conf": "[DEFAULT]\nnonsense\n", "/b.conf": "x = 1\n" });
    await expect(broken).rejects.toThrow(/\/a\.conf:2: No ':' or '='.*\n.*\/b\.conf:1: Section must be started/);
  });
});

describe("references", () => {
  it("refer to other options: of the same section first, then DEFAULT, or of a named one", async () => {
    const braced = "$".concat("{my_ip}");
    const { config } = await compileText(
      `[DEFAULT]\nhost = h1\nstate_path = ${braced}/$host\n[scheduler]\nmax_attempts = 4\nmax_placement_results = $max_attempts\n` +
        "[compute]\nprovider_config_location = $host-$$host-\\$host-$compute.lean_tracking-5$-$1\n",
    );
    expect(config.defaults.statePath).toBe("127.0.0.1/h1");
    expect(config.scheduler.maxPlacementResults).toBe(4);
    expect(config.compute.providerConfigLocation).toBe("h1-$host-$host-True-5$-$1");
  });

  it("to unknown options or in a circle are invalid values", async () => {
    const { problems } = await getConfigError(
      "[DEFAULT]\nhost = $nobody\nmy_ip = $my_ip\nstate_path = $scheduler.nothing\n",
    );
    expect(problems.map(({ origin, reason }) => [origin, reason])).toEqual([
      ["/nova.conf:2", "there is no option nobody in section [DEFAULT]"],
      ["/nova.conf:3", "[DEFAULT] my_ip refers to itself"],
      ["/nova.conf:4", "there is no option nothing in section [scheduler]"],
    ]);
  });
});

describe("invalid values", () => {
  it("are all listed with file, line, option, value found and values allowed", async () => {
    const error = await getConfigError(
      "[DEFAULT]\nreport_interval = often\nrunning_deleted_instance_action = destroy\nperiodic_enable = maybe\n" +
        "cpu_allocation_ratio = -1\n[compute]\nreconcile_interval = 0\nmax_disk_devices_to_attach = 1.5\n",
    );
    expect(error.message.split("\n")).toEqual([
      "the configuration has 6 wrong values:",
      '  /nova.conf:2: [DEFAULT] report_interval = "often": expected an integer of at least 1',
      '  /nova.conf:3: [DEFAULT] running_deleted_instance_action = "destroy": expected one of reap, shutdown, log, noop',
      '  /nova.conf:4: [DEFAULT] periodic_enable = "maybe": expected true or false (also 1/0, yes/no, on/off)',
      '  /nova.conf:5: [DEFAULT] cpu_allocation_ratio = "-1": expected a number of at least 0',
      '  /nova.conf:7: [compute] reconcile_interval = "0": expected an integer of at least 1',
      '  /nova.conf:8: [compute] max_disk_devices_to_attach = "1.5": expected an integer of at least -1',
    ]);
  });

  it("of secrets are not printed", async () => {
    const error = await getConfigError("[placement]\npassword = $nothing-hunter2\n");
    expect(error.message).toContain("password = ****");
    expect(error.message).not.toContain("hunter2");
  });

  it("of the environment and the command line name their origin", async () => {
    const environment = { OS_DEFAULT__REPORT_INTERVAL: "0" };
    await expect(compile({}, { environment })).rejects.toThrow(
      "OS_DEFAULT__REPORT_INTERVAL: [DEFAULT] report_interval",
    );
  });
});

describe("an unknown option", () => {
  it("is a warning with file and line, and a suggestion if there is a similar name", async () => {
    const { warnings } = await compile(
      { "/nova.conf": "[DEFUALT]\nhost = x\n[DEFAULT]\nreport_intervall = 5\ndebug = true\n[vnc]\nenabled = 1\n" },
      { configFiles: ["/nova.conf"], environment: { OS_COMPUTE__LEAN_TRACKNG: "1" } },
    );
    expect(warnings.map(({ origin, message }) => `${origin}: ${message}`)).toEqual([
      "/nova.conf:1: unknown section [DEFUALT] is ignored; did you mean [DEFAULT]?",
      "/nova.conf:6: unknown section [vnc] is ignored",
      "/nova.conf:4: unknown option report_intervall in section [DEFAULT] is ignored; did you mean report_interval?",
      "/nova.conf:5: unknown option debug in section [DEFAULT] is ignored",
      "OS_COMPUTE__LEAN_TRACKNG: unknown option in the environment is ignored; did you mean OS_COMPUTE__LEAN_TRACKING?",
    ]);
    expect(warnings.flatMap(({ unknown }) => unknown ?? [])).toEqual(["[vnc]", "[DEFAULT] debug"]);
  });

  it("is a warning on the command line as in a file, also in sections of drivers", async () => {
    const optionNames = ["fake_libvirt.vcpuss", "fake_libvrit.vcpus", "DEFAULT.report_intervall", "FAKE_LIBVIRT.vcpus"];
    const commandLine = optionNames.map((name) => {
      const [section = "", option = ""] = name.split(".");
      return { section, option, value: "4", flag: `-o ${name}` };
    });
    const driverSections = { fake_libvirt: { vcpus: option(integer(), 1, "CPUs.") } };
    const compiled = await compile({}, { commandLine }, driverSections);
    expect(compiled.warnings.map(({ origin, message }) => `${origin}: ${message}`)).toEqual([
      "-o fake_libvirt.vcpuss: unknown option vcpuss in section [fake_libvirt] is ignored; did you mean vcpus?",
      "-o fake_libvrit.vcpus: unknown section [fake_libvrit] is ignored; did you mean [fake_libvirt]?",
      "-o DEFAULT.report_intervall: unknown option report_intervall in section [DEFAULT] is ignored; did you mean report_interval?",
    ]);
    expect(compiled.section("fake_libvirt")).toEqual({ vcpus: 4 });
  });

  it("options that another one disables are a warning", async () => {
    const text = "[placement]\nendpoint_override = http://elsewhere:8778\n";
    const { warnings } = await compile({ "/nova.conf": text }, { configFiles: ["/nova.conf"] });
    expect(warnings).toEqual([
      {
        origin: "/nova.conf:2",
        message:
          "[placement] endpoint_override is ignored while auth_type is unset; set auth_type to none, admin_token or password " +
          "for a Placement that runs elsewhere",
      },
    ]);
    const used = await compile({ "/nova.conf": `${text}auth_type = none\n` }, { configFiles: ["/nova.conf"] });
    expect(used.warnings).toEqual([]);
  });

  it("credentials come from the section in auth_section, the endpoint from the own section", async () => {
    const text = [
      "[placement]",
      "auth_section = Keystone_AuthToken",
      "username = not-me",
      "region_name = here",
      "[keystone_authtoken]",
      "www_authenticate_uri = http://identity:5000",
      "auth_type = password",
      "username = nova",
      "password = $username-1",
      "region_name = there",
      "",
    ].join("\n");
    const environment = { OS_KEYSTONE_AUTHTOKEN__AUTH_URL: "http://identity", OS_KEYSTONE_AUTHTOKEN__MEMCACHED: "x" };
    const compiled = await compile({ "/nova.conf": text }, { environment });
    expect(compiled.warnings).toEqual([]);
    expect(compiled.config.placement).toMatchObject({
      ...{ authSection: "Keystone_AuthToken", authType: "password", authUrl: "http://identity" },
      ...{ username: "nova", password: "nova-1", regionName: "here" },
    });
    const origins = compiled.values.filter(({ section }) => section === "placement");
    expect(origins.find(({ option }) => option === "username")?.origin).toBe("/nova.conf:8");
    expect(origins.find(({ option }) => option === "auth_url")?.origin).toBe("OS_KEYSTONE_AUTHTOKEN__AUTH_URL");
  });

  it("sections that auth_section does not name are not read", async () => {
    const text = "[placement]\nauth_type = none\n[keystone_authtoken]\nusername = nova\n";
    const { config, warnings } = await compileText(text);
    expect(config.placement.username).toBeNull();
    expect(warnings.map(({ message }) => message)).toEqual(["unknown section [keystone_authtoken] is ignored"]);
  });

  it("options declared by a driver are known", async () => {
    const driverSections = {
      my_driver: { fan_speed: option(integer({ min: 0 }), 3, "Speed."), disk: option(repeated, [], "Disks.") },
      scheduler: { extra: option(integer(), 1, "More."), max_attempts: option(integer(), 99, "Not taken.") },
    };
    const text = "[My_Driver]\nfan_speed = 5\ndisk = a\ndisk = b\n";
    const compiled = await compile({ "/nova.conf": text }, {}, driverSections);
    expect(compiled.warnings).toEqual([]);
    expect(compiled.section("my_driver")).toEqual({ fanSpeed: 5, disk: ["a", "b"] });
    expect(compiled.section("scheduler")).toMatchObject({ extra: 1, maxAttempts: 3 });
  });
});

describe("upstream_quirks", () => {
  const quirksOf = async (value: string) => {
    const { config } = await compileText(`[workarounds]\nupstream_quirks = ${value}\n`);
    return [...config.workarounds.upstreamQuirks];
  };

  it("may name a release, for its defects", async () => {
    const fixedBeforeZed = [
      "ironic-instances-before-nodes",
      "ironic-empty-list-on-error",
      "unguarded-node-delete",
      "no-node-undelete",
      "evacuation-breaks-group-policy",
      "migration-breaks-group-policy",
    ];
    const without = (...names: string[]) => QUIRK_NAMES.filter((name) => !names.includes(name));
    const shutdown = "broken-running-deleted-shutdown";
    expect(await quirksOf("zed")).toEqual(without(...fixedBeforeZed, shutdown));
    expect(await quirksOf("2024.1")).toEqual(without(...fixedBeforeZed, shutdown, "ironic-unlisted-is-deleted"));
    expect(await quirksOf("master")).toEqual(without(...fixedBeforeZed, "ironic-unlisted-is-deleted"));
    expect(await quirksOf("2026.1")).toEqual(await quirksOf("master"));
    const more = await quirksOf("2024.1, no-node-undelete");
    expect(more).toEqual([...(await quirksOf("2024.1")), "no-node-undelete"]);
  });

  it("is a list of names, or all", async () => {
    expect(await quirksOf("forget-failed-strip, no-host-lease")).toEqual(["forget-failed-strip", "no-host-lease"]);
    expect(await quirksOf("all")).toEqual(QUIRK_NAMES);
    expect(await quirksOf("")).toEqual([]);
  });

  it("rejects unknown names with the list", async () => {
    const error = await getConfigError("[workarounds]\nupstream_quirks = forget-failed-strip,forget-everything\n");
    expect(error.message).toContain("forget-everything");
    for (const name of [...QUIRK_NAMES, ...Object.keys(RELEASES), "all"]) {
      expect(error.message).toContain(name);
    }
  });
});

describe("showConfig", () => {
  it("hides secrets that are set, and prints unset ones as empty", async () => {
    const rows = showConfig(await compileText("[placement]\npassword = hunter2\nusername = nova\n"));
    const row = (option: string) => rows.find((each) => each.section === "placement" && each.option === option);
    expect(row("password")).toEqual({
      section: "placement",
      option: "password",
      value: "****",
      origin: "/nova.conf:2",
    });
    expect(row("username")?.value).toBe("nova");
    expect(row("token")).toMatchObject({ value: "", origin: "default" });
    expect(JSON.stringify(rows)).not.toContain("hunter2");
  });

  it("prints values that mean the same in a file", async () => {
    const first = compileNovaConfig(NO_SOURCES, PLACE);
    const lines = showConfig(first).map(({ section, option, value }) => `[${section}]\n${option} = ${value}\n`);
    const second = await compileText(lines.join(""));
    const withoutEmptyStrings = (values: object) =>
      JSON.stringify(values, (_key, value) => (value === "" ? null : value));
    expect(withoutEmptyStrings(second.config)).toBe(withoutEmptyStrings(first.config));
  });
});

describe("[DEFAULT] host", () => {
  it.each(["../../escape", ".", "a b", "dev\u001bstack1"])("is not %j", async (host) => {
    expect((await getConfigError(`[DEFAULT]\nhost = ${host}\n`)).message).toContain("expected a host name: 1 to 255");
  });
});

test("a state directory with a percent sign is found again", () => {
  const text = optionsOf(fakeLibvirt).fake_libvirt?.connection_uri?.default;
  expect(text instanceof Derived && text.text({ ...PLACE, stateDir: "/tmp/%41$x" })).toBe(
    "fake-libvirt:///tmp/%2541$$x/hypervisors/$host",
  );
});

test("overriding one option equals compiling everything again, and sections that do not refer to it remain the same objects", async () => {
  const driver = optionsOf(fakeLibvirt);
  const rest = "state_path = /srv/$host\nmy_ip = 192.0.2.1\n[glance]\nnum_retries = 7\n[fake_libvirt]\nvcpus = 3";
  const first = await compile({ "/nova.conf": `[DEFAULT]\nhost = a\n${rest}` }, {}, driver);
  for (const host of ["b", "c"]) {
    const anew = await compile({ "/nova.conf": `[DEFAULT]\nhost = ${host}\n${rest}` }, {}, driver);
    const changed = first.withText("DEFAULT", "host", host);
    expect(changed.config).toEqual(anew.config);
    expect(changed.config.defaults).toMatchObject({ host, statePath: `/srv/${host}` });
    expect(changed.section("fake_libvirt")).toEqual(anew.section("fake_libvirt"));
    expect(changed.values).toEqual(anew.values);
    expect([changed.config.glance, changed.config.placement]).toEqual([first.config.glance, first.config.placement]);
    expect(changed.config.glance).toBe(first.config.glance);
    expect(changed.withText("DEFAULT", "host", "a").config).toEqual(first.config);
  }
  expect(() => first.withText("DEFAULT", "host", "not a name/")).toThrow(ConfigError);
});
