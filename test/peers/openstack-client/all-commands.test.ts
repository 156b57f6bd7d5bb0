import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Devstack } from "./devstack.js";

let devstack: Devstack;
/** Values of `{name}` in commands. */
const names = new Map<string, string>();

/**
 * Deleted servers can be restored. A live migration takes 20 seconds, or a tenth of that if it is forced to complete. Ports
 * have names, as with any domain but the default.
 */
const CONFIG =
  "reclaim_instance_interval = 3600\n[fake_libvirt]\ndelay_live_migration = 20\n[network]\ndns_domain = example.test\n";

beforeAll(async () => {
  devstack = await Devstack.start(CONFIG);
  for (const host of ["devstack1", "devstack2", "devstack3"]) {
    names.set(host, await output(`resource provider list --name ${host} -f value -c uuid`));
  }
  names.set("project", await output("project show admin -f value -c id"));
  names.set("user", await output("user show admin -f value -c id"));
});
afterAll(() => devstack?.stop());

const output = (command: string) => devstack.clients.output(`openstack ${command}`);
/** The placeholders may also be in the source of a regular expression. */
const filled = (text: string) => text.replaceAll(/\\?\{([a-z]\w+)\\?\}/g, (_, name: string) => names.get(name) ?? "");

/**
 * A command, and its check: a pattern of its output, a function of its output, or the state that a server reaches, such
 * as `vm1: ACTIVE`.
 */
type Step = readonly [command: string, expected?: RegExp | string | ((printed: string) => void)];

/** Stores the output as the value of `{name}`. */
function remember(name: string) {
  return (printed: string) => {
    names.set(name, printed);
  };
}

async function follow([command, expected = /(?:)/]: Step): Promise<void> {
  const printed = await output(filled(command));
  if (typeof expected === "function") {
    return expected(printed);
  }
  if (expected instanceof RegExp) {
    expect(printed).toMatch(new RegExp(filled(expected.source), expected.flags));
    return;
  }
  const [server = "", state = ""] = filled(expected).split(": ");
  await devstack.serverIn(server, state);
}

function run(steps: readonly Step[]): void {
  test.each(steps.map((step) => [step[0], step] as const))("%s", (_command, step) => follow(step), 30_000);
}

const SERVER = "--flavor m1.tiny --image cirros";

describe("servers", () => {
  run([
    [`--os-compute-api-version 2.74 server create ${SERVER} --host devstack1 --property a=b vm1`, "vm1: ACTIVE"],
    ["server list --name vm1 --status ACTIVE -f value -c Name", /^vm1$/],
    ["server set --property c=d vm1"],
    ["server unset --property a vm1"],
    ["server show vm1 -f json", /"c": "d"/],
    ["server stop vm1", "vm1: SHUTOFF"],
    ["server start vm1", "vm1: ACTIVE"],
    ["server reboot vm1", "vm1: ACTIVE"],
    ["server reboot --hard vm1", "vm1: ACTIVE"],
    ["server pause vm1", "vm1: PAUSED"],
    ["server unpause vm1", "vm1: ACTIVE"],
    ["server suspend vm1", "vm1: SUSPENDED"],
    ["server resume vm1", "vm1: ACTIVE"],
    ["server rescue vm1", "vm1: RESCUE"],
    ["server unrescue vm1", "vm1: ACTIVE"],
    ["server rebuild --image cirros vm1", "vm1: ACTIVE"],
    ["--os-compute-api-version 2.73 server lock --reason maintenance vm1"],
    ["--os-compute-api-version 2.73 server show vm1 -f value -c locked_reason", /^maintenance$/],
    ["server unlock vm1"],
    ["server shelve vm1", "vm1: SHELVED_OFFLOADED"],
    ["server unshelve vm1", "vm1: ACTIVE"],
    ["server set --name vm-1 vm1"],
    ["server set --name vm1 vm-1"],
    ["server event list vm1 -f value -c Action", /unshelve[\s\S]*shelve[\s\S]*create/],
    ['server event list vm1 --long -f value -c "Request ID"', /^req-/],
    ["server show vm1 -f value -c id", remember("vm1")],
    ["server delete vm1", "{vm1}: SOFT_DELETED"],
    ["server restore {vm1}", "vm1: ACTIVE"],
    ["keypair list"],
  ]);

  test("server event show", async () => {
    const [request = ""] = (await output('server event list vm1 -f value -c "Request ID"')).split("\n");
    expect(await output(`server event show vm1 ${request}`)).toMatch(/\| action +\| restore /);
  });
});

