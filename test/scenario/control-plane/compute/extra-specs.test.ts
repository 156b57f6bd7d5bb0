import { beforeEach, describe, expect, test } from "vitest";
import { imagePropertiesOf } from "../../../../src/records/index.js";
import { ApiWorld, CIRROS } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
});

/** Creates an image with properties and returns its id. */
function image(properties: Readonly<Record<string, string>>): string {
  return world.image({ properties });
}

function setSpecs(extraSpecs: Readonly<Record<string, string>>) {
  return world.store.flavors.setExtraSpecs("1", { ...extraSpecs });
}

function create(imageRef = CIRROS) {
  return world.ask({
    method: "POST",
    url: "/compute/v2.1/servers",
    version: 37,
    body: { server: { name: "vm1", flavorRef: "1", imageRef, networks: "none" } },
  });
}

describe("2.86 validation", () => {
  const put = (name: string, value: string | number, version = 86) =>
    world.ask({
      method: "POST",
      url: "/compute/v2.1/flavors/1/os-extra_specs",
      version,
      body: { extra_specs: { [name]: value } },
    });

  test.each([
    ["resources:VCPU", "2"],
    ["resources_NIC:CUSTOM_GOLD", 3],
    ["trait:HW_CPU_X86_VMX", "forbidden"],
    ["trait7:CUSTOM_FAST", "required"],
    ["hw:cpu_policy", "mixed"],
    ["hw:cpu_dedicated_mask", "^0-1,3"],
    ["hw:numa_mem.1", " 1_024 "],
    ["hw:mem_page_size", "2MB"],
    ["hw:pmem", "6GB,1GB"],
    ["hw:boot_menu", "Yes"],
    ["pci_passthrough:alias", "gpu:1, nic:2"],
    ["capabilities:cpu_info:features", "<in> avx"],
    ["quota:vif_outbound_peak", "10"],
    ["aggregate_instance_extra_specs:anything", "x"],
    ["mine:own", "x"],
    ["unnamed", "x"],
    ["group_policy", "isolate"],
  ])("accepts %s=%s", async (name, value) => {
    expect((await put(name, value)).status).toBe(200);
  });

  test.each([
    ["hw:cpu_polic", "dedicated", "extra spec 'hw:cpu_polic' does not appear to be a valid extra spec."],
    [
      "trait:HW_CPU_X86_VMXX",
      "required",
      "extra spec 'trait:HW_CPU_X86_VMXX' does not appear to be a valid extra spec.",
    ],
    ["resources1:GOLD", "1", "extra spec 'resources1:GOLD' does not appear to be a valid extra spec."],
    ["hw:cpu_policy", "pinned", "'pinned' is not one of: dedicated, shared, mixed."],
    ["trait:COMPUTE_NODE", "wanted", "'wanted' is not one of: required, forbidden."],
    ["resources:VCPU", "two", "'two' is not a valid integer value."],
    ["hw:numa_nodes", "0", "'0' is less than the min value of '1'."],
    ["hw:redirected_usb_ports", "16", "'16' is greater than the max value of '15'."],
    ["hw:boot_menu", "perhaps", "'perhaps' is not a valid boolean-like value."],
    ["hw:pmem", "6GB;", "'6GB;' is not of the format '([a-zA-Z0-9_]+(,)?)+'."],
  ])("rejects %s=%s", async (name, value, message) => {
    const reply = await put(name, value);
    expect([reply.status, reply.message]).toEqual([400, `Validation failed; ${message}`]);
    expect((await put(name, value, 85)).status).toBe(200);
  });

  test("long values that nearly match are validated in linear time", async () => {
    const mask = `0${",1-1".repeat(60)}x`;
    expect((await put("hw:cpu_dedicated_mask", mask)).status).toBe(400);
    expect((await put("hw:pmem", `${"a".repeat(250)};`)).status).toBe(400);
    expect((await put("pci_passthrough:alias", `a:1${",a:1".repeat(60)}:`)).status).toBe(400);
  });
});

