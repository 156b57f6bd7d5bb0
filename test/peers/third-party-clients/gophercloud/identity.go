package main

import (
	"github.com/gophercloud/gophercloud/openstack"
	"github.com/gophercloud/gophercloud/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/openstack/identity/v3/groups"
	"github.com/gophercloud/gophercloud/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/openstack/identity/v3/regions"
	"github.com/gophercloud/gophercloud/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/openstack/identity/v3/users"
)

func identity(c *cloud) []step {
	client := c.client(openstack.NewIdentityV3)
	var project *projects.Project
	var user *users.User
	var group *groups.Group
	var member roles.Role
	var credential *applicationcredentials.ApplicationCredential
	return []step{
		{"token, user and project of it", func() error {
			token := tokens.Get(client, c.provider.Token())
			owner, err := token.ExtractUser()
			if err != nil {
				return err
			}
			scope, err := token.ExtractProject()
			if err == nil {
				c.userID, c.project = owner.ID, scope.ID
			}
			return err
		}},
		{"token validate", func() error {
			valid, err := tokens.Validate(client, c.provider.Token())
			if err != nil {
				return err
			}
			return must("valid", valid, true)
		}},
		{"domain list", func() error { _, err := domains.List(client, domains.ListOpts{}).AllPages(); return err }},
		{"region list", func() error { _, err := regions.List(client, regions.ListOpts{}).AllPages(); return err }},
		{"service list", func() error {
			page, err := services.List(client, services.ListOpts{ServiceType: "compute"}).AllPages()
			if err != nil {
				return err
			}
			found, err := services.ExtractServices(page)
			if err != nil {
				return err
			}
			return must("services", len(found), 1)
		}},
		{"endpoint list", func() error { _, err := endpoints.List(client, endpoints.ListOpts{}).AllPages(); return err }},
		{"project create", func() (err error) {
			project, err = projects.Create(client, projects.CreateOpts{Name: "gopher", Tags: []string{"green"}}).Extract()
			return err
		}},
		{"project update", func() error {
			description := "of a gopher"
			changed, err := projects.Update(client, project.ID, projects.UpdateOpts{Description: &description}).Extract()
			if err != nil {
				return err
			}
			return must("description", changed.Description, description)
		}},
		{"project show", func() error { _, err := projects.Get(client, project.ID).Extract(); return err }},
		{"project list", func() error {
			page, err := projects.List(client, projects.ListOpts{Name: "gopher"}).AllPages()
			if err != nil {
				return err
			}
			found, err := projects.ExtractProjects(page)
			if err != nil {
				return err
			}
			return must("projects", len(found), 1)
		}},
		{"user create", func() (err error) {
			user, err = users.Create(client, users.CreateOpts{Name: "gopher", Password: "digs", DomainID: "default"}).Extract()
			return err
		}},
		{"user set", func() error {
			_, err := users.Update(client, user.ID, users.UpdateOpts{DefaultProjectID: project.ID}).Extract()
			return err
		}},
		{"user list", func() error { _, err := users.List(client, users.ListOpts{Name: "gopher"}).AllPages(); return err }},
		{"group create", func() (err error) {
			group, err = groups.Create(client, groups.CreateOpts{Name: "burrow"}).Extract()
			return err
		}},
		{"group add user", func() error { return users.AddToGroup(client, group.ID, user.ID).ExtractErr() }},
		{"group contains user", func() error {
			inside, err := users.IsMemberOfGroup(client, group.ID, user.ID).Extract()
			if err != nil {
				return err
			}
			return must("member", inside, true)
		}},
		{"role list", func() error {
			page, err := roles.List(client, roles.ListOpts{Name: "member"}).AllPages()
			if err != nil {
				return err
			}
			found, err := roles.ExtractRoles(page)
			if err == nil {
				member = found[0]
			}
			return err
		}},
		{"role add", func() error {
			return roles.Assign(client, member.ID, roles.AssignOpts{UserID: user.ID, ProjectID: project.ID}).ExtractErr()
		}},
		{"role assignment list", func() error {
			page, err := roles.ListAssignments(client, roles.ListAssignmentsOpts{UserID: user.ID}).AllPages()
			if err != nil {
				return err
			}
			found, err := roles.ExtractRoleAssignments(page)
			if err != nil {
				return err
			}
			return must("assignments", len(found), 1)
		}},
		{"projects of a user", func() error { _, err := users.ListProjects(client, user.ID).AllPages(); return err }},
		{"application credential create", func() (err error) {
			credential, err = applicationcredentials.Create(client, c.userID, applicationcredentials.CreateOpts{Name: "gopher"}).Extract()
			return err
		}},
		{"application credential show", func() error {
			_, err := applicationcredentials.Get(client, c.userID, credential.ID).Extract()
			return err
		}},
		{"application credential delete", func() error {
			return applicationcredentials.Delete(client, c.userID, credential.ID).ExtractErr()
		}},
		{"role remove", func() error {
			return roles.Unassign(client, member.ID, roles.UnassignOpts{UserID: user.ID, ProjectID: project.ID}).ExtractErr()
		}},
		{"group delete", func() error { return groups.Delete(client, group.ID).ExtractErr() }},
		{"user delete", func() error { return users.Delete(client, user.ID).ExtractErr() }},
		{"project delete", func() error { return projects.Delete(client, project.ID).ExtractErr() }},
	}
}
