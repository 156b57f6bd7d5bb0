import { describe, expect, it } from "vitest";
import { settingsOf, upChildren } from "../../../../../src/cli/cluster/up-children.js";
import { stateDir } from "../../../../../src/control-plane/local/state-dir.js";
import { described, OPTIONS, problems } from "./read.js";

describe("groups of hosts", () => {
  it("give each host its driver, options and files, by absolute paths", async () => {
    const { options, groups } = await described(`
driver: ./mine
config_files: [nova.conf]
hosts:
  - name: rack[1-2]
    driver: fake-libvirt
    vcpus: 64
    memory_mb: 1024
    delays: { spawn: 0.5 }
    allocation_ratios: { cpu: 2 }
    options: { reserved_host_cpus: 1 }
    config_files: [more/rack.conf]
  - { name: plain }
`);
    expect([...(options.named ?? [])]).toEqual([
      ...["rack1", "rack2"].map((host) => [
        host,
        {
          driver: "fake-libvirt",
          configFiles: ["/here/more/rack.conf"],
          options: [
            "cpu_allocation_ratio=2",
            "fake_libvirt.delay_spawn=0.5",
            "fake_libvirt.memory_mb=1024",
            "fake_libvirt.vcpus=64",
            "reserved_host_cpus=1",
          ],
        },
      ]),
      ["plain", { driver: "/here/mine", configFiles: ["/here/nova.conf"] }],
    ]);
    expect(groups?.map(({ hosts }) => hosts)).toEqual([["rack1", "rack2"], ["plain"]]);
  });

  it("expand a count from the first name, or number a name without brackets", async () => {
    const { options } = await described(
      'hosts: [{name: "r[01-90]", count: 2}, {name: edge, count: 2}, {name: "x", count: 0}]',
    );
    expect([...(options.named?.keys() ?? [])]).toEqual(["r01", "r02", "edge1", "edge2"]);
  });

  it("set custom traits and resources with a provider.yaml, the same for equal groups", async () => {
    const { groups = [] } = await described(`
hosts:
  - { name: a, traits: [CUSTOM_A], resources: { CUSTOM_SEAT: { total: 4 } } }
  - { name: b, traits: [CUSTOM_A], resources: { CUSTOM_SEAT: { total: 4 } } }
  - { name: c, traits: [CUSTOM_B] }
`);
    const [a, b, c] = groups.map(({ providerConfig }) => providerConfig);
    expect(a?.folder).toMatch(/^\/state\/provider-config\/[0-9a-f]{16}$/);
    expect(a).toEqual(b);
    expect(c?.folder).not.toBe(a?.folder);
    expect(groups[0]?.setting.options).toEqual([`compute.provider_config_location=${a?.folder}`]);
    expect(a?.text).toContain("CUSTOM_SEAT:\n            total: 4");
  });

  it("start the oldest release first", async () => {
    const { options } = await described("hosts: [{name: new}, {name: old, release: zed}]");
    const settings = settingsOf(options, {}, (path) => path);
    const { agents, inOrder, controlPlaneArgs } = upChildren(options, stateDir("/state", "/"), settings, 2);
    expect(agents.map(({ name }) => name)).toEqual(["old", "new"]);
    expect(inOrder).toBe(true);
    expect(agents[0]?.args).toEqual(expect.arrayContaining(["--release", "zed"]));
    expect(agents[1]?.args).not.toContain("--release");
    expect(controlPlaneArgs).toContain("--disable-compute-service-check-for-ffu");
  });

  it("replace the saved settings of hosts, and added hosts", async () => {
    const { options } = await described("hosts: [{name: a}]");
    const savedSettings = {
      "control-plane": { configFiles: ["/old.conf"] },
      a: { driver: "qemu", configFiles: ["/old.conf"] },
      b: { configFiles: [], added: true as const },
    };
    expect([...settingsOf(options, savedSettings, (path) => path)]).toEqual([
      ["control-plane", { configFiles: [], hosts: ["a"] }],
      ["a", { configFiles: [] }],
    ]);
  });
});