describe("moves", () => {
  run([
    ["server migrate --wait vm1", "vm1: VERIFY_RESIZE"],
    ["server migrate confirm vm1", "vm1: ACTIVE"],
    ["server migrate vm1", "vm1: VERIFY_RESIZE"],
    ["server migrate revert vm1", "vm1: ACTIVE"],
    ["server resize --flavor m1.small vm1", "vm1: VERIFY_RESIZE"],
    ["server resize confirm vm1", "vm1: ACTIVE"],
    ["server migration list --server vm1 -f value -c Status", /confirmed[\s\S]*reverted[\s\S]*confirmed/],
  ]);

  /** Starts a live migration and returns while it is in progress. */
  const beginLiveMigration = async (): Promise<string> => {
    const from = await output("server show vm1 -f value -c OS-EXT-SRV-ATTR:host");
    const to = from === "devstack1" ? "devstack2" : "devstack1";
    await output(`--os-compute-api-version 2.56 server migrate --live-migration --host ${to} vm1`);
    const list = "--os-compute-api-version 2.59 server migration list --server vm1 -f value -c Id -c Status";
    const [, id = ""] = /^(\d+) running/m.exec(await devstack.shows(list, /^\d+ running/m)) ?? [];
    return id;
  };
  const server = "--os-compute-api-version 2.24 server migration";

  test("server migration show, abort", async () => {
    const id = await beginLiveMigration();
    expect(await output(`${server} show vm1 ${id}`)).toMatch(/\| Status +\| running /);
    await output(`${server} abort vm1 ${id}`);
    await devstack.shows("server migration list --server vm1 -f value -c Status", /cancelled/);
    await devstack.serverIn("vm1", "ACTIVE");
  }, 60_000);

  test("server migration force complete", async () => {
    const id = await beginLiveMigration();
    await output(`${server} force complete vm1 ${id}`);
    await devstack.shows("server migration list --server vm1 -f value -c Status", /completed/);
    await devstack.serverIn("vm1", "ACTIVE");
  }, 60_000);
});

describe("flavors", () => {
  run([
    ["flavor create --ram 1024 --disk 10 --vcpus 2 --id 42 --property a=b m1.new", /\| properties +\| a='b' /],
    ["flavor set --property hw:cpu_policy=shared m1.new"],
    ["flavor show m1.new", /hw:cpu_policy='shared'/],
    ["flavor unset --property hw:cpu_policy m1.new"],
    ["--os-compute-api-version 2.55 flavor set --description small m1.new"],
    ["--os-compute-api-version 2.55 flavor show m1.new -f value -c description", /^small$/],
    ["flavor create --private --ram 64 --disk 0 --vcpus 1 --id 43 m1.private"],
    ["flavor set --project demo m1.private"],
    ["flavor show m1.private -f value -c access_project_ids", /[0-9a-f]{32}/],
    ["flavor unset --project demo m1.private"],
    ["flavor list --private -f value -c Name", /^m1\.private$/],
    ["flavor list --all --long -f value -c Name", /m1\.new[\s\S]*m1\.private/],
    ["flavor delete m1.new m1.private"],
  ]);
});

