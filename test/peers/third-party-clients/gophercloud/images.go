package main

import (
	"bytes"
	"io/ioutil"

	"github.com/gophercloud/gophercloud/openstack"
	"github.com/gophercloud/gophercloud/openstack/imageservice/v2/imagedata"
	imageservice "github.com/gophercloud/gophercloud/openstack/imageservice/v2/images"
	"github.com/gophercloud/gophercloud/openstack/imageservice/v2/members"
	"github.com/gophercloud/gophercloud/openstack/placement/v1/resourceproviders"
)

var content = bytes.Repeat([]byte("gopher"), 100000)

func images(c cloud) []step {
	client := c.client(openstack.NewImageServiceV2)
	var image *imageservice.Image
	return []step{
		{"create", func() (err error) {
			visibility := imageservice.ImageVisibilityShared
			image, err = imageservice.Create(client, imageservice.CreateOpts{
				Name: "gopher", ContainerFormat: "bare", DiskFormat: "raw", MinDisk: 1, Visibility: &visibility,
				Tags: []string{"green"}, Properties: map[string]string{"hw_disk_bus": "scsi"},
			}).Extract()
			return err
		}},
		{"upload", func() error { return imagedata.Upload(client, image.ID, bytes.NewReader(content)).ExtractErr() }},
		{"show", func() (err error) {
			image, err = imageservice.Get(client, image.ID).Extract()
			if err != nil {
				return err
			}
			return must("status and size", []interface{}{image.Status, image.SizeBytes}, []interface{}{"active", len(content)})
		}},
		{"download", func() error {
			found, err := imagedata.Download(client, image.ID).Extract()
			if err != nil {
				return err
			}
			bytesFound, err := ioutil.ReadAll(found)
			if err != nil {
				return err
			}
			return must("same bytes", bytes.Equal(bytesFound, content), true)
		}},
		{"set", func() error {
			changed, err := imageservice.Update(client, image.ID, imageservice.UpdateOpts{
				imageservice.ReplaceImageName{NewName: "digger"},
			}).Extract()
			if err != nil {
				return err
			}
			return must("name", changed.Name, "digger")
		}},
		{"list", func() error {
			page, err := imageservice.List(client, imageservice.ListOpts{Name: "digger", Limit: 1}).AllPages()
			if err != nil {
				return err
			}
			found, err := imageservice.ExtractImages(page)
			if err != nil {
				return err
			}
			return must("images", len(found), 1)
		}},
		{"add project", func() error { _, err := members.Create(client, image.ID, c.project).Extract(); return err }},
		{"members", func() error { _, err := members.List(client, image.ID).AllPages(); return err }},
		{"accept", func() error {
			_, err := members.Update(client, image.ID, c.project, members.UpdateOpts{Status: "accepted"}).Extract()
			return err
		}},
		{"remove project", func() error { return members.Delete(client, image.ID, c.project).ExtractErr() }},
		{"delete", func() error { return imageservice.Delete(client, image.ID).ExtractErr() }},
	}
}

func placement(c cloud) []step {
	client := c.client(openstack.NewPlacementV1)
	client.Microversion = "1.39"
	var provider resourceproviders.ResourceProvider
	return []step{
		{"resource provider list", func() error {
			page, err := resourceproviders.List(client, resourceproviders.ListOpts{Name: "devstack1"}).AllPages()
			if err != nil {
				return err
			}
			found, err := resourceproviders.ExtractResourceProviders(page)
			if err == nil {
				provider = found[0]
			}
			return err
		}},
		{"inventories", func() error { _, err := resourceproviders.GetInventories(client, provider.UUID).Extract(); return err }},
		{"usages", func() error { _, err := resourceproviders.GetUsages(client, provider.UUID).Extract(); return err }},
		{"traits", func() error { _, err := resourceproviders.GetTraits(client, provider.UUID).Extract(); return err }},
	}
}
