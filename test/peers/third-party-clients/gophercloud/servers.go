package main

import (
	"encoding/json"
	"fmt"

	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/keypairs"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/lockunlock"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/migrate"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/pauseunpause"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/rescueunrescue"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/shelveunshelve"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/startstop"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/suspendresume"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/tags"
	computeservers "github.com/gophercloud/gophercloud/openstack/compute/v2/servers"
	imageservice "github.com/gophercloud/gophercloud/openstack/imageservice/v2/images"
)

// Seconds for a server to reach a status; the test has its own timeout.
const patience = 120

func servers(c cloud) []step {
	client := at(c.client(openstack.NewComputeV2), "2.72")
	images := c.client(openstack.NewImageServiceV2)
	var id, imageID, snapshotID string
	becomes := func(status string, action func() error) func() error {
		return func() error {
			if err := action(); err != nil {
				return err
			}
			return computeservers.WaitForStatus(client, id, status, patience)
		}
	}
	return []step{
		{"an image", func() error {
			page, err := imageservice.List(images, imageservice.ListOpts{Name: "cirros"}).AllPages()
			if err != nil {
				return err
			}
			found, err := imageservice.ExtractImages(page)
			if err == nil {
				imageID = found[0].ID
			}
			return err
		}},
		{"create", becomes("ACTIVE", func() error {
			made, err := computeservers.Create(client, keypairs.CreateOptsExt{
				CreateOptsBuilder: computeservers.CreateOpts{
					Name: "gopher", ImageRef: imageID, FlavorRef: "1", Networks: "none",
					Metadata: map[string]string{"a": "b"}, UserData: []byte("#!/bin/sh\n"), Tags: []string{"green"},
				},
				KeyName: "gopher",
			}).Extract()
			if err == nil {
				id = made.ID
			}
			return err
		})},
		{"show", func() error {
			found, err := computeservers.Get(client, id).Extract()
			if err != nil {
				return err
			}
			return must("name, key, tags", []interface{}{found.Name, found.KeyName, *found.Tags}, []interface{}{"gopher", "gopher", []string{"green"}})
		}},
		{"list", func() error {
			page, err := computeservers.List(client, computeservers.ListOpts{Name: "gopher", Status: "ACTIVE", AllTenants: true}).AllPages()
			if err != nil {
				return err
			}
			found, err := computeservers.ExtractServers(page)
			if err != nil {
				return err
			}
			return must("servers", len(found), 1)
		}},
		{"set", func() error {
			changed, err := computeservers.Update(client, id, computeservers.UpdateOpts{Name: "digger", AccessIPv4: "192.0.2.1"}).Extract()
			if err != nil {
				return err
			}
			return must("name and address", []string{changed.Name, changed.AccessIPv4}, []string{"digger", "192.0.2.1"})
		}},
		{"metadata set", func() error {
			_, err := computeservers.UpdateMetadata(client, id, computeservers.MetadataOpts{"c": "d"}).Extract()
			return err
		}},
		{"metadata item", func() error {
			_, err := computeservers.CreateMetadatum(client, id, computeservers.MetadatumOpts{"e": "f"}).Extract()
			return err
		}},
		{"metadata unset", func() error { return computeservers.DeleteMetadatum(client, id, "a").ExtractErr() }},
		{"metadata show", func() error {
			found, err := computeservers.Metadata(client, id).Extract()
			if err != nil {
				return err
			}
			return must("metadata", found, map[string]string{"c": "d", "e": "f"})
		}},
		{"tag add", func() error { return tags.Add(client, id, "red").ExtractErr() }},
		{"tag check", func() error { _, err := tags.Check(client, id, "red").Extract(); return err }},
		{"tag replace", func() error {
			_, err := tags.ReplaceAll(client, id, tags.ReplaceAllOpts{Tags: []string{"blue"}}).Extract()
			return err
		}},
		{"tag list", func() error {
			found, err := tags.List(client, id).Extract()
			if err != nil {
				return err
			}
			return must("tags", found, []string{"blue"})
		}},
		{"addresses", func() error { _, err := computeservers.ListAddresses(client, id).AllPages(); return err }},
		{"lock", func() error { return lockunlock.Lock(client, id).ExtractErr() }},
		{"unlock", func() error { return lockunlock.Unlock(client, id).ExtractErr() }},
		{"pause", becomes("PAUSED", func() error { return pauseunpause.Pause(client, id).ExtractErr() })},
		{"unpause", becomes("ACTIVE", func() error { return pauseunpause.Unpause(client, id).ExtractErr() })},
		{"suspend", becomes("SUSPENDED", func() error { return suspendresume.Suspend(client, id).ExtractErr() })},
		{"resume", becomes("ACTIVE", func() error { return suspendresume.Resume(client, id).ExtractErr() })},
		{"rescue", becomes("RESCUE", func() error {
			_, err := rescueunrescue.Rescue(client, id, rescueunrescue.RescueOpts{}).Extract()
			return err
		})},
		{"unrescue", becomes("ACTIVE", func() error { return rescueunrescue.Unrescue(client, id).ExtractErr() })},
		{"reboot", becomes("ACTIVE", func() error {
			return computeservers.Reboot(client, id, computeservers.RebootOpts{Type: computeservers.HardReboot}).ExtractErr()
		})},
		{"resize", becomes("VERIFY_RESIZE", func() error {
			return computeservers.Resize(client, id, computeservers.ResizeOpts{FlavorRef: "2"}).ExtractErr()
		})},
		{"resize revert", becomes("ACTIVE", func() error { return computeservers.RevertResize(client, id).ExtractErr() })},
		{"migrate", becomes("VERIFY_RESIZE", func() error { return migrate.Migrate(client, id).ExtractErr() })},
		{"migrate confirm", becomes("ACTIVE", func() error { return computeservers.ConfirmResize(client, id).ExtractErr() })},
		{"live migrate", becomes("ACTIVE", func() error {
			automatic := json.RawMessage(`{"os-migrateLive": {"host": null, "block_migration": "auto"}}`)
			_, err := client.Post(client.ServiceURL("servers", id, "action"), automatic, nil, &gophercloud.RequestOpts{OkCodes: []int{202}})
			return err
		})},
		{"rebuild", becomes("ACTIVE", func() error {
			_, err := computeservers.Rebuild(client, id, computeservers.RebuildOpts{Name: "gopher", ImageRef: imageID}).Extract()
			return err
		})},
		{"image create", becomes("ACTIVE", func() (err error) {
			snapshotID, err = computeservers.CreateImage(at(client, ""), id, computeservers.CreateImageOpts{Name: "snapshot"}).ExtractImageID()
			return err
		})},
		{"shelve", becomes("SHELVED_OFFLOADED", func() error { return shelveunshelve.Shelve(client, id).ExtractErr() })},
		{"unshelve", becomes("ACTIVE", func() error {
			return shelveunshelve.Unshelve(client, id, shelveunshelve.UnshelveOpts{}).ExtractErr()
		})},
		{"stop", becomes("SHUTOFF", func() error { return startstop.Stop(client, id).ExtractErr() })},
		{"start", becomes("ACTIVE", func() error { return startstop.Start(client, id).ExtractErr() })},
		{"snapshot", func() error {
			return gophercloud.WaitFor(patience, func() (bool, error) {
				found, err := imageservice.Get(images, snapshotID).Extract()
				return err == nil && found.Status == imageservice.ImageStatusActive, err
			})
		}},
		{"delete", func() error {
			if err := computeservers.Delete(client, id).ExtractErr(); err != nil {
				return err
			}
			return gophercloud.WaitFor(patience, func() (bool, error) {
				_, err := computeservers.Get(client, id).Extract()
				if _, gone := err.(gophercloud.ErrDefault404); gone {
					return true, nil
				}
				return false, err
			})
		}},
		{"of a server that is gone", func() error {
			err := computeservers.Delete(client, id).ExtractErr()
			return must("error", fmt.Sprintf("%T", err), "gophercloud.ErrDefault404")
		}},
	}
}