describe("flags in the file", () => {
  it("have the meaning of the command line's flags", async () => {
    const { options } = await described(`
state_dir: state
port: 0
listen: "192.0.2.2:8775"
hosts_per_process: 500
allow_resize_to_same_host: true
listen_without_tls: false
reclaim_instance_interval: 60
service_delete_policy: cascade
ironic: { nodes: 5 }
`);
    expect(options).toMatchObject({
      stateDir: "/here/state",
      port: 0,
      listen: { address: "192.0.2.2", port: 8775 },
      hostsPerProcess: 500,
      allowResizeToSameHost: true,
      reclaimInstanceInterval: "60",
      serviceDeletePolicy: "cascade",
      ironic: 5,
      hosts: 3,
    });
    expect(options.listenWithoutTls).toBeUndefined();
    expect(options.named).toBeUndefined();
  });

  it("are rejected beside the same flag on the command line, whatever its value", async () => {
    expect(await problems("hosts: []\nport: 0", { port: 0, hosts: 2, releases: ["zed"] })).toEqual([
      "cluster.yaml:1:1: hosts is also set by --hosts; remove one of the two",
      "cluster.yaml:1:1: the hosts in the file set their releases; remove --releases",
      "cluster.yaml:2:1: port is also set by --port; remove one of the two",
    ]);
    expect((await described("port: 5", { processes: 2 })).options).toMatchObject({ port: 5, processes: 2 });
  });
});