describe("aggregates and availability zones", () => {
  run([
    ["aggregate create --zone az1 --property ssd=true rack1", /\| availability_zone +\| az1 /],
    ["aggregate list --long", /\| rack1 +\| az1 +\| ssd='true' /],
    ["aggregate add host rack1 devstack3", /\| hosts +\| devstack3 /],
    ["aggregate show rack1", /\| properties +\| ssd='true' /],
    ["availability zone list --compute --long -f value", /az1 available[\s\S]*devstack3/],
    ["compute service list --host devstack3 -f value -c Zone", /^az1$/],
    ["--os-placement-api-version 1.19 resource provider aggregate list {devstack3} -f value", /^[0-9a-f-]{36}$/],
    [`server create ${SERVER} --availability-zone az1 in-az1`, "in-az1: ACTIVE"],
    ["server show in-az1 -f value -c OS-EXT-SRV-ATTR:host", /^devstack3$/],
    ["server delete --force in-az1"],
    ["aggregate set --name rack-1 --property gpu=a100 rack1"],
    ["aggregate unset --property gpu rack-1"],
    ["--os-compute-api-version 2.81 aggregate cache image rack-1 cirros"],
    ["hypervisor show devstack3 -f json -c aggregates", /rack-1/],
    ["aggregate remove host rack-1 devstack3", /\| hosts +\| +\|/],
    ["--os-placement-api-version 1.19 resource provider aggregate list {devstack3} -f value", /^$/],
    ["aggregate delete rack-1"],
    ["availability zone list --compute -f value", /^(?=[\s\S]*^internal available$)(?=[\s\S]*^nova available$)/m],
  ]);
});

describe("server groups", () => {
  const groups = "--os-compute-api-version 2.64 server group";
  run([
    [
      `${groups} create --policy anti-affinity --rule max_server_per_host=1 apart -f value -c rules`,
      /max_server_per_host/,
    ],
    ["server group create --policy affinity together -f value -c policy", /affinity/],
    ["server group list -f value -c Name", /^apart\ntogether$/],
    [`${groups} show apart -f value -c id`, remember("apart")],
    [`server create ${SERVER} --hint group={apart} apart1`, "apart1: ACTIVE"],
    [`server create ${SERVER} --hint group={apart} apart2`, "apart2: ACTIVE"],
    ["server show apart1 -f value -c OS-EXT-SRV-ATTR:host", remember("host1")],
    ["server show apart2 -f value -c OS-EXT-SRV-ATTR:host", /^(?!{host1}$)/],
    ["--os-compute-api-version 2.71 server show apart1 -f value -c server_groups", /{apart}/],
    ["server migrate apart1", "apart1: VERIFY_RESIZE"],
    ["server resize confirm apart1", "apart1: ACTIVE"],
    [`${groups} show apart -f json`, /"members"/],
    ["server delete --force apart1 apart2"],
    ["server group delete together"],
    ["server group list --all-projects -f value -c Name", /^apart$/],
  ]);

  test("nova server-group-*", async () => {
    const nova = (command: string) => devstack.clients.output(`nova ${command}`);
    expect(await nova("server-group-create two affinity")).toMatch(/two/);
    expect(await nova("server-group-list")).toMatch(/apart[\s\S]*two/);
    expect(await nova(`server-group-get ${filled("{apart}")}`)).toMatch(/anti-affinity/);
    await nova(`server-group-delete ${filled("{apart}")}`);
    expect(await nova("limits")).toMatch(/ServerGroups|Cores/);
  });
});

