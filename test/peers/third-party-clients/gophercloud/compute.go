package main

import (
	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/aggregates"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/availabilityzones"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/hypervisors"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/keypairs"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/limits"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/quotasets"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/servergroups"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/services"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/flavors"
)

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILfWxkXVJqlG5uaeqsVW8hRRoGk2ZJWWqdjMpvLGrXxQ gopher"

// at returns the client with another microversion.
func at(client *gophercloud.ServiceClient, microversion string) *gophercloud.ServiceClient {
	other := *client
	other.Microversion = microversion
	return &other
}

func compute(c cloud) []step {
	client := c.client(openstack.NewComputeV2)
	disk, public := 1, false
	var flavor *flavors.Flavor
	var aggregate *aggregates.Aggregate
	var group *servergroups.ServerGroup
	return []step{
		{"flavor create", func() (err error) {
			flavor, err = flavors.Create(client, flavors.CreateOpts{
				Name: "gopher", RAM: 256, VCPUs: 1, Disk: &disk, IsPublic: &public,
			}).Extract()
			return err
		}},
		{"flavor show", func() error { _, err := flavors.Get(client, flavor.ID).Extract(); return err }},
		{"flavor list", func() error {
			page, err := flavors.ListDetail(client, flavors.ListOpts{MinRAM: 1, Limit: 2}).AllPages()
			if err != nil {
				return err
			}
			_, err = flavors.ExtractFlavors(page)
			return err
		}},
		{"flavor access add", func() error {
			_, err := flavors.AddAccess(client, flavor.ID, flavors.AddAccessOpts{Tenant: c.project}).Extract()
			return err
		}},
		{"flavor access list", func() error { _, err := flavors.ListAccesses(client, flavor.ID).AllPages(); return err }},
		{"flavor access remove", func() error {
			_, err := flavors.RemoveAccess(client, flavor.ID, flavors.RemoveAccessOpts{Tenant: c.project}).Extract()
			return err
		}},
		{"flavor extra spec set", func() error {
			_, err := flavors.CreateExtraSpecs(client, flavor.ID, flavors.ExtraSpecsOpts{"hw:cpu_policy": "shared"}).Extract()
			return err
		}},
		{"flavor extra spec update", func() error {
			_, err := flavors.UpdateExtraSpec(client, flavor.ID, flavors.ExtraSpecsOpts{"hw:cpu_policy": "dedicated"}).Extract()
			return err
		}},
		{"flavor extra spec list", func() error {
			specs, err := flavors.ListExtraSpecs(client, flavor.ID).Extract()
			if err != nil {
				return err
			}
			return must("specs", specs, map[string]string{"hw:cpu_policy": "dedicated"})
		}},
		{"flavor extra spec unset", func() error {
			return flavors.DeleteExtraSpec(client, flavor.ID, "hw:cpu_policy").ExtractErr()
		}},
		{"flavor delete", func() error { return flavors.Delete(client, flavor.ID).ExtractErr() }},
		{"key pair create", func() error {
			made, err := keypairs.Create(client, keypairs.CreateOpts{Name: "made"}).Extract()
			if err != nil {
				return err
			}
			return must("private key", made.PrivateKey != "", true)
		}},
		{"key pair import", func() error {
			_, err := keypairs.Create(client, keypairs.CreateOpts{Name: "gopher", PublicKey: publicKey}).Extract()
			return err
		}},
		{"key pair list", func() error {
			page, err := keypairs.List(client).AllPages()
			if err != nil {
				return err
			}
			found, err := keypairs.ExtractKeyPairs(page)
			if err != nil {
				return err
			}
			return must("key pairs", len(found), 2)
		}},
		{"key pair show", func() error { _, err := keypairs.Get(client, "gopher").Extract(); return err }},
		{"key pair delete", func() error { return keypairs.Delete(client, "made").ExtractErr() }},
		{"availability zone list", func() error { _, err := availabilityzones.ListDetail(client).AllPages(); return err }},
		{"hypervisor list", func() error {
			page, err := hypervisors.List(client).AllPages()
			if err != nil {
				return err
			}
			found, err := hypervisors.ExtractHypervisors(page)
			if err != nil {
				return err
			}
			return must("hypervisors", len(found), 3)
		}},
		{"hypervisor statistics", func() error { _, err := hypervisors.GetStatistics(client).Extract(); return err }},
		{"service list", func() error {
			page, err := services.List(client, services.ListOpts{Binary: "nova-compute"}).AllPages()
			if err != nil {
				return err
			}
			_, err = services.ExtractServices(page)
			return err
		}},
		{"aggregate create", func() (err error) {
			aggregate, err = aggregates.Create(client, aggregates.CreateOpts{Name: "gopher", AvailabilityZone: "burrow"}).Extract()
			return err
		}},
		{"aggregate add host", func() error {
			_, err := aggregates.AddHost(client, aggregate.ID, aggregates.AddHostOpts{Host: "devstack3"}).Extract()
			return err
		}},
		{"aggregate set", func() error {
			_, err := aggregates.SetMetadata(client, aggregate.ID, aggregates.SetMetadataOpts{
				Metadata: map[string]interface{}{"depth": "3"},
			}).Extract()
			return err
		}},
		{"aggregate show", func() error { _, err := aggregates.Get(client, aggregate.ID).Extract(); return err }},
		{"aggregate remove host", func() error {
			_, err := aggregates.RemoveHost(client, aggregate.ID, aggregates.RemoveHostOpts{Host: "devstack3"}).Extract()
			return err
		}},
		{"aggregate delete", func() error { return aggregates.Delete(client, aggregate.ID).ExtractErr() }},
		{"quota show", func() error { _, err := quotasets.Get(client, c.project).Extract(); return err }},
		{"quota update", func() error {
			changed, err := quotasets.Update(client, c.project, quotasets.UpdateOpts{
				Instances: gophercloud.IntToPointer(17), ServerGroups: gophercloud.IntToPointer(5),
			}).Extract()
			if err != nil {
				return err
			}
			return must("instances, groups", []int{changed.Instances, changed.ServerGroups}, []int{17, 5})
		}},
		{"quota detail", func() error {
			detail, err := quotasets.GetDetail(client, c.project).Extract()
			if err != nil {
				return err
			}
			return must("limit of instances", detail.Instances.Limit, 17)
		}},
		{"limits", func() error {
			found, err := limits.Get(client, nil).Extract()
			if err != nil {
				return err
			}
			return must("limit of instances", found.Absolute.MaxTotalInstances, 17)
		}},
		{"quota delete", func() error { return quotasets.Delete(client, c.project).Err }},
		{"server group create", func() (err error) {
			group, err = servergroups.Create(at(client, "2.64"), servergroups.CreateOpts{
				Name: "gopher", Policy: "anti-affinity", Rules: &servergroups.Rules{MaxServerPerHost: 2},
			}).Extract()
			return err
		}},
		{"server group show", func() error {
			found, err := servergroups.Get(at(client, "2.64"), group.ID).Extract()
			if err != nil {
				return err
			}
			return must("policy, rules", []interface{}{*found.Policy, found.Rules.MaxServerPerHost}, []interface{}{"anti-affinity", 2})
		}},
		{"server group list", func() error {
			page, err := servergroups.List(client).AllPages()
			if err != nil {
				return err
			}
			found, err := servergroups.ExtractServerGroups(page)
			if err != nil {
				return err
			}
			return must("groups", len(found), 1)
		}},
		{"server group delete", func() error { return servergroups.Delete(client, group.ID).ExtractErr() }},
	}
}