describe("an invalid file", () => {
  const wrong: readonly (readonly [what: string, text: string, expected: string])[] = [
    [
      "a key of another name",
      "hosts:\n  - name: a\n    vcpu: 4",
      "3:5: hosts.0: there is no vcpu; did you mean vcpus?",
    ],
    [
      "a value of another type",
      "hosts:\n  - name: a\n    vcpus: many",
      '3:12: hosts.0.vcpus: found "many", expected an integer',
    ],
    ["a number beyond its bounds", "port: 99999", "1:7: port: found 99999, expected a number <= 65535"],
    [
      "a mistyped word",
      "service_delete_policy: cascde",
      '1:24: service_delete_policy: found "cascde", expected one of strict, upstream, cascade; did you mean cascade?',
    ],
    ["a key that is missing", "flavors: [{name: a, ram: 1}]", "1:11: flavors.0: found no vcpus, expected one"],
    [
      "text that is no YAML",
      "a: [1",
      "1:6: Flow sequence in block collection must be sufficiently indented and end with a ]",
    ],
    ["a key that is there twice", "port: 1\nport: 2", "2:1: Map keys must be unique"],
    ["a list", "- 1", "1:1: found [1], expected a mapping"],
    [
      "a pattern of hosts",
      "hosts: [{name: 'a[3-1]'}]",
      '1:16: "a[3-1]": found "3-1" at character 3, expected an ascending range',
    ],
    [
      "a host in two groups",
      "hosts:\n  - name: a[1-3]\n  - name: a2",
      "3:11: host a2 is also in hosts.0; a host must be in one group only",
    ],
    [
      "a host that is called as the control plane",
      "hosts: [{name: control-plane}]",
      "1:16: control-plane is the name of a component of up; choose another name",
    ],
    [
      "more hosts than names",
      "hosts: [{name: 'a[1-3]', count: 4}]",
      "1:33: found 4, expected at most 3: the number of names in a[1-3]",
    ],
    [
      "an option that there is not",
      "hosts: [{name: a, options: {fake_libvirt.vcpu: 1}}]",
      "1:29: there is no option vcpu in [fake_libvirt]; did you mean vcpus?",
    ],
    [
      "an option's value",
      "hosts: [{name: a, options: {fake_libvirt.vcpus: x}}]",
      '1:29: fake_libvirt.vcpus: found "x", expected an integer of at least 1',
    ],
    [
      "an option that a key says, too",
      "hosts: [{name: a, vcpus: 2, options: {fake_libvirt.vcpus: 1}}]",
      "1:39: fake_libvirt.vcpus is set twice: also by a key of the group",
    ],
    [
      "what the driver cannot be told",
      "hosts: [{name: a, driver: ironic, vcpus: 1}]",
      "1:35: driver ironic has no option vcpus",
    ],
    [
      "what nobody knows of a foreign driver",
      "hosts: [{name: a, driver: ./mine, vcpus: 1}]",
      "1:35: driver ./mine is not built in: set its options by name, under options",
    ],
    [
      "a mistyped driver",
      "hosts: [{name: a, driver: fake-libvrt}]",
      "1:27: there is no driver fake-libvrt; did you mean fake-libvirt?",
    ],
    [
      "a mistyped delay",
      "hosts: [{name: a, delays: {spwan: 1}}]",
      "1:28: driver fake-libvirt has no option delay_spwan; did you mean spawn?",
    ],
    [
      "a mistyped aggregate",
      "aggregates: [{name: fast}]\nhosts: [{name: a, aggregates: [fst]}]",
      "2:32: there is no aggregate fst; did you mean fast?",
    ],
    [
      "two zones",
      "aggregates: [{name: x, availability_zone: b}]\nhosts: [{name: a, aggregates: [x], availability_zone: c}]",
      "2:55: a host must be in one zone only: found b, c",
    ],
    [
      "a mistyped fault",
      "hosts: [{name: a, faults: [driver.spwan=fail]}]",
      "1:28: there is no fault point driver.spwan. Did you mean driver.spawn? `compute-agent fault points` lists all",
    ],
    [
      "a fault of the embedded Ironic that there is not",
      "ironic: {nodes: 1, faults: [hardware.depoly=fail]}",
      "1:29: there is no fault point hardware.depoly. Did you mean hardware.deploy? `compute-agent fault points` lists all",
    ],
    [
      "a project that there is not",
      "projects: [{name: research}]\nusers: [{name: ada, roles: {reserch: [member]}}]",
      "2:29: there is no project reserch; did you mean research?",
    ],
    [
      "a user that each cluster has",
      "users: [{name: demo, roles: {demo: [member]}}]",
      "1:16: user demo exists in every cluster; remove it, or choose another name",
    ],
    [
      "a user that each cluster has, in another case",
      "users: [{name: Demo, roles: {demo: [member]}}]",
      "1:16: user Demo exists in every cluster; remove it, or choose another name",
    ],
    [
      "two projects whose names differ by case",
      "projects: [{name: lab}, {name: Lab}]",
      "1:32: name Lab is used twice, expected unique values",
    ],
    [
      "a name that is there twice",
      "flavors: [{name: a, vcpus: 1, ram: 1}, {name: a, vcpus: 1, ram: 1}]",
      "1:47: name a is used twice, expected unique values",
    ],
    [
      "processes in two ways",
      "processes: 1\nhosts_per_process: 1",
      "2:1: found both processes and hosts_per_process, expected one of the two",
    ],
    ["an address", "listen: '192.0.2.2:x'", "1:9: found 192.0.2.2:x, expected an address of this machine"],
    ["values within values", `x: ${"[".repeat(100)}${"]".repeat(100)}`, "found more than 32 levels, expected less"],
    [
      "a text in the place of a trait",
      "hosts: [{name: a, traits: [HW_CPU_X86_VMX]}]",
      '1:28: hosts.0.traits.0: found "HW_CPU_X86_VMX", expected what matches ^CUSTOM_',
    ],
  ];
  it.each(wrong)("is reported with line, column and remedy: %s", async (_what, text, expected) => {
    expect((await problems(text)).join("\n")).toContain(expected);
  });

  it("is reported with all problems at once, in the order of the file", async () => {
    const found = await problems("port: x\nflvors: []\nhosts: [{nme: a}]");
    expect(found.map((line) => line.split(":").slice(0, 2).join(":"))).toEqual([
      "cluster.yaml:1",
      "cluster.yaml:2",
      "cluster.yaml:3",
      "cluster.yaml:3",
    ]);
    expect(await problems(`flavors: [${"1,".repeat(50)}]`)).toHaveLength(21);
  });

  it("is not read when it is too large, or expands to too much", async () => {
    expect(await problems(`# ${"x".repeat(1024 * 1024)}`)).toEqual([
      "cluster.yaml: found 1048578 bytes, expected at most 1048576",
    ]);
    const laughs = [
      "a: &a [x, x]",
      ...Array.from(
        { length: 30 },
        (_none, at) => `b${at}: &b${at} [*${at === 0 ? "a" : `b${at - 1}`}, *${at === 0 ? "a" : `b${at - 1}`}, *a, *a]`,
      ),
    ];
    expect(await problems(laughs.join("\n"))).toEqual([
      expect.stringContaining("found more than 100 aliases (*name), expected less"),
    ]);
  });

  it("may be empty", async () => {
    expect((await described("# nothing\n")).options).toEqual(OPTIONS);
  });

  it("may use an alias, and reports problems at its position", async () => {
    const text = "hosts:\n  - &one {name: a, vcpus: 2}\n  - <<: *one\n    name: b";
    expect(await problems(text)).toEqual([expect.stringContaining("cluster.yaml:3:5: hosts.1: there is no <<")]);
  });
});

describe("a large file", () => {
  it("with 100 groups and 10,000 hosts is read quickly", async () => {
    const groups = Array.from(
      { length: 100 },
      (_none, at) =>
        `  - { name: "rack${at}-node[001-100]", vcpus: 64, aggregates: [a${at % 10}], availability_zone: z${at % 4} }`,
    );
    const aggregates = Array.from({ length: 10 }, (_none, at) => `  - { name: a${at} }`);
    const { options, groups: read } = await described(["hosts:", ...groups, "aggregates:", ...aggregates].join("\n"));
    expect(options.named?.size).toBe(10_000);
    expect(read).toHaveLength(100);
  });
});