describe("hypervisors, services, quotas, limits", () => {
  run([
    ['hypervisor list --matching devstack2 -f value -c "Hypervisor Hostname"', /^devstack2$/],
    ["--os-compute-api-version 2.53 hypervisor list -f value -c State", /^up\nup\nup$/],
    ["hypervisor stats show -f value -c count", /^3$/],
    ["compute service set --disable --disable-reason broken devstack3 nova-compute"],
    ['compute service list --long -f value -c "Disabled Reason"', /broken/],
    ["compute service set --enable devstack3 nova-compute"],
    ["quota show -f value -c instances", /^-1$/],
    ["quota show --default -f value -c cores", /^-1$/],
    ["quota show --class"],
    ["quota set --instances 12 --cores 40 admin"],
    ["quota show admin -f value -c instances", /^12$/],
    ["quota list --compute -f value -c Cores", /40/],
    ["quota list --detail --compute -f value", /instances/],
    ["quota set --class --ram 60000 default"],
    ["quota show --class default -f value -c ram", /^60000$/],
    ["quota set --instances -1 --cores -1 admin"],
    ["limits show --absolute -f value", /totalInstancesUsed \d/],
    ["limits show --rate"],
    ["versions show"],
  ]);
});

describe("placement", () => {
  run([
    ["resource provider create spare -f value -c name", /^spare$/],
    ["resource provider list --name spare -f value -c uuid", remember("spare")],
    ["resource provider set --name spare2 {devstack3} -f value -c name", /^spare2$/],
    ["resource provider set --name devstack3 {devstack3}"],
    ["resource class create CUSTOM_FAST"],
    ["--os-placement-api-version 1.7 resource class set CUSTOM_FASTER"],
    ["resource class show CUSTOM_FAST", /CUSTOM_FAST/],
    ["resource provider inventory set {devstack3} --amend --resource CUSTOM_FAST=8", /CUSTOM_FAST/],
    ["resource provider inventory class set {devstack3} CUSTOM_FAST --total 9", /\| total +\| 9 /],
    ["resource provider inventory show {devstack3} CUSTOM_FAST", /\| total +\| 9 /],
    ["resource provider inventory list {devstack3} -f value -c resource_class", /CUSTOM_FAST/],
    ["resource provider inventory delete {devstack3} --resource-class CUSTOM_FAST"],
    ["resource class delete CUSTOM_FAST"],
    ["resource class delete CUSTOM_FASTER"],
    ["--os-placement-api-version 1.6 trait create CUSTOM_QUIET"],
    ["--os-placement-api-version 1.6 trait show CUSTOM_QUIET", /CUSTOM_QUIET/],
    ["--os-placement-api-version 1.6 trait list --name startswith:CUSTOM_QUIET -f value", /^CUSTOM_QUIET$/],
    ["--os-placement-api-version 1.6 resource provider trait set --trait CUSTOM_QUIET {devstack3}"],
    ["--os-placement-api-version 1.6 resource provider trait list {devstack3} -f value", /CUSTOM_QUIET/],
    ["--os-placement-api-version 1.6 resource provider trait delete {devstack3}"],
    ["--os-placement-api-version 1.6 trait delete CUSTOM_QUIET"],
    [
      "--os-placement-api-version 1.19 resource provider aggregate set --generation 0 --aggregate 5e08ea53-c4c6-448e-9334-ac4953de3cfa {spare}",
      /5e08ea53/,
    ],
    ["resource provider usage show {devstack2} -f value -c resource_class", /VCPU/],
    ["--os-placement-api-version 1.9 resource usage show --user-id {user} {project} -f value", /VCPU \d/],
    [
      "--os-placement-api-version 1.12 resource provider allocation set {spare} --project-id {project} --user-id {user} --allocation rp={devstack1},VCPU=1",
      /\{devstack1\}/,
    ],
    ["--os-placement-api-version 1.12 resource provider allocation unset --provider {devstack1} {spare}"],
    [
      '--os-placement-api-version 1.10 allocation candidate list --resource VCPU=1 -f value -c "resource provider"',
      /\{devstack1\}/,
    ],
    ["resource provider delete {spare}"],
  ]);
});