describe("known but unsupported specs are rejected by name", () => {
  test.each([
    ["hw:numa_nodes", "2"],
    ["hw:numa_cpus.0", "0"],
    ["hw:mem_page_size", "large"],
    ["pci_passthrough:alias", "gpu:1"],
    ["hw:cpu_realtime", "true"],
    ["hw:mem_encryption", "1"],
    ["hw:tpm_version", "2.0"],
    ["os:secure_boot", "required"],
    ["accel:device_profile", "fpga"],
  ])("in a flavor: %s=%s", async (name, value) => {
    setSpecs({ [name]: value });
    const reply = await create();
    expect([reply.status, reply.message]).toEqual([
      400,
      expect.stringContaining(`Flavor extra spec '${name}' asks for`),
    ]);
    expect(world.store.tasks.pending()).toEqual([]);
  });

  test.each<[Readonly<Record<string, string>>, string]>([
    [{ architecture: "x64" }, "Invalid image metadata. Error: Architecture name 'x64' is not valid"],
    [{ hw_architecture: "" }, "Invalid image metadata. Error: Architecture name '' is not valid"],
    [{ hypervisor_type: "hal" }, "Invalid image metadata. Error: Hypervisor virt type 'hal' is not valid"],
    [{ vm_mode: "solid" }, "Invalid image metadata. Error: Virtual machine mode 'solid' is not valid"],
    [
      { hypervisor_version_requires: ">=2" },
      "Invalid image metadata. Error: Version >=2 is not a valid predicate in field img_hv_requested_version",
    ],
    [{ hw_disk_bus: "pci" }, "Invalid image metadata. Error: Field value pci is invalid"],
    [{ hw_cpu_cores: "two" }, "Invalid image metadata. Error: invalid literal for int() with base 10: 'two'"],
    [{ os_type: "Solaris" }, "Invalid image metadata. Error: Field value solaris is invalid"],
    [
      { "hw_numa_mem.0": "1", "hw_numa_mem.1": "1.5" },
      "Invalid image metadata. Error: invalid literal for int() with base 10: '1.5'",
    ],
    [{ vmware_adaptertype: "sasi" }, "Invalid image metadata. Error: Field value sasi is invalid"],
    [{ img_config_drive: "always" }, "Image's config drive option 'always' is invalid"],
  ])("in an image: %j", async (properties, message) => {
    const reply = await create(image(properties));
    expect([reply.status, reply.message]).toEqual([400, message]);
  });

  test("but not image properties with values that Nova knows", async () => {
    const known = { architecture: "AMD64", hw_vif_model: "VirtualE1000", os_type: "Linux", hw_boot_menu: "maybe" };
    const adapters = { hw_scsi_model: "ParaVirtual", vmware_adaptertype: "lsiLogicsas" };
    expect((await create(image({ ...known, ...adapters, hw_cpu_cores: " 2 ", of_the_user: "anything" }))).status).toBe(
      202,
    );
  });

  test("also in the image of a new server", async () => {
    const reply = await create(image({ hw_numa_nodes: "2" }));
    expect([reply.status, reply.message]).toEqual([400, expect.stringContaining("Image property 'hw_numa_nodes'")]);
  });

  test("but not disabled specs, specs without effect here, and names unknown to Nova", async () => {
    setSpecs({
      "hw:mem_encryption": "false",
      "os:secure_boot": "disabled",
      "hw:cpu_sockets": "2",
      "quota:cpu_shares": "10",
      "mine:numa_nodes": "2",
    });
    expect((await create()).status).toBe(202);
  });

  test("also in the flavor of a resize", async () => {
    const instance = world.server("devstack1");
    world.flavor({ id: 2, flavorid: "2", name: "numa", extraSpecs: { "hw:numa_nodes": "2" } });
    const url = `/compute/v2.1/servers/${instance.uuid}/action`;
    const reply = await world.ask({ method: "POST", url, body: { resize: { flavorRef: "2" } } });
    expect([reply.status, reply.message]).toEqual([400, expect.stringContaining("'hw:numa_nodes'")]);
    expect(world.store.instances.get(instance.uuid)?.taskState).toBeNull();
  });
});

describe("contradicting CPU policies", () => {
  test.each([
    [{ "hw:cpu_policy": "shared" }, { hw_cpu_policy: "dedicated" }, "not permitted to override CPU pinning policy"],
    [{ "hw:cpu_policy": "odd" }, {}, "CPU policy requested from 'flavor extra specs' is invalid, given: 'odd'"],
    [{ "hw:cpu_policy": "dedicated", "resources:VCPU": "1" }, {}, "use one or the other"],
    [{ "resources:PCPU": "3" }, {}, "exactly flavor.vcpus PCPUs"],
    [{ "hw:cpu_thread_policy": "isolate" }, {}, "in a non dedicated cpu pinning policy"],
    [{ "hw:emulator_threads_policy": "isolate" }, {}, "requires a dedicated CPU policy option"],
    [{ "hw:cpu_policy": "mixed" }, {}, "Dedicated CPU set can be specified from either"],
    [{ "hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0" }, {}, "at least 1 pinned vCPU and 1 unpinned vCPU"],
    [{ "hw:cpu_dedicated_mask": "0" }, {}, "without the 'mixed' policy"],
    [
      { "hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "require", "trait:HW_CPU_HYPERTHREADING": "required" },
      {},
      "'trait:HW_CPU_HYPERTHREADING' extra spec in combination",
    ],
    [
      { "hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "require" },
      { hw_cpu_thread_policy: "isolate" },
      "not permitted to override CPU thread pinning policy",
    ],
  ])("are rejected: %j with the image's %j", async (specs, properties, message) => {
    setSpecs(specs as Readonly<Record<string, string>>);
    const reply = await create(image(properties as Readonly<Record<string, string>>));
    expect([reply.status, reply.message]).toEqual([400, expect.stringContaining(message)]);
  });

  test("a server saves its image's properties, and a rebuild must not change its CPU request", async () => {
    const imageRef = image({ hw_cpu_policy: "dedicated", "trait:CUSTOM_FAST": "required" });
    const reply = await create(imageRef);
    expect(reply.status).toBe(202);
    const built = world.store.requests.buildRequest(String(reply.json("server", "id")))?.instance;
    expect(imagePropertiesOf(built ?? expect.fail("no build request"))).toMatchObject({
      hw_cpu_policy: "dedicated",
      "trait:CUSTOM_FAST": "required",
    });
    const { uuid } = world.server("devstack1");
    const url = `/compute/v2.1/servers/${uuid}/action`;
    const rebuild = await world.ask({ method: "POST", url, body: { rebuild: { imageRef } } });
    expect([rebuild.status, rebuild.message]).toEqual([400, expect.stringContaining("as part of a rebuild")]);
  });
});