describe("the network", () => {
  run([
    ["network list --share -f value -c Name", /^shared$/],
    ["network list --external -f value -c Name", /^public$/],
    ["network list --project demo -f value -c Name", /^private$/],
    ["network show shared -f value -c mtu", /^1\d{3}$/],
    ["subnet list --network shared -f value -c Name -c Subnet", /^shared-subnet 10\.128\.0\.0\/9$/],
    [
      "subnet pool list --default -f value -c Name",
      /^shared-default-subnetpool-v[46]\nshared-default-subnetpool-v[46]$/,
    ],
    ["security group list --project {project} -f value -c Name", /^default$/],
    ["security group create --description x web -f value -c name", /^web$/],
    [
      "security group rule create --protocol tcp --dst-port 80:90 --remote-ip 192.0.2.0/24 web -f value -c id",
      remember("rule"),
    ],
    ["security group rule list web -f value", /{rule} tcp IPv4 192\.0\.2\.0\/24 80:90 ingress/],
    ["security group rule create --remote-group web --ethertype IPv6 web"],
    ["security group rule delete {rule}"],
    ["security group set --name web2 web"],
    [
      "port create --network shared --fixed-ip ip-address=10.128.0.99 --security-group web2 port1 -f value -c status",
      /^DOWN$/,
    ],
    ["port list --fixed-ip ip-address=10.128.0.99 -f value -c Name", /^port1$/],
    ["port set --name port2 --no-security-group port1"],
    ["port show port2 -f value -c mac_address", /^fa:16:3e(:[0-9a-f]{2}){3}$/],
    ["port delete port2"],
    [
      "server create --flavor m1.tiny --image cirros --network shared --wait net1 -f value -c addresses",
      /shared.*10\.128\./,
    ],
    ["server add security group net1 web2"],
    ["server show net1 -f value -c security_groups", /web2/],
    ["server remove security group net1 web2"],
    ["server list --name net1 -f value -c Networks", /10\.128\./],
    ["server delete --force net1"],
    ["security group delete web2"],
    ["network agent list --host devstack1 -f value -c Binary", /^neutron-openvswitch-agent$/m],
    ['availability zone list --network -f value -c "Zone Name"', /^nova$/m],
    ["extension list --network -f value -c Alias", /^security-group$/m],
  ]);
});

describe("a network of a project", () => {
  run([
    ["network create --mtu 1400 --tag t front -f value -c status", /^ACTIVE$/],
    ["subnet create --network front --subnet-range 192.0.2.0/24 front-subnet -f value -c gateway_ip", /^192\.0\.2\.1$/],
    ["subnet set --dns-nameserver 192.0.2.53 front-subnet"],
    ["router create edge -f value -c status", /^ACTIVE$/],
    ["router add subnet edge front-subnet"],
    ["router set --external-gateway public edge"],
    ["router show edge -f value -c external_gateway_info", /172\.24\.4\./],
    [
      "port create --network front --fixed-ip ip-address=192.0.2.20 --dns-name www given -f value -c id",
      remember("port"),
    ],
    ["port show given -f value -c dns_assignment", /www\.example\.test\./],
    [`server create ${SERVER} --nic port-id={port} --wait net2 -f value -c addresses`, /front.*192\.0\.2\.20/],
    ["floating ip create --port given public -f value -c floating_ip_address", remember("address")],
    ['floating ip list --fixed-ip-address 192.0.2.20 -f value -c "Floating IP Address"', /^{address}$/],
    ["server show net2 -f value -c addresses", /{address}/],
    ["floating ip unset --port {address}"],
    ["server add floating ip net2 {address}"],
    ["server remove floating ip net2 {address}"],
    ["floating ip delete {address}"],
    ["server add network net2 front"],
    ["port list --server net2 -f value -c Status", /^ACTIVE\nACTIVE$/],
    ["server remove port net2 {port}"],
    ["server delete --force net2"],
    ["port delete given"],
    [
      "network rbac create --type network --action access_as_shared --target-project demo front -f value -c id",
      remember("shared"),
    ],
    ["network rbac list -f value -c ID", /^{shared}$/m],
    ["network rbac delete {shared}"],
    ["network qos policy create slow -f value -c name", /^slow$/],
    ["network qos rule create --type bandwidth-limit --max-kbps 1000 --egress slow -f value -c max_kbps", /^1000$/],
    ["network set --qos-policy slow front"],
    ["network trunk list"],
    ["router unset --external-gateway edge"],
    ["router remove subnet edge front-subnet"],
    ["router delete edge"],
    ["network delete front"],
    ["network qos policy delete slow"],
  ]);
});

describe("other resources of the network", () => {
  run([
    ["address group create --address 192.0.2.0/24 offices -f value -c addresses", /192\.0\.2\.0\/24/],
    ["address group set --address 198.51.100.0/24 offices"],
    ["address group unset --address 192.0.2.0/24 offices"],
    ["address group show offices -f json -c addresses", /^(?![\s\S]*192\.0\.2)[\s\S]*"198\.51\.100\.0\/24"/],
    ["address group delete offices"],
    ["address scope create --share scope -f value -c ip_version", /^4$/],
    ["address scope set --name scope4 scope"],
    ["subnet pool create --pool-prefix 10.9.0.0/16 --default-prefix-length 26 --address-scope scope4 pool"],
    ["subnet pool set --max-prefix-length 28 pool"],
    ["subnet pool show pool -f value -c max_prefixlen", /^28$/],
    ["network create back -f value -c id", remember("back")],
    ["subnet create --network back --subnet-pool pool back-subnet -f value -c cidr", /^10\.9\.0\.0\/26$/],
    ["ip availability show back -f json -c used_ips", /"used_ips": 0/],
    ['ip availability list -f value -c "Network Name"', /^back$/m],
    ["router create inner -f value -c id", remember("inner")],
    ["router add subnet inner back-subnet"],
    ["router set --external-gateway public inner"],
    ["router add route --route destination=10.77.0.0/16,gateway=10.9.0.9 inner"],
    ["router show inner -f value -c routes", /10\.77\.0\.0\/16/],
    ["router remove route --route destination=10.77.0.0/16,gateway=10.9.0.9 inner"],
    ["port create --network back --allowed-address ip-address=10.9.0.40 parent -f value -c id", remember("parent")],
    ["port create --network back --disable-port-security --no-security-group child -f value -c id", remember("child")],
    ["floating ip create public -f value -c floating_ip_address", remember("address")],
    [
      "floating ip port forwarding create {address} --port {parent} --internal-ip-address 10.9.0.2 --internal-protocol-port 22 --external-protocol-port 2222 --protocol tcp -f value -c id",
      remember("forwarding"),
    ],
    ["network trunk create --parent-port parent --subport port=child,segmentation-type=vlan,segmentation-id=5 bundle"],
    ['network subport list --trunk bundle -f value -c "Segmentation ID"', /^5$/],
    ["network trunk unset --subport child bundle"],
    ["network trunk delete bundle"],
    ["floating ip port forwarding list {address} -f value -c ID", /^{forwarding}$/],
    ["floating ip port forwarding delete {address} {forwarding}"],
    ["floating ip delete {address}"],
    ["port delete parent child"],
    [
      "network l3 conntrack helper create --helper tftp --protocol udp --port 69 inner -f value -c id",
      remember("helper"),
    ],
    ["network l3 conntrack helper list inner -f value -c Helper", /^tftp$/],
    ["network l3 conntrack helper delete inner {helper}"],
    ["router unset --external-gateway inner"],
    ["router remove subnet inner back-subnet"],
    ["router delete inner"],
    ['network segment list --network back -f value -c "Network Type"', /^vxlan$/],
    [
      "network segment create --network back --network-type geneve --segment 700 second -f value -c network_type",
      /^geneve$/,
    ],
    ["network segment set --description x second"],
    ["network segment delete second"],
    [
      "network segment range create --network-type vlan --physical-network physnet1 --minimum 300 --maximum 302 more -f value -c available",
      /300/,
    ],
    ["network segment range set --minimum 300 --maximum 310 more"],
    ["network segment range show more -f value -c maximum", /^310$/],
    ["network segment range delete more"],
    ["network delete back"],
    ["subnet pool delete pool"],
    ["address scope delete scope4"],
    ["network meter create --share meter -f value -c id", remember("meter")],
    ["network meter rule create --ingress --remote-ip-prefix 192.0.2.0/24 meter -f value -c direction", /^ingress$/],
    ['network meter rule list -f value -c "Remote IP Prefix"', /^192\.0\.2\.0\/24$/],
    ["network meter delete meter"],
    ["network flavor profile create --metainfo {} -f value -c id", remember("profile")],
    ["network flavor create --service-type L3_ROUTER_NAT --enable gold -f value -c service_type", /^L3_ROUTER_NAT$/],
    ["network flavor add profile gold {profile}"],
    ["network flavor show gold -f value -c service_profile_ids", /{profile}/],
    ["network flavor remove profile gold {profile}"],
    ["network flavor delete gold"],
    ["network flavor profile delete {profile}"],
    ["network qos rule type list -f value", /minimum_bandwidth/],
    ['network service provider list -f value -c "Service Type"', /L3_ROUTER_NAT/],
    ["network auto allocated topology create -f value -c id", remember("topology")],
    ["network show {topology} -f value -c name", /^auto_allocated_network$/],
    ["network auto allocated topology delete"],
    ["quota set --ports 600 --routers 11 admin"],
    ["quota show admin -f value -c ports", /^600$/],
  ]);
});

describe("identity and images", () => {
  run([
    ["catalog show nova", /\/compute\/v2\.1/],
    ["project list -f value -c Name", /^admin\ndemo\nservice$/],
    ["user list -f value -c Name", /admin\ndemo/],
    ["role list -f value -c Name", /admin/],
    ["domain create research -f value -c id"],
    ["project create --domain research --tag t lab -f value -c name", /^lab$/],
    ["user create --domain research --password secret --email ada@example.org ada -f value -c email", /^ada@/],
    ["group create --domain research fellows"],
    ["group add user --group-domain research --user-domain research fellows ada"],
    ["role add --group fellows --group-domain research --project lab --project-domain research member"],
    [
      "role assignment list --effective --names --user ada --user-domain research -f value -c Role -c Project",
      /^member lab@research\nreader lab@research$/m,
    ],
    ["role add --user ada --user-domain research --system all reader"],
    ["role assignment list --names --system all --user ada --user-domain research -f value -c System", /^all$/],
    ["role create operator"],
    ["implied role create operator --implied-role reader"],
    ["application credential create --role reader --secret hidden ci -f value -c roles", /^reader$/],
    ["application credential list -f value -c Name", /^ci$/],
    ["application credential delete ci"],
    ["token issue -f value -c id", remember("token")],
    ["token revoke {token}"],
    ["region create elsewhere"],
    ["service create --name swift object-store"],
    ["endpoint create --region elsewhere object-store public http://127.0.0.1:1/v3"],
    ["catalog show object-store", /http:\/\/127\.0\.0\.1:1\/v3/],
    ["service delete swift"],
    ["ec2 credentials create -f value -c access", /^[0-9a-f]{32}$/],
    ["user set --domain research --disable ada"],
    ["domain set --disable research"],
    ["domain delete research"],
    ["user list -f value -c Name", /^(?![\s\S]*ada)/],
    ["role assignment list --names --user demo -f value", /member demo@Default/],
    ["domain list -f value -c Name", /^Default$/],
    ["endpoint list --service nova -f value -c URL", /\/compute\/v2\.1/],
    ["service list -f value -c Type", /placement/],
    ["region list"],
    ["image list -f value -c Name", /^cirros/],
    ["image show cirros -f value -c status", /^active$/],
  ]);
});
